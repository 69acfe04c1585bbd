//! The cache cost of a switch: a returning task finds a part of its data in its processor's cache evicted by others, and loads
//! it again while it runs.
//!
//! ```text
//! lost  =  f * min(1, o / c)          cost  =  lost * t
//! ```
//!
//! f the task's footprint, o what others have touched in this cache since it left, c the size of the cache, t the time to
//! load a byte. What it loads is limited by how long it runs: a burst at most doubles. On another processor all is lost;
//! on another node, it comes from further away.

use schedlab_model::{Nanos, machine::Machine, task::TaskId};

/// The caches of all processors, and what each task has in them; and, since both are noted where a task leaves a processor, the time that
/// it has had.
#[derive(Debug)]
pub(crate) struct Caches {
    /// Size of each in bytes; none if there are no caches and only moving costs something.
    size: Option<u64>,
    /// Time to load a KiB, from the own node's memory and from another's.
    fill: [Nanos; 2],
    /// For each processor, the bytes touched in its cache so far, and what its task must still load, in ns.
    touched: Vec<u64>,
    to_load: Vec<Nanos>,
    /// For each task, its footprint, the count of its cache when it left, the node where its memory is, and its time.
    tasks: Vec<Trace>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Trace {
    footprint: u64,
    mark: u64,
    home: Option<u16>,
    ran: Nanos,
}

impl Caches {
    /// Those of a machine where coming back costs something, or of whose tasks it is asked how long each has run.
    pub fn of(machine: &Machine, asks_for_time: bool) -> Option<Box<Caches>> {
        if machine.cache.is_none() && machine.costs.migration.get().0 == 0 && !asks_for_time {
            return None;
        }
        let own = machine.cache.as_ref().map_or(0, |cache| cache.fill_per_kib.get().0);
        let remote = machine.cache.as_ref().and_then(|cache| cache.remote_fill_per_kib.as_ref());
        let processors = machine.processors.get().into();
        Some(Box::new(Caches {
            size: machine.cache.as_ref().map(|cache| cache.size.get().0),
            fill: [own, remote.map_or(own, |fill| fill.get().0)],
            touched: vec![0; processors],
            to_load: vec![0; processors],
            tasks: Vec::new(),
        }))
    }

    /// A task has this footprint.
    pub fn know(&mut self, task: TaskId, footprint: u64) {
        if self.tasks.len() <= task as usize {
            self.tasks.resize(task as usize + 1, Trace::default());
        }
        self.tasks[task as usize].footprint = footprint;
    }

    /// A child works on a copy of its parent's memory.
    pub fn inherit(&mut self, parent: TaskId, child: TaskId) {
        let footprint = self.tasks[parent as usize].footprint;
        self.know(child, footprint);
    }

    /// A task leaves a processor on which it has run for that long.
    pub fn leave(&mut self, cpu: usize, task: TaskId, ran: Nanos) {
        self.to_load[cpu] = 0;
        if let Some(trace) = self.tasks.get_mut(task as usize) {
            trace.mark = self.touched[cpu];
            trace.ran += ran;
        }
    }

    /// How long a task has run, up to where it left a processor last.
    pub fn ran(&self, task: TaskId) -> Nanos {
        self.tasks.get(task as usize).map_or(0, |trace| trace.ran)
    }

    /// A task comes to a processor: what it must load, in ns.
    pub fn enter(&mut self, cpu: usize, task: TaskId, node: u16, moved: bool) {
        let (Some(size), Some(trace)) = (self.size, self.tasks.get_mut(task as usize)) else { return };
        let home = *trace.home.get_or_insert(node);
        let held = trace.footprint.min(size);
        let others = if moved { size } else { (self.touched[cpu] - trace.mark).min(size) };
        let lost = (u128::from(held) * u128::from(others) / u128::from(size)) as u64;
        self.touched[cpu] = self.touched[cpu].saturating_add(held);
        self.to_load[cpu] = lost * self.fill[usize::from(home != node)] / 1024;
    }

    /// Load time that a burst of that length adds.
    pub fn load(&mut self, cpu: usize, length: Nanos) -> Nanos {
        let loaded = self.to_load[cpu].min(length);
        self.to_load[cpu] -= loaded;
        loaded
    }
}
