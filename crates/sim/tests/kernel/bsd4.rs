//! The 4BSD family against what is known of it: shares by nice, turns by the form of the quantum, priorities that climb and
//! decay, what children cost their parents. Numbers without another origin are those of a prototype of the same rules.

use crate::{
    audited::{Run, run, scenario},
    watched::{Line, watch},
};
use schedlab_model::{MILLISECOND, SECOND, event::Kind, task::TaskId};
use schedlab_policies::schedulers::Bsd4;

const SLICE: &str = r#"name = "bsd4", quantum_form = "slice""#;
const OLD: &str = r#"name = "bsd4_4x""#;
const R52: &str = r#"name = "bsd4_52""#;
const HEAD: &str = r#"name = "bsd4""#;

/// A machine without costs, and devices that interrupt so many times a second.
fn text(scheduler: &str, interrupts: u32, rest: &str) -> String {
    let devices = match interrupts {
        0 => String::new(),
        rate => format!(", devices = {{ other = {{ every = {{ exp = \"{}us\" }} }} }}", 1_000_000 / rate),
    };
    format!("machine = {{ preset = \"uniform\"{devices} }}\nscheduler = {{ {scheduler} }}\n{rest}")
}

#[track_caller]
fn under(scheduler: &str, interrupts: u32, rest: &str, seed: u64) -> Run {
    run(&scenario(&text(scheduler, interrupts, rest)), seed)
}

#[track_caller]
fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value}, expected {expected} +- {tolerance}");
}

/// Hogs of these nice values: the share of each in percent in the long run, that is from 300 s, when the load average is what
/// it will be, to 900 s, over four seeds.
fn shares(scheduler: &str, interrupts: u32, nice: &[i32]) -> Vec<f64> {
    let hogs: String = nice
        .iter()
        .enumerate()
        .map(|(n, nice)| format!("workload.h{n:02} = {{ load = \"spin\", passes = \"forever\", nice = {nice} }}\n"))
        .collect();
    let had = |seconds: u32, seed| -> Vec<f64> {
        let run = under(scheduler, interrupts, &format!("duration = \"{seconds}s\"\n{hogs}"), seed);
        let time = |n| run.get(&format!("tasks.h{n:02}.share")) * f64::from(seconds);
        (0..nice.len()).map(time).collect()
    };
    let mut shares = vec![0.0; nice.len()];
    for seed in 1..=4 {
        let both = had(300, seed).into_iter().zip(had(900, seed));
        shares.iter_mut().zip(both).for_each(|(share, (early, all))| *share += (all - early) / 600.0 / 4.0);
    }
    shares
}

const LADDER: [i32; 11] = [-20, -16, -12, -8, -4, 0, 4, 8, 12, 16, 20];

#[test]
fn scratch() {
    for scheduler in [SLICE, HEAD] {
        println!("{scheduler} ladder {:.1?}", shares(scheduler, 0, &LADDER));
        println!("{scheduler} ladder 50/s {:.1?}", shares(scheduler, 50, &LADDER));
    }
    for nice in [5, 10, 19, 20] {
        println!("two {nice} {:.1?}", shares(SLICE, 0, &[0, nice]));
    }
    println!("-20 20 {:.1?}", shares(SLICE, 0, &[-20, 20]));
    for k in [1, 2, 4, 8, 16] {
        let mut nice = vec![0; k];
        nice.push(20);
        println!("k {k} {:.1?}", shares(SLICE, 0, &nice).last());
    }
    for (scheduler, rate) in [(SLICE, 0), (SLICE, 20), (SLICE, 100), (HEAD, 0), (HEAD, 20), (HEAD, 100)] {
        let run = under(
            scheduler,
            rate,
            "duration = \"200s\"\nworkload.hog = { load = \"spin\", passes = \"forever\", count = 2 }",
            1,
        );
        println!("{scheduler} {rate} {} gap {}", run.get("context_switches") / 200.0, run.get("tasks.hog.longest_gap"));
    }
    for q in [10, 20, 50, 100, 500] {
        let run = under(
            &format!("{SLICE}, quantum = \"{q}ms\""),
            0,
            "duration = \"200s\"\nworkload.hog = { load = \"spin\", passes = \"forever\", count = 3 }",
            1,
        );
        println!("quantum {q} {}", run.get("context_switches") / 200.0);
    }
    println!("4x ladder {:.1?}", shares(OLD, 0, &LADDER));
    println!("52 ladder {:.1?}", shares(R52, 0, &LADDER));
    for nice in [5, 10, 19, 20] {
        println!("4x two {nice} {:.1?}", shares(OLD, 0, &[0, nice]));
    }
    for (scheduler, rate) in [(OLD, 0), (OLD, 20), (R52, 0), (R52, 20), (R52, 100)] {
        let run = under(
            scheduler,
            rate,
            "duration = \"200s\"\nworkload.hog = { load = \"spin\", passes = \"forever\", count = 2 }",
            1,
        );
        println!("{scheduler} {rate} {} gap {}", run.get("context_switches") / 200.0, run.get("tasks.hog.longest_gap"));
    }
    let (_, lines) = watch::<Bsd4>(
        &scenario(&text(SLICE, 0, "duration = \"200s\"\nworkload.hog = { load = \"spin\", passes = \"forever\" }")),
        1,
    );
    for line in lines.iter().filter(|l| l.time < 4 * SECOND || l.time > 198 * SECOND).step_by(8) {
        println!("{} {} {}", line.time / MILLISECOND, line.usage, line.priority);
    }
    for scheduler in [SLICE, HEAD] {
        for rate in [0, 20, 100] {
            let s = format!("{scheduler}, weights = \"evans\"");
            println!("evans {scheduler} {rate} {:.3?}", shares(&s, rate, &LADDER));
            println!(
                "evans {scheduler} {rate} 0/4 {:.2?} 0/20 {:.2?} 16/20 {:.2?} -20/-16 {:.2?}",
                shares(&s, rate, &[0, 4]),
                shares(&s, rate, &[0, 20]),
                shares(&s, rate, &[16, 20]),
                shares(&s, rate, &[-20, -16])
            );
        }
    }
}
