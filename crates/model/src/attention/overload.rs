//! What a level has to do, and which programs go down because of it.
//!
//! ```text
//! demand of a level   = processor time that its programs have used in the last period / (processors * length of the period)
//! overloaded          demand > share, in every period for `within`: then its largest user goes down one level, at most two in all.
//!                     Those that are there already, the last level, and a program that can go no further down move nothing
//! calm                demand of the level above + own use <= share - margin, in every period for `calm`: then it goes up again by one
//! ```
//!
//! The largest goes first, so what is left is no more than the share, and would be more with any of those that went: on steady loads
//! none comes back, and each goes down at most twice.

use super::layout::Overload;
use crate::Nanos;
use std::collections::BTreeMap;

/// The number of a program; its owner gives it.
pub type Program = u64;

/// Most levels that a program goes down by.
pub(super) const MOST_LOWERED: usize = 2;

/// A program, as overload sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct User {
    /// The level that attention or a rule gives it.
    pub(super) base: usize,
    /// Levels that it is below it.
    pub(super) lowered: usize,
    /// Processors that it used in the last period.
    pub(super) used: f64,
    /// Since when the level above has had room for it.
    pub(super) calm_since: Option<Nanos>,
}

impl User {
    /// The level it is at, where there are `levels`.
    pub(super) fn level(&self, levels: usize) -> usize {
        (self.base + self.lowered).min(levels - 1)
    }
}

/// Since when each level but the last has been overloaded.
#[derive(Debug, Clone)]
pub(super) struct Levels {
    over_since: Vec<Option<Nanos>>,
    processors: f64,
}

impl Levels {
    pub(super) fn new(levels: usize, processors: usize) -> Levels {
        Levels { over_since: vec![None; levels], processors: processors.max(1) as f64 }
    }

    /// The demand of each level, as a share of all processors.
    fn demands(&self, users: &BTreeMap<Program, User>) -> Vec<f64> {
        let mut demands = vec![0.0; self.over_since.len()];
        for user in users.values() {
            let level = user.level(demands.len());
            demands[level] += user.used / self.processors;
        }
        demands
    }

    /// Moves programs after a period that began and ended then.
    pub(super) fn period(&mut self, began: Nanos, ended: Nanos, by: &Overload, users: &mut BTreeMap<Program, User>) {
        let mut demands = self.demands(users);
        self.raise(began, ended, by, users, &mut demands);
        self.lower(began, ended, by, users, &demands);
    }

    fn lower(
        &mut self,
        began: Nanos,
        ended: Nanos,
        by: &Overload,
        users: &mut BTreeMap<Program, User>,
        demands: &[f64],
    ) {
        let levels = demands.len();
        for (level, demand) in demands[..levels - 1].iter().enumerate() {
            let since = &mut self.over_since[level];
            if *demand <= by.share {
                *since = None;
            } else if ended - *since.get_or_insert(began) >= by.within.0 {
                let here = |user: &User| user.level(levels) == level && user.lowered < MOST_LOWERED && user.used > 0.0;
                // Of equal ones that with the smallest number, which came first.
                let largest = users.iter_mut().rev().filter(|(_, user)| here(user));
                if let Some((_, user)) = largest.max_by(|one, other| one.1.used.total_cmp(&other.1.used)) {
                    user.lowered += 1;
                    user.calm_since = None;
                    *since = None;
                }
            }
        }
    }

    fn raise(
        &self,
        began: Nanos,
        ended: Nanos,
        by: &Overload,
        users: &mut BTreeMap<Program, User>,
        demands: &mut [f64],
    ) {
        for user in users.values_mut().filter(|user| user.lowered > 0) {
            let (here, own) = (user.level(demands.len()), user.used / self.processors);
            // Where lowering has met the last level, the step up may lead to the same one.
            let above = User { lowered: user.lowered - 1, ..*user }.level(demands.len());
            let with_it = if above == here { demands[above] } else { demands[above] + own };
            if with_it > by.share - by.margin && above != here {
                user.calm_since = None;
            } else if ended - *user.calm_since.get_or_insert(began) >= by.calm.0 {
                user.lowered -= 1;
                user.calm_since = None;
                demands[here] -= own;
                demands[above] += own;
            }
        }
    }
}
