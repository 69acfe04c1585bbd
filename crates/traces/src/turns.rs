//! The times on a processor of all tasks, in the order of their ends: a schedule without its waits.

use schedlab_model::{
    Nanos,
    event::{Event, Kind, Observer},
    task::TaskId,
};
use std::collections::HashMap;

/// One stint of a task on a processor, from switch-in to switch-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The task.
    pub task: TaskId,
    /// Index of its job; the number of jobs for a task of none.
    pub job: u64,
    /// Its nice value.
    pub nice: i8,
    /// When it was woken, if it was since its turn before.
    pub woken: Option<Nanos>,
    /// When it got the processor, ns.
    pub begin: Nanos,
    /// When it left it.
    pub end: Nanos,
    /// Why ([`schedlab_model::event::Leave`]).
    pub left: u8,
}

/// Listens for them.
#[derive(Debug, Default)]
pub struct Turns {
    /// So far.
    pub all: Vec<Turn>,
    /// By task, the turn that is under way or to come. A task number may be anything in a damaged recording.
    tasks: HashMap<TaskId, Turn>,
}

impl Observer for Turns {
    fn observe(&mut self, event: Event) {
        match event.kind {
            Kind::Created => {
                let nice = (i16::from(event.flag) - 128) as i8;
                let turn = Turn { task: event.task, job: event.a, nice, woken: None, begin: 0, end: 0, left: 0 };
                self.tasks.insert(event.task, turn);
            }
            Kind::Wakeup => {
                if let Some(turn) = self.tasks.get_mut(&event.task) {
                    turn.woken = Some(event.time);
                }
            }
            Kind::SwitchIn => {
                if let Some(turn) = self.tasks.get_mut(&event.task) {
                    turn.begin = event.time;
                }
            }
            Kind::SwitchOut => {
                if let Some(turn) = self.tasks.get_mut(&event.task) {
                    self.all.push(Turn { end: event.time, left: event.flag, ..*turn });
                    turn.woken = None;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(time: Nanos, kind: Kind, task: TaskId) -> Event {
        Event { time, a: 3, b: 0, task, cpu: 0, kind, flag: 133 }
    }

    #[test]
    fn a_turn_lasts_from_the_switch_to_a_task_to_the_switch_from_it() {
        let mut turns = Turns::default();
        let kinds = [Kind::Created, Kind::Wakeup, Kind::SwitchIn, Kind::SwitchOut, Kind::SwitchIn, Kind::SwitchOut];
        (0..).zip(kinds).for_each(|(time, kind)| turns.observe(event(time, kind, 1)));
        let first = Turn { task: 1, job: 3, nice: 5, woken: Some(1), begin: 2, end: 3, left: 133 };
        assert_eq!(turns.all, [first, Turn { woken: None, begin: 4, end: 5, ..first }]);
    }

    #[test]
    fn events_of_a_task_that_was_never_created_are_skipped() {
        let mut turns = Turns::default();
        [Kind::SwitchIn, Kind::SwitchOut].into_iter().for_each(|kind| turns.observe(event(1, kind, u32::MAX)));
        assert!(turns.all.is_empty());
    }
}
