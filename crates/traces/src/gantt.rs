//! The drawn schedule: the first moments of a run as a chart, a line per task and one per processor for its idle time,
//! written as text (exact, for tests and pages) or as SVG.

mod svg;
mod text;

use crate::Names;
use schedlab_model::{
    Nanos,
    event::{Event, Kind, Leave},
    units::spell_duration,
};

/// Most tasks, and most processors, that are drawn.
const TASKS: usize = 32;
const PROCESSORS: usize = 8;

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

    /// The line changes at `time`; what it showed till then is `state`, if it is known better now.
    fn turn(&mut self, time: Nanos, corrected: Option<State>, note: impl FnOnce() -> String, next: Option<State>) {
        if let Some((from, state)) = self.open.take()
            && time > from
        {
            self.segments.push(Segment { from, to: time, state: corrected.unwrap_or(state), note: note() });
        }
        self.open = next.map(|state| (time, state));
    }
}

/// A schedule, ready to be drawn.
#[derive(Debug, Clone)]
pub struct Chart {
    length: Nanos,
    tasks: Vec<Line>,
    processors: Vec<Line>,
    /// Tasks and processors for which there is no room.
    left_out: (usize, usize),
}

impl Chart {
    /// The schedule from time 0 to `length`, of events in order of time.
    pub fn new(events: &[Event], names: &Names, length: Nanos) -> Self {
        let processors = usize::from(names.processors);
        let idle = |cpu| Line { open: Some((0, State::Idle)), ..Line::new(format!("idle {cpu}")) };
        let mut chart = Chart {
            length,
            tasks: Vec::new(),
            processors: (0..processors.min(PROCESSORS)).map(idle).collect(),
            left_out: (0, processors.saturating_sub(PROCESSORS)),
        };
        // A task's place among the lines: a task number may be anything in a damaged recording.
        let mut ids = Vec::new();
        for event in events {
            chart.take(event, names, &mut ids);
        }
        chart.tasks.iter_mut().chain(&mut chart.processors).for_each(|line| line.turn(length, None, String::new, None));
        chart.cut();
        chart
    }

    fn take(&mut self, e: &Event, names: &Names, ids: &mut Vec<u32>) {
        if e.kind == Kind::Created && e.time < self.length {
            return self.create(e, names, ids);
        }
        if let Some(line) = self.processors.get_mut(usize::from(e.cpu)) {
            match e.kind {
                Kind::SwitchIn => line.turn(e.time, None, String::new, None),
                Kind::Idle => line.turn(e.time, None, String::new, Some(idle(e))),
                _ => {}
            }
        }
        let Some(line) = ids.iter().position(|&id| id == e.task) else { return };
        let line = &mut self.tasks[line];
        match e.kind {
            Kind::Wakeup => line.turn(e.time, None, String::new, Some(State::Ready)),
            Kind::SwitchIn => line.turn(e.time, None, String::new, Some(State::User)),
            Kind::SwitchOut => {
                let state = if e.b > e.a { State::System } else { State::User };
                line.turn(e.time, Some(state), || used(e), after(e.flag));
            }
            // Of a task that exits while it runs, the switch-out has the use of its last time on the processor.
            Kind::Exited if !matches!(line.open, Some((_, State::User))) => line.turn(e.time, None, String::new, None),
            _ => {}
        }
    }

    fn create(&mut self, e: &Event, names: &Names, ids: &mut Vec<u32>) {
        if ids.len() == TASKS {
            self.left_out.0 += 1;
            return;
        }
        ids.push(e.task);
        self.tasks.push(Line { open: Some((e.time, State::Waiting)), ..Line::new(names.task(e.task, e.a)) });
    }

    /// Leaves out what is after the end of the chart.
    fn cut(&mut self) {
        for line in self.tasks.iter_mut().chain(&mut self.processors) {
            line.segments.retain(|s| s.from < self.length);
            line.segments.iter_mut().for_each(|s| s.to = s.to.min(self.length));
        }
    }

    fn lines(&self) -> impl Iterator<Item = &Line> {
        self.tasks.iter().chain(&self.processors)
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
        let least = ((self.length as f64 * apart).ceil() as Nanos).max(1);
        let power = 10u64.pow(least.ilog10());
        let step = [1, 2, 5].map(|n| n * power).into_iter().find(|&s| s >= least).unwrap_or(power.saturating_mul(10));
        let unit = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
        let unit = unit.into_iter().find(|u| step.is_multiple_of(u.1)).unwrap_or(("ns", 1));
        (0..=self.length / step).map(|i| (i * step, format!("{}{}", i * step / unit.1, unit.0))).collect()
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
fn used(e: &Event) -> String {
    format!("cpu {}, user {}, system {}", e.cpu, spell_duration(e.a), spell_duration(e.b))
}
