//! # system_calls
//!
//! A little user time, then a system call that waits for nothing, again and again: `ls -l` with everything in the cache.

use super::{Load, fixed, repeat};
use schedlab_model::{
    SECOND,
    info::{Domain, Info, Parameter},
    program::Step,
};

pub(super) const LOAD: Load = Load {
    info: Info {
        name: "system_calls",
        summary: "many short system calls that wait for nothing",
        year: 1990,
        origin: "ls -l /bin with everything in the cache",
        promises: &[],
        parameters: &[
            Parameter {
                name: "calls",
                meaning: "calls in one pass",
                domain: Domain::Count { low: 1, high: 1_000_000_000 },
                default: Some("500"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "user",
                meaning: "user time before each call",
                domain: Domain::Duration { low: 0, high: 100 * SECOND },
                default: Some("700us"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "cost",
                meaning: "processor time of the call itself, in the kernel or its server",
                domain: Domain::Duration { low: 0, high: 100 * SECOND },
                default: Some("2ms"),
                logarithmic: true,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("system_calls.rs"),
    },
    steps: |params| {
        let call = vec![Step::Compute(fixed(params, "user")), Step::Call(fixed(params, "cost"))];
        vec![repeat(params.whole("calls"), call)]
    },
};
