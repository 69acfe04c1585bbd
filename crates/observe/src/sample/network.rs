//! /proc/net/dev: what goes over each network interface.

use super::column::{Column, column, rate};
use schedlab_linux::proc::text::{Name, lines, number, words};

/// Interfaces that are reported of at most.
pub(super) const MOST: usize = 64;
/// Columns of the file that are used: received 0 to 3, sent 8 to 11.
const COLUMNS: usize = 12;

/// A network interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Link {
    /// Its name, such as "eth0".
    pub name: Name,
    counts: [Option<u64>; COLUMNS],
}

fn per_second(now: &Link, was: &Link, column: usize, seconds: f64) -> Option<f64> {
    rate(now.counts[column], was.counts[column], seconds)
}

/// What went over an interface.
pub const LINK: &[Column<Link>] = &[
    column("rxkB/s", "KiB/s", "received", |now, was, s| per_second(now, was, 0, s).map(|bytes| bytes / 1024.0)),
    column("txkB/s", "KiB/s", "sent", |now, was, s| per_second(now, was, 8, s).map(|bytes| bytes / 1024.0)),
    column("rxpck/s", "1/s", "packets received", |now, was, s| per_second(now, was, 1, s)),
    column("txpck/s", "1/s", "packets sent", |now, was, s| per_second(now, was, 9, s)),
    column("rxerr/s", "1/s", "faulty packets received", |now, was, s| per_second(now, was, 2, s)),
    column("txerr/s", "1/s", "packets that could not be sent", |now, was, s| per_second(now, was, 10, s)),
    column("rxdrop/s", "1/s", "packets received and thrown away", |now, was, s| per_second(now, was, 3, s)),
    column("txdrop/s", "1/s", "packets thrown away instead of sent", |now, was, s| per_second(now, was, 11, s)),
];

/// Reads the file: all interfaces over which anything ever went.
pub(super) fn read(text: &[u8], into: &mut Vec<Link>) {
    into.clear();
    for link in lines(text).filter_map(parse) {
        if into.len() < MOST && link.counts.iter().any(|count| count.is_some_and(|count| count > 0)) {
            into.push(link);
        }
    }
}

/// `  eth0: 1633071233 38163 ...`; old kernels leave no blank behind the colon.
fn parse(line: &[u8]) -> Option<Link> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let name = words(&line[..colon]).next()?;
    let mut link = Link { name: Name::new(name), counts: [None; COLUMNS] };
    for (count, word) in link.counts.iter_mut().zip(words(&line[colon + 1..])) {
        *count = number(word);
    }
    link.counts[COLUMNS - 1].is_some().then_some(link)
}
