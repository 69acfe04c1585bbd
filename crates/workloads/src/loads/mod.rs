//! The table of ready-made loads: each a file that turns its parameters into steps.

use schedlab_model::{
    SECOND,
    info::{Domain, Info, Parameter, Params},
    program::{Repeat, Span, Step, Times},
    units::Duration,
};

mod command;
mod compile;
mod hackbench;
mod periodic;
mod pingpong;
mod random_io;
mod read_files;
mod sleeper;
mod spin;
mod stream;
mod system_calls;
mod working_set;

/// A ready-made load.
struct Load {
    info: Info,
    steps: fn(&Params) -> Vec<Step>,
}

const LOADS: &[Load] = &[
    command::LOAD,
    compile::LOAD,
    hackbench::LOAD,
    periodic::LOAD,
    pingpong::LOAD,
    random_io::LOAD,
    read_files::LOAD,
    sleeper::LOAD,
    spin::LOAD,
    stream::LOAD,
    system_calls::LOAD,
    working_set::LOAD,
];

/// The table of loads.
pub const WORKLOADS: &[Info] = &{
    let mut all = [LOADS[0].info; LOADS.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = LOADS[i].info;
        i += 1;
    }
    all
};

/// The steps of the load of that name with these parameters; `None` if there is no such load.
pub fn steps_of(name: &str, params: &Params) -> Option<Vec<Step>> {
    LOADS.iter().find(|load| load.info.name == name).map(|load| (load.steps)(params))
}

/// A number of bytes, up to the largest file.
const fn size(name: &'static str, meaning: &'static str, default: &'static str) -> Parameter {
    let domain = Domain::Size { low: 512, high: 1 << 32 };
    Parameter { name, meaning, domain, default: Some(default), logarithmic: true, grows: false, host: None }
}

/// A number of times.
const fn count(name: &'static str, meaning: &'static str, low: u64, default: &'static str) -> Parameter {
    let domain = Domain::Count { low, high: 100_000 };
    Parameter { name, meaning, domain, default: Some(default), logarithmic: low > 0, grows: false, host: None }
}

/// A length of time, up to minutes.
const fn time(name: &'static str, meaning: &'static str, default: &'static str) -> Parameter {
    let domain = Domain::Duration { low: 0, high: 100 * SECOND };
    Parameter { name, meaning, domain, default: Some(default), logarithmic: false, grows: false, host: None }
}

const fn switch(name: &'static str, meaning: &'static str, default: &'static str) -> Parameter {
    Parameter {
        name,
        meaning,
        domain: Domain::Switch,
        default: Some(default),
        logarithmic: false,
        grows: false,
        host: None,
    }
}

/// A fixed length of time.
fn fixed(params: &Params, name: &str) -> Span {
    Span::Fixed(Duration(params.whole(name)))
}

/// Repeats the steps `times` times, at most 2^32 - 1.
fn repeat(times: u64, steps: Vec<Step>) -> Step {
    Step::Repeat(Repeat { times: Times::Count(times.min(u32::MAX.into()) as u32), steps })
}
