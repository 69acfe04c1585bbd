//! # o1
//!
//! Promises tasks that sleep much the processor at once, and tasks that never wait slices by nice level, whatever their number.
//!
//! ## The idea
//!
//!     Each processor has two arrays of 140 lists, by priority. The head of the best list of the active array runs.
//!     A task that has used up its slice goes to the expired array with a new one; when the active array is empty, the two are
//!     exchanged. A bitmap finds the best list, so nothing depends on the number of tasks.
//!     A task's average sleep, up to one second, raises or lowers its priority by up to 5. One that sleeps enough is
//!     interactive: it preempts the others when it wakes, and at the end of a slice it stays in the active array, unless the
//!     expired ones starve. With its equals it runs round-robin in parts of a slice of 10 ms and more.
//!
//! ## The formula
//!
//!     slice(n)   =  100 ms * (20 - n) / 20     for n >= 0, at least 5 ms
//!                   400 ms * (20 - n) / 20     for n < 0
//!     priority   =  120 + n + 5 - floor(a / 100 ms)
//!     interactive if  floor(a / 100 ms)  >=  floor((n + 20) / 4) + 2
//!
//! n nice level; a average sleep, 0 to 1000 ms: it grows by the time asleep, and falls by the time on the processor divided
//! by the bonus floor(a / 100 ms). All are whole ticks. Two tasks that never wait share by slice(n1) : slice(n2); nice 0
//! against 5 is 57 : 43, against -5 it is 17 : 83.
//!
//! ## A schedule
//!
//! Two tasks that never wait, one of them nice, and one that sleeps. As no task has slept at first, the slices are used in
//! order; then the sleeper has its bonus:
//!
//! ```toml
//! machine = { preset = "uniform", clock = { hz = "1000/s" } }
//! scheduler = { name = "o1" }
//! workload.a = { load = "spin", compute = "300ms" }
//! workload.b = { load = "spin", compute = "150ms", nice = 10 }
//! workload.c = { load = "sleeper", run = "25ms", sleep = "50ms", rounds = 8 }
//! ```
//!
//! ```text
//!         0ms       100ms     200ms     300ms     400ms     500ms     600ms     700ms     800ms
//!         |         |         |         |         |         |         |         |         |
//! a#0     ##########.......##########..........#####...#####.......
//! b#1     ............#####.............#####...............#####..
//! c#2     ..........##     ..........###     ##     ###     .....##     ###     ##     ###
//! idle 0                                                           -----   -----  -----   -----
//!         a column is 10ms
//!         # running  . ready  - idle
//! ```
//!
//! ## Cost
//!
//! Enqueue and pick: constant, a search in four words of bitmap.
//!
//! ## Good for, not for
//!
//! Many tasks, and desktops with interactive programs that sleep much. Not for an interactive program that computes more than
//! half of the time: it loses its bonus and waits for whole slices, or keeps it and makes the others wait for seconds. The
//! step from nice 0 to -1 is large: four times the slice.
//!
//! Equal tasks that only compute share equally as long as nothing else runs. Slices are counted in ticks, and a tick is
//! charged to the task that it finds running: alongside tasks that sleep and wake, equals can differ by about 5 %.
//!
//! ## Departures
//!
//! - A task that no other one forked begins with an empty account and a full slice. In the kernel its shell forks it, and it
//!   inherits 95 % of the shell's bonus, in whole steps, for the first second or so.
//! - SCHED_IDLE did not exist; such a task is treated as SCHED_BATCH at nice 19. Nor did SCHED_ISO and SCHED_DEADLINE:
//!   they are SCHED_NORMAL. Groups and their quotas came later, and are ignored; so is nice 20, which is 19 here.
//! - Real-time tasks are not throttled: the limit of 95 % came with 2.6.25.
//! - A wakeup by an interrupt is assumed to happen on the processor where the task last ran. With a waker on another processor,
//!   the rule of the kernel decides between the two. A sync wakeup is one by a message in a pipe or by the end
//!   of a child.
//! - Domains are those of x86-64: threads of a core, cores that share a cache, processors of a node, the 16 nearest nodes, all nodes. A task
//!   that starts goes to the least loaded group and processor, as by exec, by the load of now. A processor that has just become idle
//!   pulls one task at once and the others, if the kernel moves several, at its next tick. The migration thread, which moves a
//!   task that always runs when others look, works for idle processors only. Groups are looked at in the order of their processors.
//! - The forked child is assumed to have memory of its own, as fork gives it: it runs first.
//!
//! ## References
//!
//! - Linux 2.6.20, kernel/sched.c (`recalc_task_prio`, `schedule`, `scheduler_tick`, `try_to_wake_up`, `wake_up_new_task`,
//!   `sched_exit`, `find_busiest_group`, `move_tasks`, `sched_balance_self`, `wake_idle`, `init_sched_groups_power`),
//!   include/linux/topology.h (`SD_SIBLING_INIT`, `SD_CPU_INIT`), include/asm-x86_64/topology.h (`SD_NODE_INIT`).
//! - Documentation/sched-design.txt, I. Molnar, 2002.
//!
//! Long, because the page and the rule belong in one file.

use super::domain::{self, Domains};
use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler, Ticks, kit::queue::Links,
};
use credit::{Credit, Sleep};
use entity::Entity;
use queue::Queue;
use schedlab_model::{
    Nanos,
    info::{Info, Params, Promise, Reach},
    task::{CpuId, Task, TaskId, Wait},
    topology::Topology,
};

mod balancing;
mod credit;
mod entity;
mod queue;
mod slices;

/// Two arrays of priorities and the average sleep.
#[derive(Debug)]
pub struct O1 {
    credit: Credit,
    links: Links,
    queues: Vec<Queue>,
    domains: Domains,
    tasks: Vec<Entity>,
    /// Ticks so far.
    jiffies: u64,
}

impl O1 {
    /// Puts a task at the tail of its list, in one of the arrays.
    #[inline(always)]
    fn insert(&mut self, cpu: CpuId, task: TaskId, array: u8) {
        let entity = &mut self.tasks[task as usize];
        entity.array = array;
        let array = self.queues[cpu as usize].array(array);
        array.push_tail(&mut self.links, entity.prio.into(), task);
    }

    /// Takes a task out of its list.
    #[inline(always)]
    fn remove(&mut self, cpu: CpuId, task: TaskId) {
        let entity = &self.tasks[task as usize];
        let array = self.queues[cpu as usize].array(entity.array);
        array.remove(&mut self.links, entity.prio.into(), task);
    }

    /// A task counts on a processor from now on.
    #[inline]
    fn arrive(&mut self, cpu: CpuId, task: TaskId) {
        self.queues[cpu as usize].share.arrive(self.tasks[task as usize].weight);
    }

    /// It does not any more.
    #[inline]
    fn leave(&mut self, cpu: CpuId, task: TaskId) {
        if !self.queues[cpu as usize].share.was_pushed(task) {
            self.remove(cpu, task);
        }
        self.queues[cpu as usize].share.leave(self.tasks[task as usize].weight);
    }

    /// A task that was not able to run joins the runqueue.
    #[inline]
    fn activate(&mut self, cpu: CpuId, task: TaskId) {
        let active = self.queues[cpu as usize].active;
        let expired = self.tasks[task as usize].account.batch;
        self.insert(cpu, task, if expired { 1 - active } else { active });
        self.arrive(cpu, task);
    }

    /// What it waited for has occurred: its sleep is credited.
    #[inline]
    fn woken(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId) {
        self.know(cx, task);
        let entity = &mut self.tasks[task as usize];
        if !entity.real_time() {
            self.credit.slept(&mut entity.account, cx.now - entity.since);
            entity.reprioritize(&self.credit);
            if entity.account.sleep == Sleep::Normal {
                entity.account.sleep = if cx.waker.is_none() { Sleep::Interrupted } else { Sleep::Interactive };
            }
            entity.since = cx.now;
        }
        self.activate(cpu, task);
    }

    /// A task that may be seen for the first time.
    #[inline]
    fn know(&mut self, cx: &Context<'_>, task: TaskId) {
        if self.tasks.len() <= task as usize {
            self.learn(cx);
        }
    }

    #[cold]
    fn learn(&mut self, cx: &Context<'_>) {
        let new = cx.tasks[self.tasks.len()..].iter().map(|task| Entity::new(&self.credit, task));
        self.tasks.extend(new);
    }

    /// A new task: the child of a task that runs here comes just before it, any other one is as if it woke.
    fn created(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        self.know(cx, task);
        self.tasks[task as usize].since = cx.now;
        let Some(parent) = cx.tasks[task as usize].parent else { return self.activate(cpu, task) };
        let runs = cx.processors[cpu as usize].running == Some(parent);
        self.share_slice(cx, cpu, task, parent, runs);
        let [mother, child] = self.tasks.get_disjoint_mut([parent as usize, task as usize]).expect("two tasks");
        child.account.sleep_avg = mother.account.sleep_avg;
        self.credit.forked(&mut mother.account, &mut child.account);
        child.reprioritize(&self.credit);
        if !runs {
            return self.activate(cpu, task);
        }
        (child.prio, child.array) = (mother.prio, mother.array);
        let array = self.queues[cpu as usize].array(child.array);
        array.insert_before(&mut self.links, child.prio.into(), parent, task);
        self.arrive(cpu, task);
        cx.resched(cpu);
    }

    /// A task that waited for the processor is about to run: its wait is credited, and its list adjusted. It runs even if
    /// that list is not the best any more.
    #[inline]
    fn credit_wait(&mut self, now: Nanos, cpu: CpuId, task: TaskId) {
        let entity = &mut self.tasks[task as usize];
        self.credit.waited(&mut entity.account, now - entity.since);
        entity.account.sleep = Sleep::Normal;
        let prio = if entity.real_time() { entity.prio } else { self.credit.priority(&entity.account) };
        if prio != entity.prio {
            self.remove(cpu, task);
            self.tasks[task as usize].prio = prio;
            self.insert(cpu, task, self.tasks[task as usize].array);
        }
    }

    /// The running task stops running, or is examined: its CPU burst is debited.
    #[inline]
    fn account(&mut self, now: Nanos, task: TaskId) {
        let entity = &mut self.tasks[task as usize];
        self.credit.ran(&mut entity.account, now - entity.since);
        entity.since = now;
        entity.last_ran = now;
    }

    /// The running task yields: behind all tasks that have not expired; a real-time one, behind its equals.
    fn give_way(&mut self, cpu: CpuId, task: TaskId) {
        self.remove(cpu, task);
        let active = self.queues[cpu as usize].active;
        let stays = self.tasks[task as usize].real_time();
        self.insert(cpu, task, if stays { active } else { 1 - active });
    }
}

impl Scheduler for O1 {
    const INFO: Info = Info {
        name: "o1",
        summary: "two arrays of 140 priorities, and a bonus for those that sleep; Linux 2.6 before CFS",
        year: 2002,
        origin: "Linux 2.6.20",
        promises: &[
            Promise::WorkConserving(Reach::EachProcessor),
            Promise::StarvationFree(Reach::Everywhere),
            Promise::FindsWork(domain::FINDS_WORK),
            Promise::MovesAtMost(domain::MOVES_AT_MOST),
        ],
        parameters: &[],
        source: schedlab_model::documentation!("o1.rs"),
    };
    const FEATURES: Features = Features { ticks: true, passes_ticks: true, passes_idle_ticks: true, ..Features::NONE };

    fn new(_: &Params, topology: &Topology, tick: Nanos) -> Self {
        let processors = topology.processors();
        let domains = Domains::new(topology);
        let mut queues = vec![Queue::new(); processors.into()];
        (0..).zip(&mut queues).for_each(|(cpu, queue)| queue.share.begin(domains.of(cpu)));
        O1 {
            credit: Credit::new(tick, processors),
            links: Links::default(),
            queues,
            domains,
            tasks: Vec::new(),
            jiffies: 0,
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
        domain::select(self, cx, task, why)
    }

    fn exec_cpu(&mut self, cx: &mut Context<'_>, task: TaskId) -> CpuId {
        domain::exec(self, cx, task)
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        match why {
            Enqueue::New => self.created(cx, cpu, task),
            Enqueue::Wakeup => self.woken(cx, cpu, task),
            Enqueue::Preempted | Enqueue::SliceEnd => {
                self.account(cx.now, task);
                self.may_leave(cx, cpu);
            }
            Enqueue::Yield => {
                self.account(cx.now, task);
                self.give_way(cpu, task);
                self.may_leave(cx, cpu);
            }
            Enqueue::Migrate => self.pulled(cx, cpu, task),
        }
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        let share = &mut self.queues[cpu as usize].share;
        if why != Dequeue::Migrate {
            share.stop();
        } else if !share.is_pushed(task) {
            self.note_array(cpu, task);
        }
        self.leave(cpu, task);
        match why {
            Dequeue::Sleep(wait) => {
                self.account(cx.now, task);
                let entity = &mut self.tasks[task as usize];
                entity.sync = domain::sync(wait);
                if matches!(wait, Wait::Disk | Wait::Pipe) {
                    entity.account.sleep = Sleep::NonInteractive;
                }
            }
            Dequeue::Exit => self.account(cx.now, task),
            Dequeue::Migrate => {}
        }
    }

    #[inline]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let queue = &mut self.queues[cpu as usize];
        if queue.share.count == 0 {
            queue.expired_since = None;
            return None;
        }
        queue.exchange();
        let array = queue.array(queue.active);
        let Some(best) = array.first() else { return self.pick_pushed(cx, cpu) };
        let task = array.list(best).head()?;
        if self.tasks[task as usize].account.sleep != Sleep::Normal {
            self.credit_wait(cx.now, cpu, task);
        }
        let entity = &mut self.tasks[task as usize];
        entity.since = cx.now;
        entity.last_ran = cx.now;
        Some(Pick { task, slice: None })
    }

    /// A task that sends a message through a pipe is about to wait for another, and one that ends is about to leave, so a task that it wakes on its
    /// own processor waits too.
    #[inline]
    fn wakeup_preempts(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        let (running, woken) = (&self.tasks[running as usize], &self.tasks[woken as usize]);
        let sync = woken.sync && cx.waker.is_some_and(|waker| cx.tasks[waker as usize].cpu == cpu);
        (woken.prio < running.prio && !sync).into()
    }

    fn reaped(&mut self, cx: &mut Context<'_>, parent: TaskId, child: TaskId) {
        self.reap(cx, parent, child);
    }

    fn tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        self.jiffies += u64::from(cpu == 0);
        if let Some(task) = cx.processors[cpu as usize].running {
            self.running_tick(cx, cpu, task);
        }
        self.queues[cpu as usize].share.tick();
    }

    fn quiet_ticks(&self, _: &Context<'_>, cpu: CpuId, running: TaskId) -> Ticks {
        Ticks { clock: self.quiet(cpu, running), statistics: 0 }
    }

    fn pass_ticks(&mut self, _: &Context<'_>, cpu: CpuId, running: TaskId, ticks: Ticks) {
        self.pass_quiet(cpu, running, ticks.clock);
    }

    fn idle_ticks(&self, _: &Context<'_>) -> Ticks {
        domain::idle_ticks(self)
    }

    fn pass_idle_ticks(&mut self, cx: &Context<'_>, ticks: Ticks) {
        self.pass_idle(ticks.clock, cx.tick);
    }

    /// Its slice and its average sleep stay; a running task goes to the tail of its list. (set_user_nice, __setscheduler)
    fn changed(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, before: &Task) {
        if self.tasks.len() <= task as usize {
            return;
        }
        let (runs, after) = (cx.processors[cpu as usize].running == Some(task), &cx.tasks[task as usize]);
        if !runs {
            let entity = &mut self.tasks[task as usize];
            entity.read(&self.credit, after);
            entity.moves_expired &= !entity.real_time();
            return;
        }
        self.leave(cpu, task);
        let entity = &mut self.tasks[task as usize];
        let prio = entity.prio;
        entity.read(&self.credit, after);
        let worse = entity.prio > prio;
        let array = if entity.real_time() { self.queues[cpu as usize].active } else { entity.array };
        self.insert(cpu, task, array);
        self.arrive(cpu, task);
        if worse || before.nice != after.nice {
            cx.resched(cpu);
        }
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        domain::pull(self, cx, cpu, why)
    }
}
