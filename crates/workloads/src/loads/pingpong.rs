//! # pingpong
//!
//! Two tasks that answer each other through two pipes. Each message wakes the other side, so the load measures wakeup latency.
//! One pass is a number of rounds, there and back. Several pairs share the two pipes.

use super::{Load, fixed, repeat};
use schedlab_model::{
    SECOND,
    info::{Domain, Info, Parameter},
    program::Step,
};

const THERE: &str = "pingpong.there";
const BACK: &str = "pingpong.back";

pub(super) const LOAD: Load = Load {
    info: Info {
        name: "pingpong",
        summary: "two tasks answer each other through pipes",
        year: 1996,
        origin: "lat_pipe of lmbench, perf bench sched pipe",
        promises: &[],
        parameters: &[
            Parameter {
                name: "rounds",
                meaning: "messages there and back in one pass",
                domain: Domain::Count { low: 1, high: 1_000_000_000 },
                default: Some("1000"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "work",
                meaning: "user time before each message",
                domain: Domain::Duration { low: 1, high: 100 * SECOND },
                default: Some("1us"),
                logarithmic: true,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("pingpong.rs"),
    },
    steps: |params| {
        let (work, rounds) = (Step::Compute(fixed(params, "work")), params.whole("rounds"));
        let answer = vec![Step::Receive(THERE.into()), work.clone(), Step::Send(BACK.into())];
        let ask = vec![work, Step::Send(THERE.into()), Step::Receive(BACK.into())];
        vec![Step::Fork(vec![repeat(rounds, answer)]), repeat(rounds, ask), Step::Wait]
    },
};
