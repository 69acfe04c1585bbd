//! The rest of the report: processors, the worst waits, who wakes whom.

use crate::{
    cause::Cause,
    explainer::Explainer,
    rows::seconds,
    slot::{IDLE, Slot},
    worst::{After, Wait},
};
use serde::Serialize;

/// Pairs of waker and woken that are reported.
const PAIRS: usize = 1000;

/// The length of a runqueue, the running task included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lengths {
    /// Its mean over time.
    pub mean: f64,
    /// The longest.
    pub max: u32,
    /// Time by length, s, from 0 on; the last is of 16 and more.
    pub time_s: Vec<f64>,
    /// Means by blocks of time.
    pub over_time: Vec<f64>,
}

/// A processor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OneProcessor {
    /// Its number.
    pub cpu: u16,
    /// Time in which tasks had it, s.
    pub busy_s: f64,
    /// Time in which none had it, s.
    pub idle_s: f64,
    /// Time of which events are missing, s.
    pub unknown_s: f64,
    /// `busy_s` over the span.
    pub utilization_pct: f64,
    /// Time it was idle while a task waited for another processor, s.
    pub wasted_s: f64,
    /// Its switches.
    pub switches: u64,
    /// Its runqueue.
    pub run_queue: Lengths,
}

/// A task that is named where it matters to another one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Neighbour {
    /// Its name.
    pub comm: String,
    /// Its number; 0 of the idle task.
    pub pid: i32,
    /// The kernel's priority of it, if known.
    pub priority: Option<u32>,
}

/// A task that ran during a wait.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct During {
    /// The task.
    #[serde(flatten)]
    pub task: Neighbour,
    /// How long, us.
    pub us: f64,
}

/// A wait in a runqueue. Moments in s after the first event.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Waited {
    /// The task that waited.
    #[serde(flatten)]
    pub task: Neighbour,
    /// "wakeup", "preempted", or "start" of a new task.
    pub after: &'static str,
    /// How long, us.
    pub wait_us: f64,
    /// Since when.
    pub from_s: f64,
    /// Until when.
    pub to_s: f64,
    /// The processor that it got.
    pub cpu: u16,
    /// What woke it, after a wakeup.
    pub cause: Option<Cause>,
    /// The task that woke it or preempted it.
    pub by: Option<Neighbour>,
    /// What ran on that processor meanwhile, the longest first; at most eight.
    pub ran: Vec<During>,
    /// How long others ran there, us.
    pub others_us: f64,
    /// How long nothing ran there, us.
    pub idle_us: f64,
    /// How long nothing ran on the other processors, in sum, us.
    pub idle_elsewhere_us: f64,
    /// Whether some of what ran is not known.
    pub cut: bool,
}

/// Who woke whom.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// The task that woke; none if none did.
    pub waker: Option<Neighbour>,
    /// What woke.
    pub cause: Cause,
    /// The task that was woken; none if several were summed up.
    pub woken: Option<Neighbour>,
    /// How often.
    pub wakeups: u64,
    /// How long the woken had slept, in sum, s.
    pub blocked_s: f64,
    /// How long it waited for a processor afterwards: in sum, s, and at most, us.
    pub wakeup_wait_s: f64,
    /// The longest of these waits, us.
    pub longest_us: f64,
}

impl Explainer {
    pub(crate) fn neighbour(&self, slot: Slot) -> Option<Neighbour> {
        if slot == IDLE {
            return Some(Neighbour { comm: "idle".to_owned(), pid: 0, priority: None });
        }
        let task = self.tasks.all.get(slot as usize)?;
        let priority = (task.priority > 0).then_some(task.priority);
        Some(Neighbour { comm: self.comm(task.pid, task.name), pid: task.pid, priority })
    }

    pub(crate) fn processors(&mut self, end: u64, span: u64) -> Vec<OneProcessor> {
        let clock = self.queues.clock;
        let width = |block: usize| {
            let from = self.window.0.saturating_add((block as u64).saturating_mul(clock.width()));
            end.min(from.saturating_add(clock.width())).saturating_sub(from).max(1)
        };
        let one = |(cpu, processor): (usize, &mut crate::processor::Processor)| {
            let over_time = processor.curve.until(&clock, end).iter().enumerate();
            OneProcessor {
                cpu: cpu as u16,
                busy_s: seconds(processor.ran),
                idle_s: seconds(processor.idle),
                unknown_s: seconds(span.saturating_sub(processor.ran + processor.idle)),
                utilization_pct: 100.0 * processor.ran as f64 / span.max(1) as f64,
                wasted_s: seconds(processor.wasted),
                switches: processor.switches,
                run_queue: Lengths {
                    mean: processor.queued as f64 / processor.lengths.iter().sum::<u64>().max(1) as f64,
                    max: processor.longest,
                    time_s: processor.lengths.iter().map(|ns| seconds(*ns)).collect(),
                    over_time: over_time.map(|(block, sum)| *sum as f64 / width(block) as f64).collect(),
                },
            }
        };
        self.queues.all.iter_mut().enumerate().filter(|it| it.1.switches > 0).map(one).collect()
    }

    pub(crate) fn worst_waits(&self) -> Vec<Waited> {
        self.worst.waits.iter().filter_map(|wait| self.waited(wait)).collect()
    }

    fn waited(&self, wait: &Wait) -> Option<Waited> {
        let us = |ns: u64| ns as f64 / 1e3;
        let (after, cause, by) = match wait.after {
            After::Waking(waking) => ("wakeup", Some(waking.cause), self.neighbour(waking.waker)),
            After::Preemption(by) => ("preempted", None, self.neighbour(by)),
            After::Start => ("start", None, None),
        };
        let ran = wait.ran.iter().filter_map(|it| Some(During { task: self.neighbour(it.0)?, us: us(it.1) }));
        let priority = (wait.priority > 0).then_some(wait.priority);
        Some(Waited {
            task: Neighbour { priority, ..self.neighbour(wait.task)? },
            after,
            wait_us: us(wait.to - wait.from),
            from_s: seconds(wait.from.saturating_sub(self.start)),
            to_s: seconds(wait.to.saturating_sub(self.start)),
            cpu: wait.cpu,
            cause,
            by,
            ran: ran.collect(),
            others_us: us(wait.others),
            idle_us: us(wait.idle),
            idle_elsewhere_us: us(wait.idle_elsewhere),
            cut: wait.forgotten,
        })
    }

    /// Pairs by how often; and how many are left out.
    pub(crate) fn pairs(&self) -> (Vec<Pair>, u64) {
        let mut edges: Vec<_> = self.wakers.edges.iter().filter(|edge| edge.count > 0).collect();
        edges.retain(|edge| [edge.waker, edge.woken].into_iter().flatten().any(|slot| self.is_chosen(slot)));
        edges.sort_by_key(|edge| std::cmp::Reverse(edge.count));
        let left_out = edges.len().saturating_sub(PAIRS) as u64;
        let pair = |edge: &&crate::wakers::Edge| Pair {
            waker: edge.waker.and_then(|slot| self.neighbour(slot)),
            cause: edge.cause,
            woken: edge.woken.and_then(|slot| self.neighbour(slot)),
            wakeups: edge.count,
            blocked_s: seconds(edge.blocked),
            wakeup_wait_s: seconds(edge.latency),
            longest_us: edge.longest as f64 / 1e3,
        };
        (edges.iter().take(PAIRS).map(pair).collect(), left_out)
    }

    fn is_chosen(&self, slot: Slot) -> bool {
        self.tasks.all.get(slot as usize).is_some_and(|task| self.is_asked_for(task.pid, task.name))
    }
}
