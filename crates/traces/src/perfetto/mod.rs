//! A trace for ui.perfetto.dev in Perfetto's protobuf format, written as events come: about 20 bytes for a context switch and
//! its wakeup, and no allocation.
//!
//! Context switches and wakeups are those of Linux's scheduler, in the compact form in which Perfetto records them. So a
//! viewer shows each processor with the tasks that ran, each task with its states and what they were followed by, and counts the
//! runnable tasks; its queries (`sched_slice`, `thread_state`) work as on a trace of Linux. A job is a process, its tasks are
//! threads; task n has the number 1000 + n. A task that leaves is in state `R+` (preempted), `R` (its slice is used up, or it
//! yielded), `S` (it waits) or `X` (it ended). Marks, signals, missed periods and ends are instants on the task's track, interrupts
//! on a track of each processor. What a dispatch used in user and system mode has no place there: [`crate::chrome`] has it.
//!
//! The numbers of fields are those of `protos/perfetto/trace` in Perfetto's sources. A run's nanoseconds are the time since
//! boot of the trace. What still runs at the end is drawn up to there.

mod instants;
mod processor;
mod wire;

use crate::{Names, blocks::Blocks};
use processor::{Processor, Shown};
use schedlab_model::{
    Nanos,
    event::{Event, Kind, Leave, Observer},
    task::{CpuId, TaskId},
};
use std::io::{self, Write};
use wire::Message;

/// The number of the first task as a viewer shows it; below are the idle task and Linux's own.
const FIRST_TASK: u64 = 1000;
/// Identity of the track of the first processor's interrupts. The track of a task has the task's number + 2^32.
const FIRST_CPU: u64 = 1;
/// Task numbers may be this far ahead of those known; a bound on what a damaged recording can make us allocate.
const GAP: usize = 1 << 16;

/// States as Linux before 4.14 numbers them, which readers assume where a trace names no kernel.
const READY: u16 = 0;
const WAITING: u16 = 1;
const ENDED: u16 = 0x10;
const PREEMPTED: u16 = 0x800;

/// The field of a trace, and those of a packet.
const PACKET: u32 = 1;
const PROCESS_TREE: u32 = 2;
const CLOCK_SNAPSHOT: u32 = 6;
const TIMESTAMP: u32 = 8;
const SEQUENCE: u32 = 10;
const TRACK_EVENT: u32 = 11;
const INTERNED: u32 = 12;
const FLAGS: u32 = 13;
const CLOCK_ID: u32 = 58;
const DEFAULTS: u32 = 59;
const TRACK_DESCRIPTOR: u32 = 60;

/// The one sequence of packets with a state, its clock whose times count from the packet before, and the clock of the trace.
const OURS: u64 = 1;
const CLOCK_OF_DELTAS: u64 = 64;
const BOOT_TIME: u64 = 6;

/// What is rarely looked at of a task.
#[derive(Debug, Clone, Copy)]
struct Task {
    job: u64,
    /// The process it is a thread of, and whether its track was described.
    process: u64,
    has_track: bool,
}

/// Writes a trace to `out`. Its memory grows with the tasks of a run, not with its length. After a failed write it writes
/// no more, and [`Tracer::finish`] returns the error.
#[derive(Debug)]
pub struct Tracer<W: Write> {
    out: Blocks<W>,
    names: Names,
    until: Nanos,
    now: Nanos,
    processors: Vec<Processor>,
    /// Whether a processor's track of interrupts was described.
    interrupted: Vec<bool>,
    /// By task.
    shown: Vec<Shown>,
    tasks: Vec<Task>,
    /// By job, the number of its first task; 0 where there is none yet.
    processes: Vec<u64>,
    /// Time of the last instant.
    instant: Nanos,
}

impl<W: Write> Tracer<W> {
    /// Begins a trace. What happens after `until` is left out.
    pub fn new(out: W, names: &Names, until: Option<Nanos>) -> Self {
        let mut tracer = Tracer {
            out: Blocks::new(out),
            names: names.clone(),
            until: until.unwrap_or(Nanos::MAX),
            now: 0,
            processors: (0..names.processors).map(Processor::new).collect(),
            interrupted: vec![false; names.processors.into()],
            shown: Vec::new(),
            tasks: Vec::new(),
            processes: vec![0; names.jobs.len()],
            instant: 0,
        };
        tracer.begin();
        tracer
    }

    /// Ends the trace and gives `out` back, or the first error met while writing.
    pub fn finish(mut self) -> io::Result<W> {
        let end = self.now.min(self.until);
        for processor in &mut self.processors {
            if processor.is_busy() {
                processor.switch_out(end, READY);
            }
            processor.end();
            processor.bundle(&mut self.out);
        }
        self.out.finish()
    }

    /// Writes a packet, where it is rare.
    fn packet(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut packet = Vec::new();
        packet.message(PACKET, write);
        self.out.append(&packet);
    }

    /// The clocks, and the names of instants.
    fn begin(&mut self) {
        const STATE_CLEARED: u64 = 1;
        let clock = |clocks: &mut Vec<u8>, id, counts_from_the_packet_before: bool| {
            clocks.message(1, |clock| {
                clock.number(1, id);
                clock.number(2, 0);
                if counts_from_the_packet_before {
                    clock.number(3, 1);
                }
            });
        };
        let names = instants::names(&self.names);
        self.packet(|packet| {
            packet.message(CLOCK_SNAPSHOT, |clocks| {
                clock(clocks, BOOT_TIME, false);
                clock(clocks, CLOCK_OF_DELTAS, true);
                clocks.number(2, BOOT_TIME);
            });
            packet.number(SEQUENCE, OURS);
            packet.message(INTERNED, |interned| {
                for (index, name) in names.iter().enumerate() {
                    interned.message(2, |entry| {
                        entry.number(1, index as u64 + 1);
                        entry.bytes(2, name.as_bytes());
                    });
                }
            });
            packet.number(FLAGS, STATE_CLEARED);
            packet.message(DEFAULTS, |defaults| defaults.number(CLOCK_ID, CLOCK_OF_DELTAS));
        });
    }

    /// Makes a task known, if its number can be one.
    #[inline(always)]
    fn known(&mut self, id: TaskId) -> bool {
        (id as usize) < self.shown.len() || self.enter(id)
    }

    #[cold]
    #[inline(never)]
    fn enter(&mut self, id: TaskId) -> bool {
        let (first, end) = (self.tasks.len(), id as usize + 1);
        if end > first + GAP {
            return false;
        }
        let numbers = (first as TaskId..=id).map(tid);
        self.shown.extend(numbers.clone().map(|number| Shown::new(number as u32, 120)));
        self.tasks.extend(numbers.map(|process| Task { job: u64::MAX, process, has_track: false }));
        true
    }

    #[cold]
    #[inline(never)]
    fn create(&mut self, e: Event) {
        if !self.known(e.task) {
            return;
        }
        let number = tid(e.task);
        let is_server = (e.task as usize) < self.names.servers.len();
        let name = self.names.task(e.task, e.a);
        let job = usize::try_from(e.a).ok().filter(|&job| !is_server && job < self.names.jobs.len());
        let process = job.map_or(number, |job| match self.processes[job] {
            0 => number,
            first => first,
        });
        let of_process = job.map_or(&name, |job| &self.names.jobs[job]).clone();
        self.packet(|packet| {
            packet.number(TIMESTAMP, e.time);
            packet.message(PROCESS_TREE, |tree| {
                if process == number {
                    tree.message(1, |entry| {
                        entry.number(1, number);
                        entry.bytes(3, of_process.as_bytes());
                    });
                }
                tree.message(2, |thread| {
                    thread.number(1, number);
                    thread.bytes(2, name.as_bytes());
                    thread.number(3, process);
                });
            });
        });
        if let Some(job) = job {
            self.processes[job] = process;
        }
        // `flag` is nice + 128, and nice 0 is priority 120.
        let priority = u16::from(e.flag).clamp(108, 147) - 8;
        self.shown[e.task as usize] = Shown::new(number as u32, priority);
        self.tasks[e.task as usize] = Task { job: e.a, process, has_track: false };
    }

    /// A processor, a task as it is shown, and the index of its name there.
    #[inline(always)]
    fn on(&mut self, cpu: CpuId, task: TaskId) -> Option<(&mut Processor, Shown, u32)> {
        if !self.known(task) {
            return None;
        }
        let processor = self.processors.get_mut(usize::from(cpu))?;
        let name = processor.name(task, || self.tasks[task as usize].job, &self.names);
        Some((processor, self.shown[task as usize], name))
    }

    #[inline(never)]
    fn switch_in(&mut self, time: Nanos, cpu: CpuId, task: TaskId) {
        if let Some((processor, task, name)) = self.on(cpu, task) {
            processor.switch_in(time, task, name);
            if processor.is_full() {
                self.bundle(cpu);
            }
        }
    }

    #[inline(always)]
    fn switch_out(&mut self, time: Nanos, cpu: CpuId, left: u8) {
        if let Some(processor) = self.processors.get_mut(usize::from(cpu)) {
            processor.switch_out(time, state(left));
        }
    }

    #[inline(never)]
    fn wakeup(&mut self, time: Nanos, cpu: CpuId, task: TaskId) {
        if let Some((processor, task, name)) = self.on(cpu, task) {
            processor.wakeup(time, task, name);
            if processor.is_full() {
                self.bundle(cpu);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn bundle(&mut self, cpu: CpuId) {
        self.processors[usize::from(cpu)].bundle(&mut self.out);
    }

    /// The time of an event; `None` if it is after the end of the trace. A damaged recording may go back in time.
    #[inline(always)]
    fn time_of(&mut self, e: &Event) -> Option<Nanos> {
        self.now = self.now.max(e.time.min(self.until));
        (e.time <= self.until).then_some(self.now)
    }
}

/// A task's number as viewers show it.
fn tid(task: TaskId) -> u64 {
    FIRST_TASK + u64::from(task)
}

impl<W: Write> Observer for Tracer<W> {
    // Always, so that kinds of events which are not shown take no time: the kind is constant where the event is made.
    #[inline(always)]
    fn observe(&mut self, e: Event) {
        match e.kind {
            Kind::SwitchIn => {
                if let Some(time) = self.time_of(&e) {
                    self.switch_in(time, e.cpu, e.task);
                }
            }
            Kind::SwitchOut => {
                if let Some(time) = self.time_of(&e) {
                    self.switch_out(time, e.cpu, e.flag);
                }
            }
            Kind::Wakeup => {
                if let Some(time) = self.time_of(&e) {
                    self.wakeup(time, e.cpu, e.task);
                }
            }
            Kind::Interrupt => {
                if let Some(time) = self.time_of(&e) {
                    self.on_processor(e.cpu, instants::of_interrupt(e.a), time);
                }
            }
            Kind::Created | Kind::Exited | Kind::Mark | Kind::Signal | Kind::Period => self.rare(e),
            _ => {}
        }
    }
}

/// The state in which a task left, by [`Leave`].
#[inline(always)]
fn state(left: u8) -> u16 {
    const PREEMPTION: u8 = Leave::Preempted as u8;
    const EXIT: u8 = Leave::Exited as u8;
    const BLOCK: u8 = Leave::Blocked as u8;
    match left {
        PREEMPTION => PREEMPTED,
        BLOCK => WAITING,
        EXIT => ENDED,
        _ => READY,
    }
}
