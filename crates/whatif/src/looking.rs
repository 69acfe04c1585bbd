//! What looking for work costs a processor that becomes idle. A kernel has it look only while it is idle for longer, on average, than the
//! dearest look so far (kernel/sched/fair.c, `max_newidle_lb_cost`, lowered by 1 % a second). Looks take a few microseconds, but one that is
//! interrupted, or whose virtual processor waits, counts as long as that took. On one host of two processors those that were idle for less
//! than 0.15 ms on average pulled a task in one of some thousand looks; it may be by chance, too (`newidle_ratio`), that they did not look.

/// What it is taken to cost where such looks are vain, ns: in recordings of hackbench on that host none paid below. Replays with 0.04, 0.15 and
/// 0.3 ms were much alike.
pub(crate) const COST: u64 = 150_000;
/// The mean that a kernel begins with, and the longest where looks are cheap (twice `sysctl_sched_migration_cost`).
const LONGEST: u64 = 1_000_000;
/// Fewer looks say nothing. Where looks paid on that host, one in seven to nearly all pulled a task; of this many all would fail with a
/// probability of one percent.
const FEW: u64 = 30;
/// Hardly any: of as many at most one pulled.
const HARDLY: u64 = 20;

/// How long a processor is idle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rest {
    since: Option<u64>,
    mean: u64,
}

impl Default for Rest {
    fn default() -> Self {
        Rest { since: None, mean: LONGEST }
    }
}

impl Rest {
    /// It has nothing to run any more, or something.
    pub(crate) fn is_idle(&mut self, since: Option<u64>) {
        self.since = since;
    }

    /// A task was woken for it: that ends the time, if it is idle.
    pub(crate) fn woken(&mut self, now: u64) {
        if let Some(since) = self.since.take() {
            let idle = now.saturating_sub(since);
            self.mean = (self.mean - self.mean / 8 + idle / 8).min(LONGEST);
        }
    }
}

/// How often processors that became idle, while a task that might have moved waited for another, pulled nothing and one, where they were idle
/// for less than the cost on average.
#[derive(Debug, Default)]
pub(crate) struct Looks([u64; 2]);

impl Looks {
    pub(crate) fn add(&mut self, rest: Rest, pulled: bool) {
        self.0[usize::from(pulled)] += u64::from(rest.mean < COST);
    }

    /// Whether there were enough, of which hardly any pulled.
    pub(crate) fn are_vain(&self) -> bool {
        let [others, pulls] = self.0;
        others + pulls >= FEW && pulls * HARDLY <= others + pulls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks of processors that are idle for that many us on average, and how many of them pulled.
    fn are_vain(looks: &[(u64, u64, u64)]) -> bool {
        let mut all = Looks::default();
        for &(mean, number, pulls) in looks {
            let rest = Rest { since: None, mean: mean * 1000 };
            (0..number).for_each(|at| all.add(rest, at < pulls));
        }
        all.are_vain()
    }

    #[test]
    fn looks_after_short_times_that_hardly_ever_pull_are_vain() {
        assert!(are_vain(&[(5, 20, 0), (149, 10, 0)]) && are_vain(&[(100, 40, 2), (150, 17, 17)]));
        assert!(!are_vain(&[(5, 29, 0), (150, 100, 0)]), "few");
        assert!(!are_vain(&[(100, 40, 3)]), "not hardly any");
        assert!(!are_vain(&[]));
    }

    #[test]
    fn a_time_of_being_idle_counts_an_eighth_once_a_wakeup_ends_it() {
        let mut rest = Rest::default();
        rest.woken(5_000_000);
        assert_eq!(rest.mean, LONGEST, "it was not idle");
        rest.is_idle(Some(1000));
        rest.woken(201_000);
        rest.woken(900_000);
        assert_eq!(rest.mean, 900_000);
        rest.is_idle(Some(1_000_000));
        rest.is_idle(None);
        rest.woken(9_000_000);
        assert_eq!(rest.mean, 900_000, "it got a task without a wakeup");
    }
}
