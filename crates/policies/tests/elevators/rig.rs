//! Drives under elevators of the table, by name.

use schedlab_testing::elevators::{
    Subject,
    drive::{Rig, Service},
};

pub fn named(name: &str) -> Subject {
    Subject::named(name).expect("a name of the table")
}

pub fn new(name: &str, settings: &[(&str, &str)], depth: usize, service: Service) -> Rig {
    Rig::new(named(name), settings, depth, service)
}

pub fn plain(name: &str, settings: &[(&str, &str)]) -> Rig {
    Rig::plain(named(name), settings)
}
