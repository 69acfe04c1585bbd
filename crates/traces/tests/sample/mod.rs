//! A short run by hand, shared by the tests: two hogs in turns of 20 ms, an editor that wakes up for the disk.

use schedlab_model::event::{Event, Irq, Kind, Leave, NO_TASK};
use schedlab_traces::Names;

pub const MS: u64 = 1_000_000;

pub fn names() -> Names {
    let own = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
    let (jobs, marks) = (own(&["editor", "hog <&\"1\">"]), own(&["page \"3\"\n"]));
    Names { processors: 1, jobs, marks, ..Names::default() }
}

pub fn event(ms: u64, task: u32, kind: Kind, flag: u8, a: u64, b: u64) -> Event {
    Event { time: ms * MS, a, b, task, cpu: 0, kind, flag }
}

fn leaves(ms: u64, task: u32, why: Leave, user: u64, system: u64) -> Event {
    event(ms, task, Kind::SwitchOut, why as u8, user * MS, system * MS)
}

fn runs(ms: u64, task: u32) -> Event {
    event(ms, task, Kind::SwitchIn, 0, 0, 0)
}

pub fn run() -> Vec<Event> {
    let created = |ms, task, job| event(ms, task, Kind::Created, 128, job, NO_TASK.into());
    let wakes = |ms, task, new| event(ms, task, Kind::Wakeup, new, 0, 0);
    vec![
        created(4, 0, 0),
        created(10, 1, 1),
        wakes(10, 1, 1),
        runs(10, 1),
        created(16, 2, 1),
        wakes(16, 2, 1),
        event(20, 1, Kind::Interrupt, 0, Irq::Clock as u64, 0),
        leaves(30, 1, Leave::SliceEnd, 20, 0),
        runs(30, 2),
        event(40, 0, Kind::Signal, 0, 1, 0),
        wakes(40, 0, 0),
        leaves(40, 2, Leave::Preempted, 10, 0),
        runs(40, 0),
        event(45, 0, Kind::Mark, 0, 0, 0),
        leaves(48, 0, Leave::Blocked, 2, 6),
        runs(48, 1),
        event(68, 1, Kind::Exited, 0, 0, 0),
        leaves(68, 1, Leave::Exited, 20, 0),
        runs(68, 2),
        leaves(80, 2, Leave::Blocked, 12, 0),
        event(80, NO_TASK, Kind::Idle, 1, 0, 0),
        event(90, NO_TASK, Kind::Idle, 0, 0, 0),
    ]
}
