//! Files of results that grow: however they come to their runs, they are the same bytes.

use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt32Array};
use arrow_ipc::writer::StreamWriter;
use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use schedlab_bridge::results::{Columns, Index, Label, Runs, Tail};
use std::{collections::HashSet, path::Path, sync::Arc};

/// Runs of a file.
const MOST: usize = 1000;
const METRICS: [&str; 3] = ["utilization", "tasks.a.share", "wakeup_latency.p99"];

/// Rows of that many runs, as the engine gives them. Each third run lacks a metric.
fn stream(first: usize, runs: usize) -> Vec<u8> {
    let rows: Vec<(u32, usize)> = (0..runs)
        .flat_map(|run| {
            (0..METRICS.len() - usize::from((first + run).is_multiple_of(3))).map(move |metric| (run as u32, metric))
        })
        .collect();
    let value = |&(run, metric): &(u32, usize)| ((first + run as usize) * 10 + metric) as f64;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("run", Arc::new(rows.iter().map(|row| row.0).collect::<UInt32Array>())),
        ("metric", Arc::new(rows.iter().map(|row| Some(METRICS[row.1])).collect::<StringArray>())),
        ("unit", Arc::new(rows.iter().map(|row| (row.1 > 0).then_some("%")).collect::<StringArray>())),
        ("value", Arc::new(rows.iter().map(value).collect::<Float64Array>())),
        ("warning", Arc::new(rows.iter().map(|_| None::<&str>).collect::<StringArray>())),
        ("seeded", Arc::new(rows.iter().map(|_| Some(true)).collect::<BooleanArray>())),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, it)| (name, it, true))).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// Five runs of a scenario, one with each seed.
fn labels(first: usize, runs: usize, factors: usize) -> Vec<Label> {
    let label = |run: usize| Label {
        experiment: "growing".to_owned(),
        scenario: format!("scenario {}", run / 5),
        engine: "0.1.0".to_owned(),
        seed: (run % 5) as u64,
        factors: (0..factors).map(|factor| format!("{factor}: {}", run / 5)).collect(),
    };
    (first..first + runs).map(label).collect()
}

/// What a folder of results is, with a number and a factor for each run.
struct Folder {
    files: Vec<Vec<u8>>,
    tail: Tail,
    runs: usize,
}

impl Folder {
    fn new() -> Folder {
        Folder { files: Vec::new(), tail: Tail::new(0), runs: 0 }
    }

    fn append(&mut self, runs: usize, factors: &[&str]) {
        let names: Vec<String> = factors.iter().map(|&name| name.to_owned()).collect();
        let labels = labels(self.runs, runs, factors.len());
        for (number, bytes) in self.tail.append(&stream(self.runs, runs), &names, &labels, MOST).unwrap() {
            self.files.truncate(number);
            self.files.push(bytes);
        }
        self.runs += runs;
    }

    /// The command ends, and another one goes on.
    fn reopen(&mut self, folder: &Path) {
        let path = folder.join("runs.parquet");
        std::fs::write(&path, self.files.last().unwrap()).unwrap();
        self.tail = Tail::open(&path, self.files.len() - 1).unwrap();
    }

    /// Runs and values of the last file.
    fn read(&self, folder: &Path) -> (usize, Vec<(u64, f64)>) {
        let path = folder.join("read.parquet");
        std::fs::write(&path, self.files.last().unwrap()).unwrap();
        let index = Index::read(&path).unwrap();
        let scenarios: Vec<String> = (0..self.runs.div_ceil(5)).map(|number| format!("scenario {number}")).collect();
        let mut columns = Columns::default();
        let wanted: HashSet<String> = METRICS.iter().map(|&name| name.to_owned()).collect();
        columns.add(&path, &Runs::new(scenarios.clone(), (0..5).collect()), &wanted).unwrap();
        let mut values = Vec::new();
        for name in &scenarios {
            if let Some((_, seeds, found)) = columns.get(name, METRICS[1]) {
                values.extend(seeds.iter().copied().zip(found.iter().map(|value| value.expect("it has one"))));
            }
        }
        (index.runs().iter().map(|(_, _, seeds, _)| seeds.len()).sum(), values)
    }
}

#[test]
fn chunks_of_any_size_and_commands_that_go_on_give_the_same_bytes() {
    let scratch = tempfile::tempdir().unwrap();
    let mut once = Folder::new();
    once.append(1234, &["a.b"]);
    assert_eq!(once.files.len(), 2);
    let groups = |file: &Vec<u8>| SerializedFileReader::new(Bytes::from(file.clone())).unwrap().num_row_groups();
    assert_eq!(
        once.files.iter().map(groups).collect::<Vec<_>>(),
        [1, 5],
        "a full file is one, 234 runs are five of 50"
    );
    for (chunk, reopened) in [(1, 50), (7, 3), (99, 1), (100, 1), (101, 2), (500, 1)] {
        let mut pieces = Folder::new();
        let mut chunks = 0;
        while pieces.runs < once.runs {
            pieces.append(chunk.min(once.runs - pieces.runs), &["a.b"]);
            chunks += 1;
            if chunks % reopened == 0 {
                pieces.reopen(scratch.path());
            }
        }
        assert!(pieces.files == once.files, "chunks of {chunk}, another command after {reopened} of them");
    }
}

#[test]
fn all_runs_of_all_groups_are_read() {
    let scratch = tempfile::tempdir().unwrap();
    let mut folder = Folder::new();
    for runs in [250, 3, 97, 200] {
        folder.append(runs, &["a.b"]);
        let (runs, values) = folder.read(scratch.path());
        assert_eq!((runs, values.len()), (folder.runs, folder.runs));
        assert!(
            values
                .iter()
                .enumerate()
                .all(|(run, &(seed, value))| (seed, value) == (run as u64 % 5, run as f64 * 10.0 + 1.0))
        );
    }
}

#[test]
fn one_more_factor_comes_to_groups_that_are_there() {
    let scratch = tempfile::tempdir().unwrap();
    for runs in [40, 100, 250, 300] {
        let mut folder = Folder::new();
        folder.append(runs, &["a.b"]);
        if runs != 250 {
            folder.reopen(scratch.path());
        }
        folder.append(130, &["a.b", "c"]);
        let (found, values) = folder.read(scratch.path());
        assert_eq!((found, values.len()), (runs + 130, runs + 130));
        let mut again = Folder::new();
        again.append(runs, &["a.b"]);
        again.append(130, &["a.b", "c"]);
        assert!(again.files == folder.files);
    }
}

#[test]
fn a_file_that_is_cut_or_changed_is_refused_or_read() {
    let scratch = tempfile::tempdir().unwrap();
    let mut folder = Folder::new();
    folder.append(230, &["a.b"]);
    let whole = folder.files[0].clone();
    let path = scratch.path().join("cut.parquet");
    for cut in (0..whole.len()).step_by(97) {
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert!(Tail::open(&path, 0).is_err());
    }
    for place in (0..whole.len()).step_by(211) {
        let mut changed = whole.clone();
        changed[place] ^= 0x55;
        std::fs::write(&path, &changed).unwrap();
        if let Ok(mut tail) = Tail::open(&path, 0) {
            let _ = tail.append(&stream(230, 5), &["a.b".to_owned()], &labels(230, 5, 1), MOST);
        }
    }
}
