//! What a task waits for that only another task can give, as a number in its slot.

use schedlab_workloads::stuck::Awaited;

/// Bits of the kind; the number of the lock, pipe, semaphore, barrier or condition is above them.
const KIND: u32 = 4;

/// What a task waits for as a number of its slot; 0 is nothing.
pub(crate) fn number(awaited: Awaited) -> u32 {
    let (kind, which) = match awaited {
        Awaited::Lock(lock) => (1, lock),
        Awaited::Message(pipe) => (2, pipe),
        Awaited::Child => (3, 0),
        Awaited::Signal => (4, 0),
        Awaited::Room(pipe) => (5, pipe),
        Awaited::Permit(semaphore) => (6, semaphore),
        Awaited::Barrier(barrier) => (7, barrier),
        Awaited::Condition(condition) => (8, condition),
    };
    kind | u32::from(which) << KIND
}

pub(crate) fn awaited(number: u32) -> Option<Awaited> {
    let which = (number >> KIND) as u16;
    match number & ((1 << KIND) - 1) {
        1 => Some(Awaited::Lock(which)),
        2 => Some(Awaited::Message(which)),
        3 => Some(Awaited::Child),
        4 => Some(Awaited::Signal),
        5 => Some(Awaited::Room(which)),
        6 => Some(Awaited::Permit(which)),
        7 => Some(Awaited::Barrier(which)),
        8 => Some(Awaited::Condition(which)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_task_waits_for_is_read_from_its_number() {
        let kinds: [fn(u16) -> Awaited; 6] =
            [Awaited::Lock, Awaited::Message, Awaited::Room, Awaited::Permit, Awaited::Barrier, Awaited::Condition];
        let all = kinds.iter().flat_map(|kind| [0, 1, u16::MAX].map(kind));
        for one in all.chain([Awaited::Child, Awaited::Signal]) {
            assert_eq!(awaited(number(one)), Some(one));
        }
        assert_eq!(awaited(0), None);
    }
}
