//! Steps by which tasks wait for each other. A wait that does not end hangs its run until the run's own limit, and so fails here.

use super::{Fixture, Seen};
use serde_json::{Value, json};

fn repeat(times: u32, steps: Value) -> Value {
    json!([{ "repeat": { "times": times, "steps": steps } }])
}

/// Whether all tasks of the jobs have ended.
fn assert_ended(seen: &Seen, jobs: &[(&str, f64)]) {
    for (job, tasks) in jobs {
        assert_eq!(seen.get(&format!("tasks.{job}.completed")), *tasks, "{job}: {}", seen.warnings());
    }
    assert_eq!(seen.get("stuck"), 0.0, "{}", seen.warnings());
}

#[test]
fn readers_have_a_lock_together_and_a_writer_is_alone() {
    let fixture = Fixture::new();
    let run = |take: &str| {
        let steps = json!([{ take: "door" }, { "sleep": "5ms" }, { "unlock": "door" }]);
        let other = json!({ "steps": [{ "read_lock": "door" }, { "unlock": "door" }] });
        fixture.run(json!({ "many": { "count": 4, "steps": repeat(10, steps) }, "other": other }), json!({}))
    };
    let (alone, together) = (run("lock"), run("read_lock"));
    for seen in [&alone, &together] {
        assert_ended(seen, &[("many", 4.0), ("other", 1.0)]);
        assert_eq!([seen.get("tasks.many.lock_latency.count"), seen.get("lock_latency.count")], [40.0, 41.0]);
    }
    // 40 sleeps, one after the other.
    assert!(alone.get("elapsed") >= 0.2, "{}", alone.get("elapsed"));
    assert!(together.get("elapsed") < alone.get("elapsed"));
    assert!(together.get("tasks.many.lock_latency.mean") < alone.get("tasks.many.lock_latency.mean"));
}

#[test]
fn what_a_task_holds_is_given_back_when_it_ends() {
    let fixture = Fixture::new();
    let ends = |take: &str| json!({ "steps": [{ take: "a" }, { "sleep": "20ms" }] });
    let wants = |take: &str| json!({ "count": 2, "steps": [{ "sleep": "5ms" }, { take: "a" }] });
    for (first, second) in [("lock", "lock"), ("lock", "read_lock"), ("read_lock", "lock"), ("read_lock", "read_lock")]
    {
        let seen = fixture.run(json!({ "ends": ends(first), "wants": wants(second) }), json!({}));
        assert_ended(&seen, &[("ends", 1.0), ("wants", 2.0)]);
    }
}

#[test]
fn a_semaphore_has_as_many_permits_as_declared() {
    let fixture = Fixture::new();
    let steps = json!([{ "acquire": "seats" }, { "sleep": "5ms" }, { "release": "seats" }]);
    let workload = json!({ "guests": { "count": 4, "steps": repeat(10, steps) } });
    let run = |seats: u32| fixture.run(workload.clone(), json!({ "shared": { "seats": { "semaphore": seats } } }));
    let (two, four) = (run(2), run(4));
    for seen in [&two, &four] {
        assert_ended(seen, &[("guests", 4.0)]);
        assert_eq!(seen.get("tasks.guests.lock_latency.count"), 40.0);
    }
    assert!(two.get("elapsed") >= 0.1, "{}", two.get("elapsed"));
    assert!(two.get("tasks.guests.lock_latency.mean") > four.get("tasks.guests.lock_latency.mean"));
}

#[test]
fn a_barrier_waits_for_the_last_in_every_round() {
    let fixture = Fixture::new();
    let fast = json!({ "count": 2, "steps": repeat(10, json!([{ "barrier": "line" }])) });
    let slow = json!({ "steps": repeat(10, json!([{ "sleep": "5ms" }, { "barrier": "line" }])) });
    let shared = json!({ "shared": { "line": { "barrier": 3 } } });
    let seen = fixture.run(json!({ "fast": fast, "slow": slow }), shared);
    assert_ended(&seen, &[("fast", 2.0), ("slow", 1.0)]);
    assert!(seen.get("tasks.fast.real") >= 0.05, "{}", seen.get("tasks.fast.real"));
}

#[test]
fn a_condition_is_waited_for_without_the_lock_and_with_it_again() {
    let fixture = Fixture::new();
    let waits = json!({ "count": 3, "steps": [
        { "lock": "door" }, { "condition_wait": { "condition": "open", "lock": "door" } }, { "sleep": "5ms" },
        { "unlock": "door" },
    ] });
    // A signal to each, or one to all; the lock is free while they wait.
    let three = json!([{ "condition_signal": "open" }, { "condition_signal": "open" }, { "condition_signal": "open" }]);
    for wakes in [three, json!([{ "condition_broadcast": "open" }])] {
        let mut steps = vec![json!({ "sleep": "30ms" }), json!({ "lock": "door" })];
        steps.extend(wakes.as_array().unwrap().iter().cloned());
        steps.push(json!({ "unlock": "door" }));
        let seen = fixture.run(json!({ "waits": waits, "wakes": { "steps": steps } }), json!({}));
        assert_ended(&seen, &[("waits", 3.0), ("wakes", 1.0)]);
        // One after the other they have the lock again.
        assert!(seen.get("tasks.waits.turnaround.max") >= 0.045, "{}", seen.get("tasks.waits.turnaround.max"));
        assert_eq!(seen.get("tasks.waits.lock_latency.count"), 3.0, "taking it again is no request");
    }
}

#[test]
fn a_sender_to_a_full_queue_waits_and_a_message_is_done_with_at_the_next() {
    let fixture = Fixture::new();
    let run = |shared: Value| {
        let takes = json!({ "steps": repeat(20, json!([{ "receive": "q" }, { "sleep": "2ms" }])) });
        let gives = json!({ "count": 2, "steps": repeat(10, json!([{ "send": "q" }])) });
        fixture.run(json!({ "gives": gives, "takes": takes }), json!({ "shared": shared }))
    };
    let (free, bounded) = (run(json!({})), run(json!({ "q": { "queue": 2 } })));
    for seen in [&free, &bounded] {
        assert_ended(seen, &[("gives", 2.0), ("takes", 1.0)]);
        assert_eq!(seen.get("tasks.takes.message_latency.count"), 20.0);
        assert_eq!(seen.get("tasks.gives.message_latency.count"), 0.0);
        assert!(seen.get("message_latency.mean") >= 0.002, "{}", seen.get("message_latency.mean"));
    }
    // The last message is sent when all but the two before it and the one in work are done.
    assert!(bounded.get("tasks.gives.turnaround.max") >= 16.0 * 0.002);
    assert!(free.get("tasks.gives.turnaround.max") < bounded.get("tasks.gives.turnaround.max"));
}

#[test]
fn messages_that_the_end_cuts_off_are_counted_with_their_ages() {
    let fixture = Fixture::new();
    let gives = json!({ "steps": [{ "repeat": { "times": 9, "steps": [{ "send": "q" }] } }, { "sleep": "10s" }] });
    let takes = json!({ "steps": [{ "receive": "q" }, { "sleep": "10ms" }, { "receive": "q" }, { "sleep": "10s" }] });
    for (shared, left) in [(json!({}), 8.0), (json!({ "q": { "queue": 3 } }), 5.0)] {
        let limits = json!({ "shared": shared, "duration": "300ms" });
        let seen = fixture.run(json!({ "gives": gives, "takes": takes }), limits);
        assert_eq!(seen.get("tasks.takes.message_latency.count"), 1.0);
        // The one in work, those in the queue, and the one that waits for room.
        assert_eq!(seen.get("tasks.takes.message_latency.censored"), left, "{left}");
        assert_eq!(seen.get("stuck"), 0.0, "{}", seen.warnings());
    }
}

#[test]
fn a_signal_ends_none_of_these_waits() {
    let fixture = Fixture::new();
    let shared = json!({ "shared": { "s": { "semaphore": 0 }, "b": { "barrier": 2 }, "q": { "queue": 1 } } });
    let taken = json!([{ "read_lock": "r" }, { "sleep": "40ms" }, { "unlock": "r" }]);
    let kinds = [
        (json!([{ "acquire": "s" }]), json!([{ "release": "s" }])),
        (json!([{ "barrier": "b" }]), json!([{ "barrier": "b" }])),
        (json!([{ "receive": "p" }]), json!([{ "send": "p" }])),
        (json!([{ "send": "q" }, { "send": "q" }]), json!([{ "receive": "q" }])),
        (
            json!([{ "lock": "l" }, { "condition_wait": { "condition": "c", "lock": "l" } }, { "unlock": "l" }]),
            json!([{ "lock": "l" }, { "condition_signal": "c" }, { "unlock": "l" }]),
        ),
        (json!([{ "sleep": "5ms" }, { "lock": "r" }]), json!(["yield"])),
    ];
    for (waits, wakes) in kinds {
        let mut child = vec![json!({ "sleep": "20ms" }), json!("signal"), json!("signal"), json!({ "sleep": "20ms" })];
        child.extend(wakes.as_array().unwrap().iter().cloned());
        let mut steps = vec![json!({ "fork": child })];
        steps.extend(waits.as_array().unwrap().iter().cloned());
        let workload = json!({ "job": { "steps": steps }, "holds": { "steps": taken } });
        let seen = fixture.run(workload, shared.clone());
        assert_ended(&seen, &[("job", 2.0), ("holds", 1.0)]);
        assert!(seen.get("tasks.job.real") >= 0.04, "{} {waits}", seen.get("tasks.job.real"));
    }
}

/// Runs a workload that gets stuck, and looks at how many tasks of each job are, and at what is said of them.
fn assert_stuck(workload: Value, shared: Value, jobs: &[(&str, f64)], words: &[&str]) -> Seen {
    let seen = Fixture::new().run(workload, json!({ "shared": shared, "duration": "500ms" }));
    let stuck: Vec<_> = jobs.iter().map(|(job, _)| (*job, seen.get(&format!("tasks.{job}.stuck")))).collect();
    assert_eq!(stuck, jobs, "{}", seen.warnings());
    words.iter().for_each(|words| assert!(seen.warnings().contains(words), "{words}: {}", seen.warnings()));
    seen
}

#[test]
fn tasks_that_wait_for_what_never_comes_are_found() {
    let workload = json!({
        "at_barrier": { "count": 2, "steps": [{ "barrier": "b" }] },
        "permit": { "steps": [{ "acquire": "s" }] },
        "condition": { "steps": [{ "sleep": "150ms" }, { "lock": "l" },
            { "condition_wait": { "condition": "c", "lock": "l" } }, { "unlock": "l" }] },
        "signals": { "steps": [{ "condition_signal": "c" }] },
    });
    let shared = json!({ "s": { "semaphore": 0 }, "b": { "barrier": 3 } });
    let jobs = [("at_barrier", 2.0), ("permit", 1.0), ("condition", 1.0), ("signals", 0.0)];
    assert_stuck(workload, shared, &jobs, &["barrier b", "permit of s", "condition c"]);
}

#[test]
fn tasks_behind_a_stuck_reader_and_before_a_full_queue_are_found() {
    let workload = json!({
        "reads": { "steps": [{ "read_lock": "r" }, { "receive": "p" }] },
        "passes_by": { "steps": [{ "sleep": "20ms" }, { "read_lock": "r" }, { "unlock": "r" }] },
        "writes": { "steps": [{ "sleep": "150ms" }, { "lock": "r" }] },
        "behind": { "steps": [{ "sleep": "250ms" }, { "read_lock": "r" }] },
        "room": { "steps": [{ "send": "q" }, { "send": "q" }] },
    });
    let jobs = [("reads", 1.0), ("passes_by", 0.0), ("writes", 1.0), ("behind", 1.0), ("room", 1.0)];
    let words = ["lock r, which reads holds", "room in the queue q"];
    let seen = assert_stuck(workload, json!({ "q": { "queue": 1 } }), &jobs, &words);
    assert_eq!([seen.get("lock_latency.count"), seen.get("lock_latency.censored")], [2.0, 2.0]);
}

#[test]
fn a_killed_holder_does_not_hang_the_run() {
    let fixture = Fixture::new();
    for take in ["lock", "read_lock"] {
        let dies = json!({ "steps": [{ take: "a" }, { "run": "kill -9 $PPID; sleep 1" }] });
        let waits = json!({ "steps": [{ "sleep": "100ms" }, { "lock": "a" }] });
        let seen = fixture.run(json!({ "dies": dies, "waits": waits }), json!({ "duration": "300ms" }));
        assert!(seen.warnings().contains("1 tasks of `dies` were ended by SIGKILL"), "{}", seen.warnings());
        assert_eq!(
            [seen.get("tasks.waits.completed"), seen.get("tasks.waits.stuck")],
            [0.0, 1.0],
            "{}",
            seen.warnings()
        );
    }
}
