//! What holds for the table of policies as a whole; what holds for each of them is tested in a file of its name next to this folder.

use proptest::prelude::*;
use schedlab_model::{event::Event, scenario::Choice};
use schedlab_policies::schedulers::{All, Cfs, Fifo, Minix, SCHEDULERS, Ule};
use schedlab_sim::{observe, run_batch};
use schedlab_testing::schedulers::{Programs, Written, any_scenario, cases, run_audited};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

#[test]
fn every_policy_has_a_file_of_tests_that_holds_it_to_its_laws() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let of = |name: &str| {
        let places = [folder.join(format!("{name}.rs")), folder.join(name).join("main.rs")];
        places.iter().find_map(|path| fs::read_to_string(path).ok())
    };
    for info in SCHEDULERS {
        let text = of(info.name).unwrap_or_else(|| panic!("crates/sim/tests/{}.rs is missing", info.name));
        assert!(
            text.contains("schedlab_testing::test_scheduler!("),
            "the tests of {} do not hold it to its laws",
            info.name
        );
    }
}

#[test]
fn no_name_is_in_the_table_twice() {
    let names: BTreeSet<&str> = SCHEDULERS.iter().map(|info| info.name).collect();
    assert_eq!(names.len(), SCHEDULERS.len());
}

/// Policies that differ in what they want of the loop.
type Few = (Fifo, (Minix, (Cfs, Ule)));

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_kernel_with_one_loop_makes_the_same_events(
        Written(scenario) in any_scenario(Programs::Wild), seed in any::<u64>(), which in 0..4usize,
    ) {
        let mut scenario = scenario;
        let name = ["fifo", "minix", "cfs", "ule"][which].to_owned();
        prop_assume!(name != "minix" || scenario.machine.processors.get() == 1);
        scenario.scheduler = Choice { name, settings: BTreeMap::new() };
        // Every kernel that keeps events for these tests has one.
        let one = run_audited::<Few>(&scenario, seed);
        let mut two = Vec::<Event>::new();
        let end = observe::<Few, _>(&scenario, seed, &mut two).unwrap();
        prop_assert_eq!(one.end, end);
        prop_assert_eq!(one.events, two);
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn results_are_the_same_on_one_thread_and_on_two(
        written in prop::collection::vec((any_scenario(Programs::Wild), any::<u64>()), 8),
    ) {
        let runs: Vec<_> = written.into_iter().map(|(Written(scenario), seed)| (scenario, seed)).collect();
        let alone: Vec<_> = runs.iter().map(|(scenario, seed)| run_audited::<All>(scenario, *seed).report.rows).collect();
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let reports = pool.install(|| run_batch::<All>(&runs));
            prop_assert_eq!(&alone, &reports.into_iter().map(|report| report.unwrap().rows).collect::<Vec<_>>());
        }
    }
}
