//! The records of a recording, one after the other, whether they come from a file, a pipe, or were compressed.

use super::{
    FORMAT,
    attr::{Attr, Attrs, SMALLEST},
    features::{self, Feature},
    unpack::Unpacker,
};
use crate::kernel::{
    Event, Head, Kind, Listener, Loss, Pid, ReadError, calls::Machine, decoder::Decoder, order::Order,
};
use std::collections::BTreeMap;

/// Bytes of a record's head: kind (u32), flags (u16), length (u16).
const HEAD: usize = 8;
/// In the flags of `PERF_RECORD_COMM`: because the task runs another program.
const COMM_EXEC: u16 = 1 << 13;
/// In the flags of `PERF_RECORD_LOST_SAMPLES`: left out by a filter (`PERF_RECORD_MISC_LOST_SAMPLES_BPF`).
const FILTERED: u16 = 1 << 15;

/// The tracepoint without which nothing is known.
const SWITCH: &str = "sched:sched_switch";

/// Kinds of records, as `include/uapi/linux/perf_event.h` and perf's `event.h` number them.
mod record {
    pub const LOST: u32 = 2;
    pub const COMM: u32 = 3;
    pub const EXIT: u32 = 4;
    pub const THROTTLE: u32 = 5;
    pub const FORK: u32 = 7;
    pub const SAMPLE: u32 = 9;
    pub const LOST_SAMPLES: u32 = 13;
    pub const ATTR: u32 = 64;
    pub const TRACING_DATA: u32 = 66;
    pub const FINISHED_ROUND: u32 = 68;
    pub const AUXTRACE: u32 = 71;
    pub const FEATURE: u32 = 80;
    pub const COMPRESSED: u32 = 81;
    pub const COMPRESSED2: u32 = 83;
}

/// What follows a record without being one.
pub(super) enum Behind {
    /// The descriptions of tracepoints, of that length.
    Descriptions(u32),
    /// What no reader needs.
    Nothing(u64),
}

/// What is known of a recording so far.
pub(super) struct Session {
    pub decoder: Decoder,
    pub attrs: Attrs,
    pub head: Head,
    order: Order,
    /// None while it is at work.
    unpacker: Option<Box<Unpacker>>,
    /// Whether `attrs` are settled, and the samples can be read.
    pub ready: bool,
    /// Whether forks, exits and other programs are recorded as tracepoints.
    forks: bool,
    exits: bool,
    execs: bool,
    /// Samples that no description fits.
    damaged: u64,
    /// Lost events that the kernel has reported in the buffers, and all that perf has counted when it ended.
    reported: u64,
    counted: u64,
    /// Events that a filter left out.
    filtered: u64,
    highest_cpu: Option<u16>,
}

fn wrong(why: impl Into<String>) -> ReadError {
    ReadError::Wrong { format: FORMAT, why: why.into() }
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn pid_at(bytes: &[u8], at: usize) -> Option<Pid> {
    Pid::try_from(u32_at(bytes, at)?).ok()
}

/// A processor's number as events have it.
fn processor(cpu: Option<u32>) -> u16 {
    cpu.and_then(|cpu| u16::try_from(cpu).ok()).unwrap_or(Event::ALL)
}

impl Session {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Session {
            decoder: Decoder::default(),
            attrs: Attrs::default(),
            head: Head::default(),
            order: Order::default(),
            unpacker: Some(Box::default()),
            ready: false,
            forks: false,
            exits: false,
            execs: false,
            damaged: 0,
            reported: 0,
            counted: 0,
            filtered: 0,
            highest_cpu: None,
        }
    }

    /// Reads all whole records of these bytes, or up to one that something else follows. Gives how many bytes these have, and what follows.
    pub fn records(
        &mut self,
        bytes: &[u8],
        listener: &mut impl Listener,
    ) -> Result<(usize, Option<Behind>), ReadError> {
        let mut at = 0;
        while let Some(head) = bytes[at..].first_chunk::<HEAD>() {
            let [k0, k1, k2, k3, f0, f1, l0, l1] = *head;
            let kind = u32::from_ne_bytes([k0, k1, k2, k3]);
            let length = usize::from(u16::from_ne_bytes([l0, l1]));
            if length < HEAD {
                return Err(wrong(format!("a record has a length of {length} bytes; its head alone has {HEAD}")));
            }
            let Some(record) = bytes[at..].get(..length) else { break };
            at += length;
            let body = &record[HEAD..];
            if kind == record::SAMPLE {
                self.sample(body)?;
            } else if kind == record::COMPRESSED {
                self.unpack(body, listener)?;
            } else if kind == record::COMPRESSED2 {
                let length = u64_at(body, 0).and_then(|length| usize::try_from(length).ok());
                let packed = length.and_then(|length| body.get(8..)?.get(..length));
                self.unpack(packed.ok_or_else(|| wrong("a compressed record is longer than its length"))?, listener)?;
            } else if let Some(behind) = self.other(kind, u16::from_ne_bytes([f0, f1]), body, listener)? {
                return Ok((at, Some(behind)));
            }
            if self.order.is_full() {
                self.decoder.report(listener);
                self.order.relieve(listener);
            }
        }
        Ok((at, None))
    }

    /// Reads records that were compressed. The last may end in the next piece.
    fn unpack(&mut self, packed: &[u8], listener: &mut impl Listener) -> Result<(), ReadError> {
        let Some(mut unpacker) = self.unpacker.take() else {
            return Err(wrong("a compressed record is within another"));
        };
        let read = unpacker.unpack(packed, |bytes| match self.records(bytes, listener)? {
            (used, None) => Ok(used),
            (_, Some(_)) => Err(wrong("a compressed record is of a kind that is never compressed")),
        });
        self.unpacker = Some(unpacker);
        read
    }

    /// Prepares for the first record that has to be interpreted.
    #[cold]
    fn prepare(&mut self) -> Result<(), ReadError> {
        self.attrs.settle().map_err(wrong)?;
        let tracepoints: Vec<&Attr> = self.attrs.iter().filter(|attr| attr.is_tracepoint()).collect();
        if tracepoints.iter().any(|attr| attr.sample.time.is_none()) {
            return Err(wrong("its samples have no times: record with perf record --timestamp, or perf sched record"));
        }
        if tracepoints.iter().any(|attr| !attr.sample.has_raw()) {
            let why = "its tracepoints were recorded without what they say (PERF_SAMPLE_RAW): record with perf record \
                       --raw-samples, or perf sched record";
            return Err(wrong(why));
        }
        if !tracepoints.is_empty() && self.decoder.is_empty() {
            let why = "it has tracepoints and no description of them. perf writes it last, so the recording was cut off, or \
                       perf was killed: nothing can be read. Written through a pipe (perf record -o - > FILE), the description comes first";
            return Err(wrong(why));
        }
        if let Some(option) = self.sampled().get(SWITCH) {
            let why = format!(
                "{SWITCH} was sampled (perf record {option}), so most switches are missing, and no times can be found: leave out {option}; \
                 perf records every event of a tracepoint then"
            );
            return Err(wrong(why));
        }
        self.forks = self.decoder.describes("sched:sched_process_fork");
        self.exits = self.decoder.describes("sched:sched_process_exit");
        self.execs = self.decoder.describes("sched:sched_process_exec");
        self.ready = true;
        Ok(())
    }

    /// The tracepoints of which perf recorded only some events, and its option that did so.
    fn sampled(&self) -> BTreeMap<String, String> {
        let sampled = self.attrs.iter().filter_map(Attr::sampled_tracepoint);
        sampled.filter_map(|(id, option)| Some((self.decoder.known(id)?.to_owned(), option))).collect()
    }

    #[inline]
    fn sample(&mut self, body: &[u8]) -> Result<(), ReadError> {
        if !self.ready {
            self.prepare()?;
        }
        let Some(attr) = self.attrs.of_sample(body) else {
            self.damaged += 1;
            return Ok(());
        };
        attr.samples += 1;
        if !attr.is_tracepoint() {
            return Ok(());
        }
        let fields = attr.sample.stamp(body).zip(attr.sample.record(body));
        let decoded = fields.and_then(|((time, cpu), raw)| {
            let cpu = processor(cpu);
            if Some(cpu) > self.highest_cpu && cpu != Event::ALL {
                self.highest_cpu = Some(cpu);
            }
            self.decoder.decode(time, cpu, raw, self.order.waiting()).ok()
        });
        self.damaged += u64::from(decoded.is_none());
        Ok(())
    }

    /// A record that is no sample.
    fn other(
        &mut self,
        kind: u32,
        flags: u16,
        body: &[u8],
        listener: &mut impl Listener,
    ) -> Result<Option<Behind>, ReadError> {
        let read = match kind {
            record::FINISHED_ROUND => {
                self.decoder.report(listener);
                self.order.round(listener);
                Some(())
            }
            record::LOST => u64_at(body, 8).map(|lost| {
                self.reported = self.reported.saturating_add(lost);
                self.lost(body, Some(lost), "the recorder was too slow");
            }),
            record::LOST_SAMPLES => u64_at(body, 0).map(|lost| self.lost_samples(flags, body, lost)),
            record::THROTTLE => {
                self.lost(body, None, "the kernel stopped recording, since there were too many events");
                Some(())
            }
            record::COMM => self.comm(flags, body),
            record::FORK => self.fork(body),
            record::EXIT => self.exit(body),
            record::ATTR => self.attr(body)?,
            record::FEATURE => u64_at(body, 0).map(|number| self.feature(number, body.get(8..).unwrap_or_default())),
            record::TRACING_DATA => return Ok(u32_at(body, 0).map(Behind::Descriptions)),
            record::AUXTRACE => return Ok(u64_at(body, 0).map(Behind::Nothing)),
            _ => Some(()),
        };
        self.damaged += u64::from(read.is_none());
        Ok(None)
    }

    /// A kind of event, in a recording through a pipe: the structure, then its ids.
    fn attr(&mut self, body: &[u8]) -> Result<Option<()>, ReadError> {
        let length = u32_at(body, 4).map_or(0, |length| length as usize);
        let (Some(structure), true) = (body.get(..length), length >= SMALLEST) else { return Ok(None) };
        let ids = body[length..].chunks_exact(8).filter_map(|id| Some(u64::from_ne_bytes(id.try_into().ok()?)));
        if let Some(attr) = Attr::parse(structure) {
            self.attrs.add(attr, ids).map_err(wrong)?;
            self.ready = false;
        }
        Ok(Some(()))
    }

    /// A task has had that name from the beginning.
    pub fn named(&mut self, task: Pid, name: &str) {
        self.decoder.named(0, task, name.as_bytes(), self.order.waiting());
    }

    /// Something that perf says of the machine or of itself.
    pub fn feature(&mut self, number: u64, content: &[u8]) {
        match features::read(number, content) {
            Some(Feature::Release(release)) => self.head.release = Some(release),
            Some(Feature::Machine(name)) => self.decoder.machine = Machine::named(&name),
            Some(Feature::Processors(count)) => self.head.processors = count,
            Some(Feature::Clock(clock)) => self.head.clock = Some(clock),
            None => {}
        }
    }

    fn event(&mut self, kind: Kind, time: u64, cpu: u16, task: Pid, other: Pid, value: u64) {
        self.order.waiting().push(Event { time, value, task, other, extra: 0, cpu, kind, bits: 0 });
    }

    /// When and where a record that is no sample was made; 0 if perf made it up when it began, or does not say.
    fn stamp(&self, body: &[u8]) -> (u64, Option<u16>) {
        let (time, cpu) = self.attrs.trailer(body).stamp(body);
        (if time == u64::MAX { 0 } else { time }, cpu.and_then(|cpu| u16::try_from(cpu).ok()))
    }

    fn lost(&mut self, body: &[u8], events: Option<u64>, why: &str) {
        let (time, cpu) = self.stamp(body);
        if events == Some(0) {
            return;
        }
        let time_known = (time != 0).then_some(time);
        self.head.lose(Loss { time: time_known, cpu, events, why: why.to_owned() });
        self.event(Kind::Lost, time, cpu.unwrap_or(Event::ALL), 0, Event::NO_TASK, events.unwrap_or(0));
    }

    /// The kernel writes such a record for samples that it had to discard, with their time. perf writes one for each event when it ends, without
    /// a time: the event's own count of what found no room (`PERF_FORMAT_LOST`, Linux 6.1). The buffer counts the same events, and the
    /// kernel reports them as `PERF_RECORD_LOST` once there is room again; those at the end are in perf's count alone.
    fn lost_samples(&mut self, flags: u16, body: &[u8], lost: u64) {
        if flags & FILTERED != 0 {
            self.filtered = self.filtered.saturating_add(lost);
        } else if self.stamp(body).0 == 0 {
            self.counted = self.counted.saturating_add(lost);
        } else {
            self.lost(body, Some(lost), "the kernel discarded them");
        }
    }

    /// Process (u32), thread (u32), name (text).
    fn comm(&mut self, flags: u16, body: &[u8]) -> Option<()> {
        let (process, task) = (pid_at(body, 0)?, pid_at(body, 4)?);
        let (time, _) = self.stamp(body);
        let name = body.get(8..body.len().checked_sub(self.attrs.trailer(body).length)?)?;
        self.event(Kind::Member, time, Event::ALL, task, process, 0);
        self.decoder.named(time, task, &name[..name.len().min(16)], self.order.waiting());
        if flags & COMM_EXEC != 0 && !self.execs {
            self.event(Kind::Exec, time, Event::ALL, task, task, 0);
        }
        Some(())
    }

    /// Process, its parent, thread, its maker (u32 each), time (u64).
    fn fork(&mut self, body: &[u8]) -> Option<()> {
        let (process, task, maker) = (pid_at(body, 0)?, pid_at(body, 8)?, pid_at(body, 12)?);
        let (time, cpu) = self.stamp(body);
        // One without a time was alive before the recording.
        if time != 0 && !self.forks {
            self.event(Kind::Fork, time, cpu.unwrap_or(Event::ALL), maker, task, 0);
        }
        self.event(Kind::Member, time, Event::ALL, task, process, 0);
        Some(())
    }

    /// As a fork.
    fn exit(&mut self, body: &[u8]) -> Option<()> {
        let task = pid_at(body, 8)?;
        let (time, cpu) = self.stamp(body);
        if time != 0 && !self.exits {
            self.event(Kind::Exit, time, cpu.unwrap_or(Event::ALL), task, task, 0);
        }
        Some(())
    }

    /// Ends: gives out what waits, and says what the recording was.
    pub fn finish(mut self, listener: &mut impl Listener) -> Result<Head, ReadError> {
        if !self.ready {
            self.prepare()?;
        }
        self.decoder.report(listener);
        self.order.finish(listener);
        for (name, option) in self.sampled() {
            let why = format!("{name} was sampled (perf record {option}), so most of them are missing");
            self.head.lose(Loss { time: None, cpu: None, events: None, why });
        }
        let mut head = self.head;
        for (count, why) in [
            (self.counted.saturating_sub(self.reported), "the recorder was too slow, and the file does not say when"),
            (self.filtered, "a filter of perf record left them out"),
            (self.damaged, "records do not fit their description"),
            (self.order.late(), "events came later in the file than their time allows"),
            (
                u64::from(self.unpacker.is_some_and(|unpacker| unpacker.is_within_record())),
                "what was compressed ends within a record",
            ),
        ] {
            if count > 0 {
                head.lose(Loss { time: None, cpu: None, events: Some(count), why: why.to_owned() });
            }
        }
        head.losses.sort_by_key(|loss| loss.time.unwrap_or(u64::MAX));
        head.format = FORMAT.to_owned();
        let clock = self.attrs.iter().find_map(|attr| attr.clock).map(features::clock);
        head.clock = head.clock.or(clock).or(Some(features::OWN_CLOCK.to_owned()));
        head.processors = head.processors.max(self.highest_cpu.map_or(0, |cpu| cpu.saturating_add(1)));
        head.span = self.order.span();
        head.recorded = self.decoder.recorded();
        for attr in self.attrs.iter().filter(|attr| !attr.is_tracepoint()) {
            head.recorded.entry(attr.name()).or_default().events += attr.samples;
        }
        Ok(head)
    }
}
