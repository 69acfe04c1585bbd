//! Whether a recorded machine's processors are virtual ones that halt: a task that is woken by another then stays on a busy processor, though
//! a second one has been idle for long. A kernel wakes no task on a virtual processor that its hypervisor notes as preempted
//! (kernel/sched, `available_idle_cpu`), and KVM notes one that has halted so once it has polled for it (`kvm_steal_time_set_preempted`).

use hashbrown::{HashMap, HashSet};
use schedlab_traces::kernel::Pid;

/// A processor has halted after this, ns. KVM polls for up to 0.2 ms (`halt_poll_ns`); measured were up to 2 ms at times.
const LONG: u64 = 1_000_000;
/// What is taken for the time that it polls, ns: on a virtual machine with Linux 6.18 a processor that was idle for 0.08 ms was chosen in
/// 99.7 % of wakeups, after 0.18 ms in 2 %.
pub(crate) const POLL: u64 = 100_000;
/// Wakeups that are too few to say.
const FEW: u64 = 20;

/// Wakeups by running tasks next to a processor that has been idle for long.
#[derive(Debug, Default)]
pub(crate) struct Halting {
    /// By task that was woken so and has not run since.
    pending: HashSet<Pid>,
    counts: HashMap<Pid, Count>,
}

/// Of one task.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    /// Wakeups by running tasks.
    all: u64,
    /// Of those next to a processor that has been idle for long, after which it got one that was busy, and one that was idle.
    stayed: u64,
    left: u64,
}

impl Halting {
    /// A task was woken by a running one; another processor is idle since then.
    pub(crate) fn woken(&mut self, now: u64, task: Pid, idle: Option<u64>) {
        self.counts.entry(task).or_default().all += 1;
        if idle.is_some_and(|since| now.saturating_sub(since) >= LONG) {
            self.pending.insert(task);
        }
    }

    /// A task gets a processor, which was idle or not.
    pub(crate) fn runs(&mut self, task: Pid, was_idle: bool) {
        if !self.pending.is_empty() && self.pending.remove(&task) {
            let count = self.counts.entry(task).or_default();
            *if was_idle { &mut count.left } else { &mut count.stayed } += 1;
        }
    }

    /// Whether the tasks that can run on several processors were mostly woken so, and mostly stayed. The kernel of a machine whose processors
    /// do not halt wakes them on the idle one. Where processors are seldom idle for long, a hypervisor polls for them longer, and little is
    /// known of it.
    pub(crate) fn is_seen(&self, moves: impl Fn(Pid) -> bool) -> bool {
        let free = self.counts.iter().filter(|(task, _)| moves(**task));
        let add = |sum: Count, (_, one): (&Pid, &Count)| Count {
            all: sum.all + one.all,
            stayed: sum.stayed + one.stayed,
            left: sum.left + one.left,
        };
        let Count { all, stayed, left } = free.fold(Count::default(), add);
        stayed >= FEW && stayed > 2 * left && 2 * (stayed + left) > all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `stayed` and `left` wakeups of a task next to a processor that has been idle for that long.
    fn seen(stayed: u64, left: u64, idle: u64, moves: bool) -> bool {
        seen_among(0, (stayed, left), idle, moves)
    }

    /// As many others of the same task while no processor is idle.
    fn seen_among(others: u64, (stayed, left): (u64, u64), idle: u64, moves: bool) -> bool {
        let mut halting = Halting::default();
        (0..others).for_each(|_| halting.woken(10 * LONG, 7, None));
        for turn in 0..stayed + left {
            halting.woken(10 * LONG, 7, Some(10 * LONG - idle));
            halting.runs(7, turn < left);
            halting.runs(7, true); // after a wait of another kind
        }
        halting.is_seen(|_| moves)
    }

    #[test]
    fn tasks_that_stay_next_to_an_idle_processor_show_that_it_halts() {
        assert!(seen(20, 0, LONG, true) && seen(61, 30, LONG, true));
        assert!(!seen(19, 0, LONG, true), "too few");
        assert!(!seen(60, 30, LONG, true), "a third went there");
        assert!(!seen(100, 0, LONG - 1, true), "not idle for long");
        assert!(!seen(100, 0, LONG, false), "bound");
        assert!(seen_among(99, (100, 0), LONG, true) && !seen_among(100, (100, 0), LONG, true), "mostly not idle");
    }
}
