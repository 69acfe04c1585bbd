//! Takes the state of the host when a recording begins, for [`State`].

use super::{
    groups::{self, Hierarchy},
    tasks,
};
use schedlab_linux::{
    Root,
    clock::{now, tick},
    topology,
    tracefs::open_unmounted,
};
use schedlab_traces::kernel::state::{Kernel, Processor, State, VERSION};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufRead, BufReader, Read},
    os::fd::AsRawFd,
    path::{Path, PathBuf},
};

/// Most bytes of a setting that are kept.
const LONGEST_SETTING: u64 = 4096;
/// Most files of settings in a folder.
const MOST_SETTINGS: usize = 256;
/// Where debugfs belongs.
const DEBUGFS: &str = "/sys/kernel/debug";
/// The scheduler's state of the moment, not a setting, and long.
const NO_SETTING: &str = "debug";
/// What hrtimers call: sleeps and waits with a limit, alarms, ticks, bandwidth and deadlines of the scheduler. Those that a kernel does
/// not have are left out.
const TIMER_FUNCTIONS: [&str; 16] = [
    "hrtimer_wakeup",
    "posix_timer_fn",
    "it_real_fn",
    "timerfd_tmrproc",
    "alarmtimer_fired",
    "tick_nohz_handler",
    "tick_sched_timer",
    "hrtick",
    "sched_rt_period_timer",
    "sched_cfs_period_timer",
    "sched_cfs_slack_timer",
    "dl_task_timer",
    "inactive_task_timer",
    "perf_mux_hrtimer_handler",
    "watchdog_timer_fn",
    "kvm_timer_fn",
];

/// Looks. What cannot be read is left out.
pub(super) fn state(root: &Root) -> State {
    let begun = now();
    let (groups, groups_left_out) = Hierarchy::of(root).as_ref().map(groups::all).unwrap_or_default();
    let mut state = State {
        version: VERSION,
        recorder: std::process::id() as i32,
        processors: processors(root),
        timer_functions: timer_functions(root),
        kernel: kernel(root),
        groups,
        groups_left_out,
        ..State::default()
    };
    // Last: tasks come and go.
    add_tasks(root, &mut state);
    state.taken_ns = (begun, now());
    state
}

/// Adds the tasks that are not in the state yet: those that were made while it was taken. Those that have ended stay.
pub(super) fn add_tasks(root: &Root, state: &mut State) {
    let hierarchy = Hierarchy::of(root);
    let autogroups = has_autogroups(state);
    state.tasks_left_out = tasks::add(root, hierarchy.as_ref(), autogroups, &mut state.tasks);
}

/// Whether tasks of a session make a group.
pub(super) fn has_autogroups(state: &State) -> bool {
    state.kernel.settings.get("/proc/sys/kernel/sched_autogroup_enabled").is_some_and(|text| text == "1")
}

fn kernel(root: &Root) -> Kernel {
    let line = |name: &str| root.read(format!("/proc/sys/kernel/{name}")).unwrap_or_default().trim().to_owned();
    Kernel {
        release: line("osrelease"),
        build: line("version"),
        machine: std::env::consts::ARCH.to_owned(),
        tick_ns: tick().filter(|ns| *ns > 0),
        settings: settings(root),
    }
}

/// The texts of the scheduler's files by path. Where debugfs is not mounted, it is looked at without a mount.
fn settings(root: &Root) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let sysctl = "/proc/sys/kernel";
    read_all(&root.path(sysctl), sysctl, |name| name.starts_with("sched_"), &mut found);
    let debug = format!("{DEBUGFS}/sched");
    let mounted = root.path(&debug);
    let open = if mounted.exists() || *root != Root::default() { None } else { open_unmounted(c"debugfs").ok() };
    let folder = open.as_ref().map(|open| PathBuf::from(format!("/proc/self/fd/{}/sched", open.as_raw_fd())));
    read_all(&folder.unwrap_or(mounted), &debug, |name| name != NO_SETTING, &mut found);
    found
}

/// Reads the files of a folder, which is called `shown`, whose names are wanted.
fn read_all(folder: &Path, shown: &str, wanted: impl Fn(&str) -> bool, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_SETTINGS) {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !wanted(&name) || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let mut text = String::new();
        let read = File::open(entry.path()).and_then(|file| file.take(LONGEST_SETTING).read_to_string(&mut text));
        if read.is_ok() {
            found.insert(format!("{shown}/{name}"), text.trim().to_owned());
        }
    }
}

fn processors(root: &Root) -> Vec<Processor> {
    let Some(host) = topology::read(root) else { return Vec::new() };
    let numbered = host.numbers.iter().enumerate();
    numbered
        .map(|(at, &number)| {
            let place = host.topology.place(at as u16);
            let (core, cache, node, capacity) = (place.core, place.cache, place.node, place.capacity);
            Processor { number, core, cache, node, capacity }
        })
        .collect()
}

/// The addresses of the functions that timers call. The kernel hides them, as 0, from those who may not see them.
fn timer_functions(root: &Root) -> BTreeMap<String, u64> {
    let Ok(file) = File::open(root.path("/proc/kallsyms")) else { return BTreeMap::new() };
    let symbol = |line: String| {
        let mut words = line.split_ascii_whitespace();
        let (address, _, name) = (words.next()?, words.next()?, words.next()?);
        let address = u64::from_str_radix(address, 16).ok().filter(|address| *address != 0)?;
        TIMER_FUNCTIONS.contains(&name).then(|| (name.to_owned(), address))
    };
    BufReader::with_capacity(1 << 16, file).lines().map_while(Result::ok).filter_map(symbol).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// A made-up host of these files.
    fn host(files: &[(&str, &str)]) -> (TempDir, Root) {
        let folder = TempDir::new().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = Root::at(folder.path());
        (folder, root)
    }

    #[test]
    fn settings_are_by_path_and_the_state_of_the_moment_is_none() {
        let (_folder, root) = host(&[
            ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
            ("proc/sys/kernel/panic", "0\n"),
            ("sys/kernel/debug/sched/base_slice_ns", "3000000\n"),
            ("sys/kernel/debug/sched/debug", "Sched Debug Version ...\n"),
            ("sys/kernel/debug/sched/domains/cpu0/flags", "1\n"),
        ]);
        let found: Vec<(String, String)> = settings(&root).into_iter().collect();
        let expected =
            [("/proc/sys/kernel/sched_rt_runtime_us", "950000"), ("/sys/kernel/debug/sched/base_slice_ns", "3000000")];
        assert_eq!(found, expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
    }

    #[test]
    fn functions_whose_addresses_are_hidden_are_left_out() {
        let (_folder, root) = host(&[(
            "proc/kallsyms",
            "0000000000000000 t hrtimer_wakeup\nffffffff81000010 t posix_timer_fn\nffffffff81000020 T other\nnonsense\n",
        )]);
        assert_eq!(timer_functions(&root), BTreeMap::from([("posix_timer_fn".to_owned(), 0xffff_ffff_8100_0010)]));
    }

    #[test]
    fn a_host_that_shows_nothing_has_a_state_without_tasks() {
        let (_folder, root) = host(&[]);
        let found = state(&root);
        assert_eq!((found.version, found.tasks.len(), found.groups.len()), (VERSION, 0, 0));
    }

    #[test]
    fn the_running_host_has_this_task_in_its_state() {
        let found = state(&Root::default());
        let own = found.tasks.iter().find(|task| task.pid == std::process::id() as i32).unwrap();
        assert_eq!(own.process, own.pid);
        assert!(!own.kernel && !own.processors.is_empty());
        assert!(found.groups.is_empty() || found.groups.iter().any(|group| group.path == own.group), "{own:?}");
    }
}
