//! A worker: a process that runs a task of the workload. It prepares, waits at the barrier, and carries out the instructions of
//! its program with real work.
//!
//! Long, because each of its parts is a step that one task takes.

use crate::{
    attributes::{self, Scheduling},
    awaited,
    chase::Chase,
    reads,
    setup::Setup,
    shared::{JobTotals, Slot, Trouble},
    sync::Hold,
    work::{GapDetector, call, compute},
};
use schedlab_linux::{
    clock, futex, mapping,
    mapping::{Buffer, Mapping},
    process::{self, Usage},
    sched,
    signals::{handle_pending, set_pending},
};
use schedlab_metrics::{bounded_slowdown, slowdown};
use schedlab_model::{
    Nanos,
    program::{LOOK, TimerMode},
    rng::Rng,
};
use schedlab_workloads::{
    Instruction,
    draws::{draw, of_child, of_task},
    program::MAX_DEPTH,
    stuck::Awaited,
};
use std::{
    io,
    os::fd::OwnedFd,
    sync::atomic::Ordering::{Relaxed, Release},
};

/// A run whose end is this late is kept from it by a real-time task.
const MOST_LATE_NS: u64 = 2_000_000_000;

/// An open file.
pub(crate) struct OpenFile {
    pub file: OwnedFd,
    pub set: u16,
}

/// A worker while it runs its program.
pub(crate) struct Worker<'a> {
    pub setup: &'a Setup,
    pub job: usize,
    /// The number of its slot.
    pub number: usize,
    /// And that of its process.
    pub process: u32,
    pub slot: &'a Slot,
    pub totals: &'a JobTotals,
    pub gaps: GapDetector<'a>,
    pub rng: Rng,
    pub scheduling: Scheduling,
    program: &'a [Instruction],
    next: usize,
    loops: [u32; MAX_DEPTH],
    began: Nanos,
    pub pass_began: Nanos,
    /// The last deadline so far.
    deadline: Nanos,
    /// The last expiry of each timer.
    timers: Vec<Nanos>,
    /// Processor time it had when it began, ns.
    used_before: Nanos,
    /// What it had read when it began.
    reads_before: [u64; 2],
    /// What its computing goes through, if its job has a footprint.
    chase: Option<Chase>,
    /// How it has each lock.
    pub locks: Vec<Hold>,
    /// When the message was sent that it received last, and when the request arrived for which it makes its pass; 0 once it is done with
    /// them.
    pub message: Nanos,
    pub request: Nanos,
    pub file: Option<OpenFile>,
    /// How many files of each set it has opened, created and deleted.
    pub taken: Vec<[u32; 3]>,
    pub buffer: Buffer,
    pub memory: Mapping,
    pub images: Vec<Mapping>,
    /// What it has grown by.
    pub grown: Vec<Mapping>,
    /// Bytes it holds, and what it was given.
    pub held: (u64, u64),
}

impl<'a> Worker<'a> {
    /// Prepares the worker of the task with that number, in its own process.
    pub fn new(setup: &'a Setup, number: usize) -> Worker<'a> {
        let entry = setup.workload.tasks[number];
        let (slot, totals) = (&setup.shared.slots[number], &setup.shared.totals[entry.job]);
        let job = &setup.jobs[entry.job];
        if let Some(group) = &job.group
            && let Err(why) = setup.groups.join(group)
        {
            slot.failed(Trouble::Group, &why);
        }
        slot.program.store(entry.job as u32, Relaxed);
        // See `guard`. Where a lower limit holds already, that does.
        let _ = process::limit_real_time(setup.longest.saturating_add(MOST_LATE_NS));
        let scheduling = attributes::take(job, setup.slices[entry.job], &setup.processors[entry.job], slot);
        set_pending(&setup.shared.slots.values()[number].signals);
        handle_pending();
        let needs = setup.needs[entry.job];
        let mut worker = Worker {
            setup,
            job: entry.job,
            number,
            process: process::own_pid() as u32,
            slot,
            totals,
            gaps: GapDetector::new(slot),
            rng: of_task(setup.seed, &setup.workload.jobs[entry.job], entry.copy),
            scheduling,
            program: &setup.workload.programs.programs[entry.job],
            next: 0,
            loops: [0; MAX_DEPTH],
            began: 0,
            pass_began: 0,
            deadline: 0,
            timers: vec![0; setup.workload.programs.timers.len()],
            used_before: 0,
            reads_before: [0; 2],
            chase: None,
            locks: vec![Hold::Nothing; setup.shared.locks.len()],
            message: 0,
            request: 0,
            file: None,
            taken: vec![[0; 3]; setup.workload.programs.files.len()],
            buffer: Buffer::new(needs.buffer),
            memory: Mapping::NONE,
            images: Vec::new(),
            grown: Vec::new(),
            held: (0, 0),
        };
        // Before the locking, so that it stays.
        match setup.chases[entry.job].map(Chase::new).transpose() {
            Ok(chase) => worker.chase = chase,
            Err(why) => slot.failed(Trouble::Memory, &why),
        }
        if let Err(why) = mapping::lock_memory() {
            slot.failed(Trouble::LockedMemory, &why);
        }
        // After the locking: these pages come and go as the program touches them.
        match Mapping::own(needs.memory) {
            Ok(memory) => worker.memory = memory,
            Err(why) => slot.failed(Trouble::Memory, &why),
        }
        let sizes = setup.workload.programs.images.iter();
        let images = setup.store.images.iter().zip(sizes).map(|(file, &size)| Mapping::of_file(file, size as usize));
        match images.collect() {
            Ok(images) => worker.images = images,
            Err(why) => slot.failed(Trouble::Memory, &why),
        }
        worker
    }

    /// Waits for the start of the run, and then for this task's own. What a worker does for the supervisor is done before the barrier
    /// opens, or does not count.
    pub fn wait_for_start(&mut self) {
        self.reads_before = reads::own().unwrap_or_default();
        let barrier = self.setup.shared.barrier();
        barrier.ready.fetch_add(1, Relaxed);
        futex::wake(&barrier.ready, 1);
        while barrier.open.load(std::sync::atomic::Ordering::Acquire) == 0 {
            futex::wait(&barrier.open, 0, None);
        }
        let start = barrier.start.load(Relaxed) + self.setup.workload.tasks[self.number].start;
        while clock::now() < start {
            clock::sleep_until(start);
        }
        let before = Usage::own();
        self.slot.open_account(before);
        self.used_before = before.time_us() * 1000;
        self.totals.made.fetch_add(1, Relaxed);
        self.totals.making_us.fetch_add(before.time_us(), Relaxed);
        self.begin(start);
    }

    /// The task starts.
    fn begin(&mut self, began: Nanos) {
        (self.began, self.pass_began, self.deadline) = (began, began, began);
        self.timers.fill(began);
        [&self.slot.pass_began, &self.slot.due, &self.slot.began].into_iter().for_each(|it| it.store(began, Relaxed));
        self.totals.created.fetch_add(1, Relaxed);
        let running = self.gaps.restart();
        self.totals.response.record(running.saturating_sub(began));
        self.gaps.gap(running.saturating_sub(began));
    }

    /// Runs the program to its end.
    pub fn run_program(mut self) -> ! {
        loop {
            let instruction = self.program[self.next];
            self.next += 1;
            match instruction {
                Instruction::Enter { depth } => self.loops[usize::from(depth)] = 0,
                Instruction::Again { start, times: u32::MAX, .. } => self.next = start as usize,
                Instruction::Again { depth, start, times } => {
                    let done = &mut self.loops[usize::from(depth)];
                    *done += 1;
                    if *done < times {
                        self.next = start as usize;
                    }
                }
                Instruction::Compute { span, .. } => {
                    let length = draw(span, &mut self.rng);
                    self.work(length);
                }
                Instruction::Call(span) => {
                    let length = draw(span, &mut self.rng);
                    call(self.setup.measure.calls(length), &self.setup.measure, &mut self.gaps);
                }
                Instruction::Sleep { span, .. } => {
                    let length = draw(span, &mut self.rng);
                    self.sleep(clock::now().saturating_add(length));
                }
                Instruction::Period(length) => self.period(length),
                Instruction::Timer { timer, period, mode } => self.timer(usize::from(timer), period, mode),
                Instruction::Busy(length) => self.be_busy(length),
                Instruction::Pass => self.pass(),
                Instruction::Mark(_) => {}
                Instruction::Yield => {
                    sched::give_up_cpu();
                    self.gaps.restart();
                }
                Instruction::Fork(program) => self.fork(program),
                Instruction::Wait => self.wait(),
                Instruction::Signal => self.signal(),
                Instruction::Pause => self.await_others(Awaited::Signal, |_| process::pause()),
                Instruction::Exit => self.end(),
                other => self.use_system(other),
            }
        }
    }

    /// Work of that nominal length, ns: through the footprint, if the job has one.
    pub fn work(&mut self, length: Nanos) {
        match &mut self.chase {
            Some(chase) => chase.follow(length, &mut self.gaps),
            None => compute(self.setup.measure.rounds(length), &self.setup.measure, &mut self.gaps),
        }
    }

    /// Does something that may block.
    pub fn blocking<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        self.gaps.rest();
        let done = act(self);
        self.gaps.restart();
        done
    }

    /// Does something that may block until another task acts.
    pub fn await_others<T>(&mut self, what: Awaited, act: impl FnOnce(&mut Self) -> T) -> T {
        self.slot.waits(awaited::number(what));
        let done = self.blocking(act);
        self.slot.awaits.store(0, Relaxed);
        done
    }

    /// Sleeps; from the expiry of the timer to running again is a wakeup latency. A signal ends it early, without one.
    fn sleep(&mut self, until: Nanos) {
        self.gaps.rest();
        self.slot.until.store(until, Relaxed);
        clock::sleep_until(until);
        self.slot.until.store(0, Relaxed);
        let running = self.gaps.restart();
        if let Some(latency) = running.checked_sub(until) {
            self.totals.wakeup_latency.record(latency);
            self.gaps.gap(latency);
        }
    }

    /// Waits for the next multiple of `length` since the task began. Late means that it has passed already: the task continues
    /// immediately with the current period, and those that passed meanwhile are missed too.
    fn period(&mut self, length: Nanos) {
        let mut deadline = self.began + ((self.deadline - self.began) / length + 1) * length;
        let now = clock::now();
        if now <= deadline {
            self.deadline = deadline;
            self.slot.due.store(deadline, Relaxed);
            self.totals.lateness.record(0);
            return self.sleep(deadline);
        }
        while deadline <= now {
            self.totals.lateness.record(now - deadline);
            self.totals.misses.fetch_add(1, Relaxed);
            self.deadline = deadline;
            deadline += length;
        }
        self.slot.due.store(self.deadline, Relaxed);
    }

    /// Waits for a timer of the task's own, or, late, only notes how late.
    fn timer(&mut self, timer: usize, period: Nanos, mode: TimerMode) {
        let due = self.timers[timer].saturating_add(period);
        let now = clock::now();
        if now <= due {
            self.timers[timer] = due;
            self.totals.lateness.record(0);
            return self.sleep(due);
        }
        self.timers[timer] = if mode == TimerMode::Relative { now } else { due };
        self.totals.lateness.record(now - due);
        self.totals.misses.fetch_add(1, Relaxed);
    }

    /// Works until that much time has passed, and looks at the clock now and then.
    fn be_busy(&mut self, length: Nanos) {
        let until = clock::now().saturating_add(length);
        while clock::now() < until {
            self.work(LOOK);
        }
    }

    fn pass(&mut self) {
        let now = clock::now();
        self.totals.pass_time.record(now - std::mem::replace(&mut self.pass_began, now));
        self.slot.pass_began.store(now, Relaxed);
        self.done_with_all(now);
    }

    /// Forks a child, which runs another program from here on.
    fn fork(&mut self, program: u32) {
        let rng = of_child(self.setup.seed, &mut self.rng);
        let number = self.setup.shared.slot_for_child();
        let slot = &self.setup.shared.slots[number];
        slot.job.store(self.job as u32, Relaxed);
        slot.parent.store(self.number as u32 + 1, Relaxed);
        let (parent, began) = (process::own_pid(), clock::now());
        match process::fork() {
            Ok(Some(pid)) => {
                slot.pid.store(pid, Relaxed);
                self.gaps.restart();
            }
            Ok(None) => {
                die_with(parent);
                slot.pid.store(process::own_pid(), Relaxed);
                (self.number, self.slot, self.rng, self.gaps) = (number, slot, rng, GapDetector::new(slot));
                set_pending(&self.setup.shared.slots.values()[number].signals);
                self.program = &self.setup.workload.programs.programs[program as usize];
                slot.program.store(program, Relaxed);
                (self.next, self.loops, self.file, self.held) = (0, [0; MAX_DEPTH], None, (0, 0));
                self.taken.fill([0; 3]);
                self.process = process::own_pid() as u32;
                self.locks.fill(Hold::Nothing);
                (self.message, self.request) = (0, 0);
                self.used_before = 0;
                self.scheduling = self.scheduling.of_child();
                // Nor has it the priority of a lock that its parent holds.
                self.scheduling.hold(0, slot);
                self.begin(began);
            }
            Err(why) => self.slot.failed(Trouble::Fork, &why),
        }
    }

    /// Waits until a child has ended; without one, or when a signal comes, it returns immediately.
    fn wait(&mut self) {
        let ended = self.await_others(Awaited::Child, |_| process::reap(true));
        self.note_end(ended);
    }

    /// Runs a command of the shell and waits for its end; a signal does not end this wait.
    pub fn run(&mut self, command: u16) {
        let command = &self.setup.commands[usize::from(command)];
        let parent = process::own_pid();
        let ended = self.blocking(|_| match process::fork()? {
            Some(pid) => process::reap_one(pid),
            None => {
                die_with(parent);
                process::become_shell(command)
            }
        });
        self.note_reaped();
        match ended {
            Ok(status) if status != 0 => self.slot.note(Trouble::Command, 0),
            Ok(_) => {}
            Err(why) => self.slot.failed(Trouble::Command, &why),
        }
    }

    /// A child was waited for: what it used is in the kernel's account of this task's children from now on.
    fn note_reaped(&self) {
        self.slot.reaped_us.store(Usage::of_children().time_us(), Relaxed);
    }

    fn note_end(&self, ended: io::Result<Option<process::Ended>>) {
        self.note_reaped();
        if let Ok(Some(ended)) = ended
            && ended.signal.is_some()
        {
            self.totals.died.fetch_add(1, Relaxed);
            self.setup.shared.was_killed(ended.pid);
        }
    }

    /// A signal to every other living task of the job.
    fn signal(&mut self) {
        for (number, slot) in self.setup.shared.used().iter().enumerate() {
            if number == self.number || slot.job.load(Relaxed) as usize != self.job || !slot.is_alive() {
                continue;
            }
            if slot.signals.fetch_add(1, Relaxed) > 0 {
                self.totals.signals_overlapped.fetch_add(1, Relaxed);
            }
            process::kill(slot.pid.load(Relaxed), libc::SIGUSR1);
        }
        self.gaps.restart();
    }

    /// The task has ended. Its process stays until its children have ended, since they die with it.
    pub fn end(&mut self) -> ! {
        self.gaps.rest();
        self.unlock_all();
        let (now, used) = (clock::now(), clock::process_time());
        self.done_with_all(now);
        let turnaround = now.saturating_sub(self.began);
        let used = used.saturating_sub(self.used_before);
        self.totals.turnaround.record(turnaround);
        self.totals.queueing.record(turnaround.saturating_sub(used));
        if used > 0 {
            self.totals.slowdown.record(slowdown(turnaround, used));
            self.totals.bounded_slowdown.record(bounded_slowdown(turnaround, used));
        }
        let (held, given) = self.held;
        if held > 0 {
            self.totals.high_water.fetch_max(held, Relaxed);
            self.totals.memory_unused.fetch_add(given - held, Relaxed);
        }
        let of_workload = self.number < self.setup.workload.tasks.len();
        if of_workload {
            reads::note(self.slot, reads::own(), self.reads_before);
        }
        self.slot.ended.store(now, Relaxed);
        self.totals.ended.fetch_add(1, Relaxed);
        self.outlive_children();
        if of_workload {
            self.stay();
        }
        process::exit_immediately(0)
    }

    fn outlive_children(&self) {
        loop {
            let ended = process::reap(true);
            if ended.as_ref().is_err_and(|why| why.raw_os_error() == Some(libc::ECHILD)) {
                return;
            }
            self.note_end(ended);
        }
    }

    /// A worker is created before the run and removed after it: its process is a copy of the agent, and freeing that memory takes a
    /// kernel longer than many a task's work. What its program has is freed now.
    fn stay(&mut self) -> ! {
        self.file = None;
        self.chase = None;
        self.memory = Mapping::NONE;
        self.images.clear();
        self.grown.clear();
        let used = Usage::own().plus(Usage::of_children());
        self.slot.close_account(used, clock::now());
        if self.setup.is_awaited(self.job) && self.setup.shared.barrier().awaited.fetch_sub(1, Release) == 1 {
            // The last of them: the supervisor sleeps until a signal about a child comes.
            process::kill(process::parent(), libc::SIGCHLD);
        }
        loop {
            process::pause();
        }
    }
}

/// This process is killed when its parent ends; and ends now, if that has happened already.
pub(crate) fn die_with(parent: i32) {
    if process::signal_at_parents_end(libc::SIGKILL).is_err() || process::parent() != parent {
        process::exit_immediately(1);
    }
}
