//! No policy can do better than the least sum of turnaround times.

use proptest::prelude::*;
use schedlab_policies::schedulers::{All, SCHEDULERS};
use schedlab_testing::schedulers::{
    batch::{batch, jobs, least, turnarounds},
    cases,
};

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn no_policy_has_a_smaller_mean_turnaround_than_the_least_there_can_be(jobs in jobs()) {
        let least = least(&jobs);
        for policy in SCHEDULERS {
            let sum = turnarounds(&batch::<All>(policy.name, &jobs), &jobs);
            prop_assert!(least <= sum, "{}: {sum} us against {least}", policy.name);
        }
    }
}
