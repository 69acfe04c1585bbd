//! What the readers of texts, Perfetto traces and block traces share on the way to the listener: order of time in bounded memory,
//! names as numbers, and what the head says of losses and the span.

use super::tasks::{Source, Tasks};
use super::{Context, Event, Head, Kind, Listener, Loss, Pid};

/// Of records with the same problem, this number is shown.
const SHOWN: usize = 3;

/// Records with one problem, summed up to one loss.
#[derive(Debug, Default)]
struct Problem {
    count: u64,
    first: Vec<String>,
    time: Option<u64>,
}

impl Problem {
    fn add(&mut self, time: Option<u64>, shown: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < SHOWN {
            self.time = self.time.or(time);
            self.first.push(shown());
        }
    }

    fn loss(self, what: &str) -> Option<Loss> {
        let more = if self.count > self.first.len() as u64 { ", ..." } else { "" };
        let why = format!("{what}: {}{more}", self.first.join(", "));
        (self.count > 0).then_some(Loss { time: self.time, cpu: None, events: Some(self.count), why })
    }
}

/// On the way to the listener.
pub(super) struct Delivery<'a, L> {
    listener: &'a mut L,
    head: Head,
    tasks: Tasks,
    /// Events not yet given, and whether they are in order.
    waiting: Vec<Event>,
    ordered: bool,
    /// See [`Delivery::put_switches_last`].
    switches_last: bool,
    /// As many may wait.
    most: usize,
    last: u64,
    late: Problem,
    unread: Problem,
}

impl<'a, L: Listener> Delivery<'a, L> {
    /// Events may be out of order as far as half of `most` of them.
    pub(super) fn new(format: &str, most: usize, listener: &'a mut L) -> Self {
        Delivery {
            listener,
            head: Head { format: format.to_owned(), ..Head::default() },
            tasks: Tasks::default(),
            waiting: Vec::new(),
            ordered: true,
            switches_last: false,
            most,
            last: 0,
            late: Problem::default(),
            unread: Problem::default(),
        }
    }

    /// Of events of one time, switches are the last from now on: the file has them apart and does not say which came first, and a task
    /// is woken before it runs.
    pub(super) fn put_switches_last(&mut self) {
        (self.switches_last, self.ordered) = (true, false);
    }

    /// Takes an event. One that is too late to be put in order is a loss; `place` is where it was found.
    #[inline]
    pub(super) fn event(&mut self, event: Event, place: impl FnOnce() -> String) {
        if self.waiting.last().map_or(self.last, |last| last.time) > event.time {
            if event.time < self.last {
                self.late.add(Some(event.time), place);
                return;
            }
            self.ordered = false;
        }
        self.ordered &= !self.switches_last;
        self.waiting.push(event);
        if self.waiting.len() == self.most {
            self.give(self.most / 2);
        }
    }

    /// Takes the name of a task as of an event.
    #[inline]
    pub(super) fn named(&mut self, at: &Event, pid: Pid, comm: &[u8], source: Source) {
        let Some(fresh) = self.tasks.note(pid, comm, source) else { return };
        if fresh.first {
            self.listener.name(fresh.number, &self.tasks.text(fresh.number));
        }
        let time = at.time.max(self.last);
        let named = Event { time, task: pid, kind: Kind::Named, value: fresh.number, extra: 0, ..*at };
        self.event(named, String::new);
    }

    /// Takes a loss that the file reports, noticed at `time` on `cpu`.
    pub(super) fn lost(&mut self, time: u64, cpu: Option<u16>, events: Option<u64>, why: &str) {
        self.loss(Loss { time: Some(time), cpu, events, why: why.to_owned() });
        let event = Event {
            time,
            value: events.unwrap_or(0),
            task: Event::NO_TASK,
            other: Event::NO_TASK,
            extra: 0,
            cpu: cpu.unwrap_or(Event::ALL),
            kind: Kind::Lost,
            bits: Event::bits(0, Context::Unknown),
        };
        self.event(Event { time: time.max(self.last), ..event }, String::new);
    }

    /// Takes a loss that has no place among the events.
    pub(super) fn loss(&mut self, loss: Loss) {
        self.head.lose(loss);
    }

    /// Counts a record that cannot be read, after an event of that time; `shown` says where and what.
    pub(super) fn unread(&mut self, time: Option<u64>, shown: impl FnOnce() -> String) {
        self.unread.add(time, shown);
    }

    /// Takes it that a thread is one of a process.
    #[inline]
    pub(super) fn member(&mut self, at: &Event, pid: Pid, process: Pid) {
        if self.tasks.joins(pid, process) {
            let time = at.time.max(self.last);
            let event = Event { time, task: pid, other: process, kind: Kind::Member, value: 0, extra: 0, ..*at };
            self.event(event, String::new);
        }
    }

    /// Hands on the oldest events that wait.
    fn give(&mut self, count: usize) {
        if !self.ordered {
            let apart = self.switches_last;
            self.waiting.sort_by_key(|event| (event.time, apart && event.kind == Kind::Switch));
            self.ordered = true;
        }
        for event in self.waiting.drain(..count) {
            self.last = event.time;
            if event.cpu != Event::ALL {
                self.head.processors = self.head.processors.max(event.cpu + 1);
            }
            // Names may be older than the recording.
            if !matches!(event.kind, Kind::Named | Kind::Member) {
                self.head.span = Some((self.head.span.map_or(event.time, |(first, _)| first), event.time));
            }
            self.listener.event(&event);
        }
    }

    /// Hands on all that waits. `record` is what the file consists of ("lines").
    pub(super) fn finish(mut self, record: &str) -> Head {
        self.give(self.waiting.len());
        let problems = [
            (self.unread, format!("{record} that cannot be read")),
            (self.late, format!("{record} too far out of the order of time (sort them first)")),
        ];
        self.head.losses.extend(problems.into_iter().filter_map(|(problem, what)| problem.loss(&what)));
        self.head.losses.sort_by_key(|loss| loss.time);
        self.head
    }
}
