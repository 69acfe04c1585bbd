//! Which runs a file of results has, and which metrics each of them has: what is asked of a file before any of its values is.

use super::{Opened, SEEDED, Seeded, Texts, Words, numbers, read::Runs};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    path::Path,
};

/// The runs of a scenario in a file: scenario, engine, the seeds, and whether the runs depend on them.
pub type Known = (String, String, Vec<u64>, bool);

/// The runs in a file, and their metrics.
#[derive(Debug, Default)]
pub struct Index {
    /// Scenario and engine, each pair once.
    made: Vec<(String, String)>,
    stretches: Vec<Stretch>,
    metrics: Words,
    /// What runs have of the metrics, by their numbers: most runs have the same.
    sets: Vec<Vec<u32>>,
}

/// Rows of one run, one behind the other. In our own files that is all of the run, unless it is read in two parts.
#[derive(Debug)]
struct Stretch {
    /// Its place in `made`.
    made: u32,
    seed: u64,
    seeded: bool,
    /// Its place in `sets`.
    metrics: u32,
}

impl Index {
    /// What a file has; no value is read.
    ///
    /// # Errors
    /// If it is no file of results.
    pub fn read(path: &Path) -> Result<Index, String> {
        let mut index = Index::default();
        let (mut made, mut sets) = (HashMap::new(), HashMap::new());
        for batch in Opened::at(path)?.columns(&["scenario", "engine", "seed", SEEDED, "metric"]) {
            let batch = batch?;
            let rows = batch.num_rows();
            let [scenarios, engines, metrics] = ["scenario", "engine", "metric"].map(|name| Texts::of(&batch, name));
            let (of_scenario, of_engine, of_metric) = (scenarios.keys(rows), engines.keys(rows), metrics.keys(rows));
            let seeds = numbers(&batch, "seed")?.values();
            let seeded = Seeded::of(&batch);
            let named = metrics.each(|name| name.map(|name| index.metrics.number(name)));
            let run = |place: usize| (of_scenario[place], of_engine[place], seeds[place]);
            let mut begin = 0;
            while begin < rows {
                let end = (begin + 1..rows).find(|&place| run(place) != run(begin)).unwrap_or(rows);
                let pair = [&scenarios, &engines].map(|texts| texts.at(begin).unwrap_or_default().to_owned());
                let set: Vec<u32> = of_metric[begin..end].iter().filter_map(|&key| named[key as usize]).collect();
                index.stretches.push(Stretch {
                    made: place_of(&mut made, &mut index.made, pair.into()),
                    seed: seeds[begin],
                    seeded: seeded.at(begin),
                    metrics: place_of(&mut sets, &mut index.sets, set),
                });
                begin = end;
            }
        }
        Ok(index)
    }

    /// The runs in it.
    pub fn runs(&self) -> Vec<Known> {
        let mut found = vec![(BTreeSet::new(), true); self.made.len()];
        for stretch in &self.stretches {
            let entry = &mut found[stretch.made as usize];
            entry.0.insert(stretch.seed);
            entry.1 = stretch.seeded;
        }
        let known = |((scenario, engine), (seeds, seeded)): (&(String, String), (BTreeSet<u64>, bool))| {
            (scenario.clone(), engine.clone(), seeds.into_iter().collect(), seeded)
        };
        self.made.iter().zip(found).map(known).collect()
    }

    /// The scenarios whose only run stands for all seeds, and the seed of that run.
    pub fn alike(&self) -> BTreeMap<String, u64> {
        let unseeded = self.stretches.iter().rev().filter(|stretch| !stretch.seeded);
        unseeded.map(|stretch| (self.scenario(stretch).to_owned(), stretch.seed)).collect()
    }

    /// Whether it has any of these runs.
    pub fn has(&self, runs: &Runs) -> bool {
        self.chosen(runs).next().is_some()
    }

    /// Names of the metrics that some runs have, in the order of the file.
    pub fn metrics(&self, runs: &Runs) -> Vec<String> {
        let (mut looked_at, mut found, mut names) = (HashSet::new(), HashSet::new(), Vec::new());
        let sets = self.chosen(runs).map(|stretch| stretch.metrics).filter(|&set| looked_at.insert(set));
        for &number in sets.flat_map(|set| &self.sets[set as usize]) {
            if found.insert(number) {
                names.push(self.metrics.text(number).to_owned());
            }
        }
        names
    }

    fn chosen<'a>(&'a self, runs: &'a Runs) -> impl Iterator<Item = &'a Stretch> {
        self.stretches.iter().filter(|stretch| runs.have(self.scenario(stretch), stretch.seed, stretch.seeded))
    }

    fn scenario(&self, stretch: &Stretch) -> &str {
        &self.made[stretch.made as usize].0
    }
}

/// The place of a thing among others, to which it is added if it is not there.
fn place_of<T: Clone + Eq + std::hash::Hash>(places: &mut HashMap<T, u32>, all: &mut Vec<T>, thing: T) -> u32 {
    if let Some(&place) = places.get(&thing) {
        return place;
    }
    all.push(thing.clone());
    *places.entry(thing).or_insert(all.len() as u32 - 1)
}

/// What files lack of these scenarios with these seeds: the place of a scenario, and the places of the seeds that it lacks. A
/// scenario that is the same under every seed lacks none.
pub fn lacking<'a>(
    files: impl Iterator<Item = &'a Index>,
    scenarios: &[String],
    seeds: &[u64],
) -> Vec<(usize, Vec<usize>)> {
    let (mut done, mut alike): (HashMap<&str, Vec<u64>>, HashSet<&str>) = Default::default();
    for index in files {
        for stretch in &index.stretches {
            done.entry(index.scenario(stretch)).or_default().push(stretch.seed);
            alike.extend((!stretch.seeded).then(|| index.scenario(stretch)));
        }
    }
    done.values_mut().for_each(|seeds| seeds.sort_unstable());
    let left = |(place, scenario): (usize, &String)| {
        let known = done.get(scenario.as_str()).map_or(&[][..], Vec::as_slice);
        let lacks = |seed: &u64| known.binary_search(seed).is_err();
        let own = (0..seeds.len()).filter(|&at| lacks(&seeds[at])).collect::<Vec<_>>();
        (!own.is_empty() && !alike.contains(scenario.as_str())).then_some((place, own))
    };
    scenarios.iter().enumerate().filter_map(left).collect()
}
