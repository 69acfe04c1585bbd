//! Many runs in parallel, as one Arrow stream. Columns: `run` (index in the batch), `metric`, `unit`, `value`, `warning`, `seeded`.
//! A row has either a number or a warning; the columns of the other are null. `seeded` is false where the run drew no random
//! number: it is the same under every seed.

use crate::{from_json, work::loaded};
use arrow_array::{
    RecordBatch,
    builder::{BooleanBuilder, Float64Builder, StringBuilder, UInt32Builder},
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use rayon::prelude::*;
use schedlab_metrics::Report;
use schedlab_model::scenario::Scenario;
use serde::Deserialize;
use std::sync::Arc;

/// More threads than this gain nothing.
pub(crate) const MOST_THREADS: usize = 1024;

/// A scenario and a seed.
#[derive(Deserialize)]
pub(crate) struct Run {
    pub scenario: Scenario,
    pub seed: u64,
}

/// Runs a JSON list of runs (scenario and seed); the bytes do not depend on the number of threads.
pub fn run(runs_json: &str, threads: usize) -> Result<Vec<u8>, String> {
    let runs: Vec<Run> = from_json("runs", runs_json)?;
    let runs: Vec<(Scenario, u64)> =
        runs.into_iter().map(|run| Ok((loaded(run.scenario)?, run.seed))).collect::<Result<_, String>>()?;
    let reports = on_threads(threads, || -> Result<Vec<Report>, _> {
        runs.par_iter().map(|(scenario, seed)| schedlab_runs::run(scenario, *seed)).collect()
    })?;
    let reports = reports.map_err(|why| why.to_string())?;
    stream(table((0..).zip(&reports))).map_err(|why| why.to_string())
}

/// Does `work` in a pool of `threads` threads.
pub(crate) fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T, String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.clamp(1, MOST_THREADS)).build();
    Ok(pool.map_err(|why| why.to_string())?.install(work))
}

/// A table as bytes.
pub(crate) fn stream(table: Result<RecordBatch, ArrowError>) -> Result<Vec<u8>, ArrowError> {
    let batch = table?;
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(&batch)?;
    writer.into_inner()
}

/// The rows of runs, each with its number.
pub(crate) fn table<'a>(reports: impl Iterator<Item = (u32, &'a Report)>) -> Result<RecordBatch, ArrowError> {
    let mut runs = UInt32Builder::new();
    let (mut metrics, mut units, mut warnings) = (StringBuilder::new(), StringBuilder::new(), StringBuilder::new());
    let (mut values, mut seeded) = (Float64Builder::new(), BooleanBuilder::new());
    for (run, report) in reports {
        seeded.append_n(report.rows.len() + report.warnings.len(), report.seeded);
        for row in &report.rows {
            runs.append_value(run);
            metrics.append_value(&row.metric);
            units.append_value(row.unit);
            values.append_value(row.value);
            warnings.append_null();
        }
        for warning in &report.warnings {
            runs.append_value(run);
            metrics.append_option(warning.metric.as_deref());
            units.append_null();
            values.append_null();
            warnings.append_value(warning.to_string());
        }
    }
    let schema = Schema::new(vec![
        Field::new("run", DataType::UInt32, false),
        Field::new("metric", DataType::Utf8, true),
        Field::new("unit", DataType::Utf8, true),
        Field::new("value", DataType::Float64, true),
        Field::new("warning", DataType::Utf8, true),
        Field::new("seeded", DataType::Boolean, false),
    ]);
    RecordBatch::try_new(
        Arc::new(schema),
        vec![
            Arc::new(runs.finish()),
            Arc::new(metrics.finish()),
            Arc::new(units.finish()),
            Arc::new(values.finish()),
            Arc::new(warnings.finish()),
            Arc::new(seeded.finish()),
        ],
    )
}
