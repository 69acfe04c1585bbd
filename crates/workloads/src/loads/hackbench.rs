//! # hackbench
//!
//! Groups of senders and receivers: each sender sends to every receiver of its group, each receiver waits for all of it, and
//! nothing else happens. A scheduler sees a crowd of short runs and a storm of wakeups. One pass starts the tasks, lets them
//! exchange everything, and waits for their ends; its length is what `hackbench` prints. The pipes have no limit, so a sender
//! never waits. Several tasks that run this load share the pipes.

use super::{Load, fixed, repeat};
use schedlab_model::{
    SECOND,
    info::{Domain, Info, Parameter, Params},
    program::Step,
};

pub(super) const LOAD: Load = Load {
    info: Info {
        name: "hackbench",
        summary: "groups of senders and receivers that exchange messages",
        year: 2001,
        origin: "hackbench of Rusty Russell, perf bench sched messaging",
        promises: &[],
        parameters: &[
            Parameter {
                name: "groups",
                meaning: "groups of tasks that exchange messages among themselves",
                domain: Domain::Count { low: 1, high: 100 },
                default: Some("1"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "pairs",
                meaning: "senders of a group, and as many receivers",
                domain: Domain::Count { low: 1, high: 100 },
                default: Some("20"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "loops",
                meaning: "messages from each sender to each receiver",
                domain: Domain::Count { low: 1, high: 1_000_000 },
                default: Some("100"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "work",
                meaning: "user time for each message, sent or received",
                domain: Domain::Duration { low: 1, high: SECOND },
                default: Some("1us"),
                logarithmic: true,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("hackbench.rs"),
    },
    steps,
};

fn steps(params: &Params) -> Vec<Step> {
    let (groups, pairs, loops) = (params.whole("groups"), params.whole("pairs"), params.whole("loops"));
    let work = || Step::Compute(fixed(params, "work"));
    let pipe = |group: u64, receiver: u64| format!("hackbench.{group}.{receiver}");
    let mut steps = Vec::new();
    for group in 0..groups {
        let receiver = |n| Step::Fork(vec![repeat(pairs * loops, vec![Step::Receive(pipe(group, n)), work()])]);
        steps.extend((0..pairs).map(receiver));
        let round = (0..pairs).flat_map(|n| [work(), Step::Send(pipe(group, n))]).collect();
        steps.push(repeat(pairs, vec![Step::Fork(vec![repeat(loops, round)])]));
    }
    steps.push(repeat(groups * pairs * 2, vec![Step::Wait]));
    steps
}
