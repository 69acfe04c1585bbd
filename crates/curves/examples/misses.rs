//! Counts the misses of a policy on a file of keys (u32, little endian), and times it:
//! `misses FILE POLICY SLOTS [PARAMETER=VALUE ...]`, answered with a line of JSON. For a cache of bytes, write `4096B` in place of
//! SLOTS; behind each key the file then has its size (u32).
//! The time of a request is the median over parts of the file, so that whatever else the machine does counts little.

use schedlab_curves::{bytes::ByteStore, store::Store};
use schedlab_model::info::Params;
use schedlab_policies::caches::{self, ByteVisitor, Entry, InBytes, Key, Visitor};
use std::time::Instant;

/// Requests that are timed together.
const PART: usize = 10_000;

struct Run<'a> {
    keys: &'a [Key],
    slots: u32,
    given: &'a [String],
}

impl Visitor for Run<'_> {
    type Output = Result<String, String>;

    fn visit<E: Entry>(self) -> Self::Output {
        let params = params::<E>(self.given)?;
        let next_uses = if E::CLAIRVOYANT { next_uses(self.keys) } else { Vec::new() };
        let count = self.keys.iter().max().map_or(0, |largest| largest + 1);
        let mut store = Store::<E>::new(&params, self.slots, count, 1);
        let mut times: Vec<f64> = self
            .keys
            .chunks(PART)
            .zip((0..).step_by(PART))
            .map(|(part, from)| {
                let begun = Instant::now();
                for (at, &key) in (from..).zip(part) {
                    store.request(key, if E::CLAIRVOYANT { next_uses[at] } else { u64::MAX });
                }
                begun.elapsed().as_nanos() as f64 / part.len() as f64
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let each = times.get(times.len() / 2).copied().unwrap_or(0.0);
        Ok(format!(
            "{{\"requests\": {}, \"misses\": {}, \"ns_per_request\": {each:.1}}}",
            store.requests(),
            store.misses()
        ))
    }
}

/// A run in bytes.
struct RunInBytes<'a> {
    keys: &'a [Key],
    sizes: &'a [u32],
    capacity: u64,
    given: &'a [String],
}

impl ByteVisitor for RunInBytes<'_> {
    type Output = Result<String, String>;

    fn visit<E: InBytes>(self) -> Self::Output {
        let params = params::<E>(self.given)?;
        let next_uses = next_uses(self.keys);
        let count = self.keys.iter().max().map_or(0, |largest| largest + 1);
        let mut store = ByteStore::<E>::new(&params, self.capacity, count, 1);
        let begun = Instant::now();
        for ((&key, &size), &next) in self.keys.iter().zip(self.sizes).zip(&next_uses) {
            store.request(key, size.into(), if E::CLAIRVOYANT { next } else { u64::MAX });
        }
        let each = begun.elapsed().as_nanos() as f64 / self.keys.len() as f64;
        let (requests, misses, missed) = (self.keys.len(), store.misses(), store.missed_bytes());
        Ok(format!(
            "{{\"requests\": {requests}, \"misses\": {misses}, \"missed_bytes\": {missed}, \"ns_per_request\": {each:.1}}}"
        ))
    }
}

fn params<E: Entry>(given: &[String]) -> Result<Params, String> {
    let given = given.iter().map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let checked = Params::check(&E::INFO, given.map(|(name, value)| (name, value.to_owned())));
    checked.map_err(|(name, why)| format!("{name}: {why}"))
}

/// For each request the number (from 1) of the next for the same key.
fn next_uses(keys: &[Key]) -> Vec<u64> {
    let largest = keys.iter().max().map_or(0, |&key| key as usize);
    let mut seen = vec![u64::MAX; largest + 1];
    let mut next: Vec<u64> = (1..=keys.len() as u64)
        .rev()
        .map(|now| std::mem::replace(&mut seen[keys[now as usize - 1] as usize], now))
        .collect();
    next.reverse();
    next
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, policy, slots, given @ ..] = arguments.as_slice() else {
        return Err("misses FILE POLICY SLOTS [PARAMETER=VALUE ...]".to_owned());
    };
    let bytes = std::fs::read(file).map_err(|why| format!("{file}: {why}"))?;
    if let Some(capacity) = slots.strip_suffix('B') {
        let pairs = bytes.as_chunks::<8>().0.iter().map(|&eight| u64::from_le_bytes(eight));
        let (keys, sizes): (Vec<Key>, Vec<u32>) = pairs.map(|pair| (pair as u32, (pair >> 32) as u32)).unzip();
        let capacity = capacity.parse().map_err(|_| format!("{slots:?} is not a number of bytes"))?;
        let answer = caches::visit_in_bytes(policy, RunInBytes { keys: &keys, sizes: &sizes, capacity, given });
        println!("{}", answer.ok_or_else(|| format!("no policy {policy:?} heeds sizes"))??);
        return Ok(());
    }
    let keys: Vec<Key> = bytes.as_chunks().0.iter().map(|&four| Key::from_le_bytes(four)).collect();
    let slots = slots.parse().map_err(|_| format!("{slots:?} is not a number of slots"))?;
    let answer = caches::visit(policy, Run { keys: &keys, slots, given });
    println!("{}", answer.ok_or_else(|| format!("there is no policy {policy:?}"))??);
    Ok(())
}
