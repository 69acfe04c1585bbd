//! The request list of Linux 1.0, by hand.

use crate::rig;
use schedlab_testing::elevators::drive::*;

/// Read 50 is taken by the drive; the others arrive while it is served.
fn behind_a_read_of_50(name: &str, settings: &[(&str, &str)]) -> Rig {
    let mut rig = rig::plain(name, settings);
    rig.submit(single(Read, 50));
    rig.start();
    rig
}

fn order_of_the_page(name: &str, settings: &[(&str, &str)]) -> String {
    let mut rig = behind_a_read_of_50(name, settings);
    for (direction, first) in [(Write, 10), (Read, 20), (Read, 60), (Write, 20), (Read, 40)] {
        rig.submit(single(direction, first));
    }
    rig.drain();
    rig.order()
}

#[test]
fn the_schedule_on_the_page_of_each_order_is_what_it_does() {
    for (name, order) in
        [("reads_first", "R50  R60  W10  R20  R40  W20"), ("writes_first", "R50  W10  W20  R20  R40  R60")]
    {
        assert_eq!(order_of_the_page(name, &[]), order);
        let info = schedlab_policies::elevators::ELEVATORS.iter().find(|info| info.name == name).unwrap();
        assert!(info.page().contains(order), "{name}");
    }
}

#[test]
fn a_read_that_sorts_before_the_one_in_service_waits_for_the_next_sweep() {
    let mut rig = behind_a_read_of_50("reads_first", &[]);
    rig.submit(single(Write, 10));
    rig.submit(single(Read, 20));
    rig.drain();
    assert_eq!(rig.order(), "R50  W10  R20"); // a read goes before a write within a sweep only
}

#[test]
fn a_write_that_sorts_behind_everything_goes_behind_the_next_sweep() {
    let mut rig = behind_a_read_of_50("reads_first", &[]);
    for (direction, first) in [(Write, 10), (Read, 20), (Write, 30)] {
        rig.submit(single(direction, first));
    }
    rig.drain();
    assert_eq!(rig.order(), "R50  W10  R20  W30"); // and not W10 W30 R20, though the heads pass there
}

#[test]
fn equal_sectors_are_served_in_order_of_arrival() {
    let mut rig = behind_a_read_of_50("reads_first", &[]);
    let ids: Vec<_> = [60, 60, 60].map(|first| rig.submit(single(Read, first)).unwrap()).into();
    rig.drain();
    assert_eq!(rig.log[1..].iter().map(|served| served.id).collect::<Vec<_>>(), ids);
}

#[test]
fn nothing_is_put_before_the_first_request_of_an_idle_drive() {
    let mut rig = rig::plain("reads_first", &[]);
    for first in [50, 20, 60] {
        rig.submit(single(Read, first));
    }
    rig.drain();
    assert_eq!(rig.order(), "R50  R20  R60"); // and 60, behind all others, not into the first sweep
}

#[test]
fn strict_serves_every_queued_read_before_any_write_in_a_sweep_that_goes_on_where_it_stopped() {
    assert_eq!(order_of_the_page("reads_first", &[("strict", "true")]), "R50  R60  R20  R40  W10  W20");
    assert_eq!(order_of_the_page("writes_first", &[("strict", "true")]), "R50  W10  W20  R60  R20  R40");
}

fn while_two_come_to_swap(settings: &[(&str, &str)]) -> Rig {
    let mut rig = behind_a_read_of_50("adaptive_order", settings);
    rig.submit(single(Write, 10));
    rig.submit(single(Read, 20));
    rig.swapping = 2;
    for (direction, first) in [(Read, 60), (Write, 20), (Read, 40)] {
        rig.submit(single(direction, first));
    }
    rig
}

#[test]
fn adaptive_order_inserts_by_the_rule_in_force_and_leaves_what_is_queued() {
    let mut rig = while_two_come_to_swap(&[]);
    rig.drain();
    assert_eq!(rig.order(), "R50  W10  W20  R20  R40  R60");
    let mut rig = while_two_come_to_swap(&[("tasks", "3")]); // two are not enough then
    rig.drain();
    assert_eq!(rig.order(), order_of_the_page("reads_first", &[]));
}

#[test]
fn strict_adaptive_order_goes_by_the_rule_in_force_when_the_drive_is_free() {
    let mut rig = while_two_come_to_swap(&[("strict", "true")]);
    let done = rig.next_event().unwrap();
    rig.advance(done);
    rig.start(); // writes lead
    rig.swapping = 1;
    rig.drain(); // reads lead again
    assert_eq!(rig.order(), "R50  W10  R60  R20  R40  W20");
}

#[test]
fn a_third_of_the_slots_is_kept_from_writes_of_buffers_but_not_from_swapping() {
    let mut rig = behind_a_read_of_50("reads_first", &[]);
    let taken = (0..64).filter(|n| rig.submit(block(1, Write, 1000 * n)).is_some()).count();
    assert_eq!(taken, 42);
    assert!(rig.submit(single(Write, 70_000)).is_some(), "a page of the swap area");
    assert!(rig.submit(block(1, Read, 80_000)).is_some());
    rig.drain();
    assert!(rig.submit(block(1, Write, 0)).is_some(), "a slot came free");
}

#[test]
fn a_request_of_254_sectors_grows_no_more() {
    let mut rig = behind_a_read_of_50("reads_first", &[]);
    let ids: Vec<_> = (0..40).map(|n| rig.submit(block(1, Read, 1000 + 8 * n)).unwrap()).collect();
    assert_eq!(ids.iter().filter(|&&id| id == ids[0]).count(), 32); // 256 sectors: 248 may still grow
}
