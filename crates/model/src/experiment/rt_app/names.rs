//! Names of an rt-app file as an experiment can have them: letters, digits, "_" and "-", and each once.

use std::collections::{BTreeMap, BTreeSet};

/// What a name is for. Within a kind rt-app tells names apart; so it does between kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Task,
    Mutex,
    Condition,
    Barrier,
    Semaphore,
    Timer,
    Group,
}

impl Kind {
    /// Kinds whose names an experiment does not tell apart.
    fn space(self) -> u8 {
        match self {
            Kind::Mutex | Kind::Barrier | Kind::Semaphore => 0,
            other => 1 + other as u8,
        }
    }
}

/// Longest name, in characters; some are left for a number.
const LONGEST: usize = 56;

/// All names of a file.
#[derive(Debug, Default)]
pub(super) struct Names {
    given: BTreeMap<(Kind, String), String>,
    taken: BTreeSet<(u8, String)>,
    /// The last number that made a name another one.
    numbers: BTreeMap<(u8, String), u32>,
}

impl Names {
    /// The name here of what is called `written` there.
    pub fn of(&mut self, kind: Kind, written: &str) -> String {
        let key = (kind, written.to_owned());
        if let Some(known) = self.given.get(&key) {
            return known.clone();
        }
        let fits = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '_' };
        let plain: String = written.chars().take(LONGEST).map(fits).collect();
        let plain = if plain.is_empty() && kind != Kind::Timer { "_".to_owned() } else { plain };
        let number = self.numbers.entry((kind.space(), plain.clone())).or_insert(1);
        let mut name = plain.clone();
        while !self.taken.insert((kind.space(), name.clone())) {
            *number += 1;
            name = format!("{plain}_{number}");
        }
        self.given.insert(key, name.clone());
        name
    }

    /// The tasks that are called otherwise here: there, here.
    pub fn renamed_tasks(&self) -> impl Iterator<Item = (&str, &str)> {
        let tasks = self.given.iter().filter(|((kind, written), name)| *kind == Kind::Task && written != *name);
        tasks.map(|((_, written), name)| (written.as_str(), name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_and_is_the_name_of_one_thing() {
        let mut names = Names::default();
        assert_eq!(names.of(Kind::Task, "mp3.decoder"), "mp3_decoder");
        assert_eq!(names.of(Kind::Task, "mp3 decoder"), "mp3_decoder_2");
        assert_eq!(names.of(Kind::Task, "mp3.decoder"), "mp3_decoder");
        assert_eq!(names.of(Kind::Mutex, "a"), "a");
        assert_eq!(names.of(Kind::Barrier, "a"), "a_2");
        assert_eq!(names.of(Kind::Condition, "a"), "a");
        assert_eq!(names.of(Kind::Timer, ""), "");
        assert_eq!(names.of(Kind::Mutex, ""), "_");
        assert_eq!(names.of(Kind::Task, &"x".repeat(1000)).len(), LONGEST);
        assert_eq!(names.renamed_tasks().count(), 3);
    }
}
