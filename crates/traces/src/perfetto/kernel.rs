//! A recording of a kernel as a Perfetto trace: each event as Perfetto records those of ftrace, in bundles by processor
//! (`ftrace_event_bundle.proto`), packed with deflate. The numbers of fields are those of `protos/perfetto/trace/ftrace`.
//!
//! Each switch names both tasks, so that a switch which the recording lacks is lacking here, too. Times are those of the recording, as time
//! since boot, whatever its clock. Left out is what Perfetto has no event for: run time charged (`sched_stat_runtime`), page faults,
//! interrupts of a processor's own other than that of its timer (x86), and policies of tasks. A task that leaves its processor while it can run is shown
//! as preempted: recordings here do not distinguish one that yields.
//!
//! Long, because each kind of event says what its fields are.

use super::wire::Message;
use crate::kernel::{Context, Event, Kind, Left, Listener, Pid};
use flate2::{Compress, Compression, FlushCompress};
use hashbrown::HashSet;
use std::io::{self, Write};

/// Bytes of events that are gathered before they are written.
const FULL: usize = 1 << 20;
/// The largest number that a kernel gives to a task.
const MOST_PID: Pid = 1 << 22;
/// High-resolution timers that are remembered as such.
const MOST_TIMERS: usize = 1 << 20;
/// The vector of the processor's own timer on x86 (`LOCAL_TIMER_VECTOR`).
const LOCAL_TIMER: u64 = 0xec;
/// The software interrupt in which timers of the wheel expire (`TIMER_SOFTIRQ`).
const TIMER_SOFTIRQ: u64 = 1;

/// The field of a trace, and those of a packet.
const PACKET: u32 = 1;
const FTRACE_EVENTS: u32 = 1;
const PROCESS_TREE: u32 = 2;
const TIMESTAMP: u32 = 8;
const COMPRESSED: u32 = 50;

/// Writes the events of a reader as a trace.
#[derive(Debug)]
pub struct Recorded<W: Write> {
    file: File<W>,
    known: Known,
    high: HashSet<u64>,
    /// A timer that was started, until it is known whether its expiry follows.
    started: Option<Event>,
    now: u64,
}

/// The trace, and the events of each processor that are not written yet.
#[derive(Debug)]
struct File<W: Write> {
    out: W,
    error: Option<io::Error>,
    /// By processor.
    bundles: Vec<Bundle>,
    /// Bytes of their events together.
    filled: usize,
    packer: Compress,
}

/// Events of a processor.
#[derive(Debug, Default)]
struct Bundle {
    events: Vec<u8>,
    /// Whether events are missing before them.
    lost: bool,
    /// The software interrupt in which the processor is.
    softirq: Option<u64>,
}

impl Bundle {
    /// Moves the events of a processor into a packet behind others, if there are any.
    fn take(&mut self, cpu: usize, packets: &mut Vec<u8>) {
        if self.events.is_empty() && !self.lost {
            return;
        }
        packets.message(PACKET, |packet| {
            packet.message(FTRACE_EVENTS, |bundle| {
                bundle.number(1, cpu as u64);
                if self.lost {
                    bundle.number(3, 1);
                }
                bundle.extend_from_slice(&self.events);
            });
        });
        self.events.clear();
        self.lost = false;
    }
}

impl<W: Write> File<W> {
    fn bundle(&mut self, cpu: u16) -> &mut Bundle {
        let cpu = usize::from(cpu);
        if cpu >= self.bundles.len() {
            self.bundles.resize_with(cpu + 1, Bundle::default);
        }
        &mut self.bundles[cpu]
    }

    /// Adds an event to its processor's bundle: time (1), current task (2), context (5), and a message of its own.
    #[inline]
    fn add(&mut self, event: &Event, current: Pid, field: u32, write: impl FnOnce(&mut Vec<u8>)) {
        let bundle = self.bundle(event.cpu);
        let before = bundle.events.len();
        bundle.events.message(2, |it| {
            it.number(1, event.time);
            if let Ok(current) = u64::try_from(current) {
                it.number(2, current);
            }
            if let Some(flags) = flags(event.context()) {
                it.number(5, flags);
            }
            it.message(field, write);
        });
        self.filled += bundle.events.len() - before;
        if self.filled >= FULL {
            self.write();
        }
    }

    /// Adds an event that is one number.
    fn valued(&mut self, event: &Event, field: u32) {
        self.add(event, event.other, field, |message| message.number(1, event.value));
    }

    /// Writes the bundles of all processors. All at once: a reader puts them in order, and needs memory for what is not.
    fn write(&mut self) {
        let mut packets = Vec::with_capacity(self.filled + 64 * self.bundles.len());
        for (cpu, bundle) in self.bundles.iter_mut().enumerate() {
            bundle.take(cpu, &mut packets);
        }
        self.filled = 0;
        self.put(&packets);
    }

    /// Events of a processor are missing before the next one.
    fn lose(&mut self, cpu: u16) {
        let mut packets = Vec::new();
        let bundle = self.bundle(cpu);
        let events = bundle.events.len();
        bundle.take(cpu.into(), &mut packets);
        bundle.lost = true;
        self.filled -= events;
        self.put(&packets);
    }

    /// Writes packets, packed into one.
    fn put(&mut self, packets: &[u8]) {
        if self.error.is_some() || packets.is_empty() {
            return;
        }
        self.packer.reset();
        // Deflate may lengthen what it cannot shorten, by a little for each of its blocks.
        let mut packed = Vec::with_capacity(packets.len() + packets.len() / 64 + 1024);
        let done = self.packer.compress_vec(packets, &mut packed, FlushCompress::Finish);
        debug_assert!(matches!(done, Ok(flate2::Status::StreamEnd)), "there is room for all of it");
        let mut outer = Vec::with_capacity(packed.len() + 32);
        outer.message(PACKET, |packet| packet.bytes(COMPRESSED, &packed));
        self.error = self.out.write_all(&outer).err();
    }
}

/// Names and processes of tasks.
#[derive(Debug, Default)]
struct Known {
    names: Vec<Box<str>>,
    /// By task: the number of its name + 1, 0 if it has none, and its process, 0 if not known.
    tasks: Vec<(u32, Pid)>,
}

impl Known {
    fn task(&mut self, pid: Pid) -> Option<&mut (u32, Pid)> {
        let place = usize::try_from(pid).ok().filter(|_| pid <= MOST_PID)?;
        if place >= self.tasks.len() {
            self.tasks.resize(place + 1, (0, 0));
        }
        Some(&mut self.tasks[place])
    }

    /// A name by its number + 1.
    fn text(&self, name: u32) -> &[u8] {
        name.checked_sub(1).and_then(|name| self.names.get(name as usize)).map_or(b"", |name| name.as_bytes())
    }

    #[inline]
    fn comm(&self, pid: Pid) -> &[u8] {
        self.text(usize::try_from(pid).ok().and_then(|pid| self.tasks.get(pid)).map_or(0, |task| task.0))
    }

    /// Processes (1) with number (1) and name (3), and threads (2) with number (1), name (2) and process (3).
    fn process_tree(&self, tree: &mut Vec<u8>) {
        for (pid, &(name, process)) in self.tasks.iter().enumerate().skip(1) {
            if (name, process) == (0, 0) {
                continue;
            }
            let name = self.text(name);
            if process as usize == pid {
                tree.message(1, |entry| {
                    entry.number(1, pid as u64);
                    entry.bytes(3, name);
                });
            }
            tree.message(2, |thread| {
                thread.number(1, pid as u64);
                thread.bytes(2, name);
                if process > 0 {
                    thread.number(3, process as u64);
                }
            });
        }
    }
}

impl<W: Write> Recorded<W> {
    /// Begins a trace.
    pub fn new(out: W) -> Self {
        let packer = Compress::new(Compression::fast(), true);
        Recorded {
            file: File { out, error: None, bundles: Vec::new(), filled: 0, packer },
            known: Known::default(),
            high: HashSet::new(),
            started: None,
            now: 0,
        }
    }

    /// Ends the trace with the names and processes of all tasks, and gives `out` back.
    ///
    /// # Errors
    /// The first one met while writing.
    pub fn finish(mut self) -> io::Result<W> {
        self.start_timer(None);
        self.file.write();
        let mut packet = Vec::new();
        packet.message(PACKET, |packet| {
            packet.number(TIMESTAMP, self.now);
            packet.message(PROCESS_TREE, |tree| self.known.process_tree(tree));
        });
        self.file.put(&packet);
        match self.file.error {
            Some(error) => Err(error),
            None => self.file.out.flush().map(|()| self.file.out),
        }
    }

    /// A task has another name; that is an event, unless it is the first that is known of it.
    fn named(&mut self, event: &Event) {
        let number = u32::try_from(event.value).map_or(0, |name| name + 1);
        let Some(task) = self.known.task(event.task) else { return };
        let before = std::mem::replace(&mut task.0, number);
        if before != 0 && before != number && event.cpu != Event::ALL {
            let known = &self.known;
            self.file.add(event, event.task, 236, |message| {
                message.number(1, self::number(event.task));
                message.bytes(2, known.text(before));
                message.bytes(3, known.text(number));
            });
        }
    }

    fn switch(&mut self, event: &Event) {
        let known = &self.known;
        self.file.add(event, event.task, 4, |message| {
            message.bytes(1, known.comm(event.task));
            message.number(2, number(event.task));
            message.number(3, event.value >> 32);
            message.number(4, state(event.left()));
            message.bytes(5, known.comm(event.other));
            message.number(6, number(event.other));
            message.number(7, event.value & 0xffff_ffff);
        });
    }

    fn woken(&mut self, event: &Event, field: u32) {
        let known = &self.known;
        self.file.add(event, event.other, field, |message| {
            message.bytes(1, known.comm(event.task));
            message.number(2, number(event.task));
            message.number(3, event.value >> 32);
            message.number(4, 1);
            message.number(5, event.value & 0xffff_ffff);
        });
    }

    fn migrate(&mut self, event: &Event) {
        let known = &self.known;
        self.file.add(event, event.other, 491, |message| {
            message.bytes(1, known.comm(event.task));
            message.number(2, number(event.task));
            message.number(4, event.value >> 32);
            message.number(5, event.value & 0xffff_ffff);
        });
    }

    fn fork(&mut self, event: &Event) {
        let known = &self.known;
        self.file.add(event, event.task, 239, |message| {
            message.bytes(1, known.comm(event.task));
            message.number(2, number(event.task));
            message.bytes(3, known.comm(event.other));
            message.number(4, number(event.other));
        });
    }

    fn exit(&mut self, event: &Event) {
        let known = &self.known;
        self.file.add(event, event.other, 238, |message| {
            message.bytes(1, known.comm(event.task));
            message.number(2, number(event.task));
        });
    }

    /// Drive (1), sector (2), sectors (3), bytes where it begins (4), letters (5).
    fn block(&mut self, event: &Event, field: u32) {
        let letters: &[u8] = match event.flag() {
            0 => b"R",
            1 => b"W",
            _ => b"N",
        };
        self.file.add(event, event.other, field, |message| {
            message.number(1, u64::from(event.task as u32));
            message.number(2, event.value);
            message.number(3, u64::from(event.extra.div_ceil(512)));
            if event.kind == Kind::BlockIssue {
                message.number(4, event.extra.into());
            }
            message.bytes(5, letters);
        });
    }

    fn interrupt(&mut self, event: &Event) {
        self.file.add(event, event.other, 36, |message| {
            message.number(1, event.value);
            message.bytes(2, event.value.to_string().as_bytes());
        });
    }

    /// A timer that was started before this event: with an expiry it is a high-resolution one.
    fn start_timer(&mut self, next: Option<&Event>) {
        let Some(start) = self.started.take() else { return };
        match next.filter(|next| next.kind == Kind::TimerExpiry) {
            Some(expiry) => {
                if self.high.len() < MOST_TIMERS {
                    self.high.insert(start.value);
                }
                self.file.add(&start, start.other, 551, |message| {
                    message.number(1, start.value);
                    message.number(3, expiry.value);
                    message.number(5, expiry.flag().into());
                });
            }
            None => self.file.valued(&start, 555),
        }
    }

    /// An event of a timer, by the fields of the two kinds of them.
    fn timer(&mut self, event: &Event, [high, low]: [u32; 2]) {
        let of_the_wheel = self.file.bundle(event.cpu).softirq == Some(TIMER_SOFTIRQ);
        let is_high = !of_the_wheel || self.high.contains(&event.value);
        self.file.valued(event, if is_high { high } else { low });
    }

    fn softirq(&mut self, event: &Event) {
        let begins = event.kind == Kind::SoftirqEntry;
        self.file.bundle(event.cpu).softirq = begins.then_some(event.value);
        self.file.valued(event, if begins { 24 } else { 25 });
    }

    fn work(&mut self, event: &Event) {
        self.file.add(event, event.other, 58, |message| {
            message.number(1, event.value);
            message.number(2, event.value);
        });
    }

    fn exec(&mut self, event: &Event) {
        self.file.add(event, event.other, 237, |message| message.number(2, number(event.task)));
    }
}

impl<W: Write> Listener for Recorded<W> {
    fn event(&mut self, event: &Event) {
        self.start_timer(Some(event));
        self.now = self.now.max(event.time);
        // What perf tells of tasks in records of its own is on no processor.
        if event.cpu == Event::ALL && !matches!(event.kind, Kind::Named | Kind::Member | Kind::Lost) {
            return;
        }
        match event.kind {
            Kind::Switch => self.switch(event),
            Kind::Waking => self.woken(event, 20),
            Kind::Woken => self.woken(event, 17),
            Kind::New => self.woken(event, 114),
            Kind::Migrate => self.migrate(event),
            Kind::Fork => self.fork(event),
            Kind::Exec => self.exec(event),
            Kind::Exit => self.exit(event),
            Kind::Wait => self.file.add(event, event.other, 242, |message| message.number(2, event.value)),
            Kind::IrqEntry => self.interrupt(event),
            Kind::IrqExit => self.file.valued(event, 37),
            Kind::VectorEntry if event.value == LOCAL_TIMER => self.file.valued(event, 559),
            Kind::VectorExit if event.value == LOCAL_TIMER => self.file.valued(event, 560),
            Kind::SoftirqEntry | Kind::SoftirqExit => self.softirq(event),
            Kind::TimerStart => self.started = Some(*event),
            Kind::TimerExpire => self.timer(event, [553, 557]),
            Kind::TimerDone => self.timer(event, [554, 558]),
            Kind::TimerCancel => self.timer(event, [552, 556]),
            Kind::WorkBegin => self.work(event),
            Kind::WorkEnd => self.file.valued(event, 57),
            Kind::BlockIssue => self.block(event, 45),
            Kind::BlockComplete => self.block(event, 125),
            // Such a trace has numbers alone, and those of x86-64 where it does not name the machine.
            Kind::SyscallEnter if event.call_by_number() != event.call() => {}
            Kind::SyscallEnter => self.file.valued(event, 329),
            Kind::SyscallExit => self.file.valued(event, 330),
            Kind::Named => self.named(event),
            Kind::Member => {
                if let Some(task) = self.known.task(event.task) {
                    task.1 = event.other;
                }
            }
            // Where the processor is not known, the viewer has the loss at the first one.
            Kind::Lost => self.file.lose(if event.cpu == Event::ALL { 0 } else { event.cpu }),
            Kind::Runtime | Kind::TimerExpiry | Kind::VectorEntry | Kind::VectorExit | Kind::Fault | Kind::Treated => {}
        }
    }

    fn name(&mut self, number: u64, name: &str) {
        if number == self.known.names.len() as u64 {
            self.known.names.push(name.into());
        }
    }
}

/// The kernel's flags of a context (`trace_flag_type`); none if it is not known.
fn flags(context: Context) -> Option<u64> {
    match context {
        Context::Task => Some(0),
        Context::SoftInterrupt => Some(0x10),
        Context::HardInterrupt => Some(0x08),
        Context::Unknown => None,
    }
}

/// A state as Linux before 4.14 numbers them, which viewers assume where a trace names no kernel.
fn state(left: Left) -> u64 {
    match left {
        Left::Runnable => 0x800,
        Left::Sleeping => 1,
        Left::Uninterruptible => 2,
        Left::Stopped => 4,
        Left::Dead => 0x10,
    }
}

/// The number of a task in a message, where there is always one.
fn number(pid: Pid) -> u64 {
    u64::try_from(pid).unwrap_or(0)
}
