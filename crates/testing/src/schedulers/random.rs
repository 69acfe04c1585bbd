//! Random scenarios: any machine, any programs, any policy of the table with any parameters. Long, because one scenario is drawn here.

use super::{groups::groups, runs::read};
use proptest::prelude::*;
use schedlab_model::{
    experiment::Format,
    info::{Domain, Info},
    scenario::{Choice, Scenario},
};
use schedlab_policies::schedulers::SCHEDULERS;
use serde_json::{Map, Value, json};
use std::fmt;

/// That number of scenarios, times `CASES_TIMES` of the environment. A counterexample is printed, not kept in a file that the
/// next change of a strategy makes void.
pub fn cases(cases: u32) -> ProptestConfig {
    let times = std::env::var("CASES_TIMES").map_or(1, |times| times.parse().expect("CASES_TIMES is a whole number"));
    let cases = cases * times;
    ProptestConfig { cases, failure_persistence: None, max_shrink_time: 20_000, ..ProptestConfig::default() }
}

/// A scenario that is shown as it was written, so that a counterexample can be run by hand.
pub struct Written(pub Scenario);

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(&self.0).map_err(|_| fmt::Error)?)
    }
}

/// What programs may do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Programs {
    /// Anything, such as waiting for a message that is never sent.
    Wild,
    /// Nothing that may wait forever, so that every task ends.
    Ending,
}

fn us(range: std::ops::Range<u64>) -> impl Strategy<Value = String> {
    range.prop_map(|us| format!("{us}us"))
}

fn span() -> impl Strategy<Value = Value> {
    prop_oneof![
        us(0..20_000).prop_map(Value::from),
        us(0..5_000).prop_map(|mean| json!({ "exp": mean })),
        (0..3_000u64, 0..3_000u64)
            .prop_map(|(low, more)| { json!({ "uniform": [format!("{low}us"), format!("{}us", low + more)] }) }),
    ]
}

fn kib(range: std::ops::Range<u64>) -> impl Strategy<Value = String> {
    range.prop_map(|kib| format!("{kib}KiB"))
}

/// A change of how the task is treated.
fn treatment(processors: u16) -> impl Strategy<Value = Value> {
    let policies = prop::sample::select(vec!["other", "batch", "idle", "iso", "fifo", "rr"]);
    let policy = (policies, 1..=99u8).prop_map(|(policy, priority)| match policy {
        "fifo" | "rr" => json!({ "policy": policy, "priority": priority }),
        _ => json!({ "policy": policy }),
    });
    let io = (prop::sample::select(vec!["real_time", "best_effort"]), 0..8u8)
        .prop_map(|(class, level)| json!({ "io_class": class, "io_level": level }));
    let change = prop_oneof![
        3 => (-20..=20i8).prop_map(|nice| json!({ "nice": nice })),
        2 => policy,
        2 => (1..1u64 << processors).prop_map(move |mask| json!({ "cpus": bits(mask, processors) })),
        1 => prop_oneof![Just("0s".to_owned()), us(100..100_000)].prop_map(|slice| json!({ "slice": slice })),
        1 => prop::sample::select(vec!["some", "inner", "/"]).prop_map(|group| json!({ "group": group })),
        1 => io,
    ];
    let of_job = (1..1u64 << processors, prop::sample::select(vec!["a", "sender"]))
        .prop_map(move |(mask, job)| json!({ "set": { "cpus": bits(mask, processors), "job": job } }));
    let own = prop::collection::vec(change, 1..3).prop_map(|changes| {
        let all = changes.iter().filter_map(Value::as_object).flatten();
        let mut all: Map<String, Value> = all.map(|(field, value)| (field.clone(), value.clone())).collect();
        if !matches!(all.get("policy").and_then(Value::as_str), Some("fifo" | "rr")) {
            all.remove("priority");
        }
        json!({ "set": all })
    });
    prop_oneof![4 => own, 1 => of_job]
}

fn bits(mask: u64, processors: u16) -> Vec<u16> {
    (0..processors).filter(|cpu| mask >> cpu & 1 == 1).collect()
}

/// Steps that belong together, without others in them.
fn phrase(processors: u16) -> impl Strategy<Value = Vec<Value>> {
    let files = (1..30u32, kib(0..40), prop::collection::vec(kib(0..9), 0..6)).prop_map(|(files, size, reads)| {
        let mut steps = vec![json!({ "open": { "files": files, "size": size } })];
        steps.extend(reads.into_iter().map(|bytes| json!({ "read": bytes })));
        steps.push(json!("close"));
        steps
    });
    let grow = (0..50u64, 0..50u64, 0..100u64).prop_map(|(from, more, declared)| {
        let size = |kib: u64| format!("{kib}KiB");
        vec![json!({ "grow": { "from": size(from), "to": size(from + more), "declared": size(declared) } })]
    });
    prop_oneof![
        4 => span().prop_map(|length| vec![json!({ "compute": length })]),
        2 => span().prop_map(|length| vec![json!({ "call": length })]),
        3 => span().prop_map(|length| vec![json!({ "sleep": length })]),
        1 => us(50..20_000).prop_map(|length| vec![json!({ "period": length })]),
        2 => files,
        1 => kib(0..3).prop_map(|bytes| vec![json!({ "print": bytes })]),
        1 => prop::sample::select(vec!["yield", "wait", "signal"]).prop_map(|step| vec![json!(step)]),
        1 => grow,
        1 => treatment(processors).prop_map(|set| vec![set]),
        1 => Just(vec![json!({ "mark": "here" })]),
    ]
}

/// Phrases, and the steps that may surround or follow them.
fn steps(programs: Programs, processors: u16) -> impl Strategy<Value = Vec<Value>> {
    let inner = prop::collection::vec(phrase(processors), 1..4).prop_map(|phrases| phrases.concat());
    let nested = inner.prop_recursive(3, 24, 4, move |inner| {
        let held = (0..2u8, 0..4u8, inner.clone()).prop_map(|(lock, how, body)| {
            let name = format!("lock{lock}");
            match how {
                0 => [take("lock", &name), without_waits(body), vec![json!({ "unlock": name })]].concat(),
                1 => [take("read_lock", &name), without_waits(body), vec![json!({ "unlock": name })]].concat(),
                2 => [take("lock", "inherits0"), without_waits(body), vec![json!({ "unlock": "inherits0" })]].concat(),
                _ => [vec![json!({ "acquire": "db" })], without_waits(body), vec![json!({ "release": "db" })]].concat(),
            }
        });
        let repeated = (1..5u32, inner.clone())
            .prop_map(|(times, steps)| vec![json!({ "repeat": { "times": times, "steps": steps } })]);
        let forked = (inner.clone(), any::<bool>()).prop_map(|(steps, waits)| {
            let mut all = vec![json!({ "fork": steps })];
            all.extend(waits.then(|| json!("wait")));
            all
        });
        let send = vec![json!({ "send": "pipe" })];
        let wild = match programs {
            Programs::Ending => vec![send],
            Programs::Wild => vec![
                send,
                vec![json!({ "receive": "pipe" })],
                take("lock", "lock0"),
                take("read_lock", "lock0"),
                vec![json!({ "unlock": "lock0" })],
                take("lock", "inherits0"),
                vec![json!({ "unlock": "inherits0" })],
                take("lock", "inherits1"),
                vec![json!({ "unlock": "inherits1" })],
                vec![json!({ "acquire": "db" })],
                vec![json!({ "release": "db" })],
                vec![json!({ "barrier": "gate" })],
                [
                    take("lock", "lock1"),
                    vec![
                        json!({ "condition_wait": { "condition": "c", "lock": "lock1" } }),
                        json!({ "unlock": "lock1" }),
                    ],
                ]
                .concat(),
                vec![json!({ "condition_signal": "c" })],
                vec![json!({ "condition_broadcast": "c" })],
                vec![json!("pause")],
                vec![json!("exit")],
            ],
        };
        let wild = prop::collection::vec(prop::sample::select(wild), 1..4).prop_map(|lists| lists.concat());
        let list = prop::collection::vec(inner, 1..4).prop_map(|lists| lists.concat());
        prop_oneof![2 => list, 1 => held, 2 => repeated, 2 => forked, 2 => wild]
    });
    nested.prop_map(|mut steps| {
        steps.insert(0, json!({ "compute": "100us" }));
        steps
    })
}

/// Takes a lock, after giving it back if the task holds it: a program that may wait for itself is refused.
fn take(how: &str, lock: &str) -> Vec<Value> {
    vec![json!({ "unlock": lock }), json!({ how: lock })]
}

/// A task that asks again for a lock or permit that it holds waits for itself, and one that is refused memory ends with its permit.
fn without_waits(steps: Vec<Value>) -> Vec<Value> {
    let waits = |step: &Value| {
        ["lock", "wait", "acquire", "release", "barrier", "grow"].iter().any(|word| step.to_string().contains(word))
    };
    [json!({ "compute": "50us" })].into_iter().chain(steps.into_iter().filter(|step| !waits(step))).collect()
}

/// What a job asks of its scheduler in addition to its nice value.
fn wish() -> impl Strategy<Value = Value> {
    let plain =
        prop::sample::select(vec!["other", "batch", "idle", "iso"]).prop_map(|policy| json!({ "policy": policy }));
    let real_time = (prop::sample::select(vec!["fifo", "rr"]), 1..=99u8)
        .prop_map(|(policy, priority)| json!({ "policy": policy, "priority": priority }));
    let reserved = (prop::sample::select(vec!["other", "deadline"]), 100..5_000u64, 0..10_000u64, 0..10_000u64)
        .prop_map(|(policy, runtime, slack, rest)| {
            let (deadline, period) = (runtime + slack, runtime + slack + rest);
            let us = |length: u64| format!("{length}us");
            let wish = json!({ "runtime": us(runtime), "deadline": us(deadline), "period": us(period) });
            json!({ "policy": policy, "reservation": wish })
        });
    prop_oneof![6 => Just(json!({})), 3 => plain, 2 => real_time, 2 => reserved]
}

fn job(programs: Programs, processors: u16) -> impl Strategy<Value = Value> {
    let starts = (prop::option::of(span()), prop::option::of(span()));
    let group = prop::option::of(prop::sample::select(vec!["some", "inner"]));
    let who = (1..4u32, 1..3u32, -20..=20i8, group, 1..1u64 << processors);
    let asks = (wish(), prop::option::of(us(100..100_000)), any::<bool>());
    (steps(programs, processors), who, starts, asks).prop_map(move |(steps, who, (start, gap), asks)| {
        let (count, passes, nice, group, cpus) = who;
        let (mut job, slice, shared) = asks;
        let cpus = bits(cpus, processors);
        let fixed = [
            ("steps", json!(steps)),
            ("count", json!(count)),
            ("passes", json!(passes)),
            ("nice", json!(nice)),
            ("cpus", json!(cpus)),
        ];
        let optional = [
            ("start", start),
            ("gap", gap),
            ("group", group.map(Value::from)),
            ("slice", slice.map(Value::from)),
            ("session", shared.then(|| json!("shared"))),
        ];
        for (field, value) in fixed.into_iter().map(|(field, value)| (field, Some(value))).chain(optional) {
            value.into_iter().for_each(|value| job[field] = value);
        }
        job
    })
}

/// A scheduler for a machine of that many processors.
fn scheduler(processors: u16) -> impl Strategy<Value = Value> {
    let fit = SCHEDULERS.iter().copied().filter(|info| info.allows(processors).is_ok());
    prop::sample::select(fit.collect::<Vec<_>>()).prop_flat_map(|info: Info| settings(&info))
}

/// A policy with any parameters, as a scenario names it.
fn settings(info: &Info) -> impl Strategy<Value = Value> + use<> {
    let parameters = info.parameters.iter().map(|p| setting(p.domain).prop_map(|value| (p.name.to_owned(), value)));
    let name = info.name;
    parameters.collect::<Vec<_>>().prop_map(move |settings| {
        let mut all: Map<String, Value> = settings.into_iter().collect();
        all.insert("name".to_owned(), json!(name));
        Value::Object(all)
    })
}

/// A policy with any parameters.
pub fn any_choice(info: &Info) -> impl Strategy<Value = Choice> + use<> {
    settings(info).prop_map(|choice| serde_json::from_value(choice).expect("a choice"))
}

/// A value that a parameter may have, not so small that a run takes long.
fn setting(domain: Domain) -> BoxedStrategy<Value> {
    match domain {
        Domain::Duration { low, high } => {
            let low = low.max(100_000);
            (low..=high.min(low * 1000)).prop_map(|ns| json!(format!("{ns}ns"))).boxed()
        }
        Domain::Size { low, high } => (low..=high).prop_map(|bytes| json!(format!("{bytes}B"))).boxed(),
        Domain::Rate { low, high } => (low..=high.min(1000.0)).prop_map(|rate| json!(format!("{rate}/s"))).boxed(),
        Domain::Count { low, high } => (low..=high.min(low + 100)).prop_map(|count| json!(count)).boxed(),
        Domain::Choice { names } => prop::sample::select(names).prop_map(|name| json!(name)).boxed(),
        Domain::Text => unreachable!("only commands take a text, and no simulated machine runs any"),
        Domain::Switch => any::<bool>().prop_map(|switch| json!(switch)).boxed(),
    }
}

fn disk() -> impl Strategy<Value = Value> {
    (1..200u32, 1..5u32, 8..40u32, 1..4u32, 0..3_000u64, 0..20_000u64).prop_map(
        |(cylinders, heads, sectors, interleave, track, more)| {
            json!({
                "rotation": "3600/min", "cylinders": cylinders, "heads": heads, "sectors": sectors,
                "interleave": interleave, "seek_track": format!("{track}us"), "seek_full": format!("{}us", track + more),
                "command": "100us", "sector_copy": "150us",
            })
        },
    )
}

fn machine() -> impl Strategy<Value = (u16, Value)> {
    let kind = (any::<bool>(), 1..5u16, any::<bool>(), 18.2..1000.0f64);
    let files = (4..60u32, 1..30u32, 1..30u32, any::<bool>());
    // All that a tick may make necessary takes less than a tick, or the machine would do nothing else.
    let costs = prop::option::of(prop::collection::vec(0..100u64, 15));
    let machine = (kind, files, costs, prop::option::of(disk())).prop_map(|(kind, files, costs, disk)| {
        let (message_passing, processors, sampled, hz) = kind;
        let processors = if message_passing { 1 } else { processors };
        let (cache, track, extent, ahead) = files;
        let costs = costs.unwrap_or_else(|| vec![0; 15]);
        let cost = |n: usize| format!("{}us", costs[n]);
        let mut machine = json!({
            "name": "any", "processors": processors,
            "personality": if message_passing { "message_passing" } else { "monolithic" },
            "accounting": if sampled { "sampled" } else { "exact" },
            "clock": { "hz": format!("{hz}/s"), "interrupt": cost(0), "task": cost(1) },
            "costs": { "context_switch": cost(2), "trap": cost(3), "interrupt": cost(4), "copy_per_kib": cost(5) },
            "calls": { "read": cost(6), "write": cost(7), "open": cost(8), "close": cost(9), "fork": cost(10),
                       "exit": cost(11), "manage": cost(12) },
            "files": { "cache_blocks": cache, "track_blocks": track, "extent_blocks": extent, "read_ahead": ahead },
            "terminal": { "per_kib": cost(13) },
            "memory": { "sizing": if sampled { "high_water" } else { "declared" } },
        });
        disk.into_iter().for_each(|disk| machine["disk"] = disk);
        if costs[14] > 0 {
            let deep = format!("{}us", 5 * costs[14]);
            machine["idle_states"] =
                json!([{ "residency": "0s", "latency": cost(14) }, { "residency": "700us", "latency": deep }]);
        }
        (processors, machine)
    });
    (machine, prop::option::of(topology())).prop_map(|((processors, mut machine), topology)| {
        if let Some((nodes, topology)) = topology {
            let cores = processors.div_ceil(topology["threads"].as_u64().unwrap() as _);
            (machine["nodes"], machine["topology"]) = (json!(nodes.min(cores)), topology);
        }
        (processors, machine)
    })
}

/// Memory nodes, and what they consist of.
fn topology() -> impl Strategy<Value = (u16, Value)> {
    let numbering = prop::sample::select(vec!["threads_first", "cores_first"]);
    let turns = prop::option::weighted(0.25, prop::collection::vec(1..5u16, 1..4));
    let halting = prop::option::weighted(0.25, prop::sample::select(vec!["0ns", "100us", "5ms"]));
    let kinds = (300..1024u16, prop::collection::vec(1..256u16, 0..4), turns, halting);
    (1..3u16, 1..3u16, 1..3u16, 0.3..1.0f64, kinds, numbering).prop_map(|(nodes, threads, cores, speed, (small, priorities, turns, halting), numbering)| {
        (nodes, json!({ "threads": threads, "thread_speed": speed, "cores_per_cache": cores, "numbering": numbering, "capacities": [1024, small], "priorities": priorities, "turns": turns, "halt_poll": halting }))
    })
}

/// A pool whose requests come at random, in bursts or at given times.
fn pool() -> impl Strategy<Value = Option<Value>> {
    let arrivals = prop::sample::select(vec![
        json!({ "arrivals": { "poisson": "2000/s" }, "requests": 12 }),
        json!({ "arrivals": { "bursts": { "size": 5, "every": "3ms" } }, "requests": 12 }),
        json!({ "arrivals": { "recorded": ["0s", "1ms", "1ms", "20ms"] } }),
    ]);
    let pool = (arrivals, 1..4u32, prop::collection::vec(phrase(1), 1..3)).prop_map(|(mut pool, count, phrases)| {
        pool["count"] = json!(count);
        pool["steps"] = json!(phrases.concat());
        pool
    });
    prop::option::weighted(0.3, pool)
}

/// Any scenario. One job sends and locks, since a scenario in which tasks receive or unlock without such a job is refused.
pub fn any_scenario(programs: Programs) -> impl Strategy<Value = Written> {
    let sender = json!({ "steps": [{ "send": "pipe" }, { "lock": "lock0" }, { "unlock": "lock0" }, { "lock": "inherits0" },
                                   { "unlock": "inherits0" }, { "lock": "inherits1" }, { "unlock": "inherits1" },
                                   { "condition_signal": "c" }] });
    // Where programs need not end, senders may have to wait for room.
    let pipe = prop::option::of(1..4u32).prop_map(move |room| room.filter(|_| programs == Programs::Wild));
    let limit =
        move || prop::option::of(us(1..300_000)).prop_map(move |limit| limit.filter(|_| programs == Programs::Wild));
    machine().prop_flat_map(move |(processors, machine)| {
        let sender = sender.clone();
        let jobs = (prop::collection::vec(job(programs, processors), 1..4), groups());
        (jobs, scheduler(processors), limit(), pipe.clone(), pool()).prop_map(move |((jobs, groups), scheduler, limit, room, pool)| {
            let mut workload: Map<String, Value> = ["a", "b", "c"].map(str::to_owned).into_iter().zip(jobs).collect();
            workload.insert("sender".to_owned(), sender.clone());
            pool.into_iter().for_each(|pool| drop(workload.insert("pool".to_owned(), pool)));
            if limit.is_some() {
                workload.insert("hog".to_owned(), json!({ "load": "spin", "compute": "7ms", "passes": "forever" }));
            }
            let mut scenario = json!({ "machine": machine, "scheduler": scheduler, "workload": workload, "groups": groups,
                                       "shared": { "db": { "semaphore": 1 }, "gate": { "barrier": 2 },
                                                   "inherits0": { "lock": "inherit" }, "inherits1": { "lock": "inherit" } } });
            room.into_iter().for_each(|room| scenario["shared"]["pipe"] = json!({ "queue": room }));
            limit.into_iter().for_each(|limit| scenario["duration"] = json!(limit));
            Written(read(&scenario.to_string(), Format::Json))
        })
    })
}

/// The same with fixed lengths, sizes and arrivals, ticks at a given time, and no drive, on which places of files are drawn.
pub fn without_chance(scenario: &Scenario) -> Scenario {
    fn tame(value: &mut Value) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(tame),
            Value::Object(fields) => {
                if let Some(fixed) = fields.get("exp").or_else(|| fields.get("uniform")?.get(0)).cloned() {
                    *value = fixed;
                    return;
                }
                if let Some(from) = fields.get("from").cloned() {
                    fields.insert("to".to_owned(), from);
                }
                fields.values_mut().for_each(tame);
            }
            _ => {}
        }
    }
    let mut all = serde_json::to_value(scenario).expect("a scenario can be written");
    all["machine"]["clock"]["phase"] = json!("3ms");
    all["machine"].as_object_mut().expect("a machine").remove("disk");
    if let Some(pool) = all["workload"].get_mut("pool") {
        pool["arrivals"] = json!({ "every": "2ms" });
        pool["requests"] = json!(12);
    }
    tame(&mut all);
    serde_json::from_value(all).expect("still a scenario")
}
