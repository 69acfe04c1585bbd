//! The host as the machine of a simulated run: what its kernel reports of processors and clocks, as a preset's text.

use crate::{Root, idle_states};
use schedlab_model::{processors::MOST_PROCESSORS, topology::HALT_POLL, units::spell_duration};

/// What a tick, an interrupt and a switch cost. Real ones vary with caches and virtual machines, from half a microsecond to five. A
/// measured value would make the machine another one, and its results unknown, at every look; and what matters is that
/// they are not nothing: a turn of five ticks that begins just after one ends at the sixth.
const A_MOMENT: &str = "1us";
const WHY_A_MOMENT: &str = "assumed: of this order on processors of the 2010s and later";
/// What calls cost, each without the trap: medians of three runs of `bench/calls.py --host`, of three rounds each, on a virtual machine
/// of two processors (Linux 6.18, November 2026); other programs ran during one of the runs. Constants, for the same reason as above.
/// Rounds differ by up to a half in forks and ends, and by some microseconds in what is a difference of two loads (wait, wake, block,
/// futex, manage): these are of that order only.
const TRAP: &str = "90ns";
const CALLS: [(&str, &str, &str); 16] = [
    ("fork", "54us", "the parent's time of a fork, copies of its pages included"),
    ("start", "32us", "from the child's first turn to its program; page faults"),
    ("exit", "68us", "the child's last turn, its parent woken"),
    ("wait", "1260ns", "a fork with a wait for a child that has ended, less one without; within the spread of forks"),
    ("sleep", "4600ns", "around the work between two sleeps"),
    ("send", "210ns", "a message into a pipe for which no task waits"),
    ("receive", "260ns", "a message out of a pipe that has it"),
    ("wake", "1790ns", "a message for a task that waits, less send"),
    ("block", "2750ns", "to wait for a message, less receive"),
    ("futex", "0ns", "too small to separate from wake and block"),
    ("manage", "2510ns", "half of a signal with its handler and a pause, less wake and block"),
    ("read", "220ns", "4 KiB of a file in memory"),
    ("write", "2580ns", "4 KiB of a new file in memory"),
    ("open", "810ns", "four fifths of opening and closing a file"),
    ("close", "130ns", "one fifth of it"),
    ("fault", "1490ns", "the first touch of a page of one's own"),
];
/// Where they come from.
const MEASURED: &str = "bench/calls.py --host, on a virtual machine of the 2020s";
/// Why its processors are taken to halt, and where the time is from.
const WHY_HALT_POLL: &str =
    "kvm-clock is offered, so this is a guest of KVM; the time was measured on one of the 2020s";
/// Blocks that an inode names itself: more than any file of ours has.
const EXTENTS: u32 = 1_000_000;

/// What calls cost, as lines of a preset.
fn calls() -> String {
    let line = |(name, value, what)| format!("{name} = {{ value = \"{value}\", source = \"{MEASURED}: {what}\" }}\n");
    CALLS.into_iter().map(line).collect()
}

/// The machine as the text of a preset. A kernel does not report costs: they are constants.
pub fn describe(root: &Root) -> String {
    let processors = processors(root);
    let (preemption, source) = preemption(root);
    let release = root.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release: String = release.trim().chars().filter(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\')).collect();
    let (hz, hz_source) = hz();
    format!(
        "name = \"host\"\n\
         title = \"this host, Linux {release}\"\n\
         processors = {{ value = {processors}, source = \"/proc/self/status, Cpus_allowed_list\" }}\n\
         personality = \"monolithic\"\n\
         # Processor time is measured at every switch; only its split into user and system is what ticks found.\n\
         accounting = \"exact\"\n\
         # {source}\n\
         preemption = \"{preemption}\"\n\
         # The agent makes the processes of a workload's tasks before the run and takes them away after it.\n\
         prepared = true\n\
         {}\n\
         [clock]\n\
         hz = {{ value = \"{hz}/s\", source = \"{hz_source}\" }}\n\
         timers = \"exact\"\n\
         interrupt = {{ value = \"{A_MOMENT}\", source = \"{WHY_A_MOMENT}\" }}\n\
         \n\
         [costs]\n\
         context_switch = {{ value = \"{A_MOMENT}\", source = \"{WHY_A_MOMENT}\" }}\n\
         trap = {{ value = \"{TRAP}\", source = \"{MEASURED}: the cheapest call (getppid)\" }}\n\
         interrupt = {{ value = \"{A_MOMENT}\", source = \"{WHY_A_MOMENT}\" }}\n\
         \n\
         [calls]\n\
         {}\n\
         [files]\n\
         block = {{ value = \"4KiB\", source = \"ext4 as it is usually made, and as the lab makes its own\" }}\n\
         direct_blocks = {{ value = {EXTENTS}, source = \"ext4: an inode names extents, not blocks\" }}\n\
         {}",
        idle_states::line(root),
        calls(),
        halting(root, processors)
    )
}

/// What becomes of idle processors under KVM. Where its clock is offered, its steal time most often is, too, by which a kernel takes one that
/// has halted for preempted.
fn halting(root: &Root, processors: usize) -> String {
    let clocks = root.read("/sys/devices/system/clocksource/clocksource0/available_clocksource").unwrap_or_default();
    if processors < 2 || !clocks.split_whitespace().any(|clock| clock == "kvm-clock") {
        return String::new();
    }
    let poll = spell_duration(HALT_POLL);
    format!("\n[topology]\nhalt_poll = {{ value = \"{poll}\", source = \"{WHY_HALT_POLL}\" }}\n")
}

/// The processors that may be used, at most as many as a simulated machine can have.
fn processors(root: &Root) -> usize {
    let status = root.read("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("");
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    let all = list.trim().split(',').filter_map(count).fold(0, usize::saturating_add);
    let fallback = || std::thread::available_parallelism().map_or(1, usize::from);
    (if all == 0 { fallback() } else { all }).min(MOST_PROCESSORS)
}

/// Ticks a second, and how it is known: the coarse clock moves once a tick.
fn hz() -> (u64, &'static str) {
    let coarse = nix::time::ClockId::CLOCK_MONOTONIC_COARSE;
    match nix::time::clock_getres(coarse).map(|tick| tick.tv_nsec() as u64) {
        Ok(tick @ 100_000..=100_000_000) => {
            ((1_000_000_000 + tick / 2) / tick, "clock_getres(CLOCK_MONOTONIC_COARSE), which is one tick")
        }
        _ => (250, "assumed: the kernel does not report it"),
    }
}

/// The kernel's preemption model and its source: the scheduler's own file, the boot parameters, the build configuration, or
/// else an assumption.
fn preemption(root: &Root) -> (&'static str, String) {
    let known = |name: &str| ["none", "voluntary", "lazy", "full"].into_iter().find(|known| *known == name);
    let file = "/sys/kernel/debug/sched/preempt";
    let text = root.read(file).unwrap_or_default();
    let marked = text.split_whitespace().find_map(|word| word.strip_prefix('(')?.strip_suffix(')'));
    if let Some(name) = marked.and_then(known) {
        return (name, format!("preemption: {file}"));
    }
    let line = root.read("/proc/cmdline").unwrap_or_default();
    if let Some(name) = line.split_whitespace().filter_map(|word| known(word.strip_prefix("preempt=")?)).next_back() {
        return (name, "preemption: preempt= in /proc/cmdline".to_owned());
    }
    let version = root.read("/proc/sys/kernel/version").unwrap_or_default();
    let built = |word: &str| version.split_whitespace().any(|part| part == word);
    if built("PREEMPT_RT") || built("PREEMPT") {
        ("full", "preemption: /proc/sys/kernel/version says PREEMPT".to_owned())
    } else if built("PREEMPT_LAZY") {
        ("lazy", "preemption: /proc/sys/kernel/version".to_owned())
    } else if built("PREEMPT_DYNAMIC") {
        let why = "preemption: assumed, since it is set at boot (PREEMPT_DYNAMIC) and shown only in";
        ("none", format!("{why} {file}, for which debugfs must be mounted"))
    } else {
        ("voluntary", "preemption: /proc/sys/kernel/version does not say PREEMPT".to_owned())
    }
}

/// The scheduler of this kernel's ordinary tasks, by its name among the policies: EEVDF came with Linux 6.6.
pub fn scheduler(root: &Root) -> &'static str {
    let release = root.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version == (0, 0) || version >= (6, 6) { "eevdf" } else { "cfs" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_of_a_guest_of_kvm_halt_where_there_are_several() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        let file = "sys/devices/system/clocksource/clocksource0/available_clocksource";
        std::fs::create_dir_all(folder.path().join(file).parent().unwrap()).unwrap();
        for (clocks, processors, halt) in
            [("kvm-clock tsc \n", 2, true), ("kvm-clock\n", 1, false), ("tsc hpet\n", 2, false)]
        {
            std::fs::write(folder.path().join(file), clocks).unwrap();
            assert_eq!(
                halting(&root, processors).contains("halt_poll = { value = \"100us\""),
                halt,
                "{clocks:?} {processors}"
            );
        }
        std::fs::remove_file(folder.path().join(file)).unwrap();
        assert_eq!(halting(&root, 2), "");
    }
}
