//! Random groups, with and without quotas.

use proptest::prelude::*;
use serde_json::{Value, json};

/// A group and one in it; in about half of the scenarios neither has a quota.
pub fn groups() -> impl Strategy<Value = Value> {
    let limited = (group(None), group(Some("some"))).prop_map(|(some, inner)| json!({ "some": some, "inner": inner }));
    prop_oneof![Just(json!({ "some": { "weight": 300 }, "inner": { "parent": "some" } })), limited]
}

/// A group of that parent. Its quota, if it has any, is a twentieth of a processor or more.
pub fn group(parent: Option<&'static str>) -> impl Strategy<Value = Value> {
    let quota = (1_000..40_000u64, 50..1500u64, prop::option::weighted(0.3, 0..=100u64));
    (prop::sample::select(vec![300, 1024, 3000]), prop::option::weighted(0.8, quota)).prop_map(
        move |(weight, quota)| {
            let mut group = json!({ "weight": weight });
            parent.into_iter().for_each(|parent| group["parent"] = json!(parent));
            if let Some((period, share, burst)) = quota {
                let quota = period * share / 1000;
                (group["quota"], group["period"]) = (json!(format!("{quota}us")), json!(format!("{period}us")));
                burst.into_iter().for_each(|part| group["burst"] = json!(format!("{}us", quota * part / 100)));
            }
            group
        },
    )
}
