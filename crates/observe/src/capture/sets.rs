//! Which events are recorded: sets with names, and what each costs and is for.

use schedlab_linux::Fault;

/// Events that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Set {
    /// As it is asked for.
    pub name: &'static str,
    /// A line.
    pub meaning: &'static str,
    /// Whether it is recorded unless others are asked for.
    pub usual: bool,
    /// The events, as the kernel names them.
    pub events: &'static [&'static str],
}

/// All sets. Left out on purpose: `sched_wakeup` (what it says is in `sched_waking` and the switch), `hrtimer_cancel` (a timer that does
/// not expire was cancelled), `softirq_raise`.
pub const SETS: [Set; 7] = [
    Set {
        name: "sched",
        meaning: "switches, wakeups, migrations, new, exec'ed and ended tasks",
        usual: true,
        events: &[
            "sched:sched_switch",
            "sched:sched_waking",
            "sched:sched_wakeup_new",
            "sched:sched_migrate_task",
            "sched:sched_process_fork",
            "sched:sched_process_exec",
            "sched:sched_process_exit",
            "sched:sched_process_wait",
        ],
    },
    Set {
        name: "runtime",
        // Kernels leave out switches (2 of 1000 on one virtual machine), without a sign in the buffers. A reader that has what
        // tasks were charged knows how long the next task has run.
        meaning: "what the running task is charged, to repair switches that a kernel does not report",
        usual: true,
        events: &["sched:sched_stat_runtime"],
    },
    Set {
        name: "interrupts",
        meaning: "entry and exit of hardware, software and timer interrupts",
        usual: true,
        events: &[
            "irq:irq_handler_entry",
            "irq:irq_handler_exit",
            "irq:softirq_entry",
            "irq:softirq_exit",
            "irq_vectors:local_timer_entry",
            "irq_vectors:local_timer_exit",
        ],
    },
    Set {
        name: "timers",
        meaning: "start and expiry of high-resolution timers",
        usual: true,
        events: &["timer:hrtimer_start", "timer:hrtimer_expire_entry", "timer:hrtimer_expire_exit"],
    },
    Set {
        name: "blocks",
        meaning: "issue and completion of requests to drives",
        usual: true,
        events: &["block:block_rq_issue", "block:block_rq_complete"],
    },
    Set {
        name: "syscalls",
        meaning: "entry and exit of calls that wait or yield: every system call of the host becomes slower",
        usual: false,
        events: &[
            "syscalls:sys_enter_futex",
            "syscalls:sys_exit_futex",
            "syscalls:sys_enter_epoll_wait",
            "syscalls:sys_exit_epoll_wait",
            "syscalls:sys_enter_epoll_pwait",
            "syscalls:sys_exit_epoll_pwait",
            "syscalls:sys_enter_poll",
            "syscalls:sys_exit_poll",
            "syscalls:sys_enter_ppoll",
            "syscalls:sys_exit_ppoll",
            "syscalls:sys_enter_select",
            "syscalls:sys_exit_select",
            "syscalls:sys_enter_pselect6",
            "syscalls:sys_exit_pselect6",
            "syscalls:sys_enter_nanosleep",
            "syscalls:sys_exit_nanosleep",
            "syscalls:sys_enter_clock_nanosleep",
            "syscalls:sys_exit_clock_nanosleep",
            "syscalls:sys_enter_read",
            "syscalls:sys_exit_read",
            "syscalls:sys_enter_write",
            "syscalls:sys_exit_write",
            "syscalls:sys_enter_readv",
            "syscalls:sys_exit_readv",
            "syscalls:sys_enter_writev",
            "syscalls:sys_exit_writev",
            "syscalls:sys_enter_recvmsg",
            "syscalls:sys_exit_recvmsg",
            "syscalls:sys_enter_sendmsg",
            "syscalls:sys_exit_sendmsg",
            "syscalls:sys_enter_recvfrom",
            "syscalls:sys_exit_recvfrom",
            "syscalls:sys_enter_sendto",
            "syscalls:sys_exit_sendto",
            "syscalls:sys_enter_fsync",
            "syscalls:sys_exit_fsync",
            "syscalls:sys_enter_fdatasync",
            "syscalls:sys_exit_fdatasync",
            "syscalls:sys_enter_sched_yield",
            "syscalls:sys_exit_sched_yield",
        ],
    },
    Set {
        name: "faults",
        meaning: "page faults of programs and of the kernel",
        usual: false,
        events: &["exceptions:page_fault_user", "exceptions:page_fault_kernel"],
    },
];

/// The events of these sets, each once; of the usual ones if none are named.
pub fn events(names: &[String]) -> Result<Vec<&'static str>, Fault> {
    let mut found = Vec::new();
    for name in names {
        let set = SETS.iter().find(|set| set.name == name).ok_or_else(|| unknown(name))?;
        found.push(set);
    }
    if names.is_empty() {
        found.extend(SETS.iter().filter(|set| set.usual));
    }
    let mut all = Vec::new();
    for event in found.iter().flat_map(|set| set.events) {
        if !all.contains(event) {
            all.push(*event);
        }
    }
    Ok(all)
}

fn unknown(name: &str) -> Fault {
    let known: Vec<&str> = SETS.iter().map(|set| set.name).collect();
    Fault::Wrong(format!("--events: there is no set {name:?}; sets are {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_sets_are_those_that_say_so() {
        let all = events(&[]).unwrap();
        assert!(all.contains(&"sched:sched_switch") && all.contains(&"block:block_rq_issue"));
        assert!(!all.iter().any(|event| event.starts_with("syscalls:")));
    }

    #[test]
    fn a_set_asked_for_twice_is_recorded_once() {
        let one = events(&["faults".to_owned()]).unwrap();
        assert_eq!(events(&["faults".to_owned(), "faults".to_owned()]).unwrap(), one);
    }

    #[test]
    fn an_unknown_set_is_refused_with_the_known_ones() {
        let why = events(&["block".to_owned()]).unwrap_err().to_string();
        assert_eq!(
            why,
            "--events: there is no set \"block\"; sets are sched, runtime, interrupts, timers, blocks, syscalls, faults"
        );
    }
}
