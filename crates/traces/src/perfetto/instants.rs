//! Marks, signals, missed periods and ends on the tracks of tasks, and interrupts on those of processors: packets of one form,
//! written straight into the block of the trace.

use super::{
    FIRST_CPU, FLAGS, OURS, PACKET, SEQUENCE, TIMESTAMP, TRACK_DESCRIPTOR, TRACK_EVENT, Tracer, tid,
    wire::{Message, length, put, word},
};
use crate::{Names, blocks::Word};
use schedlab_model::{
    Nanos,
    event::{Event, Irq, Kind},
    task::{CpuId, TaskId},
};
use std::io::Write;

/// Names of instants, by the number that a trace has for them; the names of marks come after.
const INSTANTS: [&str; 10] = [
    "signal sent",
    "signal handled",
    "deadline missed",
    "clock",
    "timer",
    "disk",
    "interrupt",
    "ended",
    "program executed",
    "mark",
];
const SIGNAL_SENT: u64 = 1;
const SIGNAL_HANDLED: u64 = 2;
const MISSED: u64 = 3;
const CLOCK: u64 = 4;
const TIMER: u64 = 5;
const DISK: u64 = 6;
const OTHER: u64 = 7;
const END: u64 = 8;
const EXECUTED: u64 = 9;
const MARK: u64 = 10;

/// The names of all instants that a trace may have, from number 1 on.
pub fn names(of: &Names) -> Vec<String> {
    INSTANTS.into_iter().map(str::to_owned).chain(of.marks.iter().cloned()).collect()
}

/// The name of an interrupt of that line.
#[inline(always)]
pub fn of_interrupt(line: u64) -> u64 {
    const CLOCK_LINE: u64 = Irq::Clock as u64;
    const TIMER_LINE: u64 = Irq::Timer as u64;
    const DISK_LINE: u64 = Irq::Disk as u64;
    match line {
        CLOCK_LINE => CLOCK,
        TIMER_LINE => TIMER,
        DISK_LINE => DISK,
        _ => OTHER,
    }
}

impl<W: Write> Tracer<W> {
    /// What happens at most a few times in the life of a task, and what programs ask for.
    #[inline(never)]
    pub(super) fn rare(&mut self, e: Event) {
        let Some(time) = self.time_of(&e) else { return };
        match e.kind {
            Kind::Created => self.create(Event { time, ..e }),
            Kind::Exited => self.on_task(e.task, END, time),
            Kind::Mark => {
                let known = usize::try_from(e.a).is_ok_and(|mark| mark < self.tasks.names.marks.len());
                self.on_task(e.task, if known { MARK + 1 + e.a } else { MARK }, time);
            }
            Kind::Executed => self.on_task(e.task, EXECUTED, time),
            Kind::Signal if e.flag == 0 => self.on_task(e.task, SIGNAL_SENT, time),
            Kind::Signal => self.on_task(e.task, SIGNAL_HANDLED, time),
            Kind::Period if e.flag == 0 => self.on_task(e.task, MISSED, time),
            _ => {}
        }
    }

    fn on_task(&mut self, task: TaskId, name: u64, time: Nanos) {
        let Some(place) = self.tasks.place(task) else { return };
        let (number, found) = (tid(task), self.tasks.at(place));
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

    #[inline(never)]
    pub(super) fn on_processor(&mut self, cpu: CpuId, name: u64, time: Nanos) {
        let Some(described) = self.interrupted.get_mut(usize::from(cpu)) else { return };
        let track = FIRST_CPU + u64::from(cpu);
        if !std::mem::replace(described, true) {
            self.track(track, |of| of.bytes(2, format!("interrupts of cpu {cpu}").as_bytes()));
        }
        self.show(track, name, time);
    }

    /// Describes a track; written with its first instant.
    #[cold]
    #[inline(never)]
    fn track(&mut self, identity: u64, describe: impl FnOnce(&mut Vec<u8>)) {
        self.packet(|packet| {
            packet.number(SEQUENCE, OURS);
            packet.message(TRACK_DESCRIPTOR, |of| {
                of.number(1, identity);
                describe(of);
            });
        });
    }

    #[inline(always)]
    fn show(&mut self, track: u64, name: u64, time: Nanos) {
        const NEEDS_STATE: u8 = 2;
        const INSTANT: u8 = 3;
        const NUMBER: u32 = 0;
        const LENGTH: u32 = 2;
        const fn tag(field: u32, wire: u32) -> u8 {
            (field << 3 | wire) as u8
        }
        let passed = time - std::mem::replace(&mut self.instant, time);
        let [name, track] = [word(name), word(track)];
        let (passed_long, event) = (length(passed), 4 + name.width + track.width);
        let head = [
            tag(PACKET, LENGTH),
            (7 + event + passed_long) as u8,
            tag(SEQUENCE, NUMBER),
            OURS as u8,
            tag(FLAGS, NUMBER),
            NEEDS_STATE,
            tag(TRACK_EVENT, LENGTH),
            event as u8,
        ];
        let kind = [tag(9, NUMBER), INSTANT, tag(10, NUMBER), 0, 0, 0, 0, 0];
        self.out.fill(64, |packet| {
            packet.put(Word { bits: u64::from_le_bytes(head), width: 8 });
            packet.put(Word { bits: u64::from_le_bytes(kind), width: 3 });
            packet.put(name);
            packet.put(Word { bits: tag(11, NUMBER).into(), width: 1 });
            packet.put(track);
            packet.put(Word { bits: tag(TIMESTAMP, NUMBER).into(), width: 1 });
            put(packet, passed);
        });
    }
}
