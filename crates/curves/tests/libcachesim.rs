//! Misses equal to libCacheSim's, one by one, on a million requests: favourites, and favourites among scans; those with
//! sizes, too, in caches of bytes, with the bytes missed.
//! The results of libCacheSim are in `libcachesim.toml`, written by `bench/cache_golden.py`, which makes the same sequences.

use schedlab_curves::{bytes::ByteStore, store::Store};
use schedlab_model::info::Params;
use schedlab_policies::caches::{self, ByteVisitor, Entry, InBytes, Key, Visitor};
use std::collections::HashMap;

const REQUESTS: usize = 1_000_000;
const SLOTS: [u32; 3] = [100, 1_000, 10_000];
const BYTES: [u64; 3] = [1 << 20, 1 << 24, 1 << 28];

/// S. Vigna's splitmix64.
struct Splitmix(u64);

impl Iterator for Splitmix {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Some(z ^ (z >> 31))
    }
}

/// Key number i (from 0) is drawn with the weight 2^32 / (i + 1), rounded down.
fn zipf(keys: u64, seed: u64) -> Vec<Key> {
    let mut sum = 0;
    let sums: Vec<u64> = (1..=keys)
        .map(|n| {
            sum += (1 << 32) / n;
            sum
        })
        .collect();
    let draw = |number: u64| sums.partition_point(|&upto| upto <= number % sum) as Key;
    Splitmix(seed).take(REQUESTS).map(draw).collect()
}

fn sequence(name: &str) -> Vec<Key> {
    if name == "zipf" {
        return zipf(100_000, 1);
    }
    let mut keys = zipf(50_000, 2);
    for (number, begin) in (10_000..REQUESTS - 5_000).step_by(20_000).enumerate() {
        for n in 0..5_000 {
            keys[begin + n] = (50_000 + (number * 5_000 + n) % 200_000) as Key;
        }
    }
    keys
}

/// For each request, which request is the next for its key.
fn next_uses(keys: &[Key]) -> Vec<u64> {
    let mut last = HashMap::new();
    let mut next: Vec<u64> =
        keys.iter().enumerate().rev().map(|(at, key)| last.insert(key, at as u64 + 1).unwrap_or(u64::MAX)).collect();
    next.reverse();
    next
}

struct Misses<'a> {
    keys: &'a [Key],
    next: &'a [u64],
    slots: u32,
}

impl Visitor for Misses<'_> {
    type Output = u64;

    fn visit<E: Entry>(self) -> u64 {
        let params = Params::check(&E::INFO, []).unwrap();
        let mut store = Store::<E>::new(&params, self.slots, 250_000, 1);
        for (&key, &next) in self.keys.iter().zip(self.next) {
            store.request(key, next);
        }
        store.misses()
    }
}

fn holds(name: &str) {
    let golden: toml::Table = include_str!("libcachesim.toml").parse().unwrap();
    let keys = sequence(name);
    let next = next_uses(&keys);
    let policies = golden[name].as_table().unwrap();
    assert!(policies.len() >= 6);
    for (policy, theirs) in policies {
        for (slots, theirs) in SLOTS.into_iter().zip(theirs.as_array().unwrap()) {
            let ours = caches::visit(policy, Misses { keys: &keys, next: &next, slots }).unwrap();
            assert_eq!(ours as i64, theirs.as_integer().unwrap(), "{policy} with {slots} slots on {name}");
        }
    }
}

#[test]
fn misses_are_those_of_libcachesim_on_favourites() {
    holds("zipf");
}

#[test]
fn misses_are_those_of_libcachesim_on_favourites_among_scans() {
    holds("scans");
}

/// 1 B to 1 MiB by key, most of them small; every hundredth request has half as much again.
fn sizes(keys: &[Key]) -> Vec<u64> {
    let of_key = |key: Key| {
        let mixed = Splitmix(key.into()).next().unwrap();
        1 + (mixed >> 44 >> (mixed & 15))
    };
    keys.iter().zip(0..).map(|(&key, number)| of_key(key) * if number % 100 == 99 { 3 } else { 2 } / 2).collect()
}

struct MissesInBytes<'a> {
    keys: &'a [Key],
    sizes: &'a [u64],
    next: &'a [u64],
    capacity: u64,
}

impl ByteVisitor for MissesInBytes<'_> {
    type Output = [u64; 2];

    fn visit<E: InBytes>(self) -> [u64; 2] {
        let params = Params::check(&E::INFO, []).unwrap();
        let mut store = ByteStore::<E>::new(&params, self.capacity, 250_000, 1);
        for ((&key, &size), &next) in self.keys.iter().zip(self.sizes).zip(self.next) {
            store.request(key, size, next);
            assert!(store.occupied() <= self.capacity);
        }
        [store.misses(), store.missed_bytes()]
    }
}

#[test]
fn misses_in_bytes_are_those_of_libcachesim_on_favourites_among_scans() {
    let golden: toml::Table = include_str!("libcachesim.toml").parse().unwrap();
    let keys = sequence("scans");
    let (next, sizes) = (next_uses(&keys), sizes(&keys));
    let policies = golden["bytes"].as_table().unwrap();
    assert!(policies.len() >= 9);
    for (policy, theirs) in policies {
        for (capacity, theirs) in BYTES.into_iter().zip(theirs.as_array().unwrap()) {
            let run = MissesInBytes { keys: &keys, sizes: &sizes, next: &next, capacity };
            let ours = caches::visit_in_bytes(policy, run).unwrap().map(|number| number as i64);
            let theirs: Vec<i64> = theirs.as_array().unwrap().iter().filter_map(toml::Value::as_integer).collect();
            assert_eq!(ours[..], theirs, "{policy} with {capacity} bytes");
        }
    }
}
