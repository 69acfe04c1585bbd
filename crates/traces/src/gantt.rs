//! The drawn schedule: a stretch of a run as a chart, a line per task and one per processor for its idle time, written as
//! text (exact, for tests and pages) or as SVG.

mod svg;
mod text;

use crate::Names;
use schedlab_model::{
    Nanos,
    event::{Event, Kind, Leave, Observer},
    scenario::Scenario,
    units::spell_duration,
};
use std::collections::HashMap;

/// Most tasks, and most processors, that are drawn.
const TASKS: usize = 32;
const PROCESSORS: usize = 8;
/// Most tasks that are looked at, a bound on what a damaged recording can make us allocate.
const MOST_TASKS: usize = 1 << 16;
/// Most segments of a chart; far more than can be distinguished.
const MOST_SEGMENTS: usize = 2_000_000;

/// The state that a segment of a line shows. A cell of the text shows the first in this order of equally long states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// On a processor, mostly in its own code.
    User,
    /// On a processor, mostly in the kernel.
    System,
    /// In the runqueue.
    Ready,
    /// Alive, but neither running nor ready.
    Waiting,
    /// A processor with nothing to run.
    Idle,
    /// A processor with nothing to run, while a task waits for a drive.
    IoWait,
}

const STATES: [State; 6] = [State::User, State::System, State::Ready, State::Waiting, State::Idle, State::IoWait];

#[derive(Debug, Clone)]
struct Segment {
    from: Nanos,
    to: Nanos,
    state: State,
    /// The processor of a running task.
    cpu: Option<u16>,
    /// Details.
    note: String,
}

#[derive(Debug, Clone)]
struct Line {
    label: String,
    segments: Vec<Segment>,
    /// What goes on: since when, and what.
    open: Option<(Nanos, State)>,
}

impl Line {
    fn new(label: String) -> Self {
        Line { label, segments: Vec::new(), open: None }
    }

    /// The line changes at `time`; `used` says how, of a task that left a processor. What lies outside of
    /// `begin` to `end` is forgotten; returns whether a segment was kept.
    fn turn(&mut self, (begin, end): (Nanos, Nanos), time: Nanos, used: Option<&Event>, next: Option<State>) -> bool {
        let known = used.map(|e| if e.b > e.a { State::System } else { State::User });
        let over = self.open.take().filter(|&(from, _)| time > from && time > begin && from < end);
        self.open = next.map(|state| (time, state));
        if let Some((from, state)) = over {
            // Of a task that still runs, the processor is not known yet.
            let (cpu, note) = used.map_or((None, String::new()), |e| (Some(e.cpu), spell(e)));
            self.segments.push(Segment { from, to: time, state: known.unwrap_or(state), cpu, note });
        }
        over.is_some()
    }
}

/// The title of a drawn run.
pub fn title(scenario: &Scenario, seed: u64) -> String {
    format!("{} on {}, seed {seed}", scenario.scheduler.name, scenario.machine.name)
}

/// A schedule, ready to be drawn.
#[derive(Debug, Clone)]
pub struct Chart {
    from: Nanos,
    to: Nanos,
    tasks: Vec<Line>,
    processors: Vec<Line>,
    /// Tasks and processors for which there is no room.
    left_out: (usize, usize),
}

impl Chart {
    /// The schedule from time 0 to `length`, of events in order of time.
    pub fn new(events: &[Event], names: &Names, length: Nanos) -> Self {
        let mut drafting = Drafting::new(names, 0, length);
        events.iter().for_each(|&event| drafting.observe(event));
        drafting.finish(length)
    }

    fn length(&self) -> Nanos {
        self.to - self.from
    }
}

/// A chart in the making: it listens to the events of a run, and keeps of them what the stretch from `from` to `to` shows.
#[derive(Debug)]
pub struct Drafting<'a> {
    names: &'a Names,
    chart: Chart,
    /// A task's place among the lines: a task number may be anything in a damaged recording.
    places: HashMap<u32, usize>,
    segments: usize,
}

impl<'a> Drafting<'a> {
    /// A chart of what happens from a time to another.
    pub fn new(names: &'a Names, from: Nanos, to: Nanos) -> Self {
        let processors = usize::from(names.processors);
        let idle = |cpu| Line { open: Some((0, State::Idle)), ..Line::new(format!("idle {cpu}")) };
        let chart = Chart {
            from,
            to: to.max(from),
            tasks: Vec::new(),
            processors: (0..processors.min(PROCESSORS)).map(idle).collect(),
            left_out: (0, processors.saturating_sub(PROCESSORS)),
        };
        Drafting { names, chart, places: HashMap::new(), segments: 0 }
    }

    /// Whether there is more to draw than can be distinguished.
    fn full(&self) -> bool {
        self.segments > MOST_SEGMENTS
    }

    /// The chart, of a run that ended at `end`.
    ///
    /// # Errors
    /// If the run ended before the stretch begins, or there is too much to draw.
    pub fn checked(self, end: Nanos) -> Result<Chart, String> {
        let from = self.chart.from;
        if from >= end && from > 0 {
            let (from, end) = (spell_duration(from), spell_duration(end));
            return Err(format!("nothing to draw from {from} on: the run ends at {end}"));
        }
        if self.full() {
            let length = spell_duration(end.saturating_sub(from));
            return Err(format!("too many events in {length} to draw: ask for a shorter time"));
        }
        Ok(self.finish(end))
    }

    /// The same without a check.
    pub fn finish(self, end: Nanos) -> Chart {
        let mut chart = self.chart;
        chart.to = chart.to.min(end).max(chart.from);
        let stretch = (chart.from, chart.to);
        chart.lines_mut().for_each(|line| {
            line.turn(stretch, stretch.1, None, None);
        });
        chart.cut();
        chart
    }

    fn turn(&mut self, line: Place, time: Nanos, used: Option<&Event>, next: Option<State>) {
        let line = match line {
            Place::Task(place) => &mut self.chart.tasks[place],
            Place::Processor(place) => &mut self.chart.processors[place],
        };
        self.segments += usize::from(line.turn((self.chart.from, self.chart.to), time, used, next));
    }

    fn create(&mut self, e: Event) {
        if self.chart.tasks.len() == MOST_TASKS {
            self.chart.left_out.0 += 1;
            return;
        }
        self.places.insert(e.task, self.chart.tasks.len());
        let label = self.names.task(e.task, e.a);
        self.chart.tasks.push(Line { open: Some((e.time, State::Waiting)), ..Line::new(label) });
    }
}

/// A line, by its place.
#[derive(Clone, Copy)]
enum Place {
    Task(usize),
    Processor(usize),
}

impl Observer for Drafting<'_> {
    fn observe(&mut self, e: Event) {
        if self.full() {
            return;
        }
        if e.kind == Kind::Created && e.time < self.chart.to {
            return self.create(e);
        }
        let cpu = usize::from(e.cpu);
        if cpu < self.chart.processors.len() {
            match e.kind {
                Kind::SwitchIn => self.turn(Place::Processor(cpu), e.time, None, None),
                Kind::Idle => self.turn(Place::Processor(cpu), e.time, None, Some(idle(&e))),
                _ => {}
            }
        }
        let Some(&place) = self.places.get(&e.task) else { return };
        let (task, running) = (Place::Task(place), matches!(self.chart.tasks[place].open, Some((_, State::User))));
        match e.kind {
            Kind::Wakeup => self.turn(task, e.time, None, Some(State::Ready)),
            Kind::SwitchIn => self.turn(task, e.time, None, Some(State::User)),
            Kind::SwitchOut => self.turn(task, e.time, Some(&e), after(e.flag)),
            // Of a task that exits while it runs, the switch-out has the use of its last time on the processor.
            Kind::Exited if !running => self.turn(task, e.time, None, None),
            _ => {}
        }
    }
}

impl Chart {
    /// Leaves out what is outside of the chart: tasks that are not alive in it, and, where there is no room for all, those
    /// that only wait.
    fn cut(&mut self) {
        let (from, to) = (self.from, self.to);
        for line in self.lines_mut() {
            line.segments.retain(|s| s.from < to && s.to > from);
            line.segments.iter_mut().for_each(|s| (s.from, s.to) = (s.from.max(from), s.to.min(to)));
        }
        if from > 0 {
            self.tasks.retain(|line| !line.segments.is_empty());
        }
        if self.tasks.len() > TASKS {
            let all = self.tasks.len();
            let at_work = |line: &Line| line.segments.iter().any(|s| s.state != State::Waiting);
            let (busy, idle): (Vec<_>, Vec<_>) = self.tasks.drain(..).enumerate().partition(|(_, line)| at_work(line));
            let mut kept: Vec<_> = busy.into_iter().chain(idle).take(TASKS).collect();
            kept.sort_by_key(|(place, _)| *place);
            self.tasks = kept.into_iter().map(|(_, line)| line).collect();
            self.left_out.0 += all - self.tasks.len();
        }
    }

    fn lines(&self) -> impl Iterator<Item = &Line> {
        self.tasks.iter().chain(&self.processors)
    }

    fn lines_mut(&mut self) -> impl Iterator<Item = &mut Line> {
        self.tasks.iter_mut().chain(&mut self.processors)
    }

    /// What had no room, in words; nothing if all is drawn.
    fn left_out(&self) -> Option<String> {
        let (tasks, processors) = self.left_out;
        let words = [(tasks, "more tasks"), (processors, "more processors")];
        let words: Vec<_> = words.iter().filter(|w| w.0 > 0).map(|(n, what)| format!("{n} {what}")).collect();
        (!words.is_empty()).then(|| format!("left out: {}", words.join(", ")))
    }

    /// Round times for the scale, at least `apart` of the chart's length apart, with their labels.
    fn scale(&self, apart: f64) -> Vec<(Nanos, String)> {
        let least = ((self.length() as f64 * apart).ceil() as Nanos).max(1);
        let power = 10u64.pow(least.ilog10());
        let step = [1, 2, 5].map(|n| n * power).into_iter().find(|&s| s >= least).unwrap_or(power.saturating_mul(10));
        let unit = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
        let unit = unit.into_iter().find(|u| step.is_multiple_of(u.1)).unwrap_or(("ns", 1));
        let marks = self.from.div_ceil(step)..=self.to / step;
        marks.map(|i| (i * step, format!("{}{}", i * step / unit.1, unit.0))).collect()
    }
}

fn idle(e: &Event) -> State {
    if e.flag == 0 { State::Idle } else { State::IoWait }
}

/// What a task does after a switch-out with this flag.
fn after(flag: u8) -> Option<State> {
    const READY: [u8; 3] = [Leave::Preempted as u8, Leave::SliceEnd as u8, Leave::Yielded as u8];
    const GONE: [u8; 2] = [Leave::Exited as u8, Leave::Stopped as u8];
    match flag {
        flag if READY.contains(&flag) => Some(State::Ready),
        flag if GONE.contains(&flag) => None,
        _ => Some(State::Waiting),
    }
}

/// How a task used its time on a processor.
fn spell(e: &Event) -> String {
    format!("cpu {}, user {}, system {}", e.cpu, spell_duration(e.a), spell_duration(e.b))
}
