//! Every run of a recording with the wait before it, in bytes for a page that draws them: what a table sums up, one by one.
//!
//! ```text
//! timeline = length of the head (4 bytes, the lowest first), head (JSON), runs in order of their begin
//! run      = begin since that of the run before (of the first: since the first event), length, task, processor, wait before it, how, who
//! how      = after (2 bits) | end << 2 (3 bits) | cause << 5; without an after, 1 << 5: it ran when the recording began
//! who      = the place of the waker or preempter among the tasks + 1, 0 if there is none; only after a waking by a task or a preemption
//! ```
//!
//! Numbers are varints: seven bits a byte, the lowest first, the highest bit set if more follow. Times are in ns.

use crate::{
    cause::Cause,
    explainer::Explainer,
    slot::{Slot, is_task},
    task::State,
    timeline::{GOES_ON, MOST_RUNS, PREEMPTED, Run, WAITS, WOKEN, code},
    worst::After,
};
use serde::Serialize;

/// What stands before the runs.
#[derive(Serialize)]
struct Head<'a> {
    runs: usize,
    /// When the window begins, ns after the first event, and its length.
    from_ns: u64,
    span_ns: u64,
    processors: Vec<u16>,
    /// Name and number of each task.
    tasks: Vec<(String, i32)>,
    causes: &'a [Cause],
}

impl Explainer {
    /// The runs as bytes; none if they were not asked for.
    ///
    /// # Errors
    /// Says how to ask for less if there are too many.
    pub fn timeline(&self) -> Result<Option<Vec<u8>>, String> {
        let Some(timeline) = &self.timeline else { return Ok(None) };
        if timeline.left_out > 0 {
            let all = timeline.left_out + MOST_RUNS as u64;
            return Err(format!(
                "it has {all} runs of tasks, and a page holds {MOST_RUNS}: choose a part of it with --from and --to"
            ));
        }
        let end = self.now.min(self.window.1);
        let mut runs = timeline.runs.clone();
        runs.extend(timeline.begun.iter().flatten().map(|run| Run { to: end, how: run.how | GOES_ON << 2, ..*run }));
        runs.extend(self.waiting(end));
        runs.sort_by_key(|run| (run.from, run.cpu));
        let met = self.queues.all.iter().enumerate().filter(|it| it.1.switches > 0);
        let head = Head {
            runs: runs.len(),
            from_ns: self.window.0.saturating_sub(self.start),
            span_ns: end.saturating_sub(self.window.0),
            processors: met.map(|it| it.0 as u16).collect(),
            tasks: self.tasks.all.iter().map(|task| (self.comm(task.pid, task.name), task.pid)).collect(),
            causes: &Cause::ALL,
        };
        let head = serde_json::to_vec(&head).map_err(|why| why.to_string())?;
        let mut bytes = (head.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(&head);
        let mut before = self.start;
        for run in &runs {
            encode(run, before, &mut bytes);
            before = run.from;
        }
        Ok(Some(bytes))
    }

    /// Tasks that wait when the recording ends, on processors of which it has switches.
    fn waiting(&self, end: u64) -> impl Iterator<Item = Run> + '_ {
        self.tasks.all.iter().enumerate().filter_map(move |(slot, task)| {
            let task_of = slot as Slot;
            let after = match (task.state, task.waking) {
                (State::Woken, Some(waking)) => After::Waking(waking),
                (State::Preempted, _) => After::Preemption(task.preempter),
                (State::New, _) => After::Start,
                _ => return None,
            };
            let (how, by) = code(after, task_of);
            let cpu = task.queue.or(task.cpu).filter(|&cpu| self.queues.all[usize::from(cpu)].switches > 0)?;
            let how = how | WAITS << 2;
            Some(Run { from: end, to: end, waited_from: task.since.min(end), task: task_of, by, cpu, how })
        })
    }
}

fn encode(run: &Run, before: u64, bytes: &mut Vec<u8>) {
    let wait = run.from.saturating_sub(run.waited_from);
    let length = run.to.saturating_sub(run.from);
    let numbers = [run.from - before, length, run.task.into(), run.cpu.into(), wait, run.how.into()];
    numbers.into_iter().for_each(|number| varint(number, bytes));
    let woken_by_a_task = run.how & 3 == WOKEN && Cause::ALL[usize::from(run.how >> 5)].is_a_task();
    if woken_by_a_task || run.how & 3 == PREEMPTED {
        varint(if is_task(run.by) { u64::from(run.by) + 1 } else { 0 }, bytes);
    }
}

fn varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_runs_than_a_page_holds_are_counted_and_refused() {
        let mut explainer = Explainer::new(crate::Options { timeline: true, ..crate::Options::default() });
        let timeline = explainer.timeline.as_mut().expect("it is asked for");
        for at in 0..MOST_RUNS as u64 + 2 {
            timeline.enter(0, 0, at, None);
            timeline.leave(0, at, None, (0, u64::MAX));
        }
        let refused = explainer.timeline().unwrap_err();
        assert!(refused.contains("2000002 runs") && refused.contains("--from and --to"), "{refused}");
    }

    #[test]
    fn numbers_are_in_groups_of_seven_bits() {
        let encoded = |number| {
            let mut bytes = Vec::new();
            varint(number, &mut bytes);
            bytes
        };
        assert_eq!((encoded(0), encoded(127), encoded(300)), (vec![0], vec![127], vec![0xac, 2]));
        assert_eq!(encoded(u64::MAX).len(), 10);
    }
}
