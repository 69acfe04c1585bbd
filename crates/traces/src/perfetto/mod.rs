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

mod processor;
mod wire;

use crate::Names;
use hashbrown::HashMap;
use processor::{Processor, Shown};
use schedlab_model::{
    Nanos,
    event::{Event, Irq, Kind, Leave, Observer},
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

/// Bytes that are gathered before they are written.
const BLOCK: usize = 1 << 16;

/// States as Linux before 4.14 numbers them, which readers assume where a trace names no kernel.
const READY: u16 = 0;
const WAITING: u16 = 1;
const ENDED: u16 = 0x10;
const PREEMPTED: u16 = 0x800;

/// Names of instants, by the number that a trace has for them; the names of marks come after.
const INSTANTS: [&str; 9] =
    ["signal sent", "signal handled", "deadline missed", "clock", "timer", "disk", "interrupt", "ended", "mark"];
const SIGNAL_SENT: u64 = 1;
const SIGNAL_HANDLED: u64 = 2;
const MISSED: u64 = 3;
const CLOCK: u64 = 4;
const TIMER: u64 = 5;
const DISK: u64 = 6;
const OTHER: u64 = 7;
const END: u64 = 8;
const MARK: u64 = 9;

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

#[derive(Debug, Default, Clone)]
struct Task {
    name: Box<str>,
    priority: u16,
    /// The process it is a thread of, and whether its track was described.
    process: u64,
    has_track: bool,
}

/// Writes a trace to `out`. Its memory grows with the tasks of a run, not with its length. After a failed write it writes
/// no more, and [`Tracer::finish`] returns the error.
#[derive(Debug)]
pub struct Tracer<W: Write> {
    out: W,
    names: Names,
    until: Nanos,
    now: Nanos,
    processors: Vec<Processor>,
    /// Whether a processor's track of interrupts was described.
    interrupted: Vec<bool>,
    tasks: Vec<Task>,
    /// By job, the number of its first task.
    processes: HashMap<u64, u64>,
    /// Packets that are not written yet.
    trace: Vec<u8>,
    /// Time of the last instant.
    instant: Nanos,
    error: Option<io::Error>,
}

impl<W: Write> Tracer<W> {
    /// Begins a trace. What happens after `until` is left out.
    pub fn new(out: W, names: &Names, until: Option<Nanos>) -> Self {
        let mut tracer = Tracer {
            out,
            names: names.clone(),
            until: until.unwrap_or(Nanos::MAX),
            now: 0,
            processors: (0..names.processors).map(Processor::new).collect(),
            interrupted: vec![false; names.processors.into()],
            tasks: Vec::new(),
            processes: HashMap::new(),
            trace: Vec::new(),
            instant: 0,
            error: None,
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
            processor.bundle(&mut self.trace);
        }
        self.write();
        match self.error {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
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
        let names = INSTANTS.into_iter().chain(self.names.marks.iter().map(String::as_str));
        self.trace.message(PACKET, |packet| {
            packet.message(CLOCK_SNAPSHOT, |clocks| {
                clock(clocks, BOOT_TIME, false);
                clock(clocks, CLOCK_OF_DELTAS, true);
                clocks.number(2, BOOT_TIME);
            });
            packet.number(SEQUENCE, OURS);
            packet.message(INTERNED, |interned| {
                for (index, name) in names.enumerate() {
                    interned.message(2, |entry| {
                        entry.number(1, index as u64 + 1);
                        entry.bytes(2, name.as_bytes());
                    });
                }
            });
            packet.number(FLAGS, STATE_CLEARED);
            packet.message(DEFAULTS, |defaults| defaults.number(CLOCK_ID, CLOCK_OF_DELTAS));
        });
        self.write_if_long();
    }

    #[inline]
    fn write_if_long(&mut self) {
        if self.trace.len() >= BLOCK {
            self.write();
        }
    }

    #[cold]
    fn write(&mut self) {
        if self.error.is_none() {
            self.error = self.out.write_all(&self.trace).err();
        }
        self.trace.clear();
    }

    /// Makes a task known, if its number can be one.
    #[inline]
    fn known(&mut self, id: TaskId) -> bool {
        (id as usize) < self.tasks.len() || self.enter(id)
    }

    #[cold]
    fn enter(&mut self, id: TaskId) -> bool {
        let first = self.tasks.len();
        if id as usize >= first + GAP {
            return false;
        }
        self.tasks.extend((first as TaskId..=id).map(|id| Task {
            name: self.names.task(id, u64::MAX).into(),
            priority: 120,
            process: tid(id),
            has_track: false,
        }));
        true
    }

    #[cold]
    fn create(&mut self, e: Event) {
        if !self.known(e.task) {
            return;
        }
        let number = tid(e.task);
        let is_server = (e.task as usize) < self.names.servers.len();
        let name = self.names.task(e.task, e.a);
        let job = usize::try_from(e.a).ok().and_then(|job| self.names.jobs.get(job)).filter(|_| !is_server);
        let process = if job.is_some() { *self.processes.entry(e.a).or_insert(number) } else { number };
        self.trace.message(PACKET, |packet| {
            packet.number(TIMESTAMP, e.time);
            packet.message(PROCESS_TREE, |tree| {
                if process == number {
                    tree.message(1, |entry| {
                        entry.number(1, number);
                        entry.bytes(3, job.unwrap_or(&name).as_bytes());
                    });
                }
                tree.message(2, |thread| {
                    thread.number(1, number);
                    thread.bytes(2, name.as_bytes());
                    thread.number(3, process);
                });
            });
        });
        // `flag` is nice + 128, and nice 0 is priority 120.
        let priority = u16::from(e.flag).clamp(108, 147) - 8;
        self.tasks[e.task as usize] = Task { name: name.into(), priority, process, has_track: false };
        self.write_if_long();
    }

    /// A processor, and a task as it is shown there.
    #[inline]
    fn shown(&mut self, cpu: CpuId, task: TaskId) -> Option<(&mut Processor, Shown<'_>)> {
        if !self.known(task) {
            return None;
        }
        let Task { name, priority, .. } = &self.tasks[task as usize];
        // Tasks are numbered from 0 and known: their numbers are far below the end of the type.
        let shown = Shown { task, tid: tid(task) as u32, name, priority: *priority };
        Some((self.processors.get_mut(usize::from(cpu))?, shown))
    }

    #[inline]
    fn write_if_full(&mut self, cpu: CpuId) {
        if let Some(processor) = self.processors.get_mut(usize::from(cpu)).filter(|processor| processor.is_full()) {
            processor.bundle(&mut self.trace);
            self.write_if_long();
        }
    }

    fn on_task(&mut self, task: TaskId, name: u64, time: Nanos) {
        if !self.known(task) {
            return;
        }
        let (number, found) = (tid(task), &mut self.tasks[task as usize]);
        let (process, described) = (found.process, std::mem::replace(&mut found.has_track, true));
        let track = number | 1 << 32;
        if !described {
            self.track(track, |of| {
                of.message(4, |thread| {
                    thread.number(1, process);
                    thread.number(2, number);
                });
            });
        }
        self.show(track, name, time);
    }

    fn on_processor(&mut self, cpu: CpuId, name: u64, time: Nanos) {
        let Some(described) = self.interrupted.get_mut(usize::from(cpu)) else { return };
        let track = FIRST_CPU + u64::from(cpu);
        if !std::mem::replace(described, true) {
            self.track(track, |of| of.bytes(2, format!("interrupts of cpu {cpu}").as_bytes()));
        }
        self.show(track, name, time);
    }

    /// Describes a track; written with its first instant.
    #[cold]
    fn track(&mut self, identity: u64, describe: impl FnOnce(&mut Vec<u8>)) {
        self.trace.message(PACKET, |packet| {
            packet.number(SEQUENCE, OURS);
            packet.message(TRACK_DESCRIPTOR, |of| {
                of.number(1, identity);
                describe(of);
            });
        });
    }

    fn show(&mut self, track: u64, name: u64, time: Nanos) {
        const NEEDS_STATE: u64 = 2;
        const INSTANT: u64 = 3;
        let passed = time - std::mem::replace(&mut self.instant, time);
        self.trace.message(PACKET, |packet| {
            packet.number(TIMESTAMP, passed);
            packet.number(SEQUENCE, OURS);
            packet.message(TRACK_EVENT, |event| {
                event.number(9, INSTANT);
                event.number(10, name);
                event.number(11, track);
            });
            packet.number(FLAGS, NEEDS_STATE);
        });
        self.write_if_long();
    }
}

/// A task's number as viewers show it.
fn tid(task: TaskId) -> u64 {
    FIRST_TASK + u64::from(task)
}

impl<W: Write> Observer for Tracer<W> {
    fn observe(&mut self, e: Event) {
        if e.time > self.until {
            self.now = self.until;
            return;
        }
        // A damaged recording may go back in time.
        let time = e.time.max(self.now);
        self.now = time;
        match e.kind {
            Kind::SwitchIn => {
                if let Some((processor, task)) = self.shown(e.cpu, e.task) {
                    processor.switch_in(time, task);
                    self.write_if_full(e.cpu);
                }
            }
            Kind::SwitchOut => {
                if let Some(processor) = self.processors.get_mut(usize::from(e.cpu)) {
                    processor.switch_out(time, state(e.flag));
                }
            }
            Kind::Wakeup => {
                if let Some((processor, task)) = self.shown(e.cpu, e.task) {
                    processor.wakeup(time, task);
                    self.write_if_full(e.cpu);
                }
            }
            Kind::Created => self.create(Event { time, ..e }),
            Kind::Exited => self.on_task(e.task, END, time),
            Kind::Mark => {
                let known = usize::try_from(e.a).is_ok_and(|mark| mark < self.names.marks.len());
                self.on_task(e.task, if known { MARK + 1 + e.a } else { MARK }, time);
            }
            Kind::Signal if e.flag == 0 => self.on_task(e.task, SIGNAL_SENT, time),
            Kind::Signal => self.on_task(e.task, SIGNAL_HANDLED, time),
            Kind::Period if e.flag == 0 => self.on_task(e.task, MISSED, time),
            Kind::Interrupt => {
                let lines = [(Irq::Clock, CLOCK), (Irq::Timer, TIMER), (Irq::Disk, DISK)];
                let line = lines.iter().find(|line| line.0 as u64 == e.a).map_or(OTHER, |line| line.1);
                self.on_processor(e.cpu, line, time);
            }
            _ => {}
        }
    }
}

/// The state in which a task left, by [`Leave`].
#[inline]
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
