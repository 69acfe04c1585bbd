//! What a run's numbers suffer from, as warnings: what was seen, why it may mislead, what to do.

use crate::{
    finished::FinishedRun,
    plan::Caution,
    records::RecordedNumbers,
    shared::{Slot, Trouble},
    stuck::StuckTasks,
};
use schedlab_linux::sched::{HIGHEST_PRIORITY, Standing};
use schedlab_metrics::Warning;
use schedlab_model::task::Policy;
use schedlab_observe::tracing::Whole;
use schedlab_tune::Mismatch;
use std::{io, sync::atomic::Ordering::Relaxed};

/// A kind of trouble in words: what was seen, why it may mislead, what to do.
type Words = (Trouble, &'static str, &'static str, &'static str);

const TROUBLES: &[Words] = &[
    (
        Trouble::LockedMemory,
        "could not lock memory",
        "page faults of the program itself may come into its times",
        "run as root, or raise `ulimit -l`",
    ),
    (Trouble::Affinity, "could not be confined to their processors", "they ran elsewhere too", "look at the cpuset"),
    (Trouble::Nice, "could not have their nice value", "they ran with another one", "run as root for negative values"),
    (
        Trouble::Policy,
        "could not have their policy",
        "they ran as ordinary tasks",
        "run as root; in a control group of a kernel with RT_GROUP_SCHED, give it cpu.rt_runtime_us",
    ),
    (
        Trouble::Group,
        "could not be moved into their group",
        "they ran outside",
        "run as root, or have the control group delegated",
    ),
    (
        Trouble::IoPriority,
        "could not have the class or the level of their requests to drives",
        "their requests were served as those of others",
        "run as root for io_class = \"real_time\"",
    ),
    (Trouble::TimerSlack, "could not have exact timers", "wakeups are up to 50 us later", "use a newer kernel"),
    (
        Trouble::Ceiling,
        "could not have the priority of a lock's ceiling",
        "they held the lock with their own",
        "run as root, or allow real-time priorities (`ulimit -r`)",
    ),
    (Trouble::Lock, "could not give a lock back", "others wait for it", "run it again; if it stays so, report it"),
    (Trouble::File, "could not use a file", "steps of theirs did nothing", "look at the files of the scenario"),
    (Trouble::Memory, "could not have memory", "pages were not touched", "ask for less"),
    (Trouble::Fork, "could not make a child", "its work was not done", "raise `ulimit -u`"),
    (Trouble::Command, "ran a command that failed", "its work was not done, or not all", "try it in a shell"),
    (
        Trouble::Exec,
        "could not execute a file in memory",
        "the kernel chose no processor for them there",
        "set vm.memfd_noexec to 0, or allow it in the policy of a security module",
    ),
];

/// Tasks whose reservation was refused.
pub(crate) fn refused(slots: &[&Slot]) -> usize {
    slots.iter().filter(|slot| slot.trouble(Trouble::Reservation).is_some()).count()
}

pub(crate) fn of(run: &FinishedRun<'_>, recorded: &RecordedNumbers, stuck_tasks: &StuckTasks) -> Vec<Caution> {
    let mut all: Vec<Caution> = stuck_tasks.caution().into_iter().collect();
    of_run(run, &mut all);
    of_records(run, recorded, &mut all);
    for (index, name) in run.setup.workload.jobs.iter().enumerate() {
        let of_job = |slot: &&Slot| slot.job.load(Relaxed) as usize == index;
        let slots: Vec<&Slot> = run.setup.shared.used().iter().filter(of_job).collect();
        troubles(name, &slots, &mut all);
        wishes(run, index, &slots, &mut all);
        ends(run, index, stuck_tasks.of_job[index].1 as usize, &mut all);
    }
    all
}

/// A warning of the metrics.
pub(crate) fn of_metrics(Warning { seen, why, advice, .. }: Warning) -> Caution {
    Caution { seen, why, advice }
}

fn caution(seen: String, why: &str, advice: &str) -> Caution {
    Caution { seen, why: why.to_owned(), advice: advice.to_owned() }
}

fn of_run(run: &FinishedRun<'_>, all: &mut Vec<Caution>) {
    if run.standing != Standing::RealTime {
        let how = if run.standing == Standing::Favoured { "at nice -20" } else { "as an ordinary task" };
        all.push(caution(
            format!("the agent itself ran {how}"),
            "among hogs it may end the run late",
            "run as root, or allow real-time priority 50 (`ulimit -r`)",
        ));
    }
    if run.setup.workload.highest_priority >= HIGHEST_PRIORITY {
        all.push(caution(
            format!("tasks have the real-time priority {HIGHEST_PRIORITY}, which is the agent's own then"),
            "if they never sleep, the run ends up to 2 s late, and the kernel kills them",
            "give them 98 at most",
        ));
    }
    if run.cut {
        let end = (run.span.1 - run.span.0) as f64 / 1e9;
        all.push(caution(
            format!("the run was ended after {end:.3} s, with tasks that had not ended"),
            "it is not the run that was asked for",
            "allow more time with --at-most",
        ));
    }
    for &pool in &run.lost_generators {
        all.push(caution(
            format!("the generator of the requests of `{}` was killed", run.setup.workload.jobs[pool]),
            "requests after that are missing, and its tasks ended",
            "find out what sends signals; run it again",
        ));
    }
    let sessions = run.setup.workload.divided;
    if sessions > 0 {
        all.push(caution(
            format!("the kernel shared its processors among {sessions} sessions (autogroup)"),
            "nice values and the number of tasks act only within a session",
            "give the jobs one `session`, or choose with `scheduler.autogroup` what is meant",
        ));
    }
    all.extend(run.attention.cautions());
    let refused = run.setup.groups.refused.iter();
    all.extend(refused.map(|seen| caution(seen.clone(), "shares and limits are not those asked for", "run as root")));
}

/// What was not recorded as it was wanted, and settings that were not as they were set.
fn of_records(run: &FinishedRun<'_>, recorded: &RecordedNumbers, all: &mut Vec<Caution>) {
    if let Some(why) = &run.recording.missing {
        all.push(caution(
            format!("the scheduler's events were not recorded: {why}"),
            "waits are known only as far as tasks can see their own: from timers, between readings of the clock",
            "see what schedlab host check advises",
        ));
    }
    let Whole { switches, missing } = recorded.whole;
    if missing > 0 {
        all.push(caution(
            format!("the kernel did not record {missing} switches of these tasks; it recorded {switches}"),
            "as many waits may be missing or too long",
            "nothing, if they are few: medians do not change; else record a shorter run",
        ));
    }
    if let Some(why) = &recorded.unwritten {
        all.push(caution(why.clone(), "there is no recording of this run", "name another file, or record less"));
    }
    for Mismatch { setting, path, expected, actual } in &run.rounded {
        all.push(caution(
            format!("{setting} was to be {expected} and is {actual} ({})", path.display()),
            "the run is not of the setting that was asked for",
            "ask for what the kernel gives",
        ));
    }
    for Mismatch { setting, path, expected, actual } in &run.changed {
        all.push(caution(
            format!("{setting} was {expected} and became {actual} during the run ({})", path.display()),
            "another process sets it, so the run is not valid for any setting",
            "find the process, and end it",
        ));
    }
}

fn troubles(job: &str, slots: &[&Slot], all: &mut Vec<Caution>) {
    for (trouble, what, why, advice) in TROUBLES {
        let numbers: Vec<u64> = slots.iter().filter_map(|slot| slot.trouble(*trouble)).collect();
        let Some(&number) = numbers.first() else { continue };
        let reason = match number {
            0 if *trouble == Trouble::Command => "its exit status is not 0".to_owned(),
            0 => "the kernel has another one".to_owned(),
            number => io::Error::from_raw_os_error(number as i32).to_string(),
        };
        all.push(caution(format!("{} tasks of `{job}` {what}: {reason}", numbers.len()), why, advice));
    }
}

/// What a job asks for and this kernel has otherwise.
fn wishes(run: &FinishedRun<'_>, index: usize, slots: &[&Slot], all: &mut Vec<Caution>) {
    let (job, name) = (&run.setup.jobs[index], &run.setup.workload.jobs[index]);
    if let Some(found) = slots.iter().find_map(|slot| slot.trouble(Trouble::Slice)) {
        let first = run.setup.slices[index].into_iter();
        let later = run.setup.treatments(index).filter_map(|one| one.slice).map(|slice| slice.0);
        let wanted: Vec<String> = first.chain(later).filter(|slice| *slice > 0).map(|it| format!("{it} ns")).collect();
        let wanted = wanted.join(" or ");
        all.push(caution(
            format!("tasks of `{name}` asked for a slice of {wanted} and have {found} ns"),
            "the kernel allows 0.1 ms to 100 ms, older ones no slice of one's own",
            "ask for a slice that the kernel gives",
        ));
    }
    let refused = refused(slots);
    if refused > 0 {
        all.push(caution(
            format!("{refused} tasks of `{name}` were refused their reservation"),
            "they ran as ordinary tasks",
            "ask for less, for all processors, and as root",
        ));
    }
    if job.nice > 19 || run.setup.treatments(index).any(|one| one.nice.is_some_and(|nice| nice > 19)) {
        all.push(caution(
            format!("tasks of `{name}` have nice 19"),
            "Linux has no nice 20",
            "compare with a simulated nice 19",
        ));
    }
    if job.policy == Policy::Iso || run.setup.treatments(index).any(|one| one.policy == Some(Policy::Iso)) {
        all.push(caution(
            format!("tasks of `{name}` ran as ordinary tasks"),
            "Linux has no policy \"iso\"",
            "use \"rr\" or a nice value",
        ));
    }
}

/// Tasks that did not end of themselves.
fn ends(run: &FinishedRun<'_>, index: usize, stuck: usize, all: &mut Vec<Caution>) {
    let setup = run.setup;
    let name = &setup.workload.jobs[index];
    let tasks = || (0..setup.workload.tasks.len()).filter(|&n| setup.workload.tasks[n].job == index);
    let died = tasks().filter_map(|n| run.ends[n]?.signal).collect::<Vec<_>>();
    let children = setup.shared.totals[index].died.load(Relaxed);
    if let Some(signal) = died.first() {
        let word = nix::sys::signal::Signal::try_from(*signal).map_or("a signal", |signal| signal.as_str());
        all.push(caution(
            format!("{} tasks of `{name}` were ended by {word}", died.len()),
            "its results cover a part of its work",
            "find out what sends signals, and look for a lack of memory in the kernel's log; run it again",
        ));
    }
    if children > 0 {
        all.push(caution(
            format!("{children} children of tasks of `{name}` were ended by a signal"),
            "its results cover a part of its work",
            "find out what sends signals; run it again",
        ));
    }
    let left = tasks().filter(|&n| setup.shared.slots[n].ended.load(Relaxed) == 0).count();
    // Tasks that can never end are reported with the deadlock.
    let left = left.saturating_sub(stuck);
    if setup.is_awaited(index) && left > died.len() {
        let all_of_it = tasks().count();
        all.push(caution(
            format!("{left} of {all_of_it} tasks of `{name}` had not ended when the run ended"),
            "its `real` is left out: a mean over the others would favour short tasks",
            "let the run last longer, or ask for `passes` or `share`",
        ));
    }
}
