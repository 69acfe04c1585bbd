//! # working_set
//!
//! A program in phases: in each it touches the pages of one part of its memory again and again, in any order, and then moves on to
//! the next part; after the last comes the first. With less memory than one part it thrashes; with less than all parts it
//! pages at every change of phase.

use super::{Load, count, fixed, repeat, size};
use schedlab_model::{
    info::{Info, Params},
    program::{Step, Touch, TouchOrder},
    units::Size,
};

pub(super) const LOAD: Load = Load {
    info: Info {
        name: "working_set",
        summary: "touches its memory part by part, a phase each",
        year: 1968,
        origin: "P. Denning, The working set model",
        promises: &[],
        parameters: &[
            size("size", "memory of one part", "1MiB"),
            count("parts", "how many parts", 1, "4"),
            count("times", "how often each page is touched in a phase, on average", 1, "10"),
            count("rounds", "rounds through all parts in one pass", 1, "10"),
            super::time("compute", "user time at each page", "100us"),
        ],
        source: schedlab_model::documentation!("working_set.rs"),
    },
    steps,
};

fn steps(params: &Params) -> Vec<Step> {
    let bytes = params.whole("size");
    let phase = |part: u64| {
        Step::Touch(Touch {
            image: None,
            from: Size(part * bytes),
            size: Size(bytes),
            times: params.whole("times") as u32,
            order: TouchOrder::Random,
            write: true,
            compute: fixed(params, "compute"),
        })
    };
    vec![repeat(params.whole("rounds"), (0..params.whole("parts")).map(phase).collect())]
}
