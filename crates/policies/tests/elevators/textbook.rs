//! Silberschatz's example: 200 cylinders, the heads at 53, eight requests queued at once.

use crate::rig;
use schedlab_policies::elevators::{ELEVATORS, travel, travel_to_the_ends};
use schedlab_testing::elevators::drive::*;

const QUEUE: [u64; 8] = [98, 183, 37, 122, 14, 124, 65, 67];
const LAST: u64 = 199;

/// The cylinders in the order in which they are served.
fn served(name: &str, settings: &[(&str, &str)]) -> Vec<u64> {
    let mut rig = rig::plain(name, settings);
    rig.head = 53 * CYLINDER;
    for cylinder in QUEUE {
        rig.submit(single(Read, cylinder * CYLINDER));
    }
    rig.drain();
    rig.log.iter().map(|served| served.request.first / CYLINDER).collect()
}

/// A sequence as the pages write it, without the ends of the drive.
fn line(stops: &[u64]) -> String {
    stops.iter().fold("53".to_owned(), |line, stop| format!("{line} → {stop}"))
}

fn page(name: &str) -> String {
    ELEVATORS.iter().find(|info| info.name == name).unwrap().page().replace("(199) → ", "").replace("(0) → ", "")
}

#[test]
fn each_elevator_serves_the_example_in_the_order_and_with_the_movement_of_the_textbook() {
    for (name, towards, cylinders) in [
        ("fifo", None, 640),
        ("sstf", None, 236),
        ("look", Some("up"), 299),
        ("look", Some("down"), 208),
        ("c_look", None, 322),
    ] {
        let settings: Vec<_> = towards.map(|towards| ("towards", towards)).into_iter().collect();
        let stops = served(name, &settings);
        assert_eq!(travel(53, stops.iter().copied()), cylinders, "{name} {stops:?}");
        assert!(page(name).contains(&format!("{}      {cylinders} cylinders", line(&stops))), "{name}");
    }
}

#[test]
fn scan_and_c_scan_serve_as_look_and_c_look_and_their_arms_go_to_the_ends() {
    for (name, like, towards, round, cylinders) in [
        ("scan", "look", "up", false, 331),
        ("scan", "look", "down", false, 236),
        ("c_scan", "c_look", "up", true, 382),
    ] {
        let settings: &[_] = if round { &[] } else { &[("towards", towards)] };
        let stops = served(name, settings);
        assert_eq!(stops, served(like, settings));
        let way = travel_to_the_ends(53, stops.iter().copied(), LAST, towards == "up", round);
        assert_eq!(way, cylinders, "{name} {towards}");
        assert!(page(name).contains(&line(&stops)) && page(name).contains(&format!("{cylinders} cylinders")), "{name}");
    }
}

#[test]
fn a_sweep_down_is_not_held_by_requests_that_follow_each_other_up() {
    let mut rig = rig::plain("look", &[("towards", "down")]);
    rig.head = 1000;
    for first in [900, 500, 901, 902] {
        rig.submit(single(Read, first));
    }
    rig.drain();
    assert_eq!(rig.order(), "R902  R901  R900  R500");
    let mut rig = rig::plain("look", &[("towards", "down")]);
    rig.head = 1000;
    rig.submit(single(Read, 900));
    rig.start();
    rig.submit(single(Read, 901)); // right behind what is being read, but not ahead of a sweep down
    rig.submit(single(Read, 500));
    rig.drain();
    assert_eq!(rig.order(), "R900  R500  R901");
}

#[test]
fn of_two_requests_equally_near_sstf_takes_the_one_ahead() {
    let mut rig = rig::plain("sstf", &[]);
    rig.head = 100;
    rig.submit(single(Read, 90));
    rig.submit(single(Read, 110));
    rig.drain();
    assert_eq!(rig.order(), "R110  R90");
}
