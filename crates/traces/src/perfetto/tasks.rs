//! The tasks of a trace: as what viewers know each of them. The idle task is the first, at place 0; task n is at place n + 1.

use super::wire::{Short, word};
use crate::{Names, blocks::Word};
use schedlab_model::task::TaskId;

/// The place of the idle task.
pub const IDLE: u32 = 0;
/// The number of the first task as a viewer shows it; below are the idle task and Linux's own.
const FIRST_TASK: u64 = 1000;
/// Task numbers may be this far ahead of those known; a bound on what a damaged recording can make us allocate.
const GAP: usize = 1 << 16;
/// Linux's priority at nice 0.
const PRIORITY: u32 = 120;

/// A task's number and Linux's priority, encoded: 5 bytes of the number, 2 of the priority, and the width of the number.
#[derive(Debug, Clone, Copy)]
pub struct Shown(u64);

impl Shown {
    fn new(tid: u64, priority: u32) -> Shown {
        let number = word(tid);
        Shown(number.bits | Short::new(priority).word().bits << 40 | (number.width as u64) << 56)
    }

    #[inline(always)]
    pub fn number(self) -> Word {
        Word { bits: self.0, width: (self.0 >> 56) as usize }
    }

    #[inline(always)]
    pub fn priority(self) -> Word {
        Word { bits: self.0 >> 40, width: 1 + (self.0 >> 47 & 1) as usize }
    }
}

/// What is rarely looked at of a task.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    job: u64,
    /// The process it is a thread of, and whether its track was described.
    pub process: u64,
    pub has_track: bool,
}

/// All of them, by place.
#[derive(Debug)]
pub struct Tasks {
    pub names: Names,
    pub shown: Vec<Shown>,
    tasks: Vec<Task>,
    /// By job, the number of its first task; 0 where there is none yet.
    processes: Vec<u64>,
}

/// A task's number as viewers show it.
pub fn tid(task: TaskId) -> u64 {
    FIRST_TASK + u64::from(task)
}

impl Tasks {
    pub fn new(names: &Names) -> Self {
        let idle = Task { job: u64::MAX, process: 0, has_track: false };
        let processes = vec![0; names.jobs.len()];
        Tasks { names: names.clone(), shown: vec![Shown::new(0, PRIORITY)], tasks: vec![idle], processes }
    }

    /// One more than the last place.
    pub fn len(&self) -> usize {
        self.shown.len()
    }

    /// The place of a task, which is made known if its number can be one.
    #[inline(always)]
    pub fn place(&mut self, task: TaskId) -> Option<u32> {
        let place = task.wrapping_add(1);
        // The idle task's place is what no task wraps around to.
        ((place as usize) < self.shown.len() && place != IDLE || self.enter(task)).then_some(place)
    }

    #[cold]
    #[inline(never)]
    fn enter(&mut self, task: TaskId) -> bool {
        let (first, end) = (self.len() - 1, task as usize + 1);
        if end > first + GAP {
            return false;
        }
        let numbers = (first as TaskId..=task).map(tid);
        self.shown.extend(numbers.clone().map(|number| Shown::new(number, PRIORITY)));
        self.tasks.extend(numbers.map(|process| Task { job: u64::MAX, process, has_track: false }));
        true
    }

    /// A task came to be, of that job and nice value. Gives its process, and the name of this process.
    pub fn create(&mut self, task: TaskId, job: u64, nice: i8) -> Option<(u64, String)> {
        let (place, number) = (self.place(task)? as usize, tid(task));
        let is_server = (task as usize) < self.names.servers.len();
        let known = usize::try_from(job).ok().filter(|&job| !is_server && job < self.names.jobs.len());
        let (process, name) = match known {
            Some(job) => {
                let process = &mut self.processes[job];
                if *process == 0 {
                    *process = number;
                }
                (*process, self.names.jobs[job].clone())
            }
            None => (number, self.names.task(task, job)),
        };
        let priority = PRIORITY as i32 + i32::from(nice).clamp(-20, 19);
        self.shown[place] = Shown::new(number, priority as u32);
        self.tasks[place] = Task { job, process, has_track: false };
        Some((process, name))
    }

    pub fn at(&mut self, place: u32) -> &mut Task {
        &mut self.tasks[place as usize]
    }

    /// Appends the name of the task at that place.
    pub fn append_name(&self, place: u32, to: &mut Vec<u8>) {
        if place == IDLE {
            return to.extend_from_slice(b"swapper");
        }
        let (name, number) = self.names.parts(place - 1, self.tasks[place as usize].job);
        to.extend_from_slice(name.as_bytes());
        if let Some(number) = number {
            append_number(to, number);
        }
    }
}

/// Appends `#` and a number in decimal. Where tasks are many, this is most of what an event costs, and `write!` costs twice as much.
fn append_number(to: &mut Vec<u8>, mut number: TaskId) {
    let mut text = [b'#'; 11];
    let mut at = text.len();
    loop {
        at -= 1;
        text[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return to.extend_from_slice(&text[at - 1..]);
        }
    }
}
