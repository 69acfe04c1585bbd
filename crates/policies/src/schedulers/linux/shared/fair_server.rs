//! The server of fair tasks (the dl_server of kernel/sched/deadline.c, Linux 6.12 on): on every processor a reservation whose budget
//! is the fair tasks', so that the classes above leave them something. It is a deferred one:
//!
//!   starts   when the first fair task becomes ready
//!   waits    until no laxity is left (deadline - budget); what fair tasks use meanwhile, and idle time, is taken from its budget, and
//!            if fair tasks use all of it a new period begins
//!   serves   before real-time tasks, until its budget is used up; then again from its next period on
//!   stops    when it should serve and no fair task is ready; where there are fair tasks only, the kernel does not ask it
//!
//! One that has served and is started again serves at once, until the processor was idle for longer than its budget or fair tasks
//! have used that up by themselves: so once real-time tasks have kept a processor for a period, each fair task that wakes there goes
//! before them while the budget lasts. From 6.18 on, it waits again once its deadline has passed. Functions have the kernel's names
//! where they do what those do; led through recordings of guests with 6.17, it does at each switch what that kernel does.

use super::dl_entity::{BW_SHIFT, Server, to_ratio};
use crate::schedulers::Context;
use schedlab_model::{
    MICROSECOND, MILLISECOND, Nanos,
    task::{CpuId, Reservation},
};

/// Its timer.
pub const SERVER: u32 = 1;
/// It does not put off its service by less than this (dl_server_min_res).
const DL_SERVER_MIN_RES: Nanos = MILLISECOND;

/// The server of a processor.
#[derive(Debug, Clone, Copy)]
pub struct FairServer {
    /// Its budget and deadline. Throttled: it waits, for the end of its laxity or for its next period.
    entity: Server,
    /// There were fair tasks (dl_server_active).
    active: bool,
    /// It waits for the end of its laxity (dl_defer_armed).
    armed: bool,
    /// It serves without waiting for that (dl_defer_running).
    running: bool,
    /// The rule of a new start before 6.18: a new period where the budget that is left would be too much, and it goes on serving.
    renews: bool,
    /// When its timer expires, if it is set. One that was set for another time does not count.
    timer: Option<Nanos>,
    idle_since: Option<Nanos>,
    /// Its budget has been used up while it served.
    exhausted: bool,
}

impl FairServer {
    /// A server that gives fair tasks so much of each period.
    pub fn new(runtime: Nanos, period: Nanos, renews: bool) -> Self {
        let mut server = FairServer {
            entity: Server::new(Reservation { runtime, deadline: period, period }),
            active: false,
            armed: false,
            running: false,
            renews,
            timer: None,
            idle_since: Some(0),
            exhausted: false,
        };
        server.replenish_dl_new_period(0);
        server
    }

    /// Whether fair tasks go before real-time ones.
    #[inline(always)]
    pub fn serves(&self) -> bool {
        self.entity.queued
    }

    pub fn deadline(&self) -> Nanos {
        self.entity.deadline
    }

    /// The processor had other tasks for an unknown time before the server was looked after.
    pub fn begin(&mut self, now: Nanos) {
        self.idle_since = None;
        self.replenish_dl_new_period(now);
    }

    /// A fair task became ready. Whether it is to run now. One without a budget gives nothing. (dl_server_start)
    pub fn start(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> bool {
        if self.entity.dl_runtime == 0 || std::mem::replace(&mut self.active, true) {
            return false;
        }
        self.update_dl_entity(cx.now);
        self.enqueue_dl_entity(cx, cpu);
        self.serves()
    }

    /// No fair task is ready. (dl_server_stop)
    pub fn stop(&mut self) {
        (self.active, self.armed, self.timer) = (false, false, None);
        (self.entity.queued, self.entity.throttled) = (false, false);
    }

    fn replenish_dl_new_period(&mut self, now: Nanos) {
        self.entity.replenish_dl_new_period(now);
        if !self.running {
            (self.armed, self.entity.throttled) = (true, true);
        }
    }

    /// What it has stays until its deadline, unless it would be more than its part of the processor until then. From 6.18 on, only what
    /// is more goes (update_dl_revised_wakeup):
    ///
    ///   budget <= budget of a period / period * (deadline - now)
    fn update_dl_entity(&mut self, now: Nanos) {
        let Server { deadline, dl_period, dl_runtime, .. } = self.entity;
        let overflows = deadline >= now && self.entity.dl_entity_overflow(now);
        if deadline < now || overflows && self.renews {
            self.running &= self.renews;
            self.replenish_dl_new_period(now);
        } else if overflows {
            self.entity.runtime = ((to_ratio(dl_period, dl_runtime) * (deadline - now)) >> BW_SHIFT) as i64;
        } else if !self.running {
            (self.armed, self.entity.throttled) = (true, true);
        }
    }

    fn replenish_dl_entity(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        let (now, deadline) = (cx.now, self.entity.deadline);
        if self.armed && (deadline < now || self.entity.dl_entity_overflow(now)) {
            self.entity.replenish_dl_new_period(now);
        }
        self.entity.replenish_dl_entity(now);
        if std::mem::take(&mut self.armed) || self.running || now >= self.zero_laxity() {
            return;
        }
        (self.armed, self.entity.throttled) = (true, true);
        if !self.start_dl_timer(cx, cpu) {
            (self.armed, self.entity.throttled, self.timer) = (false, false, None);
        }
    }

    fn enqueue_dl_entity(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        if self.entity.throttled {
            if self.start_dl_timer(cx, cpu) {
                return;
            }
            (self.armed, self.entity.throttled, self.timer) = (false, false, None);
        }
        self.entity.queued = true;
    }

    /// From when on it needs the processor for itself to give its budget until its deadline.
    fn zero_laxity(&self) -> Nanos {
        self.entity.deadline.saturating_sub_signed(self.entity.runtime)
    }

    /// Sets the timer for what it waits for; not if that is over.
    fn start_dl_timer(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> bool {
        let act = if self.armed { self.zero_laxity() } else { self.entity.dl_next_period() };
        if act + MICROSECOND <= cx.now {
            return false;
        }
        if self.timer.is_none() {
            self.set_timer(cx, cpu, act);
        }
        true
    }

    fn set_timer(&mut self, cx: &mut Context<'_>, cpu: CpuId, when: Nanos) {
        self.timer = Some(when);
        cx.set_timer(when.max(cx.now), cpu, SERVER);
    }

    /// A timer has expired. Whether another task should be chosen. (dl_server_timer)
    pub fn timer(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> bool {
        if self.timer.is_none_or(|when| cx.now < when) {
            return false;
        }
        self.timer = None;
        if !self.entity.throttled {
            return false;
        }
        if self.armed {
            if cx.now + DL_SERVER_MIN_RES < self.zero_laxity() {
                self.set_timer(cx, cpu, self.zero_laxity());
                return false;
            }
            self.running = true;
        }
        self.replenish_dl_entity(cx, cpu);
        self.enqueue_dl_entity(cx, cpu);
        true
    }

    /// A fair task used `ran`. (dl_server_update, update_curr_dl_se)
    #[inline(always)]
    pub fn charge(&mut self, cx: &mut Context<'_>, cpu: CpuId, ran: Nanos) {
        if self.active {
            self.pay(cx, cpu, ran);
        }
    }

    fn pay(&mut self, cx: &mut Context<'_>, cpu: CpuId, ran: Nanos) {
        self.entity.runtime -= ran as i64;
        if self.entity.runtime > 0 {
            return;
        }
        if self.entity.throttled {
            // They have had their part without its help: it is not needed in this period.
            (self.running, self.timer) = (false, None);
            self.replenish_dl_new_period(cx.now);
            self.start_dl_timer(cx, cpu);
            return;
        }
        (self.entity.throttled, self.entity.queued, self.exhausted) = (true, false, true);
        if !self.start_dl_timer(cx, cpu) {
            self.replenish_dl_new_period(cx.now);
            self.start_dl_timer(cx, cpu);
        }
    }

    /// Whether its budget was used up since this was last asked.
    pub fn take_exhausted(&mut self) -> bool {
        std::mem::take(&mut self.exhausted)
    }

    pub fn idle_begins(&mut self, now: Nanos) {
        self.idle_since.get_or_insert(now);
    }

    #[inline(always)]
    pub fn idle_ends(&mut self, now: Nanos) {
        self.dl_server_update_idle_time(now);
        self.idle_since = None;
    }

    /// In idle time any fair task could have run.
    #[inline(always)]
    pub fn dl_server_update_idle_time(&mut self, now: Nanos) {
        let Some(since) = &mut self.idle_since else { return };
        let idle = now - std::mem::replace(since, now);
        if self.entity.runtime < 0 {
            return; // no need to discount more
        }
        self.entity.runtime -= idle as i64;
        if self.entity.runtime < 0 {
            (self.entity.runtime, self.running) = (0, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::{View, Wishes};
    use schedlab_model::{SECOND, rng::Rng};

    const BUDGET: Nanos = 50 * MILLISECOND;

    /// A server, and the timers that it has set.
    struct Stage {
        server: FairServer,
        timers: Vec<Nanos>,
    }

    impl Stage {
        fn new(renews: bool) -> Self {
            Stage { server: FairServer::new(BUDGET, SECOND, renews), timers: Vec::new() }
        }

        fn at<R>(&mut self, now: Nanos, hook: impl FnOnce(&mut FairServer, &mut Context<'_>) -> R) -> R {
            let (view, mut rng, mut wishes) = (View::default(), Rng::stream(0, 0), Wishes::default());
            let result = hook(&mut self.server, &mut Context { now, view: &view, rng: &mut rng, wishes: &mut wishes });
            self.timers.extend(wishes.timers.iter().map(|timer| timer.0));
            result
        }

        /// A fair task starves from the start on, and is served; it is done after 1 ms.
        fn has_served(renews: bool) -> Self {
            let mut stage = Stage::new(renews);
            assert!(!stage.at(0, |server, cx| server.start(cx, 0)));
            assert!(stage.at(SECOND - BUDGET, |server, cx| server.timer(cx, 0)));
            stage.at(SECOND - BUDGET + MILLISECOND, |server, cx| server.charge(cx, 0, MILLISECOND));
            stage.server.stop();
            stage
        }
    }

    #[test]
    fn a_starving_task_is_served_when_the_laxity_ends_and_then_from_the_begin_of_each_period() {
        let mut stage = Stage::new(true);
        assert!(!stage.at(0, |server, cx| server.start(cx, 0)));
        assert!(stage.at(SECOND - BUDGET, |server, cx| server.timer(cx, 0)));
        stage.at(SECOND, |server, cx| server.charge(cx, 0, BUDGET));
        assert!(!stage.server.serves() && stage.server.take_exhausted());
        // The period begins with the service: its budget until the old deadline would have been all of the processor.
        let next = SECOND - BUDGET + SECOND;
        assert_eq!(stage.timers, [SECOND - BUDGET, next]);
        assert!(stage.at(next, |server, cx| server.timer(cx, 0)));
        assert_eq!(stage.server.deadline(), next + SECOND);
    }

    #[test]
    fn what_fair_tasks_use_without_it_puts_its_service_off() {
        let mut stage = Stage::new(true);
        stage.at(0, |server, cx| server.start(cx, 0));
        stage.at(100 * MILLISECOND, |server, cx| server.charge(cx, 0, 20 * MILLISECOND));
        assert!(!stage.at(SECOND - BUDGET, |server, cx| server.timer(cx, 0)));
        assert_eq!(stage.timers, [SECOND - BUDGET, SECOND - BUDGET + 20 * MILLISECOND]);
        // All of it: a period of its own.
        stage.at(960 * MILLISECOND, |server, cx| server.charge(cx, 0, 30 * MILLISECOND));
        assert!(!stage.at(970 * MILLISECOND, |server, cx| server.timer(cx, 0)));
        assert_eq!((stage.server.deadline(), stage.timers[2]), (1960 * MILLISECOND, 1910 * MILLISECOND));
    }

    #[test]
    fn one_that_has_served_and_stopped_serves_at_once_when_it_is_started_again() {
        let mut stage = Stage::has_served(true);
        assert!(stage.at(1500 * MILLISECOND, |server, cx| server.start(cx, 0)));
        // What it had would have been more than 5 % of the 450 ms until its deadline.
        assert_eq!((stage.server.deadline(), stage.server.entity.runtime), (2500 * MILLISECOND, BUDGET as i64));
        stage.server.stop();
        assert!(stage.at(3 * SECOND, |server, cx| server.start(cx, 0)), "beyond its deadline too");
        assert_eq!(stage.server.deadline(), 4 * SECOND);
    }

    #[test]
    fn from_6_18_on_it_waits_again_beyond_its_deadline() {
        let mut stage = Stage::has_served(false);
        assert!(stage.at(1500 * MILLISECOND, |server, cx| server.start(cx, 0)));
        // 5 % of the 450 ms until its deadline, to 2^-20.
        assert!(stage.server.entity.runtime.abs_diff(22_500_000) < 1000, "{}", stage.server.entity.runtime);
        stage.server.stop();
        assert!(!stage.at(3 * SECOND, |server, cx| server.start(cx, 0)));
        assert_eq!(stage.timers.last(), Some(&(4 * SECOND - BUDGET)));
    }

    #[test]
    fn one_without_a_budget_never_serves_and_waits_for_nothing() {
        let mut stage = Stage { server: FairServer::new(0, SECOND, true), timers: Vec::new() };
        assert!(!stage.at(0, |server, cx| server.start(cx, 0)));
        assert!(!stage.at(SECOND, |server, cx| server.timer(cx, 0)));
        assert!(stage.timers.is_empty());
    }

    #[test]
    fn an_idle_processor_uses_its_budget_up_and_then_it_waits_again() {
        for (idle, serves) in [(BUDGET - 2 * MILLISECOND, true), (BUDGET, false)] {
            let mut stage = Stage::has_served(true);
            stage.server.idle_since = None;
            stage.server.idle_begins(SECOND);
            stage.server.idle_ends(SECOND + idle);
            assert_eq!(stage.at(1500 * MILLISECOND, |server, cx| server.start(cx, 0)), serves, "{idle}");
        }
    }
}
