//! Curves of every policy of the table: the laws that hold for all, and how far samples may be believed.

use proptest::prelude::*;
use schedlab_curves::{
    choice,
    curve::{Plan, Row, run},
    sample::Sampling,
    sizes::Sizes,
};
use schedlab_model::rng::Rng;
use schedlab_policies::caches::CACHES;

fn plan(policies: &str, sizes: &str, objects: u32) -> Plan {
    Plan {
        policies: choice::read(policies).unwrap(),
        sizes: Sizes::read(sizes, false).unwrap().of(objects.into()),
        sampling: None,
        seed: 1,
        one_pass: true,
    }
}

/// Objects requested with a weight of nearly 1 / (1 + rank): half of the requests go to a hundredth of the objects.
fn skewed(requests: usize, objects: u32, seed: u64) -> (Vec<u32>, u32) {
    let mut rng = Rng::stream(seed, 0);
    let scale = f64::from(objects + 1).ln();
    let mut draw = || ((rng.below(1 << 40) as f64 / (1u64 << 40) as f64 * scale).exp() - 1.0) as u32;
    let drawn: Vec<u32> = (0..requests).map(|_| draw().min(objects - 1)).collect();
    let mut numbers = vec![u32::MAX; objects as usize];
    let mut met = 0;
    let keys = drawn.into_iter().map(|rank| {
        let number = &mut numbers[rank as usize];
        if *number == u32::MAX {
            *number = met;
            met += 1;
        }
        *number
    });
    let keys = keys.collect();
    (keys, met)
}

fn misses(rows: &[Row]) -> Vec<u64> {
    rows.iter().map(|row| row.misses).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_policy_misses_at_least_once_for_each_object_and_nothing_is_evicted_from_a_large_cache(
        keys in prop::collection::vec(0..20u32, 1..300)
    ) {
        let met = keys.iter().collect::<std::collections::BTreeSet<_>>().len() as u64;
        for row in run(&keys, 20, &plan("all", "1,2,5,19,20,1000", 20)).unwrap() {
            prop_assert!((met..=keys.len() as u64).contains(&row.misses));
            if row.size >= 4 {
                prop_assert_eq!(row.misses, met);
            }
            prop_assert_eq!(row.miss_ratio, row.misses as f64 / keys.len() as f64);
        }
    }

    /// Checks the promise of a policy with `STACK`: that it keeps what LRU keeps.
    #[test]
    fn one_pass_gives_what_a_run_for_each_size_gives(keys in prop::collection::vec(0..30u32, 1..400)) {
        let quick = plan("all", "1,2,3,7,15,29,30", 30);
        let slow = Plan { one_pass: false, ..quick.clone() };
        prop_assert_eq!(run(&keys, 30, &quick).unwrap(), run(&keys, 30, &slow).unwrap());
    }
}

#[test]
fn one_pass_is_the_same_over_a_long_trace() {
    let (keys, objects) = skewed(200_000, 20_000, 3);
    let quick = plan("lru", "1..10000:12", objects);
    let slow = Plan { one_pass: false, ..quick.clone() };
    assert_eq!(run(&keys, objects, &quick), run(&keys, objects, &slow));
}

#[test]
fn rows_do_not_depend_on_the_number_of_threads() {
    let (keys, objects) = skewed(20_000, 3000, 5);
    let mut plan = plan("all", "100,300,1000", objects);
    for sampling in [None, Some(Sampling::new(0.4, 0).unwrap())] {
        plan.sampling = sampling;
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run(&keys, objects, &plan).unwrap())
        };
        assert_eq!(with(1), with(3));
    }
}

#[test]
fn a_known_curve_comes_out() {
    // Three objects in a loop, then one that is requested once.
    let keys = [0, 1, 2, 0, 1, 2, 0, 1, 2, 3];
    assert_eq!(misses(&run(&keys, 4, &plan("lru", "1,2,3,4", 4)).unwrap()), [10, 10, 4, 4]);
}

#[test]
fn what_cannot_be_sampled_is_refused() {
    let keys: Vec<u32> = (0..1000).collect();
    let sampled = |sizes, rate| {
        let sampling = Some(Sampling::new(rate, 0).unwrap());
        run(&keys, 1000, &Plan { sampling, ..plan("lru", sizes, 1000) }).unwrap_err()
    };
    assert!(sampled("10", 0.1).contains("10 has 1 slots in a sample of 0.1"));
    assert!(sampled("1000000", 0.0001).contains("is empty"));
    assert!(run(&keys, 999, &plan("lru", "10", 999)).unwrap_err().contains("not below 999"));
}

/// Mean and half of the 95 % interval of the mean of eight values; Student's t with seven degrees of freedom is 2.3646.
fn interval(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    assert_eq!(values.len(), 8);
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, 2.3646 * (variance / n).sqrt())
}

/// How many of the intervals from that many samplings hold the exact miss ratio, and of how many.
fn held(policies: &str, sizes: &str, rate: f64, salts: u64) -> (u32, u32) {
    let (keys, objects) = skewed(300_000, 60_000, 11);
    let exact = plan(policies, sizes, objects);
    let truth: Vec<f64> = run(&keys, objects, &exact).unwrap().iter().map(|row| row.miss_ratio).collect();
    let (mut held, mut all) = (0, 0);
    for salt in 0..salts {
        let sampled = Plan { sampling: Some(Sampling::new(rate, salt).unwrap()), ..exact.clone() };
        for (estimates, truth) in run(&keys, objects, &sampled).unwrap().chunks(8).zip(&truth) {
            let ratios: Vec<f64> = estimates.iter().map(|row| row.miss_ratio).collect();
            let (mean, half) = interval(&ratios);
            held += u32::from((mean - truth).abs() <= half);
            all += 1;
        }
    }
    (held, all)
}

#[test]
fn the_interval_of_a_sample_holds_the_exact_miss_ratio_as_often_as_it_says() {
    // Of a small part of the objects, and of two fifths: there the interval is wider than necessary.
    for (sizes, rate) in [("20%,50%", 0.005), ("2%,10%,40%", 0.05)] {
        let (held, all) = held("lru", sizes, rate, 60);
        println!("{held} of {all} intervals of a sample of {rate} hold the exact miss ratio");
        // The sizes share their samples: 60 independent draws, of which 95 % less 3 standard deviations are 86.6 %.
        assert!(f64::from(held) >= 0.866 * f64::from(all), "{held} of {all}");
    }
}

#[test]
fn intervals_hold_for_every_policy_whose_small_cache_behaves_as_its_large_one() {
    // MRU keeps what came first for good, and changes one slot: how it treats that one is no matter of scale.
    let unlike = ["mru"];
    for info in CACHES.iter().filter(|info| !unlike.contains(&info.name)) {
        let (held, all) = held(info.name, "10%,40%", 0.05, 10);
        println!("{}: {held} of {all}", info.name);
        // Ten independent draws: 95 % less 3 standard deviations are 74 %.
        assert!(f64::from(held) >= 0.74 * f64::from(all), "{}: {held} of {all}", info.name);
    }
}
