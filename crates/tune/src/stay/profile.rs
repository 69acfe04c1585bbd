//! A profile: settings of a host under a name, as a TOML file that people keep and share.
//!
//! ```toml
//! name = "web"
//! about = "p99 of requests 12 % lower than before"
//! [tunables]
//! swappiness = 10
//! "elevator@vda" = "bfq"
//! ```

use schedlab_linux::Fault;
use serde::{Deserialize, Serialize, de};
use std::collections::BTreeMap;
use std::fmt;

/// The longest name.
const LONGEST_NAME: usize = 40;
/// The longest text about a profile.
const LONGEST_ABOUT: usize = 1000;
/// More settings than the table has, devices and groups included.
const MOST_SETTINGS: usize = 500;

/// Settings under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Lower-case letters, digits, `-` and `_`.
    pub name: String,
    /// Where the settings come from, and what they are worth.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Names of the table and values as users write them.
    #[serde(deserialize_with = "texts")]
    pub tunables: BTreeMap<String, String>,
}

impl Profile {
    /// A profile of settings.
    pub fn new(name: &str, about: &str, tunables: BTreeMap<String, String>) -> Result<Profile, Fault> {
        let profile = Profile { name: name.to_owned(), about: about.to_owned(), tunables };
        profile.check().map_err(Fault::Wrong)?;
        Ok(profile)
    }

    /// Reads the text of a file; `called` is the file's name in messages.
    pub fn read(text: &str, called: &str) -> Result<Profile, Fault> {
        let wrong = |why: String| Fault::Wrong(format!("{called}: {why}"));
        let profile: Profile = toml::from_str(text).map_err(|why| wrong(why.to_string().trim_end().to_owned()))?;
        profile.check().map_err(wrong)?;
        Ok(profile)
    }

    /// The text of its file.
    pub fn text(&self) -> String {
        let body = toml::to_string(self).expect("texts in tables are TOML");
        format!("# A profile of schedlab: schedlab host diff FILE, schedlab host install FILE.\n{body}")
    }

    /// Whether a name is one of a profile: it becomes part of names of files.
    pub(super) fn may_be_called(name: &str) -> bool {
        let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        name.starts_with(letter) && name.len() <= LONGEST_NAME && name.chars().all(|c| letter(c) || "-_".contains(c))
    }

    fn check(&self) -> Result<(), String> {
        if !Profile::may_be_called(&self.name) {
            return Err(format!(
                "name = {:?}: allowed: up to {LONGEST_NAME} lower-case letters, digits, - and _, a letter or digit first",
                self.name
            ));
        }
        if self.about.len() > LONGEST_ABOUT || self.about.contains(|c: char| c.is_control()) {
            return Err(format!("about: allowed: one line of up to {LONGEST_ABOUT} bytes"));
        }
        match self.tunables.len() {
            0 => {
                Err("tunables: there are none; write [tunables] and below it, for example, swappiness = 10".to_owned())
            }
            n if n > MOST_SETTINGS => Err(format!("tunables: there are {n}; allowed: up to {MOST_SETTINGS}")),
            _ => Ok(()),
        }
    }
}

/// Values as users write them: numbers and switches need no quotes.
fn texts<'de, D: de::Deserializer<'de>>(input: D) -> Result<BTreeMap<String, String>, D::Error> {
    let given: BTreeMap<String, Given> = BTreeMap::deserialize(input)?;
    Ok(given.into_iter().map(|(name, value)| (name, value.0)).collect())
}

struct Given(String);

impl<'de> Deserialize<'de> for Given {
    fn deserialize<D: de::Deserializer<'de>>(input: D) -> Result<Given, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Given;
            fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
                to.write_str("a text, a whole number, true or false")
            }
            fn visit_str<E>(self, text: &str) -> Result<Given, E> {
                Ok(Given(text.to_owned()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Given, E> {
                Ok(Given(number.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Given, E> {
                Ok(Given(number.to_string()))
            }
            fn visit_bool<E>(self, on: bool) -> Result<Given, E> {
                Ok(Given(on.to_string()))
            }
        }
        input.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        Profile::read(text, "web.toml").unwrap_err().to_string()
    }

    #[test]
    fn values_are_texts_numbers_and_switches() {
        let text = "name = 'web'\n[tunables]\nswappiness = 10\nautogroup = false\n'elevator@vda' = 'bfq'\n";
        let profile = Profile::read(text, "web.toml").unwrap();
        let values: Vec<_> = profile.tunables.iter().map(|(n, v)| format!("{n}={v}")).collect();
        assert_eq!(values, ["autogroup=false", "elevator@vda=bfq", "swappiness=10"]);
        assert_eq!(Profile::read(&profile.text(), "again").unwrap(), profile);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_file_and_field() {
        assert!(fault("name = 'Web'\n[tunables]\nswappiness = 1\n").starts_with("web.toml: name = \"Web\": allowed"));
        assert!(fault("name = '../x'\n[tunables]\nswappiness = 1\n").contains("allowed"));
        assert!(fault("name = 'web'\n[tunables]\n").contains("tunables: there are none"));
        assert!(fault("name = 'web'\n[tunables]\nswappiness = 1.5\n").contains("line 3"));
        assert!(fault("name = 'web'\ntunabels = 1\n").contains("tunabels"));
        assert!(fault("name = 'web'\nabout = \"a\\nb\"\n[tunables]\na = 1\n").contains("one line"));
        assert!(fault("").contains("name"));
    }
}
