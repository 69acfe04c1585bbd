//! Tasks that answer each other over several connections.

use super::*;
use crate::work::{Wish, Work, work};
use schedlab_model::replay::{Act, Connections};

/// Ends of connections are the tasks from this on, the hub is the one before.
const END: Pid = 6;

/// Events of a load generator, task 5 on processor 0, and of workers, each on a processor of its own.
struct Recorder {
    history: History,
    us: u64,
    /// Woken, and has not run since.
    woken: Vec<Pid>,
}

impl Recorder {
    fn new(workers: u16) -> Recorder {
        let mut history = History::default();
        for cpu in 0..=workers {
            history.event(&Event { cpu, ..event(Kind::Switch, 0, 0, END - 1 + Pid::from(cpu), 0) });
        }
        Recorder { history, us: 10, woken: Vec::new() }
    }

    /// A task, which has its own processor, computes that long and sends a message; if another waits for it, it wakes that.
    fn sends(&mut self, task: Pid, computes: u64, wakes: Option<Pid>) {
        if let Some(at) = self.woken.iter().position(|&woken| woken == task) {
            self.woken.remove(at);
            self.at(Kind::Switch, 0, task, 0);
        }
        self.us += computes;
        self.at(Kind::SoftirqEntry, task, task, 0);
        if let Some(woken) = wakes {
            self.at(Kind::Waking, woken, task, 0);
        }
        self.at(Kind::SoftirqExit, task, task, 0);
        self.woken.extend(wakes);
    }

    fn waits(&mut self, task: Pid) {
        self.us += 1;
        self.at(Kind::Switch, task, 0, 1);
    }

    fn at(&mut self, kind: Kind, task: Pid, other: Pid, left: u8) {
        let of = if task == 0 || kind == Kind::Waking { other } else { task };
        let cpu = (of - END + 1) as u16;
        let value = match kind {
            Kind::Waking => (task - END + 1) as u64,
            Kind::SoftirqEntry | Kind::SoftirqExit => 3,
            _ => 0,
        };
        let bits = Event::bits(left, Context::SoftInterrupt);
        self.history.event(&Event { cpu, value, bits, ..event(kind, self.us, task, other, left) });
    }

    /// Each worker answers what it has, and waits; then the hub answers all, and waits. Worker n has connections[n] of them.
    fn round(&mut self, connections: &[u32]) {
        for (worker, &count) in (END..).zip(connections) {
            for n in 0..count {
                self.sends(worker, 20, (n == 0 && worker == END).then_some(END - 1));
            }
            self.waits(worker);
        }
        for (worker, &count) in (END..).zip(connections) {
            for n in 0..count {
                self.sends(END - 1, 5, (n == 0).then_some(worker));
            }
        }
        self.waits(END - 1);
    }
}

fn recorded(connections: &[u32], rounds: usize, each: impl Fn(&mut Recorder, usize)) -> Recording {
    let mut recorder = Recorder::new(connections.len() as u16);
    recorder.waits(END - 1);
    for round in 0..rounds {
        recorder.round(connections);
        each(&mut recorder, round);
    }
    recorder.history.finish()
}

/// Both workers wake the hub in turn.
fn in_turn(connections: &[u32; 2], rounds: usize) -> Recording {
    recorded(connections, rounds, |recorder, _| {
        for worker in [END + 1, END] {
            recorder.sends(worker, 20, Some(END - 1));
            recorder.waits(worker);
            recorder.sends(END - 1, 5, Some(worker));
            recorder.waits(END - 1);
        }
    })
}

fn acts(work: &Work, pid: Pid) -> Vec<Act> {
    let stream = work.replay.streams.iter().find(|stream| stream.pid == pid).unwrap();
    stream.acts.iter().map(|act| act.act()).collect()
}

#[test]
fn a_load_generator_has_as_many_connections_to_each_worker_as_that_answers_at_once() {
    let work = work(&in_turn(&[5, 3], 40), |_| Wish::default());
    assert_eq!(
        work.replay.connections,
        [Connections { hub: 0, end: 1, count: 5 }, Connections { hub: 0, end: 2, count: 3 }]
    );
    assert_eq!(work.hubs[0].messages, 40 * (5 + 3 + 2));
}

#[test]
fn each_message_is_taken_before_it_is_answered_and_what_is_computed_for_it_stays_with_it() {
    let recording = in_turn(&[5, 3], 40);
    let work = work(&recording, |_| Wish::default());
    for (pid, computed) in [(END, 20), (END - 1, 5)] {
        let acts = acts(&work, pid);
        let number = (pid - END + 1) as u32 % 3;
        let calls: Vec<Act> = acts.iter().copied().filter(|act| !matches!(act, Act::Compute(_))).collect();
        assert!(calls.chunks(2).all(|pair| pair == [Act::Take(number), Act::Answer(number)]), "{calls:?}");
        let each: Vec<u64> = acts
            .split(|act| *act == Act::Answer(number))
            .map(|all| all.iter().map(|act| if let Act::Compute(length) = act { *length } else { 0 }).sum())
            .collect();
        let usual = each.iter().filter(|&&length| (computed * 1000..computed * 1000 + 2_000).contains(&length)).count();
        assert!(10 * usual >= 9 * each.len(), "{each:?}");
        let all: u64 = each.iter().sum();
        let task = recording.tasks.iter().find(|task| task.pid == pid).unwrap();
        assert_eq!(all, task.work(), "nothing is lost");
    }
}

#[test]
fn a_message_that_is_none_by_the_count_is_not_sent() {
    let twice = |recorder: &mut Recorder, round: usize| {
        if round % 30 == 7 {
            recorder.sends(END + 1, 3, None); // an acknowledgement
        }
    };
    let recording = recorded(&[4, 4], 60, |recorder, round| {
        twice(recorder, round);
        recorder.sends(END + 1, 20, Some(END - 1));
        recorder.waits(END + 1);
        recorder.sends(END - 1, 5, Some(END + 1));
        recorder.waits(END - 1);
    });
    let work = work(&recording, |_| Wish::default());
    let answers = acts(&work, END + 1).iter().filter(|act| **act == Act::Answer(2)).count();
    assert_eq!(answers, 60 * 5, "two of {} are none", recording.tasks[2].sends.len());
}

#[test]
fn tasks_whose_messages_do_not_add_up_or_have_one_connection_are_no_hub() {
    let hubs = |recording: &Recording| work(recording, |_| Wish::default()).hubs.len();
    assert_eq!(hubs(&in_turn(&[5, 3], 40)), 1);
    assert_eq!(hubs(&in_turn(&[1, 1], 40)), 0, "what wakes them shows all");
    assert_eq!(hubs(&in_turn(&[5, 3], 3)), 0, "few waits are chance");
    let more = recorded(&[4, 4], 60, |recorder, round| {
        if round % 2 == 0 {
            recorder.sends(END + 1, 3, None); // what it sends without being asked
        }
        recorder.sends(END + 1, 20, Some(END - 1));
        recorder.waits(END + 1);
        recorder.sends(END - 1, 5, Some(END + 1));
        recorder.waits(END - 1);
    });
    assert_eq!(hubs(&more), 0);
}

#[test]
fn a_task_that_is_left_out_or_treated_otherwise_or_copied_has_no_connections() {
    let recording = in_turn(&[5, 3], 40);
    let hubs = |wish: fn(&Task) -> Wish| work(&recording, wish).hubs.len();
    assert_eq!(hubs(|task| Wish { removed: task.pid == END, ..Wish::default() }), 0);
    assert_eq!(hubs(|task| Wish { copies: u32::from(task.pid == END - 1), ..Wish::default() }), 0);
    let open = |task: &Task| Wish { waits: (task.pid == END).then_some(crate::Override::Open), ..Wish::default() };
    assert_eq!(hubs(open), 0);
}
