//! The table of tunables. What people type, what the pages show and what is read from the host derive from it.

mod block;
mod groups;
mod memory;
mod scheduler;

use crate::entry::Tunable;

/// All tunables, a slice a family.
pub const TUNABLES: &[&[Tunable]] = &[
    scheduler::ORDINARY,
    scheduler::REAL_TIME,
    memory::PAGES,
    memory::WRITE_BACK,
    block::QUEUE,
    block::ELEVATORS,
    groups::GROUPS,
    groups::COUNTS,
];

/// All tunables, one after the other.
pub fn all() -> impl Iterator<Item = &'static Tunable> {
    TUNABLES.iter().copied().flatten()
}

/// The tunable of that name.
pub fn named(name: &str) -> Option<&'static Tunable> {
    all().find(|t| t.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Encoding;
    use schedlab_model::info::Domain;
    use std::collections::BTreeSet;

    #[test]
    fn no_name_occurs_twice_and_every_reference_is_to_an_entry() {
        let names: Vec<_> = all().map(|t| t.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        for tunable in all() {
            for other in [tunable.also, tunable.zeroes].into_iter().flatten() {
                assert!(names.contains(&other), "{} names {other}", tunable.name);
            }
        }
    }

    #[test]
    fn every_domain_suits_its_encoding() {
        for tunable in all() {
            let suits = match tunable.encoding {
                Encoding::Time(unit) => {
                    matches!(tunable.domain, Domain::Duration { low, high } if low % unit == 0 && high % unit == 0)
                }
                Encoding::Bytes(unit) => {
                    matches!(tunable.domain, Domain::Size { low, high } if low % unit == 0 && high % unit == 0)
                }
                Encoding::Number => matches!(tunable.domain, Domain::Count { .. }),
                Encoding::Switch | Encoding::Flag(_) => tunable.domain == Domain::Switch,
                Encoding::Named(names) => {
                    matches!(tunable.domain, Domain::Choice { names: allowed } if allowed.iter().all(|a| names.iter().any(|n| n.0 == *a)))
                }
                Encoding::Chosen => matches!(tunable.domain, Domain::Choice { .. }),
            };
            assert!(suits, "{}: {:?} in {:?}", tunable.name, tunable.encoding, tunable.domain);
        }
    }

    #[test]
    fn couples_name_each_other() {
        for tunable in all() {
            if let Some(other) = tunable.zeroes {
                assert_eq!(named(other).unwrap().zeroes, Some(tunable.name));
            }
        }
    }
}
