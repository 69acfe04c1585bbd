//! Round robin with slices in clock ticks, as on IRIX.

use schedlab_model::{
    MILLISECOND, Nanos,
    event::{Irq, Kind},
};
use schedlab_policies::schedulers::RoundRobin;
use schedlab_testing::schedulers::{Run, run, scenario};

schedlab_testing::test_scheduler!(RoundRobin);

const TICK: Nanos = 10 * MILLISECOND;

fn ticked(slice_size: u64, rest: &str) -> Run {
    run::<RoundRobin>(
        &scenario(&format!(
            "machine = {{ preset = \"uniform\", clock = {{ hz = \"100/s\" }} }}\n\
             scheduler = {{ name = \"round_robin\", slice_size = {slice_size} }}\n{rest}"
        )),
        1,
    )
}

fn ticks(run: &Run) -> Vec<Nanos> {
    run.of(Kind::Interrupt).filter(|event| event.a == Irq::Clock as u64).map(|event| event.time).collect()
}

#[test]
fn turns_end_at_ticks_and_are_whole_ones() {
    for size in [1, 3, 10, 100] {
        let hogs = "duration = \"20s\"\nworkload.hog = { load = \"spin\", passes = \"forever\", count = 3 }";
        let run = ticked(size, hogs);
        let (ticks, outs) = (ticks(&run), run.of(Kind::SwitchOut).collect::<Vec<_>>());
        // The first turn begins between two ticks, the last one ends with the run.
        assert!(outs[0].a <= size * TICK && outs[0].a > (size - 1) * TICK, "{}", outs[0].a);
        for out in &outs[1..outs.len() - 1] {
            assert_eq!(out.a, size * TICK, "slice_size {size}");
            assert!(ticks.binary_search(&out.time).is_ok());
        }
        assert_eq!(outs.len() as u64, 2000 / size + u64::from(size == 100 || 2000 % size != 0 || size < 100));
    }
}

#[test]
fn a_lone_task_is_not_switched() {
    let run = ticked(1, "workload.hog = { load = \"spin\", compute = \"1s\" }");
    assert_eq!(run.of(Kind::SwitchOut).count(), 1);
}

#[test]
fn a_task_that_begins_between_two_ticks_is_preempted_early() {
    let run = ticked(
        3,
        r#"
        duration = "10s"
        workload.hog = { load = "spin", passes = "forever" }
        workload.short = { load = "sleeper", run = "4ms", sleep = "1ms", rounds = 100000 }
        "#,
    );
    // The hog begins where the other waits, 4 ms after a tick.
    let turns: Vec<_> = run.of(Kind::SwitchOut).filter(|event| event.task == 0).skip(1).map(|event| event.a).collect();
    assert!(
        turns.len() > 100 && turns[..turns.len() - 1].iter().all(|turn| *turn == 3 * TICK - 4 * MILLISECOND),
        "{turns:?}"
    );
}

#[test]
fn without_slices_in_ticks_the_clock_does_not_tick() {
    let run = ticked(0, "workload.hog = { load = \"spin\", compute = \"1s\", count = 2 }");
    assert!(ticks(&run).is_empty());
}
