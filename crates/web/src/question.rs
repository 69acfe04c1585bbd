//! What a page asks, and the answers.

use crate::{
    LONGEST,
    fault::Fault,
    listener::Listener,
    packed,
    schedule::Schedule,
    typed::{bursts, cylinders, references},
};
use schedlab_catalogue::{VERSION, experiments, json, tables};
use schedlab_model::{
    Nanos,
    experiment::{Experiment, Files, Format, Seeds, expand_some, read_scenario, read_with},
    scenario::Scenario,
    units::Duration,
};
use schedlab_policies::schedulers::Table;
use schedlab_traces::gantt::{self, Drafting};
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
    Draw(Draw),
    References(references::References),
    Cylinders(cylinders::Cylinders),
    Bursts(bursts::Bursts),
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Draw {
    scenario: Value,
    seed: u64,
    from: Nanos,
    to: Nanos,
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
        Question::Run(asked) => simulated::<T>(&scenario(&asked.scenario)?, asked.seed, asked.spans),
        Question::Draw(asked) => draw::<T>(&asked).map(alone),
        Question::References(asked) => references::answer(&asked).map(alone),
        Question::Cylinders(asked) => cylinders::answer(&asked).map(alone),
        Question::Bursts(asked) => bursts::answer(&asked).map(alone),
    }
}

/// An answer without arrays.
fn alone(answer: Value) -> Vec<u8> {
    packed(&answer.to_string(), &[])
}

fn catalog() -> Vec<u8> {
    let mut all = tables::everything();
    all["version"] = json!(VERSION);
    alone(all)
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
    Ok(alone(answer))
}

/// A scenario that can be run.
fn scenario(asked: &Value) -> Result<Scenario, Fault> {
    if asked.get("recording").is_some() {
        return Err("recording: a page opens no files: use schedlab run".to_owned().into());
    }
    Ok(read_scenario(&asked.to_string(), "scenario", Format::Json, &tables::SHIPPED)?)
}

/// A stretch of a run, drawn. As for the command's drawing, the run ends with the stretch.
fn draw<T: Table>(asked: &Draw) -> Result<Value, Fault> {
    let &Draw { seed, from, to, .. } = asked;
    let mut scenario = scenario(&asked.scenario)?;
    scenario.duration = Some(Duration(scenario.duration.map_or(to, |duration| duration.0.min(to)).max(1)));
    let names = schedlab_sim::names(&scenario).map_err(|why| why.to_string())?;
    let mut drafting = Drafting::new(&names, from, to);
    let run = schedlab_sim::collect::<T, _>(&scenario, seed, Listener::Drawing(&mut drafting));
    let (_, collector) = run.map_err(|why| why.to_string())?;
    let chart = drafting.checked(collector.end())?;
    Ok(json!({ "svg": chart.svg(&gantt::title(&scenario, seed)) }))
}

fn simulated<T: Table>(scenario: &Scenario, seed: u64, spans: u32) -> Result<Vec<u8>, Fault> {
    let names = schedlab_sim::names(scenario).map_err(|why| why.to_string())?;
    let mut schedule = Schedule::new(names, spans);
    let run = schedlab_sim::collect::<T, _>(scenario, seed, Listener::Spans(&mut schedule));
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
