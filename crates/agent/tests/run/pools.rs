//! Pools: jobs whose tasks serve requests that arrive whatever has become of earlier ones.

use super::{Fixture, PATIENCE, Seen, faults::children};
use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, getsid},
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn pool(count: u32, arrivals: Value, steps: Value) -> Value {
    json!({ "count": count, "arrivals": arrivals, "steps": steps })
}

#[test]
fn every_recorded_request_is_served_once_and_then_the_pool_ends() {
    let fixture = Fixture::new();
    let times: Vec<String> = (0..30).map(|n| format!("{}ms", n / 3 * 2)).collect();
    let seen =
        fixture.run(json!({ "pool": pool(4, json!({ "recorded": times }), json!([{ "sleep": "3ms" }])) }), json!({}));
    assert_eq!([seen.get("tasks.pool.passes"), seen.get("tasks.pool.completed")], [30.0, 4.0], "{}", seen.warnings());
    assert_eq!(seen.get("tasks.pool.message_latency.count"), 30.0);
    assert_eq!(seen.find("tasks.pool.message_latency.censored").unwrap_or(0.0), 0.0);
    // From its arrival to its end a request takes at least its service, and a pass is the service alone.
    let (latency, service) = (seen.get("tasks.pool.message_latency.mean"), seen.get("tasks.pool.pass_time.mean"));
    assert!(latency >= service && service >= 0.003, "{latency} {service}");
    assert_eq!([seen.get("tasks.pool.stuck"), seen.get("message_latency.count")], [0.0, 30.0]);
}

#[test]
fn few_requests_wait_for_little_more_than_their_service() {
    let fixture = Fixture::new();
    let mut lightly = pool(4, json!({ "poisson": "25/s" }), json!([{ "sleep": "20ms" }]));
    lightly["requests"] = json!(40);
    let seen = fixture.run(json!({ "pool": lightly }), json!({}));
    assert_eq!(seen.get("tasks.pool.passes"), 40.0);
    // A tenth of what four tasks can serve: hardly one finds them all at work.
    let median = seen.get("tasks.pool.message_latency.p50");
    assert!((0.02..0.06).contains(&median), "{median}");
}

#[test]
fn requests_that_the_end_cuts_off_are_counted_with_their_ages() {
    let fixture = Fixture::new();
    let overloaded = pool(1, json!({ "every": "2ms" }), json!([{ "sleep": "100ms" }]));
    let seen = fixture.run(json!({ "pool": overloaded }), json!({ "duration": "500ms" }));
    let [served, left, elapsed] =
        ["tasks.pool.message_latency.count", "tasks.pool.message_latency.censored", "elapsed"]
            .map(|metric| seen.get(metric));
    assert!(served <= 5.0, "{served}");
    assert!(served + left >= 249.0 && served + left <= elapsed / 0.002, "{served} {left} {elapsed}");
    assert_eq!(seen.get("tasks.pool.completed"), 0.0, "its requests have no end");
    assert!(seen.get("tasks.pool.message_latency.censored_max") > 0.3);
}

#[test]
fn a_request_brings_its_random_numbers_whichever_task_serves_it() {
    let fixture = Fixture::new();
    let run = |count: u32| {
        let mut job =
            pool(count, json!({ "bursts": { "size": 5, "every": "1ms" } }), json!([{ "sleep": { "exp": "100ms" } }]));
        job["requests"] = json!(10);
        fixture.run(json!({ "pool": job }), json!({})).get("tasks.pool.pass_time.mean")
    };
    let means = [run(1), run(5)];
    // The mean of 10 other draws differs by a third in most cases; what timers add is much less.
    assert!((means[0] / means[1] - 1.0).abs() < 0.1, "{means:?}");
}

#[test]
fn two_pools_and_other_jobs_run_at_once() {
    let fixture = Fixture::new();
    let one = |every: &str, name: &str| {
        let mut job = pool(2, json!({ "every": every }), json!([{ "compute": "100us" }, { "send": name }]));
        job["requests"] = json!(50);
        job
    };
    let takes = json!({ "steps": [{ "repeat": { "times": 50, "steps": [{ "receive": "a" }, { "receive": "b" }] } }] });
    let seen = fixture.run(json!({ "a": one("2ms", "a"), "b": one("3ms", "b"), "takes": takes }), json!({}));
    for (job, done) in [("a", 2.0), ("b", 2.0), ("takes", 1.0)] {
        assert_eq!(seen.get(&format!("tasks.{job}.completed")), done, "{}", seen.warnings());
    }
    let counts = ["a", "b", "takes"].map(|job| seen.get(&format!("tasks.{job}.message_latency.count")));
    assert_eq!(counts, [50.0, 50.0, 100.0]);
}

#[test]
fn a_killed_worker_does_not_hang_the_run() {
    let fixture = Fixture::new();
    let times = json!({ "recorded": ["1ms"] });
    let seen = fixture.run(json!({ "pool": pool(3, times, json!([{ "run": "kill -9 $PPID; sleep 1" }])) }), json!({}));
    assert!(seen.warnings().contains("1 tasks of `pool` were ended by SIGKILL"), "{}", seen.warnings());
    assert_eq!([seen.get("tasks.pool.completed"), seen.get("tasks.pool.passes")], [2.0, 0.0]);
}

#[test]
fn a_killed_generator_is_reported_and_ends_its_pool() {
    let fixture = Fixture::new();
    let mut job = pool(2, json!({ "every": "1ms" }), json!([{ "compute": "10us" }]));
    job["requests"] = json!(1_000_000);
    let begun = fixture.path().join("begun");
    let marks = json!({ "load": "command", "run": format!("touch {}", begun.display()) });
    let run = fixture.start(&fixture.plan(json!({ "pool": job, "marks": marks }), json!({})));
    let began = Instant::now();
    while !begun.exists() {
        assert!(began.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::remove_file(begun).unwrap();
    // Workers have sessions of their own, a generator has its agent's.
    let inner = children(run.id() as i32)[0];
    let of_session: Vec<i32> = children(inner).into_iter().filter(|&pid| session(pid) == session(inner)).collect();
    let [generator] = of_session[..] else { panic!("{of_session:?}") };
    kill(Pid::from_raw(generator), Signal::SIGKILL).unwrap();
    let done = run.wait_with_output().unwrap();
    let seen = Seen(serde_json::from_slice(&done.stdout).unwrap());
    assert!(seen.warnings().contains("the generator of the requests of `pool` was killed"), "{}", seen.warnings());
    assert_eq!(seen.get("tasks.pool.completed"), 2.0);
    fixture.assert_nothing_left();
}

fn session(pid: i32) -> Option<i32> {
    getsid(Some(Pid::from_raw(pid))).ok().map(Pid::as_raw)
}
