//! No policy can do better than the least sum of responses.

use proptest::prelude::*;
use schedlab_policies::schedulers::{All, SCHEDULERS};
use schedlab_testing::schedulers::{
    batch::{batch, jobs, least, responses},
    cases,
};

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn no_policy_responds_sooner_on_average_than_the_least_there_can_be(jobs in jobs()) {
        let least = least(&jobs);
        for policy in SCHEDULERS {
            let sum = responses(&batch::<All>(policy.name, &jobs), &jobs);
            prop_assert!(least <= sum, "{}: {sum} us against {least}", policy.name);
        }
    }
}
