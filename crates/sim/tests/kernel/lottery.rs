//! Lottery scheduling: turns are won as often as chance has it, and who gives a turn up early loses nothing by it.

use crate::audited::{Run, run, scenario};

/// Standard deviations on either side that hold 99.9 % of a normal distribution.
const ONE: f64 = 3.29;
/// And those that hold all of sixteen such values with 99.9 %.
const SIXTEEN: f64 = 4.0;

#[track_caller]
fn lottery(rest: &str, seed: u64) -> Run {
    run(
        &scenario(&format!("machine = \"uniform\"\nscheduler = {{ name = \"lottery\", slice = \"10ms\" }}\n{rest}")),
        seed,
    )
}

/// Three hundred thousand draws a seed.
#[test]
fn turns_are_won_as_a_binomial_distribution_has_it() {
    let draws = 300_000.0;
    let tickets = [("a", 1024.0), ("b", 655.0), ("c", 336.0), ("d", 3125.0)];
    let total: f64 = tickets.iter().map(|(_, tickets)| tickets).sum();
    let hog = "load = \"spin\", passes = \"forever\"";
    for seed in 1..=4 {
        let run = lottery(
            &format!(
                "duration = \"3000s\"\nworkload.a = {{ {hog} }}\nworkload.b = {{ {hog}, nice = 2 }}\n\
                 workload.c = {{ {hog}, nice = 5 }}\nworkload.d = {{ {hog}, nice = -5 }}\n"
            ),
            seed,
        );
        for (name, tickets) in tickets {
            let (won, chance) = (run.get(&format!("tasks.{name}.true_user")) / 0.010, tickets / total);
            let deviation = (draws * chance * (1.0 - chance)).sqrt();
            let off = (won - draws * chance) / deviation;
            assert!(off.abs() <= SIXTEEN, "{name} won {won} of {draws} turns, {off} deviations off, seed {seed}");
        }
    }
}

#[test]
fn who_uses_a_fifth_of_a_slice_wins_five_times_as_often() {
    for rest in ["\"yield\"", "{ sleep = \"1us\" }"] {
        let run = lottery(
            &format!(
                "duration = \"100s\"\nworkload.hog = {{ load = \"spin\", passes = \"forever\" }}\n\
                 workload.polite = {{ passes = \"forever\", steps = [{{ compute = \"2ms\" }}, {rest}] }}\n"
            ),
            1,
        );
        let share = run.get("tasks.polite.share");
        match rest {
            // Draws: one of 2 ms with chance 5/6, one of 10 ms with 1/6; 30 000 of them. The deviation of the share is
            // sqrt(5/36 / 30000) * 2 * 10 / (10/3)^2 = 0.39 %.
            "\"yield\"" => assert!((share - 50.0).abs() <= ONE * 0.39, "{share} %"),
            // It is not there when the next ticket is drawn, so it can win every other turn only: 2 ms, then the hog's 10.
            _ => assert!((12.0..2.0 / 12.0 * 100.0).contains(&share), "{share} %"),
        }
    }
}
