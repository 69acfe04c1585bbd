//! # spin
//!
//! Uses the processor and nothing else: a loop that never waits (a "hog").

use super::{Load, fixed};
use schedlab_model::{
    SECOND,
    info::{Domain, Info, Parameter},
    program::Step,
};

pub(super) const LOAD: Load = Load {
    info: Info {
        name: "spin",
        summary: "uses the processor and nothing else",
        year: 1990,
        origin: "the hog of every scheduler report",
        promises: &[],
        parameters: &[Parameter {
            name: "compute",
            meaning: "processor time of one pass",
            domain: Domain::Duration { low: 1, high: 1_000_000 * SECOND },
            default: Some("10s"),
            logarithmic: true,
            grows: false,
            host: None,
        }],
        source: schedlab_model::documentation!("spin.rs"),
    },
    steps: |params| vec![Step::Compute(fixed(params, "compute"))],
};
