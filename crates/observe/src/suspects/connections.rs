//! TCP connections with other hosts: what each is held up by, and whose it is.
//!
//! ```text
//! awaited    a task sleeps in a call on it, and what was last sent is younger than what last came: the other end was asked
//! path       data is in flight, and the receiver has room: the way there sets the pace
//! receiver   data is in flight, and the receiver has no more room: it does not read fast enough
//! ```

use crate::waiting::{
    asleep_on,
    tcp::{Connection, Counts, Diag},
};
use serde::Serialize;
use std::{
    collections::{HashMap, HashSet},
    fs,
    time::{Duration, Instant},
};

/// The time between two looks.
const PERIOD: Duration = Duration::from_millis(200);
/// Connections whose tasks are looked at: those that have awaited an answer at most looks.
const MOST_AWAITING: usize = 32;
/// Connections that are reported.
const MOST: usize = 10;

/// A connection, and what held it up. Shares of the time, percent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Held {
    /// The other end: `192.0.2.1:80`.
    pub remote: String,
    /// The process whose it is; none where that is another user's.
    pub pid: Option<i32>,
    /// A task slept in a call on it, and the other end had been asked.
    pub awaited_percent: f64,
    /// The way there set the pace.
    pub path_percent: f64,
    /// The receiver had no more room.
    pub receiver_percent: f64,
    /// What was counted meanwhile.
    #[serde(flatten)]
    pub counts: Counts,
}

struct Seen {
    connection: Connection,
    before: Counts,
    looks: u64,
    awaited: u64,
}

/// Looks at the connections.
pub struct Connections {
    diag: Diag,
    began: Instant,
    last: Option<Instant>,
    looks: u64,
    seen: HashMap<u64, Seen>,
    owners: HashMap<u64, i32>,
}

impl Connections {
    /// Begins; none where this kernel does not report connections.
    pub fn begin() -> Option<Connections> {
        let (diag, began) = (Diag::open().ok()?, Instant::now());
        Some(Connections { diag, began, last: None, looks: 0, seen: HashMap::new(), owners: HashMap::new() })
    }

    /// Looks, if it is time.
    pub fn look(&mut self) {
        if self.last.is_some_and(|last| last.elapsed() < PERIOD) {
            return;
        }
        self.last = Some(Instant::now());
        self.looks += 1;
        for connection in self.diag.all().into_iter().filter(is_with_another_host) {
            let (before, looks, awaited) = (connection.counts, 0, 0);
            // One that is new has counted nothing yet.
            let before = if self.looks == 1 { before } else { Counts::default() };
            let seen = self.seen.entry(connection.cookie).or_insert(Seen { connection, before, looks, awaited });
            seen.connection = connection;
            seen.looks += 1;
        }
        for last in self.diag.ended() {
            if let Some(seen) = self.seen.get_mut(&last.cookie) {
                seen.connection.counts = last.counts;
            }
        }
        self.look_at_tasks();
    }

    /// Whether tasks sleep in calls on connections whose other end was asked.
    fn look_at_tasks(&mut self) {
        let mut asked: Vec<(u64, u64)> =
            self.seen.values().filter(|it| it.may_be_asked()).map(|it| (it.awaited, it.connection.inode)).collect();
        asked.sort_unstable_by(|a, b| b.cmp(a));
        asked.truncate(MOST_AWAITING);
        let asked: HashSet<u64> = asked.into_iter().map(|(_, inode)| inode).filter(|inode| *inode != 0).collect();
        if asked.iter().any(|inode| !self.owners.contains_key(inode)) {
            self.owners.extend(owners(&asked));
        }
        let processes: HashSet<i32> = asked.iter().filter_map(|inode| self.owners.get(inode)).copied().collect();
        let slept: HashMap<u64, bool> = processes.into_iter().flat_map(asleep_on).collect();
        for seen in self.seen.values_mut().filter(|it| it.may_be_asked()) {
            let Some(alone) = slept.get(&seen.connection.inode) else { continue };
            seen.awaited += u64::from(*alone || seen.is_asked());
        }
    }

    /// The connections that were held up most.
    pub fn held(mut self) -> Vec<Held> {
        let us = self.began.elapsed().as_micros().max(1) as f64;
        let of = |seen: &Seen| (seen.connection.inode, seen.held(us, self.looks));
        let mut held: Vec<(u64, Held)> = self.seen.values().map(of).filter(|(_, it)| it.worst() >= 1.0).collect();
        held.sort_by(|(_, a), (_, b)| b.worst().total_cmp(&a.worst()).then_with(|| a.remote.cmp(&b.remote)));
        held.truncate(MOST);
        self.owners.extend(owners(&held.iter().map(|(inode, _)| *inode).collect()));
        held.into_iter().map(|(inode, it)| Held { pid: self.owners.get(&inode).copied(), ..it }).collect()
    }
}

impl Seen {
    /// Data was sent after any that came.
    fn is_asked(&self) -> bool {
        self.connection.counts.since_sent_ms < self.connection.counts.since_received_ms
    }

    /// Or in the same tick: one that asks again as soon as it has an answer, or had its answer at once. A task that waits for nothing
    /// else does the former.
    fn may_be_asked(&self) -> bool {
        self.is_asked() || self.connection.counts.since_sent_ms == self.connection.counts.since_received_ms
    }

    fn held(&self, us: f64, looks: u64) -> Held {
        let counts = self.connection.counts.since(&self.before);
        let share = |part: u64| (100.0 * part as f64 / us).min(100.0);
        let path = counts.busy_us.saturating_sub(counts.receiver_us).saturating_sub(counts.sender_us);
        Held {
            remote: remote_of(&self.connection),
            pid: None,
            awaited_percent: 100.0 * self.awaited as f64 / looks.max(1) as f64,
            path_percent: share(path),
            receiver_percent: share(counts.receiver_us),
            counts,
        }
    }
}

impl Held {
    fn worst(&self) -> f64 {
        self.awaited_percent.max(self.path_percent).max(self.receiver_percent)
    }
}

fn remote_of(connection: &Connection) -> String {
    std::net::SocketAddr::from(connection.remote).to_string()
}

fn is_with_another_host(connection: &Connection) -> bool {
    !connection.remote.0.is_loopback() && connection.remote.0 != connection.local.0
}

/// The processes that have these sockets. Only root sees those of other users.
fn owners(inodes: &HashSet<u64>) -> HashMap<u64, i32> {
    let mut found = HashMap::new();
    if inodes.is_empty() {
        return found;
    }
    let names: HashMap<String, u64> = inodes.iter().map(|inode| (format!("socket:[{inode}]"), *inode)).collect();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        for file in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let target = fs::read_link(file.path()).unwrap_or_default();
            if let Some(inode) = target.to_str().and_then(|target| names.get(target)) {
                found.entry(*inode).or_insert(pid);
            }
        }
    }
    found
}
