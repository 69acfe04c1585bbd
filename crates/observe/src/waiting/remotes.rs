//! The command's connections by remote end: what went over them, and how long its tasks waited for them.

use super::{
    descriptors::Socket,
    tcp::{Connection, Counts, Diag},
};
use serde::Serialize;
use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
};

/// Remote ends that are reported.
const MOST: usize = 10;
/// Connections that are kept in mind.
const MOST_CONNECTIONS: usize = 100_000;

/// A remote end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Remote {
    /// Its address.
    pub address: IpAddr,
    /// Its port; none where it connected to us, from ports that say nothing.
    pub port: Option<u16>,
    /// Connections with it.
    pub connections: u64,
    /// Time in which a task slept in a call on one of them, ns, as far as looks saw it.
    pub waited_ns: u64,
    /// The sums over its connections; of the round trip the longest.
    #[serde(flatten)]
    pub counts: Counts,
}

/// A connection of the command.
struct Known {
    connection: Connection,
    /// What was counted before it was first seen, of one that was there before the command.
    before: Counts,
    /// Whether this host listens at the local port: the other end has connected.
    served: bool,
    waited_ns: u64,
}

/// The connections of the command.
pub(super) struct Remotes {
    diag: Diag,
    /// Cookies of connections that were there before the command, with what they had counted.
    before: HashMap<u64, Counts>,
    known: HashMap<u64, Known>,
    /// Cookies of those that were seen, and are of other programs.
    strangers: HashSet<u64>,
    /// By the inode of the socket.
    cookies: HashMap<u64, u64>,
    /// Connections that ended and were never seen, and not there before.
    unseen: u64,
    /// Time waited for sockets that are not known as connections yet, ns.
    waits: HashMap<u64, u64>,
}

impl Remotes {
    /// Before the command begins.
    pub(super) fn begin() -> Option<Remotes> {
        let mut diag = Diag::open().ok()?;
        let before = diag.all().into_iter().map(|one| (one.cookie, one.counts)).collect();
        Some(Remotes {
            diag,
            before,
            known: HashMap::new(),
            strangers: HashSet::new(),
            cookies: HashMap::new(),
            unseen: 0,
            waits: HashMap::new(),
        })
    }

    /// A task was seen asleep in a call on that socket.
    pub(super) fn waited(&mut self, socket: Socket, ns: u64) {
        match self.cookies.get(&socket.0).and_then(|cookie| self.known.get_mut(cookie)) {
            Some(known) => known.waited_ns += ns,
            None => *self.waits.entry(socket.0).or_default() += ns,
        }
    }

    /// Looks at all connections; `sockets` are those of the command's tasks.
    pub(super) fn look(&mut self, sockets: &HashSet<u64>) {
        let ports = self.diag.served();
        for connection in self.diag.all() {
            if let Some(known) = self.known.get_mut(&connection.cookie) {
                known.connection = connection;
            } else if sockets.contains(&connection.inode) && self.known.len() < MOST_CONNECTIONS {
                self.cookies.insert(connection.inode, connection.cookie);
                let before = self.before.get(&connection.cookie).copied().unwrap_or_default();
                let waited_ns = self.waits.remove(&connection.inode).unwrap_or(0);
                let served = ports.contains(&connection.local.1);
                self.known.insert(connection.cookie, Known { connection, before, served, waited_ns });
            } else if self.strangers.len() < MOST_CONNECTIONS {
                self.strangers.insert(connection.cookie);
            }
        }
        self.ended();
    }

    fn ended(&mut self) {
        for connection in self.diag.ended() {
            if let Some(known) = self.known.get_mut(&connection.cookie) {
                known.connection.counts = connection.counts;
            } else if !self.strangers.remove(&connection.cookie) && !self.before.contains_key(&connection.cookie) {
                self.unseen += 1;
            }
        }
    }

    /// How many connections of this host came and went without being seen.
    pub(super) fn unseen(&mut self) -> u64 {
        self.ended();
        self.unseen
    }

    /// The remote ends, those first that were waited for longest, then those with most bytes.
    pub(super) fn report(mut self) -> Vec<Remote> {
        self.ended();
        let mut found: HashMap<(IpAddr, Option<u16>), Remote> = HashMap::new();
        for known in self.known.values() {
            let (address, port) = known.connection.remote;
            let port = (!known.served).then_some(port);
            let new = Remote { address, port, connections: 0, waited_ns: 0, counts: Counts::default() };
            let remote = found.entry((address, port)).or_insert(new);
            remote.connections += 1;
            remote.waited_ns += known.waited_ns;
            remote.counts.add(&known.connection.counts.since(&known.before));
        }
        let mut remotes: Vec<Remote> = found.into_values().collect();
        let weight = |it: &Remote| (it.waited_ns, it.counts.sent_bytes + it.counts.received_bytes);
        remotes.sort_by_key(|it| (std::cmp::Reverse(weight(it)), it.address, it.port));
        remotes.truncate(MOST);
        remotes
    }
}
