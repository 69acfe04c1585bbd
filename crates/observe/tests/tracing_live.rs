//! The recorder against the running kernel. Skipped, with the reason, where it may not be used.
//!
//! A kernel may leave out switches (seen on a virtual machine); the recorder counts that as loss, and these tests ask for
//! bounds that hold all the same where that is so.

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::{Pid, gettid};
use schedlab_linux::{Root, sched::Attributes};
use schedlab_observe::tracing::{Recorded, Recorder, Roster, RosterTask};
use schedlab_tune::RunJournal;
use std::{
    io::{Read, Write},
    sync::{Mutex, MutexGuard, mpsc},
    thread,
    time::{Duration, Instant},
};

const KIB: u32 = 8 << 10;
/// A processor whose tasks these are: on the machines where this was seen, a kernel that leaves out switches from idle did so on the
/// others.
const PROCESSOR: usize = 0;
/// A kernel that records nothing for a while is no fault of the reader's; one that never records anything is.
const ATTEMPTS: usize = 4;

/// One at a time: they share a processor.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Makes the attempt until it succeeds; the last one may fail as it likes.
fn as_the_kernel_reports(attempt: fn()) {
    let failed = (1..ATTEMPTS).all(|_| std::panic::catch_unwind(attempt).is_err());
    if failed {
        attempt();
    }
}

fn start(kib: u32) -> Option<Recorder> {
    let journal = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("tracing_live");
    match Recorder::start(&RunJournal::open(&Root::default(), &journal), &[], kib) {
        Ok(recorder) => Some(recorder),
        Err(fault) => {
            println!("skipped: {fault}");
            None
        }
    }
}

fn now() -> u64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).unwrap();
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// The processor of the tests, or the only one.
fn pin() -> u16 {
    let mut set = CpuSet::new();
    let cpu = if thread::available_parallelism().map_or(1, usize::from) > PROCESSOR { PROCESSOR } else { 0 };
    set.set(cpu).unwrap();
    sched_setaffinity(Pid::from_raw(0), &set).unwrap();
    cpu as u16
}

/// A thread on the tests' processor, with its number.
fn on_processor<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> (thread::JoinHandle<T>, i32, u16) {
    let (send, receive) = mpsc::channel();
    let thread = thread::spawn(move || {
        let cpu = pin();
        send.send((gettid().as_raw(), cpu)).unwrap();
        work()
    });
    let (tid, cpu) = receive.recv().unwrap();
    (thread, tid, cpu)
}

fn roster(pids: &[i32], cpu: u16, (begin_ns, end_ns): (u64, u64)) -> Roster {
    let member = |(job, &pid): (usize, &i32)| RosterTask { pid, job: job as u32, nice: 0, parent: None };
    let tasks = pids.iter().enumerate().map(member).collect();
    let jobs = (0..pids.len()).map(|job| format!("job{job}")).collect();
    Roster { jobs, tasks, processors: vec![cpu], begin_ns, end_ns, ..Roster::default() }
}

fn row(recorded: &Recorded, roster: &Roster, metric: &str) -> f64 {
    let found = recorded.rows(roster).into_iter().find(|row| row.metric == metric);
    found.unwrap_or_else(|| panic!("no row {metric}")).value
}

fn instances() -> Vec<String> {
    let ours = format!("schedlab-{}-", std::process::id());
    let Ok(tracefs) = schedlab_linux::tracefs::Tracefs::open(&Root::default()) else { return Vec::new() };
    let all = std::fs::read_dir(tracefs.path("instances")).into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.starts_with(&ours)).collect()
}

#[test]
fn a_ping_pong_switches_as_often_as_it_plays() {
    as_the_kernel_reports(a_ping_pong_switches_as_often_as_it_plays_once);
}

fn a_ping_pong_switches_as_often_as_it_plays_once() {
    const ROUNDS: usize = 2000;
    let _turn = turn();
    let Some(recorder) = start(KIB) else { return };
    let (mut ping_in, mut ping_out) = std::io::pipe().unwrap();
    let (mut pong_in, mut pong_out) = std::io::pipe().unwrap();
    let begin = now();
    let (ponger, pong, cpu) = on_processor(move || {
        let mut ball = [0];
        for _ in 0..ROUNDS {
            ping_in.read_exact(&mut ball).unwrap();
            pong_out.write_all(&ball).unwrap();
        }
    });
    let (pinger, ping, _) = on_processor(move || {
        let mut ball = [0];
        for _ in 0..ROUNDS {
            ping_out.write_all(&ball).unwrap();
            pong_in.read_exact(&mut ball).unwrap();
        }
    });
    pinger.join().unwrap();
    ponger.join().unwrap();
    let end = now();
    let recorded = recorder.stop().unwrap();
    let roster = roster(&[ping, pong], cpu, (begin, end));
    for job in ["job0", "job1"] {
        let count = |kind: &str| row(&recorded, &roster, &format!("tasks.{job}.{kind}_switches")) as usize;
        // One that is preempted in the moment of its write does not wait for the answer any more.
        let left = count("voluntary") + count("involuntary");
        // In addition to the rounds: the start, the end, and unrecorded switches.
        let slack = 20 + recorded.lost() as usize;
        assert!(left.abs_diff(ROUNDS) <= slack, "{job}: {left} switches in {ROUNDS} rounds, {} lost", recorded.lost());
    }
    assert_eq!(instances(), Vec::<String>::new());
}

#[test]
fn the_time_of_a_processor_adds_up() {
    as_the_kernel_reports(the_time_of_a_processor_adds_up_once);
}

fn the_time_of_a_processor_adds_up_once() {
    let _turn = turn();
    let Some(recorder) = start(KIB) else { return };
    let begin = now();
    let (worker, tid, cpu) = on_processor(|| {
        let until = Instant::now() + Duration::from_millis(200);
        while Instant::now() < until {}
        nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap()
    });
    let used = worker.join().unwrap();
    let end = now();
    let recorded = recorder.stop().unwrap();
    let roster = roster(&[tid], cpu, (begin, end));
    let share = row(&recorded, &roster, "tasks.job0.share");
    let others = row(&recorded, &roster, "utilization") - share;
    let own = others - recorded.foreign_percent(&roster);
    assert!(own > -0.01, "the foreign part is more than what is left: {share} {others} {own}");
    let measured = used.tv_sec() as f64 + used.tv_nsec() as f64 / 1e9;
    let recorded_time = share / 100.0 * (end - begin) as f64 / 1e9;
    assert!(
        (recorded_time - measured).abs() < 0.01 * measured + 0.001,
        "{recorded_time} s in events, {measured} s on the thread's clock"
    );
}

#[test]
fn a_task_held_off_for_20_ms_has_waited_as_long() {
    as_the_kernel_reports(a_task_held_off_for_20_ms_has_waited_as_long_once);
}

fn a_task_held_off_for_20_ms_has_waited_as_long_once() {
    const HELD: Duration = Duration::from_millis(20);
    let _turn = turn();
    let Some(recorder) = start(KIB) else { return };
    let (mut input, mut output) = std::io::pipe().unwrap();
    let (sleeper, tid, cpu) = on_processor(move || input.read_exact(&mut [0]).unwrap());
    let begin = now();
    let (hog, _, _) = on_processor(move || {
        let fifo = Attributes { policy: libc::SCHED_FIFO as u32, priority: 1, ..Attributes::default() };
        if fifo.set(0).is_err() {
            return false;
        }
        output.write_all(&[0]).unwrap();
        let until = Instant::now() + HELD;
        while Instant::now() < until {}
        true
    });
    let held = hog.join().unwrap();
    sleeper.join().unwrap();
    let end = now();
    let recorded = recorder.stop().unwrap();
    if !held {
        println!("skipped: no real-time policy for this user");
        return;
    }
    let roster = roster(&[tid], cpu, (begin, end));
    let waited = row(&recorded, &roster, "tasks.job0.wakeup_latency.max");
    assert!(waited >= HELD.as_secs_f64(), "{waited} s");
}

#[test]
fn a_buffer_that_is_too_small_reports_its_loss() {
    let _turn = turn();
    let Some(recorder) = start(4) else { return };
    let (worker, _, _) = on_processor(|| (0..3000).for_each(|_| thread::sleep(Duration::from_micros(1))));
    worker.join().unwrap();
    let recorded = recorder.stop().unwrap();
    assert!(recorded.lost() > 1000, "{} lost, {} kept", recorded.lost(), recorded.len());
}

#[test]
fn a_recorder_that_is_dropped_leaves_nothing() {
    let _turn = turn();
    let Some(recorder) = start(64) else { return };
    assert_eq!(instances().len(), 1);
    drop(recorder);
    assert_eq!(instances(), Vec::<String>::new());
}

#[test]
fn emptying_the_buffers_meanwhile_loses_nothing() {
    as_the_kernel_reports(emptying_the_buffers_meanwhile_loses_nothing_once);
}

fn emptying_the_buffers_meanwhile_loses_nothing_once() {
    let _turn = turn();
    let Some(mut recorder) = start(256) else { return };
    let begin = now();
    let (worker, tid, cpu) = on_processor(|| (0..4000).for_each(|_| thread::sleep(Duration::from_micros(1))));
    while !worker.is_finished() {
        thread::sleep(Duration::from_millis(5));
        recorder.drain().unwrap();
    }
    worker.join().unwrap();
    let end = now();
    let recorded = recorder.stop().unwrap();
    let left = row(&recorded, &roster(&[tid], cpu, (begin, end)), "tasks.job0.voluntary_switches") as u64;
    assert!(
        (4000..4040).contains(&(left + recorded.lost())) || recorded.lost() == 0 && left >= 4000,
        "{left} switches, {} lost",
        recorded.lost()
    );
}
