//! A task of the deadline class as a constant bandwidth server: its reservation, budget and deadline, and the rules by which budget and
//! deadline are renewed. Functions have the names of kernel/sched/deadline.c where they do what those do.

use schedlab_model::{
    Nanos,
    task::{CpuId, Reservation},
};

/// Parts of a processor are in 2^-20 of it (BW_SHIFT).
pub const BW_SHIFT: u32 = 20;
/// Budgets and times to deadlines are compared in units of 1024 ns, the least budget (DL_SCALE).
pub const DL_SCALE: u32 = 10;

/// The part of a processor that a time is of a period.
pub fn to_ratio(period: Nanos, runtime: Nanos) -> u64 {
    (runtime << BW_SHIFT) / period.max(1)
}

/// Whether a task claims its part of a processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Claim {
    #[default]
    Inactive,
    /// It is ready or runs.
    Contending,
    /// It sleeps, but would not have used up by now what it was charged (before its 0-lag time).
    NonContending,
}

/// What is known of a task of this class (sched_dl_entity).
#[derive(Debug, Clone, Copy, Default)]
pub struct Server {
    pub dl_runtime: Nanos,
    pub dl_deadline: Nanos,
    pub dl_period: Nanos,
    pub dl_bw: u64,
    /// What is left of its budget.
    pub runtime: i64,
    pub deadline: Nanos,
    /// It waits for its next budget; it has said that it needs no more of the present one.
    pub throttled: bool,
    pub yielded: bool,
    /// It is ready or runs; and it is in the queue, with the running one.
    pub on_rq: bool,
    pub queued: bool,
    /// The timer of its next budget is set.
    pub timer: bool,
    pub claim: Claim,
    /// When its claim ends, while it sleeps.
    pub claims_until: Option<Nanos>,
    /// The processor on which its part counts.
    pub home: Option<CpuId>,
    /// It has ended or left the class, and its reservation is kept until its claim ends.
    pub gone: bool,
}

impl Server {
    pub fn new(wish: Reservation) -> Server {
        let Reservation { runtime, deadline, period } = wish;
        Server {
            dl_runtime: runtime,
            dl_deadline: deadline,
            dl_period: period,
            dl_bw: to_ratio(period, runtime),
            ..Server::default()
        }
    }

    pub fn dl_is_implicit(&self) -> bool {
        self.dl_deadline == self.dl_period
    }

    pub fn replenish_dl_new_period(&mut self, now: Nanos) {
        (self.deadline, self.runtime) = (now + self.dl_deadline, self.dl_runtime as i64);
    }

    /// A period's budget more, and a deadline a period later, for each that it takes to pay what was used too much.
    pub fn replenish_dl_entity(&mut self, now: Nanos) {
        if self.yielded {
            self.runtime = self.runtime.min(0);
        }
        if self.runtime <= 0 {
            let periods = self.runtime.unsigned_abs() / self.dl_runtime + 1;
            self.deadline += periods * self.dl_period;
            self.runtime += (periods * self.dl_runtime) as i64;
        }
        if self.deadline < now {
            self.replenish_dl_new_period(now);
        }
        (self.yielded, self.throttled) = (false, false);
    }

    /// Whether it would use more than its part of a processor with what it has, until its deadline.
    ///
    ///   left budget / (deadline - now)  >  reserved budget / reserved deadline
    pub fn dl_entity_overflow(&self, now: Nanos) -> bool {
        let scaled = |time: Nanos| u128::from(time >> DL_SCALE);
        let kept = scaled(self.runtime.max(0).unsigned_abs());
        scaled(self.dl_deadline) * kept > scaled(self.deadline - now) * scaled(self.dl_runtime)
    }

    /// The rule at a wakeup: what it has stays if it may, else it has a new budget; where its deadline is before the end of its period,
    /// it has what its part of the processor is until the deadline (update_dl_revised_wakeup).
    pub fn update_dl_entity(&mut self, now: Nanos) {
        if self.deadline < now || self.deadline == 0 {
            self.replenish_dl_new_period(now);
        } else if self.dl_entity_overflow(now) {
            if self.dl_is_implicit() {
                self.replenish_dl_new_period(now);
            } else {
                let density = to_ratio(self.dl_deadline, self.dl_runtime);
                self.runtime = ((density * (self.deadline - now)) >> BW_SHIFT) as i64;
            }
        }
    }

    /// When its next period begins.
    pub fn dl_next_period(&self) -> Nanos {
        (self.deadline + self.dl_period).saturating_sub(self.dl_deadline)
    }

    /// When a sleeping task would have used up by its part of a processor what it was charged (0-lag time).
    ///
    ///   deadline - left budget * period / reserved budget
    pub fn zero_lag(&self) -> Option<Nanos> {
        let ahead = i128::from(self.runtime) * i128::from(self.dl_period) / i128::from(self.dl_runtime.max(1));
        Nanos::try_from(i128::from(self.deadline) - ahead).ok()
    }
}
