//! What a recording comes to, as data.

use crate::{
    drives::Drive,
    explainer::Explainer,
    groups::Groups,
    options::By,
    places::{OneProcessor, Pair, Waited},
    queues::within,
    rows::{Frame, Gathered, Row, seconds},
    task::{State, Task},
};
use schedlab_traces::kernel::Head;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// What was lost, and when, s after the first event.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lost {
    /// When it was noticed; none if the file does not say.
    pub at_s: Option<f64>,
    /// On which processor; none if on some.
    pub cpu: Option<u16>,
    /// How many events; none if the file does not say.
    pub events: Option<u64>,
    /// What happened.
    pub why: String,
}

/// What the file says of itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Of {
    /// Its format.
    pub format: String,
    /// Its clock.
    pub clock: Option<String>,
    /// The kernel.
    pub release: Option<String>,
    /// Processors.
    pub processors: u16,
    /// Time of the first event on the file's clock, s.
    pub first_s: f64,
    /// Events by the kernel's names.
    pub recorded: BTreeMap<String, u64>,
    /// Those that nothing is made of.
    pub ignored: Vec<String>,
}

/// The equal blocks of time that rows have sums of, if asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Blocks {
    /// The length of one, s.
    pub width_s: f64,
    /// How many there are; the last one may be shorter.
    pub count: u64,
}

/// What happened in a recording.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Length: from the first event to the last one, or of the window that was asked for, s.
    pub span_s: f64,
    /// Events of the file.
    pub events: u64,
    /// Events that are known to be lost.
    pub lost: u64,
    /// Chains of switches in which events are missing, all of them.
    pub repaired: u64,
    /// Of the runs at their ends: those that `sched_stat_runtime` gave, and those that nothing did.
    pub repaired_runs: u64,
    /// See `repaired_runs`.
    pub unknown_runs: u64,
    /// What a wakeup is counted from: "sched_waking", "sched_wakeup", or nothing.
    pub wakeups_from: Option<&'static str>,
    /// What migrations are counted by: "sched_migrate_task", or "sched_switch" (another processor than before).
    pub migrations_from: &'static str,
    /// What may mislead.
    pub warnings: Vec<String>,
    /// What was lost, in order of time.
    pub losses: Vec<Lost>,
    /// The file.
    pub head: Of,
    /// Tasks, or what rows were asked for, by run time.
    pub tasks: Vec<Row>,
    /// Groups by their names.
    pub groups: BTreeMap<String, Row>,
    /// Processors.
    pub processors: Vec<OneProcessor>,
    /// Processor time that was idle while tasks waited for other processors, s.
    pub wasted_s: f64,
    /// The ten longest waits of runnable tasks.
    pub worst_waits: Vec<Waited>,
    /// Who wakes whom, by how often; at most a thousand.
    pub wakers: Vec<Pair>,
    /// How many more pairs there are.
    pub wakers_left_out: u64,
    /// Drives, if issues and completions of requests were recorded.
    pub drives: Vec<Drive>,
    /// Blocks of time.
    pub blocks: Blocks,
}

impl Explainer {
    /// What it comes to. `head` is what the reader says at the end of the file.
    ///
    /// # Errors
    /// Refuses what the file cannot answer, with what to record.
    pub fn report(mut self, head: &Head) -> Result<Report, String> {
        self.refuse(head)?;
        let end = self.now.min(self.window.1);
        self.end(end);
        let span = end.saturating_sub(self.window.0);
        let clock = self.queues.clock;
        let frame = Frame {
            start: self.start,
            span_s: seconds(span),
            clock: &clock,
            wakings: self.seen.wakings + self.seen.wakeups > 0,
            migrations: self.seen.migrations > 0,
            blocks: self.options.blocks,
        };
        let (wakers, wakers_left_out) = self.pairs();
        Ok(Report {
            span_s: seconds(span),
            events: recorded(head).unwrap_or(self.events),
            lost: head.lost(),
            repaired: self.chains.broken,
            repaired_runs: self.chains.from_runtime,
            unknown_runs: self.chains.unknown,
            wakeups_from: match (self.seen.wakings, self.seen.wakeups) {
                (0, 0) => None,
                (0, _) => Some("sched_wakeup"),
                _ => Some("sched_waking"),
            },
            migrations_from: if frame.migrations { "sched_migrate_task" } else { "sched_switch" },
            warnings: self.warnings(),
            losses: self.losses(head),
            head: self.of(head),
            tasks: self.rows(&frame, head),
            groups: self.groups(&frame),
            processors: self.processors(end, span),
            wasted_s: seconds(self.queues.wasted),
            worst_waits: self.worst_waits(),
            wakers,
            wakers_left_out,
            drives: self.drives.report(self.start, end, self.window, span),
            blocks: Blocks { width_s: seconds(clock.width()), count: span.div_ceil(clock.width()) },
        })
    }

    /// Counts what the end of the recording cuts off.
    fn end(&mut self, end: u64) {
        for processor in self.queues.all.iter_mut().filter(|it| it.switches > 0) {
            let time = within(self.window, processor.since, end);
            match processor.current {
                crate::processor::Current::Known(0) => processor.idle += time,
                crate::processor::Current::Known(_) => processor.ran += time,
                _ => {}
            }
        }
        self.queues.end(end);
        for task in &mut self.tasks.all {
            let left = within(self.window, task.since, end);
            if let (State::Woken, Some(waking)) = (task.state, task.waking) {
                task.spent.blocked[waking.cause as usize] += std::mem::take(&mut task.slept);
            }
            match task.state {
                State::Unseen => task.spent.before += left,
                State::Running if self.options.unfinished => {
                    task.spent.run += left;
                    let from = task.since.max(self.window.0);
                    task.series.run(&self.queues.clock, from, end.min(self.window.1).max(from));
                }
                State::Running => task.spent.after[0] += left,
                State::Preempted | State::Woken | State::New => task.spent.after[1] += left,
                State::Blocked | State::Stopped => task.spent.after[2] += left,
                State::Lost => task.spent.unknown += left,
                State::Dead => {}
            }
        }
    }

    fn losses(&self, head: &Head) -> Vec<Lost> {
        let at = |time: u64| (time as f64 - self.start as f64) / 1e9;
        let lost = head.losses.iter().map(|loss| Lost {
            at_s: loss.time.map(at),
            cpu: loss.cpu,
            events: loss.events,
            why: loss.why.clone(),
        });
        lost.collect()
    }

    fn of(&self, head: &Head) -> Of {
        Of {
            format: head.format.clone(),
            clock: head.clock.clone(),
            release: head.release.clone(),
            processors: head.processors,
            first_s: seconds(self.start),
            recorded: head.recorded.iter().map(|(name, it)| (name.clone(), it.events)).collect(),
            ignored: head.recorded.iter().filter(|it| !it.1.known).map(|it| it.0.clone()).collect(),
        }
    }

    fn rows(&self, frame: &Frame<'_>, head: &Head) -> Vec<Row> {
        let chosen = self.tasks.all.iter().filter(|task| self.is_asked_for(task.pid, task.name) && was_there(task));
        let mut by: HashMap<String, Vec<&Task>> = HashMap::new();
        let groups = Groups::of(head);
        let mut rows: Vec<Row> = match self.options.by {
            By::Pid => chosen.map(|task| self.row(&[task], frame)).collect(),
            by_what => {
                for task in chosen {
                    let key = match by_what {
                        By::Comm => self.comm(task.pid, task.name),
                        By::Cgroup => groups.group(&self.tasks.all, task, self.start).to_owned(),
                        _ => task.tgid.unwrap_or(task.pid).to_string(),
                    };
                    by.entry(key).or_default().push(task);
                }
                by.iter().map(|(key, tasks)| self.named_row(key, tasks, frame)).collect()
            }
        };
        rows.sort_by(|a, b| b.run_s.total_cmp(&a.run_s).then_with(|| (&a.comm, a.pid).cmp(&(&b.comm, b.pid))));
        rows
    }

    /// The row of tasks that have this in common.
    fn named_row(&self, key: &str, tasks: &[&Task], frame: &Frame<'_>) -> Row {
        let row = self.row(tasks, frame);
        match self.options.by {
            By::Cgroup => Row { comm: key.to_owned(), pid: None, tgid: None, priority: None, ..row },
            _ => row,
        }
    }

    /// The row of some tasks; of a process, under the name of its first thread.
    fn row(&self, tasks: &[&Task], frame: &Frame<'_>) -> Row {
        let mut all = Gathered::default();
        tasks.iter().for_each(|task| all.add(task, frame));
        let first = tasks.iter().find(|task| task.tgid == Some(task.pid)).unwrap_or(&tasks[0]);
        let single = tasks.len() == 1;
        let (pid, tgid) = match self.options.by {
            By::Tgid => (first.tgid.or(Some(first.pid)), first.tgid),
            _ => (single.then_some(first.pid), first.tgid.filter(|_| single)),
        };
        let priority = Some(first.priority).filter(|priority| single && *priority > 0);
        Row { comm: self.comm(first.pid, first.name), pid, tgid, priority, ..all.row(frame) }
    }

    fn groups(&self, frame: &Frame<'_>) -> BTreeMap<String, Row> {
        let group = |group: &crate::options::Group| {
            let mut all = Gathered::default();
            let members = self.tasks.all.iter().filter(|task| was_there(task));
            let members = members.filter(|task| group.pattern.is_match(&self.comm(task.pid, task.name)));
            members.for_each(|task| all.add(task, frame));
            (group.name.clone(), Row { comm: group.name.clone(), ..all.row(frame) })
        };
        self.options.groups.iter().map(group).collect()
    }
}

/// Events that were recorded, if the file counts them by name; records of the recorder's own are none.
fn recorded(head: &Head) -> Option<u64> {
    let events = head.recorded.iter().filter(|it| !it.0.starts_with("PERF_RECORD_"));
    (!head.recorded.is_empty()).then(|| events.fold(0u64, |sum, it| sum.saturating_add(it.1.events)))
}

/// Whether anything happened to a task: one that is only named in the file is left out.
fn was_there(task: &Task) -> bool {
    task.state != State::Unseen || task.spent.total() > task.spent.before
}
