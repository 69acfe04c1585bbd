//! Policies from outside of schedlab, held to the tests of its own.

mod stack {
    schedlab_testing::test_scheduler!(own_policies::stack::Stack);
}

mod smallest_first {
    schedlab_testing::test_elevator!(own_policies::smallest_first::SmallestFirst);
}

mod random_two {
    schedlab_testing::test_cache!(own_policies::random_two::RandomTwo);
}
