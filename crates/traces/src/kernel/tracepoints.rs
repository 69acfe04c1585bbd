//! The tracepoints that readers know, and which of their fields say what.

use super::{Kind, calls};

/// What is made of a tracepoint. Its numbers and texts are those of its [`Known`], in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// `prev_pid`, `prev_prio`, `prev_state`, `next_pid`, `next_prio`.
    Switch,
    /// `pid`, `prio`, `target_cpu`.
    Wake(Kind),
    /// `pid`, `orig_cpu`, `dest_cpu`.
    Migrate,
    /// `parent_pid`, `child_pid`.
    Fork,
    /// `pid`.
    Of(Kind),
    /// `pid`, `runtime`.
    Runtime,
    /// Of the current task: a value, and the flag given here.
    Value(Kind, u8),
    /// The number of a system call that the current task enters.
    Enter,
    /// The timer, when it expires, its mode.
    HrtimerStart,
    /// `sector`, `dev`, `nr_sector`, `bytes`; what is done is a text.
    Block(Kind),
}

/// A tracepoint that readers know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// Its group.
    pub system: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What is made of it.
    pub what: What,
    /// The fields that are read as numbers. One that begins with `?` is not there in every kernel and is 0 then; `a|b` is `a`, or `b` where
    /// a kernel has no `a`.
    pub numbers: &'static [&'static str],
    /// The fields that are read as texts.
    pub texts: &'static [&'static str],
}

const fn known(
    system: &'static str,
    name: &'static str,
    what: What,
    numbers: &'static [&'static str],
    texts: &'static [&'static str],
) -> Known {
    Known { system, name, what, numbers, texts }
}

const fn value(system: &'static str, name: &'static str, kind: Kind, number: &'static [&'static str]) -> Known {
    known(system, name, What::Value(kind, 0), number, &[])
}

const WAKE: &[&str] = &["pid", "?prio", "?target_cpu"];
const BLOCK: &[&str] = &["sector", "dev", "nr_sector", "?bytes"];
const VECTOR: &[&str] = &["vector"];

/// All of them, but for those that have a system call's name in theirs.
const TRACEPOINTS: &[Known] = &[
    known(
        "sched",
        "sched_switch",
        What::Switch,
        &["prev_pid", "?prev_prio", "prev_state", "next_pid", "?next_prio"],
        &["prev_comm", "next_comm"],
    ),
    known("sched", "sched_waking", What::Wake(Kind::Waking), WAKE, &["comm"]),
    known("sched", "sched_wakeup", What::Wake(Kind::Woken), WAKE, &["comm"]),
    known("sched", "sched_wakeup_new", What::Wake(Kind::New), WAKE, &["comm"]),
    known("sched", "sched_migrate_task", What::Migrate, &["pid", "orig_cpu", "dest_cpu"], &["comm"]),
    known("sched", "sched_process_fork", What::Fork, &["parent_pid", "child_pid"], &["parent_comm", "child_comm"]),
    known("sched", "sched_process_exec", What::Of(Kind::Exec), &["pid"], &[]),
    known("sched", "sched_process_exit", What::Of(Kind::Exit), &["pid"], &["comm"]),
    known("sched", "sched_process_wait", What::Value(Kind::Wait, 0), &["pid"], &[]),
    known("sched", "sched_stat_runtime", What::Runtime, &["pid", "runtime"], &["comm"]),
    value("irq", "irq_handler_entry", Kind::IrqEntry, &["irq"]),
    value("irq", "irq_handler_exit", Kind::IrqExit, &["irq"]),
    value("irq", "softirq_entry", Kind::SoftirqEntry, &["vec"]),
    value("irq", "softirq_exit", Kind::SoftirqExit, &["vec"]),
    value("irq_vectors", "local_timer_entry", Kind::VectorEntry, VECTOR),
    value("irq_vectors", "local_timer_exit", Kind::VectorExit, VECTOR),
    value("irq_vectors", "reschedule_entry", Kind::VectorEntry, VECTOR),
    value("irq_vectors", "reschedule_exit", Kind::VectorExit, VECTOR),
    value("irq_vectors", "call_function_entry", Kind::VectorEntry, VECTOR),
    value("irq_vectors", "call_function_exit", Kind::VectorExit, VECTOR),
    value("irq_vectors", "call_function_single_entry", Kind::VectorEntry, VECTOR),
    value("irq_vectors", "call_function_single_exit", Kind::VectorExit, VECTOR),
    known("timer", "hrtimer_start", What::HrtimerStart, &["hrtimer", "expires", "?mode"], &[]),
    value("timer", "hrtimer_expire_entry", Kind::TimerExpire, &["hrtimer"]),
    value("timer", "hrtimer_expire_exit", Kind::TimerDone, &["hrtimer"]),
    value("timer", "hrtimer_cancel", Kind::TimerCancel, &["hrtimer"]),
    value("timer", "timer_start", Kind::TimerStart, &["timer"]),
    value("timer", "timer_expire_entry", Kind::TimerExpire, &["timer"]),
    value("timer", "timer_expire_exit", Kind::TimerDone, &["timer"]),
    value("timer", "timer_cancel", Kind::TimerCancel, &["timer"]),
    value("workqueue", "workqueue_execute_start", Kind::WorkBegin, &["work"]),
    value("workqueue", "workqueue_execute_end", Kind::WorkEnd, &["work"]),
    known("block", "block_rq_issue", What::Block(Kind::BlockIssue), BLOCK, &["rwbs"]),
    known("block", "block_rq_complete", What::Block(Kind::BlockComplete), BLOCK, &["rwbs"]),
    known("exceptions", "page_fault_user", What::Value(Kind::Fault, 0), &["address"], &[]),
    known("exceptions", "page_fault_kernel", What::Value(Kind::Fault, 1), &["address"], &[]),
    known("raw_syscalls", "sys_enter", What::Enter, &["id"], &[]),
    value("raw_syscalls", "sys_exit", Kind::SyscallExit, &["id"]),
];

/// The entry and exit of a single system call. Some kernels call the number `nr`.
const SYSCALLS: [Known; 2] = [
    value("syscalls", "sys_enter_", Kind::SyscallEnter, &["__syscall_nr|nr"]),
    value("syscalls", "sys_exit_", Kind::SyscallExit, &["__syscall_nr|nr"]),
];

/// What is made of a tracepoint of that name, where it is of a single system call.
pub(super) fn of_one_call(what: What, name: &str) -> What {
    match (what, name.strip_prefix("sys_enter_")) {
        (What::Value(kind, _), Some(call)) => What::Value(kind, calls::named(call.as_bytes()) as u8),
        _ => what,
    }
}

/// The tracepoint of that name, if readers know it.
pub(super) fn find(system: &str, name: &str) -> Option<&'static Known> {
    let mut exact = TRACEPOINTS.iter().filter(|known| known.name == name);
    let mut syscalls = SYSCALLS.iter().filter(|known| name.starts_with(known.name));
    exact.find(|known| known.system == system).or_else(|| syscalls.find(|known| known.system == system))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_one_system_call_says_what_it_is_about() {
        let what = |system, name| find(system, name).map(|known| of_one_call(known.what, name));
        let enter = |call: calls::Call| Some(What::Value(Kind::SyscallEnter, call as u8));
        assert_eq!(what("syscalls", "sys_enter_futex"), enter(calls::Call::Futex));
        assert_eq!(what("syscalls", "sys_enter_epoll_wait"), enter(calls::Call::Poll));
        assert_eq!(what("syscalls", "sys_enter_nanosleep"), enter(calls::Call::Other));
        assert_eq!(what("syscalls", "sys_exit_futex"), Some(What::Value(Kind::SyscallExit, 0)));
        assert_eq!(what("raw_syscalls", "sys_enter"), Some(What::Enter));
    }
}
