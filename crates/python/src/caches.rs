//! Eviction policies over traces of requests: a trace in, its keys as numbers out; the numbers and a plan in, one Arrow
//! stream out. Columns: `policy`, `size` (as written), `slots`, `group` (the sample; null for the whole trace), `requests` (of the
//! trace or the sample), `misses` (of them), `miss_ratio` (of the whole trace, estimated where a sample was taken).

use crate::{
    batch::{on_threads, stream},
    from_json, json,
};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::ArrowError;
use schedlab_curves::{
    choice::{self, Choice},
    curve::{self, Plan, Row},
    sample::Sampling,
    sizes::Sizes,
};
use schedlab_traces::requests;
use serde::Deserialize;
use serde_json::json;
use std::{path::Path, sync::Arc};

/// What the user wants to be run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wishes {
    policies: String,
    sizes: String,
    /// Rate of the samples; the whole trace if not given.
    sample: Option<f64>,
    /// For the choice of samples and for policies that draw lots.
    #[serde(default)]
    seed: u64,
    #[serde(default = "yes")]
    one_pass: bool,
}

fn yes() -> bool {
    true
}

impl Wishes {
    fn checked(&self) -> Result<(Vec<Choice>, Sizes, Option<Sampling>), String> {
        let sampling = self.sample.map(|rate| Sampling::new(rate, self.seed)).transpose()?;
        Ok((choice::read(&self.policies)?, Sizes::read(&self.sizes)?, sampling))
    }
}

/// Which trace the user wants to be read, and how.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    format: Option<String>,
    columns: Option<String>,
    #[serde(default)]
    operations: Vec<String>,
    first: Option<u64>,
}

/// Checks wishes before a long trace is read. Gives the policies one by one, the number of sizes (for a large trace)
/// and that of samples.
pub fn check(plan_json: &str) -> Result<String, String> {
    let (policies, sizes, sampling) = from_json::<Wishes>("plan", plan_json)?.checked()?;
    let labels: Vec<String> = policies.into_iter().map(|choice| choice.label).collect();
    let samples = sampling.map(|sampling| sampling.groups);
    json(&json!({ "policies": labels, "sizes": sizes.of(u32::MAX).len(), "samples": samples }))
}

/// Reads and numbers a trace.
pub fn read(path: &Path, wanted_json: &str) -> Result<(Vec<u32>, String), String> {
    let Wanted { format, columns, operations, first } = from_json("wanted", wanted_json)?;
    let wanted = requests::Wanted { format, columns, operations, first };
    let read = requests::read(path, &wanted).map_err(|problem| problem.to_string())?;
    let (smallest, largest) = read.sizes.unzip();
    let told = json!({
        "format": read.format,
        "requests": read.keys.len(),
        "objects": read.objects,
        "smallest_bytes": smallest,
        "largest_bytes": largest,
    });
    Ok((read.keys, json(&told)?))
}

/// Runs a plan over the numbers that `read` gave, on so many threads.
pub fn curves(keys: &[u8], objects: u32, plan_json: &str, threads: usize) -> Result<Vec<u8>, String> {
    let keys: &[u32] = bytemuck::try_cast_slice(keys).map_err(|why| format!("keys: {why}; wanted what was read"))?;
    let wishes: Wishes = from_json("plan", plan_json)?;
    let (policies, sizes, sampling) = wishes.checked()?;
    let Wishes { seed, one_pass, .. } = wishes;
    let plan = Plan { policies, sizes: sizes.of(objects), sampling, seed, one_pass };
    let rows = on_threads(threads, || curve::run(keys, objects, &plan))??;
    stream(table(&plan, &rows)).map_err(|why| why.to_string())
}

fn table(plan: &Plan, rows: &[Row]) -> Result<RecordBatch, ArrowError> {
    let text = |of: fn(&Plan, &Row) -> String| rows.iter().map(|row| Some(of(plan, row))).collect::<StringArray>();
    let number = |of: fn(&Row) -> u64| rows.iter().map(of).collect::<UInt64Array>();
    let columns: [(&str, ArrayRef); 7] = [
        ("policy", Arc::new(text(|plan, row| plan.policies[row.policy].label.clone()))),
        ("size", Arc::new(text(|plan, row| plan.sizes[row.size].label.clone()))),
        ("slots", Arc::new(rows.iter().map(|row| plan.sizes[row.size].slots).collect::<UInt32Array>())),
        ("group", Arc::new(rows.iter().map(|row| row.group).collect::<UInt32Array>())),
        ("requests", Arc::new(number(|row| row.requests))),
        ("misses", Arc::new(number(|row| row.misses))),
        ("miss_ratio", Arc::new(rows.iter().map(|row| row.miss_ratio).collect::<Float64Array>())),
    ];
    RecordBatch::try_from_iter(columns)
}
