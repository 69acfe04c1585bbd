//! Favoured cores under eevdf and cfs (ASYM_PACKING): idle ones take tasks from less favoured ones, by the rules of each kernel, worked out by
//! hand. A tick is 4 ms.

use schedlab_model::{MILLISECOND, event::Kind, task::TaskId};
use schedlab_policies::schedulers::{Cfs, Eevdf};
use schedlab_testing::schedulers::{Run, figures::hog, run, scenario};

type Both = (Eevdf, Cfs);
const V5_10: &str = "name = \"cfs\", variant = \"5.10\"";
const V6_1: &str = "name = \"cfs\"";
const V6_12: &str = "name = \"eevdf\", variant = \"6.12\"";
const V6_17: &str = "name = \"eevdf\", variant = \"6.17\"";
const V6_18: &str = "name = \"eevdf\"";
const ALL: [&str; 5] = [V5_10, V6_1, V6_12, V6_17, V6_18];
/// Kernels in which the threads of a core differ in priority, and those in which they do not.
const OLD: [&str; 2] = [V5_10, V6_1];
const NEW: [&str; 3] = [V6_12, V6_17, V6_18];

/// Two cores with two threads: 0 and 2, 1 and 3.
fn threads(priorities: [u16; 2]) -> String {
    format!("processors = 4, topology = {{ threads = 2, thread_speed = 0.6, priorities = {priorities:?} }}")
}

/// Cores of one cache without threads.
fn cores(priorities: &[u16]) -> String {
    format!("processors = {}, topology = {{ priorities = {priorities:?} }}", priorities.len())
}

fn on(machine: &str, scheduler: &str, jobs: &str) -> Run {
    let head = format!("machine = {{ preset = \"uniform\", clock = {{ hz = \"250/s\" }}, {machine} }}\n");
    let text = format!("{head}scheduler = {{ {scheduler} }}\nduration = \"2s\"\n{jobs}");
    run::<Both>(&scenario(&text), 1)
}

/// Hogs, each bound to one of these processors at first, and after 100 ms free to run on all of the machine.
fn begun_on(machine: &str, scheduler: &str, cpus: &[u16]) -> Run {
    let processors: u16 =
        machine["processors = ".len()..].split(',').next().and_then(|n| n.parse().ok()).expect("a number");
    let all: Vec<u16> = (0..processors).collect();
    let job = |(task, cpu): (usize, &u16)| {
        let steps = format!("{{ sleep = \"100ms\" }}, {{ set = {{ cpus = {all:?} }} }}, {{ compute = \"100s\" }}");
        format!("workload.h{task} = {{ cpus = [{cpu}], steps = [{steps}] }}\n")
    };
    on(machine, scheduler, &cpus.iter().enumerate().map(job).collect::<String>())
}

/// The moves: after how many ms from the moment at which the hogs were freed, which, and where to.
fn moves(run: &Run) -> Vec<(u64, TaskId, u16)> {
    let after = |time: u64| (time - 100 * MILLISECOND) / MILLISECOND;
    run.of(Kind::Migrated).map(|event| (after(event.time), event.task, event.cpu)).collect()
}

/// Where each task ran last.
fn ends(run: &Run, tasks: TaskId) -> Vec<u16> {
    let last = |task| run.of(Kind::SwitchOut).filter(|event| event.task == task).last().expect("it ran").cpu;
    (0..tasks).map(last).collect()
}

/// Nothing waits, so that the stopper moves it. The tick of the busy processor asks the idle one to look, whose interval is 2 ms, or 4 ms where it
/// has found nothing: a tick. The one that is asked looks at that or at the next one.
#[test]
fn a_hog_moves_to_a_favoured_idle_core_and_stays_there() {
    for scheduler in ALL {
        let run = begun_on(&cores(&[30, 40]), scheduler, &[0]);
        let moved = moves(&run);
        assert!(moved.len() == 1 && moved[0].0 <= 8 && moved[0].2 == 1, "{scheduler}: {moved:?}");
    }
}

#[test]
fn a_less_favoured_core_takes_nothing_from_a_favoured_one() {
    for scheduler in ALL {
        assert_eq!(moves(&begun_on(&cores(&[30, 40]), scheduler, &[1])), [], "{scheduler}");
        assert_eq!(moves(&begun_on(&cores(&[40, 40]), scheduler, &[1])), [], "{scheduler}");
    }
}

/// The third one finds both busy.
#[test]
fn hogs_fill_the_favoured_cores_and_the_others_stay_where_they_are() {
    for scheduler in ALL {
        for (count, cpus) in [(2, &[0, 1][..]), (3, &[2, 0, 1])] {
            let run = begun_on(&cores(&[30, 30, 40, 40]), scheduler, cpus);
            let mut last = ends(&run, count);
            last.sort_unstable();
            assert_eq!(last[last.len() - 2..], [2, 3], "{scheduler}");
            assert_eq!(moves(&run).len() as u32, if count == 2 { 2 } else { 1 }, "{scheduler}");
        }
    }
}

/// Of two busy groups it is the one whose most favoured processor is the least. Both others are idle where only one hog runs: the first of them
/// works for the other one first.
#[test]
fn the_least_favoured_core_is_relieved_first_and_its_hog_goes_to_the_most_favoured() {
    for scheduler in ALL {
        let run = begun_on(&cores(&[30, 20, 40]), scheduler, &[0, 1]);
        let moved: Vec<(TaskId, u16)> = moves(&run).iter().map(|it| (it.1, it.2)).collect();
        assert_eq!(moved, [(1, 2)], "{scheduler}");
        let run = begun_on(&cores(&[20, 30, 40]), scheduler, &[0]);
        assert_eq!(moves(&run).iter().map(|it| it.2).collect::<Vec<_>>(), [2], "{scheduler}");
    }
}

/// In the order of processor 2's ring 0 comes before 1.
#[test]
fn of_equal_cores_the_last_is_relieved_up_to_6_8_and_then_the_first() {
    for scheduler in ALL {
        let moved = moves(&begun_on(&cores(&[20, 20, 40]), scheduler, &[0, 1]));
        let task = u32::from(OLD.contains(&scheduler));
        assert_eq!(moved.iter().map(|it| (it.1, it.2)).collect::<Vec<_>>(), [(task, 2)], "{scheduler}");
    }
}

/// 3 is the second thread of the favoured core. Up to 6.5 it is less favoured than the first, and threads of a core are compared, too.
#[test]
fn a_hog_on_the_second_thread_moves_to_the_first_up_to_6_5() {
    for (scheduler, expected) in OLD.map(|it| (it, vec![1])).into_iter().chain(NEW.map(|it| (it, vec![]))) {
        let moved = moves(&begun_on(&threads([30, 40]), scheduler, &[3]));
        assert_eq!(moved.iter().map(|it| it.2).collect::<Vec<_>>(), expected, "{scheduler}");
    }
}

#[test]
fn a_hog_on_a_thread_moves_to_a_favoured_core_that_is_wholly_idle() {
    for scheduler in ALL {
        for cpu in [0, 2] {
            let run = begun_on(&threads([30, 40]), scheduler, &[cpu]);
            assert_eq!(ends(&run, 1), [1], "{scheduler}");
            assert!(moves(&run).len() <= 2 && moves(&run).last().unwrap().0 <= 16, "{scheduler}: {:?}", moves(&run));
        }
    }
}

/// The second thread of the favoured core is idle, but its core is not. Up to 6.5 its priority is 20 (6.1: 40 * 2 / 4) or 40 (5.10: 40 * 2 / 2),
/// and that of the first thread of the other core 60.
#[test]
fn the_second_thread_of_a_busy_favoured_core_takes_nothing_from_the_other_core() {
    for scheduler in ALL {
        assert_eq!(moves(&begun_on(&threads([30, 40]), scheduler, &[1, 0])), [], "{scheduler}");
    }
}

/// 5.10 looks at priorities only: 2 * 10 of the other core's first thread is less than 70 of the second thread here, which takes the hog. The
/// idle core gets one back after four failures, and so on: in 24 ms at least two moves. Since 5.16 a core takes nothing while as many of its
/// threads are busy, though 6.1 favours the second thread, too (70 * 2 / 4).
#[test]
fn in_5_10_hogs_go_back_and_forth_where_a_core_is_favoured_very_much() {
    let count = |scheduler: &str| moves(&begun_on(&threads([10, 70]), scheduler, &[1, 0])).len();
    let old = count(V5_10);
    assert!(old > 1900 / 24 * 2, "{old}");
    for scheduler in [V6_1, V6_12, V6_17, V6_18] {
        assert_eq!(count(scheduler), 0, "{scheduler}");
    }
}

/// Both threads of the favoured core are busy. 5.10 wants the first of them to give its hog to the idle core, which is less favoured: that takes
/// four failures, in looks 4 ms apart. In 6.1 only the second thread is less favoured (40 * 2 / 4) than the first one there (30 * 2). Since 6.6
/// any idle core helps one with two busy threads, and the first gives its hog.
#[test]
fn an_idle_core_helps_a_favoured_one_with_two_busy_threads() {
    for (scheduler, task, soon) in ALL.into_iter().zip([0, 1, 0, 0, 0]).map(|(it, task)| (it, task, it != V5_10)) {
        let run = begun_on(&threads([30, 40]), scheduler, &[1, 3]);
        let (after, moved, to) = moves(&run)[0];
        assert_eq!((moved, to), (task, 0), "{scheduler}");
        assert_eq!(after < 12, soon, "{scheduler}: {after} ms");
        let mut cores: Vec<u16> = ends(&run, 2).into_iter().map(|cpu| cpu % 2).collect();
        cores.sort_unstable();
        assert_eq!(cores, [0, 1], "{scheduler}");
    }
}

/// Processor 1 is a core without a second thread. It takes a hog from a favoured core with two busy threads since 5.16; up to then it sees as many idle
/// processors there as it may. On 2, the second thread of the favoured core, is 90 (5.10: 90 * 2 / 2) or 45 (6.1) more than on 1, but the first
/// one is busy: only 5.10 takes the hog there.
#[test]
fn a_core_without_threads_is_compared_by_busy_threads_since_5_16() {
    let machine = |priorities: [u16; 2]| threads(priorities).replace("processors = 4", "processors = 3");
    for scheduler in ALL {
        let helped = moves(&begun_on(&machine([30, 20]), scheduler, &[0, 2]));
        let soon = helped.iter().filter(|it| it.0 < 12 && it.2 == 1).count();
        assert_eq!((helped.len(), soon), if scheduler == V5_10 { (0, 0) } else { (1, 1) }, "{scheduler}: {helped:?}");
        let taken = moves(&begun_on(&machine([90, 10]), scheduler, &[0, 1])).first().map(|it| it.2);
        assert_eq!(taken, (scheduler == V5_10).then_some(2), "{scheduler}");
    }
}

/// Two caches of two cores. Up to 6.5 nodes know no favoured cores, in 6.12 only those of different capacities. Of the idle processors of a cache
/// the first looks for all, so that the second one gets nothing though it is favoured.
#[test]
fn a_favoured_core_of_another_cache_takes_a_hog_since_6_14_if_it_is_the_first_that_idles() {
    let caches = |priorities: [u16; 4]| {
        format!("processors = 4, topology = {{ cores_per_cache = 2, priorities = {priorities:?} }}")
    };
    for (scheduler, expected) in ALL.into_iter().zip([vec![], vec![], vec![], vec![2], vec![2]]) {
        let moved = moves(&begun_on(&caches([30, 30, 40, 30]), scheduler, &[0]));
        assert_eq!(moved.iter().map(|it| it.2).collect::<Vec<_>>(), expected, "{scheduler}");
        assert_eq!(moves(&begun_on(&caches([30, 30, 30, 40]), scheduler, &[0])), [], "{scheduler}");
    }
}

#[test]
fn a_bound_hog_stays_on_its_core() {
    for scheduler in ALL {
        let run = on(&cores(&[30, 40]), scheduler, &hog("h", "cpus = [0]"));
        assert_eq!(run.of(Kind::Migrated).count(), 0, "{scheduler}");
    }
}

/// More tasks than processors are shared out as ever: a group with waiting tasks is overloaded first of all, and favoured processors are busy.
#[test]
fn three_hogs_on_two_cores_get_equal_shares() {
    for scheduler in ALL {
        let head = "machine = { preset = \"uniform\", clock = { hz = \"250/s\" }, processors = 2, topology = { priorities = [30, 40] } }\n";
        let text = format!("{head}scheduler = {{ {scheduler} }}\nduration = \"60s\"\n{}", hog("h", "count = 3"));
        let run = run::<Both>(&scenario(&text), 1);
        for task in 0..3 {
            let share = schedlab_testing::schedulers::figures::share(&run, task);
            assert!((62.0..72.0).contains(&share), "{scheduler}: {task} gets {share} %");
        }
    }
}
