//! One read of a block is one use: a cache that reads, and is used when the block is there, evicts as the plain policy does, for
//! which a miss is one request.

use schedlab_memory::{BlockCache, Evicted, Part, State};
use schedlab_model::{
    info::{Params, Promise},
    rng::Rng,
};
use schedlab_policies::caches::{self, CACHES, Context, Eviction, Key, NOTHING, Slot};

const SLOTS: u32 = 12;
const BLOCKS: u64 = 30;

fn policy(name: &str) -> Box<dyn Eviction> {
    let info = CACHES.iter().find(|info| info.name == name).unwrap();
    caches::build(name, &Params::check(info, []).unwrap(), SLOTS).unwrap()
}

/// The plain policy under requests, where a miss is an admission and nothing else.
struct Plain {
    policy: Box<dyn Eviction>,
    keys: Vec<Key>,
    rng: Rng,
}

impl Plain {
    fn ask(&mut self, key: Key) -> Option<Key> {
        let mut cx = Context { now: 0, keys: &self.keys, next_use: u64::MAX, rng: &mut self.rng };
        if let Some(slot) = self.keys.iter().position(|&held| held == key) {
            self.policy.hit(&mut cx, slot as Slot);
            return None;
        }
        let (slot, out) = match self.keys.len() {
            used if used < SLOTS as usize => (used as Slot, None),
            _ => {
                let slot = self.policy.victim(&mut cx, key);
                (slot, Some(self.keys[slot as usize]))
            }
        };
        self.keys.resize(self.keys.len().max(slot as usize + 1), NOTHING);
        self.keys[slot as usize] = key;
        let mut cx = Context { now: 0, keys: &self.keys, next_use: u64::MAX, rng: &mut self.rng };
        self.policy.admit(&mut cx, slot, key);
        out
    }
}

/// The same of the block cache: a miss is read from the drive, and used when it is there.
fn ask(cache: &mut BlockCache, block: u32) -> Option<u32> {
    let name = (0, Part::Data(0, block));
    if let Some(slot) = cache.find(name) {
        cache.hit(slot);
        return None;
    }
    let out = cache.is_full().then(|| {
        let Evicted::Clean(slot) = cache.evict(Some(name)) else { panic!("nothing is changed or on its way") };
        let (_, Part::Data(_, out)) = cache.block(slot).name else { panic!("all of them are data") };
        cache.take_out(slot);
        out
    });
    let slot = cache.admit(name, 0, State::Reading, 0);
    cache.expect_use(slot);
    cache.transferred(slot);
    cache.hit(slot);
    out
}

/// Popular blocks among others, so that it matters how often one was requested. Each block's number is that of its first request.
fn requests(seed: u64) -> Vec<u32> {
    let mut rng = Rng::stream(seed, 9);
    let mut met: Vec<u64> = Vec::new();
    let mut number = |block| match met.iter().position(|&known| known == block) {
        Some(at) => at as u32,
        None => {
            met.push(block);
            met.len() as u32 - 1
        }
    };
    let mut draw = || if rng.below(2) == 0 { rng.below(6) } else { rng.below(BLOCKS) };
    (0..2000).map(|_| number(draw())).collect()
}

#[test]
fn one_read_of_a_block_is_one_use_for_every_policy() {
    for info in CACHES.iter().filter(|info| !info.promises.contains(&Promise::Clairvoyant)) {
        for seed in 0..8 {
            let mut cache = BlockCache::new(policy(info.name), SLOTS, Rng::stream(seed, 1));
            let mut plain = Plain { policy: policy(info.name), keys: Vec::new(), rng: Rng::stream(seed, 1) };
            for (at, &block) in requests(seed).iter().enumerate() {
                let found = (ask(&mut cache, block), plain.ask(block));
                assert_eq!(found.0, found.1, "{}, seed {seed}, request {at}: what leaves", info.name);
            }
        }
    }
}

#[test]
fn a_block_used_later_than_it_came_stays_as_long_as_if_it_came_then() {
    for name in ["lru", "lfu", "arc", "lirs"] {
        let mut cache = BlockCache::new(policy(name), SLOTS, Rng::stream(1, 1));
        let names: Vec<_> = (0..SLOTS).map(|block| (0, Part::Data(0, block))).collect();
        let slots: Vec<_> = names.iter().map(|&name| cache.admit(name, 0, State::Reading, 0)).collect();
        for &slot in &slots {
            cache.expect_use(slot);
            cache.transferred(slot);
        }
        slots[1..].iter().chain(&slots[..1]).for_each(|&slot| cache.hit(slot));
        let Evicted::Clean(out) = cache.evict(None) else { panic!("nothing is changed or on its way") };
        assert_ne!(out, slots[0], "{name}: the first to come is the last used");
    }
}
