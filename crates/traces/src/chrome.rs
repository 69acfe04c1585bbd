//! A trace in the JSON of Chrome's trace-event format, written as events come: for chrome://tracing, ui.perfetto.dev and one's
//! own scripts. [`crate::perfetto`] has the same in a small fraction of the bytes.
//!
//! Each processor is a track with a slice per dispatch (the task, why it left, its user and system time), each task a
//! track of its states; marks, signals, missed periods and interrupts are instants, the runqueue's length is a counter.
//! The format: "Trace Event Format", Google, 2016; times are microseconds with a fraction, here exact to the nanosecond.

use crate::Names;
use schedlab_model::{
    Nanos,
    event::{Event, Irq, Kind, Observer},
    task::TaskId,
};
use serde_json::json;
use std::io::{self, BufWriter, Write};

/// Track groups ("processes" of the format).
const PROCESSORS: u64 = 1;
const TASKS: u64 = 2;
/// First track of processors and of tasks. Viewers give 0 and numbers equal to their group a meaning of their own.
const FIRST_CPU: u64 = 100;
const FIRST_TASK: u64 = 1000;
/// Task numbers may be this far ahead of those known; a bound on what a damaged recording can make us allocate.
const GAP: usize = 1 << 16;
/// Why a task left, by [`schedlab_model::event::Leave`].
const LEFT: [&str; 6] = ["preempted", "slice end", "yielded", "blocked", "exited", "stopped"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Absent,
    Waiting,
    Ready,
    Running,
}

#[derive(Debug, Clone, Copy)]
struct Task {
    job: u64,
    state: State,
    since: Nanos,
}

/// Writes a trace to `out`. Its memory grows with the tasks of a run, not with its length. After a failed write it writes
/// no more, and [`Tracer::finish`] returns the error.
#[derive(Debug)]
pub struct Tracer<W: Write> {
    out: BufWriter<W>,
    names: Names,
    until: Nanos,
    now: Nanos,
    /// The running task of each processor, and since when.
    running: Vec<Option<(TaskId, Nanos)>>,
    tasks: Vec<Task>,
    queued: i64,
    written: u64,
    error: Option<io::Error>,
}

impl<W: Write> Tracer<W> {
    /// Begins a trace. What happens after `until` is left out.
    pub fn new(out: W, names: &Names, until: Option<Nanos>) -> Self {
        let mut tracer = Tracer {
            out: BufWriter::with_capacity(1 << 16, out),
            names: names.clone(),
            until: until.unwrap_or(Nanos::MAX),
            now: 0,
            running: vec![None; usize::from(names.processors)],
            tasks: Vec::new(),
            queued: 0,
            written: 0,
            error: None,
        };
        tracer.error = tracer.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[").err();
        tracer.group(PROCESSORS, "processors");
        tracer.group(TASKS, "tasks");
        for cpu in 0..u64::from(names.processors) {
            tracer.track(PROCESSORS, FIRST_CPU + cpu, &format!("cpu {cpu}"));
        }
        tracer
    }

    /// Ends the trace and gives `out` back, or the first error met while writing. What still goes on is drawn up to the
    /// last event.
    pub fn finish(mut self) -> io::Result<W> {
        let end = self.now.min(self.until);
        for cpu in 0..self.running.len() {
            self.end_dispatch(cpu, end, "still running", None);
        }
        for id in 0..self.tasks.len() {
            self.turn(id as TaskId, State::Absent, end);
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        self.out.write_all(b"\n]}\n")?;
        self.out.into_inner().map_err(|e| e.into_error())
    }

    fn write(&mut self, record: &serde_json::Value) {
        if self.error.is_none() {
            let separator = if self.written == 0 { "\n" } else { ",\n" };
            self.written += 1;
            self.error = write!(self.out, "{separator}{record}").err();
        }
    }

    fn group(&mut self, group: u64, name: &str) {
        self.write(&json!({"ph": "M", "name": "process_name", "pid": group, "args": {"name": name}}));
        self.write(&json!({"ph": "M", "name": "process_sort_index", "pid": group, "args": {"sort_index": group}}));
    }

    fn track(&mut self, group: u64, track: u64, name: &str) {
        self.write(&json!({"ph": "M", "name": "thread_name", "pid": group, "tid": track, "args": {"name": name}}));
        let order = json!({"sort_index": track});
        self.write(&json!({"ph": "M", "name": "thread_sort_index", "pid": group, "tid": track, "args": order}));
    }

    fn instant(&mut self, group: u64, track: u64, name: &str, time: Nanos) {
        self.write(&json!({"ph": "i", "s": "t", "name": name, "pid": group, "tid": track, "ts": micros(time)}));
    }

    fn name(&self, task: TaskId) -> String {
        let job = self.tasks.get(task as usize).map_or(u64::MAX, |t| t.job);
        self.names.task(task, job)
    }

    fn create(&mut self, e: Event) {
        let id = e.task as usize;
        if id >= self.tasks.len() + GAP {
            return;
        }
        if id >= self.tasks.len() {
            self.tasks.resize(id + 1, Task { job: u64::MAX, state: State::Absent, since: 0 });
        }
        self.turn(e.task, State::Absent, e.time);
        self.tasks[id] = Task { job: e.a, state: State::Waiting, since: e.time };
        self.track(TASKS, FIRST_TASK + u64::from(e.task), &self.name(e.task));
    }

    /// A task changes its state: what it was is drawn up to now.
    fn turn(&mut self, task: TaskId, state: State, time: Nanos) {
        let Some(record) = self.tasks.get_mut(task as usize) else { return };
        let before = std::mem::replace(record, Task { state, since: time, ..*record });
        let (name, color) = match before.state {
            State::Absent => ("", ""),
            State::Waiting => ("waiting", "thread_state_sleeping"),
            State::Ready => ("ready", "thread_state_runnable"),
            State::Running => ("running", "thread_state_running"),
        };
        if !name.is_empty() && time > before.since {
            self.write(&json!({
                "ph": "X", "cat": "state", "name": name, "cname": color, "pid": TASKS,
                "tid": FIRST_TASK + u64::from(task), "ts": micros(before.since), "dur": micros(time - before.since),
            }));
        }
        let queued = i64::from(state == State::Ready) - i64::from(before.state == State::Ready);
        if queued != 0 {
            self.queued += queued;
            self.write(&json!({
                "ph": "C", "name": "runqueue", "pid": PROCESSORS, "tid": FIRST_CPU, "ts": micros(time),
                "args": {"tasks": self.queued},
            }));
        }
    }

    fn end_dispatch(&mut self, cpu: usize, time: Nanos, left: &str, used: Option<(Nanos, Nanos)>) {
        let Some((task, since)) = self.running.get_mut(cpu).and_then(Option::take) else { return };
        let mut args = json!({"left": left});
        if let Some((user, system)) = used {
            args["user_ns"] = user.into();
            args["system_ns"] = system.into();
        }
        self.write(&json!({
            "ph": "X", "cat": "dispatch", "name": self.name(task), "pid": PROCESSORS, "tid": FIRST_CPU + cpu as u64,
            "ts": micros(since), "dur": micros(time.saturating_sub(since)), "args": args,
        }));
    }

    fn switch_out(&mut self, e: Event) {
        let left = LEFT[usize::from(e.flag).min(LEFT.len() - 1)];
        self.end_dispatch(e.cpu.into(), e.time, left, Some((e.a, e.b)));
        match left {
            "preempted" | "slice end" | "yielded" => self.turn(e.task, State::Ready, e.time),
            "exited" | "stopped" => self.turn(e.task, State::Absent, e.time),
            _ => self.turn(e.task, State::Waiting, e.time),
        }
    }
}

/// Nanoseconds as microseconds. A double holds them exactly to the nanosecond for the first 104 days.
fn micros(ns: Nanos) -> f64 {
    ns as f64 / 1000.0
}

impl<W: Write> Observer for Tracer<W> {
    fn observe(&mut self, e: Event) {
        if e.time > self.until {
            self.now = self.until;
            return;
        }
        self.now = e.time;
        let task = FIRST_TASK + u64::from(e.task);
        match e.kind {
            Kind::Created => self.create(e),
            Kind::Exited => self.turn(e.task, State::Absent, e.time),
            Kind::Wakeup => self.turn(e.task, State::Ready, e.time),
            Kind::SwitchIn => {
                self.turn(e.task, State::Running, e.time);
                if let Some(place) = self.running.get_mut(usize::from(e.cpu)) {
                    *place = Some((e.task, e.time));
                }
            }
            Kind::SwitchOut => self.switch_out(e),
            Kind::Mark => {
                let name = self.names.mark(e.a).to_owned();
                self.instant(TASKS, task, &name, e.time);
            }
            Kind::Executed => self.instant(TASKS, task, "program executed", e.time),
            Kind::Signal if e.flag == 0 => self.instant(TASKS, task, "signal sent", e.time),
            Kind::Signal => self.instant(TASKS, task, "signal handled", e.time),
            Kind::Period if e.flag == 0 => self.instant(TASKS, task, "deadline missed", e.time),
            Kind::Interrupt => {
                let lines = [(Irq::Clock, "clock"), (Irq::Timer, "timer"), (Irq::Disk, "disk")];
                let line = lines.iter().find(|l| l.0 as u64 == e.a).map_or("interrupt", |l| l.1);
                self.instant(PROCESSORS, FIRST_CPU + u64::from(e.cpu), line, e.time);
            }
            _ => {}
        }
    }
}
