//! The scheduling domains that the policies of Linux build for the first processor.

use super::Topology;
use schedlab_model::processors::MOST_PROCESSORS;
use schedlab_policies::schedulers::{NamedDomain, named_domains};
use serde_json::{Value, json};
use std::fmt::Write;

/// Of the column of groups.
const WIDTH: usize = 20;

/// Those of a topology whose processors have these numbers.
pub fn of(topology: &Topology, numbers: &[u16]) -> Vec<NamedDomain> {
    // They are known of machines that can be simulated.
    if !(2..=MOST_PROCESSORS).contains(&usize::from(topology.processors())) {
        return Vec::new();
    }
    let numbered = |all: Vec<u16>| all.into_iter().map(|cpu| numbers[usize::from(cpu)]).collect();
    let named = |domain: NamedDomain| NamedDomain {
        processors: numbered(domain.processors),
        groups: domain.groups.into_iter().map(numbered).collect(),
        ..domain
    };
    named_domains(topology).into_iter().map(named).collect()
}

pub fn json(domain: &NamedDomain) -> Value {
    let NamedDomain { level, distance, processors, groups, flags } = domain;
    json!({ "level": level, "distance": distance, "processors": processors, "groups": groups, "flags": flags })
}

/// A line for each.
pub fn drawing(domains: &[NamedDomain]) -> String {
    let Some(first) = domains.first() else { return String::new() };
    let mut text = format!(
        "\ndomains of processor {} under eevdf and cfs\n{:<8} {:>10} {:>6} {:<20} flags\n",
        first.groups[0][0], "level", "processors", "groups", "own group"
    );
    for NamedDomain { level, distance, processors, groups, flags } in domains {
        let level = distance.map_or_else(|| (*level).to_owned(), |distance| format!("{level} {distance}"));
        let (processors, count) = (processors.len(), groups.len());
        let _ = writeln!(text, "{level:<8} {processors:>10} {count:>6} {:<20} {}", short(&groups[0]), flags.join(" "));
    }
    text
}

/// As many of some numbers as there is room for.
fn short(numbers: &[u16]) -> String {
    let all = ranges(numbers);
    if all.len() <= WIDTH {
        return all;
    }
    let end = all[..=WIDTH - 4].rfind(',').unwrap_or(0);
    format!("{},...", &all[..end])
}

/// Ascending numbers, those that follow each other as a range.
fn ranges(numbers: &[u16]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next);
    let range = |run: &[u16]| match run {
        [first, .., last] => format!("{first}-{last}"),
        [only] => only.to_string(),
        [] => String::new(),
    };
    runs.map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_a_range_and_too_many_are_cut() {
        assert_eq!(short(&[0, 1, 2, 3, 32, 33, 40]), "0-3,32-33,40");
        assert_eq!(short(&[0, 2, 4, 6, 8, 10, 12, 14]), "0,2,4,6,8,10,12,14");
        assert_eq!(short(&[0, 2, 4, 6, 8, 10, 12, 14, 16]), "0,2,4,6,8,10,12,...");
    }
}
