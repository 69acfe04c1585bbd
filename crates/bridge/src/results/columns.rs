//! Values of some metrics in some runs, kept as columns of numbers, so that a table takes out only the rows that it shows.

use super::{Opened, SEEDED, Seeded, Texts, Words, numbers, read::Runs, values};
use arrow_array::Array;
use std::{collections::HashSet, ops::Range, path::Path};

/// No run gives a larger value, of whatever unit: the longest time in ns has twenty digits. Sums of squares of it are numbers still.
const LARGEST: f64 = 1e100;

/// The values of a metric in the runs of a scenario: unit, seeds, values.
pub type Found = (Option<String>, Vec<u64>, Vec<Option<f64>>);

/// Values by metric. Scenarios and metrics have numbers, in the order in which they were read.
#[derive(Debug, Default)]
pub struct Columns {
    scenarios: Words,
    metrics: Words,
    columns: Vec<Column>,
}

/// The values of one metric, those of a scenario together.
#[derive(Debug)]
struct Column {
    unit: Option<String>,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    scenario: u32,
    /// Whether there is a value.
    known: bool,
    seed: u64,
    value: f64,
}

impl Columns {
    /// Adds the values that one more file has of these metrics in these runs.
    ///
    /// # Errors
    /// If it is no file of results, has a value that no run gives, a second value of a run, or two units of a metric.
    pub fn add(&mut self, path: &Path, runs: &Runs, wanted: &HashSet<String>) -> Result<(), String> {
        for batch in Opened::at(path)?.columns(&["scenario", "seed", SEEDED, "metric", "unit", "value"]) {
            let batch = batch?;
            let rows = batch.num_rows();
            let [scenarios, metrics, units] = ["scenario", "metric", "unit"].map(|name| Texts::of(&batch, name));
            let (of_scenario, of_metric) = (scenarios.keys(rows), metrics.keys(rows));
            let (seeds, read) = (numbers(&batch, "seed")?, values(&batch, "value")?);
            let chosen = runs.chosen(&scenarios, &of_scenario, seeds, &Seeded::of(&batch));
            let named = metrics.each(|name| name.is_some_and(|name| wanted.contains(name)));
            // Numbers of this batch's scenarios and metrics, given when the first value of each comes.
            let (mut at_scenario, mut at_metric) = (scenarios.each(|_| None), metrics.each(|_| None));
            for place in (0..rows).filter(|&place| named[of_metric[place] as usize] && chosen[place]) {
                let scenario = *at_scenario[of_scenario[place] as usize]
                    .get_or_insert_with(|| self.scenarios.number(scenarios.at(place).unwrap_or_default()));
                let metric = *at_metric[of_metric[place] as usize]
                    .get_or_insert_with(|| self.metrics.number(metrics.at(place).unwrap_or_default()));
                if metric as usize == self.columns.len() {
                    self.columns.push(Column { unit: units.at(place).map(str::to_owned), rows: Vec::new() });
                }
                let (known, seed, value) = (read.is_valid(place), seeds.value(place), read.value(place));
                if known && (value.is_nan() || value.abs() > LARGEST) {
                    let name = metrics.at(place).unwrap_or_default();
                    return Err(format!("{name} is {value:?} in a run of seed {seed}; no run gives that"));
                }
                let unit = units.at(place);
                if unit != self.columns[metric as usize].unit.as_deref() {
                    let name = metrics.at(place).unwrap_or_default();
                    let one = self.columns[metric as usize].unit.as_deref().unwrap_or("no unit");
                    return Err(format!(
                        "{name} is in {one} and in {}; a metric has one unit",
                        unit.unwrap_or("no unit")
                    ));
                }
                self.columns[metric as usize].rows.push(Row { scenario, known, seed, value });
            }
        }
        for (number, column) in (0..).zip(&mut self.columns) {
            column.settle();
            if let Some(seed) = column.twice() {
                let name = self.metrics.text(number);
                return Err(format!("{name} has two values in the run of seed {seed}; a run has one"));
            }
        }
        Ok(())
    }

    /// The unit of a metric, if it is known.
    pub fn unit(&self, metric: &str) -> Option<&str> {
        self.column(metric)?.unit.as_deref()
    }

    /// The values of a metric in the runs of a scenario, if there are any.
    pub fn get(&self, scenario: &str, metric: &str) -> Option<Found> {
        let column = self.column(metric)?;
        let rows = &column.rows[column.of(self.scenarios.known(scenario)?)];
        let values = || rows.iter().map(|row| row.known.then_some(row.value)).collect();
        (!rows.is_empty()).then(|| (column.unit.clone(), rows.iter().map(|row| row.seed).collect(), values()))
    }

    /// Whether a scenario has runs with a metric.
    pub fn has(&self, scenario: &str, metric: &str) -> bool {
        let column = self.column(metric).zip(self.scenarios.known(scenario));
        column.is_some_and(|(column, scenario)| !column.of(scenario).is_empty())
    }

    /// Scenario and metric of all values, scenario by scenario.
    pub fn keys(&self) -> Vec<(String, String)> {
        let scenarios = 0..self.scenarios.len();
        let all = scenarios.flat_map(|scenario| (0..self.metrics.len()).map(move |metric| (scenario, metric)));
        let there = all.filter(|&(scenario, metric)| !self.columns[metric as usize].of(scenario).is_empty());
        there
            .map(|(scenario, metric)| (self.scenarios.text(scenario).to_owned(), self.metrics.text(metric).to_owned()))
            .collect()
    }

    /// The largest of a metric's values without their signs, in all runs; none if it has no value.
    pub fn largest(&self, metric: &str) -> Option<f64> {
        let known = self.column(metric)?.rows.iter().filter(|row| row.known);
        known.map(|row| row.value.abs()).reduce(f64::max)
    }

    /// Whether no scenario has several runs with a metric.
    pub fn is_of_single_runs(&self, metric: &str) -> bool {
        let rows = self.column(metric).map_or(&[][..], |column| &column.rows);
        rows.windows(2).all(|pair| pair[0].scenario != pair[1].scenario)
    }

    fn column(&self, metric: &str) -> Option<&Column> {
        Some(&self.columns[self.metrics.known(metric)? as usize])
    }
}

impl Column {
    /// Puts the rows of a scenario that goes on in a later file, or is not in one piece, together.
    fn settle(&mut self) {
        if !self.rows.is_sorted_by_key(|row| row.scenario) {
            self.rows.sort_by_key(|row| row.scenario);
        }
    }

    /// The seed of a run that has a second row. Runs mostly come in the order of their seeds, and then nothing is sorted.
    fn twice(&self) -> Option<u64> {
        self.rows.chunk_by(|a, b| a.scenario == b.scenario).find_map(|runs| {
            if runs.is_sorted_by(|a, b| a.seed < b.seed) {
                return None;
            }
            let mut seeds: Vec<u64> = runs.iter().map(|run| run.seed).collect();
            seeds.sort_unstable();
            seeds.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
        })
    }

    fn of(&self, scenario: u32) -> Range<usize> {
        let begin = self.rows.partition_point(|row| row.scenario < scenario);
        begin..begin + self.rows[begin..].partition_point(|row| row.scenario == scenario)
    }
}
