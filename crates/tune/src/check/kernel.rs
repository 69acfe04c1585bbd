//! What the kernel is and shows: classes, slices, tracing, counts.

use super::aside::Aside;
use super::{Answer, Line, text};
use schedlab_linux::{
    Root, clock,
    mounts::has_entries,
    sched::{Attributes, set_round_robin},
};
use schedlab_model::units::spell_duration;

/// Which kernel.
pub(super) fn release(root: &Root) -> Line {
    let name = text(root, "/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".to_owned());
    Line::new("kernel", Answer::Yes, format!("Linux {name}"), "")
}

/// Everything else about it.
pub(super) fn lines(root: &Root, aside: Option<&Aside>) -> Vec<Line> {
    vec![
        slices(),
        tick(root, aside),
        real_time(root),
        autogroup(root),
        tracing(root, aside),
        perf(root),
        lockdown(root, aside),
        debugfs(root, aside),
        pressure(root),
        delays(root),
        schedstats(root),
    ]
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// The slice that a thread of ours gets when it asks for one of 3 ms, ns.
fn granted_slice() -> Option<u64> {
    let ask = || {
        Attributes { runtime: 3_000_000, ..Attributes::default() }.set(0).ok()?;
        Attributes::current().ok().map(|granted| granted.runtime)
    };
    std::thread::spawn(ask).join().ok()?
}

fn slices() -> Line {
    let what = "a task's own slice";
    match granted_slice() {
        Some(3_000_000) => Line::new(what, Answer::Yes, "sched_setattr took 3ms, and says so", ""),
        Some(_) => Line::new(
            what,
            Answer::No,
            "sched_setattr took a slice and forgot it",
            "needs Linux 6.12; base_slice is for all tasks",
        ),
        None => Line::new(
            what,
            Answer::No,
            "sched_setattr was refused",
            "needs Linux 6.12, and a container that lets it pass",
        ),
    }
}

fn tick(root: &Root, aside: Option<&Aside>) -> Line {
    let what = "slices below a tick";
    let Some(ns) = clock::tick().filter(|ns| *ns > 0) else {
        return Line::new(
            what,
            Answer::Unknown,
            "the length of a tick cannot be read",
            "compare asked slices with switches counted",
        );
    };
    let seen = format!("HZ = {}, a tick is {}", 1_000_000_000 / ns, spell_duration(ns));
    let features = text(root, "/sys/kernel/debug/sched/features");
    let features = features.or_else(|| aside?.features.as_ref().ok().cloned());
    match features.as_deref().map(|f| f.split_whitespace().any(|w| w == "HRTICK")) {
        Some(true) => Line::new(what, Answer::Yes, format!("{seen}; HRTICK ends slices by a timer"), ""),
        Some(false) => Line::new(
            what,
            Answer::Limited,
            format!("{seen}; HRTICK is off"),
            "slices are rounded up to ticks; hrtick = \"true\" ends them by a timer",
        ),
        None => Line::new(
            what,
            Answer::Limited,
            format!("{seen}; whether HRTICK is on cannot be read"),
            "assume that slices are rounded up to ticks",
        ),
    }
}

/// Whether a thread of ours may become real-time.
fn real_time_granted() -> Result<(), std::io::Error> {
    std::thread::spawn(set_round_robin).join().unwrap_or_else(|_| Err(std::io::Error::other("the thread died")))
}

fn real_time(root: &Root) -> Line {
    let what = "real-time classes";
    let us = |path| text(root, path).and_then(|t| t.parse::<i64>().ok());
    let budget = match (us("/proc/sys/kernel/sched_rt_runtime_us"), us("/proc/sys/kernel/sched_rt_period_us")) {
        (Some(-1), _) => "; without limit: a task that spins keeps its processor".to_owned(),
        (Some(runtime), Some(period)) if period > 0 => {
            format!("; together {} % of each processor", runtime * 100 / period)
        }
        _ => String::new(),
    };
    let group = crate::place::controller_mount(root, Some("cpu")).map(|m| m.join("cpu.rt_runtime_us"));
    let grouped = group.is_some_and(|file| root.path(file).exists());
    let groups = if grouped { "; RT_GROUP_SCHED: a new group may use none until group_rt_runtime is set" } else { "" };
    match real_time_granted() {
        Ok(()) => Line::fine_if(
            !grouped,
            what,
            format!("a thread of ours got SCHED_RR{budget}{groups}"),
            "give each group with real-time tasks a budget",
        ),
        Err(why) => Line::new(
            what,
            Answer::No,
            format!("SCHED_RR was refused: {why}{groups}"),
            "as root, with CAP_SYS_NICE or a limit rtprio; in a group with a budget",
        ),
    }
}

fn autogroup(root: &Root) -> Line {
    let what = "nice across sessions";
    match text(root, "/proc/sys/kernel/sched_autogroup_enabled").as_deref() {
        Some("0") => Line::new(what, Answer::Yes, "autogroup is off", ""),
        Some(_) => Line::new(
            what,
            Answer::Limited,
            "autogroup is on: nice acts only within a session",
            "autogroup = \"false\" for the run, or one session for all",
        ),
        None => Line::new(what, Answer::Yes, "this kernel has no autogroup", ""),
    }
}

fn tracing(root: &Root, aside: Option<&Aside>) -> Line {
    let what = "recording the scheduler's events";
    let known = text(root, "/proc/filesystems").is_some_and(|t| t.split_whitespace().any(|w| w == "tracefs"));
    for folder in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"] {
        if !has_entries(root, folder) {
            continue;
        }
        return match std::fs::File::open(root.path(folder).join("events/sched/sched_switch/id")) {
            Ok(_) => Line::new(what, Answer::Yes, format!("tracefs is mounted at {folder}"), ""),
            Err(why) => Line::new(
                what,
                Answer::No,
                format!("{folder}: {why}"),
                "as root; lockdown and some containers forbid it",
            ),
        };
    }
    match (known, aside.map(|a| &a.events)) {
        (_, Some(Ok(()))) => {
            Line::new(what, Answer::Yes, "tracefs is not mounted; a recording mounts it for its time", "")
        }
        (true, Some(Err(why))) => {
            Line::new(what, Answer::No, format!("tracefs: {why}"), "lockdown and some containers forbid it")
        }
        (true, None) => {
            let advice = "as root, or mount -t tracefs tracefs /sys/kernel/tracing";
            Line::new(what, Answer::No, "tracefs is not mounted", advice)
        }
        (false, _) => {
            Line::new(what, Answer::No, "this kernel has no tracefs", "metrics of waiting come from counters then")
        }
    }
}

fn perf(root: &Root) -> Line {
    let what = "perf events";
    let Some(level) = text(root, "/proc/sys/kernel/perf_event_paranoid") else {
        return Line::new(what, Answer::No, "this kernel has none", "");
    };
    let free = is_root() || level.parse::<i32>().is_ok_and(|l| l <= 0);
    let seen = format!("perf_event_paranoid is {level}{}", if is_root() { ", and this is root" } else { "" });
    Line::fine_if(free, what, seen, "as root, or sysctl kernel.perf_event_paranoid=-1; own tasks only otherwise")
}

fn lockdown(root: &Root, aside: Option<&Aside>) -> Line {
    let what = "no lockdown";
    let stated = text(root, "/sys/kernel/security/lockdown");
    let stated = stated.or_else(|| aside?.lockdown.as_ref().ok().cloned());
    let chosen = stated.as_deref().and_then(|t| crate::reading::Reading::Chosen.of(t));
    let asked = text(root, "/proc/cmdline")
        .and_then(|c| c.split_whitespace().find_map(|w| w.strip_prefix("lockdown=").map(str::to_owned)));
    match chosen.or(asked).as_deref() {
        Some("none") => Line::new(what, Answer::Yes, "the kernel is not locked down", ""),
        Some(mode) => Line::new(
            what,
            Answer::Limited,
            format!("locked down for {mode}"),
            "debugfs is closed, and more; boot without lockdown",
        ),
        None if aside.is_some() || has_entries(root, "/sys/kernel/security") => {
            Line::new(what, Answer::Yes, "this kernel has no lockdown", "")
        }
        None => Line::new(
            what,
            Answer::Unknown,
            "securityfs is not mounted",
            "mount -t securityfs securityfs /sys/kernel/security",
        ),
    }
}

fn debugfs(root: &Root, aside: Option<&Aside>) -> Line {
    let what = "the scheduler's debug files";
    for folder in ["/sys/kernel/debug/sched/features", "/sys/kernel/debug/sched_features"] {
        match std::fs::File::open(root.path(folder)) {
            Ok(_) => return Line::new(what, Answer::Yes, format!("{folder} can be read"), ""),
            Err(why) if why.kind() == std::io::ErrorKind::PermissionDenied => {
                return Line::new(
                    what,
                    Answer::No,
                    format!("{folder}: {why}"),
                    &crate::steps::closed("lockdown closes it"),
                );
            }
            Err(_) => {}
        }
    }
    match aside.map(|a| &a.features) {
        Some(Ok(_)) => {
            Line::new(what, Answer::Yes, "debugfs is not mounted; a run that needs it mounts it for its time", "")
        }
        Some(Err(why)) if why.kind() == std::io::ErrorKind::PermissionDenied => Line::new(
            what,
            Answer::No,
            format!("debugfs can be mounted, and its files not opened: {why}"),
            "lockdown closes them: boot without",
        ),
        Some(Err(_)) => Line::new(what, Answer::No, "debugfs has none", "a kernel with CONFIG_SCHED_DEBUG has them"),
        None if has_entries(root, "/sys/kernel/debug") => {
            Line::new(what, Answer::No, "debugfs is mounted and has none", "a kernel with CONFIG_SCHED_DEBUG has them")
        }
        None => Line::new(
            what,
            Answer::Unknown,
            "debugfs is not mounted",
            "as root, or mount -t debugfs debugfs /sys/kernel/debug",
        ),
    }
}

fn pressure(root: &Root) -> Line {
    let what = "pressure (PSI)";
    match text(root, "/proc/pressure/cpu") {
        Some(_) => Line::new(what, Answer::Yes, "/proc/pressure can be read", ""),
        None => {
            Line::new(what, Answer::No, "there is no /proc/pressure", "boot with psi=1, or a kernel with CONFIG_PSI")
        }
    }
}

fn delays(root: &Root) -> Line {
    let what = "delay accounting";
    match text(root, "/proc/sys/kernel/task_delayacct").as_deref() {
        Some("0") => Line::new(
            what,
            Answer::Limited,
            "it is there, and off",
            "delay_accounting = \"true\" for the run: it counts for tasks begun then",
        ),
        Some(_) => Line::new(what, Answer::Yes, "it is on", ""),
        None => Line::new(
            what,
            Answer::No,
            "this kernel cannot turn it on",
            "a kernel from 5.14 with CONFIG_TASK_DELAY_ACCT, or boot with delayacct",
        ),
    }
}

fn schedstats(root: &Root) -> Line {
    let what = "scheduler statistics";
    match (text(root, "/proc/schedstat"), text(root, "/proc/sys/kernel/sched_schedstats").as_deref()) {
        (Some(_), Some("0")) => {
            Line::new(what, Answer::Limited, "they are there, and off", "schedstats = \"true\" for the run")
        }
        (Some(_), _) => Line::new(what, Answer::Yes, "they are kept", ""),
        (None, _) => Line::new(
            what,
            Answer::No,
            "this kernel has no CONFIG_SCHEDSTATS",
            "waits come from recorded events or delay accounting",
        ),
    }
}
