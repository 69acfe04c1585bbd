//! my_policy: TODO what it does, and where the expected numbers come from.

use schedlab_model::MILLISECOND;
use schedlab_policies::schedulers::MyPolicy;
use schedlab_testing::schedulers::{run, scenario};

schedlab_testing::test_scheduler!(MyPolicy);

#[test]
fn tasks_run_in_the_order_in_which_they_came() {
    let text = r#"
        machine = "uniform"
        scheduler = { name = "my_policy" }
        workload.a = { load = "spin", compute = "20ms" }
        workload.b = { load = "spin", compute = "10ms", start = "1ms" }
    "#;
    let run = run::<MyPolicy>(&scenario(text), 1);
    assert_eq!((run.order(), run.end), (vec![0, 1], 30 * MILLISECOND));
}
