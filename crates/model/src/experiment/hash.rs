//! The hash of a scenario: SHA-256 of its canonical text, JSON with the fields in the order of their names.

use crate::{
    machine::Machine,
    scenario::{Job, Recording, Scenario},
};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::{borrow::Cow, collections::BTreeMap};

/// SHA-256 of what decides the results of a scenario.
pub type Digest = [u8; 32];

/// SHA-256 of what decides the results of a checked scenario: not its spelling, its title, or where values come from.
pub fn hash(scenario: &Scenario) -> String {
    hex(&Hasher::default().digest(scenario))
}

/// As it is written.
pub(super) fn hex(digest: &Digest) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// Hashes the scenarios of a sweep one after the other. Machine and workload are most of a scenario's text and the same in most
/// cells: they are written out only where they differ from those of the scenario before.
#[derive(Debug, Default)]
pub(super) struct Hasher {
    machine: Written<Machine>,
    workload: Written<BTreeMap<String, Job>>,
}

impl Hasher {
    /// [`hash`] of a scenario, not written out.
    pub(super) fn digest(&mut self, scenario: &Scenario) -> Digest {
        let Scenario {
            machine,
            scheduler,
            elevator,
            cache,
            reclaim,
            workload,
            groups,
            shared,
            duration,
            attention,
            tunables,
            recording,
        } = scenario;
        let given = |choice: &Option<_>| choice.as_ref().map(|choice| Cow::Owned(text(choice)));
        // By name, without those that are left out where nothing is given.
        let fields = [
            ("attention", attention.as_ref().map(|attention| Cow::Owned(text(attention)))),
            ("cache", given(cache)),
            ("duration", duration.as_ref().map(|duration| Cow::Owned(text(duration)))),
            ("elevator", given(elevator)),
            ("groups", (!groups.is_empty()).then(|| Cow::Owned(text(groups)))),
            ("machine", Some(Cow::Borrowed(self.machine.text(machine, machine_text)))),
            ("reclaim", given(reclaim)),
            ("recording", recording.as_ref().map(|recording| Cow::Owned(recorded(recording)))),
            ("scheduler", Some(Cow::Owned(text(scheduler)))),
            ("shared", (!shared.is_empty()).then(|| Cow::Owned(text(shared)))),
            ("tunables", (!tunables.is_empty()).then(|| Cow::Owned(text(tunables)))),
            ("workload", Some(Cow::Borrowed(self.workload.text(workload, text)))),
        ];
        let mut digest = Sha256::new();
        let mut before = "{";
        for (name, value) in fields.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
            for part in [before, "\"", name, "\":", value] {
                digest.update(part);
            }
            before = ",";
        }
        digest.update("}");
        digest.finalize().into()
    }
}

/// The text of a value that is often the same as the one before.
#[derive(Debug)]
struct Written<T>(Option<(T, String)>);

impl<T> Default for Written<T> {
    fn default() -> Self {
        Written(None)
    }
}

impl<T: Clone + PartialEq> Written<T> {
    fn text(&mut self, value: &T, write: impl Fn(&T) -> String) -> &str {
        if self.0.as_ref().is_none_or(|(known, _)| known != value) {
            self.0 = Some((value.clone(), write(value)));
        }
        self.0.as_ref().map_or("", |(_, text)| text)
    }
}

/// A value as JSON, its fields in the order of their names.
/// Wherever the file is, the same work at the same speed gives the same results.
fn recorded(recording: &Recording) -> String {
    match recording.speed {
        None => text(&recording.sha256),
        Some(speed) => text(&(&recording.sha256, speed)),
    }
}

fn text<T: Serialize>(value: &T) -> String {
    tree(value).to_string()
}

fn tree<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).expect("a scenario has text keys only")
}

fn machine_text(machine: &Machine) -> String {
    let mut machine = tree(machine);
    if let Some(fields) = machine.as_object_mut() {
        fields.remove("title");
        fields.values_mut().for_each(drop_sources);
    }
    machine.to_string()
}

/// From `{ value, source }` to the value.
fn drop_sources(value: &mut Value) {
    if let Value::Object(table) = value {
        match table.contains_key("source").then(|| table.remove("value")).flatten() {
            Some(bare) => *value = bare,
            None => table.values_mut().for_each(drop_sources),
        }
    }
}
