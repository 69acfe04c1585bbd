//! Which tasks wait, and for how long: from this, work conservation and starvation are judged.

use super::runs::Run;
use schedlab_model::{
    Nanos, SECOND,
    event::{Event, Kind, Leave, NO_TASK},
    scenario::Scenario,
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
    /// By job: the processors that its tasks may use, a bit each.
    masks: Vec<u64>,
    all: u64,
    now: Nanos,
    tasks: Vec<(Place, u64)>,
    /// Tasks that exist, and those that wait.
    alive: u32,
    waiting: Vec<u32>,
    running: Vec<u32>,
    found: Waits,
}

/// Reads a run's events.
pub fn waits(scenario: &Scenario, run: &Run) -> Waits {
    let processors = scenario.machine.processors.get();
    let all = u64::MAX >> (64 - processors);
    let mask = |cpus: &[u16]| cpus.iter().fold(0, |mask, cpu| mask | 1 << cpu);
    let masks = scenario.workload.values().map(|job| if job.cpus.is_empty() { all } else { mask(&job.cpus) });
    let mut books = Books {
        masks: masks.collect(),
        all,
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
            let idle =
                (0..self.running.len()).filter(|&cpu| self.running[cpu] == NO_TASK).fold(0u64, |m, cpu| m | 1 << cpu);
            let task = self.waiting.iter().find(|&&task| self.tasks[task as usize].1 & idle != 0);
            self.found.idled = task.map(|task| {
                let mask = self.tasks[*task as usize].1;
                format!("from {} on {idle:b} idles while task {task} of {mask:b} waits", spell_duration(self.now))
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
            Kind::Allowed => self.tasks[event.task as usize].1 = event.a,
            Kind::Exited => self.alive -= 1,
            _ => {}
        }
    }

    fn created(&mut self, event: &Event) {
        let mask = self.masks.get(event.a as usize).copied().unwrap_or(self.all);
        self.tasks.resize(self.tasks.len().max(event.task as usize + 1), (Place::Away, self.all));
        self.tasks[event.task as usize].1 = mask;
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
        let (Place::Waits(since, tasks), mask) = self.tasks[task as usize] else { return };
        let waited = self.now - since;
        if waited <= SECOND * Nanos::from(tasks) {
            return;
        }
        let line = || format!("task {task} waits for {} with {tasks} tasks", spell_duration(waited));
        self.found.starved.get_or_insert_with(line);
        if mask.count_ones() == 1 {
            self.found.bound_starved.get_or_insert_with(line);
        }
    }
}
