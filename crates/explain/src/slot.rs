//! The place of a task in the list of all that were met.

/// A place.
pub(crate) type Slot = u32;
/// No task, and the idle one.
pub(crate) const NONE: Slot = u32::MAX;
pub(crate) const IDLE: Slot = u32::MAX - 1;

/// Whether it is that of a task.
pub(crate) fn is_task(slot: Slot) -> bool {
    slot != NONE && slot != IDLE
}
