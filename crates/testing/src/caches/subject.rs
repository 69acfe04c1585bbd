//! An eviction policy under test, whose type the laws need not know.

use super::scripts::{Step, next_uses};
use schedlab_curves::store::Store;
use schedlab_model::{
    info::{Info, Params},
    rng::Rng,
};
use schedlab_policies::caches::{self, Context, Entry, Key, NOTHING, Slot, Visitor};

/// An eviction policy under test.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// Its entry.
    pub info: &'static Info,
    /// Whether it claims to be a stack policy.
    pub stack: bool,
    checked: fn(Run<'_>) -> Vec<Key>,
    cache: fn(u32, u32) -> Box<dyn Cache>,
}

/// A cache under a policy, with its default parameters.
pub trait Cache {
    /// Requests a key; whether it was there. `next_use` is the number of the next request for it.
    fn request(&mut self, key: Key, next_use: u64) -> bool;
    /// Whether the key is there.
    fn holds(&self, key: Key) -> bool;
    /// Keys that are there.
    fn held(&self) -> u32;
    /// Requests that did not find their key.
    fn misses(&self) -> u64;
}

impl<E: Entry> Cache for Store<E> {
    fn request(&mut self, key: Key, next_use: u64) -> bool {
        Store::request(self, key, next_use)
    }
    fn holds(&self, key: Key) -> bool {
        Store::holds(self, key)
    }
    fn held(&self) -> u32 {
        Store::held(self)
    }
    fn misses(&self) -> u64 {
        Store::misses(self)
    }
}

/// What is run with every answer checked.
#[derive(Debug, Clone)]
pub(super) struct Run<'a> {
    pub slots: u32,
    /// A parameter that is not the default.
    pub given: Option<(&'static str, String)>,
    pub script: &'a [Step],
    pub seed: u64,
}

impl Subject {
    /// The policy of that type.
    pub fn of<E: Entry>() -> Subject {
        let cache = |slots, keys| Box::new(store::<E>(slots, keys)) as Box<dyn Cache>;
        Subject { info: const { &E::INFO }, stack: E::STACK, checked: checked::<E>, cache }
    }

    /// The policy of that name in the table.
    pub fn named(name: &str) -> Option<Subject> {
        struct Of;
        impl Visitor for Of {
            type Output = Subject;
            fn visit<E: Entry>(self) -> Subject {
                Subject::of::<E>()
            }
        }
        caches::visit(name, Of)
    }

    /// A cache with that number of slots, for keys below `keys`.
    pub fn cache(self, slots: u32, keys: u32) -> Box<dyn Cache> {
        (self.cache)(slots, keys)
    }

    /// The misses of these requests.
    pub fn misses(self, slots: u32, asked: &[Key]) -> u64 {
        let mut cache = self.cache(slots, asked.iter().max().map_or(0, |largest| largest + 1));
        for (&key, next) in asked.iter().zip(next_uses(asked)) {
            cache.request(key, next);
        }
        cache.misses()
    }

    /// Runs a script and checks every answer; gives the victims.
    pub(super) fn checked(self, run: Run<'_>) -> Vec<Key> {
        (self.checked)(run)
    }
}

/// A store with the default parameters.
pub fn store<E: Entry>(slots: u32, keys: u32) -> Store<E> {
    Store::new(&Params::check(&E::INFO, []).expect("defaults"), slots, keys, 1)
}

fn checked<E: Entry>(run: Run<'_>) -> Vec<Key> {
    let params = Params::check(&E::INFO, run.given).expect("within its domain");
    let mut policy = E::new(&params, run.slots);
    let mut keys = vec![NOTHING; run.slots as usize];
    let mut rng = Rng::stream(run.seed, 0);
    let mut victims = Vec::new();
    for (now, &step) in (1..).zip(run.script) {
        let (Step::Ask(key) | Step::Delete(key)) = step;
        let held = keys.iter().position(|&other| other == key).map(|slot| slot as Slot);
        let mut cx = Context { now, keys: &keys, next_use: u64::MAX, rng: &mut rng };
        match (step, held) {
            (Step::Ask(_), Some(slot)) => policy.hit(&mut cx, slot),
            (Step::Ask(_), None) => {
                let free = keys.iter().position(|&other| other == NOTHING).map(|slot| slot as Slot);
                let slot = free.unwrap_or_else(|| {
                    let slot = policy.victim(&mut cx, key);
                    assert!(slot < run.slots, "{}: there is no slot {slot}", E::INFO.name);
                    victims.push(keys[slot as usize]);
                    slot
                });
                keys[slot as usize] = key;
                policy.admit(&mut Context { now, keys: &keys, next_use: u64::MAX, rng: &mut rng }, slot, key);
            }
            (Step::Delete(_), Some(slot)) => {
                policy.remove(&mut cx, slot);
                keys[slot as usize] = NOTHING;
            }
            (Step::Delete(_), None) => {}
        }
    }
    victims
}
