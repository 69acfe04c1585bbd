//! What perf was asked to record (`struct perf_event_attr`), and from it where the fields of its records are.

use std::collections::BTreeMap;

const IP: u64 = 1 << 0;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const ID: u64 = 1 << 6;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const STREAM_ID: u64 = 1 << 9;
const RAW: u64 = 1 << 10;
const IDENTIFIER: u64 = 1 << 16;
/// What comes before the fields of variable length in a sample, in this order. Each has 8 bytes.
const FIXED: [u64; 9] = [IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD];
/// What every other record ends with if `sample_id_all` is set, in this order. Each has 8 bytes.
const TRAILING: [u64; 6] = [TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER];

/// In `read_format`: the time that the event was enabled, the time that it was counted, its id, what was lost; several events.
const READ_TIMES: u64 = 0b11;
const READ_ID: u64 = 1 << 2;
const READ_GROUP: u64 = 1 << 3;
const READ_LOST: u64 = 1 << 4;

/// The first version of the structure has so many bytes.
pub(super) const SMALLEST: usize = 64;
/// The type of an event that is a tracepoint.
const TRACEPOINT: u32 = 2;
/// Flags, from the one bit field.
const FREQUENCY: u64 = 1 << 10;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const USE_CLOCKID: u64 = 1 << 25;

/// One kind of event that perf recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attr {
    kind: u32,
    config: u64,
    /// One sample for that many events; or, by frequency, that many samples a second.
    period: u64,
    by_frequency: bool,
    /// The clock's number, as for `clock_gettime(2)`; none for perf's own.
    pub clock: Option<i32>,
    /// Where the fields of a sample are, counted from the end of its head.
    pub sample: Sample,
    /// Where the fields at the end of other records are.
    pub trailer: Trailer,
    /// Samples that were read.
    pub samples: u64,
}

/// Where the fields of a sample are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sample {
    id: Option<usize>,
    identified: bool,
    /// Its time.
    pub time: Option<usize>,
    /// Its processor.
    pub cpu: Option<usize>,
    variable: usize,
    read: Option<u64>,
    callchain: bool,
    raw: bool,
}

/// Where the fields at the end of a record are, counted back from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Trailer {
    /// Bytes of all of them.
    pub length: usize,
    time: Option<usize>,
    cpu: Option<usize>,
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

impl Attr {
    /// Reads the structure; none if it is too short.
    pub fn parse(bytes: &[u8]) -> Option<Attr> {
        let (kind, config) = (u32_at(bytes, 0)?, u64_at(bytes, 8)?);
        let (sampled, read, flags) = (u64_at(bytes, 24)?, u64_at(bytes, 32)?, u64_at(bytes, 40)?);
        let clock = (flags & USE_CLOCKID != 0).then(|| u32_at(bytes, 92).map(|clock| clock as i32)).flatten();
        let trailer = if flags & SAMPLE_ID_ALL != 0 { Trailer::of(sampled) } else { Trailer::default() };
        let (period, by_frequency) = (u64_at(bytes, 16)?, flags & FREQUENCY != 0);
        let sample = Sample::of(sampled, read);
        Some(Attr { kind, config, period, by_frequency, clock, sample, trailer, samples: 0 })
    }

    /// Whether it is a tracepoint, which describes itself.
    pub fn is_tracepoint(&self) -> bool {
        self.kind == TRACEPOINT
    }

    /// The number of a tracepoint, of which only some events were recorded, and the option of perf that does so. perf records every event of a
    /// tracepoint unless it is asked for a frequency or a period.
    pub fn sampled_tracepoint(&self) -> Option<(u64, String)> {
        let option = if self.by_frequency { "-F" } else { "-c" };
        let sampled = self.is_tracepoint() && (self.by_frequency || self.period > 1);
        sampled.then(|| (self.config, format!("{option} {}", self.period)))
    }

    /// A name for an event that is no tracepoint.
    pub fn name(&self) -> String {
        let kind = match self.kind {
            0 => "hardware",
            1 => "software",
            3 => "cache",
            4 => "raw",
            5 => "breakpoint",
            _ => return format!("type {}: {:#x}", self.kind, self.config),
        };
        format!("{kind}:{:#x}", self.config)
    }
}

impl Sample {
    fn of(sampled: u64, read: u64) -> Sample {
        let place = |field: u64| {
            let before = FIXED.iter().take_while(|&&other| other != field).filter(|&&other| sampled & other != 0);
            (sampled & field != 0).then(|| 8 * before.count())
        };
        Sample {
            id: place(IDENTIFIER).or_else(|| place(ID)),
            identified: sampled & IDENTIFIER != 0,
            time: place(TIME),
            cpu: place(CPU),
            variable: 8 * FIXED.iter().filter(|&&field| sampled & field != 0).count(),
            read: (sampled & READ != 0).then_some(read),
            callchain: sampled & CALLCHAIN != 0,
            raw: sampled & RAW != 0,
        }
    }

    /// Whether samples carry the kernel's record.
    pub fn has_raw(&self) -> bool {
        self.raw
    }

    /// The time and processor of a sample, 0 and none if it has none.
    #[inline]
    pub fn stamp(&self, body: &[u8]) -> Option<(u64, Option<u32>)> {
        let time = self.time.map_or(Some(0), |at| u64_at(body, at))?;
        let cpu = match self.cpu {
            Some(at) => Some(u32_at(body, at)?),
            None => None,
        };
        Some((time, cpu))
    }

    /// The kernel's record in a sample.
    #[inline]
    pub fn record<'a>(&self, body: &'a [u8]) -> Option<&'a [u8]> {
        let mut at = self.variable;
        if let Some(read) = self.read {
            at = at.checked_add(read_length(read, body.get(at..)?)?)?;
        }
        if self.callchain {
            let entries = usize::try_from(u64_at(body, at)?).ok()?;
            at = at.checked_add(entries.checked_mul(8)?.checked_add(8)?)?;
        }
        let length = u32_at(body, at)? as usize;
        body.get(at + 4..)?.get(..length)
    }
}

/// Bytes of the counters in a sample.
fn read_length(format: u64, bytes: &[u8]) -> Option<usize> {
    let times = (format & READ_TIMES).count_ones() as usize;
    let each = 1 + (format & (READ_ID | READ_LOST)).count_ones() as usize;
    let words = if format & READ_GROUP != 0 {
        let events = usize::try_from(u64_at(bytes, 0)?).ok()?;
        events.checked_mul(each)?.checked_add(1 + times)?
    } else {
        each + times
    };
    words.checked_mul(8)
}

impl Trailer {
    fn of(sampled: u64) -> Trailer {
        let place = |field: u64| {
            let from = TRAILING.iter().skip_while(|&&other| other != field).filter(|&&other| sampled & other != 0);
            (sampled & field != 0).then(|| 8 * from.count())
        };
        let length = 8 * TRAILING.iter().filter(|&&field| sampled & field != 0).count();
        Trailer { length, time: place(TIME), cpu: place(CPU) }
    }

    /// The time and processor of a record, 0 and none if it has none.
    pub fn stamp(&self, body: &[u8]) -> (u64, Option<u32>) {
        let back = |place: Option<usize>| body.len().checked_sub(place?);
        let time = back(self.time).and_then(|at| u64_at(body, at)).unwrap_or(0);
        (time, back(self.cpu).and_then(|at| u32_at(body, at)))
    }
}

/// All kinds of events of a file, and which of them a record is of.
#[derive(Debug, Default)]
pub(super) struct Attrs {
    all: Vec<Attr>,
    /// Index by id, in order of id.
    ids: BTreeMap<u64, u16>,
    /// Index by how much an id is above the least, where they are close together, as they are.
    near: Vec<u16>,
    least: u64,
    /// Where a sample's id is; none if all samples are read in the same way.
    id: Option<usize>,
    /// Whether other records end with an id.
    identified: bool,
}

/// Kinds of events of a file. perf opens a file for each and processor.
const MOST: usize = 1 << 15;
/// Ids of a file: every tracepoint on every processor.
const MOST_IDS: usize = 1 << 22;
/// No kind of event.
const NONE: u16 = u16::MAX;

impl Attrs {
    /// Takes a kind of event and its ids.
    pub fn add(&mut self, attr: Attr, ids: impl Iterator<Item = u64>) -> Result<(), String> {
        let index = self.all.len();
        if index == MOST || self.ids.len() >= MOST_IDS {
            return Err(format!("it has more than {MOST} kinds of events or {MOST_IDS} ids"));
        }
        self.all.push(attr);
        self.ids.extend(ids.take(MOST_IDS).map(|id| (id, index as u16)));
        self.near.clear();
        Ok(())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Attr> {
        self.all.iter()
    }

    /// Decides how a record's kind is found, once all are known. Fails if it could not be.
    pub fn settle(&mut self) -> Result<(), String> {
        let Some(first) = self.all.first() else { return Ok(()) };
        let sample = first.sample;
        self.identified = self.all.iter().all(|attr| attr.sample.identified);
        let alike = self.all.iter().all(|attr| attr.sample == sample && attr.is_tracepoint());
        self.id = if alike { None } else { sample.id };
        if !alike
            && self.all.iter().any(|attr| attr.sample.id != sample.id || sample.id.is_none() && self.all.len() > 1)
        {
            return Err("its kinds of events have different samples, and no ids to tell them apart".to_owned());
        }
        self.near.clear();
        if let (Some((&least, _)), Some((&most, _))) = (self.ids.first_key_value(), self.ids.last_key_value())
            && most - least < MOST_IDS as u64
        {
            self.near = vec![NONE; (most - least) as usize + 1];
            self.least = least;
            self.ids.iter().for_each(|(id, &index)| self.near[(id - least) as usize] = index);
        }
        Ok(())
    }

    /// The kind of a sample.
    #[inline]
    pub fn of_sample(&mut self, body: &[u8]) -> Option<&mut Attr> {
        let Some(at) = self.id else { return self.all.first_mut() };
        if self.all.len() == 1 {
            return self.all.first_mut();
        }
        let index = self.index(u64_at(body, at)?)?;
        self.all.get_mut(index)
    }

    #[inline]
    fn index(&self, id: u64) -> Option<usize> {
        if self.near.is_empty() {
            return self.ids.get(&id).map(|&index| index.into());
        }
        let index = self.near.get(usize::try_from(id.checked_sub(self.least)?).ok()?)?;
        (*index != NONE).then_some((*index).into())
    }

    /// What is at the end of a record that is no sample. Those that perf made up itself have no id and look like those of the first kind.
    pub fn trailer(&self, body: &[u8]) -> Trailer {
        let id = if self.identified { body.len().checked_sub(8).and_then(|at| u64_at(body, at)) } else { None };
        let index = id.and_then(|id| self.index(id)).unwrap_or(0);
        self.all.get(index).map(|attr| attr.trailer).unwrap_or_default()
    }
}
