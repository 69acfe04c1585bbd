//! The staircase deadline scheduler against the figures that its design gives.

use crate::audited::{Run, run, scenario};

#[track_caller]
fn rsdl(settings: &str, duration: &str, workload: &str) -> Run {
    run(&scenario(&format!("machine = {{ preset = \"uniform\", clock = {{ hz = \"1000/s\" }} }}\nscheduler = {{ name = \"rsdl\", {settings} }}\nduration = \"{duration}\"\n{workload}")), 1)
}

#[test]
fn explore() {
    for n in [0, 1, 5, 10, 19, -5, -10, -20] {
        let r = rsdl("", "60s", &format!(r#"
        workload.a = {{ load = "spin", passes = "forever" }}
        workload.b = {{ load = "spin", passes = "forever", nice = {n} }}
        "#));
        println!("{n} {}", r.get("tasks.a.share"));
    }
    for s in ["", "rr_interval = \"20ms\"", "interactive = true"] {
        for n in [1, 2, 4, 8] {
            let r = rsdl(s, "200s", &format!(r#"
            workload.hog = {{ load = "spin", passes = "forever", count = {n} }}
            workload.s10 = {{ steps = [{{ compute = "1ms" }}, {{ sleep = {{ uniform = ["7ms", "11ms"] }} }}], passes = "forever" }}
            "#));
            let l = |q: &str| 1000.0 * r.get(&format!("tasks.s10.wakeup_latency.{q}"));
            println!("{s} N={n} {:.2} / {:.2} / {:.2} / {:.2} share {}", l("mean"), l("p50"), l("p90"), l("p99"), r.get("tasks.s10.share"));
        }
    }
    for rr in [8, 20] {
      for policy in ["batch", "other"] {
            let r = rsdl(&format!("rr_interval = \"{rr}ms\""), "100s", &format!(r#"
            workload.hog = {{ load = "spin", passes = "forever", count = 2, nice = 5, policy = "{policy}" }}
            workload.s10 = {{ nice = 1, steps = [{{ compute = "1300us" }}, {{ sleep = {{ uniform = ["6700us", "10700us"] }} }}], passes = "forever" }}
            "#));
            let l = |q: &str| 1000.0 * r.get(&format!("tasks.s10.wakeup_latency.{q}"));
            println!("2007 rr {rr} {policy} {:.2} / {:.2} / {:.2} share {}", l("mean"), l("p90"), l("p99"), r.get("tasks.s10.share"));
      }
    }
}
