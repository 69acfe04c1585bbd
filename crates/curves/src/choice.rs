//! Which policies are run: "lru", "all", or with parameters "s3_fifo:small=20%", several with commas.

use schedlab_model::info::{Info, Params};
use schedlab_policies::caches::{CACHES, IN_BYTES};

/// The name that means every policy of the table.
const ALL: &str = "all";

/// A policy and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// As it was written.
    pub label: String,
    /// Its entry.
    pub name: &'static str,
    /// Checked.
    pub params: Params,
}

/// Reads choices; duplicates are dropped. The error says what was found and what is allowed.
pub fn read(text: &str) -> Result<Vec<Choice>, String> {
    let mut choices: Vec<Choice> = Vec::new();
    for written in text.split(',').map(str::trim) {
        let read = match written {
            ALL => CACHES.iter().map(|info| choice(info, info.name)).collect::<Result<_, _>>()?,
            one => vec![choice(find(one)?, one)?],
        };
        read.into_iter().for_each(|choice| {
            if !choices.contains(&choice) {
                choices.push(choice);
            }
        });
    }
    Ok(choices)
}

fn find(written: &str) -> Result<&'static Info, String> {
    let name = written.split(':').next().unwrap_or_default();
    CACHES.iter().find(|info| info.name == name).ok_or_else(|| {
        let nearest = CACHES.iter().min_by_key(|info| strsim::damerau_levenshtein(info.name, name));
        let meant = nearest.map(|info| format!("; did you mean {:?}?", info.name)).unwrap_or_default();
        format!("no eviction policy is called {name:?}{meant} See: schedlab list caches")
    })
}

fn choice(info: &Info, written: &str) -> Result<Choice, String> {
    let settings = written.split(':').skip(1).map(|setting| {
        let pair = setting.split_once('=').map(|(name, value)| (name.trim(), value.trim().to_owned()));
        pair.ok_or_else(|| format!("{written:?}: {setting:?} sets nothing: write {}:parameter=value", info.name))
    });
    let settings: Vec<(&str, String)> = settings.collect::<Result<_, _>>()?;
    let twice = |name: &str| settings.iter().filter(|(other, _)| *other == name).count() > 1;
    if let Some((name, _)) = settings.iter().find(|(name, _)| twice(name)) {
        return Err(format!("{written:?}: {name} is set twice"));
    }
    let params = Params::check(info, settings).map_err(|(name, why)| {
        let known: Vec<&str> = info.parameters.iter().map(|parameter| parameter.name).collect();
        let known = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
        format!("{written:?}: {name}: {why}; {known}")
    })?;
    Ok(Choice { label: written.to_owned(), name: info.name, params })
}

/// The choices, if all of them heed sizes. `all` is then every policy that does.
pub fn in_bytes(choices: Vec<Choice>, text: &str) -> Result<Vec<Choice>, String> {
    let all = text.split(',').any(|written| written.trim() == ALL);
    let heeds = |choice: &Choice| IN_BYTES.contains(&choice.name);
    match choices.iter().find(|choice| !heeds(choice)) {
        Some(choice) if !all => Err(format!(
            "{} counts slots of one size, so a cache of bytes cannot be run by it: leave it out, or count objects; {} heed sizes",
            choice.name,
            IN_BYTES.join(", ")
        )),
        _ => Ok(choices.into_iter().filter(heeds).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_every_policy_of_the_table_once() {
        let names: Vec<&str> = CACHES.iter().map(|info| info.name).collect();
        let read = read("lru, all,lru").unwrap();
        assert_eq!(read.len(), names.len());
        assert!(names.iter().all(|name| read.iter().any(|choice| choice.name == *name)));
    }

    #[test]
    fn a_policy_of_slots_is_refused_where_bytes_count_and_left_out_of_all() {
        let chosen = |text| in_bytes(read(text).unwrap(), text);
        assert_eq!(chosen("all").unwrap().len(), IN_BYTES.len());
        assert_eq!(chosen("lru,arc").unwrap().len(), 2);
        assert!(chosen("lru,lirs").unwrap_err().contains("lirs counts slots of one size"));
    }

    #[test]
    fn every_parameter_can_be_set_to_its_default() {
        for info in CACHES {
            let defaults = info.parameters.iter().filter_map(|p| Some(format!(":{}={}", p.name, p.default?)));
            let written = format!("{}{}", info.name, defaults.collect::<String>());
            let (set, left) = (read(&written).unwrap(), read(info.name).unwrap());
            assert_eq!(set[0].params, left[0].params, "{written}");
            assert_eq!(set[0].label, written);
        }
    }

    #[test]
    fn a_wrong_choice_is_refused_with_what_would_be_right() {
        assert!(read("lur").unwrap_err().contains("did you mean \"lru\"?"));
        assert!(read("").unwrap_err().contains("no eviction policy is called \"\""));
        assert!(read("lru:fast").unwrap_err().contains("sets nothing: write lru:parameter=value"));
        assert!(read("lru:a=1:a=2").unwrap_err().contains("a is set twice"));
        assert!(read("lru:size=1").unwrap_err().contains("size: lru has no such parameter; it has none"));
    }
}
