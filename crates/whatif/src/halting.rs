//! Whether a recorded machine's processors are virtual ones that halt: a task that is woken by another then stays on a busy processor, though
//! a second one on which it may run has been idle for long. A kernel wakes no task on a virtual processor that its hypervisor notes as
//! preempted (kernel/sched, `available_idle_cpu`), and KVM notes one that has halted so once it has polled for it
//! (`kvm_steal_time_set_preempted`).

/// A processor has halted after this, ns. KVM polls for up to 0.2 ms (`halt_poll_ns`); measured were up to 2 ms at times.
const LONG: u64 = 1_000_000;
/// Wakeups that are too few to say.
const FEW: u64 = 20;

/// Wakeups of a task by running ones.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    all: u64,
    /// Next to a processor that has been idle for long, where it got one that was busy, and one that was idle.
    stayed: u64,
    left: u64,
}

impl Count {
    fn add(&mut self, more: Count) {
        self.all += more.all;
        self.stayed += more.stayed;
        self.left += more.left;
    }
}

/// What one task shows of it.
#[derive(Debug, Default)]
pub(crate) struct Halting {
    /// The last two different processors on which it ran.
    ran: [Option<u16>; 2],
    /// It was woken next to one of them that has been idle for long, and has not run since.
    pending: bool,
    /// Up to its last move, and since: that it stayed since may be because it is bound now.
    counted: Count,
    since: Count,
}

impl Halting {
    /// Whether it has run on more than one processor.
    pub(crate) fn has_moved(&self) -> bool {
        self.ran[1].is_some()
    }

    /// It was woken by a task that runs on a processor; since when others are idle, if they are.
    pub(crate) fn woken(&mut self, now: u64, at: u16, idle: impl Fn(u16) -> Option<u64>) {
        let long = |cpu| cpu != at && idle(cpu).is_some_and(|since| now.saturating_sub(since) >= LONG);
        self.pending = self.ran.into_iter().flatten().any(long);
        self.since.all += 1;
    }

    /// It gets a processor, which was idle or not; none is known of one to which no switch was recorded.
    pub(crate) fn runs(&mut self, cpu: u16, was_idle: Option<bool>) {
        if self.ran[0] != Some(cpu) {
            self.counted.add(std::mem::take(&mut self.since));
            self.ran = [Some(cpu), self.ran[0]];
        }
        match was_idle {
            Some(was_idle) if self.pending => {
                *if was_idle { &mut self.since.left } else { &mut self.since.stayed } += 1;
            }
            _ => {}
        }
        self.pending = false;
    }
}

/// Whether tasks were mostly woken so, and mostly stayed though they moved later. The kernel of a machine whose processors do not halt wakes
/// them on the idle one. Where processors are seldom idle for long, a hypervisor polls for them longer, and little is known of it.
pub(crate) fn is_seen<'a>(tasks: impl Iterator<Item = &'a Halting>) -> bool {
    let mut sum = Count::default();
    tasks.for_each(|task| sum.add(task.counted));
    sum.stayed >= FEW && sum.stayed > 2 * sum.left && 2 * (sum.stayed + sum.left) > sum.all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task that has run on processors 1 and 0 and is woken by one on 0: as often as `stayed` says it stays there, as `left` says it goes
    /// to the idle one, where it is for that long, and `others` are wakeups while none is idle. At last it moves, or not.
    fn seen(stayed: u64, left: u64, others: u64, idle: u64, moves: bool) -> bool {
        let mut task = Halting::default();
        task.runs(1, None);
        task.runs(0, None);
        let wakeups = (0..left).map(|_| (true, true)).chain((0..stayed).map(|_| (true, false)));
        for (free, leaves) in wakeups.chain((0..others).map(|_| (false, false))) {
            task.woken(10 * LONG, 0, |cpu| (free && cpu == 1).then_some(10 * LONG - idle));
            task.runs(u16::from(leaves), Some(leaves));
            task.runs(0, Some(true)); // after a wait of another kind
        }
        if moves {
            task.runs(1, Some(true));
        }
        is_seen([&task].into_iter())
    }

    #[test]
    fn tasks_that_stay_next_to_an_idle_processor_show_that_it_halts() {
        assert!(seen(20, 0, 0, LONG, true) && seen(61, 30, 0, LONG, true));
        assert!(!seen(19, 0, 0, LONG, true), "too few");
        assert!(!seen(60, 30, 0, LONG, true), "a third went there");
        assert!(!seen(100, 0, 0, LONG - 1, true), "not idle for long");
        assert!(!seen(100, 0, 0, LONG, false), "perhaps bound since");
        assert!(seen(100, 0, 99, LONG, true) && !seen(100, 0, 100, LONG, true), "mostly not idle");
    }

    #[test]
    fn an_idle_processor_on_which_a_task_never_ran_shows_nothing() {
        let mut task = Halting::default();
        for turn in 0..100 {
            task.woken(10 * LONG, 0, |cpu| (cpu == 2).then_some(0));
            task.runs(turn % 2, Some(false));
        }
        assert!(!is_seen([&task].into_iter()));
    }
}
