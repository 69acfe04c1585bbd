//! What every elevator must do, over random scripts, and what its entry promises.

use super::{
    drive::{Read, Rig, Write, block, seeking},
    streams::{Place, Stream, busy, play, sequential},
    subject::Subject,
};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Params, Promise},
    request::{Direction, IoClass, Request, Sector},
    rng::Rng,
};

/// Submissions, ends of tasks and pauses, all random. Gives the rig and how many sectors were submitted.
fn script(subject: Subject, seed: u64, depth: usize) -> (Rig, u64) {
    let mut rng = Rng::stream(seed, depth as u64);
    let mut rig = Rig::new(subject, &[], depth, seeking);
    let mut submitted = 0;
    for _ in 0..300 {
        rig.swapping = rng.below(4) as u32;
        for _ in 0..rng.below(6) {
            let request = request(&mut rng);
            submitted += u64::from(rig.submit(request).map_or(0, |_| request.sectors));
        }
        if rng.below(40) == 0 {
            rig.exit(rng.below(6) as u32);
        }
        rig.start();
        let pause = rng.exponential(10 * MILLISECOND);
        let until = rig.now + pause;
        while let Some(next) = rig.next_event().filter(|&next| next <= until) {
            rig.advance(next);
            rig.start();
        }
        rig.advance(until);
        rig.start();
    }
    rig.drain();
    (rig, submitted)
}

fn request(rng: &mut Rng) -> Request {
    let direction = if rng.below(2) == 0 { Read } else { Write };
    // Few places, so that many requests touch or overlap.
    let first = if rng.below(3) == 0 { rng.below(1 << 24) * 8 } else { rng.below(200) * 8 };
    Request {
        sync: direction == Read && rng.below(8) != 0 || rng.below(3) == 0,
        mergeable: rng.below(4) != 0,
        class: [IoClass::RealTime, IoClass::BestEffort, IoClass::BestEffort, IoClass::Idle][rng.below(4) as usize],
        level: rng.below(8) as u8,
        ..block(rng.below(6) as u32, direction, first)
    }
}

fn each(mut what: impl FnMut(u64, usize)) {
    for seed in 0..6 {
        [1, 4, 32].into_iter().for_each(|depth| what(seed, depth));
    }
}

/// No sector that was submitted is lost, none is served twice.
#[track_caller]
pub fn every_sector_is_served_once(subject: Subject) {
    each(|seed, depth| {
        let (rig, submitted) = script(subject, seed, depth);
        let served: u64 = rig.log.iter().map(|served| u64::from(served.request.sectors)).sum();
        assert_eq!(served, submitted, "{} seed {seed} depth {depth}", subject.info.name);
    });
}

/// An elevator has no clock, and no random numbers of its own.
#[track_caller]
pub fn the_same_script_gives_the_same_schedule(subject: Subject) {
    each(|seed, depth| {
        let twice = [0, 1].map(|_| script(subject, seed, depth).0.log);
        assert!(twice[0] == twice[1], "{} seed {seed} depth {depth}", subject.info.name);
    });
}

/// Not at all, if it promises to conserve work; else a tenth of a second, which is what cfq needs before it serves the idle
/// class. All others idle for less.
#[track_caller]
pub fn the_drive_idles_no_longer_than_promised(subject: Subject) {
    let conserves = subject.info.promises.iter().any(|promise| matches!(promise, Promise::WorkConserving(_)));
    let most = if conserves { 0 } else { SECOND / 10 };
    each(|seed, depth| {
        let (rig, _) = script(subject, seed, depth);
        assert!(rig.longest_idling <= most, "{} idles for {} ns", subject.info.name, rig.longest_idling);
    });
}

/// What its entry promises of waits and shares.
#[track_caller]
pub fn promises_are_kept(subject: Subject) {
    let mut broken = Vec::new();
    for promise in subject.info.promises {
        match promise {
            Promise::StarvationFree(_) => broken.extend(starving(subject)),
            Promise::FairToEquals(_) => broken.extend(unfair(subject)),
            Promise::WorkConserving(_)
            | Promise::FindsWork(_)
            | Promise::MovesAtMost(_)
            | Promise::LimitsGroups
            | Promise::RunsToBlock
            | Promise::Clairvoyant
            | Promise::OneProcessor => {}
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The page has its sections, and every default is allowed.
#[track_caller]
pub fn the_entry_is_complete(subject: Subject) {
    let info = subject.info;
    let page = info.page();
    assert!(page.starts_with(&format!("# {}\n\nPromises ", info.name)), "{}", info.name);
    let mut rest = page.as_str();
    for section in ["## The idea", "## A schedule", "## Cost", "## Good for, not for", "## Departures", "## References"]
    {
        let at = rest.find(section).unwrap_or_else(|| panic!("{} has no {section} there", info.name));
        rest = &rest[at..];
    }
    Params::check(info, []).unwrap_or_else(|(name, why)| panic!("{}.{name}: {why}", info.name));
}

/// The crowds in whose presence no request may starve: near places, one file after the other, or one place again and again.
const CROWDS: [Place; 3] = [Place::Below(1000), Place::Behind, Place::Below(8)];
/// A request of an elevator that is free from starvation is queued for this long at most.
const BOUND: Nanos = 10 * SECOND;

fn starving(subject: Subject) -> Vec<String> {
    let mut broken = Vec::new();
    for place in CROWDS {
        for (count, depth) in [(1, 1), (8, 1), (8, 32)] {
            for (crowd, victim) in [(Read, Read), (Read, Write), (Write, Read), (Write, Write)] {
                for at in [500, 1 << 28] {
                    let waited = longest_wait(subject, depth, (count, place, crowd), (at, victim));
                    let scene = format!("a {victim:?} at {at}, {count} of {crowd:?} {place:?}, depth {depth}");
                    broken.extend((waited > BOUND).then(|| format!("{}: {waited} ns: {scene}", subject.info.name)));
                }
            }
        }
    }
    broken
}

/// The longest that a task's requests were queued in the presence of a crowd, or that one has been queued that was not served.
fn longest_wait(subject: Subject, depth: usize, crowd: (u32, Place, Direction), victim: (Sector, Direction)) -> Nanos {
    let (count, place, direction) = crowd;
    let (until, think) = (BOUND + 2 * SECOND, SECOND / 10);
    let mut rig = Rig::new(subject, &[], depth, seeking);
    let near = |owner| Stream {
        place,
        outstanding: 40 / count as usize,
        ..sequential(Request { sectors: 64, ..block(owner, direction, Sector::from(owner) << 10) })
    };
    let lone = Stream { begins: SECOND, think, ..sequential(block(99, victim.1, victim.0)) };
    let streams: Vec<_> = (1..=count).map(near).chain([lone]).collect();
    play(&mut rig, &streams, until);
    let served: Vec<_> = rig.log.iter().filter(|served| served.request.owner == 99).collect();
    let unserved = until - served.last().map_or(SECOND, |last| (last.ended + think).min(until));
    served.iter().map(|served| served.started - served.request.arrived).max().unwrap_or(0).max(unserved)
}

/// Readers of files, any number of them, without others and with one.
fn unfair(subject: Subject) -> Vec<String> {
    let mut broken = Vec::new();
    for (count, length) in [(2, 64), (3, 64), (5, 64), (8, 64), (3, 8), (3, 256)] {
        for others in [0, 1] {
            let reader = |n| sequential(Request { sectors: length, ..block(n, Read, Sector::from(n) << 22) });
            let writer = Stream { outstanding: 16, ..sequential(block(90, Write, 1 << 28)) };
            let streams: Vec<_> = (1..=count).map(reader).chain((0..others).map(|_| writer)).collect();
            let mut rig = Rig::new(subject, &[], 1, seeking);
            play(&mut rig, &streams, 30 * SECOND);
            let had: Vec<_> = (1..=count).map(|n| busy(&rig, n)).collect();
            let mean = had.iter().sum::<Nanos>() / Nanos::from(count);
            if had.iter().any(|had| had.abs_diff(mean) > mean / 10) {
                broken.push(format!("{}: {had:?} of {length} sectors, {others} others", subject.info.name));
            }
        }
    }
    broken
}
