//! Processor time that is wasted: a processor idles while a task waits that may use it.
//!
//! ```text
//! wasted processors = the lesser of  idle processors that some waiting task may use
//!                                    waiting tasks that may use some idle processor
//! ```
//!
//! What a state costs is counted when time goes on, so that states without length, between two events of one time, count nothing.
//! Tasks are sorted by where they may run, so that an event costs a few additions whatever the number of tasks.

use schedlab_model::{Nanos, processors::CpuSet, task::CpuId};

/// Kinds of restriction that are told apart; tasks of further ones are left out, and so is the metric.
const MOST_SETS: usize = 256;

/// The tasks with one set of processors.
#[derive(Debug, Clone)]
struct Set {
    /// The processors that they may use.
    allowed: CpuSet,
    /// Those of them that wait in a runqueue.
    waiting: u32,
}

/// All that is needed to know, at any time, how many processors are wasted.
#[derive(Debug, Clone)]
pub(crate) struct Wasted {
    /// Whether there are several processors.
    counts: bool,
    /// The idle processors, and their number.
    idle: CpuSet,
    idle_count: u32,
    /// The first is of the tasks that may use all processors.
    sets: Vec<Set>,
    /// By task, its set; the first, for those beyond the end.
    set_of: Vec<u16>,
    /// The set of which some words have come, and the first one has not.
    coming: Option<CpuSet>,
    /// Up to when time is counted.
    now: Nanos,
    /// Wasted so far, ns, over all processors.
    pub total: Nanos,
    /// Since when some processor has been wasted all the time; the longest such time, ns.
    since: Option<Nanos>,
    longest: Nanos,
}

impl Wasted {
    pub fn new(processors: u16) -> Wasted {
        let all = CpuSet::all(processors.into());
        Wasted {
            counts: processors > 1,
            idle: all.clone(),
            idle_count: processors.into(),
            sets: vec![Set { allowed: all, waiting: 0 }],
            set_of: Vec::new(),
            coming: None,
            now: 0,
            total: 0,
            since: None,
            longest: 0,
        }
    }

    /// Whether the numbers can be known.
    pub fn known(&self) -> bool {
        self.counts
    }

    /// The longest time during which some processor was wasted, ns.
    pub fn longest(&self) -> Nanos {
        self.longest.max(self.since.map_or(0, |since| self.now.saturating_sub(since)))
    }

    /// Counts the time up to `time`, during which nothing has changed.
    #[inline(always)]
    pub fn pass_to(&mut self, time: Nanos) {
        if self.counts && time > self.now {
            self.count(time);
        }
    }

    fn count(&mut self, time: Nanos) {
        let wasted = self.wasted();
        if wasted > 0 {
            self.total = self.total.saturating_add(u64::from(wasted).saturating_mul(time - self.now));
            self.since.get_or_insert(self.now);
        } else if let Some(since) = self.since.take() {
            self.longest = self.longest.max(self.now - since);
        }
        self.now = time;
    }

    /// Processors that are wasted now.
    fn wasted(&self) -> u32 {
        if let [all] = &self.sets[..] {
            return all.waiting.min(self.idle_count);
        }
        let useful = || self.sets.iter().filter(|set| set.waiting > 0 && set.allowed.meets(&self.idle));
        let waiting = useful().fold(0u32, |waiting, set| waiting.saturating_add(set.waiting));
        if waiting == 0 {
            return 0;
        }
        let usable = |word| useful().fold(0, |usable, set| usable | set.allowed.word(word)) & self.idle.word(word);
        (0..self.idle.words()).map(|word| usable(word).count_ones()).sum::<u32>().min(waiting)
    }

    #[inline(always)]
    pub fn idles(&mut self, cpu: CpuId) {
        self.idle_count += u32::from(!self.idle.has(cpu));
        self.idle.insert(cpu);
    }

    #[inline(always)]
    pub fn busy(&mut self, cpu: CpuId) {
        self.idle_count -= u32::from(self.idle.has(cpu));
        self.idle.remove(cpu);
    }

    /// A task begins to wait in a runqueue.
    #[inline(always)]
    pub fn waits(&mut self, task: usize) {
        if self.counts {
            let set = self.set(task);
            self.sets[set].waiting += 1;
        }
    }

    /// A task waits no longer.
    #[inline(always)]
    pub fn leaves(&mut self, task: usize) {
        if self.counts {
            let set = self.set(task);
            self.sets[set].waiting = self.sets[set].waiting.saturating_sub(1);
        }
    }

    #[inline(always)]
    fn set(&self, task: usize) -> usize {
        self.set_of.get(task).map_or(0, |&set| set.into())
    }

    /// A task, which does not wait, may use these of the processors of a word from now on; the first word comes last.
    pub fn may_use(&mut self, task: usize, word: usize, bits: u64) {
        let coming = self.coming.take();
        let mut allowed = coming.unwrap_or_else(|| self.sets[self.set(task)].allowed.clone());
        allowed.set_word(word, bits & self.sets[0].allowed.word(word));
        if word > 0 {
            self.coming = Some(allowed);
            return;
        }
        let known = self.sets.iter().position(|set| set.allowed == allowed);
        let set = known.unwrap_or(self.sets.len());
        if set == MOST_SETS {
            self.counts = false;
            return;
        }
        if known.is_none() {
            self.sets.push(Set { allowed, waiting: 0 });
        }
        if task >= self.set_of.len() {
            self.set_of.resize(task + 1, 0);
        }
        self.set_of[task] = set as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What may change at a time, which goes on by the first number.
    #[derive(Debug, Clone)]
    enum Change {
        Processor(u16, bool),
        Task(usize, bool),
        Allowed(usize, u64),
    }

    /// Of a machine of several words, the processors that are not always busy.
    const CPUS: [CpuId; 4] = [0, 63, 64, 129];
    const TASKS: usize = 6;

    fn changes() -> impl Strategy<Value = Vec<(u64, Change)>> {
        let change = prop_oneof![
            (0..CPUS.len() as u16, any::<bool>()).prop_map(|(cpu, idle)| Change::Processor(cpu, idle)),
            (0..TASKS, any::<bool>()).prop_map(|(task, waits)| Change::Task(task, waits)),
            (0..TASKS, 1u64..16).prop_map(|(task, mask)| Change::Allowed(task, mask)),
        ];
        prop::collection::vec((0u64..5, change), 0..60)
    }

    /// By the definition, from scratch.
    fn wasted(idle: &[bool], waits: &[bool], allowed: &[u64]) -> u64 {
        let fits = |cpu: usize, task: usize| idle[cpu] && waits[task] && allowed[task] >> cpu & 1 == 1;
        let usable = (0..idle.len()).filter(|&cpu| (0..TASKS).any(|task| fits(cpu, task))).count();
        let useful = (0..TASKS).filter(|&task| (0..idle.len()).any(|cpu| fits(cpu, task))).count();
        usable.min(useful) as u64
    }

    proptest! {
        #[test]
        fn counts_what_the_definition_says(changes in changes()) {
            let mut counted = Wasted::new(130);
            (0..130).filter(|cpu| !CPUS.contains(cpu)).for_each(|cpu| counted.busy(cpu));
            let (mut idle, mut waits, mut allowed) = ([true; CPUS.len()], [false; TASKS], [15u64; TASKS]);
            let (mut now, mut total, mut stretch, mut longest) = (0, 0, 0, 0);
            for (later, change) in changes.into_iter().chain([(1, Change::Processor(0, false))]) {
                let level = wasted(&idle, &waits, &allowed);
                total += level * later;
                if later > 0 {
                    stretch = if level > 0 { stretch + later } else { 0 };
                    longest = longest.max(stretch);
                }
                now += later;
                counted.pass_to(now);
                match change {
                    Change::Processor(cpu, is_idle) => {
                        idle[usize::from(cpu)] = is_idle;
                        let cpu = CPUS[usize::from(cpu)];
                        if is_idle { counted.idles(cpu) } else { counted.busy(cpu) }
                    }
                    Change::Task(task, begins) if begins != waits[task] => {
                        waits[task] = begins;
                        if begins { counted.waits(task) } else { counted.leaves(task) }
                    }
                    Change::Allowed(task, mask) if !waits[task] => {
                        allowed[task] = mask;
                        let cpus = CPUS.into_iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1);
                        let set: CpuSet = cpus.map(|(_, cpu)| cpu).collect();
                        (0..3).rev().for_each(|word| counted.may_use(task, word, set.word(word)));
                    }
                    _ => {}
                }
            }
            prop_assert_eq!((counted.total, counted.longest()), (total, longest));
        }
    }

    #[test]
    fn a_set_that_comes_in_words_is_one_of_the_sets_that_are_told_apart() {
        let mut counted = Wasted::new(1024);
        for cpu in 0..MOST_SETS as CpuId - 1 {
            (0..16).rev().for_each(|word| counted.may_use(cpu.into(), word, CpuSet::only(4 * cpu).word(word)));
        }
        assert!(counted.known());
        counted.may_use(0, 0, 3);
        assert!(!counted.known());
    }

    #[test]
    fn nothing_is_known_of_one_processor() {
        assert_eq!([1, 2, 64, 65, 1024].map(|count| Wasted::new(count).known()), [false, true, true, true, true]);
    }
}
