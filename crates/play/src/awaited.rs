//! What a task waits for that only another task can give, as a number in its slot.

use schedlab_workloads::stuck::Awaited;

/// What a task waits for as a number of its slot; 0 is nothing.
pub(crate) fn number(awaited: Awaited) -> u32 {
    match awaited {
        Awaited::Lock(lock) => 1 | u32::from(lock) << 3,
        Awaited::Message(pipe) => 2 | u32::from(pipe) << 3,
        Awaited::Child => 3,
        Awaited::Signal => 4,
    }
}

pub(crate) fn awaited(number: u32) -> Option<Awaited> {
    let which = (number >> 3) as u16;
    match number & 7 {
        1 => Some(Awaited::Lock(which)),
        2 => Some(Awaited::Message(which)),
        3 => Some(Awaited::Child),
        4 => Some(Awaited::Signal),
        _ => None,
    }
}
