//! What the kernel counts of each TCP connection (sock_diag(7), `struct tcp_info`): of those that are there, and of one at its end.
//!
//! Only the connections of this network namespace are seen.

use schedlab_linux::{Fault, netlink::Socket};
use serde::Serialize;
use std::{
    collections::HashSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// NLM_F_REQUEST and NLM_F_DUMP.
const DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// The attribute with `struct tcp_info`, and the bit that requests it.
const INFO: u16 = 2;
/// SKNLGRP_INET_TCP_DESTROY and SKNLGRP_INET6_TCP_DESTROY, as bits.
const ENDS: u32 = 1 | 1 << 2;
/// TCP_LISTEN.
const LISTENS: u8 = 10;
/// States that are asked for: all but TIME_WAIT, which carries no counts.
const STATES: u32 = 0xfff & !(1 << 6);
const HEAD: usize = 16;
/// Bytes of `struct inet_diag_msg`.
const MESSAGE: usize = 72;
const ROOM: i32 = 4 << 20;
const BUFFER: usize = 256 << 10;

/// A connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// By which the kernel knows it for ever.
    pub cookie: u64,
    /// Of its socket; 0 once that is closed.
    pub inode: u64,
    /// Both ends.
    pub local: (IpAddr, u16),
    /// Both ends.
    pub remote: (IpAddr, u16),
    /// What was counted.
    pub counts: Counts,
}

/// What the kernel counts of a connection. Of kernels that do not count it (busy times before 4.9, bytes sent before 4.19), 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Bytes that the other end has acknowledged.
    pub sent_bytes: u64,
    /// Bytes that have come in order.
    pub received_bytes: u64,
    /// Segments that were sent again.
    pub retransmits: u64,
    /// Segments sent, those with data.
    pub segments: u64,
    /// Smoothed time of a round trip, us.
    pub rtt_us: u64,
    /// Time with data in flight, us.
    pub busy_us: u64,
    /// Of it, time in which the receiver had no more room, us.
    pub receiver_us: u64,
    /// Of it, time in which the sender's buffer was too small, us.
    pub sender_us: u64,
    /// Since data was last sent, ms.
    pub since_sent_ms: u64,
    /// Since data last came, ms.
    pub since_received_ms: u64,
}

/// The kernel's answers.
pub struct Diag {
    asks: Socket,
    ends: Option<Socket>,
    buffer: Vec<u8>,
}

impl Diag {
    /// Opens it. Where ends are not reported (before Linux 4.5), those are not known.
    pub fn open() -> Result<Diag, Fault> {
        Ok(Diag { asks: Socket::diag(0, ROOM)?, ends: Socket::diag(ENDS, ROOM).ok(), buffer: vec![0; BUFFER] })
    }

    /// All connections there are.
    pub fn all(&mut self) -> Vec<Connection> {
        self.sockets(|listens| !listens)
    }

    /// The ports at which this host listens.
    pub fn served(&mut self) -> HashSet<u16> {
        self.sockets(|listens| listens).into_iter().map(|it| it.local.1).collect()
    }

    fn sockets(&mut self, wanted: fn(bool) -> bool) -> Vec<Connection> {
        let mut found = Vec::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            if self.asks.send(&request(family as u8)).is_err() {
                continue;
            }
            // The answer comes in several parts; one that is refused ends at once.
            while let Ok(length) = self.asks.receive(&mut self.buffer, true) {
                let mut take = |listens, connection| found.extend(Some(connection).filter(|_| wanted(listens)));
                if !each(&self.buffer[..length], &mut take) {
                    break;
                }
            }
        }
        found
    }

    /// The connections that have ended since the last call, with their last counts.
    pub fn ended(&mut self) -> Vec<Connection> {
        let mut found = Vec::new();
        while let Some(Ok(length)) = self.ends.as_ref().map(|ends| ends.receive(&mut self.buffer, false)) {
            each(&self.buffer[..length], &mut |_, connection| found.push(connection));
        }
        found
    }
}

fn request(family: u8) -> [u8; 72] {
    let mut bytes = [0; 72];
    bytes[..4].copy_from_slice(&72_u32.to_ne_bytes());
    bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&DUMP.to_ne_bytes());
    bytes[16] = family;
    bytes[17] = libc::IPPROTO_TCP as u8;
    bytes[18] = 1 << (INFO - 1);
    bytes[20..24].copy_from_slice(&STATES.to_ne_bytes());
    bytes
}

/// Reads netlink messages, each with whether it is a socket that listens. Whether more are to come.
fn each(mut bytes: &[u8], take: &mut impl FnMut(bool, Connection)) -> bool {
    while let (Some(length), Some(kind)) = (u32_at(bytes, 0), u16_at(bytes, 4)) {
        let length = length as usize;
        if kind == NLMSG_DONE || kind == NLMSG_ERROR || length < HEAD || length > bytes.len() {
            return false;
        }
        if kind == SOCK_DIAG_BY_FAMILY
            && let Some(connection) = Connection::read(&bytes[HEAD..length])
        {
            take(bytes[HEAD + 1] == LISTENS, connection);
        }
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
    }
    true
}

impl Connection {
    /// Reads `struct inet_diag_msg` and its attributes; none if it is no connection of TCP, or has no counts.
    fn read(bytes: &[u8]) -> Option<Connection> {
        let family = i32::from(*bytes.first()?);
        let port = |at: usize| Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        let address = |at: usize| {
            Some(match family {
                libc::AF_INET => IpAddr::V4(Ipv4Addr::from(*bytes.get(at..)?.first_chunk::<4>()?)),
                libc::AF_INET6 => IpAddr::V6(Ipv6Addr::from(*bytes.get(at..)?.first_chunk::<16>()?)).to_canonical(),
                _ => return None,
            })
        };
        let cookie = u64::from(u32_at(bytes, 44)?) | u64::from(u32_at(bytes, 48)?) << 32;
        let (local, remote) = ((address(8)?, port(4)?), (address(24)?, port(6)?));
        let inode = u64::from(u32_at(bytes, 68)?);
        let counts = Counts::read(attribute(bytes.get(MESSAGE..)?, INFO)?)?;
        Some(Connection { cookie, inode, local, remote, counts })
    }
}

impl Counts {
    /// Reads `struct tcp_info`, which grows at its end.
    fn read(bytes: &[u8]) -> Option<Counts> {
        let small = |at: usize| u32_at(bytes, at).map_or(0, u64::from);
        let large = |at: usize| bytes.get(at..).and_then(|it| it.first_chunk()).map_or(0, |it| u64::from_ne_bytes(*it));
        u32_at(bytes, 100)?;
        Some(Counts {
            sent_bytes: large(120),
            received_bytes: large(128),
            retransmits: small(100),
            segments: small(156),
            rtt_us: small(68),
            busy_us: large(168),
            receiver_us: large(176),
            sender_us: large(184),
            since_sent_ms: small(44),
            since_received_ms: small(52),
        })
    }

    /// What was counted since an earlier reading; round trip and ages as they are now.
    pub fn since(&self, before: &Counts) -> Counts {
        let of = |field: fn(&Counts) -> u64| field(self).saturating_sub(field(before));
        Counts {
            sent_bytes: of(|it| it.sent_bytes),
            received_bytes: of(|it| it.received_bytes),
            retransmits: of(|it| it.retransmits),
            segments: of(|it| it.segments),
            busy_us: of(|it| it.busy_us),
            receiver_us: of(|it| it.receiver_us),
            sender_us: of(|it| it.sender_us),
            ..*self
        }
    }
}

impl Counts {
    /// Adds another connection's. Of the round trip the longest is kept, of the ages the shortest.
    pub fn add(&mut self, other: &Counts) {
        let both = |field: fn(&Counts) -> u64| field(self).saturating_add(field(other));
        *self = Counts {
            sent_bytes: both(|it| it.sent_bytes),
            received_bytes: both(|it| it.received_bytes),
            retransmits: both(|it| it.retransmits),
            segments: both(|it| it.segments),
            rtt_us: self.rtt_us.max(other.rtt_us),
            busy_us: both(|it| it.busy_us),
            receiver_us: both(|it| it.receiver_us),
            sender_us: both(|it| it.sender_us),
            since_sent_ms: self.since_sent_ms.min(other.since_sent_ms),
            since_received_ms: self.since_received_ms.min(other.since_received_ms),
        };
    }
}

/// The value of a netlink attribute.
fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let (length, kind) = (usize::from(u16_at(bytes, 0)?), u16_at(bytes, 2)?);
        if length < 4 || length > bytes.len() {
            return None;
        }
        if kind == wanted {
            return bytes.get(4..length);
        }
        bytes = bytes.get(aligned(length)..)?;
    }
}

/// Netlink's messages and attributes begin at multiples of four.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_is_counted_while_it_is_there_and_at_its_end() {
        let mut diag = Diag::open().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(place).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[7; 1000]).unwrap();
        server.read_exact(&mut [0; 1000]).unwrap();
        let is_it = |one: &&Connection| one.remote.1 == place.port();
        let began = std::time::Instant::now();
        let mut found = *diag.all().iter().find(is_it).unwrap();
        while found.counts.sent_bytes < 1000 && began.elapsed().as_secs() < 10 {
            found = *diag.all().iter().find(is_it).unwrap();
        }
        // The handshake counts as a byte on some kernels.
        assert!((1000..=1001).contains(&found.counts.sent_bytes), "{found:?}");
        assert_ne!((found.cookie, found.inode), (0, 0));
        drop((server, client));
        let mut last = None;
        while last.is_none() && began.elapsed().as_secs() < 20 {
            last = diag.ended().into_iter().find(|one| one.cookie == found.cookie);
        }
        assert!((1000..=1002).contains(&last.expect("ends are reported since Linux 4.5").counts.sent_bytes));
    }

    proptest! {
        #[test]
        fn no_message_makes_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400), shaped in any::<bool>()) {
            if shaped && bytes.len() > 200 {
                let length = bytes.len() as u32;
                bytes[..4].copy_from_slice(&length.to_ne_bytes());
                bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
                bytes[16] = 2;
            }
            each(&bytes, &mut |_, _| {});
        }
    }
}
