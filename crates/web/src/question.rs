//! What a page asks, and the answers.

use crate::{LONGEST, fault::Fault, packed, schedule::Schedule};
use schedlab_catalogue::{VERSION, experiments, json, tables};
use schedlab_model::{
    experiment::{Experiment, Files, Format, Seeds, expand_some, read_scenario, read_with},
    scenario::Scenario,
};
use schedlab_policies::schedulers::Table;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Most cells of an experiment, and most bytes of all their scenarios, about: a page shows no more, and has to hold them.
const MOST_CELLS: usize = 1000;
const MOST_BYTES: usize = 64 << 20;
/// Most points of a distribution function.
const POINTS: u32 = 200;

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Question {
    Catalog,
    Resolve(Resolve),
    Run(Run),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resolve {
    text: String,
    #[serde(default)]
    set: BTreeMap<String, String>,
    #[serde(default = "experiment")]
    label: String,
    #[serde(default = "toml")]
    format: String,
}

fn experiment() -> String {
    "experiment.toml".to_owned()
}

fn toml() -> String {
    "toml".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    scenario: Value,
    seed: u64,
    #[serde(default)]
    spans: u32,
}

/// The answer to a question, whatever it is. `T` has the schedulers that a run may have.
pub fn answer<T: Table>(question: &[u8]) -> Vec<u8> {
    asked::<T>(question).unwrap_or_else(|fault| fault.answer())
}

fn asked<T: Table>(question: &[u8]) -> Result<Vec<u8>, Fault> {
    if question.len() > LONGEST {
        return Err(format!("the question has {} bytes; at most {LONGEST}", question.len()).into());
    }
    match serde_json::from_slice(question).map_err(|why| format!("question: {why}"))? {
        Question::Catalog => Ok(catalog()),
        Question::Resolve(asked) => resolve(&asked),
        Question::Run(asked) => run::<T>(&asked),
    }
}

fn catalog() -> Vec<u8> {
    let mut all = tables::everything();
    all["version"] = json!(VERSION);
    packed(&all.to_string(), &[])
}

fn resolve(asked: &Resolve) -> Result<Vec<u8>, Fault> {
    let Resolve { text, set, label, format } = asked;
    let format = experiments::named(format, text)?;
    let set: Vec<String> = set.iter().map(|(path, value)| format!("{path}={value}")).collect();
    let (experiment, _) = read_with(text, label, format, &set, &Files::new(), &tables::SHIPPED)?;
    let most = (MOST_BYTES / json(&experiment)?.len()).clamp(1, MOST_CELLS);
    let cells = expand_some(&experiment, &tables::SHIPPED, 0..most as u64 + 1)?;
    if cells.len() > most {
        return Err(format!("{label}: sweep: a page shows at most {most} cells of it: use schedlab run").into());
    }
    let cells = cells.iter().map(|cell| json!({ "factors": cell.factors, "scenario": cell.scenario }));
    let Experiment { question, metrics, seeds, .. } = &experiment;
    let listed = if let Seeds::List(list) = seeds { Some(list) } else { None };
    let answer = json!({
        "cells": cells.collect::<Vec<_>>(),
        "question": question,
        "metrics": metrics,
        "seeds": seeds.len(),
        "listed": listed,
        "notes": experiments::notes(text),
    });
    Ok(packed(&answer.to_string(), &[]))
}

fn run<T: Table>(asked: &Run) -> Result<Vec<u8>, Fault> {
    let Run { scenario, seed, spans } = asked;
    if scenario.get("recording").is_some() {
        return Err("recording: a page opens no files: use schedlab run".to_owned().into());
    }
    let scenario = read_scenario(&scenario.to_string(), "scenario", Format::Json, &tables::SHIPPED)?;
    simulated::<T>(&scenario, *seed, *spans)
}

fn simulated<T: Table>(scenario: &Scenario, seed: u64, spans: u32) -> Result<Vec<u8>, Fault> {
    let names = schedlab_sim::names(scenario).map_err(|why| why.to_string())?;
    let mut schedule = Schedule::new(names, spans);
    let run = schedlab_sim::collect::<T, _>(scenario, seed, &mut schedule);
    let (report, collector) = run.map_err(|why| why.to_string())?;
    let waits = collector.wakeup_latencies().map(|(job, waits)| (job.to_owned(), json!(waits.shares(POINTS))));
    let answer = json!({
        "rows": report.rows.iter().map(|row| json!([row.metric, row.value, row.unit])).collect::<Vec<_>>(),
        "warnings": report.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "seeded": report.seeded,
        "elapsed": collector.end(),
        "processors": scenario.machine.processors.get(),
        "tasks": schedule.tasks(),
        "waits": waits.collect::<serde_json::Map<_, _>>(),
        "spans": schedule.begin.len(),
        "left_out": schedule.left_out,
    });
    let Schedule { begin, end, task, processor, .. } = &schedule;
    let times = [begin, end].map(|times| bytemuck::cast_slice(times));
    let [begin, end] = times;
    Ok(packed(&answer.to_string(), &[begin, end, bytemuck::cast_slice(task), bytemuck::cast_slice(processor)]))
}
