//! What holds for every recording: the time of a task adds up, and nothing that a file may hold is too much.

mod made;

use made::Made;
use proptest::prelude::*;
use schedlab_explain::{Options, Report, Row};
use schedlab_traces::kernel::{Context, Event, Kind, Left, Pid};

const TASKS: Pid = 6;

/// What a row says that its task did, s.
fn all_of(row: &Row) -> f64 {
    let waits = row.wakeup_wait_s + row.preempt_wait_s + row.start_wait_s;
    row.run_s + waits + row.blocked_s + row.unknown_s + row.cut_s
}

/// A kernel of two processors that follows a script: what it records, and what its tasks did, us.
struct Kernel {
    made: Made,
    now: u64,
    running: [Pid; 2],
    runnable: Vec<Pid>,
    sleeping: Vec<Pid>,
    run: Vec<u64>,
    blocked: Vec<u64>,
    waited: Vec<u64>,
}

impl Kernel {
    fn new() -> Kernel {
        let made = Made::default();
        let sleeping = (1..=TASKS).collect();
        let none = vec![0; TASKS as usize + 1];
        Kernel {
            made,
            now: 0,
            running: [0; 2],
            runnable: Vec::new(),
            sleeping,
            run: none.clone(),
            blocked: none.clone(),
            waited: none,
        }
    }

    fn pass(&mut self, us: u64) {
        self.now += us;
        self.running.iter().for_each(|task| self.run[*task as usize] += us);
        self.runnable.iter().for_each(|task| self.waited[*task as usize] += us);
        self.sleeping.iter().for_each(|task| self.blocked[*task as usize] += us);
    }

    fn wake(&mut self, cpu: u16, which: usize) {
        if !self.sleeping.is_empty() {
            let task = self.sleeping.remove(which % self.sleeping.len());
            let waker = self.running[usize::from(cpu)];
            self.made.waking(self.now, cpu, waker, task);
            self.runnable.push(task);
        }
    }

    fn switch(&mut self, cpu: u16, sleeps: bool) {
        let prev = self.running[usize::from(cpu)];
        let next = if self.runnable.is_empty() { 0 } else { self.runnable.remove(0) };
        if next == 0 && (prev == 0 || !sleeps) {
            return;
        }
        if prev != 0 {
            if sleeps { self.sleeping.push(prev) } else { self.runnable.push(prev) }
        }
        let left = if sleeps && prev != 0 { Left::Sleeping } else { Left::Runnable };
        self.made.switch(self.now, cpu, prev, left, next);
        self.running[usize::from(cpu)] = next;
    }
}

fn close(a: f64, us: u64) -> bool {
    (a * 1e6 - us as f64).abs() < 1e-3
}

/// Whatever a file may hold.
fn any_event() -> impl Strategy<Value = Event> {
    let kind = prop::sample::select(vec![
        Kind::Switch,
        Kind::Switch,
        Kind::Switch,
        Kind::Waking,
        Kind::Waking,
        Kind::Woken,
        Kind::New,
        Kind::Migrate,
        Kind::Fork,
        Kind::Exit,
        Kind::Runtime,
        Kind::IrqEntry,
        Kind::SoftirqEntry,
        Kind::SoftirqExit,
        Kind::TimerExpire,
        Kind::TimerDone,
        Kind::BlockComplete,
        Kind::SyscallEnter,
        Kind::SyscallExit,
        Kind::Named,
        Kind::Member,
        Kind::Treated,
        Kind::Lost,
    ]);
    let pid = || prop_oneof![8 => 0..6i32, 1 => any::<i32>()];
    let value = prop_oneof![4 => 0..4000u64, 1 => any::<u64>()];
    let time = prop_oneof![20 => 0..5_000_000u64, 1 => any::<u64>()];
    let cpu = prop_oneof![20 => 0..3u16, 1 => any::<u16>()];
    (kind, pid(), pid(), value, time, cpu, any::<u8>()).prop_map(|(kind, task, other, value, time, cpu, bits)| Event {
        time,
        value,
        task,
        other,
        extra: 0,
        cpu,
        kind,
        bits,
    })
}

fn rows_of(report: &Report, pid: Pid) -> impl Iterator<Item = &Row> {
    report.tasks.iter().filter(move |row| row.pid == Some(pid))
}

proptest! {
    #[test]
    fn run_wait_and_blocked_are_what_the_kernel_did_and_add_up_to_the_span(
        steps in prop::collection::vec((0u64..50, 0u16..2, 0u8..4, any::<usize>()), 10..400),
    ) {
        let mut kernel = Kernel::new();
        // All tasks are seen asleep at first, so that nothing is cut at the beginning.
        for task in 1..=TASKS {
            kernel.made.switch(0, 0, if task == 1 { 0 } else { task - 1 }, Left::Sleeping, task);
        }
        kernel.made.switch(0, 0, TASKS, Left::Sleeping, 0).switch(0, 1, 99, Left::Sleeping, 0);
        for (us, cpu, what, which) in steps {
            kernel.pass(us);
            match what {
                0 | 1 => kernel.wake(cpu, which),
                _ => kernel.switch(cpu, what == 2),
            }
        }
        let report = kernel.made.report();
        prop_assert_eq!(report.repaired, 0);
        for task in 1..=TASKS {
            let row = rows_of(&report, task).next().unwrap();
            // The time after its last event is in what is cut, and in one of the three that the kernel knows.
            prop_assert!(close(all_of(row), (report.span_s * 1e6).round() as u64), "{row:?} of {}", report.span_s);
            let place = task as usize;
            let lacks = |said: f64, did: u64| did as f64 - said * 1e6;
            let lacking = [
                lacks(row.run_s, kernel.run[place]),
                lacks(row.wakeup_wait_s + row.preempt_wait_s, kernel.waited[place]),
                lacks(row.blocked_s, kernel.blocked[place]),
            ];
            prop_assert!(lacking.iter().all(|it| *it > -1e-3) && lacking.iter().filter(|it| **it > 1e-3).count() <= 1, "{lacking:?} {row:?}");
        }
        let busy: f64 = report.processors.iter().map(|it| it.busy_s).sum();
        let idle: f64 = report.processors.iter().map(|it| it.idle_s).sum();
        prop_assert!((busy + idle - 2.0 * report.span_s).abs() < 1e-9);
        prop_assert!(report.wasted_s <= idle + 1e-9);
        for wait in &report.worst_waits {
            let ran = wait.ran.iter().map(|it| it.us).sum::<f64>() + wait.others_us + wait.idle_us;
            prop_assert!((ran - wait.wait_us).abs() < 1e-3 && !wait.cut, "{ran} of {wait:?}");
        }
    }

    #[test]
    fn time_adds_up_though_events_are_missing(
        steps in prop::collection::vec((0u64..50, 0u16..2, 0u8..4, any::<usize>()), 10..300),
        lost in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
    ) {
        let mut kernel = Kernel::new();
        for (us, cpu, what, which) in steps {
            kernel.pass(us);
            match what {
                0 | 1 => kernel.wake(cpu, which),
                _ => kernel.switch(cpu, what == 2),
            }
        }
        for index in lost {
            if kernel.made.0.len() > 1 {
                kernel.made.0.remove(index.index(kernel.made.0.len()));
            }
        }
        let Ok(report) = kernel.made.explain(&[], Options::default()) else { return Ok(()) };
        for row in &report.tasks {
            prop_assert!(close(all_of(row), (report.span_s * 1e6).round() as u64), "{row:?} of {}", report.span_s);
        }
    }

    #[test]
    fn nothing_that_a_file_may_hold_is_too_much(
        events in prop::collection::vec(any_event(), 0..300), blocks: bool,
        window in prop::option::of((0u64..4_000_000, 0u64..8_000_000)), cpu in prop::option::of(0u16..2),
    ) {
        let mut events = events;
        events.sort_by_key(|event| event.time);
        let (from, to) = window.unzip();
        let made = Made(events);
        if let Ok(report) = made.explain(&[(1, "one")], Options { blocks, from, to, cpu, ..Options::default() }) {
            for row in &report.tasks {
                prop_assert!(all_of(row) <= report.span_s * (1.0 + 1e-9) + 1e-6, "{row:?} of {}", report.span_s);
            }
        }
    }
}

#[test]
fn a_context_is_not_needed() {
    let mut made = Made::default();
    made.switch(0, 0, 1, Left::Sleeping, 2).interrupt_wakes(5, 0, Context::Unknown, 1).switch(
        9,
        0,
        2,
        Left::Runnable,
        1,
    );
    assert_eq!(made.report().tasks.len(), 2);
}
