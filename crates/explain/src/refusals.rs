//! What a recording cannot answer, and what to record so that it can.

use crate::{explainer::Explainer, options::By};
use schedlab_traces::kernel::{Head, Pid};

/// What explains everything that is explained here, for perf.
const COMMAND: &str = "perf record -e sched:sched_switch,sched:sched_waking,sched:sched_wakeup_new,sched:sched_migrate_task,\
    sched:sched_process_fork,sched:sched_stat_runtime,timer:hrtimer_expire_entry,timer:hrtimer_expire_exit,irq:irq_handler_entry,\
    irq:irq_handler_exit,irq:softirq_entry,irq:softirq_exit,block:block_rq_complete -a -- sleep 10";

/// How to record what is missing.
fn record() -> String {
    format!("record it with `schedlab record -- sleep 10` or `{COMMAND}`")
}

impl Explainer {
    /// Refuses what the file cannot answer at all.
    pub(crate) fn refuse(&self, head: &Head) -> Result<(), String> {
        self.options.check()?;
        // Comparisons and replays are of tasks.
        let of_tasks = self.options.blocks || self.options.unfinished;
        if self.seen.switches == 0 && self.drives.known() && !of_tasks {
            self.refuse_tasks()?;
        } else if self.seen.switches == 0 {
            let has: Vec<&str> =
                head.recorded.iter().filter(|it| it.1.events > 0).map(|it| it.0.as_str()).take(12).collect();
            let has = if has.is_empty() { "no events".to_owned() } else { has.join(", ") };
            return Err(format!("the recording has no sched:sched_switch events (it has {has}); {}", record()));
        }
        match self.options.by {
            By::Tgid if self.seen.members == 0 => {
                return Err("the recording does not say which process a thread belongs to, so there are no rows by tgid: perf.data has \
                    it, of `perf record -a`; rows by comm or pid work here"
                    .to_owned());
            }
            By::Cgroup if head.state.is_none() => {
                return Err("the recording does not say which control group a task is in, so there are no rows by cgroup: those of \
                    `schedlab record` do; rows by comm, pid or tgid work"
                    .to_owned());
            }
            _ => {}
        }
        let length = self.now - self.start;
        if self.options.from.is_some_and(|from| from >= length) {
            let (from, length) = (self.options.from.unwrap_or(0) as f64 / 1e9, length as f64 / 1e9);
            return Err(format!("--from {from} s is after the end of the recording, which is {length:.6} s long"));
        }
        self.refuse_names()
    }

    /// Of a recording of drives alone no task can be asked for.
    fn refuse_tasks(&self) -> Result<(), String> {
        let asked = [
            ("--task", self.options.task.is_some()),
            ("--cpu", self.options.cpu.is_some()),
            ("--group", !self.options.groups.is_empty()),
            ("--html", self.options.timeline),
        ];
        match asked.into_iter().find(|(_, asked)| *asked) {
            Some((option, _)) => Err(format!(
                "{option} is of tasks, and the recording has requests to drives and no sched:sched_switch events; leave it out, or {}",
                record()
            )),
            None => Ok(()),
        }
    }

    fn refuse_names(&self) -> Result<(), String> {
        if let Some(cpu) = self.options.cpu {
            let with = |it: &(usize, &crate::processor::Processor)| it.1.switches > 0;
            let known: Vec<usize> = self.queues.all.iter().enumerate().filter(with).map(|it| it.0).collect();
            if !known.contains(&usize::from(cpu)) {
                let shown: Vec<String> = known.iter().take(16).map(usize::to_string).collect();
                let more = if known.len() > shown.len() { ", ..." } else { "" };
                return Err(format!(
                    "processor {cpu} has no switches; those with switches: {}{more}",
                    shown.join(", ")
                ));
            }
        }
        let Some(asked) = &self.options.task else { return Ok(()) };
        if self.tasks.all.iter().any(|task| self.is_asked_for(task.pid, task.name)) {
            return Ok(());
        }
        let mut all: Vec<_> = self.tasks.all.iter().collect();
        all.sort_by_key(|task| std::cmp::Reverse(task.spent.run));
        let mut names: Vec<String> = Vec::new();
        for task in all {
            let name = self.comm(task.pid, task.name);
            if !names.contains(&name) {
                names.push(name);
            }
            if names.len() == 8 {
                break;
            }
        }
        Err(format!("no task has the name or number {asked:?}; those that ran most: {}", names.join(", ")))
    }

    /// What is not known, though the rest is.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut said = Vec::new();
        let seen = &self.seen;
        let mut say = |when: bool, text: String| {
            if when {
                said.push(text)
            }
        };
        if seen.switches == 0 {
            return vec![format!(
                "requests to drives only: nothing is known of tasks, and of who waited for a drive; {}",
                record()
            )];
        }
        let none = seen.wakings == 0 && seen.wakeups == 0;
        say(none, format!("no sched:sched_waking events: nothing is known of wakeups and their latency; {}", record()));
        say(
            seen.wakings == 0 && seen.wakeups > 0,
            "no sched:sched_waking events: latency is counted from sched:sched_wakeup, which comes later where another processor puts \
             the task into its runqueue"
                .to_owned(),
        );
        let anonymous = seen.without_context > 0 && seen.interrupts == 0;
        say(
            anonymous,
            "the file does not say whether a task or an interrupt woke: wakings in interrupts are ascribed to the task that was current"
                .to_owned(),
        );
        let blind = !none && seen.timers + seen.interrupts == 0;
        say(blind, format!("no interrupt or timer events: what interrupts woke is not distinguished; {}", record()));
        let broken = self.chains;
        say(
            broken.broken > 0,
            format!(
                "{} times a task left a processor to which another one had come: events are missing though none were reported lost; \
                 {} runs were taken from sched_stat_runtime, {} are unknown",
                broken.broken, broken.from_runtime, broken.unknown
            ),
        );
        let unwoken: u64 = self.tasks.all.iter().map(|task| task.counts.unwoken).sum();
        say(
            unwoken > 0 && !none,
            format!(
                "{unwoken} times a task came back from sleep without a waking: such events are missing, or were not recorded"
            ),
        );
        say(self.tasks.left_out > 0, format!("{} events name tasks that no kernel has", self.tasks.left_out));
        said
    }

    /// Whether a task is the one that is asked for.
    pub(crate) fn is_asked_for(&self, pid: Pid, name: Option<u64>) -> bool {
        let Some(asked) = &self.options.task else { return true };
        asked.parse() == Ok(pid)
            || name.and_then(|name| self.names.get(name as usize)).is_some_and(|it| **it == **asked)
    }

    /// The name of a task.
    pub(crate) fn comm(&self, pid: Pid, name: Option<u64>) -> String {
        name.and_then(|name| self.names.get(name as usize))
            .map_or_else(|| format!("pid {pid}"), |name| name.to_string())
    }
}
