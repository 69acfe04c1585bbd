//! The daemon: it sleeps until a period ends, the focus changes, a dwell is over, or a command comes.

use crate::{
    focus::{self, Source},
    load::{Load, Seen},
    pace::Pace,
    processes::{Found, Processes},
    programs::Programs,
    rights::Rights,
    socket::{Asked, Server},
    status::{LevelStatus, ProgramStatus, Status},
    treating::Treating,
    weights::Weights,
};
use nix::{
    poll::{PollFd, PollFlags},
    sys::time::TimeSpec,
};
use schedlab_linux::{Fault, Root, clock, process, signals::Signals};
use schedlab_model::{
    MICROSECOND, Nanos,
    attention::{Attention, Home, Layout, Program},
};
use schedlab_tune::{RunJournal, undo::Undo};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    os::fd::AsFd,
    path::{Path, PathBuf},
    time::Duration,
};

/// Periods after which all processes and threads are looked at again, those of processes too whose number of threads has not changed.
const FULL: u64 = 8;

/// What it is to do.
pub struct Options {
    /// Length of a period; if none, two seconds, and longer where the daemon would use more than a thousandth of a processor.
    pub period: Option<Nanos>,
    /// How long it runs; until a signal, if none.
    pub length: Option<Nanos>,
    /// Where commands come in.
    pub socket: PathBuf,
}

/// The daemon at work.
pub struct Daemon {
    root: Root,
    rule: Attention,
    processes: Processes,
    programs: Programs,
    load: Load,
    treating: Treating,
    weights: Weights,
    /// The level that each program was brought to.
    applied: BTreeMap<Program, usize>,
    /// Programs whose threads are to be looked at again.
    again: BTreeSet<Program>,
    sources: Vec<Box<dyn Source>>,
    without: Vec<String>,
    began: Nanos,
    used_before: Nanos,
    pace: Pace,
    periods: u64,
    moves: u64,
    /// Whether a process of a program was not found in the last period: a whole look follows.
    missed: bool,
}

/// How it has ended.
pub struct Ended {
    /// The state at the end.
    pub status: Status,
    /// What was put back.
    pub undone: Undo,
    /// Whether a signal has stopped it.
    pub stopped: bool,
}

impl Daemon {
    /// Looks at what there is, and changes nothing yet. Without a journal it never can.
    pub fn new(layout: Layout, journal: Option<&Path>, pid_file: Option<&Path>) -> Result<Daemon, Fault> {
        let root = Root::default();
        let rights = Rights::own(&root);
        let journal = match journal {
            Some(folder) => RunJournal::open(&root, folder),
            None => RunJournal::closed(&root, "nothing is to be changed"),
        };
        let mut processes = Processes::new(&root);
        let found = processes.look();
        let spared: BTreeSet<i32> = processes.line(process::own_pid()).collect();
        let mut programs = Programs::new(&root, &layout, rights, spared);
        programs.take(&found, &processes);
        let treating = Treating::new(journal.clone(), rights, &layout)?;
        let weights = Weights::new(journal, &layout.level);
        let (sources, without) = focus::open(pid_file)?;
        let (now, used) = (clock::now(), own_use());
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let mut daemon = Daemon {
            rule: Attention::new(layout, cpus, now),
            load: Load::new(clock::since_boot()),
            applied: BTreeMap::new(),
            again: BTreeSet::new(),
            began: now,
            used_before: used,
            pace: Pace::new(used),
            periods: 0,
            moves: 0,
            missed: false,
            root,
            processes,
            programs,
            treating,
            weights,
            sources,
            without,
        };
        daemon.enter_programs();
        Ok(daemon)
    }

    /// Does its work until it is asked to stop or its time is over, and puts everything back.
    pub fn run(mut self, options: &Options, ready: impl FnOnce(&Status)) -> Result<Ended, Fault> {
        let signals = Signals::block()?;
        let server = Server::listen(&options.socket)?;
        let until = options.length.map(|length| self.began + length);
        self.pace = options.period.map_or(self.pace, Pace::fixed);
        let mut next = self.began + self.pace.length();
        self.apply()?;
        self.hear()?;
        ready(&self.status());
        let mut failed = None;
        let stopped = loop {
            let now = clock::now();
            if until.is_some_and(|until| now >= until) {
                break false;
            }
            let due = [Some(next), self.rule.due(), until].into_iter().flatten().min().unwrap_or(next);
            self.sleep(&signals, &server, due.saturating_sub(now));
            if signals.wait(0) {
                break true;
            }
            let done = self.step(&server, &mut next);
            if let Err(fault) = done {
                failed = Some(fault);
                break false;
            }
        };
        let status = self.status();
        let undone = self.treating.finish();
        self.weights.finish();
        failed.map_or(Ok(Ended { status, undone, stopped }), Err)
    }

    /// What it would set, without setting it.
    pub fn preview(&mut self) -> Result<Value, Fault> {
        self.hear()?;
        let status = self.status();
        let layout = self.rule.layout();
        let levels: Vec<Value> = layout.level.iter().map(|level| json!(level)).collect();
        Ok(json!({ "levels": levels, "programs": status.programs, "sources": status.sources, "without": status.without,
                   "cannot": status.cannot, "layout": status.layout }))
    }

    fn sleep(&self, signals: &Signals, server: &Server, at_most: Nanos) {
        let read = |descriptor| PollFd::new(descriptor, PollFlags::POLLIN);
        let mut watched = vec![read(signals.descriptor()), read(server.listener.as_fd())];
        watched.extend(self.sources.iter().map(|source| read(source.descriptor())));
        // An error here is a signal, after which everything is looked at anyway.
        let _ = nix::poll::ppoll(&mut watched, Some(TimeSpec::from_duration(Duration::from_nanos(at_most))), None);
    }

    fn step(&mut self, server: &Server, next: &mut Nanos) -> Result<(), Fault> {
        self.hear()?;
        server.serve(|asked| match asked {
            Asked::Focus(pid) => self.command(pid),
            Asked::Status => json!(self.status()),
        });
        let now = clock::now();
        if now >= *next {
            self.period(now);
            self.pace.begin(own_use());
            // A period that was missed, by a suspend say, is not made up for.
            *next = now + self.pace.length() - (now - *next) % self.pace.length();
        }
        self.rule.settle(now);
        self.apply()
    }

    /// Takes in what the sources say. One that fails is closed: the others go on.
    fn hear(&mut self) -> Result<(), Fault> {
        let mut news = Vec::new();
        let mut at = 0;
        while at < self.sources.len() {
            match self.sources[at].news() {
                Ok(said) => {
                    news.extend(said);
                    at += 1;
                }
                Err(fault) => {
                    self.without.push(format!("{}: {fault}", self.sources[at].name()));
                    drop(self.sources.remove(at));
                }
            }
        }
        for pid in news {
            self.focus(pid);
        }
        Ok(())
    }

    fn command(&mut self, pid: i32) -> Value {
        if pid == 0 {
            self.focus(None);
            return json!({ "focus": null });
        }
        match self.focus(Some(pid)) {
            Some(program) => json!({ "focus": program, "name": self.programs.get(program).map(|about| &about.name) }),
            None => {
                json!({ "error": format!("process {pid}: there is none, or it may not be touched (another user's, the kernel's, \
                                              or one that this daemon came from)") })
            }
        }
    }

    /// The focus is at a process, or nowhere.
    fn focus(&mut self, pid: Option<i32>) -> Option<Program> {
        if pid.is_some_and(|pid| self.processes.get(pid).is_none()) {
            let found = self.processes.look();
            self.take(&found);
        }
        let program = pid.and_then(|pid| self.programs.focus(pid, &self.processes));
        self.enter_programs();
        self.rule.focus(clock::now(), program);
        program
    }

    fn take(&mut self, found: &Found) {
        found.gone.iter().for_each(|pid| self.treating.forget_process(*pid));
        self.programs.take(found, &self.processes);
    }

    /// Tells the rule of programs that are new.
    fn enter_programs(&mut self) {
        for (program, about) in self.programs.iter() {
            let layout = self.rule.layout();
            let of_rule = about
                .rule
                .map(|rule| &layout.rule[rule])
                .and_then(|rule| Some(Home { level: layout.number(&rule.level)?, follows: rule.follows }));
            let home = of_rule.unwrap_or_else(|| self.rule.usual_home());
            self.rule.enter(program, home);
        }
    }

    fn period(&mut self, now: Nanos) {
        self.periods += 1;
        let parents: BTreeMap<i32, Option<Program>> = self.parents();
        let is_whole = self.missed || self.periods.is_multiple_of(FULL);
        let found = if is_whole { self.processes.look() } else { self.processes.look_shortly() };
        self.take(&found);
        let members =
            self.programs.iter().flat_map(|(program, about)| about.members.iter().map(move |pid| (*pid, program)));
        let all: Vec<(i32, Program)> = members.collect();
        let at = |(pid, program): &(i32, Program)| Some((*pid, (*program, Seen::at(&self.root, *pid)?)));
        let seen: BTreeMap<i32, (Program, Seen)> = all.iter().filter_map(at).collect();
        self.missed = seen.len() < all.len();
        for (pid, (_, found)) in &seen {
            if self.processes.get(*pid).is_some_and(|process| process.start != found.start) {
                self.processes.doubt(*pid);
            }
        }
        let wider: BTreeSet<Program> = seen
            .iter()
            .filter(|(pid, (_, now))| self.load.last(**pid).is_none_or(|last| last.threads != now.threads))
            .map(|(_, (program, _))| *program)
            .collect();
        let used = self.load.take(clock::since_boot(), seen, |pid| parents.get(&pid).copied().flatten());
        // Programs with new processes or threads are looked at again, and all of them now and then.
        if self.periods.is_multiple_of(FULL) {
            self.again.extend(self.applied.keys());
        }
        self.again.extend(wider);
        for program in self.programs.remove_empty() {
            self.rule.leave(program);
            self.applied.remove(&program);
            // An entry that cannot be taken off now is taken off by the restorer.
            let _ = self.treating.forget(program);
        }
        self.enter_programs();
        self.rule.period(now, &used);
    }

    /// For each process of a program, the program of its parent: for those that will be found gone.
    fn parents(&self) -> BTreeMap<i32, Option<Program>> {
        let members = self.programs.iter().flat_map(|(_, about)| &about.members);
        let parent = |pid: &i32| self.processes.get(*pid).and_then(|process| self.programs.of(process.parent));
        members.map(|pid| (*pid, parent(pid))).collect()
    }

    /// Brings every program to its level, as far as that is not done yet. All are looked at before the first is changed, since new
    /// threads inherit.
    fn apply(&mut self) -> Result<(), Fault> {
        let again = std::mem::take(&mut self.again);
        let is_due =
            |(program, level): &(Program, usize)| again.contains(program) || self.applied.get(program) != Some(level);
        let due: Vec<(Program, usize)> = self.rule.placements().map(|(p, at)| (p, at.level)).filter(is_due).collect();
        for (program, _) in &due {
            for pid in self.programs.get(*program).iter().flat_map(|about| &about.members) {
                self.treating.gather(*pid, self.processes.get(*pid).map(|process| process.parent));
            }
        }
        for (program, level) in due {
            let before = self.applied.insert(program, level);
            self.moves += u64::from(before.is_some_and(|before| before != level));
            let Some(about) = self.programs.get(program) else { continue };
            let treated = &self.rule.layout().level[level];
            self.treating.apply(program, about, treated)?;
            self.weights.apply(about, treated)?;
        }
        Ok(())
    }

    fn cannot(&self) -> Vec<String> {
        let mut all: Vec<String> = self.treating.rights.missing().into_iter().collect();
        if !self.treating.has_slices() && self.rule.layout().level.iter().any(|level| level.slice.is_some()) {
            all.push("slices stay as they are: this kernel has none of a task's own (Linux 6.12 has)".to_owned());
        }
        all
    }

    /// How things stand.
    pub fn status(&self) -> Status {
        let layout = self.rule.layout();
        let up = clock::now().saturating_sub(self.began).max(1);
        let own = own_use() - self.used_before;
        let program = |(program, at): (Program, schedlab_model::attention::Placement)| {
            let about = self.programs.get(program)?;
            Some((
                at.level,
                ProgramStatus {
                    program,
                    name: about.name.clone(),
                    level: layout.level[at.level].name.clone(),
                    standing: at.standing,
                    lowered: at.lowered,
                    attention: at.attention,
                    used: at.used,
                    processes: about.members.iter().copied().collect(),
                    treated_threads: about.members.iter().map(|pid| self.treating.treated(*pid)).sum(),
                },
            ))
        };
        let mut programs: Vec<(usize, ProgramStatus)> = self.rule.placements().filter_map(program).collect();
        programs.sort_by_key(|(level, program)| (*level, program.program));
        let levels = layout.level.iter().enumerate().map(|(number, level)| {
            let here = || programs.iter().filter(|(at, _)| *at == number);
            LevelStatus {
                name: level.name.clone(),
                nice: level.nice,
                used: here().map(|(_, program)| program.used).sum(),
                programs: here().count(),
            }
        });
        let left_alone = self.treating.left_alone();
        Status {
            layout: layout.title.clone(),
            pid: std::process::id(),
            up_s: up as f64 / 1e9,
            own_share: own as f64 / up as f64,
            period_s: self.pace.length() as f64 / 1e9,
            sources: self.sources.iter().map(|source| source.name()).chain(["commands".to_owned()]).collect(),
            without: self.without.clone(),
            focus: self.rule.focused(),
            levels: levels.collect(),
            programs: programs.into_iter().map(|(_, program)| program).collect(),
            moves: self.moves,
            foreign_threads: left_alone.foreign,
            refused: left_alone.refused,
            cannot: self.cannot(),
        }
    }
}

/// The processor time that this process has used.
fn own_use() -> Nanos {
    process::Usage::own().time_us() * MICROSECOND
}
