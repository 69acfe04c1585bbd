//! The laws of every elevator, over the table; and what one-way elevators alone do.

use crate::rig::{named, new};
use schedlab_model::{Nanos, SECOND};
use schedlab_policies::elevators::ELEVATORS;
use schedlab_testing::elevators::{
    drive::{Read, block, seeking},
    laws,
    streams::{play, random},
};

macro_rules! for_every_elevator {
    ([$($law:ident),* $(,)?]) => {
        $(
            #[test]
            fn $law() {
                ELEVATORS.iter().for_each(|info| laws::$law(named(info.name)));
            }
        )*
    };
}

schedlab_testing::elevator_laws!([for_every_elevator]);

#[test]
fn a_one_way_elevator_goes_back_only_when_nothing_is_ahead() {
    for name in ["c_look", "c_scan"] {
        let mut rig = new(name, &[], 1, seeking);
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
fn no_name_is_in_the_table_twice() {
    let mut names: Vec<_> = ELEVATORS.iter().map(|info| info.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}
