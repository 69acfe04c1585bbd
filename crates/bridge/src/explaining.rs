//! Explains a recording of a kernel: a path and what is asked in, JSON out; see `schedlab_explain::Report` for its fields.

use crate::{from_json, json};
use schedlab_explain::{By, Explainer, Group, Options};
use schedlab_traces::kernel;
use serde::Deserialize;
use std::path::Path;

/// What the user asks.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Asked {
    cpu: Option<u16>,
    task: Option<String>,
    from_ns: Option<u64>,
    to_ns: Option<u64>,
    by: Option<String>,
    groups: Vec<String>,
    blocks: bool,
}

impl Asked {
    fn options(self) -> Result<Options, String> {
        let Asked { cpu, task, from_ns: from, to_ns: to, by, groups, blocks } = self;
        let by = by.map_or(Ok(By::default()), |name| {
            let found = By::ALL.into_iter().find(|it| it.0 == name);
            let names = By::ALL.map(|it| it.0).join(", ");
            found.map(|it| it.1).ok_or_else(|| format!("rows by {name:?} are unknown; there are: {names}"))
        })?;
        let groups = groups.iter().map(|text| Group::read(text)).collect::<Result<Vec<Group>, String>>()?;
        for (place, group) in groups.iter().enumerate() {
            if groups[..place].iter().any(|other| other.name == group.name) {
                return Err(format!("group {}: the name is given twice", group.name));
            }
        }
        Ok(Options { cpu, task, from, to, by, groups, blocks })
    }
}

/// Checks what is asked, before a long file is read.
pub fn check(asked_json: &str) -> Result<(), String> {
    from_json::<Asked>("asked", asked_json)?.options().map(|_| ())
}

/// Reads a recording and says what happened in it.
pub fn explain(path: &Path, asked_json: &str) -> Result<String, String> {
    let mut explainer = Explainer::new(from_json::<Asked>("asked", asked_json)?.options()?);
    let named = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let head = kernel::read(path, &mut explainer).map_err(|why| named(&why))?;
    json(&explainer.report(&head).map_err(|why| named(&why))?)
}

/// Takes what is asked, for events from elsewhere.
pub(crate) fn explainer(asked_json: &str) -> Result<Explainer, String> {
    Ok(Explainer::new(from_json::<Asked>("asked", asked_json)?.options()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_wrongly_is_refused_before_the_file_is_read() {
        let refused = |text: &str| check(text).unwrap_err();
        assert_eq!(refused(r#"{"by": "tid"}"#), "rows by \"tid\" are unknown; there are: pid, comm, tgid, cgroup");
        assert!(refused(r#"{"groups": ["a=x", "a=y"]}"#).contains("given twice"));
        assert!(refused(r#"{"groups": ["a"]}"#).contains("as in server=redis.*"));
        assert!(refused(r#"{"cpus": 1}"#).contains("unknown field `cpus`"));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        assert!(explain(Path::new("no/such"), "{}").unwrap_err().starts_with("no/such: "));
    }
}
