//! Connections over the loopback: how often data waited in them when they were looked at, and whose they are.

use schedlab_linux::Root;
use serde::Serialize;
use std::{
    collections::{BTreeMap, HashMap},
    fs,
};

/// Bytes of a file of sockets that are read at most: some 6,000 sockets.
const MOST_BYTES: usize = 1 << 20;
/// Sockets whose owners are looked for at most.
const MOST: usize = 64;
const FILES: [&str; 4] = ["/proc/net/tcp", "/proc/net/tcp6", "/proc/net/udp", "/proc/net/udp6"];
/// State of an established connection; of UDP, "connected".
const ESTABLISHED: &str = "01";
/// State of a socket of UDP that is not connected.
const BOUND: &str = "07";

/// What was seen of them.
#[derive(Debug, Default)]
pub struct Sockets {
    looks: u64,
    /// By inode: how often it was there, and how often data waited.
    seen: HashMap<u64, (u64, u64)>,
}

/// A process with sockets of the loopback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Owner {
    /// Its number.
    pub pid: i32,
    /// Of looks, those in which data waited in one of its sockets, percent.
    pub waiting_percent: u64,
}

impl Sockets {
    /// Looks at all.
    pub fn look(&mut self, root: &Root) {
        self.looks += 1;
        for file in FILES {
            let Ok(text) = root.read(file) else { continue };
            for line in text.get(..text.len().min(MOST_BYTES)).unwrap_or_default().lines().skip(1) {
                let Some((inode, waits)) = of_loopback(line) else { continue };
                let seen = self.seen.entry(inode).or_default();
                seen.0 += 1;
                seen.1 += u64::from(waits);
            }
        }
    }

    /// The owners of the sockets in which data waited most often. Only root sees other users' processes.
    pub fn owners(self, root: &Root) -> Vec<Owner> {
        let mut most: Vec<(u64, u64)> = self.seen.into_iter().map(|(inode, (_, waits))| (waits, inode)).collect();
        most.sort_unstable_by(|a, b| b.cmp(a));
        most.truncate(MOST);
        let wanted: HashMap<String, u64> =
            most.into_iter().map(|(waits, inode)| (format!("socket:[{inode}]"), waits)).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let mut found: BTreeMap<i32, u64> = BTreeMap::new();
        for process in fs::read_dir(root.path("/proc")).into_iter().flatten().flatten() {
            let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            for file in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
                let target = fs::read_link(file.path()).unwrap_or_default();
                if let Some(waits) = target.to_str().and_then(|target| wanted.get(target)) {
                    let most = found.entry(pid).or_default();
                    *most = (*most).max(*waits);
                }
            }
        }
        let share = |waits: u64| 100 * waits / self.looks.max(1);
        found.into_iter().map(|(pid, waits)| Owner { pid, waiting_percent: share(waits) }).collect()
    }
}

/// The inode of a socket of the loopback, and whether data waits in it to be sent or to be read.
///
///   sl local_address rem_address st tx_queue:rx_queue tr:when retrnsmt uid timeout inode
fn of_loopback(line: &str) -> Option<(u64, bool)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (local, state) = (words.get(1)?, words.get(3)?);
    // A socket of UDP is bound, and often not connected: it may be bound to all addresses.
    let receives = *state == BOUND;
    let here = is_loopback(local) || (receives && is_any(local));
    if !here || !(*state == ESTABLISHED || receives) {
        return None;
    }
    let (sent, received) = words.get(4)?.split_once(':')?;
    let waits = [sent, received].iter().any(|queue| queue.bytes().any(|digit| digit != b'0'));
    Some((words.get(9)?.parse().ok()?, waits))
}

/// 127.x.x.x, ::1, or the former written as the latter; in the byte order of the machine.
fn is_loopback(address: &str) -> bool {
    let host = address.split(':').next().unwrap_or("");
    match host.len() {
        8 => host.ends_with("7F"),
        32 => {
            host == "00000000000000000000000001000000"
                || (host.starts_with("0000000000000000FFFF0000") && host.ends_with("7F"))
        }
        _ => false,
    }
}

fn is_any(address: &str) -> bool {
    address.split(':').next().is_some_and(|host| host.bytes().all(|digit| digit == b'0'))
}
