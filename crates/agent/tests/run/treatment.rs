//! How tasks are treated: nice values, groups, slices, deadlines, work that stays the same.

use super::{Fixture, Seen, is_root};
use serde_json::{Value, json};

#[test]
fn shares_are_as_the_weights_of_nice_whether_or_not_the_kernel_divides_by_sessions() {
    let fixture = Fixture::new();
    let hog = |nice: i32| json!({ "load": "spin", "passes": "forever", "nice": nice });
    let seen = fixture.run(json!({ "a": hog(0), "b": hog(5), "c": hog(10) }), json!({ "duration": "2s" }));
    let share = |job: &str| seen.get(&format!("tasks.{job}.share"));
    // The weights of Linux: 1024, 335, 110.
    let (first, second) = (share("a") / share("b"), share("b") / share("c"));
    assert!((first / (1024.0 / 335.0) - 1.0).abs() < 0.15, "{first}");
    assert!((second / (335.0 / 110.0) - 1.0).abs() < 0.25, "{second}");
    let ours = share("a") + share("b") + share("c");
    assert!(ours <= 101.0);
    assert!(ours + seen.foreign_percent() <= 105.0, "{ours} {}", seen.foreign_percent());
}

#[test]
fn sessions_that_the_kernel_divides_by_are_named_in_a_warning() {
    let fixture = Fixture::new();
    let hog =
        |nice: i32, session: &str| json!({ "load": "spin", "passes": "forever", "nice": nice, "session": session });
    let run =
        |second: &str| fixture.run(json!({ "a": hog(0, "one"), "b": hog(19, second) }), json!({ "duration": "1s" }));
    let (apart, together) = (run("two"), run("one"));
    let warned = |seen: &Seen| seen.warnings().contains("2 sessions (autogroup)");
    let autogroup =
        std::fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled").is_ok_and(|text| text.trim() == "1");
    assert_eq!((warned(&apart), warned(&together)), (autogroup, false));
    let ratio = apart.get("tasks.a.share") / apart.get("tasks.b.share");
    assert_eq!(ratio < 3.0, autogroup, "{ratio}: nice 19 is a 68th of nice 0, but not between sessions");
}

#[test]
fn a_processor_that_pinned_tasks_may_not_use_is_not_wasted() {
    if !is_root("a_processor_that_pinned_tasks_may_not_use_is_not_wasted") {
        return;
    }
    let fixture = Fixture::new();
    let run = |workload: Value| {
        let rest = json!({ "duration": "1s", "machine": { "name": "host", "processors": 2 }, "trace": "required" });
        fixture.run(workload, rest)
    };
    let seen = run(json!({ "pinned": { "load": "spin", "passes": "forever", "count": 2, "cpus": [0] } }));
    let (wasted, longest) = (seen.get("wasted"), seen.get("wasted.longest"));
    assert!(
        wasted < 1.0 && longest < 0.01,
        "{wasted} %, {longest} s: one of them always waits, and half of the machine is idle"
    );
    let moves = json!([{ "set": { "cpus": [1] } }, { "compute": "10ms" }]);
    assert_eq!(run(json!({ "moves": { "steps": moves } })).find("wasted"), None);
}

#[test]
fn a_job_does_the_same_work_whatever_else_runs() {
    let fixture = Fixture::new();
    let job = json!({ "load": "spin", "compute": "300ms", "session": "one" });
    let hog = json!({ "load": "spin", "passes": "forever", "session": "one" });
    let alone = fixture.run(json!({ "job": job }), json!({}));
    let contended = fixture.run(json!({ "job": job, "hog": hog }), json!({}));
    let ratio = contended.used("job") / alone.used("job");
    // A processor that changes its speed changes this; a job that did half of its work would too.
    assert!((0.7..1.4).contains(&ratio), "{ratio}");
    assert!(contended.get("tasks.job.real") > 1.6 * contended.used("job"), "a half of a processor takes twice as long");
    assert!(contended.get("tasks.job.longest_gap") > 0.001, "it was without a processor for a while");
}

#[test]
fn every_period_is_counted_once_and_few_are_missed_without_load() {
    let fixture = Fixture::new();
    let audio = json!({ "load": "periodic", "run": "500us", "period": "10ms", "periods": 60 });
    let seen = fixture.run(json!({ "audio": audio }), json!({}));
    assert_eq!(seen.get("tasks.audio.deadlines"), 60.0);
    assert!(seen.get("tasks.audio.deadline_misses") <= 6.0);
    // Sixty periods take sixty periods, missed ones included.
    assert!((seen.get("elapsed") / 0.6 - 1.0).abs() < 0.05);
    assert_eq!(seen.get("tasks.audio.wakeup_latency.count"), 60.0 - seen.get("tasks.audio.deadline_misses"));
}

#[test]
fn an_overloaded_task_misses_periods_and_leaves_none_out() {
    let fixture = Fixture::new();
    let busy = json!({ "load": "periodic", "run": "35ms", "period": "10ms", "periods": 20 });
    let seen = fixture.run(json!({ "busy": busy }), json!({ "duration": "3s" }));
    let (all, missed) = (seen.get("tasks.busy.deadlines"), seen.get("tasks.busy.deadline_misses"));
    assert!(all <= seen.get("elapsed") / 0.01 + 1.0, "{all}: none is counted twice");
    assert!(all > 35.0 && missed > 0.9 * all, "{missed} of {all}: each computation spans two deadlines or more");
}

#[test]
fn groups_share_by_weight_whatever_is_in_them() {
    if !is_root("groups_share_by_weight_whatever_is_in_them") {
        return;
    }
    let fixture = Fixture::new();
    let hog = |group: &str, count: u32| json!({ "load": "spin", "passes": "forever", "group": group, "count": count });
    let groups = json!({ "heavy": { "weight": 2048, "parent": "outer" }, "light": { "weight": 512, "parent": "outer" }, "outer": {} });
    let seen = fixture.run(
        json!({ "one": hog("heavy", 1), "three": hog("light", 3) }),
        json!({ "groups": groups, "duration": "2s" }),
    );
    if seen.warnings().contains("group") {
        return eprintln!("skipped: {}", seen.warnings());
    }
    let ratio = seen.get("tasks.one.share") / seen.get("tasks.three.share");
    assert!((ratio / 4.0 - 1.0).abs() < 0.15, "{ratio}");
}

#[test]
fn a_quota_limits_a_group() {
    if !is_root("a_quota_limits_a_group") {
        return;
    }
    let fixture = Fixture::new();
    let groups = json!({ "some": { "quota": "20ms", "period": "100ms" } });
    let hog = json!({ "load": "spin", "passes": "forever", "group": "some" });
    let seen = fixture.run(json!({ "hog": hog }), json!({ "groups": groups, "duration": "1s" }));
    if seen.warnings().contains("group") {
        return eprintln!("skipped: {}", seen.warnings());
    }
    assert!((15.0..27.0).contains(&seen.get("tasks.hog.share")), "{}", seen.get("tasks.hog.share"));
}

/// A task works for some 45 ms and sleeps for 300. A quota of two thirds of that work in 100 ms takes the task off for the rest of a period,
/// unless the periods in which it sleeps leave as much again for later.
#[test]
fn a_burst_lets_a_group_use_what_it_saved() {
    if !is_root("a_burst_lets_a_group_use_what_it_saved") {
        return;
    }
    let fixture = Fixture::new();
    let pass_in = |group: Value| {
        let steps = json!([{ "compute": "45ms" }, { "sleep": "300ms" }]);
        let worker = json!({ "steps": steps, "passes": "forever", "group": "some" });
        let seen = fixture.run(json!({ "worker": worker }), json!({ "groups": { "some": group }, "duration": "2s" }));
        (seen.get("tasks.worker.pass_time.p50"), seen.warnings())
    };
    let (free, warnings) = pass_in(json!({}));
    if warnings.contains("group") {
        return eprintln!("skipped: {warnings}");
    }
    let quota = format!("{}us", ((free - 0.3) / 1.5 * 1e6) as u64);
    let (saved, _) = pass_in(json!({ "quota": quota, "period": "100ms", "burst": quota }));
    let (lost, _) = pass_in(json!({ "quota": quota, "period": "100ms" }));
    assert!(lost - saved > 0.03, "{free} s without a quota, {saved} s with a burst, {lost} s without");
}

#[test]
fn a_task_in_a_group_with_no_share_is_ready_and_can_be_ended() {
    if !is_root("a_task_in_a_group_with_no_share_is_ready_and_can_be_ended") {
        return;
    }
    let fixture = Fixture::new();
    let groups = json!({ "all": { "weight": 262144 }, "none": { "weight": 2 } });
    let hog = |group: &str| json!({ "load": "spin", "passes": "forever", "group": group });
    let seen =
        fixture.run(json!({ "big": hog("all"), "tiny": hog("none") }), json!({ "groups": groups, "duration": "1s" }));
    assert!(seen.get("tasks.big.share") > 20.0 * seen.get("tasks.tiny.share"));
}

#[test]
fn what_the_kernel_does_not_have_is_said() {
    let fixture = Fixture::new();
    let odd = json!({ "load": "spin", "compute": "1ms", "nice": 20, "slice": "1s" });
    let said = fixture.run(json!({ "odd": odd }), json!({})).warnings();
    assert!(said.contains("have nice 19") && said.contains("asked for a slice of 1000000000 ns"), "{said}");
}

#[test]
fn tasks_draw_the_same_numbers_in_every_run() {
    let fixture = Fixture::new();
    let work = json!({ "steps": [
        { "repeat": { "times": 400, "steps": [{ "compute": { "exp": "100us" } }, { "call": { "uniform": ["1us", "9us"] } }] } }
    ] });
    let run = || fixture.run(json!({ "work": work }), json!({})).used("work");
    let (one, two) = (run(), run());
    assert!((one / two - 1.0).abs() < 0.3, "{one} {two}");
}

#[test]
fn jobs_have_a_session_of_their_own_or_the_one_they_name() {
    let fixture = Fixture::new();
    let notes = tempfile::tempdir().unwrap();
    let note = |name: &str, session: Option<&str>| {
        let file = notes.path().join(name);
        let mut job = json!({ "load": "command", "run": format!("cut -d' ' -f6 /proc/$$/stat > {}", file.display()) });
        job.as_object_mut().unwrap().extend(session.map(|session| ("session".to_owned(), json!(session))));
        job
    };
    fixture.run(json!({ "a": note("a", Some("s")), "b": note("b", Some("s")), "c": note("c", None) }), json!({}));
    let session = |name: &str| std::fs::read_to_string(notes.path().join(name)).unwrap().trim().parse::<i32>().unwrap();
    assert_eq!(session("a"), session("b"));
    assert_ne!(session("a"), session("c"));
}

#[test]
fn a_reservation_is_kept_among_hogs() {
    if !is_root("a_reservation_is_kept_among_hogs") {
        return;
    }
    let fixture = Fixture::new();
    // The kernel refuses reservations to tasks that may not use every processor.
    let processors = std::thread::available_parallelism().unwrap().get();
    let hogs = json!({ "load": "spin", "passes": "forever", "count": 2 * processors });
    let reserved = json!({ "load": "spin", "passes": "forever", "policy": "deadline",
        "reservation": { "runtime": "3ms", "period": "10ms" } });
    let machine = json!({ "name": "host", "processors": processors });
    let seen =
        fixture.run(json!({ "hogs": hogs, "reserved": reserved }), json!({ "machine": machine, "duration": "2s" }));
    if seen.warnings().contains("reservation") {
        eprintln!("a_reservation_is_kept_among_hogs skipped: {}", seen.warnings());
        return;
    }
    let of_one = seen.get("tasks.reserved.share") * processors as f64;
    assert!((28.0..=31.0).contains(&of_one), "{of_one} % of a processor for 3 ms in 10");
}

/// No kernel grants less than 1024 ns.
#[test]
fn a_reservation_that_the_kernel_refuses_is_said_and_its_task_is_an_ordinary_one() {
    let fixture = Fixture::new();
    let reserved = json!({ "steps": [{ "compute": "5ms" }], "policy": "deadline",
        "reservation": { "runtime": "1us", "period": "10ms" } });
    let seen = fixture.run(json!({ "reserved": reserved }), json!({}));
    assert!(seen.warnings().contains("1 tasks of `reserved` were refused their reservation"), "{}", seen.warnings());
    assert_eq!((seen.get("tasks.reserved.refused"), seen.get("tasks.reserved.completed")), (1.0, 1.0));
}

#[test]
fn what_the_end_of_a_task_takes_is_not_among_what_it_used() {
    let fixture = Fixture::new();
    // To give so much memory back takes the kernel a tenth of a second.
    let big = json!({ "steps": [
        { "touch": { "size": "1GiB", "write": true } },
        { "repeat": { "times": 1_000_000, "steps": [{ "compute": "1ms" }] } },
    ] });
    let seen = fixture.run(json!({ "big": big }), json!({ "duration": "1s" }));
    let (used, elapsed) = (seen.used("big"), seen.get("elapsed"));
    assert!(used <= 1.005 * elapsed, "{used} s used in {elapsed} s by one task");
}
