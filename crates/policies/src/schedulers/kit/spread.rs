//! Which processor a task should be on, for policies with a runqueue a processor: the balancing of Linux 2.6.20 in its plain
//! form, by the sum of the weights of the tasks on each processor, without domains and without regard to hot caches.

use super::placement::idle_or_last;
use crate::schedulers::{Balance, Context, Enqueue};
use schedlab_model::{
    MILLISECOND, Nanos,
    task::{CpuId, TaskId},
};

/// The interval at which a busy processor looks for work. The kernel: busy_factor 64 times min_interval 1 ms (`SD_CPU_INIT`).
const INTERVAL: Nanos = 64 * MILLISECOND;
/// It pulls if the busiest one has more than this percentage of its own load. The kernel: imbalance_pct 125.
const IMBALANCE: u64 = 125;

/// What is on each processor, running or queued.
#[derive(Debug)]
pub struct Spread {
    load: Vec<u64>,
    tasks: Vec<u32>,
    /// When it looks again.
    due: Vec<Nanos>,
}

impl Spread {
    pub fn new(processors: u16) -> Spread {
        let count = processors.into();
        Spread { load: vec![0; count], tasks: vec![0; count], due: vec![0; count] }
    }

    #[inline]
    pub fn arrive(&mut self, cpu: CpuId, weight: u64) {
        self.load[cpu as usize] += weight;
        self.tasks[cpu as usize] += 1;
    }

    #[inline]
    pub fn leave(&mut self, cpu: CpuId, weight: u64) {
        self.load[cpu as usize] -= weight;
        self.tasks[cpu as usize] -= 1;
    }

    /// A new task goes to the least loaded processor; a woken one stays where it was, unless only another is idle.
    pub fn place(&self, cx: &Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
        let view = &cx.tasks[task as usize];
        if why == Enqueue::Wakeup {
            return idle_or_last(cx, task, |cpu| self.tasks[cpu as usize] == 0);
        }
        let allowed = (0..self.load.len() as CpuId).filter(|cpu| view.allowed >> cpu & 1 == 1);
        allowed.min_by_key(|&cpu| (self.load[cpu as usize], cpu != view.cpu)).unwrap_or(view.cpu)
    }

    /// The processor from which `cpu` should pull a task now, if any, and the greatest weight the task should have.
    pub fn source(&mut self, now: Nanos, cpu: CpuId, why: Balance) -> Option<(CpuId, u64)> {
        let own = cpu as usize;
        let idle = why == Balance::Idle || self.tasks[own] == 0;
        if !idle && now < self.due[own] {
            return None;
        }
        let others = (0..self.load.len()).filter(|&other| other != own && self.tasks[other] > 1);
        let busiest = others.max_by_key(|&other| self.load[other]);
        let (load, most) = match busiest {
            Some(other) => (self.load[other], self.load[other].saturating_sub(self.load[own]) / 2),
            None => (0, 0),
        };
        if idle {
            return busiest.map(|other| (other as CpuId, u64::MAX));
        }
        if load * 100 <= self.load[own] * IMBALANCE {
            self.due[own] = now + INTERVAL;
            return None;
        }
        busiest.map(|other| (other as CpuId, most))
    }

    /// No task on the busiest processor may or should move to `cpu`: it looks again later.
    pub fn give_up(&mut self, now: Nanos, cpu: CpuId) {
        self.due[cpu as usize] = now + INTERVAL;
    }
}
