//! Random scripts of requests and deletions, and a visitor that runs a closure for every policy of the table.

use schedlab_curves::store::Store;
use schedlab_model::{info::Params, rng::Rng};
use schedlab_policies::caches::{self, CACHES, Entry, Key, Visitor};

/// A step of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Ask(Key),
    Delete(Key),
}

/// So many steps over so many keys, of which low numbers are the popular ones, with a scan now and then.
/// One step in `deletions` is a deletion; 0 for none.
pub fn script(seed: u64, steps: usize, keys: u32, deletions: u64) -> Vec<Step> {
    let mut draws = Rng::stream(seed, 77);
    let mut scan = 0..0;
    (0..steps)
        .map(|_| {
            if scan.is_empty() && draws.below(100) == 0 {
                let from = draws.below(u64::from(keys)) as Key;
                scan = from..keys.min(from + 10);
            }
            let skewed = draws.below(u64::from(keys)) * draws.below(u64::from(keys)) / u64::from(keys);
            let key = scan.next().unwrap_or(skewed as Key);
            if deletions > 0 && draws.below(deletions) == 0 { Step::Delete(key) } else { Step::Ask(key) }
        })
        .collect()
}

/// The requests alone.
pub fn requests(seed: u64, steps: usize, keys: u32) -> Vec<Key> {
    let key = |step| match step {
        Step::Ask(key) | Step::Delete(key) => key,
    };
    script(seed, steps, keys, 0).into_iter().map(key).collect()
}

/// For each request the number (from 1) of the next for the same key; `u64::MAX` if there is none.
pub fn next_uses(asked: &[Key]) -> Vec<u64> {
    let next = |(at, key): (usize, &Key)| {
        let ahead = asked[at + 1..].iter().position(|later| later == key);
        ahead.map_or(u64::MAX, |distance| (at + 2 + distance) as u64)
    };
    asked.iter().enumerate().map(next).collect()
}

/// A store with the default parameters.
pub fn store<E: Entry>(slots: u32, keys: u32) -> Store<E> {
    Store::new(&Params::check(&E::INFO, []).expect("defaults"), slots, keys, 1)
}

/// The misses of these requests.
pub fn misses<E: Entry>(slots: u32, asked: &[Key]) -> u64 {
    let mut store = store::<E>(slots, asked.iter().max().map_or(0, |largest| largest + 1));
    for (&key, next) in asked.iter().zip(next_uses(asked)) {
        store.request(key, next);
    }
    store.misses()
}

/// The misses of these requests under the policy of that name.
pub fn misses_of(name: &str, slots: u32, asked: &[Key]) -> u64 {
    struct Misses<'a>(u32, &'a [Key]);
    impl Visitor for Misses<'_> {
        type Output = u64;
        fn visit<E: Entry>(self) -> u64 {
            misses::<E>(self.0, self.1)
        }
    }
    caches::visit(name, Misses(slots, asked)).expect("a name of the table")
}

/// The names of all policies.
pub fn names() -> impl Iterator<Item = &'static str> {
    CACHES.iter().map(|info| info.name)
}
