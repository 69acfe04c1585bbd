//! What moves a running task to another processor, and what makes idle processors look for work at all: they are not ticked, so a busy
//! processor asks them to.

use super::{
    balancer::{Amount, Kernel, LONGEST_REST, Outcome, Pull},
    hierarchy::FairClass,
    linux::Linux,
};
use crate::schedulers::Context;
use schedlab_model::task::{CpuId, TaskId};

/// After so much more failures than it takes to pull what is in the cache, even a running task is moved.
pub const DESPAIR: u32 = 2;

impl<L: FairClass> Linux<L> {
    /// After many failures, or where its processor does not suffice for it or is less favoured, the stopper of the busiest processor takes the running task away
    /// and moves the first of its tasks that may go. What an attempt that has failed comes to. (need_active_balance,
    /// active_load_balance_cpu_stop)
    pub fn active_balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, pull: &Pull, failures: u32) -> Outcome {
        let Some((from, amount)) = pull.from else { return Outcome::Failed };
        let (domain, old) = (self.domain(cpu, pull.level), self.balancer.kernel == Kernel::V5_10);
        let despairs = failures > domain.cache_nice_tries() + DESPAIR;
        let counts = matches!(amount, Amount::Tasks(_)) || old;
        let needs_it = matches!(amount, Amount::Misfit(_))
            || pull.idle && self.is_larger(cx, from, cpu, pull)
            || self.takes_running(cx, cpu, from, pull);
        if !(needs_it || despairs && counts) {
            return Outcome::Failed;
        }
        let may = |task: TaskId| cx.tasks[task as usize].allowed.has(cpu);
        if cx.processors[from as usize].running.is_some_and(|task| !may(task)) {
            // Before 5.12, all others are taken to be bound, too.
            return Outcome::OnePinned { among_others: !old && self.nr_running(from) > 1 };
        }
        if self.balancer.states[usize::from(from)].stopped == Some(cx.now) {
            return Outcome::Asked;
        }
        let throttled = |task| self.tree.pools.exist() && self.tree.throttled_hierarchy(self.tree.of_task(task));
        let goes =
            self.balancer.oldest_first(from).find(|&task| may(task) && !throttled(task) && !self.is_delayed(task));
        if let Some(task) = goes {
            cx.move_to(task, cpu);
        }
        self.balancer.states[usize::from(from)].stopped = Some(cx.now);
        Outcome::Begun { goes: goes.is_some(), needs_it }
    }

    /// Whether a processor has a single fair task and real-time tasks take a part of it, and another one can do clearly more.
    fn is_larger(&self, cx: &Context<'_>, from: CpuId, cpu: CpuId, pull: &Pull) -> bool {
        let domain = self.domain(cpu, pull.level);
        let (here, there) = (self.capacity_of(cx.now, cpu), self.capacity_of(cx.now, from));
        self.tree.h_nr_running(from) == 1
            && self.is_reduced(cx.now, from, domain)
            && there * domain.imbalance_pct() < here * 100
    }

    /// Whether a task sleeps, but stays in its queue.
    fn is_delayed(&self, task: TaskId) -> bool {
        L::sleeps(&self.tree.entities[self.tree.of_task(task) as usize].claim)
    }

    /// Whether a processor looks at its domains at a tick: a busy one if the time for it has come, and an idle one if it was asked as well.
    /// In 5.10 the one that works for all looks at its own in any case.
    pub fn begins_to_look(&mut self, cx: &mut Context<'_>, cpu: CpuId, idle: bool) -> bool {
        let asked = std::mem::take(&mut self.balancer.states[usize::from(cpu)].asked);
        if asked != idle {
            return false; // an idle one looks only if it was asked, and one that has got work meanwhile not any more
        }
        let mut due = self.balancer.has_come(cx.now, self.balancer.states[usize::from(cpu)].next_balance);
        if idle {
            due |= self.balancer.kernel == Kernel::V5_10 && self.balancer.nohz.ilb == cpu;
            self.balancer.states[usize::from(cpu)].answers = true;
            if !due {
                self.has_looked(cx, cpu);
            }
        } else {
            self.update_misfit_status(cx, cpu, cx.processors[cpu as usize].running);
            self.nohz_balancer_kick(cx, cpu);
        }
        due
    }

    /// A processor has looked, or need not yet. If it was asked to: busy ones ask again when the first of the idle ones should look. In
    /// 5.10 the one that works for all can only make that earlier. (_nohz_idle_balance)
    pub fn has_looked(&mut self, cx: &Context<'_>, cpu: CpuId) {
        let state = &mut self.balancer.states[usize::from(cpu)];
        if !std::mem::take(&mut state.answers) {
            return;
        }
        let (next, idle) = (state.next_balance, self.idle_cpu(cx, cpu));
        let nohz = &mut self.balancer.nohz;
        if self.balancer.kernel > Kernel::V5_10 || nohz.ilb != cpu {
            nohz.earliest = nohz.earliest.min(next);
            nohz.next_balance = nohz.earliest;
        } else if idle {
            nohz.next_balance = nohz.next_balance.min(next);
        }
    }

    /// At its tick, a busy processor asks idle ones to balance if the time for it has come and a task waits here, if its processor does not
    /// suffice for a running one, if a more favoured one is idle, or if its cache has other busy processors, which might be spread.
    fn nohz_balancer_kick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        if self.balancer.has_come(cx.now, self.balancer.nohz.next_balance) && self.asks(cx, cpu) {
            self.kick_ilb(cx);
        } else if self.balancer.nohz.needs_update && self.balancer.kernel > Kernel::V5_10 {
            let idle = (0..self.cpus.len() as CpuId).filter(|&cpu| self.idle_cpu(cx, cpu));
            if let Some(next) = idle.map(|cpu| self.balancer.states[usize::from(cpu)].next_balance).min() {
                self.balancer.nohz.next_balance = next;
                self.balancer.nohz.needs_update = false;
            }
        }
    }

    fn asks(&self, cx: &Context<'_>, cpu: CpuId) -> bool {
        let chain = &self.balancer.domains.chains[usize::from(cpu)];
        let reduced = || {
            let fair = self.realtime.known && self.tree.h_nr_running(cpu) >= 1;
            fair && chain.first().is_some_and(|domain| self.is_reduced(cx.now, cpu, domain))
        };
        self.nr_running(cpu) >= 2
            || reduced()
            || self.a_favoured_one_idles(cx, cpu)
            || match self.balancer.domains.unequal[usize::from(cpu)] {
                Some(_) => self.balancer.states[usize::from(cpu)].misfit > 0,
                None => self.busy_in_cache(cx, cpu).nth(1).is_some(),
            }
    }

    /// The first idle processor works for all that are idle, one after the other, and for itself last. (kick_ilb, _nohz_idle_balance)
    fn kick_ilb(&mut self, cx: &mut Context<'_>) {
        self.balancer.nohz.next_balance = cx.now + self.balancer.tick;
        let all = self.cpus.len() as CpuId;
        let Some(first) = (0..all).find(|&cpu| self.idle_cpu(cx, cpu)) else { return };
        self.balancer.nohz.ilb = first;
        self.balancer.nohz.earliest = cx.now + LONGEST_REST;
        self.balancer.nohz.needs_update = false;
        for cpu in (first + 1..all).chain([first]) {
            if self.idle_cpu(cx, cpu) {
                self.balancer.states[usize::from(cpu)].asked = true;
                cx.balance_for(cpu);
            }
        }
    }

    /// The busy processors of a cache (nr_busy_cpus).
    fn busy_in_cache(&self, cx: &Context<'_>, cpu: CpuId) -> impl Iterator<Item = CpuId> {
        let cache = &self.balancer.domains.caches[usize::from(cpu)];
        cache.iter().filter(|&other| !self.idle_cpu(cx, other))
    }
}
