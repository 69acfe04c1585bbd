//! Any bytes as a file, opened and explained: a report that can be written, or a refusal. CONTRIBUTING.md has the command.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedlab_explain::{By, Explainer, Group, Options};
use schedlab_traces::kernel::read;
use std::{io::Write, path::Path};

// The first byte chooses what is asked.
fuzz_target!(|data: &[u8]| {
    let Some((&asked, recording)) = data.split_first() else { return };
    let has = |bit: u32| asked >> bit & 1 == 1;
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(recording).expect("it can be written");
    let mut explainer = Explainer::new(Options {
        by: [By::Pid, By::Comm, By::Tgid, By::Cgroup][usize::from(asked & 3)],
        cpu: has(2).then_some(0),
        from: has(3).then_some(1_000_000),
        to: has(4).then_some(20_000_000),
        blocks: has(5),
        unfinished: has(5),
        timeline: has(6),
        groups: has(7).then(|| Group::read("some=.*[a-m].*").expect("it is one")).into_iter().collect(),
        ..Options::default()
    });
    let Ok(head) = read(Path::new(file.path()), &mut explainer) else { return };
    let _ = explainer.timeline();
    if let Ok(report) = explainer.report(&head) {
        let written = serde_json::to_string(&report).expect("it can be written");
        assert!(!written.contains("NaN"));
        for drive in &report.drives {
            assert!((0.0..=100.001).contains(&drive.busy_pct) && drive.in_flight >= 0.0, "{drive:?}");
        }
        for row in &report.tasks {
            let all = [row.run_s, row.blocked_s, row.wakeup_wait_s, row.preempt_wait_s, row.start_wait_s, row.unknown_s];
            assert!(all.iter().all(|seconds| seconds.is_finite() && *seconds >= 0.0), "{all:?}");
        }
    }
});
