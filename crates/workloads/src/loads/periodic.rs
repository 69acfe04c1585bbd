//! # periodic
//!
//! Audio-like work: once a period it must have computed a buffer. A period reached late is a missed deadline.

use super::{Load, fixed, repeat};
use schedlab_model::{
    MILLISECOND, SECOND,
    info::{Domain, Info, Parameter},
    program::Step,
    units::Duration,
};

pub(super) const LOAD: Load = Load {
    info: Info {
        name: "periodic",
        summary: "computes a buffer once a period, like an audio player",
        year: 2007,
        origin: "audio and video players",
        promises: &[],
        parameters: &[
            Parameter {
                name: "run",
                meaning: "processor time per period",
                domain: Domain::Duration { low: 1, high: 100 * SECOND },
                default: Some("1ms"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "period",
                meaning: "time from one deadline to the next",
                domain: Domain::Duration { low: MILLISECOND / 100, high: 100 * SECOND },
                default: Some("20ms"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "periods",
                meaning: "how many in one pass",
                domain: Domain::Count { low: 1, high: 1_000_000_000 },
                default: Some("1000"),
                logarithmic: true,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("periodic.rs"),
    },
    steps: |params| {
        let period = Step::Period(Duration(params.whole("period")));
        vec![repeat(params.whole("periods"), vec![Step::Compute(fixed(params, "run")), period])]
    },
};
