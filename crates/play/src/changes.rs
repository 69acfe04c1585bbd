//! Changes of how a task is treated in the midst of its program, made ready before the run: a step allocates nothing, looks up no name and
//! opens no file. A task changes only itself.

use crate::{
    attributes::{Rescheduling, Scheduling, confine, io_priority, take_io},
    groups::{Entrance, Groups},
    processors::of_scenario,
    shared::{Slot, Trouble},
};
use schedlab_linux::io_priority::IoPriority;
use schedlab_model::program::Treatment;

/// What a step changes.
pub(crate) struct Change {
    rescheduling: Rescheduling,
    processors: Option<Vec<u16>>,
    group: Option<Entrance>,
    io: Option<IoPriority>,
}

impl Change {
    /// A change by its description; `cpus` are the host's processors that are used as the scenario's.
    pub fn new(wanted: &Treatment, cpus: &[u16], groups: &Groups) -> Change {
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
        }
    }

    /// Makes it for the calling task, which is scheduled as `now` says.
    pub fn make(&self, now: &mut Scheduling, slot: &Slot) {
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
