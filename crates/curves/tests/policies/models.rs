//! The simple policies beside models that search through plain lists, with deletions at any time.

use schedlab_policies::caches::{Clock, Entry, Fifo, Key, Lfu, Lru, Mru, S3Fifo, Sieve};
use schedlab_testing::caches::{
    scripts::{Step, script},
    store,
};

/// A policy without any care for speed. Keys stand in place of slots.
pub trait Model {
    fn hit(&mut self, key: Key);
    fn evict(&mut self, incoming: Key) -> Key;
    fn admit(&mut self, key: Key);
    fn delete(&mut self, key: Key);
}

fn place(list: &[Key], key: Key) -> usize {
    list.iter().position(|&other| other == key).expect("it is in the list")
}

/// fifo, lru and mru: keys, the oldest first.
struct Line {
    keys: Vec<Key>,
    hits_move: bool,
    youngest_goes: bool,
}

impl Model for Line {
    fn hit(&mut self, key: Key) {
        if self.hits_move {
            self.delete(key);
            self.admit(key);
        }
    }
    fn evict(&mut self, _: Key) -> Key {
        let at = if self.youngest_goes { self.keys.len() - 1 } else { 0 };
        self.keys.remove(at)
    }
    fn admit(&mut self, key: Key) {
        self.keys.push(key);
    }
    fn delete(&mut self, key: Key) {
        self.keys.remove(place(&self.keys, key));
    }
}

/// Keys in the order in which the hand will meet them, and their marks.
struct Ring(Vec<(Key, bool)>);

impl Model for Ring {
    fn hit(&mut self, key: Key) {
        self.0.iter_mut().filter(|entry| entry.0 == key).for_each(|entry| entry.1 = true);
    }
    fn evict(&mut self, _: Key) -> Key {
        loop {
            let (key, marked) = self.0.remove(0);
            if !marked {
                return key;
            }
            self.0.push((key, false));
        }
    }
    fn admit(&mut self, key: Key) {
        self.0.push((key, false));
    }
    fn delete(&mut self, key: Key) {
        self.0.retain(|entry| entry.0 != key);
    }
}

/// Keys by arrival, the oldest first, their marks, and how many of them the hand has passed.
struct Sifted {
    keys: Vec<(Key, bool)>,
    passed: usize,
}

impl Model for Sifted {
    fn hit(&mut self, key: Key) {
        self.keys.iter_mut().filter(|entry| entry.0 == key).for_each(|entry| entry.1 = true);
    }
    fn evict(&mut self, _: Key) -> Key {
        loop {
            if self.passed == self.keys.len() {
                self.passed = 0;
            }
            if !self.keys[self.passed].1 {
                let gone = self.keys.remove(self.passed).0;
                self.stand_at_the_end_or_begin();
                return gone;
            }
            self.keys[self.passed].1 = false;
            self.passed += 1;
        }
    }
    fn admit(&mut self, key: Key) {
        self.keys.push((key, false));
    }
    fn delete(&mut self, key: Key) {
        let at = self.keys.iter().position(|entry| entry.0 == key).expect("it is held");
        self.keys.remove(at);
        if at < self.passed {
            self.passed -= 1;
        } else if at == self.passed {
            self.stand_at_the_end_or_begin();
        }
    }
}

impl Sifted {
    /// A hand past the youngest looks at the oldest next, even if a younger one comes in before it does.
    fn stand_at_the_end_or_begin(&mut self) {
        if self.passed == self.keys.len() {
            self.passed = 0;
        }
    }
}

/// Keys with their uses and the time of the last one.
#[derive(Default)]
struct Counted {
    keys: Vec<(u64, u64, Key)>,
    now: u64,
}

impl Model for Counted {
    fn hit(&mut self, key: Key) {
        self.now += 1;
        let entry = self.keys.iter_mut().find(|entry| entry.2 == key).expect("it is held");
        *entry = (entry.0 + 1, self.now, key);
    }
    fn evict(&mut self, _: Key) -> Key {
        let least = *self.keys.iter().min().expect("the cache is full");
        self.delete(least.2);
        least.2
    }
    fn admit(&mut self, key: Key) {
        self.now += 1;
        self.keys.push((1, self.now, key));
    }
    fn delete(&mut self, key: Key) {
        self.keys.retain(|entry| entry.2 != key);
    }
}

/// Algorithm 1 of the paper on S3-FIFO, with the departures that its page names. Keys with their hits, the oldest first.
struct ThreeQueues {
    small: Vec<(Key, u32)>,
    main: Vec<(Key, u32)>,
    ghost: Vec<Key>,
    slots: usize,
    evicted: bool,
    from_ghost: bool,
}

impl Model for ThreeQueues {
    fn hit(&mut self, key: Key) {
        let both = self.small.iter_mut().chain(&mut self.main);
        both.filter(|entry| entry.0 == key).for_each(|entry| entry.1 = 3.min(entry.1 + 1));
    }
    fn evict(&mut self, incoming: Key) -> Key {
        self.evicted = true;
        self.from_ghost = self.leave_ghost(incoming);
        loop {
            if self.main.len() > self.slots - self.slots / 10 || self.small.is_empty() {
                let (key, hits) = self.main.remove(0);
                if hits == 0 {
                    return key;
                }
                self.main.push((key, hits - 1));
                continue;
            }
            let passed = self.small.iter().position(|entry| entry.1 < 2).unwrap_or(self.small.len());
            self.main.extend(self.small.drain(..passed).map(|(key, _)| (key, 0)));
            if !self.small.is_empty() {
                let (key, _) = self.small.remove(0);
                self.ghost.push(key);
                if self.ghost.len() > self.slots * 9 / 10 {
                    self.ghost.remove(0);
                }
                return key;
            }
        }
    }
    fn admit(&mut self, key: Key) {
        let from_ghost = std::mem::take(&mut self.from_ghost) || self.leave_ghost(key);
        if from_ghost || (!self.evicted && self.small.len() >= self.slots / 10) {
            self.main.push((key, 0));
        } else {
            self.small.push((key, 0));
        }
    }
    fn delete(&mut self, key: Key) {
        self.small.retain(|entry| entry.0 != key);
        self.main.retain(|entry| entry.0 != key);
    }
}

impl ThreeQueues {
    fn leave_ghost(&mut self, key: Key) -> bool {
        let before = self.ghost.len();
        self.ghost.retain(|&other| other != key);
        self.ghost.len() < before
    }
}

/// Runs scripts under a policy and its model; after each step both must hold the same.
pub fn agrees<E: Entry>(mut model: impl FnMut(u32) -> Box<dyn Model>) {
    for (seed, slots) in (0..30).zip([10, 11, 20, 37].into_iter().cycle()) {
        let keys = 3 * slots;
        let mut store = store::<E>(slots, keys);
        let mut model = model(slots);
        let mut held: Vec<Key> = Vec::new();
        for (at, step) in script(seed, 3000, keys, [0, 4, 30][seed as usize % 3]).into_iter().enumerate() {
            match step {
                Step::Ask(key) if held.contains(&key) => model.hit(key),
                Step::Ask(key) => {
                    if held.len() == slots as usize {
                        let gone = model.evict(key);
                        held.retain(|&other| other != gone);
                    }
                    held.push(key);
                    model.admit(key);
                }
                Step::Delete(key) if held.contains(&key) => {
                    held.retain(|&other| other != key);
                    model.delete(key);
                }
                Step::Delete(_) => {}
            }
            match step {
                Step::Ask(key) => _ = store.request(key, u64::MAX),
                Step::Delete(key) => _ = store.remove(key),
            }
            for key in 0..keys {
                let name = E::INFO.name;
                assert_eq!(store.holds(key), held.contains(&key), "{name}, seed {seed}, step {at} ({step:?}): {key}");
            }
        }
    }
}

fn line(hits_move: bool, youngest_goes: bool) -> Box<dyn Model> {
    Box::new(Line { keys: Vec::new(), hits_move, youngest_goes })
}

#[test]
fn fifo_holds_what_its_model_holds() {
    agrees::<Fifo>(|_| line(false, false));
}

#[test]
fn lru_holds_what_its_model_holds() {
    agrees::<Lru>(|_| line(true, false));
}

#[test]
fn mru_holds_what_its_model_holds() {
    agrees::<Mru>(|_| line(true, true));
}

#[test]
fn clock_holds_what_its_model_holds() {
    agrees::<Clock>(|_| Box::new(Ring(Vec::new())));
}

#[test]
fn sieve_holds_what_its_model_holds() {
    agrees::<Sieve>(|_| Box::new(Sifted { keys: Vec::new(), passed: 0 }));
}

#[test]
fn lfu_holds_what_its_model_holds() {
    agrees::<Lfu>(|_| Box::new(Counted::default()));
}

#[test]
fn s3_fifo_holds_what_its_model_holds() {
    agrees::<S3Fifo>(|slots| {
        Box::new(ThreeQueues {
            small: Vec::new(),
            main: Vec::new(),
            ghost: Vec::new(),
            slots: slots as usize,
            evicted: false,
            from_ghost: false,
        })
    });
}
