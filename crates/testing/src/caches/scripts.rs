//! Random scripts of requests and deletions.

use schedlab_model::rng::Rng;
use schedlab_policies::caches::Key;

/// A step of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The key is requested.
    Ask(Key),
    /// The key's file is deleted.
    Delete(Key),
}

/// `steps` steps over keys of which low numbers are the popular ones, with a scan now and then.
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
