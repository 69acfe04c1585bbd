//! Tasks that keep a drive busy: each issues its next request some time after one of its requests has been served.

use super::drive::{Rig, Served};
use schedlab_model::{
    MILLISECOND, Nanos,
    request::{Request, Sector},
    rng::Rng,
    task::TaskId,
};

/// Where a stream's next request begins.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// Where its last one ended.
    Behind,
    /// Anywhere below that sector.
    Below(Sector),
}

/// A task's requests; its owner must not be another stream's.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    /// What each is like; the first begins there.
    pub request: Request,
    /// Where the next one begins.
    pub place: Place,
    /// From the end of a request to the next.
    pub think: Nanos,
    /// How many it has at a time.
    pub outstanding: usize,
    /// When it begins.
    pub begins: Nanos,
}

/// One request after another, each behind the last.
pub fn sequential(request: Request) -> Stream {
    let request = Request { mergeable: false, ..request };
    Stream { request, place: Place::Behind, think: 0, outstanding: 1, begins: 0 }
}

/// `outstanding` requests at a time, anywhere on half a gigabyte.
pub fn random(request: Request, outstanding: usize) -> Stream {
    Stream { place: Place::Below(1 << 20), outstanding, ..sequential(request) }
}

/// Lets the streams run up to that time.
pub fn play(rig: &mut Rig, streams: &[Stream], until: Nanos) {
    let mut rng = Rng::stream(1, 7);
    let mut next: Vec<Request> = streams.iter().map(|stream| stream.request).collect();
    let begun = |(n, stream): (usize, &Stream)| std::iter::repeat_n((stream.begins, n), stream.outstanding);
    let mut pending: Vec<(Nanos, usize)> = streams.iter().enumerate().flat_map(begun).collect();
    loop {
        let due = pending.iter().map(|&(at, _)| at.max(rig.now));
        let Some(at) = due.chain(rig.next_event()).min().filter(|&at| at <= until) else { break };
        for served in rig.advance(at) {
            let n = streams.iter().position(|stream| stream.request.owner == served.request.owner);
            pending.extend(n.map(|n| (at + streams[n].think, n)));
        }
        let (now, later): (Vec<_>, Vec<_>) = pending.into_iter().partition(|&(due, _)| due <= at);
        pending = later;
        for (_, n) in now {
            if let Place::Below(span) = streams[n].place {
                next[n].first = rng.below(span / 8) * 8;
            }
            match rig.submit(next[n]) {
                Some(_) => next[n].first = next[n].end(),
                None => pending.push((at + MILLISECOND, n)),
            }
        }
        rig.start();
    }
}

/// Sectors that each of the owners 0, 1, ... has had.
pub fn sectors(rig: &Rig, owners: u32) -> Vec<u64> {
    let of = |owner| rig.log.iter().filter(|s| s.request.owner == owner).map(|s| u64::from(s.request.sectors)).sum();
    (0..owners).map(of).collect()
}

/// For how long the drive has served an owner.
pub fn busy(rig: &Rig, owner: TaskId) -> Nanos {
    rig.log.iter().filter(|served| served.request.owner == owner).map(|served| served.ended - served.started).sum()
}

/// Runs of requests for which `same` says the same: (what it says, how many).
pub fn runs<T: PartialEq>(rig: &Rig, same: impl Fn(&Served) -> T) -> Vec<(T, usize)> {
    let mut runs: Vec<(T, usize)> = Vec::new();
    for served in &rig.log {
        let what = same(served);
        match runs.last_mut() {
            Some((last, count)) if *last == what => *count += 1,
            _ => runs.push((what, 1)),
        }
    }
    runs
}
