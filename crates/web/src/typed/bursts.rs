//! A set of bursts, a task a line, as textbooks write it: its name, when it arrives, how long it computes; then its nice value ("5" or
//! "nice=5"), or the "priority=10" of a real-time task, of which the largest goes first. The answer is an experiment file, which is checked
//! here: what the engine refuses of it is said at the line of the list.
//!
//! Jobs come to be in the order of their names. Where that is not the order of the list, they are called by number and name ("2-P1").

use super::{LONGEST_NAME, Word, lines};
use crate::fault::Fault;
use schedlab_catalogue::tables;
use schedlab_model::{
    Nanos, SECOND,
    experiment::{Files, Format, Problem, expand_some, read_with},
    units::spell_duration,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt::Write};

/// Most tasks, and the most time that all of them compute.
const MOST: usize = 100;
const LONGEST: Nanos = 1000 * SECOND;
/// What messages call the list.
const LIST: &str = "list";
/// What stands before the first task.
const HEAD: &str = r#"# A set of bursts as it was typed in: each task arrives, computes, and ends.
machine = "uniform"
seeds = 1
metrics = ["tasks.*.turnaround.mean", "tasks.*.waiting.mean", "tasks.*.response.mean", "turnaround.mean", "waiting.mean", "response.mean"]
[scheduler]
name = "fifo"
[workload]
"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    text: String,
}

struct Task<'a> {
    line: usize,
    name: &'a str,
    arrives: Nanos,
    computes: Nanos,
    /// A further field of its job, as TOML.
    more: Option<String>,
}

pub fn answer(asked: &Bursts) -> Result<Value, Fault> {
    let tasks: Vec<Task<'_>> = lines(&asked.text)?.iter().map(|line| task(line)).collect::<Result<_, _>>()?;
    checked(&tasks)?;
    let jobs = jobs(&tasks);
    let text = written(&tasks, &jobs);
    let at_its_line = |problem| of_the_list(problem, &tasks, &jobs);
    let read = read_with(&text, LIST, Format::Toml, &[], &Files::new(), &tables::SHIPPED);
    let (experiment, _) = read.map_err(at_its_line)?;
    expand_some(&experiment, &tables::SHIPPED, 0..1).map_err(at_its_line)?;
    let rows = tasks.iter().zip(&jobs).map(
        |(task, job)| json!({ "name": task.name, "job": job, "arrives": task.arrives, "computes": task.computes }),
    );
    Ok(json!({ "text": text, "tasks": rows.collect::<Vec<_>>() }))
}

fn task<'a>(line: &[Word<'a>]) -> Result<Task<'a>, Fault> {
    let [name, arrives, computes, more @ ..] = line else {
        let wanted = "write a name, when it arrives and how long it computes, such as P1 0 24";
        let found = if line.len() == 1 { "is 1 word" } else { "are 2 words" };
        return Err(Fault::at(line[0].line, &format!("there {found}: {wanted}")));
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.text.chars().all(fits) {
        return Err(name.fault("is no name: write letters, digits, _ or -; a heading begins with #"));
    }
    if name.text.len() > LONGEST_NAME {
        return Err(name.fault(&format!("is too long: a name has at most {LONGEST_NAME} characters")));
    }
    let more = match more {
        [] => None,
        [one] => Some(further(one)?),
        [_, second, ..] => {
            return Err(second.fault("is one word too many: a line ends with a nice value or a priority"));
        }
    };
    Ok(Task { line: name.line, name: name.text, arrives: arrives.time()?, computes: computes.time()?, more })
}

/// The last word of a line: "5" and "nice=5" are a nice value, "priority=10" makes a real-time task.
fn further(word: &Word<'_>) -> Result<String, Fault> {
    let (field, value) = word.text.split_once('=').unwrap_or(("nice", word.text));
    let wanted = "is neither a nice value such as 5 nor nice=5 nor priority=10";
    let value: i32 = value.parse().map_err(|_| word.fault(wanted))?;
    match field {
        "nice" => Ok(format!("nice = {value}")),
        "priority" => Ok(format!("policy = \"fifo\", priority = {value}")),
        _ => Err(word.fault(wanted)),
    }
}

/// What the file could not say at its line.
fn checked(tasks: &[Task<'_>]) -> Result<(), Fault> {
    if tasks.is_empty() {
        return Err(Fault::at(1, "there is no task: write one a line, such as P1 0 24"));
    }
    let mut lines = BTreeMap::new();
    let mut sum = 0;
    for (place, task) in tasks.iter().enumerate() {
        if place == MOST {
            return Err(Fault::at(task.line, &format!("there are {} tasks; at most {MOST} are read", tasks.len())));
        }
        if let Some(before) = lines.insert(task.name, task.line) {
            return Err(Fault::at(
                task.line,
                &format!("{:?} is the name of line {before}, too: give each task its own", task.name),
            ));
        }
        sum += task.computes;
        if sum > LONGEST {
            return Err(Fault::at(
                task.line,
                &format!("up to here the tasks compute for more than {}", spell_duration(LONGEST)),
            ));
        }
    }
    Ok(())
}

/// What the job of each task is called: as the task, if the list is in the order of the names, and else by its number and its name.
fn jobs(tasks: &[Task<'_>]) -> Vec<String> {
    let in_order = tasks.is_sorted_by_key(|task| task.name);
    let digits = tasks.len().to_string().len();
    let job = |(number, task): (usize, &Task<'_>)| match in_order {
        true => task.name.to_owned(),
        false => format!("{number:0digits$}-{}", task.name),
    };
    (1..).zip(tasks).map(job).collect()
}

/// The experiment file: [`HEAD`], then a line for each task.
fn written(tasks: &[Task<'_>], jobs: &[String]) -> String {
    let mut text = HEAD.to_owned();
    for (Task { arrives, computes, more, .. }, job) in tasks.iter().zip(jobs) {
        let start = if *arrives == 0 { String::new() } else { format!(", start = \"{}\"", spell_duration(*arrives)) };
        let more = more.as_ref().map(|more| format!(", {more}")).unwrap_or_default();
        let _ =
            writeln!(text, "{job} = {{ steps = [{{ compute = \"{}\" }}]{start}{more} }}", spell_duration(*computes));
    }
    text
}

/// A problem of the file at the line of the list that led to it, under the name of its task.
fn of_the_list(problem: Problem, tasks: &[Task<'_>], jobs: &[String]) -> Fault {
    let first = HEAD.lines().count() + 1;
    let place = problem.line.and_then(|line| line.checked_sub(first)).filter(|&place| place < tasks.len());
    let Some(place) = place else { return problem.into() };
    let field = problem.field.replacen(&jobs[place], tasks[place].name, 1);
    Problem { line: Some(tasks[place].line), field, ..problem }.into()
}
