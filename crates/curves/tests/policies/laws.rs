//! The laws of every eviction policy, over the table; and what some of them do that others do not.

use schedlab_policies::caches::{CACHES, Key};
use schedlab_testing::caches::{
    Subject,
    laws::{self, includes_smaller_caches},
    scripts::requests,
};

fn named(name: &str) -> Subject {
    Subject::named(name).expect("a name of the table")
}

fn misses_of(name: &str, slots: u32, asked: &[Key]) -> u64 {
    named(name).misses(slots, asked)
}

macro_rules! for_every_policy {
    ([$($law:ident),* $(,)?]) => {
        $(
            #[test]
            fn $law() {
                CACHES.iter().for_each(|info| laws::$law(named(info.name)));
            }
        )*
    };
}

schedlab_testing::cache_laws!([for_every_policy]);

#[test]
fn lru_alone_is_a_stack_policy_and_the_check_can_fail() {
    let stacks: Vec<&str> = CACHES.iter().map(|info| info.name).filter(|name| named(name).stack).collect();
    assert_eq!(stacks, ["lru"]);
    assert!(!includes_smaller_caches(named("fifo")));
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
    let resistant: Vec<&str> = CACHES.iter().map(|info| info.name).filter(resists).collect();
    assert_eq!(resistant, ["two_list", "mru", "lfu", "arc", "lirs", "s3_fifo", "sieve", "belady"]);
}
