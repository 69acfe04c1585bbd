//! What is in each frame of a cache after each request: the table that textbooks draw of a reference string.

use crate::{
    choice::Choice,
    future::{as_given, next_uses},
    store::Store,
};
use schedlab_policies::caches::{Entry, Key, Visitor, visit};

/// The cache after a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Whether the requested key was not there before.
    pub fault: bool,
    /// The key in each frame, `None` where it is free.
    pub frames: Vec<Option<Key>>,
}

/// The steps of a cache of `frames` frames that is empty at first. All keys are below `objects`; `seed` is for randomised policies.
///
/// # Panics
/// If there is no frame.
pub fn steps(keys: &[Key], objects: u32, choice: &Choice, frames: u32, seed: u64) -> Vec<Step> {
    let run = Steps { keys, objects, choice, frames, seed };
    visit(choice.name, run).expect("a choice names a policy of the table")
}

struct Steps<'a> {
    keys: &'a [Key],
    objects: u32,
    choice: &'a Choice,
    frames: u32,
    seed: u64,
}

impl Visitor for Steps<'_> {
    type Output = Vec<Step>;

    fn visit<E: Entry>(self) -> Vec<Step> {
        let Steps { keys, objects, choice, frames, seed } = self;
        let mut store = Store::<E>::new(&choice.params, frames, objects, seed);
        let step = |(&key, next): (&Key, u32)| {
            let fault = !store.request(key, as_given(next));
            Step { fault, frames: store.slots().collect() }
        };
        keys.iter().zip(next_uses(keys, objects)).map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice;

    const BELADY: [Key; 12] = [0, 1, 2, 3, 0, 1, 4, 0, 1, 2, 3, 4];

    fn of(policy: &str, frames: u32) -> Vec<Step> {
        steps(&BELADY, 5, &choice::read(policy).unwrap()[0], frames, 1)
    }

    #[test]
    fn a_frame_keeps_its_key_until_another_replaces_it() {
        let steps = of("fifo", 3);
        let frames = |at: usize| &steps[at].frames[..];
        assert_eq!(frames(0), [Some(0), None, None]);
        assert_eq!(frames(2), [Some(0), Some(1), Some(2)]);
        assert_eq!(frames(3), [Some(3), Some(1), Some(2)]);
        assert!(!steps[7].fault && steps[8].frames == steps[7].frames);
    }

    #[test]
    fn fifo_faults_more_with_four_frames_than_with_three_and_lru_does_not() {
        let faults = |policy, frames| of(policy, frames).iter().filter(|step| step.fault).count();
        assert_eq!([3, 4].map(|frames| faults("fifo", frames)), [9, 10]);
        assert_eq!([3, 4].map(|frames| faults("lru", frames)), [10, 8]);
        assert_eq!([3, 4].map(|frames| faults("belady", frames)), [7, 6]);
    }
}
