//! The shell commands that bring settings about and take them back, to be read before anything is changed, or
//! wants to do it elsewhere.

use crate::{
    place::DEBUGFS,
    reading::read_bounded,
    steps::{Plan, Step},
};
use schedlab_linux::Root;
use serde::Serialize;

/// Commands, and those that undo them.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Script {
    /// In this order.
    pub set: Vec<String>,
    /// In this order.
    pub back: Vec<String>,
}

/// The commands of a plan. Settings that change along with another are listed as comments.
pub fn script(root: &Root, plan: &Plan) -> Script {
    let mut script = Script::default();
    if plan.unmounted {
        script.set.push(format!("mount -t debugfs debugfs {DEBUGFS}"));
        script
            .set
            .push("# names of files below it as of the newest kernels; they can be looked up only then".to_owned());
    }
    for step in plan.steps() {
        let now = read_bounded(&root.path(&step.path)).ok();
        if let (Some(text), true) =
            (&step.text, step.passing || now.as_deref().and_then(|n| step.reading.of(n)) != step.text)
        {
            script.set.push(echo(text, step));
        }
        script.back.extend(back(step, now.as_deref()));
    }
    script.back.reverse();
    if plan.unmounted {
        script.back.push(format!("umount {DEBUGFS}"));
    }
    script
}

fn back(step: &Step, now: Option<&str>) -> Option<String> {
    let path = step.path.display();
    let Some(old) = now.and_then(|n| Some((n, step.reading.of(n)?))) else {
        return step.text.as_ref().map(|_| format!("# {path}: what it holds then can be read only then"));
    };
    if step.by.is_some() {
        return Some(format!("# {path} is {} again by the command above", old.1));
    }
    if step.text.as_ref() == Some(&old.1) && !step.passing {
        return None;
    }
    Some(echo(step.reading.back(old.0)?.trim_end(), step))
}

fn echo(text: &str, step: &Step) -> String {
    format!("echo {} > {}", quoted(text), quoted(&step.path.to_string_lossy()))
}

/// A word that the shell does not change.
pub(crate) fn quoted(text: &str) -> String {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+:@".contains(c));
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_file_as_they_are() {
        assert_eq!(quoted("mq-deadline"), "mq-deadline");
        assert_eq!(quoted("20000 100000"), "'20000 100000'");
        assert_eq!(quoted("a'b"), r"'a'\''b'");
    }
}
