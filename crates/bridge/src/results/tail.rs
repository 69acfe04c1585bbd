//! The last file of a folder of results, which grows with each chunk of runs.

use super::{
    COLUMNS, Opened, SEEDED, Seeded, Source, Texts, Words,
    groups::{self, GROUP, Group},
    numbers, values,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray, UInt64Array,
    cast::AsArray,
    types::{Int32Type, UInt32Type},
};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use std::{collections::HashMap, ops::Range, path::Path, sync::Arc};

/// Whose rows they are: the labels of a run.
#[derive(Debug, Clone)]
pub struct Label {
    /// The experiment's name.
    pub experiment: String,
    /// Hash of the scenario.
    pub scenario: String,
    /// What made the run.
    pub engine: String,
    /// Its seed.
    pub seed: u64,
    /// Values of the factors, in the order of their names.
    pub factors: Vec<String>,
}

#[derive(Debug)]
struct Run {
    experiment: u32,
    scenario: u32,
    engine: u32,
    seed: u64,
    seeded: bool,
    factors: Vec<Option<u32>>,
}

#[derive(Debug)]
struct Row {
    run: u32,
    metric: u32,
    unit: Option<u32>,
    value: Option<f64>,
}

/// The last file of a folder, which is written anew with each chunk of runs until it is full. Only the rows of its last group are
/// encoded again.
#[derive(Debug, Default)]
pub struct Tail {
    number: usize,
    /// Whether it has runs that were not given to be written.
    changed: bool,
    factors: Vec<String>,
    whole: Vec<Group>,
    words: Words,
    runs: Vec<Run>,
    rows: Vec<Row>,
}

/// A file to be written: its number and its bytes.
pub type Filled = (usize, Vec<u8>);

impl Tail {
    /// The file of that number, empty.
    pub fn new(number: usize) -> Tail {
        Tail { number, ..Tail::default() }
    }

    /// What a file has, to go on with.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path, number: usize) -> Result<Tail, String> {
        let bytes = Bytes::from(std::fs::read(path).map_err(|why| why.to_string())?);
        let file = Arc::new(Opened::of(bytes)?);
        let mut tail = Tail { factors: file.factors(), whole: Group::whole(&file), ..Tail::new(number) };
        tail.read(&file, tail.whole.len()..file.groups(), GROUP)?;
        Ok(tail)
    }

    /// Adds the runs that are in some groups of a file, to groups of that many.
    fn read<S: Source>(&mut self, file: &Opened<S>, groups: Range<usize>, most: usize) -> Result<(), String> {
        let factors = self.factors.clone();
        let names: Vec<&str> = COLUMNS.into_iter().chain(factors.iter().map(String::as_str)).collect();
        let read: Vec<&str> = names.iter().copied().chain([SEEDED]).collect();
        let mut last = None;
        for batch in file.columns_of(groups, &read) {
            let batch = batch?;
            let texts: Vec<Texts<'_>> = names.iter().map(|name| Texts::of(&batch, name)).collect();
            let (seeds, values) = (numbers(&batch, "seed")?, values(&batch, "value")?);
            let all_seeded = Seeded::of(&batch);
            for place in 0..batch.num_rows() {
                let text = |column: usize| texts[column].at(place);
                let run = (text(1).ok_or("a row names no scenario")?, seeds.value(place));
                if last.as_ref().is_none_or(|(scenario, seed): &(String, u64)| (scenario.as_str(), *seed) != run) {
                    last = Some((run.0.to_owned(), run.1));
                    self.make_room(most)?;
                    let mut number = |column| text(column).map(|text| self.words.number(text));
                    let [experiment, scenario, engine] = [0, 1, 2].map(|column| number(column).unwrap_or_default());
                    let factors = (COLUMNS.len()..names.len()).map(&mut number).collect();
                    let (seed, seeded) = (run.1, all_seeded.at(place));
                    self.runs.push(Run { experiment, scenario, engine, seed, seeded, factors });
                }
                let value = values.is_valid(place).then(|| values.value(place));
                self.add(Some(text(4).ok_or("a row names no metric")?), text(5), value);
            }
        }
        Ok(())
    }

    /// Before a run is added: a group that has all of its runs is encoded.
    fn make_room(&mut self, most: usize) -> Result<(), String> {
        if self.runs.len() >= most {
            self.whole.push(Group::of(&self.batch()?)?);
            (self.words, self.runs, self.rows) = Default::default();
        }
        Ok(())
    }

    /// One more factor: the groups that were encoded without it are so anew.
    fn widen(&mut self, factor: &str) -> Result<(), String> {
        let groups = self.take_groups()?;
        self.factors.push(factor.to_owned());
        self.regroup(groups, GROUP)
    }

    /// Takes all runs, as groups, if there are any but those of the last one.
    fn take_groups(&mut self) -> Result<Vec<Group>, String> {
        if !self.whole.is_empty() && !self.runs.is_empty() {
            self.make_room(self.runs.len())?;
        }
        Ok(std::mem::take(&mut self.whole))
    }

    /// Adds the runs of groups, to groups of that many.
    fn regroup(&mut self, groups: Vec<Group>, most: usize) -> Result<(), String> {
        for group in groups {
            let (file, place) = group.place();
            self.read(file, place..place + 1, most)?;
        }
        Ok(())
    }

    /// Adds runs whose rows are in a stream of `batch`; `labels` are in the order of its runs. Files have `most` runs. Gives the
    /// files that are now other than before, in order.
    ///
    /// # Errors
    /// If the stream is none of `batch`.
    pub fn append(
        &mut self,
        stream: &[u8],
        factors: &[String],
        labels: &[Label],
        most: usize,
    ) -> Result<Vec<Filled>, String> {
        let mut filled = Vec::new();
        let reader = StreamReader::try_new(stream, None).map_err(|why| why.to_string())?;
        let mut last = None;
        for batch in reader {
            let batch = batch.map_err(|why| why.to_string())?;
            let column = |name| batch.column_by_name(name).ok_or_else(|| format!("rows without {name}"));
            let runs = column("run")?.as_primitive_opt::<UInt32Type>().ok_or("run is no number")?;
            let [metrics, units, warnings] = ["metric", "unit", "warning"].map(|name| Texts::of(&batch, name));
            let (numbers, seeded) = (values(&batch, "value")?, Seeded::of(&batch));
            for place in (0..batch.num_rows()).filter(|&place| warnings.at(place).is_none()) {
                if last != Some(runs.value(place)) {
                    last = Some(runs.value(place));
                    let label = labels.get(runs.value(place) as usize).ok_or("a row of a run without a label")?;
                    filled.extend(self.begin(label, seeded.at(place), factors, most)?);
                }
                let value = numbers.is_valid(place).then(|| numbers.value(place));
                self.add(metrics.at(place), units.at(place), value);
            }
        }
        filled.extend(self.written(most)?);
        Ok(filled)
    }

    /// Adds the rows that a file of another folder has of some runs, under the labels of this one.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn copy(
        &mut self,
        path: &Path,
        factors: &[String],
        labels: &[Label],
        most: usize,
    ) -> Result<Vec<Filled>, String> {
        let wanted: HashMap<(&str, u64), &Label> =
            labels.iter().map(|label| ((label.scenario.as_str(), label.seed), label)).collect();
        let (mut filled, mut last) = (Vec::new(), None);
        for batch in Opened::at(path)?.columns(&["scenario", "seed", SEEDED, "metric", "unit", "value"]) {
            let batch = batch?;
            let [scenarios, metrics, units] = ["scenario", "metric", "unit"].map(|name| Texts::of(&batch, name));
            let (seeds, numbers) = (numbers(&batch, "seed")?, values(&batch, "value")?);
            let seeded = Seeded::of(&batch);
            for place in 0..batch.num_rows() {
                let key = (scenarios.at(place).unwrap_or_default(), seeds.value(place));
                let Some(label) = wanted.get(&key) else { continue };
                if last != Some(std::ptr::from_ref::<Label>(label)) {
                    last = Some(std::ptr::from_ref(label));
                    filled.extend(self.begin(label, seeded.at(place), factors, most)?);
                }
                let value = numbers.is_valid(place).then(|| numbers.value(place));
                self.add(metrics.at(place), units.at(place), value);
            }
        }
        filled.extend(self.written(most)?);
        Ok(filled)
    }

    /// Adds a row to the run that was begun last.
    fn add(&mut self, metric: Option<&str>, unit: Option<&str>, value: Option<f64>) {
        let metric = self.words.number(metric.unwrap_or_default());
        let unit = unit.map(|unit| self.words.number(unit));
        self.rows.push(Row { run: self.runs.len() as u32 - 1, metric, unit, value });
    }

    /// Begins a run, in a new file if this one is full, which is then returned.
    fn begin(
        &mut self,
        label: &Label,
        seeded: bool,
        factors: &[String],
        most: usize,
    ) -> Result<Option<Filled>, String> {
        let mut full = None;
        if self.len() >= most {
            full = self.written(most)?;
            *self = Tail { number: self.number + 1, factors: factors.to_vec(), ..Tail::default() };
        }
        self.changed = true;
        for factor in factors {
            if !self.factors.contains(factor) {
                self.widen(factor)?;
            }
        }
        self.make_room(GROUP)?;
        let given: HashMap<&String, &String> = factors.iter().zip(&label.factors).collect();
        let words = &mut self.words;
        let run = Run {
            experiment: words.number(&label.experiment),
            scenario: words.number(&label.scenario),
            engine: words.number(&label.engine),
            seed: label.seed,
            seeded,
            factors: self.factors.iter().map(|name| given.get(name).map(|value| words.number(value))).collect(),
        };
        self.runs.push(run);
        Ok(full)
    }

    /// The file, if it is other than what was written last.
    fn written(&mut self, most: usize) -> Result<Option<Filled>, String> {
        Ok(if std::mem::take(&mut self.changed) { Some((self.number, self.encoded(most)?)) } else { None })
    }

    /// How many runs it has.
    fn len(&self) -> usize {
        self.whole.len() * GROUP + self.runs.len()
    }

    /// The file as bytes. One that is full grows no more: all of its runs are one group, which takes less room.
    fn encoded(&mut self, most: usize) -> Result<Vec<u8>, String> {
        if self.len() >= most {
            let groups = self.take_groups()?;
            self.regroup(groups, usize::MAX)?;
        }
        let last = if self.rows.is_empty() { None } else { Some(Group::of(&self.batch()?)?) };
        groups::file(&self.whole.iter().cloned().chain(last).collect::<Vec<_>>())
    }

    /// The rows of the last group.
    fn batch(&self) -> Result<RecordBatch, String> {
        let of = |row: &Row| &self.runs[row.run as usize];
        let texts = |word: &dyn Fn(&Row) -> Option<u32>| self.texts(word);
        let mut columns: Vec<ArrayRef> = vec![
            texts(&|row| Some(of(row).experiment)),
            texts(&|row| Some(of(row).scenario)),
            texts(&|row| Some(of(row).engine)),
            Arc::new(self.rows.iter().map(|row| Some(of(row).seed)).collect::<UInt64Array>()),
            texts(&|row| Some(row.metric)),
            texts(&|row| row.unit),
            Arc::new(self.rows.iter().map(|row| row.value).collect::<Float64Array>()),
        ];
        for place in 0..self.factors.len() {
            // A run of before may know fewer factors.
            columns.push(texts(&|row| of(row).factors.get(place).copied().flatten()));
        }
        columns.push(Arc::new(self.rows.iter().map(|row| Some(of(row).seeded)).collect::<BooleanArray>()));
        let names = COLUMNS.into_iter().chain(self.factors.iter().map(String::as_str)).chain([SEEDED]);
        let fields: Vec<Field> =
            names.zip(&columns).map(|(name, column)| Field::new(name, column.data_type().clone(), true)).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(|why| why.to_string())
    }

    /// A column of texts, each of them once, in the order in which they come: the group depends on its rows alone.
    fn texts(&self, word: &dyn Fn(&Row) -> Option<u32>) -> ArrayRef {
        const NONE: i32 = -1;
        let mut places = vec![NONE; self.words.len() as usize];
        let mut all: Vec<&str> = Vec::new();
        let keys: Int32Array = self
            .rows
            .iter()
            .map(|row| {
                let word = word(row)?;
                let place = &mut places[word as usize];
                if *place == NONE {
                    *place = all.len() as i32;
                    all.push(self.words.text(word));
                }
                Some(*place)
            })
            .collect();
        let texts = Arc::new(StringArray::from(all));
        Arc::new(DictionaryArray::<Int32Type>::try_new(keys, texts).expect("each key has its text"))
    }
}
