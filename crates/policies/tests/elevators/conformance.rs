//! What holds for every elevator of the table, over random scripts.

use crate::{drive::*, streams::*};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Info, Promise},
    request::{Direction, IoClass, Request, Sector},
    rng::Rng,
};
use schedlab_policies::elevators::ELEVATORS;

/// Submissions, ends of tasks and stretches of time, all by chance. Gives the rig and how many sectors were submitted.
fn script(name: &str, seed: u64, depth: usize) -> (Rig, u64) {
    let mut rng = Rng::stream(seed, depth as u64);
    let mut rig = Rig::new(name, &[], depth, seeking);
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

fn each(mut what: impl FnMut(&'static Info, u64, usize)) {
    for info in ELEVATORS {
        for seed in 0..6 {
            for depth in [1, 4, 32] {
                what(info, seed, depth);
            }
        }
    }
}

#[test]
fn every_sector_that_was_submitted_is_served_once() {
    each(|info, seed, depth| {
        let (rig, submitted) = script(info.name, seed, depth);
        let served: u64 = rig.log.iter().map(|served| u64::from(served.request.sectors)).sum();
        assert_eq!(served, submitted, "{} seed {seed} depth {depth}", info.name);
    });
}

#[test]
fn the_same_script_gives_the_same_schedule() {
    each(|info, seed, depth| {
        let twice = [0, 1].map(|_| script(info.name, seed, depth).0.log);
        assert!(twice[0] == twice[1], "{} seed {seed} depth {depth}", info.name);
    });
}

/// The longest that an elevator may let the drive stand still before a queue.
fn patience(info: &Info) -> Nanos {
    if info.promises.iter().any(|promise| matches!(promise, Promise::WorkConserving(_))) {
        return 0;
    }
    SECOND / 10 // cfq, before it serves the idle class; all others wait less
}

#[test]
fn the_drive_stands_still_before_a_queue_no_longer_than_the_elevator_promises() {
    each(|info, seed, depth| {
        let (rig, _) = script(info.name, seed, depth);
        assert!(rig.longest_idling <= patience(info), "{} idles for {} ns", info.name, rig.longest_idling);
    });
}

/// What crowds the drive in the scenes of starvation: near places, one file after the other, or one place again and again.
const CROWDS: [Place; 3] = [Place::Below(1000), Place::Behind, Place::Below(8)];
/// A request of an elevator that is free from starvation is queued for so long at most.
const BOUND: Nanos = 10 * SECOND;

/// The longest that a task's requests were queued beside a crowd, or since one is queued that was not served.
fn longest_beside(info: &Info, depth: usize, crowd: (u32, Place, Direction), victim: (Sector, Direction)) -> Nanos {
    let (count, place, direction) = crowd;
    let (until, think) = (BOUND + 2 * SECOND, SECOND / 10);
    let mut rig = Rig::new(info.name, &[], depth, seeking);
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

#[test]
fn whoever_promises_that_nobody_starves_serves_every_request_within_ten_seconds_beside_any_crowd() {
    let promises = |info: &&Info| info.promises.iter().any(|promise| matches!(promise, Promise::StarvationFree(_)));
    let mut broken = Vec::new();
    for info in ELEVATORS.iter().filter(promises) {
        for place in CROWDS {
            for (count, depth) in [(1, 1), (8, 1), (8, 32)] {
                for (crowd, victim) in [(Read, Read), (Read, Write), (Write, Read), (Write, Write)] {
                    for at in [500, 1 << 28] {
                        let waited = longest_beside(info, depth, (count, place, crowd), (at, victim));
                        let scene =
                            format!("a {victim:?} at {at} beside {count} of {crowd:?} {place:?}, depth {depth}");
                        broken.extend((waited > BOUND).then(|| format!("{}: {waited} ns: {scene}", info.name)));
                    }
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn whoever_promises_equals_their_share_gives_it_to_readers_of_files_whatever_their_number_and_beside_others() {
    let promises = |info: &&Info| info.promises.iter().any(|promise| matches!(promise, Promise::FairToEquals(_)));
    let mut broken = Vec::new();
    for info in ELEVATORS.iter().filter(promises) {
        for (count, length) in [(2, 64), (3, 64), (5, 64), (8, 64), (3, 8), (3, 256)] {
            for others in [0, 1] {
                let reader = |n| sequential(Request { sectors: length, ..block(n, Read, Sector::from(n) << 22) });
                let writer = Stream { outstanding: 16, ..sequential(block(90, Write, 1 << 28)) };
                let streams: Vec<_> = (1..=count).map(reader).chain((0..others).map(|_| writer)).collect();
                let mut rig = Rig::new(info.name, &[], 1, seeking);
                play(&mut rig, &streams, 30 * SECOND);
                let had: Vec<_> = (1..=count).map(|n| busy(&rig, n)).collect();
                let mean = had.iter().sum::<Nanos>() / Nanos::from(count);
                if had.iter().any(|had| had.abs_diff(mean) > mean / 10) {
                    broken.push(format!("{}: {had:?} of {length} sectors, {others} others", info.name));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_one_way_elevator_goes_back_only_when_nothing_is_ahead() {
    for name in ["c_look", "c_scan"] {
        let mut rig = Rig::new(name, &[], 1, seeking);
        play(&mut rig, &[random(block(1, Read, 0), 20)], 5 * SECOND);
        let waiting_at = |at: Nanos, n: usize| rig.log[n..].iter().filter(move |served| served.request.arrived <= at);
        for (n, pair) in rig.log.windows(2).enumerate() {
            let [last, next] = pair else { unreachable!() };
            if next.request.first < last.request.end() {
                assert!(
                    waiting_at(next.started, n + 1).all(|other| other.request.first < last.request.end()),
                    "{name}"
                );
                assert!(waiting_at(next.started, n + 1).all(|other| other.request.first >= next.request.first));
            }
        }
    }
}

#[test]
fn every_page_has_its_sections_and_every_parameter_a_default_that_is_allowed() {
    for info in ELEVATORS {
        let page = info.page();
        assert!(page.starts_with(&format!("# {}\n\nPromises ", info.name)), "{}", info.name);
        let mut rest = page.as_str();
        for section in
            ["## The idea", "## A schedule", "## Cost", "## Good for, not for", "## Departures", "## References"]
        {
            let at = rest.find(section).unwrap_or_else(|| panic!("{} has no {section} there", info.name));
            rest = &rest[at..];
        }
        assert!(schedlab_model::info::Params::check(info, []).is_ok(), "{}", info.name);
    }
}

#[test]
fn no_name_is_in_the_table_twice() {
    let mut names: Vec<_> = ELEVATORS.iter().map(|info| info.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}
