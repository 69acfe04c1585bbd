//! Which tasks wait, and for how long: from this, work conservation and starvation are judged.

use super::runs::Run;
use schedlab_model::{
    Nanos, SECOND,
    event::{Event, Kind, Leave, NO_TASK},
    processors::CpuSet,
    scenario::Scenario,
    task::CpuId,
    units::spell_duration,
};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Away,
    /// Waits for a processor since then, and how many tasks existed at most meanwhile.
    Waits(Nanos, u32),
    Runs,
}

/// What was found in a run.
#[derive(Debug, Default)]
pub struct Waits {
    /// A processor that idled while a task waited that may use it, if there was one.
    pub idled: Option<String>,
    /// The same of tasks that may use one processor only; and of waits, the longest of those of more than a second a task.
    pub starved: Option<String>,
    pub bound_starved: Option<String>,
}

struct Books {
    /// By job: the processors that its tasks may use.
    sets: Vec<CpuSet>,
    all: CpuSet,
    now: Nanos,
    tasks: Vec<(Place, CpuSet)>,
    /// Tasks that exist, and those that wait.
    alive: u32,
    waiting: Vec<u32>,
    running: Vec<u32>,
    found: Waits,
}

/// Reads a run's events.
pub fn waits(scenario: &Scenario, run: &Run) -> Waits {
    let processors = scenario.machine.processors.get();
    let all = CpuSet::all(processors.into());
    let set = |cpus: &[u16]| if cpus.is_empty() { all.clone() } else { cpus.iter().copied().collect() };
    let sets = scenario.workload.values().map(|job| set(&job.cpus));
    let mut books = Books {
        sets: sets.collect(),
        all: all.clone(),
        now: 0,
        tasks: Vec::new(),
        alive: 0,
        waiting: Vec::new(),
        running: vec![NO_TASK; processors.into()],
        found: Waits::default(),
    };
    run.events.iter().for_each(|event| books.observe(event));
    books.pass_to(run.end);
    for task in std::mem::take(&mut books.waiting) {
        books.judge(task);
    }
    books.found
}

impl Books {
    /// Time passes: the tasks that wait now wait for that time.
    fn pass_to(&mut self, time: Nanos) {
        if time > self.now && !self.waiting.is_empty() && self.found.idled.is_none() {
            let idle: CpuSet =
                (0..self.running.len() as CpuId).filter(|&cpu| self.running[usize::from(cpu)] == NO_TASK).collect();
            let task = self.waiting.iter().find(|&&task| self.tasks[task as usize].1.meets(&idle));
            self.found.idled = task.map(|task| {
                let set = &self.tasks[*task as usize].1;
                format!("from {} on {idle:?} idle while task {task} of {set:?} waits", spell_duration(self.now))
            });
        }
        self.now = time;
    }

    fn observe(&mut self, event: &Event) {
        self.pass_to(event.time);
        match event.kind {
            Kind::Created => self.created(event),
            Kind::Wakeup => self.wait(event.task),
            Kind::SwitchIn => {
                self.judge(event.task);
                self.put(event.task, Place::Runs);
                self.running[usize::from(event.cpu)] = event.task;
            }
            Kind::SwitchOut => {
                self.running[usize::from(event.cpu)] = NO_TASK;
                let stays = [Leave::Preempted, Leave::SliceEnd, Leave::Yielded].map(|leave| leave as u8);
                if stays.contains(&event.flag) { self.wait(event.task) } else { self.put(event.task, Place::Away) }
            }
            Kind::Allowed => self.tasks[event.task as usize].1.set_word(event.b as usize, event.a),
            Kind::Exited => self.alive -= 1,
            _ => {}
        }
    }

    fn created(&mut self, event: &Event) {
        let set = self.sets.get(event.a as usize).unwrap_or(&self.all).clone();
        self.tasks.resize(self.tasks.len().max(event.task as usize + 1), (Place::Away, self.all.clone()));
        self.tasks[event.task as usize].1 = set;
        self.alive += 1;
        for &task in &self.waiting {
            if let Place::Waits(_, most) = &mut self.tasks[task as usize].0 {
                *most = self.alive.max(*most);
            }
        }
    }

    fn wait(&mut self, task: u32) {
        self.put(task, Place::Waits(self.now, self.alive));
        self.waiting.push(task);
    }

    fn put(&mut self, task: u32, place: Place) {
        self.waiting.retain(|&other| other != task);
        self.tasks[task as usize].0 = place;
    }

    /// The wait of a task is over, or the run is.
    fn judge(&mut self, task: u32) {
        let (Place::Waits(since, tasks), ref set) = self.tasks[task as usize] else { return };
        let waited = self.now - since;
        if waited <= SECOND * Nanos::from(tasks) {
            return;
        }
        let line = || format!("task {task} waits for {} with {tasks} tasks", spell_duration(waited));
        self.found.starved.get_or_insert_with(line);
        if set.count() == 1 {
            self.found.bound_starved.get_or_insert_with(line);
        }
    }
}
