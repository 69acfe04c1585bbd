//! A reference string: objects in the order in which they are requested, under any names. The answer is how often policies fault with
//! each number of frames, and what is in the frames after each request.

use super::{LONGEST_NAME, Word, words};
use crate::fault::Fault;
use schedlab_curves::{
    choice::{self, Choice},
    curve::{self, Plan},
    frames::{Step, steps},
    sizes::Size,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Most requests.
const MOST: usize = 10_000;
/// Most policies, and most characters of all of them as they are written.
const MOST_POLICIES: usize = 16;
const LONGEST_CHOICE: usize = 1000;
/// Most frames for which faults are counted. More than there are objects change nothing.
const MOST_FRAMES: u32 = 64;
/// Most requests and frames whose steps are given: a longer table is not read.
const MOST_STEPS: usize = 200;
const MOST_STEPPED: u32 = 16;
/// The seed of randomised policies, that of `schedlab cache`.
const SEED: u64 = 0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct References {
    text: String,
    /// As after `schedlab cache --policy`.
    policies: String,
    /// The number of frames whose steps are wanted; 0: none are.
    #[serde(default)]
    frames: u32,
}

pub fn answer(asked: &References) -> Result<Value, Fault> {
    let words = words(&asked.text, MOST, "requests")?;
    let (names, keys) = numbered(&words)?;
    let objects = names.len() as u32;
    let frames = 1..=objects.min(MOST_FRAMES);
    let size = |frames: u32| Size { label: frames.to_string(), capacity: frames.into() };
    let sizes: Vec<Size> = frames.clone().map(size).collect();
    let plan = Plan { policies: policies(&asked.policies)?, sizes, sampling: None, seed: SEED, one_pass: true };
    let rows = curve::run(&keys, objects, &plan)?;
    let stepped = (1..=MOST_STEPPED).contains(&asked.frames) && keys.len() <= MOST_STEPS;
    let found = plan.policies.iter().zip(rows.chunks(plan.sizes.len())).map(|(choice, rows)| {
        let faults: Vec<u64> = rows.iter().map(|row| row.misses).collect();
        let steps = stepped.then(|| steps(&keys, objects, choice, asked.frames, SEED));
        let steps = steps.map(|steps| steps.iter().map(stepped_as).collect::<Vec<_>>());
        json!({ "policy": choice.label, "faults": faults, "rises": rises(&faults), "steps": steps })
    });
    let found: Vec<Value> = found.collect();
    Ok(json!({ "objects": names, "requests": keys, "frames": frames.collect::<Vec<_>>(), "policies": found }))
}

/// The names in the order of their first request, and each request as a place among them.
fn numbered<'a>(words: &[Word<'a>]) -> Result<(Vec<&'a str>, Vec<u32>), Fault> {
    if let Some(word) = words.iter().find(|word| word.text.chars().count() > LONGEST_NAME) {
        return Err(word.fault(&format!("is too long: a name has at most {LONGEST_NAME} characters")));
    }
    let (mut names, mut numbers) = (Vec::new(), BTreeMap::new());
    let keys = words.iter().map(|word| {
        *numbers.entry(word.text).or_insert_with(|| {
            names.push(word.text);
            names.len() as u32 - 1
        })
    });
    let keys = keys.collect();
    Ok((names, keys))
}

fn policies(text: &str) -> Result<Vec<Choice>, Fault> {
    if text.len() > LONGEST_CHOICE {
        return Err(format!("policies: they have {} characters, at most {LONGEST_CHOICE} are read", text.len()).into());
    }
    let read = choice::read(text)?;
    if read.len() > MOST_POLICIES {
        return Err(format!("policies: there are {}; at most {MOST_POLICIES} are compared", read.len()).into());
    }
    Ok(read)
}

/// The numbers of frames with which one frame more has more faults (Belady's anomaly).
fn rises(faults: &[u64]) -> Vec<u32> {
    let pairs = (1..).zip(faults.windows(2));
    pairs.filter(|(_, pair)| pair[1] > pair[0]).map(|(frames, _)| frames).collect()
}

fn stepped_as(step: &Step) -> Value {
    json!({ "fault": step.fault, "frames": step.frames })
}
