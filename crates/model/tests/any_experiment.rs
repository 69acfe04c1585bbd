//! What holds of every text, every good experiment and every sweep.

mod catalogue;

use catalogue::{CATALOGUE, GOOD};
use proptest::prelude::*;
use schedlab_model::experiment::{Cell, Experiment, Format, Problem, expand, hash, read, read_scenario};

fn read_good(text: &str) -> Experiment {
    read(text, "good.toml", Format::Toml, &[], &CATALOGUE).unwrap_or_else(|problem| panic!("{problem}\n{text}"))
}

fn cells(experiment: &Experiment) -> Vec<Cell> {
    expand(experiment, &CATALOGUE).unwrap()
}

/// Reads in every way. What is accepted must expand; what is refused must be so in one line.
fn survives(text: &str, overrides: &[String]) -> Result<(), TestCaseError> {
    for format in [Format::Toml, Format::Json] {
        match read(text, "any", format, overrides, &CATALOGUE) {
            Ok(experiment) => prop_assert!(!cells(&experiment).is_empty()),
            Err(problem) => is_one_line(&problem)?,
        }
        if let Err(problem) = read_scenario(text, "any", format, &CATALOGUE) {
            is_one_line(&problem)?;
        }
    }
    Ok(())
}

fn is_one_line(problem: &Problem) -> Result<(), TestCaseError> {
    let message = problem.to_string();
    prop_assert!(message.starts_with("any:") && message.len() > 8, "{message}");
    prop_assert!(!message.contains(['\n', '\r']), "{message}");
    Ok(())
}

/// Pieces that are likely to be noticed in the wrong place.
fn token() -> impl Strategy<Value = String> {
    let words = GOOD.split_inclusive([' ', '\n', '[', ']', '{', '}', '.', '"']).map(str::to_owned);
    let odd =
        ["-1", "nan", "1e999", "\"\"", "\"0s\"", "18446744073709551616", "null", "[[", "\u{0}", "'''", "1979-05-27"];
    prop::sample::select(words.chain(odd.map(str::to_owned)).collect::<Vec<_>>())
}

/// The good file with some pieces replaced, removed, doubled or swapped.
fn mutated() -> impl Strategy<Value = String> {
    let pieces: Vec<&str> = GOOD.split_inclusive([' ', '\n', '[', ']', '{', '}', '.', '"']).collect();
    let change = (0..pieces.len(), 0..pieces.len(), token(), 0..4);
    prop::collection::vec(change, 1..4).prop_map(move |changes| {
        let mut pieces: Vec<String> = pieces.iter().map(|piece| piece.to_string()).collect();
        for (at, other, token, kind) in changes {
            match kind {
                0 => pieces[at] = token,
                1 => pieces[at].clear(),
                2 => pieces[at] = pieces[at].repeat(2),
                _ => pieces.swap(at, other),
            }
        }
        pieces.concat()
    })
}

/// Lists of a grid and of a zip, as lengths.
fn lengths() -> impl Strategy<Value = (Vec<usize>, usize)> {
    (prop::collection::vec(1..5usize, 0..4), 0..4usize)
}

/// A small experiment that sweeps as many values as `lengths` says.
fn swept((grid, zip): &(Vec<usize>, usize)) -> String {
    let numbers = |count: usize| format!("{:?}", (1..=count).collect::<Vec<_>>());
    let keys = ["workload.hog.nice", "workload.hog.count", "machine.processors"];
    let mut text =
        "machine = \"ideal\"\nscheduler.name = \"minix\"\nworkload.hog.load = \"spin\"\n[sweep]\n".to_owned();
    for (key, length) in keys.iter().zip(grid) {
        text += &format!("\"{key}\" = {}\n", numbers(*length));
    }
    if *zip > 0 {
        text +=
            &format!("[sweep.zip]\n\"workload.hog.passes\" = {0}\n\"machine.costs.trap\" = {1:?}\n", numbers(*zip), {
                (0..*zip).map(|i| format!("{i}us")).collect::<Vec<_>>()
            });
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_text_brings_the_reader_down(text in any::<String>()) {
        survives(&text, &[])?;
    }

    #[test]
    fn no_bytes_bring_the_reader_down(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(&String::from_utf8_lossy(&bytes), &[])?;
    }

    #[test]
    fn no_heap_of_pieces_brings_the_reader_down(pieces in prop::collection::vec(token(), 0..30)) {
        survives(&pieces.concat(), &[])?;
    }

    #[test]
    fn no_change_of_a_good_file_brings_the_reader_down(text in mutated()) {
        survives(&text, &[])?;
    }

    #[test]
    fn no_override_brings_the_reader_down(path in "[a-z.\"'\\[\\]0-9= ]{0,20}", value in token(), text in any::<String>()) {
        survives(GOOD, &[format!("{path}={value}"), text.clone()])?;
        survives(GOOD, &[format!("workload.io.{path}={value}")])?;
        survives(GOOD, &[format!("sweep.\"{path}\"=[{value}]"), format!("scheduler.slice={text}")])?;
    }

    #[test]
    fn an_experiment_reads_back_from_its_json_unchanged(lengths in lengths(), seeds in 1..1000u64) {
        let experiment = read_good(&format!("seeds = {seeds}\n{}", swept(&lengths)));
        let json = serde_json::to_string(&experiment).unwrap();
        let back = read(&json, "json", Format::Json, &[], &CATALOGUE).unwrap();
        prop_assert_eq!(&back, &experiment);
        prop_assert_eq!(serde_json::to_string(&back).unwrap(), json);
        prop_assert_eq!(cells(&back), cells(&experiment));
    }

    #[test]
    fn cells_are_the_product_of_the_lengths_and_always_the_same(lengths in lengths()) {
        let experiment = read_good(&swept(&lengths));
        let first = cells(&experiment);
        prop_assert_eq!(first.len(), lengths.0.iter().product::<usize>() * lengths.1.max(1));
        prop_assert_eq!(&cells(&experiment), &first);
        let mut factors: Vec<_> = first.iter().map(|cell| &cell.factors).collect();
        factors.sort();
        factors.dedup();
        prop_assert_eq!(factors.len(), first.len());
    }

    #[test]
    fn every_cell_reads_back_as_a_scenario_with_its_hash(text in mutated()) {
        let Ok(experiment) = read(&text, "any", Format::Toml, &[], &CATALOGUE) else { return Ok(()) };
        for cell in cells(&experiment) {
            let json = serde_json::to_string(&cell.scenario).unwrap();
            let scenario = read_scenario(&json, "json", Format::Json, &CATALOGUE).unwrap();
            prop_assert_eq!(hash(&scenario), cell.hash);
        }
    }

    #[test]
    fn a_slice_has_one_hash_however_it_is_spelled(us in 1_000..10_000_000u64) {
        let with = |slice: String| {
            let set = [format!("scheduler.slice={slice}")];
            let text = swept(&(vec![], 0));
            cells(&read(&text, "any", Format::Toml, &set, &CATALOGUE).unwrap())[0].hash.clone()
        };
        prop_assert_eq!(with(format!("{us}us")), with(format!("{}.{:03}ms", us / 1000, us % 1000)));
        prop_assert_eq!(with(format!("{us}us")), with(format!("{} ns", us * 1000)));
    }
}
