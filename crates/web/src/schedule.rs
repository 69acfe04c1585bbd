//! Who ran when and where: the spans of a schedule, from switch-in to switch-out, in the order of their ends.

use schedlab_model::{
    Nanos,
    event::{Event, Kind, Observer},
    names::Names,
    task::TaskId,
};
use serde_json::{Value, json};

/// Most spans that are kept: 22 bytes each.
const MOST_SPANS: u32 = 1 << 22;
/// Most tasks that are listed. Spans of later ones are left out.
const MOST_TASKS: usize = 1 << 16;
/// The place of a task that is not listed.
const NOWHERE: u32 = u32::MAX;

/// Listens for them. Times are floats because a page has no other numbers: whole ns up to 2^53, a hundred days.
pub struct Schedule {
    most: usize,
    names: Names,
    /// Number and job of each task, in the order in which they came to be.
    listed: Vec<(TaskId, u64)>,
    /// By task number, its place in that list.
    places: Vec<u32>,
    /// By processor, when the running task got it.
    since: Vec<Nanos>,
    pub begin: Vec<f64>,
    pub end: Vec<f64>,
    pub task: Vec<u32>,
    pub processor: Vec<u16>,
    /// How many spans are not among these.
    pub left_out: u64,
}

impl Schedule {
    /// Keeps the first `most` spans of a run with these names.
    pub fn new(names: Names, most: u32) -> Schedule {
        Schedule {
            most: most.min(MOST_SPANS) as usize,
            since: vec![0; names.processors.into()],
            names,
            listed: Vec::new(),
            places: Vec::new(),
            begin: Vec::new(),
            end: Vec::new(),
            task: Vec::new(),
            processor: Vec::new(),
            left_out: 0,
        }
    }

    /// The tasks that spans refer to, and those that never ran.
    pub fn tasks(&self) -> Vec<Value> {
        let task = |&(task, job): &(TaskId, u64)| {
            let name = usize::try_from(job).ok().and_then(|job| self.names.jobs.get(job));
            json!({ "name": self.names.task(task, job), "job": name })
        };
        self.listed.iter().map(task).collect()
    }

    #[cold]
    #[inline(never)]
    fn created(&mut self, event: Event) {
        let number = event.task as usize;
        if number >= self.places.len() {
            self.places.resize(number + 1, NOWHERE);
        }
        self.places[number] = NOWHERE;
        if self.listed.len() < MOST_TASKS {
            self.places[number] = self.listed.len() as u32;
            self.listed.push((event.task, event.a));
        }
    }

    #[inline(never)]
    fn ran(&mut self, event: Event) {
        let place = self.places.get(event.task as usize).copied().unwrap_or(NOWHERE);
        if self.begin.len() >= self.most || place == NOWHERE {
            self.left_out += 1;
            return;
        }
        self.begin.push(self.since[usize::from(event.cpu)] as f64);
        self.end.push(event.time as f64);
        self.task.push(place);
        self.processor.push(event.cpu);
    }
}

impl Observer for Schedule {
    #[inline(always)]
    fn observe(&mut self, event: Event) {
        match event.kind {
            Kind::SwitchIn => self.since[usize::from(event.cpu)] = event.time,
            Kind::SwitchOut => self.ran(event),
            Kind::Created => self.created(event),
            _ => {}
        }
    }

    /// Ticks and interrupts are no part of it.
    #[inline]
    fn observe_row(&mut self, _: Event, _: u16, _: impl ExactSizeIterator<Item = Nanos> + Clone) {}
}
