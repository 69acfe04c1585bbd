//! Drives: their requests from the issue to the completion, as the kernel records both.
//!
//!   busy        time in which a request was in flight, as `disk_busy` of experiments
//!   in flight   requests between issue and completion, mean over the whole time
//!   service     from the issue of a request to its completion; where a completion is recorded in parts, to the first one
//!   sequential  issues whose first sector is the one behind the last of the issue before
//!
//! A completion names no issue but its drive and first sector. One whose issue was before the recording, or was lost, has no time. An issue
//! without a completion is in flight until the end, or until events are lost: from then on nothing is known of it.

use crate::{
    distribution::Distribution,
    queues::within,
    rows::{Spread, seconds},
};
use schedlab_traces::kernel::{Event, Kind};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Bytes of a sector.
const SECTOR: u64 = 512;
/// Requests that may be in flight at once. A drive has some thousand at most; a recording without completions has all of its issues.
const MOST: usize = 1 << 16;
/// Drives of which something is kept; no computer has more.
const DRIVES: usize = 1 << 12;

/// Requests of one kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Requests {
    /// That were completed.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// From issue to completion, of those of which both are known.
    pub service_us: Spread,
}

/// A drive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drive {
    /// Its major and minor number, as in "8,0".
    pub drive: String,
    /// Share of the time in which a request was in flight.
    pub busy_pct: f64,
    /// Requests in flight, mean over the whole time.
    pub in_flight: f64,
    /// Share of the issues that go on where the one before ended; none if none had one before.
    pub sequential_pct: Option<f64>,
    /// Reads.
    pub read: Requests,
    /// Writes.
    pub write: Requests,
    /// Discards, flushes and commands.
    pub other: Requests,
    /// Completions of which no issue is known.
    pub without_issue: u64,
    /// Issues of which no completion is known.
    pub without_completion: u64,
}

#[derive(Debug, Default)]
struct Kept {
    requests: u64,
    bytes: u64,
    service: Distribution,
}

/// What is kept of a drive.
#[derive(Debug, Default)]
struct Seen {
    /// When each request in flight was issued, by its first sector.
    issued: HashMap<u64, u64>,
    since: u64,
    busy: u64,
    /// Requests in flight, times ns.
    queued: u128,
    kinds: [Kept; 3],
    /// Issues that had one before them, and those of them that went on where that ended.
    followed: u64,
    sequential: u64,
    /// The sector behind the last issue, once there was one; none behind one without sectors.
    end: Option<Option<u64>>,
    without_issue: u64,
    replaced: u64,
}

impl Seen {
    /// Counts the time since the last event.
    fn advance(&mut self, now: u64, window: (u64, u64)) {
        let time = within(window, self.since, now);
        self.busy += if self.issued.is_empty() { 0 } else { time };
        self.queued += self.issued.len() as u128 * u128::from(time);
        self.since = now;
    }

    fn issue(&mut self, event: &Event, counts: bool) {
        let sectors = u64::from(event.extra) / SECTOR;
        if let Some(end) = self.end.filter(|_| counts) {
            self.followed += 1;
            self.sequential += u64::from(end == Some(event.value) && sectors > 0);
        }
        self.end = Some(Some(event.value.wrapping_add(sectors)).filter(|_| sectors > 0));
        let full = self.issued.len() >= MOST && !self.issued.contains_key(&event.value);
        if full || self.issued.insert(event.value, event.time).is_some() {
            self.replaced += 1;
        }
    }

    /// Events were lost: whether what was in flight still is is not known.
    fn lose(&mut self, now: u64, window: (u64, u64)) {
        self.advance(now, window);
        self.replaced += self.issued.len() as u64;
        self.issued.clear();
    }

    fn complete(&mut self, event: &Event, counts: bool) {
        let issued = self.issued.remove(&event.value);
        if !counts {
            return;
        }
        let kind = &mut self.kinds[usize::from(event.flag()).min(2)];
        kind.requests += 1;
        kind.bytes = kind.bytes.saturating_add(event.extra.into());
        match issued {
            Some(issued) => kind.service.record(event.time - issued, event.time),
            None => self.without_issue += 1,
        }
    }
}

/// All drives of a recording.
#[derive(Debug, Default)]
pub(crate) struct Drives {
    all: BTreeMap<i32, Seen>,
    issues: u64,
    completions: u64,
}

impl Drives {
    /// Takes an issue or a completion; `counts` if it is in the time that is asked for.
    pub fn take(&mut self, event: &Event, window: (u64, u64), counts: bool) {
        if self.all.len() >= DRIVES && !self.all.contains_key(&event.task) {
            return;
        }
        let drive = self.all.entry(event.task).or_insert_with(|| Seen { since: event.time, ..Seen::default() });
        drive.advance(event.time, window);
        if event.kind == Kind::BlockIssue {
            self.issues += 1;
            drive.issue(event, counts);
        } else {
            self.completions += 1;
            drive.complete(event, counts);
        }
    }

    /// Events were lost.
    pub fn lose(&mut self, now: u64, window: (u64, u64)) {
        self.all.values_mut().for_each(|drive| drive.lose(now, window));
    }

    /// Whether both ends of requests were recorded.
    pub fn known(&self) -> bool {
        self.issues > 0 && self.completions > 0
    }

    /// What they come to at the end; nothing if only one end of requests was recorded.
    pub fn report(&mut self, start: u64, end: u64, window: (u64, u64), span: u64) -> Vec<Drive> {
        if !self.known() {
            return Vec::new();
        }
        let requests = |kept: &Kept| Requests {
            requests: kept.requests,
            bytes: kept.bytes,
            service_us: Spread::of(&kept.service, start),
        };
        let of = |(&number, seen): (&i32, &mut Seen)| {
            seen.advance(end, window);
            let whole = span.max(1) as f64;
            let [read, write, other] = &seen.kinds;
            Drive {
                drive: format!("{},{}", number as u32 >> 20, number as u32 & 0xf_ffff),
                busy_pct: 100.0 * seconds(seen.busy) / (whole / 1e9),
                in_flight: seen.queued as f64 / whole,
                sequential_pct: (seen.followed > 0).then(|| 100.0 * seen.sequential as f64 / seen.followed as f64),
                read: requests(read),
                write: requests(write),
                other: requests(other),
                without_issue: seen.without_issue,
                without_completion: seen.replaced + seen.issued.len() as u64,
            }
        };
        self.all.iter_mut().map(of).collect()
    }
}
