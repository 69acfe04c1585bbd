//! The deadline class of Linux (SCHED_DEADLINE): tasks with a reservation, before real-time and fair ones. Each is a constant
//! bandwidth server: it has a budget and a deadline, the earliest deadline runs, and one that has used up its budget waits for its
//! next period. The budget is looked at at ticks and when another task is chosen (the kernel's hrtick is off by default), so up to a
//! tick too much is used; the next budget pays for it. Functions have the names of kernel/sched/deadline.c where they do what those do.
//! A task and its rules: `dl_entity.rs`;
//! several processors: `cpudl.rs`.

use super::{
    dl_entity::{BW_SHIFT, Claim, DL_SCALE, Server, to_ratio},
    entity::Placing,
    realtime,
    task_class::is_deadline,
};
use crate::schedulers::{Context, Dequeue, kit::ordered::Ordered};
use schedlab_model::{
    MICROSECOND, Nanos,
    info::{Domain, Parameter, Params},
    processors::CpuSet,
    task::{CpuId, TaskId},
};
use std::ops::RangeInclusive;

/// The ratio of a processor to what may be reserved of it is in 2^-8 (RATIO_SHIFT).
const RATIO_SHIFT: u32 = 8;
/// Capacity of a full core, as a power of two (SCHED_CAPACITY_SHIFT).
const CAPACITY_SHIFT: u32 = 10;
/// Possible periods (sysctl_sched_dl_period_min, sysctl_sched_dl_period_max).
const PERIODS: RangeInclusive<Nanos> = 100 * MICROSECOND..=(1 << 22) * MICROSECOND;

/// Timers of this class have numbers from here on, two a task: its next budget, and the end of its claim while it sleeps.
pub const TIMERS: u32 = 1 << 31;

/// Whether tasks with a reservation reclaim what other reservations leave.
pub const RECLAIM: Parameter = Parameter {
    name: "reclaim",
    meaning: "whether tasks of the policy deadline may use beyond their reservation what others leave of theirs (SCHED_FLAG_RECLAIM)",
    domain: Domain::Switch,
    default: Some("false"),
    logarithmic: false,
    grows: false,
    host: None,
};

/// The class on a processor (dl_rq).
#[derive(Debug, Clone, Copy, Default)]
struct DlRq {
    current: Option<TaskId>,
    /// What that has used since its budget was last looked at.
    unpaid: Nanos,
    /// Parts of all tasks that belong here, and of those that claim theirs.
    this_bw: u64,
    running_bw: u64,
}

/// Tasks with a reservation, on all processors.
#[derive(Debug)]
pub struct Deadline {
    reclaim: bool,
    /// What may be reserved of a processor, if not all and more; its inverse; what the server of fair tasks reserves of each.
    max_bw: Option<u64>,
    bw_ratio: u64,
    server_bw: u64,
    /// What is reserved in all (total_bw); and what is not, of each processor (extra_bw).
    total_bw: u64,
    extra_bw: i64,
    pub(super) capacities: Vec<u64>,
    pub(super) tasks: Vec<Server>,
    pub(super) queue: Ordered<Nanos>,
    rqs: Vec<DlRq>,
}

impl Deadline {
    pub fn new(params: &Params, capacities: Vec<u64>) -> Deadline {
        let (runtime, period) = realtime::limit(params);
        let unlimited = params.name("rt_throttling") == "off";
        let server_bw =
            if params.name("rt_throttling") == "fair_server" { to_ratio(period, period - runtime) } else { 0 };
        let max_bw = (!unlimited).then(|| to_ratio(period, runtime));
        let count = capacities.len() as u64;
        Deadline {
            reclaim: params.switch("reclaim"),
            max_bw,
            bw_ratio: if unlimited { 1 << RATIO_SHIFT } else { to_ratio(runtime, period) >> (BW_SHIFT - RATIO_SHIFT) },
            server_bw,
            total_bw: count * server_bw,
            extra_bw: max_bw.unwrap_or(1 << BW_SHIFT) as i64 - server_bw as i64,
            queue: Ordered::new(count as u16),
            rqs: vec![DlRq::default(); capacities.len()],
            capacities,
            tasks: Vec::new(),
        }
    }

    /// Whether a reservation is granted: if it is sound (__checkparam_dl), all together keep to what may be reserved of the machine
    /// (__dl_overflow), and the task may use every processor (__sched_setscheduler). Children of such a task are ordinary ones
    /// (SCHED_FLAG_RESET_ON_FORK). The server of fair tasks has its part reserved too (dl_server_apply_params).
    pub fn admits(&mut self, cx: &Context<'_>, id: TaskId) -> bool {
        let task = &cx.tasks[id as usize];
        let Some(wish) = task.reservation.filter(|_| is_deadline(task)) else { return false };
        let sound = wish.runtime >= 1 << DL_SCALE
            && (wish.runtime..=wish.period).contains(&wish.deadline)
            && PERIODS.contains(&wish.period);
        let bound = task.allowed != CpuSet::all(self.rqs.len());
        if !sound || bound || task.parent.is_some() {
            return false;
        }
        let server = Server::new(wish);
        let capacity: u64 = self.capacities.iter().sum();
        let room = |most: u64| (most * capacity) >> CAPACITY_SHIFT;
        if self.max_bw.is_some_and(|most| room(most) < self.total_bw + server.dl_bw) {
            return false;
        }
        self.reserve(server.dl_bw as i64);
        self.tasks.resize(self.tasks.len().max(id as usize + 1), Server::default());
        self.tasks[id as usize] = server;
        true
    }

    /// More is reserved, or less. (__dl_add, __dl_sub)
    fn reserve(&mut self, bw: i64) {
        self.total_bw = self.total_bw.wrapping_add_signed(bw);
        self.extra_bw -= bw / self.rqs.len() as i64;
    }

    /// Tasks of a processor that compete, the running one included.
    #[inline]
    pub fn count(&self, cpu: CpuId) -> u32 {
        self.queue.count(cpu) as u32
    }

    /// The task with the earliest deadline.
    #[inline]
    pub fn best(&self, cpu: CpuId) -> Option<TaskId> {
        self.queue.first(cpu)
    }

    pub fn deadline(&self, task: TaskId) -> Nanos {
        self.tasks[task as usize].deadline
    }

    /// Whether it has a budget and is ready or runs.
    pub fn competes(&self, task: TaskId) -> bool {
        self.tasks[task as usize].queued
    }

    /// A task becomes able to run, or comes from another processor. (enqueue_task_dl)
    pub fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, how: Placing) {
        self.settle_in(cpu, task);
        let server = &mut self.tasks[task as usize];
        server.on_rq = true;
        if how == Placing::New {
            server.replenish_dl_new_period(cx.now);
        }
        if how == Placing::Wakeup && !server.throttled && !server.dl_is_implicit() {
            self.dl_check_constrained_dl(cx, cpu, task);
        }
        self.task_contending(cpu, task);
        let server = &mut self.tasks[task as usize];
        if server.throttled {
            return;
        }
        if how == Placing::Wakeup {
            server.update_dl_entity(cx.now);
        }
        self.join(cpu, task);
    }

    /// A task whose deadline is before the end of its period and has passed waits for the next period.
    fn dl_check_constrained_dl(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        let Server { deadline, .. } = self.tasks[task as usize];
        let begins = self.tasks[task as usize].dl_next_period();
        if deadline > 0 && deadline < cx.now && cx.now < begins && self.start_dl_timer(cx, cpu, task) {
            let server = &mut self.tasks[task as usize];
            server.throttled = true;
            server.runtime = server.runtime.min(0);
        }
    }

    fn join(&mut self, cpu: CpuId, task: TaskId) {
        let server = &mut self.tasks[task as usize];
        server.queued = true;
        self.queue.join(cpu, task, server.deadline);
    }

    fn unqueue(&mut self, cpu: CpuId, task: TaskId) {
        if std::mem::take(&mut self.tasks[task as usize].queued) {
            self.queue.remove(cpu, task);
        }
    }

    /// A task sleeps, ends or goes elsewhere. (dequeue_task_dl)
    pub fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue, fair: bool) {
        if self.rqs[usize::from(cpu)].current == Some(task) {
            self.put_prev(cx, cpu, fair);
        }
        self.unqueue(cpu, task);
        if why == Dequeue::Migrate {
            self.leave_home(task);
            return;
        }
        let server = &mut self.tasks[task as usize];
        (server.on_rq, server.gone) = (false, why == Dequeue::Exit);
        self.task_non_contending(cx, cpu, task);
    }

    /// A task takes its part of a processor along. (migrate_task_rq_dl)
    fn settle_in(&mut self, cpu: CpuId, task: TaskId) {
        let Server { home, claim, dl_bw, .. } = self.tasks[task as usize];
        if home == Some(cpu) {
            return;
        }
        self.leave_home(task);
        let (server, rq) = (&mut self.tasks[task as usize], &mut self.rqs[usize::from(cpu)]);
        server.home = Some(cpu);
        rq.this_bw += dl_bw;
        if claim == Claim::Contending {
            rq.running_bw += dl_bw;
        } else {
            (server.claim, server.claims_until) = (Claim::Inactive, None);
        }
    }

    fn leave_home(&mut self, task: TaskId) {
        let server = &mut self.tasks[task as usize];
        let Some(home) = server.home.take() else { return };
        let rq = &mut self.rqs[usize::from(home)];
        rq.this_bw -= server.dl_bw;
        if server.claim != Claim::Inactive {
            rq.running_bw -= server.dl_bw;
        }
    }

    fn task_contending(&mut self, cpu: CpuId, task: TaskId) {
        let server = &mut self.tasks[task as usize];
        if server.claim == Claim::Inactive {
            self.rqs[usize::from(cpu)].running_bw += server.dl_bw;
        }
        (server.claim, server.claims_until) = (Claim::Contending, None);
    }

    /// A task that sleeps or ends claims its part until its 0-lag time.
    fn task_non_contending(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        let until = self.tasks[task as usize].zero_lag().filter(|&until| until >= cx.now);
        let server = &mut self.tasks[task as usize];
        (server.claim, server.claims_until) = (Claim::NonContending, until);
        match until {
            Some(until) => cx.set_timer(until, cpu, TIMERS + 2 * task + 1),
            None => self.end_claim(task),
        }
    }

    /// A timer set for the end of a claim has expired; the task may have been woken since. (inactive_task_timer)
    pub fn inactive_task_timer(&mut self, now: Nanos, task: TaskId) {
        if self.tasks[task as usize].claims_until.is_some_and(|until| until <= now) {
            self.end_claim(task);
        }
    }

    fn end_claim(&mut self, task: TaskId) {
        let server = &mut self.tasks[task as usize];
        server.claims_until = None;
        if std::mem::take(&mut server.claim) != Claim::Inactive
            && let Some(home) = server.home
        {
            self.rqs[usize::from(home)].running_bw -= server.dl_bw;
        }
        if std::mem::take(&mut server.gone) {
            let bw = server.dl_bw as i64;
            self.leave_home(task);
            self.reserve(-bw);
        }
    }

    /// A task has another policy from now on: its processor is free of it at once, its reservation at its 0-lag time.
    /// (switched_from_dl)
    pub fn leave_class(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, fair: bool) {
        if self.rqs[usize::from(cpu)].current == Some(task) {
            self.put_prev(cx, cpu, fair);
        }
        self.unqueue(cpu, task);
        let server = &mut self.tasks[task as usize];
        (server.on_rq, server.throttled, server.gone) = (false, false, true);
        let sleeps = server.claim == Claim::NonContending;
        self.leave_home(task);
        if !sleeps {
            self.task_non_contending(cx, cpu, task);
        }
    }

    /// The running task of this class used `ran`.
    #[inline]
    pub fn charge(&mut self, cpu: CpuId, ran: Nanos) {
        self.rqs[usize::from(cpu)].unpaid += ran;
    }

    /// The running task pays for what it has used since this was last done; without a budget it waits for the next one. `fair`: whether
    /// fair tasks are ready. Whether another task should be chosen. (update_curr_dl)
    pub fn update_curr_dl(&mut self, cx: &mut Context<'_>, cpu: CpuId, fair: bool) -> bool {
        let rq = &mut self.rqs[usize::from(cpu)];
        let Some(task) = rq.current.filter(|&task| self.tasks[task as usize].queued) else { return false };
        let ran = std::mem::take(&mut rq.unpaid);
        if ran == 0 && !self.tasks[task as usize].yielded {
            return false;
        }
        let paid = match self.reclaim {
            true => self.grub_reclaim(cpu, task, ran, fair),
            false => (u128::from(ran * self.capacities[usize::from(cpu)]) >> CAPACITY_SHIFT) as Nanos,
        };
        let server = &mut self.tasks[task as usize];
        server.runtime -= paid as i64;
        if server.runtime > 0 && !server.yielded {
            return false;
        }
        server.throttled = true;
        self.unqueue(cpu, task);
        if !self.start_dl_timer(cx, cpu, task) {
            self.tasks[task as usize].replenish_dl_entity(cx.now);
            self.join(cpu, task);
        }
        self.best(cpu) != Some(task)
    }

    /// What a task pays that reclaims what others leave. In the order of the kernel's multiplications and shifts.
    ///
    ///   ran * max(part, most - inactive - not reserved) / most
    fn grub_reclaim(&self, cpu: CpuId, task: TaskId, ran: Nanos, fair: bool) -> Nanos {
        let (rq, part) = (&self.rqs[usize::from(cpu)], self.tasks[task as usize].dl_bw as i64);
        let inactive = (rq.this_bw - rq.running_bw + if fair { 0 } else { self.server_bw }) as i64;
        let most = self.max_bw.unwrap_or(1 << BW_SHIFT) as i64;
        let active = part.max(most - inactive - self.extra_bw).unsigned_abs();
        let active = (active * self.bw_ratio) >> RATIO_SHIFT;
        ((u128::from(ran) * u128::from(active)) >> BW_SHIFT) as Nanos
    }

    /// Sets the timer for a task's next budget; not if that is due already.
    fn start_dl_timer(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) -> bool {
        let server = &mut self.tasks[task as usize];
        let begins = server.dl_next_period();
        if begins < cx.now {
            return false;
        }
        if !std::mem::replace(&mut server.timer, true) {
            cx.set_timer(begins, cpu, TIMERS + 2 * task);
        }
        true
    }

    /// A task has its next budget. Whether it may run now. (dl_task_timer)
    pub fn dl_task_timer(&mut self, cx: &Context<'_>, task: TaskId) -> bool {
        let server = &mut self.tasks[task as usize];
        server.timer = false;
        if !server.throttled {
            return false;
        }
        server.replenish_dl_entity(cx.now);
        let ready = server.on_rq;
        if ready {
            self.join(cx.tasks[task as usize].cpu, task);
        }
        ready
    }

    /// The running task needs no more of its budget. (yield_task_dl)
    pub fn yield_task(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, fair: bool) {
        self.tasks[task as usize].yielded = true;
        self.update_curr_dl(cx, cpu, fair);
    }

    /// A task runs from now on.
    pub fn set_next(&mut self, cpu: CpuId, task: TaskId) {
        let rq = &mut self.rqs[usize::from(cpu)];
        (rq.current, rq.unpaid) = (Some(task), 0);
    }

    /// What ran may be put back. (put_prev_task_dl)
    pub fn put_prev(&mut self, cx: &mut Context<'_>, cpu: CpuId, fair: bool) {
        self.update_curr_dl(cx, cpu, fair);
        self.rqs[usize::from(cpu)].current = None;
    }
}
