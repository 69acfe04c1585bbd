//! Which runs depend on the seed, as far as the simulator says so.

use schedlab_policies::schedulers::All;
use schedlab_testing::schedulers::scenario;

/// Nothing in it is left to chance: no policy that ticks, no drive, fixed lengths.
const FIXED: &str =
    "scheduler.name = 'fifo'\nworkload.a = { steps = [{ compute = '5ms' }, { sleep = '3ms' }], count = 3, passes = 4 }";
const DRIVE: &str = "disk = { rotation = '3600/min', cylinders = 100, heads = 2, sectors = 17, interleave = 1, \
                     seek_track = '1ms', seek_full = '9ms', command = '100us', sector_copy = '150us' }";

#[track_caller]
fn seeded(text: &str) -> bool {
    let runs = [1, 2].map(|seed| schedlab_sim::run::<All>(&scenario(text), seed).unwrap());
    assert_eq!(runs[0].seeded, runs[1].seeded, "until the first draw, both are the same run");
    runs[0].seeded
}

#[test]
fn what_draws_nothing_says_so() {
    for rest in [
        "machine = 'uniform'",
        "machine = { preset = 'uniform', clock = { hz = '100/s' } }",
        "machine = { preset = 'uniform', clock = { hz = '100/s', timers = 'tick', phase = '0s', interrupt = '10us' } }",
        "machine = { preset = 'uniform', accounting = 'sampled', clock = { hz = '100/s', phase = '5ms' } }",
        "machine = { preset = 'uniform', devices.net = { every = '7ms', cost = '10us' } }",
        // Children have numbers of their own, which they do not use.
        "machine = 'uniform'\nworkload.b.steps = [{ fork = [{ compute = '1ms' }] }, 'wait']",
        "machine = 'uniform'\nworkload.b = { arrivals = { every = '2ms' }, requests = 5, steps = [{ compute = '1ms' }] }",
        "machine = 'uniform'\nworkload.b.steps = [{ compute = { uniform = ['2ms', '2ms'] } }]",
        // A drive that no task uses.
        &format!("machine = {{ preset = 'uniform', {DRIVE} }}"),
    ] {
        assert!(!seeded(&format!("{rest}\n{FIXED}")), "{rest}");
    }
}

#[test]
fn what_draws_says_so() {
    for rest in [
        // The moment of the first tick is drawn, and the tick takes time, takes samples, or ends sleeps.
        "machine = { preset = 'uniform', clock = { hz = '100/s', interrupt = '10us' } }",
        "machine = { preset = 'uniform', clock = { hz = '100/s', timers = 'tick' } }",
        "machine = { preset = 'uniform', accounting = 'sampled', clock = { hz = '100/s' } }",
        "machine = { preset = 'uniform', accounting = 'sampled', clock = { hz = '100/s', phase = '0s', stat_hz = '128/s' } }",
        "machine = { preset = 'uniform', devices.net = { every = { exp = '7ms' }, cost = '10us' } }",
        "machine = 'uniform'\nworkload.b.steps = [{ compute = { exp = '1ms' } }]",
        "machine = 'uniform'\nworkload.b = { start = { uniform = ['0s', '1ms'] }, steps = [{ compute = '1ms' }] }",
        "machine = 'uniform'\nworkload.b = { count = 2, gap = { exp = '1ms' }, steps = [{ compute = '1ms' }] }",
        "machine = 'uniform'\nworkload.b.steps = [{ fork = [{ compute = { exp = '1ms' } }] }, 'wait']",
        "machine = 'uniform'\nworkload.b = { arrivals = { poisson = '90/s' }, requests = 5, steps = [{ compute = '1ms' }] }",
        &format!(
            "machine = {{ preset = 'uniform', {DRIVE} }}\n\
             workload.b.steps = [{{ open = {{ files = 1, size = '4KiB' }} }}, {{ read = '4KiB' }}, 'close']"
        ),
    ] {
        assert!(seeded(&format!("{rest}\n{FIXED}")), "{rest}");
    }
    for policy in ["lottery", "bsd4"] {
        assert!(seeded(&format!("machine = 'uniform'\n{}", FIXED.replace("fifo", policy))), "{policy}");
    }
}
