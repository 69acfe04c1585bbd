//! # sleeper
//!
//! Runs a little, sleeps a little, again and again: an interactive program or a server between requests. Its wakeup
//! latency is what a user feels.

use super::{Load, fixed, repeat};
use schedlab_model::{
    MILLISECOND, SECOND,
    info::{Domain, Info, Parameter},
    program::Step,
};

pub(super) const LOAD: Load = Load {
    info: Info {
        name: "sleeper",
        summary: "runs a little, sleeps a little, again and again",
        year: 2007,
        origin: "interactive programs",
        promises: &[],
        parameters: &[
            Parameter {
                name: "run",
                meaning: "processor time between two sleeps",
                domain: Domain::Duration { low: 1, high: 1000 * SECOND },
                default: Some("1ms"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "sleep",
                meaning: "length of a sleep",
                domain: Domain::Duration { low: MILLISECOND / 1000, high: 1000 * SECOND },
                default: Some("9ms"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "rounds",
                meaning: "how often in one pass",
                domain: Domain::Count { low: 1, high: 1_000_000_000 },
                default: Some("1000"),
                logarithmic: true,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("sleeper.rs"),
    },
    steps: |params| {
        let round = vec![Step::Compute(fixed(params, "run")), Step::Sleep(fixed(params, "sleep"))];
        vec![repeat(params.whole("rounds"), round)]
    },
};
