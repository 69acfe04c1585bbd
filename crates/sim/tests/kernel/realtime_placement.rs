//! Where eevdf and cfs put real-time tasks on several processors: by the rules of Linux (`select_task_rq_rt`, `find_lowest_rq`,
//! `check_preempt_equal_prio`, `push_rt_task`), worked out by hand, and what follows from them in any scene.

use proptest::prelude::*;
use schedlab_model::{
    MILLISECOND, Nanos,
    event::{Event, Kind, Leave},
    processors::CpuSet,
    task::{CpuId, TaskId},
};
use schedlab_policies::schedulers::{Cfs, Eevdf};
use schedlab_testing::schedulers::{Run, cases, figures::share, run, scenario};

type Both = (Eevdf, Cfs);
const ALL: [&str; 5] = [
    "name = \"eevdf\"",
    "name = \"eevdf\", variant = \"6.17\"",
    "name = \"eevdf\", variant = \"6.12\"",
    "name = \"cfs\"",
    "name = \"cfs\", variant = \"5.10\"",
];

/// Without any limit to real-time tasks.
fn on(processors: usize, scheduler: &str, milliseconds: u64, jobs: &str) -> Run {
    let head =
        format!("machine = {{ preset = \"uniform\", processors = {processors}, clock = {{ hz = \"1000/s\" }} }}\n");
    let text = format!(
        "{head}scheduler = {{ {scheduler}, rt_throttling = \"off\" }}\nduration = \"{milliseconds}ms\"\n{jobs}"
    );
    run::<Both>(&scenario(&text), 1)
}

/// The moves of a task: when, ms, and to where.
fn moves(run: &Run, task: TaskId) -> Vec<(Nanos, CpuId)> {
    let moved = run.of(Kind::Migrated).filter(|event| event.task == task);
    moved.map(|event| (event.time / MILLISECOND, event.cpu)).collect()
}

/// Where a task came to run, each time.
fn places(run: &Run, task: TaskId) -> Vec<CpuId> {
    run.of(Kind::SwitchIn).filter(|event| event.task == task).map(|event| event.cpu).collect()
}

/// `p` wakes next to `m`, which may use the idle processor. It runs at once, at the head of its list, and `m` is sent there.
#[test]
fn a_bound_task_that_wakes_behind_an_equal_one_sends_it_to_another_processor() {
    const M: TaskId = 1; // tasks are numbered by the names of jobs
    const P: TaskId = 2;
    for scheduler in ALL {
        let jobs = r#"
            workload.b = { policy = "fifo", priority = 50, cpus = [1], steps = [{ compute = "3ms" }] }
            workload.m = { policy = "fifo", priority = 10, start = "1ms", load = "spin", passes = "forever" }
            workload.p = { policy = "fifo", priority = 10, cpus = [0], passes = "forever", steps = [{ sleep = "7ms" }, { compute = "1ms" }] }
            workload.z.steps = [{ sleep = "1s" }]
        "#;
        let run = on(2, scheduler, 800, jobs);
        // At 1 ms it begins on processor 1, and leaves that to b.
        assert_eq!((moves(&run, M), share(&run, P)), (vec![(1, 0), (7, 1)], 12.5), "{scheduler}");
        let late =
            run.of(Kind::SwitchIn).filter(|event| event.task == P && event.time % (8 * MILLISECOND) != 7 * MILLISECOND);
        assert_eq!(late.filter(|event| event.time > 0).count(), 0, "{scheduler}: it never waits");
    }
}

/// The other processor runs a task as good; or the running one is bound, too; or the woken one may go elsewhere, and does.
#[test]
fn an_equal_task_goes_on_where_it_cannot_go_elsewhere_or_the_woken_one_can() {
    let scene = |scheduler: &str, other: u8, m: &str, p: &str| {
        let jobs = format!(
            r#"
            workload.b = {{ policy = "fifo", priority = {other}, cpus = [1], start = "500us", load = "spin", passes = "forever" }}
            workload.m = {{ policy = "fifo", priority = 10, cpus = {m}, start = "1ms", load = "spin", passes = "forever" }}
            workload.p = {{ policy = "fifo", priority = 10, cpus = [0], steps = [
                {{ compute = "100us" }}, {{ set = {{ cpus = {p} }} }}, {{ sleep = "7ms" }}, {{ compute = "1ms" }}] }}
            "#
        );
        let run = on(2, scheduler, 20, &jobs);
        (places(&run, 1), places(&run, 2))
    };
    for scheduler in ALL {
        assert_eq!(scene(scheduler, 10, "[0, 1]", "[0]"), (vec![0], vec![0]), "{scheduler}");
        assert_eq!(scene(scheduler, 9, "[0]", "[0]"), (vec![0], vec![0]), "{scheduler}");
        assert_eq!(scene(scheduler, 9, "[0]", "[0, 1]"), (vec![0], vec![0, 1]), "{scheduler}");
        assert_eq!(scene(scheduler, 9, "[0, 1]", "[0, 1]"), (vec![0], vec![0, 1]), "{scheduler}");
        assert_eq!(scene(scheduler, 9, "[0, 1]", "[0]"), (vec![0, 1], vec![0, 0]), "{scheduler}");
    }
}

/// `p` could preempt `pin`, which may use processor 0 only. So it leaves that to it.
#[test]
fn a_woken_task_leaves_its_processor_to_a_lesser_one_that_is_bound_to_it() {
    for scheduler in ALL {
        let jobs = r#"
            workload.p = { policy = "fifo", priority = 20, cpus = [0], steps = [
                { sleep = "5ms" }, { set = { cpus = [0, 1] } },
                { repeat = { times = "forever", steps = [{ sleep = "5ms" }, { compute = "5ms" }] } }] }
            workload.pin = { policy = "fifo", priority = 10, cpus = [0], load = "spin", passes = "forever" }
        "#;
        let run = on(2, scheduler, 1005, jobs);
        assert_eq!(moves(&run, 0), [(10, 1)], "{scheduler}");
        assert_eq!(share(&run, 1), 100.0, "{scheduler}");
        // Where the other processor has a task as good, it stays, and preempts.
        let equal =
            "workload.q = { policy = \"fifo\", priority = 20, cpus = [1], load = \"spin\", passes = \"forever\" }\n";
        let run = on(2, scheduler, 1005, &(jobs.to_owned() + equal));
        assert_eq!((moves(&run, 0), places(&run, 0).len()), (vec![], 102), "{scheduler}");
    }
}

/// Processor 0 has a better task, 1 runs the fair waker, and 2 idles: both are normal, and preempting the waker is cheaper.
#[test]
fn a_woken_task_that_must_leave_goes_to_its_waker_s_processor_though_another_one_idles() {
    for scheduler in ALL {
        let jobs = r#"
            workload.p = { policy = "fifo", priority = 10, cpus = [0], steps = [
                { receive = "q" }, { set = { cpus = [0, 1, 2] } },
                { repeat = { times = "forever", steps = [{ receive = "q" }, { compute = "5ms" }] } }] }
            workload.top = { policy = "fifo", priority = 50, cpus = [0], start = "14ms", load = "spin", passes = "forever" }
            workload.wr = { cpus = [1], passes = "forever", steps = [{ compute = "9ms" }, { send = "q" }] }
        "#;
        let run = on(3, scheduler, 18 + 1400, jobs);
        assert_eq!(moves(&run, 0), [(18, 1)], "{scheduler}");
        // 9 ms of work and 5 ms of waiting.
        let work: Nanos = run.of(Kind::SwitchOut).filter(|event| event.task == 2).map(|event| event.a + event.b).sum();
        assert_eq!(work, (18 + 900) * MILLISECOND, "{scheduler}");
    }
}

/// Three tasks wake one after the other where a better one runs, by timers: no other processor is nearer than the rest.
#[test]
fn of_equally_near_processors_each_is_taken_in_turn_and_in_5_10_the_first() {
    let one = |name: &str, wakes: u64| {
        format!(
            "workload.{name} = {{ policy = \"fifo\", priority = 10, cpus = [0], steps = [{{ compute = \"1ms\" }}, \
             {{ set = {{ cpus = [0, 1, 2, 3] }} }}, {{ sleep = \"{wakes}ms\" }}, {{ compute = \"1ms\" }}] }}\n"
        )
    };
    for scheduler in ALL {
        let top = "workload.z = { policy = \"fifo\", priority = 50, cpus = [0], start = \"5ms\", load = \"spin\", passes = \"forever\" }\n";
        let jobs: String =
            ["a", "b", "c", "d"].into_iter().zip([10, 20, 30, 40]).map(|(name, wakes)| one(name, wakes)).collect();
        let run = on(4, scheduler, 60, &(jobs + top));
        let last = [0, 1, 2, 3].map(|task| *places(&run, task).last().expect("it ran"));
        let expected = if scheduler.contains("5.10") { [1, 1, 1, 1] } else { [1, 2, 3, 1] };
        assert_eq!(last, expected, "{scheduler}");
    }
}

/// A real-time task of a random scene.
#[derive(Debug, Clone)]
struct Job {
    priority: u8,
    bound: Option<CpuId>,
    start: u64,
    /// For how long it computes and then sleeps, µs; it never sleeps where that is nothing.
    rhythm: Option<(u64, u64)>,
}

fn any_job() -> impl Strategy<Value = Job> {
    let rhythm = prop::option::weighted(0.7, (10..5_000u64, 10..9_000u64));
    (1..5u8, prop::option::weighted(0.4, 0..4u16), 0..9_000u64, rhythm)
        .prop_map(|(priority, bound, start, rhythm)| Job { priority, bound, start, rhythm })
}

impl Job {
    fn allowed(&self, processors: u16) -> CpuSet {
        self.bound.map_or(CpuSet::all(processors.into()), |cpu| CpuSet::only(cpu % processors))
    }

    fn text(&self, name: usize, processors: u16) -> String {
        let cpus: Vec<CpuId> = self.allowed(processors).iter().collect();
        let steps = match self.rhythm {
            Some((work, sleep)) => format!("{{ compute = \"{work}us\" }}, {{ sleep = \"{sleep}us\" }}"),
            None => "{ compute = \"1s\" }".to_owned(),
        };
        format!(
            "workload.j{name} = {{ policy = \"fifo\", priority = {}, cpus = {cpus:?}, start = \"{}us\", passes = \"forever\", \
             steps = [{steps}] }}\n",
            self.priority, self.start
        )
    }
}

/// What the tasks of a scene do at an instant.
struct Scene<'a> {
    jobs: &'a [Job],
    running: Vec<Option<usize>>,
    /// The processor for which a task waits.
    waiting: Vec<Option<CpuId>>,
    /// Bound tasks that were woken at this instant.
    woken: Vec<usize>,
}

impl Scene<'_> {
    fn note(&mut self, event: &Event) {
        let (task, cpu) = (event.task as usize, usize::from(event.cpu));
        match event.kind {
            Kind::Wakeup => {
                self.waiting[task] = Some(event.cpu);
                self.woken.extend(self.jobs[task].bound.map(|_| task));
            }
            Kind::Migrated => self.waiting[task] = self.waiting[task].map(|_| event.cpu),
            Kind::SwitchIn => (self.waiting[task], self.running[cpu]) = (None, Some(task)),
            Kind::SwitchOut => {
                self.running[cpu] = None;
                let waits = event.flag != Leave::Blocked as u8;
                self.waiting[task] = waits.then_some(event.cpu);
            }
            _ => {}
        }
    }

    /// Whether a task goes before what runs on one of these processors.
    fn is_better(&self, task: usize, cpus: &CpuSet) -> Option<CpuId> {
        let lower = |running: Option<usize>| running.is_none_or(|it| self.jobs[it].priority < self.jobs[task].priority);
        cpus.iter().find(|&cpu| lower(self.running[usize::from(cpu)]))
    }

    /// What is wrong when an instant is over.
    fn check(&mut self) -> Result<(), String> {
        let processors = self.running.len() as u16;
        for (cpu, task) in self.running.iter().enumerate() {
            let bound = task.and_then(|task| self.jobs[task].bound).map(|cpu| usize::from(cpu % processors));
            if bound.is_some_and(|bound| bound != cpu) {
                return Err(format!("{task:?} runs on {cpu}"));
            }
        }
        for task in (0..self.jobs.len()).filter(|&task| self.waiting[task].is_some()) {
            if let Some(cpu) = self.is_better(task, &self.jobs[task].allowed(processors)) {
                return Err(format!("{task} waits, {:?} runs on {cpu}", self.running[usize::from(cpu)]));
            }
        }
        for task in std::mem::take(&mut self.woken) {
            let Some(runs) = self.waiting[task].and_then(|cpu| self.running[usize::from(cpu)]) else { continue };
            let equal = self.jobs[runs].priority == self.jobs[task].priority && self.jobs[runs].bound.is_none();
            if let Some(cpu) = self.is_better(runs, &CpuSet::all(processors.into())).filter(|_| equal) {
                return Err(format!("{task} waits behind {runs}, which could run on {cpu}"));
            }
        }
        Ok(())
    }
}

/// The first instant at which the scene is wrong. That at which it begins or ends is left out: several things happen there.
fn first_wrong(run: &Run, jobs: &[Job], processors: u16) -> Result<(), String> {
    let (running, waiting) = (vec![None; processors.into()], vec![None; jobs.len()]);
    let mut scene = Scene { jobs, running, waiting, woken: Vec::new() };
    let events: Vec<&Event> = run.events.iter().filter(|event| event.time < run.end).collect();
    for instant in events.chunk_by(|one, other| one.time == other.time) {
        instant.iter().for_each(|event| scene.note(event));
        scene.check().map_err(|wrong| format!("at {} us: {wrong}", instant[0].time / 1000))?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(300))]

    /// The best tasks run, as many as there are processors, as far as they are bound to none; and a bound one that wakes does not wait
    /// behind an equal one that could run elsewhere.
    #[test]
    fn the_best_real_time_tasks_run_where_they_may(
        jobs in prop::collection::vec(any_job(), 1..8), processors in 2..5u16, which in 0..ALL.len(),
    ) {
        let text: String = jobs.iter().enumerate().map(|(name, job)| job.text(name, processors)).collect();
        let run = on(processors.into(), ALL[which], 60, &text);
        let wrong = first_wrong(&run, &jobs, processors);
        prop_assert!(wrong.is_ok(), "{}: {}\n{text}", ALL[which], wrong.unwrap_err());
    }
}
