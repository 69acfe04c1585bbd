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

/// What every event has of a task: its number and Linux's priority, encoded, and which name it has.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// Five bytes at most, and their number in the highest byte.
    number: u64,
    pub priority: Short,
    /// An index into the names of [`Tasks`].
    pub name: u32,
}

impl Shown {
    fn new(tid: u64, priority: u32, name: u32) -> Shown {
        let number = word(tid);
        Shown { number: number.bits | (number.width as u64) << 56, priority: Short::new(priority), name }
    }

    #[inline(always)]
    pub fn number(self) -> Word {
        Word { bits: self.number, width: (self.number >> 56) as usize }
    }
}

/// What is rarely looked at of a task.
#[derive(Debug, Clone, Copy)]
pub struct Task {
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
    /// The names that events have: of the idle task, of tasks of which nothing is known, of the servers, of the jobs. The tasks of
    /// a job share its name, as the threads of a process do under Linux; the tree of processes has the name of each.
    pub shared_names: Vec<String>,
}

/// Where in the names of events the idle task's is, that of unknown tasks, and the first server's, which the others and the jobs follow.
const OF_IDLE: u32 = 0;
const OF_UNKNOWN: u32 = 1;
const OF_SERVERS: u32 = 2;

/// A task's number as viewers show it.
pub fn tid(task: TaskId) -> u64 {
    FIRST_TASK + u64::from(task)
}

impl Tasks {
    pub fn new(names: &Names) -> Self {
        let unnamed = ["swapper", "task"].map(str::to_owned);
        Tasks {
            names: names.clone(),
            shown: vec![Shown::new(0, PRIORITY, OF_IDLE)],
            tasks: vec![Task { process: 0, has_track: false }],
            processes: vec![0; names.jobs.len()],
            shared_names: unnamed.iter().chain(&names.servers).chain(&names.jobs).cloned().collect(),
        }
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
        let tasks = first as TaskId..=task;
        let servers = self.names.servers.len();
        let name = |task| if (task as usize) < servers { OF_SERVERS + task } else { OF_UNKNOWN };
        self.shown.extend(tasks.clone().map(|task| Shown::new(tid(task), PRIORITY, name(task))));
        self.tasks.extend(tasks.map(|task| Task { process: tid(task), has_track: false }));
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
                self.shown[place].name = OF_SERVERS + (self.names.servers.len() + job) as u32;
                (*process, self.names.jobs[job].clone())
            }
            None => (number, self.names.task(task, job)),
        };
        let priority = PRIORITY as i32 + i32::from(nice).clamp(-20, 19);
        self.shown[place] = Shown::new(number, priority as u32, self.shown[place].name);
        self.tasks[place] = Task { process, has_track: false };
        Some((process, name))
    }

    pub fn at(&mut self, place: u32) -> &mut Task {
        &mut self.tasks[place as usize]
    }
}
