//! Eviction policies over traces of requests: a trace in, its keys as numbers out; the numbers and a plan in, one Arrow
//! stream out. Columns: `policy`, `size` (as written), `slots`, `group` (the sample; null for the whole trace), `requests` (of the
//! trace or the sample), `misses` (of them), `miss_ratio` (of the whole trace, estimated where a sample was taken). For caches of
//! bytes `bytes` replaces `slots`, and `missed_bytes` and `byte_miss_ratio` follow.

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
    sizes::{Sizes, Unit},
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
    /// Whether sizes without a unit are bytes.
    #[serde(default)]
    bytes: bool,
    /// Rate of the samples; the whole trace if not given.
    sample: Option<f64>,
    /// For the choice of samples and for randomised policies.
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
        let (policies, sizes) = (choice::read(&self.policies)?, Sizes::read(&self.sizes, self.bytes)?);
        if sizes.unit == Unit::Objects {
            return Ok((policies, sizes, sampling));
        }
        if sampling.is_some() {
            return Err("samples are of objects: leave out the sample where bytes count".to_owned());
        }
        Ok((choice::in_bytes(policies, &self.policies)?, sizes, None))
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
    #[serde(default)]
    bytes: bool,
}

/// Checks wishes before a long trace is read. Gives the policies one by one, the number of sizes (for a large trace),
/// that of samples, and whether bytes count.
pub fn check(plan_json: &str) -> Result<String, String> {
    let (policies, sizes, sampling) = from_json::<Wishes>("plan", plan_json)?.checked()?;
    let labels: Vec<String> = policies.into_iter().map(|choice| choice.label).collect();
    let samples = sampling.map(|sampling| sampling.groups);
    let bytes = sizes.unit == Unit::Bytes;
    json(&json!({ "policies": labels, "sizes": sizes.of(u32::MAX.into()).len(), "samples": samples, "bytes": bytes }))
}

/// A numbered trace: the keys, the bytes of each request if they are wanted, and what there is to say of it.
pub type Numbered = (Vec<u32>, Option<Vec<u64>>, String);

/// Reads and numbers a trace.
pub fn read(path: &Path, wanted_json: &str) -> Result<Numbered, String> {
    let Wanted { format, columns, operations, first, bytes } = from_json("wanted", wanted_json)?;
    let wanted = requests::Wanted { format, columns, operations, first, bytes };
    let read = requests::read(path, &wanted).map_err(|problem| problem.to_string())?;
    let summary = json!({
        "format": read.format,
        "requests": read.keys.len(),
        "objects": read.objects,
        "smallest_bytes": read.sizes.map(|sizes| sizes.smallest),
        "largest_bytes": read.sizes.map(|sizes| sizes.largest),
        "object_bytes": read.sizes.map(|sizes| sizes.footprint),
        "requested_bytes": read.sizes.map(|sizes| sizes.requested),
        "left_out": read.left_out,
    });
    Ok((read.keys, read.bytes, json(&summary)?))
}

/// The keys of a trace as `read` gave them and, where bytes count, those of each request and of all objects.
pub struct Trace<'a> {
    /// The key of each request, 32 bits each.
    pub keys: &'a [u8],
    /// How many keys there are.
    pub objects: u32,
    /// The bytes of each request, 64 bits each, where they count.
    pub bytes: Option<&'a [u8]>,
    /// The bytes of all objects together, where they count.
    pub object_bytes: Option<u64>,
}

/// Runs a plan over the numbers that `read` returned, on that many threads.
pub fn curves(trace: &Trace<'_>, plan_json: &str, threads: usize) -> Result<Vec<u8>, String> {
    let Trace { keys, objects, bytes, object_bytes } = *trace;
    let keys: &[u32] = bytemuck::try_cast_slice(keys).map_err(|why| format!("keys: {why}; wanted what was read"))?;
    let wishes: Wishes = from_json("plan", plan_json)?;
    let (policies, sizes, sampling) = wishes.checked()?;
    let Wishes { seed, one_pass, .. } = wishes;
    let unit = sizes.unit;
    let (Unit::Bytes, Some(bytes), Some(all)) = (unit, bytes, object_bytes) else {
        if unit == Unit::Bytes {
            return Err("the trace was read without bytes".to_owned());
        }
        let plan = Plan { policies, sizes: sizes.of(objects.into()), sampling, seed, one_pass };
        let rows = on_threads(threads, || curve::run(keys, objects, &plan))??;
        return stream(table(&plan, &rows, unit)).map_err(|why| why.to_string());
    };
    let bytes: &[u64] = bytemuck::try_cast_slice(bytes).map_err(|why| format!("bytes: {why}; wanted what was read"))?;
    let plan = Plan { policies, sizes: sizes.of(all), sampling, seed, one_pass };
    let rows = on_threads(threads, || curve::run_in_bytes(keys, bytes, objects, &plan))??;
    stream(table(&plan, &rows, unit)).map_err(|why| why.to_string())
}

fn table(plan: &Plan, rows: &[Row], unit: Unit) -> Result<RecordBatch, ArrowError> {
    let text = |of: fn(&Plan, &Row) -> String| rows.iter().map(|row| Some(of(plan, row))).collect::<StringArray>();
    let number = |of: fn(&Row) -> u64| rows.iter().map(of).collect::<UInt64Array>();
    let room = if unit == Unit::Bytes { "bytes" } else { "slots" };
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("policy", Arc::new(text(|plan, row| plan.policies[row.policy].label.clone()))),
        ("size", Arc::new(text(|plan, row| plan.sizes[row.size].label.clone()))),
        (room, Arc::new(rows.iter().map(|row| plan.sizes[row.size].capacity).collect::<UInt64Array>())),
        ("group", Arc::new(rows.iter().map(|row| row.group).collect::<UInt32Array>())),
        ("requests", Arc::new(number(|row| row.requests))),
        ("misses", Arc::new(number(|row| row.misses))),
        ("miss_ratio", Arc::new(rows.iter().map(|row| row.miss_ratio).collect::<Float64Array>())),
    ];
    if unit == Unit::Bytes {
        let missed = rows.iter().map(|row| row.in_bytes.map(|missed| missed.bytes)).collect::<UInt64Array>();
        let ratio = rows.iter().map(|row| row.in_bytes.map(|missed| missed.ratio)).collect::<Float64Array>();
        columns.push(("missed_bytes", Arc::new(missed)));
        columns.push(("byte_miss_ratio", Arc::new(ratio)));
    }
    RecordBatch::try_from_iter(columns)
}
