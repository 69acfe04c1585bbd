//! What is known of rows before they are appended, and which rows of a file are asked for.

use super::{Seeded, Texts};
use arrow_array::{UInt64Array, cast::AsArray, types::UInt32Type};
use arrow_ipc::reader::StreamReader;
use std::collections::HashSet;

/// Warnings, each with its run; the runs that have values; and those of the latter that are the same under every seed.
pub type About = (Vec<(u32, String)>, Vec<u32>, Vec<u32>);

/// What there is to know of a stream of `batch` before it is appended.
///
/// # Errors
/// If the stream is none of `batch`.
pub fn about(stream: &[u8]) -> Result<About, String> {
    let (mut warned, mut valued, mut unseeded) = (Vec::new(), Vec::new(), Vec::new());
    for batch in StreamReader::try_new(stream, None).map_err(|why| why.to_string())? {
        let batch = batch.map_err(|why| why.to_string())?;
        let runs = batch.column_by_name("run").and_then(|runs| runs.as_primitive_opt::<UInt32Type>());
        let (runs, texts) = (runs.ok_or("rows without run")?, Texts::of(&batch, "warning"));
        let seeded = Seeded::of(&batch);
        for place in 0..batch.num_rows() {
            match texts.at(place) {
                Some(text) => warned.push((runs.value(place), text.to_owned())),
                None if valued.last() == Some(&runs.value(place)) => {}
                None => {
                    valued.push(runs.value(place));
                    unseeded.extend((!seeded.at(place)).then(|| runs.value(place)));
                }
            }
        }
    }
    Ok((warned, valued, unseeded))
}

/// Which runs are asked for.
#[derive(Debug)]
pub struct Runs {
    scenarios: HashSet<String>,
    seeds: HashSet<u64>,
}

impl Runs {
    /// All of these scenarios with these seeds, and those that are the same under every seed.
    pub fn new(scenarios: Vec<String>, seeds: Vec<u64>) -> Runs {
        Runs { scenarios: scenarios.into_iter().collect(), seeds: seeds.into_iter().collect() }
    }

    /// Whether a run is one of these.
    pub(super) fn have(&self, scenario: &str, seed: u64, seeded: bool) -> bool {
        self.scenarios.contains(scenario) && (!seeded || self.seeds.contains(&seed))
    }

    /// For each row of a batch, whether it is of these runs; `keys` are those of its scenarios.
    pub(super) fn chosen(
        &self,
        scenarios: &Texts<'_>,
        keys: &[u32],
        seeds: &UInt64Array,
        seeded: &Seeded<'_>,
    ) -> Vec<bool> {
        let named = scenarios.each(|text| text.is_some_and(|text| self.scenarios.contains(text)));
        let mut last = (u64::MAX, self.seeds.contains(&u64::MAX));
        let asked = |(place, &seed): (usize, &u64)| {
            if last.0 != seed {
                last = (seed, self.seeds.contains(&seed));
            }
            named[keys[place] as usize] && (last.1 || !seeded.at(place))
        };
        seeds.values().iter().enumerate().map(asked).collect()
    }
}
