//! /proc/net/snmp and /proc/net/netstat: what TCP and UDP of this network namespace counted.
//!
//! Both files have two lines for each protocol: names, and values in the same order.

use super::column::{Column, column, rate};
use schedlab_linux::proc::text::{lines, number, words};

/// Counters that are read, by file, protocol and name.
const NAMES: [(&[u8], &[u8]); 12] = [
    (b"Tcp:", b"ActiveOpens"),
    (b"Tcp:", b"PassiveOpens"),
    (b"Tcp:", b"CurrEstab"),
    (b"Tcp:", b"InSegs"),
    (b"Tcp:", b"OutSegs"),
    (b"Tcp:", b"RetransSegs"),
    (b"Tcp:", b"OutRsts"),
    (b"TcpExt:", b"TCPTimeouts"),
    (b"TcpExt:", b"ListenDrops"),
    (b"Udp:", b"InDatagrams"),
    (b"Udp:", b"OutDatagrams"),
    (b"Udp:", b"RcvbufErrors"),
];

/// Their values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tcp([Option<u64>; NAMES.len()]);

fn per_second(now: &Tcp, was: &Tcp, which: usize, seconds: f64) -> Option<f64> {
    rate(now.0[which], was.0[which], seconds)
}

/// What the protocols did.
pub const TCP: &[Column<Tcp>] = &[
    column("active/s", "1/s", "connections opened from here", |now, was, s| per_second(now, was, 0, s)),
    column("passive/s", "1/s", "connections accepted", |now, was, s| per_second(now, was, 1, s)),
    column("estab", "", "connections there are", |now, _, _| now.0[2].map(|count| count as f64)),
    column("iseg/s", "1/s", "segments received", |now, was, s| per_second(now, was, 3, s)),
    column("oseg/s", "1/s", "segments sent, those sent again left out", |now, was, s| per_second(now, was, 4, s)),
    column("retrans/s", "1/s", "segments sent again", |now, was, s| per_second(now, was, 5, s)),
    column("orsts/s", "1/s", "resets sent", |now, was, s| per_second(now, was, 6, s)),
    column("timeout/s", "1/s", "times that no acknowledgement came in time", |now, was, s| per_second(now, was, 7, s)),
    column("lisdrop/s", "1/s", "connections refused by a full queue", |now, was, s| per_second(now, was, 8, s)),
    column("idgm/s", "1/s", "datagrams of UDP received", |now, was, s| per_second(now, was, 9, s)),
    column("odgm/s", "1/s", "datagrams of UDP sent", |now, was, s| per_second(now, was, 10, s)),
    column("rcvbuf/s", "1/s", "datagrams thrown away by a full socket", |now, was, s| per_second(now, was, 11, s)),
];

impl Tcp {
    /// Takes the counters that are in this file.
    pub(super) fn read(&mut self, text: &[u8]) {
        let mut names: &[u8] = b"";
        for line in lines(text) {
            let protocol = words(line).next();
            if protocol.is_some() && words(names).next() == protocol {
                self.take(names, line);
                names = b"";
            } else {
                names = line;
            }
        }
    }

    fn take(&mut self, names: &[u8], values: &[u8]) {
        let mut protocol: &[u8] = b"";
        for (name, value) in words(names).zip(words(values)) {
            if name == value {
                protocol = name;
                continue;
            }
            if let Some(which) = NAMES.iter().position(|it| *it == (protocol, name)) {
                self.0[which] = number(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_the_names_above_them() {
        let mut tcp = Tcp::default();
        tcp.read(
            b"Icmp: InMsgs\nIcmp: 5\nTcp: RtoMin ActiveOpens CurrEstab\nTcp: 200 17 3\nUdp: InDatagrams\nUdp: 9\n",
        );
        tcp.read(b"TcpExt: SyncookiesSent ListenDrops\nTcpExt: 0 4\nIpExt: InOctets\nIpExt: 1\n");
        assert_eq!([0, 2, 9, 8].map(|which| tcp.0[which]), [Some(17), Some(3), Some(9), Some(4)]);
        assert_eq!(tcp.0[1], None);
    }

    #[test]
    fn no_text_makes_it_panic() {
        for text in ["", "Tcp:", "Tcp:\nTcp:\n", "Tcp: ActiveOpens\nTcp: x\n", "Tcp: a b\nTcp: 1\n", "\n\n"] {
            Tcp::default().read(text.as_bytes());
        }
    }
}
