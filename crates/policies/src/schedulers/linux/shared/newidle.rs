//! How a processor that becomes idle looks for work elsewhere.

use super::{
    balancer::{ATTEMPTS, Kernel, MIGRATION_COST, Outcome, Pull},
    hierarchy::FairClass,
    linux::Linux,
};
use crate::schedulers::Context;
use schedlab_model::{
    MICROSECOND, Nanos, SECOND,
    task::{CpuId, TaskId},
};

/// What a look at a processor costs one that becomes idle.
const LOOK: Nanos = 2 * MICROSECOND;
/// What looking costs at most where failures make it dearer (sysctl_sched_migration_cost + 200).
const DEAREST: Nanos = MIGRATION_COST + 200;

impl<L: FairClass> Linux<L> {
    /// A processor that has nothing to run pulls a task from the one with the most, in the smallest domain where there is one, as long as
    /// looking costs less than it is idle on average. Its next look at a tick comes no later than that of an idle processor would.
    pub fn newidle_balance(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        self.forget_costs(cx.now, cpu);
        let state = &mut self.balancer.states[cpu as usize];
        state.idle_since = Some(cx.now);
        let barred = self.balancer.kernel == Kernel::V5_10 && state.mean_idle < MIGRATION_COST;
        let mut next = cx.now + SECOND;
        let found = if !self.balancer.overloaded || barred {
            next = next.min(self.next_of(cx, cpu, 0, true));
            None
        } else {
            self.newidle_levels(cx, cpu, &mut next)
        };
        let state = &mut self.balancer.states[cpu as usize];
        state.next_balance = state.next_balance.min(next);
        match found {
            Some(_) => state.idle_since = None,
            None => self.balancer.nohz.needs_update = true,
        }
        found
    }

    /// `next` becomes the time of the next look. Before 5.17 a success has made the interval short by then; since, it counts for
    /// the look after the next one only. (update_next_balance)
    fn newidle_levels(&mut self, cx: &mut Context<'_>, cpu: CpuId, next: &mut Nanos) -> Option<TaskId> {
        let (mut spent, after) = (0, self.balancer.kernel == Kernel::V5_10);
        let mut found = None;
        for level in 0..self.balancer.states[cpu as usize].levels.len() {
            let state = &self.balancer.states[cpu as usize];
            let dear = state.mean_idle < spent + state.levels[level].cost.max(self.balancer.newidle_cost);
            if dear || !after {
                *next = (*next).min(self.next_of(cx, cpu, level, true));
            }
            if dear {
                break;
            }
            found = self.newidle_level(cx, cpu, level);
            spent += self.domain(cpu, level).weight() * LOOK;
            if after {
                *next = (*next).min(self.next_of(cx, cpu, level, true));
            }
            if found.is_some() {
                break;
            }
        }
        let state = &mut self.balancer.states[cpu as usize];
        state.longest_cost = state.longest_cost.max(spent);
        found
    }

    fn newidle_level(&mut self, cx: &mut Context<'_>, cpu: CpuId, level: usize) -> Option<TaskId> {
        let chance = self.balancer.states[cpu as usize].levels[level].chance;
        let drawn = if self.balancer.kernel == Kernel::V6_18 { cx.rng.below(1024) } else { 0 };
        let looks = drawn <= chance + 1;
        if !looks {
            self.learn(cpu, level, false, false);
            return None;
        }
        let mut pull = Pull::begin(level, true, true);
        self.tree.update_blocked_averages(cpu);
        let found = self.load_balance(cx, cpu, &mut pull);
        let outcome = match found {
            Ok(_) => Outcome::Moved,
            Err(Outcome::Failed) => {
                let failures = self.balancer.states[cpu as usize].levels[level].failures;
                self.active_balance(cx, cpu, &pull, failures)
            }
            Err(outcome) => outcome,
        };
        self.learn(cpu, level, true, found.is_ok());
        self.rest_until_next(cpu, &pull, outcome);
        found.ok()
    }

    /// Once a second, what looking has cost is lowered, and with it the longest idle time that counts.
    fn forget_costs(&mut self, now: Nanos, cpu: CpuId) {
        let state = &mut self.balancer.states[cpu as usize];
        let lowered = state.levels.iter_mut().fold(false, |any, level| level.forget_cost(now) | any);
        if lowered {
            let all: Nanos = state.levels.iter().map(|level| level.cost).sum();
            state.longest_cost = all.max(MIGRATION_COST);
        }
    }

    /// What an attempt when becoming idle has cost, and whether it paid.
    fn learn(&mut self, cpu: CpuId, level: usize, looked: bool, found: bool) {
        let (count, kernel) = (self.domain(cpu, level).weight(), self.balancer.kernel);
        let state = &mut self.balancer.states[cpu as usize].levels[level];
        if looked {
            state.cost = state.cost.max(count * LOOK);
        }
        match kernel {
            Kernel::V6_17 if !found => state.cost = (state.cost * 3 / 2).min(DEAREST),
            Kernel::V5_10 | Kernel::V6_1 | Kernel::V6_12 | Kernel::V6_17 => {}
            Kernel::V6_18 => {
                let weight = state.chance + 1;
                state.attempts += 1;
                state.successes += if found { (1024 + weight / 2) / weight } else { 0 };
                if state.attempts >= ATTEMPTS {
                    (state.chance, state.attempts) = (state.successes, state.attempts / 2);
                    state.successes /= 2;
                }
            }
        }
    }
}
