//! # ule
//!
//! Promises that a thread that sleeps more than it runs goes before threads that compute, and that those run in slices
//! whose order, not length, depends on nice and on their share of the last ten seconds. No nice level starves another;
//! threads classified as interactive starve all others.
//!
//! ## The idea
//!
//!     Each thread has a score: 0 if it only sleeps, 50 if it runs as long as it sleeps. Below 30 it is interactive and
//!     stands in lists by strict priority, with kernel and realtime threads. The others are in a calendar of 64 days:
//!     the worse the priority, the later the day. The day of insertion advances by one at each tick of the statistics
//!     clock, but not farther than one day past the first day on which a thread still waits.
//!     All slices are of equal length. A thread that wakes with a better priority is switched to when the running one next
//!     returns to user mode; only interrupt threads preempt at once. A preempted thread is the next to run.
//!     A thread that slept in the kernel keeps a good priority until it returns to user mode, and no check is made then
//!     whether another one is better: it has the processor for the rest of its slice.
//!     Each processor has queues of its own. A thread that wakes goes to its last processor if that is idle, else to an idle
//!     core, its waker's processor, or where the worst runs. Since FreeBSD 9 it goes to the least loaded processor of the least
//!     loaded part of the machine; to one that shares a cache in which it may still have its memory, if that is idle. An idle
//!     processor takes a thread from the most loaded one near it, and about once a second a thread moves from the most to the least loaded.
//!
//! ## The formula
//!
//!     score     =  50 * R / S  while R < S, else 50;  interactive if  score + nice < 30
//!     priority  =  128 + score + nice                 if interactive
//!               =  180 + nice + floor(23 * u)         if not, 160 to 223; the day is that many days after today
//!
//! R time run, S time slept, of the last 5 s or so; u share of the processor over the last 10 s. Equal hogs run
//! round-robin with slices of length slice = stathz / 10 ticks of the statistics clock. Of hogs of several nice levels
//! each has, nearly, a share in proportion to 1 / (d + 4.2), d = 20 + nice + floor(23 * u) being its days; but two hogs
//! alone whose days differ by less than a slice share equally, because the days pass while the other one runs.
//!
//! ## A schedule
//!
//! Two hogs, one of them of nice 20, and a job that computes for 20 ms and then sleeps for 180:
//!
//! ```toml
//! machine = "uniform"
//! scheduler = { name = "ule" }
//! workload.editor = { steps = [{ repeat = { times = 5, steps = [{ compute = "20ms" }, { sleep = "180ms" }] } }] }
//! workload.hog = { load = "spin", compute = "600ms" }
//! workload.nicehog = { load = "spin", compute = "300ms", nice = 20 }
//! ```
//!
//! ```text
//!            0ms       200ms     400ms     600ms     800ms
//!            |         |         |         |         |
//! editor#0   #         #         #         #         #
//! hog#1      .#########......####.######......#####......######
//! nicehog#2  ...........#####...........###.##.....##.###.....
//! idle 0
//!            a column is 20ms
//!            # running  . ready
//! ```
//!
//! ## Cost
//!
//! Enqueue and pick: constant, whatever the number of threads. The search for a thread to move visits each queued one.
//!
//! ## Good for, not for
//!
//! Desktops and servers whose work sleeps most of the time, on several processors. Not where nice must have a strong
//! effect: from nice -20 to 20 shares differ by a factor of 6. Not where slices must shrink with load: with thirty hogs
//! each waits 3 s for a slice.
//!
//! ## Departures
//!
//! - Interrupt threads are not simulated: what a timer or a device wakes is ready at once, and the running thread is
//!   then switched out as if softclock had preempted it. All interrupts have softclock's priority (52; 40 in 2011).
//! - The kernel derives both clocks from one timer interrupt; here each has a phase of its own, except where stathz equals
//!   hz and both are one. Only there does it matter that a switch to an interrupt thread in the same interrupt
//!   forgets the end of a slice (`sched_switch` of 2007 clears the request to reschedule; that of 2011 keeps it).
//! - A sleep lasts as long as the machine's timers say; the kernel rounds it up to ticks and adds one.
//! - Sums of ticks have 64 bits. Theirs have 32, so that a sleep of more than 70 minutes wraps around.
//! - Of 2011 and 2023 come the priorities, the boost of sleepers, the threshold of preemption, slices that shrink with load, and all that
//!   concerns several processors; ticks are still sampled as in 2007. The priorities of 2023 are those of 2011.
//! - Groups of processors in 2007 are cores with several threads. Later they are a tree of machine, memory nodes, last-level caches and
//!   cores; that of FreeBSD 9 knew packages, which are nodes here.
//! - Timers interrupt the first processor, where softclock wakes their threads; in 2011 the one where the thread slept; in 2023 there
//!   the interrupt itself wakes the thread. If the machine has costs, the time of such an interrupt is that of the thread's processor.
//! - A thread that the balancer of 2023 tells to pick a processor anew does so at once, not on its return to user mode.
//! - Threads that are bound to some processors, of which the ULE of October 2007 knows none: where none of those that wait
//!   on the busiest processor may move, the next one is asked, as in later versions.
//! - A first task, which no other forked, begins without history.
//! - Real-time priority 1..99 becomes rtprio 31..0; `idle` becomes idprio 0. `iso` and `deadline` are timeshare.
//!
//! ## References
//!
//! - FreeBSD 7.0, sys/kern/sched_ule.c of October 2007 (1.214): `sched_interact_score`, `sched_priority`,
//!   `tdq_runq_add`, `tdq_choose`, `sched_clock`, `sched_tick`, `sched_pctcpu_update`, `sched_setpreempt`,
//!   `sched_pickcpu`, `sched_balance`, `tdq_idled`, `tdq_notify`.
//! - FreeBSD 9 and 10, sys/kern/sched_ule.c (`static_boost`, `tdq_slice`, `cpu_search`, `sched_balance_group`), sys/sys/priority.h.
//! - FreeBSD 14, sys/kern/sched_ule.c (`cpu_search_lowest`, `cpu_search_highest`, `sched_pickcpu`, `sched_balance_group`, `tdq_notify`).
//! - J. Roberson, ULE: A Modern Scheduler for FreeBSD, BSDCon 2003.
//!
//! Long, because the page and the rule belong in one file.

mod balancing;
mod calendar;
mod interactivity;
mod search;
mod thread;
mod tree;
mod version;

use crate::schedulers::{
    Balance, Clocks, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler, Ticks, kit::queue::Links,
};
use balancing::{Balancer, IDLE};
use calendar::{Calendar, FIRST_IDLE, Place};
use schedlab_model::{
    Nanos,
    info::{Info, Params, Promise},
    task::{CpuId, Task, TaskId},
    topology::Topology,
};
use thread::{Class, NEVER, Thread};
use version::{MOST_DIVIDED, NOT_GIVEN, PARAMETERS, Version, stathz};

/// A processor's queue and its state.
#[derive(Debug, Clone)]
struct Processor {
    queue: Calendar,
    /// Threads queued and running (tdq_load).
    load: u32,
    /// The best priority here as of the last event that wrote it (tdq_lowpri): a switch, or a thread that was queued or became
    /// better.
    lowpri: u8,
    /// Whether it found nothing to run, and no thread but an idle one was queued since (tdg_mask in tdq_idle).
    idle: bool,
    /// Whether the running thread is being preempted, rather than made to yield on its return to user mode.
    preempting: bool,
    /// When an interrupt thread last preempted.
    preempted: Option<Nanos>,
}

/// The scheduler.
#[derive(Debug)]
pub struct Ule {
    version: Version,
    /// A full slice, in ticks of the statistics clock.
    slice: u64,
    /// The worst priority that preempts at once (kern.sched.preempt_thresh).
    preempt_thresh: u8,
    links: Links,
    threads: Vec<Option<Thread>>,
    processors: Vec<Processor>,
    /// Ticks of the periodic clock, from 1 on.
    now: i64,
    balancer: Balancer,
}

impl Ule {
    #[inline(always)]
    fn thread(&mut self, task: TaskId) -> &mut Thread {
        self.threads[task as usize].as_mut().expect("the kernel told of it")
    }

    #[inline(always)]
    fn priority(&self, task: TaskId) -> u8 {
        self.threads[task as usize].as_ref().map_or(u8::MAX, |thread| thread.priority)
    }

    #[inline(always)]
    fn compute(&mut self, cx: &Context<'_>, task: TaskId) {
        if let Some(thread) = &mut self.threads[task as usize] {
            thread.compute(&cx.tasks[task as usize], &self.version.rules);
        }
    }

    /// The kernel reports a thread, perhaps for the first time.
    #[inline]
    fn meet(&mut self, cx: &Context<'_>, task: TaskId) {
        if self.threads.get(task as usize).is_none_or(Option::is_none) {
            self.create(cx, task);
        }
    }

    /// A thread is forked, or there from the start.
    #[cold]
    fn create(&mut self, cx: &Context<'_>, id: TaskId) {
        if id as usize >= self.threads.len() {
            self.threads.resize(id as usize + 1, None);
        }
        let task = &cx.tasks[id as usize];
        let slice = self.slice_on(task.cpu);
        let rules = &self.version.rules;
        let parent = task.parent.and_then(|parent| Some((parent, self.threads[parent as usize].as_mut()?)));
        let Some((parent, of)) = parent else {
            let mut first = Thread::first(task, self.now, &self.version);
            first.compute(task, rules);
            first.priority = first.user_priority;
            self.threads[id as usize] = Some(first);
            return;
        };
        let child = Thread { history: of.history.child(rules), used: slice - 1, left: NEVER, ..*of };
        of.history.run_for(rules.increment, rules);
        self.threads[id as usize] = Some(child);
        self.compute(cx, parent);
        self.compute(cx, id);
    }

    /// A full slice on a processor, in ticks of the statistics clock.
    #[inline]
    fn slice_on(&self, cpu: CpuId) -> u64 {
        let others = u64::from(self.processors[cpu as usize].load).saturating_sub(1);
        if self.version.old { self.slice } else { (self.slice / others.clamp(1, MOST_DIVIDED)).max(1) }
    }

    /// A thread ends: its parent has run for as long as it did.
    fn exit(&mut self, cx: &Context<'_>, task: TaskId) {
        let ran = self.thread(task).history.ran();
        let Some(parent) = cx.tasks[task as usize].parent else { return };
        if let Some(parent) = &mut self.threads[parent as usize] {
            parent.history.run_for(ran, &self.version.rules);
        }
        self.compute(cx, parent);
    }

    /// A queued thread leaves the queue.
    #[inline]
    fn remove(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId) {
        let Some(thread) = &mut self.threads[task as usize] else { return };
        self.processors[cpu as usize].queue.remove(&mut self.links, task, thread.place);
        if let Place::Day(_) = thread.place {
            thread.history.leave_calendar(self.now, &self.version.rules);
            thread.compute(&cx.tasks[task as usize], &self.version.rules);
        }
    }

    /// The running thread is preempted at once and goes on first.
    fn preempt(&mut self, cpu: CpuId) -> Preempt {
        self.processors[cpu as usize].preempting = true;
        Preempt::AtOnce
    }
}

impl Scheduler for Ule {
    const INFO: Info = Info {
        name: "ule",
        summary: "interactivity from sleep and run times, a calendar of days for the rest, a queue a processor",
        year: 2007,
        origin: "FreeBSD 7, SCHED_ULE",
        promises: &[Promise::MovesAtMost(balancing::MOVES_AT_MOST)],
        parameters: PARAMETERS,
        source: schedlab_model::documentation!("ule.rs"),
    };
    const FEATURES: Features = Features {
        ticks: true,
        stat_ticks: true,
        interrupts: true,
        user_returns: true,
        passes_ticks: true,
        passes_idle_ticks: true,
        ..Features::NONE
    };

    fn clocks(params: &Params, _: Clocks) -> Clocks {
        let (hz, stathz) = (params.real("hz").trunc(), stathz(params));
        Clocks { hz, stat_hz: (stathz != hz).then_some(stathz) }
    }

    fn new(params: &Params, topology: &Topology, _: Nanos) -> Self {
        let processors = topology.processors();
        let version = Version::new(params);
        let stathz = stathz(params) as u64;
        let or = |given: u64, none: u64, default: u64| if given == none { default } else { given };
        let queue = Calendar::new(version.rules.first_batch);
        let processor = Processor { queue, load: 0, lowpri: IDLE, idle: true, preempting: false, preempted: None };
        Ule {
            slice: or(params.whole("slice"), 0, stathz / 10).max(1),
            preempt_thresh: or(params.whole("preempt_thresh"), NOT_GIVEN, version.first_kernel.into()) as u8,
            links: Links::default(),
            threads: Vec::new(),
            processors: vec![processor; processors.into()],
            now: 1,
            balancer: Balancer::new(topology, stathz, &version),
            version,
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, _: Enqueue) -> CpuId {
        self.meet(cx, task);
        self.balancer.wakes(cx, task, self.version.old);
        self.place(cx, task)
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        self.meet(cx, task);
        let (slice, now) = (self.slice_on(cpu), self.now);
        let preempted = why == Enqueue::Preempted && self.processors[cpu as usize].preempting;
        if why == Enqueue::Migrate {
            self.pull(cx, cpu, task);
        }
        let thread = self.threads[task as usize].as_mut().expect("it was met");
        match why {
            Enqueue::New | Enqueue::Migrate => {}
            Enqueue::Wakeup => thread.wake(&cx.tasks[task as usize], now, &self.version.rules),
            Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yield => thread.left = now,
        }
        if thread.used >= slice {
            thread.used = 0;
        }
        if matches!(why, Enqueue::Preempted | Enqueue::SliceEnd) && !preempted {
            thread.priority = thread.user_priority;
        }
        let processor = &mut self.processors[cpu as usize];
        if matches!(why, Enqueue::New | Enqueue::Wakeup | Enqueue::Migrate) {
            processor.load += 1;
            self.balancer.grown(processor.load);
        }
        processor.lowpri = processor.lowpri.min(thread.priority);
        processor.idle &= thread.class == Class::Idle;
        thread.place = processor.queue.add(&mut self.links, task, thread.priority, preempted);
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        if cx.processors[cpu as usize].running != Some(task) {
            self.remove(cx, cpu, task);
        }
        let processor = &mut self.processors[cpu as usize];
        self.balancer.shrinks(processor.load);
        processor.load -= 1;
        match why {
            Dequeue::Sleep(wait) => {
                if let Some(thread) = &mut self.threads[task as usize] {
                    thread.sleep(wait, self.now, &self.version);
                }
            }
            Dequeue::Exit => self.exit(cx, task),
            Dequeue::Migrate => {}
        }
    }

    #[inline]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let processor = &mut self.processors[cpu as usize];
        processor.preempting = false;
        processor.lowpri = IDLE;
        let Some((task, _)) = processor.queue.first() else {
            processor.idle = true;
            return None;
        };
        self.processors[cpu as usize].lowpri = self.priority(task);
        self.remove(cx, cpu, task);
        Some(Pick { task, slice: None })
    }

    /// A better one makes the running thread yield on its return to user mode, and at once if it is as good as an
    /// interrupt thread or the other one idle (sched_setpreempt); from another processor only where it matters (tdq_notify).
    fn wakeup_preempts(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        let (new, current) = (self.priority(woken), self.priority(running));
        if self.here(cx) != cpu {
            return if self.notifies(cx, cpu, running, woken) { self.preempt(cpu) } else { Preempt::No };
        }
        if new >= current {
            Preempt::No
        } else if new <= self.preempt_thresh || current >= FIRST_IDLE {
            self.preempt(cpu)
        } else {
            Preempt::Yes
        }
    }

    #[inline]
    fn return_to_user(&mut self, _: &mut Context<'_>, _: CpuId, task: TaskId) {
        let thread = self.thread(task);
        thread.priority = thread.user_priority;
    }

    fn tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        self.now += i64::from(cpu == 0);
        let running = cx.processors[cpu as usize].running;
        if let Some(thread) = running.and_then(|task| self.threads[task as usize].as_mut()) {
            thread.history.tick(self.now, &self.version.rules);
        }
    }

    fn quiet_ticks(&self, _: &Context<'_>, cpu: CpuId, running: TaskId) -> Ticks {
        let thread = self.threads[running as usize].as_ref();
        thread.map_or(Ticks::default(), |thread| thread.quiet_ticks(self.slice_on(cpu), self.now, &self.version.rules))
    }

    fn pass_ticks(&mut self, _: &Context<'_>, cpu: CpuId, running: TaskId, ticks: Ticks) {
        self.now += ticks.clock as i64;
        self.processors[cpu as usize].queue.pass_ticks(ticks.statistics);
        if let Some(thread) = &mut self.threads[running as usize] {
            thread.pass_ticks(ticks, self.now, &self.version.rules);
        }
    }

    /// Until the next balancing.
    fn idle_ticks(&self, _: &Context<'_>) -> Ticks {
        Ticks { clock: u64::MAX, statistics: self.ticks_until_balancing() }
    }

    fn pass_idle_ticks(&mut self, _: &Context<'_>, ticks: Ticks) {
        self.now += ticks.clock as i64;
        self.pass_countdown(ticks.statistics);
        for processor in &mut self.processors {
            processor.queue.pass_ticks(ticks.statistics);
        }
    }

    fn stat_tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        if cpu == 0 {
            self.count_down(cx);
        }
        self.processors[cpu as usize].queue.tick();
        let Some(task) = cx.processors[cpu as usize].running else { return };
        let (slice, rules) = (self.slice_on(cpu), &self.version.rules);
        let Some(thread) = &mut self.threads[task as usize] else { return };
        match thread.class {
            Class::Timeshare => thread.history.run_for(rules.increment, rules),
            Class::Realtime | Class::Idle if !self.version.old => {}
            _ => return,
        }
        thread.used += 1;
        if thread.used < slice {
            return;
        }
        thread.compute(&cx.tasks[task as usize], rules);
        if self.version.old && self.processors[cpu as usize].preempted == Some(cx.now) {
            thread.used = 0;
        } else {
            cx.resched(cpu);
        }
    }

    /// An interrupt thread has run: preempting the running thread, or made to wait for its return to user mode.
    fn interrupted(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        if self.version.today && self.balancer.timer.0 == cx.now {
            return; // the handler itself woke the thread
        }
        let cpu = self.balancer.interrupted(cx.now, cpu);
        let Some(running) = cx.processors[cpu as usize].running else { return };
        let (current, softclock) = (self.priority(running), self.version.softclock);
        if softclock <= self.preempt_thresh || current >= FIRST_IDLE {
            self.processors[cpu as usize].preempting = true;
            self.processors[cpu as usize].preempted = Some(cx.now);
            cx.resched_at_once(cpu);
        } else {
            cx.resched(cpu);
        }
    }

    /// Its history stays; the priority that follows is its present one too (sched_nice, sched_class, sched_prio). A running thread
    /// whose class or real-time priority is worse competes anew.
    fn changed(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, before: &Task) {
        let Some(thread) = self.threads.get_mut(task as usize).and_then(Option::as_mut) else { return };
        let (after, old) = (&cx.tasks[task as usize], thread.priority);
        (thread.class, thread.user_priority) = Thread::class_of(after, &self.version);
        thread.compute(after, &self.version.rules);
        thread.priority = thread.user_priority;
        let lowpri = &mut self.processors[cpu as usize].lowpri;
        *lowpri = thread.priority.min(*lowpri);
        let asks = (before.policy, before.priority) != (after.policy, after.priority);
        if asks && thread.priority > old && cx.processors[cpu as usize].running == Some(task) {
            cx.resched(cpu);
        }
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        match why {
            Balance::Idle => self.steal(cx, cpu),
            Balance::Tick => self.next_move(cx, cpu).or_else(|| self.steal_again(cx, cpu)),
        }
    }
}
