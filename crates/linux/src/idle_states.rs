//! The idle states of the first processor, as its cpuidle driver reports them. Many virtual machines have no driver, and report none.

use crate::Root;
use schedlab_model::{Nanos, units::spell_duration};

/// Most states of a processor (CPUIDLE_STATE_MAX).
const MOST_STATES: usize = 10;
/// Longest time that is believed, in microseconds: deep states of processors in use take some milliseconds.
const LONGEST: u64 = 1_000_000;
const FOLDER: &str = "/sys/devices/system/cpu/cpu0/cpuidle";

/// A state: for how long its processor is idle at least, and what it takes to leave it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct State {
    residency: Nanos,
    latency: Nanos,
}

/// The states as a line of a preset; nothing where there is none that takes time.
///
/// A state that is not deeper than the one before it in both times is left out, as is one that is switched off: the kernel has no reason to
/// enter it.
pub fn line(root: &Root) -> String {
    let mut states: Vec<State> = Vec::new();
    for state in (0..MOST_STATES).map_while(|number| read(root, number)).flatten() {
        if states.last().is_none_or(|before| state.residency > before.residency && state.latency >= before.latency) {
            states.push(state);
        }
    }
    if states.iter().all(|state| state.latency == 0) {
        return String::new();
    }
    let written = states.into_iter().map(|State { residency, latency }| {
        let of = |name: &str, time: Nanos| {
            format!("{name} = {{ value = \"{}\", source = \"{FOLDER}\" }}", spell_duration(time))
        };
        format!("{{ {}, {} }}", of("residency", residency), of("latency", latency))
    });
    format!("idle_states = [{}]\n", written.collect::<Vec<_>>().join(", "))
}

/// The state of this number, if there is one; nothing of it if it is switched off or says nothing that is believed.
fn read(root: &Root, number: usize) -> Option<Option<State>> {
    let file = |name: &str| root.read(format!("{FOLDER}/state{number}/{name}"));
    let latency = file("latency").ok()?;
    let off = file("disable").is_ok_and(|text| text.trim() != "0");
    let time = |text: String| text.trim().parse().ok().filter(|&us: &u64| us <= LONGEST).map(|us| 1000 * us);
    let state = || Some(State { residency: time(file("residency").ok()?)?, latency: time(latency)? });
    Some(state().filter(|_| !off))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The line of a host with these states: residency, latency and what `disable` says.
    fn of(states: &[[&str; 3]]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        for (number, [residency, latency, disable]) in states.iter().enumerate() {
            let state = root.path(format!("{FOLDER}/state{number}"));
            fs::create_dir_all(&state).unwrap();
            for (name, text) in [("residency", residency), ("latency", latency), ("disable", disable)] {
                fs::write(state.join(name), format!("{text}\n")).unwrap();
            }
        }
        line(&root)
    }

    #[test]
    fn they_are_those_of_the_driver() {
        let line = of(&[["0", "0", "0"], ["2", "2", "0"], ["20", "10", "0"], ["600", "133", "0"]]);
        assert_eq!(line.matches("residency").count(), 4);
        assert!(line.contains("value = \"600us\"") && line.contains("value = \"133us\"") && line.ends_with("]\n"));
    }

    #[test]
    fn the_line_is_one_of_a_machine() {
        let source = "source = \"/sys/devices/system/cpu/cpu0/cpuidle\"";
        let state =
            format!("{{ residency = {{ value = \"600us\", {source} }}, latency = {{ value = \"133us\", {source} }} }}");
        assert_eq!(of(&[["600", "133", "0"]]), format!("idle_states = [{state}]\n"));
    }

    #[test]
    fn one_that_is_switched_off_or_not_deeper_is_left_out() {
        let line = of(&[["2", "2", "0"], ["20", "10", "1"], ["2", "3", "0"], ["30", "1", "0"], ["600", "133", "0"]]);
        assert_eq!(line.matches("latency").count(), 2, "{line}");
        assert!(line.contains("133us") && !line.contains("10us"));
    }

    #[test]
    fn there_is_no_line_where_none_takes_time() {
        assert_eq!(of(&[]), "");
        assert_eq!(of(&[["0", "0", "0"]]), "");
        assert_eq!(of(&[["x", "y", "0"], ["1", "99999999999999999999", "0"], ["3", "-4", "0"]]), "");
    }
}
