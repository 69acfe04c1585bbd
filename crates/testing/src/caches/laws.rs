//! What every eviction policy must do, over random requests, and what its page must show.

use super::{
    scripts::{Step, next_uses, requests, script},
    subject::{Cache, Run, Subject},
};
use schedlab_model::info::{Domain, Info};
use schedlab_policies::caches::{Belady, Key};

/// The least and the greatest value of each parameter, and none given.
fn extremes(info: &Info) -> Vec<Option<(&'static str, String)>> {
    let ends = info.parameters.iter().flat_map(|parameter| {
        let values = match parameter.domain {
            Domain::Count { low, high } => vec![low.to_string(), high.to_string()],
            Domain::Switch => vec!["false".to_owned(), "true".to_owned()],
            other => panic!("{}: {other:?} has no extremes here", parameter.name),
        };
        values.into_iter().map(|value| Some((parameter.name, value)))
    });
    ends.chain([None]).collect()
}

/// Whatever was deleted before, and with parameters at the ends of their domains.
#[track_caller]
pub fn a_full_cache_finds_a_victim(subject: Subject) {
    for given in extremes(subject.info) {
        for (seed, slots) in [(1, 1), (2, 2), (3, 3), (4, 10), (5, 33)] {
            for deletions in [0, 3, 20] {
                let script = &script(seed, 2000, 3 * slots + 2, deletions);
                subject.checked(Run { slots, given: given.clone(), script, seed: 1 });
            }
        }
    }
}

/// While there is a free slot, no key is evicted.
#[track_caller]
pub fn all_slots_can_be_freed_and_filled_again(subject: Subject) {
    let fill = |from| (from..from + 8).map(Step::Ask);
    let empty = |from| (from..from + 8).map(Step::Delete);
    let script: Vec<Step> = fill(0).chain(empty(0)).chain(fill(10)).chain(empty(10)).chain(fill(0)).collect();
    let victims = subject.checked(Run { slots: 8, given: None, script: &script, seed: 1 });
    assert!(victims.is_empty(), "{} evicts {victims:?}", subject.info.name);
}

/// The same requests and the same seed give the same victims.
#[track_caller]
pub fn equal_requests_have_equal_victims(subject: Subject) {
    let script = &script(9, 3000, 60, 50);
    let [one, two] = [(); 2].map(|()| subject.checked(Run { slots: 20, given: None, script, seed: 5 }));
    assert_eq!(one, two, "{}", subject.info.name);
}

/// A missed key is admitted, to a free slot if there is one; a hit evicts nothing.
#[track_caller]
pub fn no_key_is_evicted_before_the_cache_is_full(subject: Subject) {
    let name = subject.info.name;
    let mut cache = subject.cache(12, 40);
    let holding = |cache: &dyn Cache| (0..40).map(|key| cache.holds(key)).collect::<Vec<bool>>();
    for key in requests(11, 2000, 40) {
        let before = holding(&*cache);
        let held = cache.held();
        let hit = cache.request(key, u64::MAX);
        assert_eq!(hit, before[key as usize], "{name}");
        assert!(cache.holds(key), "{name} does not admit {key}");
        assert_eq!(cache.held(), if hit { held } else { 12.min(held + 1) }, "{name}");
        assert!(!hit || before == holding(&*cache), "{name}");
    }
}

/// One slot leaves no choice.
#[track_caller]
pub fn with_one_slot_only_the_same_key_twice_is_a_hit(subject: Subject) {
    let asked = requests(21, 2000, 5);
    let changes = 1 + asked.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
    assert_eq!(subject.misses(1, &asked), changes, "{}", subject.info.name);
}

/// Nor do slots enough.
#[track_caller]
pub fn with_a_slot_for_every_key_each_is_missed_once(subject: Subject) {
    let asked = requests(22, 2000, 50);
    let mut distinct = asked.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(subject.misses(50, &asked), distinct.len() as u64, "{}", subject.info.name);
}

/// Belady's policy is the bound.
#[track_caller]
pub fn no_policy_misses_less_than_with_foresight(subject: Subject) {
    let belady = Subject::of::<Belady>();
    for seed in 0..40 {
        let asked = requests(seed, 1000, 40);
        for slots in [2, 5, 13, 30] {
            let (misses, fewest) = (subject.misses(slots, &asked), belady.misses(slots, &asked));
            let name = subject.info.name;
            assert!(misses >= fewest, "{name} misses {misses} with {slots} slots, belady {fewest} (seed {seed})");
        }
    }
}

/// If it claims to be one ([`Entry::STACK`](schedlab_policies::caches::Entry::STACK)).
#[track_caller]
pub fn a_stack_policy_holds_what_a_smaller_cache_holds(subject: Subject) {
    assert!(!subject.stack || includes_smaller_caches(subject), "{} is no stack policy", subject.info.name);
}

/// Whether caches of 1 to 40 slots each hold all that the next smaller one holds, throughout a long script.
pub fn includes_smaller_caches(subject: Subject) -> bool {
    let asked = requests(31, 3000, 60);
    let next = next_uses(&asked);
    let mut caches: Vec<Box<dyn Cache>> = (1..=40).map(|slots| subject.cache(slots, 60)).collect();
    asked.iter().zip(&next).all(|(&key, &next)| {
        caches.iter_mut().for_each(|cache| _ = cache.request(key, next));
        caches.windows(2).all(|pair| (0..60).all(|key| !pair[0].holds(key) || pair[1].holds(key)))
    })
}

/// The page has its headings in order, and the schedule on it is what the policy does.
#[track_caller]
pub fn the_entry_is_complete(subject: Subject) {
    let info = subject.info;
    let page = info.page();
    assert!(page.starts_with(&format!("# {}\n\nPromises ", info.name)), "the page of {}", info.name);
    let headings = page.lines().filter_map(|line| line.strip_prefix("## ")).filter(|name| *name != "The formula");
    let wanted = ["The idea", "A schedule", "Cost", "Good for, not for", "Departures", "References"];
    assert_eq!(headings.collect::<Vec<_>>(), wanted, "the page of {}", info.name);

    let block = page.split("```text\n").find(|part| part.starts_with("slots ")).expect("a schedule");
    let block = block.split("```").next().expect("the block's end");
    let mut lines = block.lines();
    let slots = lines.next().and_then(|line| line.strip_prefix("slots ")).expect("slots");
    let asked = lines.next().and_then(|line| line.strip_prefix("ask ")).expect("requests");
    let asked: Vec<Key> = asked.split_whitespace().map(|key| key.parse().expect("a key")).collect();
    assert_eq!(block, draw(subject, slots.parse().expect("a number of slots"), &asked), "the page of {}", info.name);
}

fn draw(subject: Subject, slots: u32, asked: &[Key]) -> String {
    const KEYS: u32 = 10;
    let mut cache = subject.cache(slots, KEYS);
    let (mut ask, mut hits, mut out) = ("ask  ".to_owned(), "hit  ".to_owned(), "out  ".to_owned());
    for (&key, next) in asked.iter().zip(next_uses(asked)) {
        let before: Vec<Key> = (0..KEYS).filter(|&key| cache.holds(key)).collect();
        let hit = cache.request(key, next);
        let gone = before.into_iter().find(|&key| !cache.holds(key));
        ask.push_str(&format!(" {key}"));
        hits.push_str(if hit { " *" } else { " ." });
        out.push_str(&gone.map_or_else(|| " .".to_owned(), |key| format!(" {key}")));
    }
    format!("slots {slots}\n{ask}\n{hits}\n{out}\n")
}
