//! How the kernel treats a thread: nice value, policy, slice, class of its requests to drives.

use schedlab_linux::{io_priority::IoPriority, sched::Attributes};
use serde::{Deserialize, Serialize};
use std::io;

/// How a thread is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Treatment {
    /// Its nice value.
    pub nice: i32,
    /// Its policy's number.
    pub policy: u32,
    /// Its slice, ns; none is the kernel's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<u64>,
    /// Class and level of its requests, as the kernel has them in one number; none is whatever it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<u16>,
}

impl Treatment {
    /// That of a thread now. A slice that is the usual one is the kernel's own.
    pub fn of(thread: i32, usual_slice: u64) -> io::Result<Treatment> {
        let found = Attributes::of(thread)?;
        let slice = Some(found.runtime).filter(|slice| *slice != usual_slice);
        Ok(Treatment {
            nice: found.nice,
            policy: found.policy,
            slice,
            io: IoPriority::of(thread).ok().map(IoPriority::number),
        })
    }

    /// Whether the kernel's ordinary tasks are treated so; all others are left alone.
    pub fn is_ordinary(&self) -> bool {
        [libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&(self.policy as i32))
    }

    /// Sets it of a thread. What is not part of a treatment stays.
    pub fn set(&self, thread: i32) -> io::Result<()> {
        let found = Attributes::of(thread)?;
        let wanted = Attributes { nice: self.nice, policy: self.policy, runtime: self.slice.unwrap_or(0), ..found };
        if wanted != found {
            wanted.set(thread)?;
        }
        match self.io.map(IoPriority::of_number) {
            Some(io) if IoPriority::of(thread)? != io => io.set_of(thread),
            _ => Ok(()),
        }
    }

    /// Whether it is the same as that one, as far as that one says anything.
    pub fn is(&self, other: &Treatment) -> bool {
        let io = other.io.is_none() || self.io == other.io;
        self.nice == other.nice && self.policy == other.policy && self.slice == other.slice && io
    }

    /// Brings every field that is one of ours to what it was by itself. Gives the result, and the first field that is neither.
    pub fn back(&self, own: &Treatment, ours: &[Treatment]) -> (Treatment, Option<Differs>) {
        let mut differs = None;
        let mut field = |name: &'static str, now: i64, own: i64, ours: &mut dyn Iterator<Item = i64>| {
            let (mut last, mut is_ours) = (own, now == own);
            for one in ours {
                (last, is_ours) = (one, is_ours || one == now);
            }
            if !is_ours && differs.is_none() {
                differs = Some(Differs { field: name, expected: last, actual: now });
            }
            is_ours
        };
        let slice = |one: &Treatment| one.slice.map_or(0, |slice| slice as i64);
        let policy = |one: &Treatment| i64::from(one.policy);
        let io = |one: &Treatment| one.io.map_or(-1, i64::from);
        let nice = |one: &Treatment| i64::from(one.nice);
        let mut of =
            |name, get: &dyn Fn(&Treatment) -> i64| field(name, get(self), get(own), &mut ours.iter().map(get));
        let mut result = *self;
        if of("nice", &nice) {
            result.nice = own.nice;
        }
        if of("policy", &policy) {
            result.policy = own.policy;
        }
        if of("slice", &slice) {
            result.slice = own.slice;
        }
        if own.io.is_some() && of("io", &io) {
            result.io = own.io;
        }
        (result, differs)
    }
}

/// A field that another process has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Differs {
    /// Which.
    pub field: &'static str,
    /// What we had set last.
    pub expected: i64,
    /// What it is.
    pub actual: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: Treatment = Treatment { nice: 0, policy: 0, slice: None, io: Some(0) };
    const OURS: Treatment = Treatment { nice: 5, policy: 3, slice: Some(20_000_000), io: Some(0x6000) };

    #[test]
    fn what_is_still_ours_goes_back_and_what_another_has_changed_stays() {
        assert_eq!(OURS.back(&OWN, &[OURS]), (OWN, None));
        assert_eq!(OWN.back(&OWN, &[OURS]), (OWN, None));
        let reniced = Treatment { nice: 7, ..OURS };
        let (back, differs) = reniced.back(&OWN, &[OURS]);
        assert_eq!(back, Treatment { nice: 7, ..OWN });
        assert_eq!(differs, Some(Differs { field: "nice", expected: 5, actual: 7 }));
    }

    #[test]
    fn half_of_a_change_goes_back_too() {
        let later = Treatment { nice: 10, ..OURS };
        let half = Treatment { nice: 10, slice: None, ..OURS };
        assert_eq!(half.back(&OWN, &[OURS, later]), (OWN, None));
    }

    #[test]
    fn a_thread_reads_back_as_it_was_set() {
        std::thread::spawn(|| {
            let usual = Attributes::current().unwrap().runtime;
            let own = Treatment::of(0, usual).unwrap();
            let wanted = Treatment { nice: own.nice + 3, policy: libc::SCHED_BATCH as u32, slice: None, io: None };
            wanted.set(0).unwrap();
            assert!(Treatment::of(0, usual).unwrap().is(&wanted));
        })
        .join()
        .unwrap();
    }
}
