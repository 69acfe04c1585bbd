//! The periods of a task that counts them anew after it was late (`restarting.rs`). A recording shows the waits at the ends of those that it
//! worked off in time; what it did since the wait before is cut into as many parts of equal length as there were periods.

use crate::{
    history::{Step, Task},
    restarting,
    timers::median,
};
use schedlab_model::replay::{Act, Packed};

/// Of a task that restarts its periods, where it is in its steps.
pub(super) struct Periods {
    length: u32,
    /// What it usually computes in a period, ns.
    usual: u64,
    /// When the last of them ended, if one has.
    before: Option<u64>,
    /// The number of acts that there were then.
    since: usize,
}

impl Periods {
    /// Of a task whose waits for timers are these. None if it is no such task, or if timers ended fewer than nine of ten of its waits.
    pub fn of(task: &Task, waits: &[(u64, u64)]) -> Option<Periods> {
        let steps = &task.steps;
        let all =
            steps.iter().filter(|step| matches!(step, Step::Wait { .. } | Step::Meet { waited: Some(_), .. })).count();
        if 10 * waits.len() < 9 * all || task.starts.are_relative() {
            return None;
        }
        let period = restarting::period(waits)?;
        let (mut works, mut work, mut before) = (Vec::new(), 0, None);
        for step in steps {
            match *step {
                Step::Compute(length) => work += length,
                Step::Wait { to, .. } => {
                    works.extend(
                        before
                            .filter(|before| restarting::periods(period, to.saturating_sub(*before), work, work) == 1)
                            .map(|_| work),
                    );
                    (work, before) = (0, Some(to));
                }
                _ => {}
            }
        }
        Some(Periods { length: period.try_into().ok()?, usual: median(works), before: None, since: 0 })
    }

    /// What the task does in place of a wait for a timer; the acts since the wait before are cut.
    pub fn end(&mut self, acts: &mut Vec<Packed>, from: u64, to: u64) -> Act {
        let act = match self.before {
            None => Act::Sleep(to - from),
            Some(before) => {
                let work = acts[self.since..].iter().map(|act| computed(*act)).sum();
                let parts = restarting::periods(self.length.into(), to.saturating_sub(before), work, self.usual);
                cut(acts, self.since, work, parts, Act::Period(self.length));
                Act::Period(self.length)
            }
        };
        (self.before, self.since) = (Some(to), acts.len() + 1);
        act
    }
}

fn computed(act: Packed) -> u64 {
    if let Act::Compute(length) = act.act() { length } else { 0 }
}

/// Cuts what is computed from there on into that many parts of equal length, with an act between each two.
fn cut(acts: &mut Vec<Packed>, since: usize, work: u64, parts: u64, between: Act) {
    let uncut = acts.split_off(since);
    let compute = |acts: &mut Vec<Packed>, length| {
        if length > 0 {
            acts.push(Act::Compute(length).into());
        }
    };
    let (mut done, mut part) = (0, 1);
    for act in uncut {
        let Act::Compute(mut left) = act.act() else {
            acts.push(act);
            continue;
        };
        while part < parts && done + left > work / parts * part {
            let first = work / parts * part - done;
            compute(acts, first);
            acts.push(between.into());
            (done, left, part) = (done + first, left - first, part + 1);
        }
        compute(acts, left);
        done += left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(acts: &[Act]) -> Vec<Packed> {
        acts.iter().copied().map(Packed::from).collect()
    }

    #[test]
    fn what_is_computed_is_cut_into_equal_parts_and_nothing_is_lost() {
        let mut acts = packed(&[Act::Sleep(7), Act::Compute(10), Act::Signal(3), Act::Compute(50)]);
        cut(&mut acts, 1, 60, 3, Act::Period(9));
        let parts =
            [Act::Compute(10), Act::Signal(3), Act::Compute(10), Act::Period(9), Act::Compute(20), Act::Period(9)];
        assert_eq!(acts, packed(&[&[Act::Sleep(7)], &parts[..], &[Act::Compute(20)]].concat()));
        let mut whole = packed(&[Act::Compute(10), Act::Compute(5)]);
        cut(&mut whole, 0, 15, 1, Act::Period(9));
        assert_eq!(whole, packed(&[Act::Compute(10), Act::Compute(5)]));
    }
}
