//! The table of ready-made loads: each a file that turns its parameters into steps.

use schedlab_model::{
    info::{Info, Params},
    program::{Repeat, Span, Step, Times},
    units::Duration,
};

mod compile;
mod hackbench;
mod periodic;
mod pingpong;
mod read_files;
mod sleeper;
mod spin;
mod system_calls;

/// A ready-made load.
struct Load {
    info: Info,
    steps: fn(&Params) -> Vec<Step>,
}

const LOADS: &[Load] = &[
    compile::LOAD,
    hackbench::LOAD,
    periodic::LOAD,
    pingpong::LOAD,
    read_files::LOAD,
    sleeper::LOAD,
    spin::LOAD,
    system_calls::LOAD,
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

/// A fixed length of time.
fn fixed(params: &Params, name: &str) -> Span {
    Span::Fixed(Duration(params.whole(name)))
}

/// The steps, so many times; four thousand million are as good as more.
fn repeat(times: u64, steps: Vec<Step>) -> Step {
    Step::Repeat(Repeat { times: Times::Count(times.min(u32::MAX.into()) as u32), steps })
}
