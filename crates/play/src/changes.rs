//! Changes of how a task is treated in the midst of its program, made ready before the run: a step allocates nothing, looks up no name and
//! opens no file. A task changes itself, or gives the tasks of a job other processors.

use crate::{
    attributes::{Rescheduling, Scheduling, confine, io_priority, take_io},
    groups::{Entrance, Groups},
    processors::of_scenario,
    shared::{SharedState, Slot, Trouble},
};
use schedlab_linux::{io_priority::IoPriority, sched::pin_process};
use schedlab_model::program::Treatment;
use std::sync::atomic::Ordering::Relaxed;

/// What a step changes.
pub(crate) struct Change {
    rescheduling: Rescheduling,
    processors: Option<Vec<u16>>,
    group: Option<Entrance>,
    io: Option<IoPriority>,
    /// The job whose tasks get other processors, if not the calling task.
    job: Option<u32>,
}

impl Change {
    /// A change by its description; `cpus` are the host's processors that are used as the scenario's, `jobs` the names of all jobs.
    pub fn new(wanted: &Treatment, cpus: &[u16], groups: &Groups, jobs: &[&String]) -> Change {
        let slice = wanted.slice.map(|slice| slice.0);
        let entrance = |name: &String| match name.as_str() {
            Treatment::ROOT_GROUP => groups.way_out(),
            name => groups.entrance(name),
        };
        Change {
            rescheduling: Rescheduling::new(wanted.policy, wanted.priority, wanted.nice, slice),
            processors: wanted.cpus.as_ref().map(|named| of_scenario(named, cpus)),
            group: wanted.group.as_ref().map(entrance),
            io: io_priority(wanted.io_class, wanted.io_level),
            job: wanted.job.as_ref().and_then(|name| jobs.iter().position(|job| *job == name)).map(|job| job as u32),
        }
    }

    /// Makes it for the calling task, which is scheduled as `now` says.
    pub fn make(&self, now: &mut Scheduling, slot: &Slot, shared: &SharedState) {
        if let (Some(job), Some(processors)) = (self.job, &self.processors) {
            return confine_job(job, processors, shared);
        }
        if let Some(Err(why)) = self.group.as_ref().map(Entrance::enter) {
            slot.failed(Trouble::Group, &why);
        }
        if let Some(processors) = &self.processors {
            confine(processors, slot);
        }
        self.rescheduling.apply(now, slot);
        if let Some(wanted) = self.io {
            take_io(wanted, slot);
        }
    }
}

/// Confines the living tasks of a job, each noting what failed of its own. One that ends meanwhile needs nothing.
fn confine_job(job: u32, processors: &[u16], shared: &SharedState) {
    for slot in shared.used().iter().filter(|slot| slot.job.load(Relaxed) == job && slot.is_alive()) {
        match pin_process(slot.pid.load(Relaxed), processors) {
            Err(why) if why.raw_os_error() == Some(libc::ESRCH) => {}
            Err(why) => slot.failed(Trouble::Affinity, &why),
            Ok(()) => {}
        }
    }
}
