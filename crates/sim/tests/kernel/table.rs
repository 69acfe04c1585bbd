//! What holds for the table of policies as a whole; what holds for each of them is tested in a file of its name next to this folder.

use proptest::prelude::*;
use schedlab_policies::schedulers::{All, SCHEDULERS};
use schedlab_sim::run_batch;
use schedlab_testing::schedulers::{Programs, Written, any_scenario, cases, run_audited};
use std::{collections::BTreeSet, fs, path::Path};

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
