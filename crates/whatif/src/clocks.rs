//! Tasks that something else ends by the clock: `timeout 10 COMMAND`, or the workers of a benchmark that runs for so long.
//!
//! ```text
//! ended by the clock    the task that made it waited for at least nine tenths of its life, a timer ended that wait, and it ended within the next
//!                       0.1 s or twentieth of its life; or one that was made by such a task, and ended in that time, too
//! ```
//!
//! What such a task did is no fixed work: under another setting it does more or less of it until then.

use crate::{
    causes::Cause,
    edges::Edges,
    history::{Step, Task},
};
use hashbrown::HashMap;
use schedlab_traces::kernel::Pid;

/// Of its life, the tenths for which the task that made it must have waited.
const OF_TEN: u64 = 9;
/// How soon after the timer it ends: within that, ns, or that part of its life.
const SOON: u64 = 100_000_000;
const PART: u64 = 20;

/// How the clock ended a task, ns since the recording began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clock {
    /// When the timer came.
    timer: u64,
    /// When the tasks have ended at the latest that it ends.
    last: u64,
    /// When this one had.
    pub end: u64,
    /// The task that the timer woke.
    maker: usize,
}

/// By task, how the clock ended it, if it did.
pub(crate) fn find(tasks: &[Task]) -> Vec<Option<Clock>> {
    let mut newest: HashMap<Pid, usize> = HashMap::new();
    let mut clocks: Vec<Option<Clock>> = Vec::with_capacity(tasks.len());
    for (number, task) in tasks.iter().enumerate() {
        let maker = task.parent.filter(|_| task.forked).and_then(|parent| newest.get(&parent)).copied();
        let clock = maker.zip(task.life.1).and_then(|(maker, end)| {
            let with_maker = clocks[maker].filter(|clock| (clock.timer..=clock.last).contains(&end));
            with_maker.map(|clock| Clock { end, ..clock }).or_else(|| ended_by(tasks, maker, task.life.0, end))
        });
        clocks.push(clock);
        newest.insert(task.pid, number);
    }
    clocks
}

/// How a task of that life was ended, by the waits of the one that made it.
fn ended_by(tasks: &[Task], maker: usize, begin: u64, end: u64) -> Option<Clock> {
    let life = end.saturating_sub(begin);
    let late = SOON.max(life / PART);
    let ends = |step: &Step| match *step {
        Step::Wait { from, to, cause: Cause::Timer } => {
            let slept = to.saturating_sub(from.max(begin));
            let ends = to <= end && end - to <= late && 10 * slept >= OF_TEN * life;
            ends.then(|| Clock { timer: to, last: to.saturating_add(late), end, maker })
        }
        _ => None,
    };
    tasks[maker].steps.iter().rev().find_map(ends)
}

/// The steps of a task that the clock ended, but for its end: what it did since the timer came, whom that woke, and what it is taken to have found
/// then of the one that ended it, which preempted it.
pub(crate) fn without_end(steps: &[Step], clock: Clock, edges: &Edges) -> Vec<Step> {
    let goes_on = |step: &&Step| !matches!(step, Step::Wait { to, .. } if *to >= clock.timer);
    let is_end = |step: &Step| match step {
        Step::Exit => true,
        Step::Found(_) => edges.waker(step) == Some(clock.maker),
        _ => edges.wakeup(step).is_some_and(|woken| woken.to >= clock.timer),
    };
    steps.iter().take_while(goes_on).filter(|step| !is_end(step)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{History, Recording, Wish, work};
    use schedlab_model::replay::Act;
    use schedlab_traces::kernel::{Context, Event, Kind, Listener};

    const MS: u64 = 1_000_000;

    fn event(kind: Kind, ms: u64, task: Pid, other: Pid, flag: u8) -> Event {
        let context = if kind == Kind::Waking && ms == 1000 { Context::HardInterrupt } else { Context::Task };
        Event { time: ms * MS, value: 0, task, other, extra: 0, cpu: 0, kind, bits: Event::bits(flag, context) }
    }

    /// Task 5 makes task 7, which computes, and waits from `from` ms on; a timer wakes it after a second, and task 7 ends `late` ms after that.
    fn timeout(from: u64, late: u64) -> Recording {
        let mut history = History::default();
        let mut take = |kind, ms, task, other, flag| history.event(&event(kind, ms, task, other, flag));
        take(Kind::Switch, 0, 9, 5, 1);
        take(Kind::Fork, 1, 5, 7, 0);
        take(Kind::Switch, 2, 5, 7, u8::from(from == 0));
        if from > 0 {
            take(Kind::Switch, from, 7, 5, 0);
            take(Kind::Switch, from + 1, 5, 7, 1);
        }
        take(Kind::TimerExpire, 1000, 7, 7, 0);
        take(Kind::Waking, 1000, 5, 7, 0);
        take(Kind::TimerDone, 1000, 7, 7, 0);
        take(Kind::Switch, 1000, 7, 5, 0);
        take(Kind::Switch, 1001, 5, 7, 1);
        take(Kind::Waking, 1000 + late, 5, 7, 0);
        take(Kind::Switch, 1001 + late, 7, 5, 4);
        take(Kind::Switch, 1002 + late, 5, 0, 4);
        history.finish()
    }

    fn ended(recording: &Recording, pid: Pid) -> Option<u64> {
        let clocks = find(&recording.tasks);
        let at = recording.tasks.iter().position(|task| task.pid == pid)?;
        clocks[at].map(|clock| clock.end)
    }

    #[test]
    fn a_task_that_ends_when_a_timer_has_woken_its_maker_is_ended_by_the_clock() {
        assert_eq!(ended(&timeout(0, 5), 7), Some(1006 * MS));
        assert_eq!(ended(&timeout(0, 5), 5), None);
        assert_eq!(ended(&timeout(0, 150), 7), None, "it went on for long");
        assert_eq!(ended(&timeout(500, 5), 7), None, "its maker slept for half of its life");
    }

    #[test]
    fn it_works_until_then_and_its_maker_goes_on_when_it_did() {
        let recording = timeout(0, 5);
        let work = work(&recording, |_| Wish::default());
        let stream = |pid| work.replay.streams.iter().find(|stream| stream.pid == pid).unwrap();
        assert_eq!(stream(7).until, Some(1006 * MS));
        let acts: Vec<Act> = stream(7).acts.iter().map(|act| act.act()).collect();
        assert!(acts.iter().all(|act| matches!(act, Act::Compute(_))), "{acts:?}");
        assert_eq!(stream(5).until, None);
        let acts: Vec<Act> = stream(5).acts.iter().map(|act| act.act()).collect();
        assert!(acts.contains(&Act::Until(1005 * MS)), "{acts:?}");
        assert_eq!(acts.last(), Some(&Act::Exit));
    }
}
