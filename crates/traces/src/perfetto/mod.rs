//! A trace for ui.perfetto.dev in Perfetto's protobuf format, written as events come: about 20 bytes for a context switch and
//! its wakeup, and no allocation. `tasks.rs` has what viewers know of tasks, `processor.rs` context switches and wakeups in bundles,
//! `instants.rs` all else that happens, `wire.rs` the encoding. Recordings of kernels are written by `kernel.rs`, as they are.
//!
//! Context switches and wakeups are those of Linux's scheduler, in the compact form in which Perfetto records them. So a
//! viewer shows each processor with the tasks that ran, each task with its states and what they were followed by, and counts the
//! runnable tasks; its queries (`sched_slice`, `thread_state`) work as on a trace of Linux. A job is a process, its tasks are
//! threads; task n has the number 1000 + n. Events have the name of the job, as those of Linux have that of the program; a thread's own
//! name is in the tree of processes, and is the one that viewers show. A task that leaves is in state `R+` (preempted), `R` (its slice is used up, or it
//! yielded), `S` (it waits) or `X` (it ended). Marks, signals, missed periods and ends are instants on the task's track, interrupts
//! on a track of each processor. A wakeup is on the processor of its waker, so that viewers draw an arrow from it; one by an interrupt, or at the time of a
//! switch, is marked as an interrupt's. What a dispatch used in user and system mode has no place there: [`crate::chrome`] has it.
//!
//! The numbers of fields are those of `protos/perfetto/trace` in Perfetto's sources. A run's nanoseconds are the time since
//! boot of the trace. What still runs at the end is drawn up to there.

mod instants;
mod kernel;
mod processor;
mod tasks;
mod wire;

use crate::{Names, blocks::Blocks};
pub use kernel::Recorded;
use processor::{Columns, Processor, State};
use schedlab_model::{
    Nanos,
    event::{Event, Kind, Leave, Observer, Waker},
    task::CpuId,
};
use std::io::{self, Write};
use tasks::{Tasks, tid};
use wire::Message;

/// Identity of the track of the first processor's interrupts. The track of a task has the task's number + 2^32.
const FIRST_CPU: u64 = 1;

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

/// Writes a trace to `out`. Its memory grows with the tasks of a run, not with its length. After a failed write it writes
/// no more, and [`Tracer::finish`] returns the error.
#[derive(Debug)]
pub struct Tracer<W: Write> {
    out: Blocks<W>,
    until: Nanos,
    now: Nanos,
    processors: Vec<Processor>,
    /// Whether a processor's track of interrupts was described.
    interrupted: Vec<bool>,
    tasks: Tasks,
    columns: Columns,
    /// Time of the last instant.
    instant: Nanos,
}

impl<W: Write> Tracer<W> {
    /// Begins a trace. What happens after `until` is left out.
    pub fn new(out: W, names: &Names, until: Option<Nanos>) -> Self {
        let mut tracer = Tracer {
            out: Blocks::new(out),
            until: until.unwrap_or(Nanos::MAX),
            now: 0,
            processors: (0..names.processors).map(Processor::new).collect(),
            interrupted: vec![false; names.processors.into()],
            tasks: Tasks::new(names),
            columns: Columns::default(),
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
                processor.switch_out(end, State::READY);
            }
            processor.end();
            processor.bundle(&self.tasks, &mut self.columns, &mut self.out);
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
        let names = instants::names(&self.tasks.names);
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

    #[cold]
    #[inline(never)]
    fn create(&mut self, e: Event) {
        let nice = (i16::from(e.flag) - 128) as i8;
        let Some((process, name_of_process)) = self.tasks.create(e.task, e.a, nice) else { return };
        let (number, name) = (tid(e.task), self.tasks.names.task(e.task, e.a));
        self.packet(|packet| {
            packet.number(TIMESTAMP, e.time);
            packet.message(PROCESS_TREE, |tree| {
                if process == number {
                    tree.message(1, |entry| {
                        entry.number(1, number);
                        entry.bytes(3, name_of_process.as_bytes());
                    });
                }
                tree.message(2, |thread| {
                    thread.number(1, number);
                    thread.bytes(2, name.as_bytes());
                    thread.number(3, process);
                });
            });
        });
    }

    #[inline(always)]
    fn processor(&mut self, cpu: CpuId) -> Option<&mut Processor> {
        self.processors.get_mut(usize::from(cpu))
    }

    #[cold]
    #[inline(never)]
    fn bundle(&mut self, cpu: CpuId) {
        self.processors[usize::from(cpu)].bundle(&self.tasks, &mut self.columns, &mut self.out);
    }

    /// The time of an event; `None` if it is after the end of the trace. A damaged recording may go back in time.
    #[inline(always)]
    fn time_of(&mut self, e: &Event) -> Option<Nanos> {
        if e.time > self.until {
            self.now = self.until;
            return None;
        }
        self.now = self.now.max(e.time);
        Some(self.now)
    }
}

impl<W: Write> Observer for Tracer<W> {
    // Always, so that kinds of events which are not shown take no time: the kind is constant where the event is made.
    #[inline(always)]
    fn observe(&mut self, e: Event) {
        match e.kind {
            Kind::SwitchIn => {
                let (Some(time), Some(place)) = (self.time_of(&e), self.tasks.place(e.task)) else { return };
                if self.processor(e.cpu).is_some_and(|processor| processor.switch_in(time, place)) {
                    self.bundle(e.cpu);
                }
            }
            Kind::SwitchOut => {
                let Some(time) = self.time_of(&e) else { return };
                if let Some(processor) = self.processor(e.cpu) {
                    processor.switch_out(time, state(e.flag));
                }
            }
            Kind::Wakeup => {
                let (Some(time), Some(place)) = (self.time_of(&e), self.tasks.place(e.task)) else { return };
                let by = Waker::of(e.a);
                let on = if by == Waker::Unknown { e.cpu } else { CpuId::try_from(e.b).unwrap_or(CpuId::MAX) };
                let by_task = matches!(by, Waker::Task(_));
                if self.processor(on).is_some_and(|processor| processor.wakeup(time, place, e.cpu, by_task)) {
                    self.bundle(on);
                }
            }
            Kind::Interrupt => {
                if let Some(time) = self.time_of(&e) {
                    self.on_processor(e.cpu, instants::of_interrupt(e.a), time);
                }
            }
            Kind::Created | Kind::Exited | Kind::Mark | Kind::Signal | Kind::Period | Kind::Executed => self.rare(e),
            _ => {}
        }
    }

    #[inline(always)]
    fn observe_switch(&mut self, left: Event, next: Event) {
        let (Some(time), Some(place)) = (self.time_of(&next), self.tasks.place(next.task)) else {
            return self.observe(left);
        };
        if self.processor(next.cpu).is_some_and(|processor| processor.switch(time, place, state(left.flag))) {
            self.bundle(next.cpu);
        }
    }
}

/// The state in which a task left, by [`Leave`].
#[inline(always)]
fn state(left: u8) -> State {
    const PREEMPTION: u8 = Leave::Preempted as u8;
    const EXIT: u8 = Leave::Exited as u8;
    const BLOCK: u8 = Leave::Blocked as u8;
    match left {
        PREEMPTION => State::PREEMPTED,
        BLOCK => State::WAITING,
        EXIT => State::ENDED,
        _ => State::READY,
    }
}
