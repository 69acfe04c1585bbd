//! Conformance tests for policies: what holds for every scheduler, elevator and eviction policy, in this repository and
//! outside of it.
//!
//! A crate of your own depends on `schedlab-policies` for the traits and, for its tests, on this one:
//!
//! ```ignore
//! // tests/conformance.rs
//! schedlab_testing::test_scheduler!(my_crate::MyScheduler);
//! ```
//!
//! Each line becomes a number of `#[test]` functions. Among them are the promises that the policy makes in its entry
//! ([`Promise`](schedlab_model::info::Promise)), on fixed and on random workloads. `CASES_TIMES=50` in the environment draws
//! 50 times as many random ones. The features `schedulers` and `caches` are on by default; a crate that has
//! elevators only is built faster without.

#[cfg(feature = "caches")]
pub mod caches;
pub mod elevators;
#[cfg(feature = "schedulers")]
pub mod schedulers;

/// Tests of a [`Scheduler`](schedlab_policies::schedulers::Scheduler): once in a module.
#[cfg(feature = "schedulers")]
#[macro_export]
macro_rules! test_scheduler {
    ($policy:ty) => {
        $crate::each_law! {
            $crate::schedulers::laws, $crate::schedulers::Subject::of::<$policy>(),
            [
                the_audit_finds_nothing, no_task_is_lost, recording_changes_nothing, where_nothing_is_drawn_seeds_change_nothing,
                promises_are_kept,
            ]
        }
        $crate::each_law! {
            $crate::schedulers::quotas, $crate::schedulers::Subject::of::<$policy>(), [no_task_of_a_group_is_lost]
        }
        $crate::each_law! {
            $crate::schedulers::treatment, $crate::schedulers::Subject::of::<$policy>(),
            [
                a_change_counts_as_if_it_had_always_been, a_task_stays_where_it_is_bound,
                tasks_are_bound_and_released_from_outside,
            ]
        }
        $crate::each_law! {
            $crate::schedulers::pages, $crate::schedulers::Subject::of::<$policy>(),
            [the_entry_is_complete, the_drawn_schedule_is_what_the_simulator_draws]
        }

        #[test]
        #[ignore = "a survey of what the policy could promise, which takes minutes: --ignored --nocapture"]
        fn survey() {
            $crate::schedulers::laws::survey($crate::schedulers::Subject::of::<$policy>(), 500);
        }
    };
}

/// Tests of an [`Elevator`](schedlab_policies::elevators::Elevator): once in a module.
#[macro_export]
macro_rules! test_elevator {
    ($policy:ty) => {
        $crate::elevator_laws! {
            [$crate::each_law] $crate::elevators::laws, $crate::elevators::Subject::of::<$policy>(),
        }
    };
}

/// Tests of an [`Eviction`](schedlab_policies::caches::Eviction) policy: once in a module.
#[cfg(feature = "caches")]
#[macro_export]
macro_rules! test_cache {
    ($policy:ty) => {
        $crate::cache_laws! {
            [$crate::each_law] $crate::caches::laws, $crate::caches::Subject::of::<$policy>(),
        }
    };
}

/// The laws of elevators, passed to a macro behind its other arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! elevator_laws {
    ([$($then:tt)*] $($arguments:tt)*) => {
        $($then)*! { $($arguments)* [
            every_sector_is_served_once,
            the_same_script_gives_the_same_schedule,
            the_drive_idles_no_longer_than_promised,
            promises_are_kept,
            the_entry_is_complete,
        ] }
    };
}

/// The laws of eviction policies, likewise.
#[doc(hidden)]
#[macro_export]
macro_rules! cache_laws {
    ([$($then:tt)*] $($arguments:tt)*) => {
        $($then)*! { $($arguments)* [
            a_full_cache_finds_a_victim,
            all_slots_can_be_freed_and_filled_again,
            equal_requests_have_equal_victims,
            no_key_is_evicted_before_the_cache_is_full,
            with_one_slot_only_the_same_key_twice_is_a_hit,
            with_a_slot_for_every_key_each_is_missed_once,
            no_policy_misses_less_than_with_foresight,
            a_stack_policy_holds_what_a_smaller_cache_holds,
            the_entry_is_complete,
        ] }
    };
}

/// A test for each law of a module, over one subject.
#[doc(hidden)]
#[macro_export]
macro_rules! each_law {
    ($module:path, $subject:expr, [$($law:ident),* $(,)?]) => {
        $(
            #[test]
            fn $law() {
                use $module as laws;
                laws::$law($subject);
            }
        )*
    };
}
