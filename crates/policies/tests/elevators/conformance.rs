//! What holds for every elevator of the table, over random scripts.

use crate::{drive::*, streams::*};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Info, Promise},
    request::{IoClass, Request, Sector},
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
    if info.promises.contains(&Promise::WorkConserving) {
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

#[test]
fn whoever_promises_that_nobody_starves_serves_a_far_request_beside_endless_near_ones() {
    for info in ELEVATORS.iter().filter(|info| info.promises.contains(&Promise::StarvationFree)) {
        for (crowd, victim) in [(Read, Read), (Read, Write), (Write, Read), (Write, Write)] {
            let mut rig = Rig::new(info.name, &[], 1, seeking);
            let near =
                |owner| Stream { place: Place::Below(1000), outstanding: 8, ..sequential(block(owner, crowd, 0)) };
            let far = Stream { begins: SECOND, think: 100 * SECOND, ..sequential(block(9, victim, 1 << 28)) };
            play(&mut rig, &[near(1), near(2), far], 10 * SECOND);
            let served = rig.log.iter().any(|served| served.request.owner == 9);
            assert!(served, "{}: a {victim:?} beside {crowd:?}s", info.name);
        }
    }
}

#[test]
fn whoever_promises_equals_their_share_gives_it_to_readers_of_files() {
    for info in ELEVATORS.iter().filter(|info| info.promises.contains(&Promise::FairToEquals)) {
        let mut rig = Rig::new(info.name, &[], 1, seeking);
        let readers = [1, 2, 3].map(|n| sequential(block(n, Read, Sector::from(n) << 22)));
        play(&mut rig, &readers, 20 * SECOND);
        for n in [1, 2, 3] {
            let share = busy(&rig, n) * 3 * 100 / (20 * SECOND);
            assert!((90..=110).contains(&share), "{}: reader {n} has {share} % of its share", info.name);
        }
    }
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
