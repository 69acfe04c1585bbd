//! Laws over random requests, for every policy of the table.

use crate::scripts::{Step, misses_of, names, next_uses, requests, script, store};
use schedlab_curves::store::Store;
use schedlab_model::{
    info::{Domain, Info, Params},
    rng::Rng,
};
use schedlab_policies::caches::{self, Context, Entry, Key, NOTHING, Slot, Visitor};

/// Runs a script under a policy and checks every answer; gives the victims.
struct Checked<'a> {
    slots: u32,
    given: Option<(&'static str, String)>,
    script: &'a [Step],
    seed: u64,
}

impl Visitor for Checked<'_> {
    type Output = Vec<Key>;

    fn visit<E: Entry>(self) -> Vec<Key> {
        let params = Params::check(&E::INFO, self.given.clone()).expect("within its domain");
        let mut policy = E::new(&params, self.slots);
        let mut keys = vec![NOTHING; self.slots as usize];
        let mut rng = Rng::stream(self.seed, 0);
        let mut victims = Vec::new();
        for (now, &step) in (1..).zip(self.script) {
            let (Step::Ask(key) | Step::Delete(key)) = step;
            let held = keys.iter().position(|&other| other == key).map(|slot| slot as Slot);
            let mut cx = Context { now, keys: &keys, next_use: u64::MAX, rng: &mut rng };
            match (step, held) {
                (Step::Ask(_), Some(slot)) => policy.hit(&mut cx, slot),
                (Step::Ask(_), None) => {
                    let free = keys.iter().position(|&other| other == NOTHING).map(|slot| slot as Slot);
                    let slot = free.unwrap_or_else(|| {
                        let slot = policy.victim(&mut cx, key);
                        assert!(slot < self.slots, "{}: there is no slot {slot}", E::INFO.name);
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
}

fn checked(name: &str, slots: u32, given: Option<(&'static str, String)>, script: &[Step], seed: u64) -> Vec<Key> {
    caches::visit(name, Checked { slots, given, script, seed }).expect("a name of the table")
}

/// The least and the greatest value of each parameter, and none given.
fn extremes(info: &Info) -> Vec<Option<(&'static str, String)>> {
    let ends = info.parameters.iter().flat_map(|parameter| {
        let values = match parameter.domain {
            Domain::Count { low, high } => vec![low.to_string(), high.to_string()],
            Domain::Switch => vec!["false".to_owned(), "true".to_owned()],
            other => panic!("{}: how large is {other:?}?", parameter.name),
        };
        values.into_iter().map(|value| Some((parameter.name, value)))
    });
    ends.chain([None]).collect()
}

#[test]
fn whatever_is_deleted_a_full_cache_finds_a_victim() {
    for info in caches::CACHES {
        for given in extremes(info) {
            for (seed, slots) in [(1, 1), (2, 2), (3, 3), (4, 10), (5, 33)] {
                for deletions in [0, 3, 20] {
                    checked(info.name, slots, given.clone(), &script(seed, 2000, 3 * slots + 2, deletions), 1);
                }
            }
        }
    }
}

#[test]
fn all_slots_can_be_freed_and_filled_again() {
    let fill = |from| (from..from + 8).map(Step::Ask);
    let empty = |from| (from..from + 8).map(Step::Delete);
    let script: Vec<Step> = fill(0).chain(empty(0)).chain(fill(10)).chain(empty(10)).chain(fill(0)).collect();
    for name in names() {
        assert!(checked(name, 8, None, &script, 1).is_empty(), "{name}: nobody has to leave");
    }
}

#[test]
fn equal_requests_have_equal_victims() {
    let script = script(9, 3000, 60, 50);
    for name in names() {
        assert_eq!(checked(name, 20, None, &script, 5), checked(name, 20, None, &script, 5), "{name}");
    }
}

#[test]
fn a_cache_is_filled_before_anybody_leaves_and_a_hit_moves_nobody() {
    struct Fills;
    impl Visitor for Fills {
        type Output = ();
        fn visit<E: Entry>(self) {
            let mut store = store::<E>(12, 40);
            let holding = |store: &Store<E>| (0..40).map(|key| store.holds(key)).collect::<Vec<bool>>();
            for key in requests(11, 2000, 40) {
                let before = holding(&store);
                let held = store.held();
                let hit = store.request(key, u64::MAX);
                let name = E::INFO.name;
                assert_eq!(hit, before[key as usize], "{name}");
                assert!(store.holds(key), "{name} admits everything");
                assert_eq!(store.held(), if hit { held } else { 12.min(held + 1) }, "{name}");
                assert!(!hit || before == holding(&store), "{name}");
            }
        }
    }
    for name in names() {
        caches::visit(name, Fills);
    }
}

#[test]
fn with_one_slot_only_the_same_key_twice_is_a_hit() {
    let asked = requests(21, 2000, 5);
    let changes = 1 + asked.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
    for name in names() {
        assert_eq!(misses_of(name, 1, &asked), changes, "{name}");
    }
}

#[test]
fn with_a_slot_for_every_key_each_is_missed_once() {
    let asked = requests(22, 2000, 50);
    let mut distinct = asked.clone();
    distinct.sort_unstable();
    distinct.dedup();
    for name in names() {
        assert_eq!(misses_of(name, 50, &asked), distinct.len() as u64, "{name}");
    }
}

#[test]
fn nobody_misses_less_than_with_foresight() {
    for seed in 0..40 {
        let asked = requests(seed, 1000, 40);
        for slots in [2, 5, 13, 30] {
            let fewest = misses_of("belady", slots, &asked);
            for name in names() {
                let misses = misses_of(name, slots, &asked);
                assert!(misses >= fewest, "{name} misses {misses} with {slots} slots, belady {fewest} (seed {seed})");
            }
        }
    }
}

#[test]
fn a_larger_cache_of_a_stack_policy_holds_what_a_smaller_one_holds() {
    struct Inclusion;
    impl Visitor for Inclusion {
        type Output = bool;
        fn visit<E: Entry>(self) -> bool {
            let asked = requests(31, 3000, 60);
            let next = next_uses(&asked);
            let mut stores: Vec<Store<E>> = (1..=40).map(|slots| store(slots, 60)).collect();
            for (&key, &next) in asked.iter().zip(&next) {
                for store in &mut stores {
                    store.request(key, next);
                }
                if !stores.windows(2).all(|pair| (0..60).all(|key| !pair[0].holds(key) || pair[1].holds(key))) {
                    return false;
                }
            }
            true
        }
    }
    struct IsStack;
    impl Visitor for IsStack {
        type Output = bool;
        fn visit<E: Entry>(self) -> bool {
            E::STACK
        }
    }
    let stacks: Vec<&str> = names().filter(|name| caches::visit(name, IsStack) == Some(true)).collect();
    assert_eq!(stacks, ["lru"]);
    for name in stacks {
        assert_eq!(caches::visit(name, Inclusion), Some(true), "{name}");
    }
    assert_eq!(caches::visit("fifo", Inclusion), Some(false), "the check can fail");
}

#[test]
fn more_slots_can_mean_more_misses_under_fifo_and_never_under_lru() {
    let asked = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5];
    assert_eq!([3, 4].map(|slots| misses_of("fifo", slots, &asked)), [9, 10]);
    for seed in 0..20 {
        let asked = requests(seed, 500, 12);
        let by_slots: Vec<u64> = (1..12).map(|slots| misses_of("lru", slots, &asked)).collect();
        assert!(by_slots.is_sorted_by(|fewer, more| fewer >= more), "{by_slots:?}");
    }
}

#[test]
fn a_scan_costs_those_that_resist_it_no_hit() {
    // Ten favourites asked for twice, then keys asked for once each, then the favourites again; 40 slots.
    let favourites = || (0..10).chain(0..10).chain(0..10);
    let asked: Vec<Key> = favourites().chain(100..1000).chain(favourites()).collect();
    let resists = |name: &&str| misses_of(name, 40, &asked) == 10 + 900;
    let resistant: Vec<&str> = names().filter(resists).collect();
    assert_eq!(resistant, ["two_list", "mru", "lfu", "arc", "lirs", "s3_fifo", "sieve", "belady"]);
}
