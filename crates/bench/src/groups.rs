//! A tree of groups with a structure in each: what hierarchies of groups are measured against.

use crate::structures::Structure;
use schedlab_model::Nanos;

/// Children of a group of [`Groups`], and levels of groups below the root.
pub const FAN: u32 = 4;
pub const LEVELS: u32 = 3;
/// Groups that have tasks rather than groups in them.
pub const LEAVES: u32 = FAN.pow(LEVELS);
/// Groups above those.
const INNER: u32 = (LEAVES - 1) / (FAN - 1);

/// A tree of groups with a structure in each. The children of group g are 4 g + 1 to 4 g + 4.
pub struct Groups<S> {
    groups: Vec<S>,
    /// How many wait in each.
    waiting: Vec<u32>,
    /// Tasks of a leaf.
    each: u32,
    /// The leaf whose task runs.
    current: Option<u32>,
}

impl<S: Structure> Groups<S> {
    /// A group joins the one above it, and that one the next, as far as they do not wait already and do not run.
    #[inline(always)]
    fn climb(&mut self, mut group: u32, ran: Option<Nanos>) {
        while group > 0 {
            let (parent, child) = ((group - 1) / FAN, (group - 1) % FAN);
            let structure = &mut self.groups[parent as usize];
            match ran {
                Some(ran) if self.waiting[group as usize] > 0 => structure.again(child, ran),
                Some(ran) => structure.sleep(child, ran),
                None => structure.wake(child),
            }
            let joins = ran.is_none() || self.waiting[group as usize] > 0;
            self.waiting[parent as usize] += u32::from(joins);
            if ran.is_none() && (self.waiting[parent as usize] > 1 || self.runs(parent)) {
                return;
            }
            group = parent;
        }
    }

    /// Whether a group is the current leaf or above it.
    #[inline(always)]
    fn runs(&self, group: u32) -> bool {
        let mut at = self.current;
        while let Some(running) = at {
            if running <= group {
                return running == group;
            }
            at = running.checked_sub(1).map(|number| number / FAN);
        }
        false
    }
}

impl<S: Structure> Structure for Groups<S> {
    fn new(tasks: u32) -> Self {
        let (each, count) = (tasks.div_ceil(LEAVES), INNER + LEAVES);
        let groups = (0..count).map(|group| S::new(if group < INNER { FAN } else { each })).collect();
        Groups { groups, waiting: vec![0; count as usize], each, current: None }
    }

    #[inline(always)]
    fn wake(&mut self, task: u32) {
        let leaf = INNER + task / self.each;
        self.groups[leaf as usize].wake(task % self.each);
        self.waiting[leaf as usize] += 1;
        if self.waiting[leaf as usize] == 1 && !self.runs(leaf) {
            self.climb(leaf, None);
        }
    }

    #[inline(always)]
    fn again(&mut self, task: u32, ran: Nanos) {
        let leaf = INNER + task / self.each;
        self.groups[leaf as usize].again(task % self.each, ran);
        self.waiting[leaf as usize] += 1;
        self.current = None;
        self.climb(leaf, Some(ran));
    }

    #[inline(always)]
    fn sleep(&mut self, task: u32, ran: Nanos) {
        let leaf = INNER + task / self.each;
        self.groups[leaf as usize].sleep(task % self.each, ran);
        self.current = None;
        self.climb(leaf, Some(ran));
    }

    #[inline(always)]
    fn second(&mut self) {
        self.groups.iter_mut().for_each(S::second);
    }

    #[inline(always)]
    fn take(&mut self) -> Option<u32> {
        let mut group = 0;
        loop {
            let next = self.groups[group as usize].take()?;
            self.waiting[group as usize] -= 1;
            if group >= INNER {
                self.current = Some(group);
                return Some((group - INNER) * self.each + next);
            }
            group = group * FAN + 1 + next;
        }
    }
}
