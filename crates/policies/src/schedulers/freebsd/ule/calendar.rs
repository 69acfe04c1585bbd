//! The run queue of one processor: lists by priority, and between them the calendar of batch threads.
//!
//! Interrupt, kernel, realtime and interactive threads are in lists of four priorities each, and so are idle ones. A
//! batch thread is in one of 64 days: n days after the day of insertion, where n is how much its priority is worse
//! than the best batch priority. Days are served in order from the day of removal, which follows the day of insertion as
//! the days between them empty; so the day of every thread comes, and a worse priority only makes it come later.

use crate::schedulers::kit::queue::{Links, List};
use schedlab_model::task::TaskId;

/// Days of the calendar, and lists outside of it (RQ_NQS).
const DAYS: u8 = 64;
/// Priorities that share a list (RQ_PPQ).
const PRIORITIES_PER_LIST: u8 = 4;
/// The worst priority of batch threads (PRI_MAX_TIMESHARE).
pub const LAST_BATCH: u8 = 223;
/// The best priority of idle threads (PRI_MIN_IDLE).
pub const FIRST_IDLE: u8 = 224;

/// The position of a queued thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a list by priority.
    List(u8),
    /// On a day of the calendar.
    Day(u8),
}

/// Which batch threads another processor may have (runq_steal_from). Never the first one met, if there is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spares {
    /// Of 2007: of the first day from the day of removal on, and of the first of all.
    Second,
    /// Of 2011: likewise; the first one met, if there is no other.
    SecondOrFirst,
    /// Of 2023: of every day from the day of removal on, then of all.
    EveryDay,
}

/// A processor's queued threads.
#[derive(Debug, Clone)]
pub struct Calendar {
    lists: [List; DAYS as usize],
    days: [List; DAYS as usize],
    /// Lists and days that are not empty, a bit each.
    full_lists: u64,
    full_days: u64,
    /// The day of insertion (tdq_idx), on which priorities count from.
    inserting: u8,
    /// The day of removal (tdq_ridx).
    removing: u8,
    /// The best batch priority.
    first_batch: u8,
}

impl Calendar {
    pub fn new(first_batch: u8) -> Calendar {
        Calendar {
            lists: [List::default(); DAYS as usize],
            days: [List::default(); DAYS as usize],
            full_lists: 0,
            full_days: 0,
            inserting: 0,
            removing: 0,
            first_batch,
        }
    }

    /// Adds a thread: a preempted one where it is the next, any other at the tail of its list or day.
    #[inline]
    pub fn add(&mut self, links: &mut Links, task: TaskId, priority: u8, preempted: bool) -> Place {
        let place = match priority {
            _ if priority < self.first_batch || priority > LAST_BATCH => Place::List(priority / PRIORITIES_PER_LIST),
            _ if preempted => Place::Day(self.removing),
            _ => Place::Day(self.day_of(priority)),
        };
        let list = match place {
            Place::List(at) => {
                self.full_lists |= 1 << at;
                &mut self.lists[usize::from(at)]
            }
            Place::Day(at) => {
                self.full_days |= 1 << at;
                &mut self.days[usize::from(at)]
            }
        };
        if preempted {
            list.push_head(links, task)
        } else {
            list.push_tail(links, task)
        }
        place
    }

    /// The day of a batch priority. While the day of removal drains, it is not the farthest day but the last one before it.
    #[inline]
    fn day_of(&self, priority: u8) -> u8 {
        let levels = u16::from(LAST_BATCH - self.first_batch) + 1;
        let ahead = u16::from(priority - self.first_batch) * u16::from(DAYS) / levels;
        let day = (ahead as u8 + self.inserting) % DAYS;
        if day == self.removing && self.removing != self.inserting { (day + DAYS - 1) % DAYS } else { day }
    }

    /// Takes a thread out from its position.
    #[inline]
    pub fn remove(&mut self, links: &mut Links, task: TaskId, place: Place) {
        match place {
            Place::List(at) => {
                let list = &mut self.lists[usize::from(at)];
                list.remove(links, task);
                self.full_lists &= !(u64::from(list.is_empty()) << at);
            }
            Place::Day(at) => {
                let day = &mut self.days[usize::from(at)];
                day.remove(links, task);
                if day.is_empty() {
                    self.full_days &= !(1 << at);
                    if at == self.removing && self.inserting != self.removing {
                        self.removing = (self.removing + 1) % DAYS;
                    }
                }
            }
        }
    }

    /// A tick of the statistics clock: the day of insertion goes on, at most one ahead of the day of removal.
    #[inline]
    pub fn tick(&mut self) {
        if self.inserting == self.removing {
            self.inserting = (self.inserting + 1) % DAYS;
            if self.full_days >> self.removing & 1 == 0 {
                self.removing = self.inserting;
            }
        }
    }

    /// That number of ticks at once: both days go on over those that are empty, and that of insertion to the next one.
    pub fn pass_ticks(&mut self, ticks: u64) {
        if self.inserting != self.removing {
            return;
        }
        let empty = match self.full_days {
            0 => u64::MAX,
            full => full.rotate_right(self.removing.into()).trailing_zeros().into(),
        };
        let day = (u64::from(self.removing) + ticks.min(empty) % u64::from(DAYS)) as u8;
        self.removing = day % DAYS;
        self.inserting = (day + u8::from(ticks > empty)) % DAYS;
    }

    /// Lists that go before the calendar.
    fn lists_before(&self) -> u64 {
        self.full_lists & ((1 << (self.first_batch / PRIORITIES_PER_LIST)) - 1)
    }

    /// Lists that come after it.
    fn lists_after(&self) -> u64 {
        self.full_lists >> (FIRST_IDLE / PRIORITIES_PER_LIST) << (FIRST_IDLE / PRIORITIES_PER_LIST)
    }

    /// The position of the next thread.
    #[inline]
    fn best(&self) -> Option<Place> {
        let before = self.lists_before();
        if before != 0 {
            return Some(Place::List(before.trailing_zeros() as u8));
        }
        if self.full_days != 0 {
            let ahead = self.full_days.rotate_right(self.removing.into()).trailing_zeros() as u8;
            return Some(Place::Day((self.removing + ahead) % DAYS));
        }
        (self.full_lists != 0).then(|| Place::List(self.full_lists.trailing_zeros() as u8))
    }

    /// The next thread, and its position.
    #[inline]
    pub fn first(&self) -> Option<(TaskId, Place)> {
        let place = self.best()?;
        let list = match place {
            Place::List(at) => &self.lists[usize::from(at)],
            Place::Day(at) => &self.days[usize::from(at)],
        };
        Some((list.head()?, place))
    }

    /// The next thread after one is left out.
    pub fn first_but(&self, links: &Links, out: TaskId) -> Option<TaskId> {
        let first_of = |lists: &[List; DAYS as usize], full: u64, from: u8| {
            let mut at = (0..DAYS).map(|n| (from + n) % DAYS).filter(move |at| full >> at & 1 == 1);
            at.find_map(|at| lists[usize::from(at)].find(links, |task| task != out))
        };
        first_of(&self.lists, self.lists_before(), 0)
            .or_else(|| first_of(&self.days, self.full_days, self.removing))
            .or_else(|| first_of(&self.lists, self.lists_after(), 0))
    }

    /// The thread that another processor may have: the first that `may` go, in order of service. Of the batch threads the
    /// first one met stays. In 2007 only the first day from the day of removal on is searched, then the first of all, so that a
    /// thread that waits alone may go only if it is in the first part.
    pub fn spare(&self, links: &Links, spares: Spares, may: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        let among_lists = |full: u64| {
            let mut full = (0..DAYS).filter(|at| full >> at & 1 == 1);
            full.find_map(|at| self.lists[usize::from(at)].find(links, &may))
        };
        let mut met = None;
        let mut among_days = |full: u64| {
            let searched = if spares == Spares::EveryDay { full } else { full & full.wrapping_neg() };
            let mut days = (0..DAYS).filter(|at| searched >> at & 1 == 1);
            days.find_map(|at| {
                let day = &self.days[usize::from(at)];
                day.iter(links).find(|&task| met.replace(task).is_some() && may(task))
            })
        };
        among_lists(self.lists_before())
            .or_else(|| among_days(self.full_days >> self.removing << self.removing))
            .or_else(|| if self.removing > 0 { among_days(self.full_days) } else { None })
            .or_else(|| met.filter(|&task| spares != Spares::Second && may(task)))
            .or_else(|| among_lists(self.lists_after()))
    }

    /// Whether any thread here meets the condition.
    pub fn any(&self, links: &Links, is: impl Fn(TaskId) -> bool) -> bool {
        self.lists.iter().chain(&self.days).any(|list| list.iter(links).any(&is))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_that_are_passed_over_leave_the_days_that_each_of_them_would() {
        let days = |it: &Calendar| (it.removing, it.inserting);
        for (removing, ahead, ticks) in
            (0..DAYS).flat_map(|day| (0..2).flat_map(move |n| (0..140).map(move |t| (day, n, t))))
        {
            for full in [0, 1, 1 << 63, 1 << 17 | 1 << 40, u64::MAX] {
                let mut calendar = Calendar::new(0);
                (calendar.removing, calendar.inserting) = (removing, (removing + ahead) % DAYS);
                calendar.full_days = full;
                let mut at_once = calendar.clone();
                (0..ticks).for_each(|_| calendar.tick());
                at_once.pass_ticks(ticks);
                assert_eq!(days(&at_once), days(&calendar), "{ticks} ticks from {removing}, {ahead} ahead, {full:b}");
            }
        }
    }
}
