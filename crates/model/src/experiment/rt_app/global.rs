//! The object "global" of an rt-app file: what holds for all tasks, and what is of rt-app's own logs.

use super::json::{Node, Table};
use crate::{
    experiment::{path::Path, problem::Fault},
    task::Policy,
};

/// Longest time in a field of seconds: what a C int of rt-app can hold, and an experiment.
const MOST_SECONDS: i64 = 3_600_000;
/// Largest value of a C int.
pub(super) const MOST: i64 = i32::MAX as i64;
/// Bytes of the buffer of "mem" and "iorun", if none are given.
const BUFFER: u64 = 4 << 20;
/// Where "iorun" writes to, if no file is given.
const NULL_DEVICE: &str = "/dev/null";

/// The names of policies.
pub(super) const POLICIES: [(&str, Policy); 6] = [
    ("SCHED_OTHER", Policy::Other),
    ("SCHED_BATCH", Policy::Batch),
    ("SCHED_IDLE", Policy::Idle),
    ("SCHED_FIFO", Policy::Fifo),
    ("SCHED_RR", Policy::Rr),
    ("SCHED_DEADLINE", Policy::Deadline),
];

/// The settings of rt-app's logs, which change nothing that its tasks do.
const OF_LOGS: [&str; 7] =
    ["logdir", "log_basename", "log_size", "ftrace", "gnuplot", "cumulative_slack", "lock_pages"];

/// What holds for all tasks.
#[derive(Debug)]
pub(super) struct Global {
    /// s; without end, if not given.
    pub duration: Option<u64>,
    pub policy: Policy,
    /// Whether mutexes inherit priorities.
    pub inherits: bool,
    /// Bytes.
    pub buffer: u64,
    /// The file that "iorun" writes to, if it is one.
    pub device: Option<String>,
}

/// Reads it; `notes` gets what is not used, and why that changes nothing.
pub(super) fn global(written: Option<Node<'_>>, notes: &mut Vec<String>) -> Result<Global, Fault> {
    let mut all = Global { duration: None, policy: Policy::Other, inherits: false, buffer: BUFFER, device: None };
    let Some(table) = written.map(|node| node.table()).transpose()? else { return Ok(all) };
    let mut unused: Vec<&str> = Vec::new();
    for (key, _) in table.entries() {
        let Some(node) = table.get(key)? else { continue };
        match key {
            "duration" => all.duration = u64::try_from(node.whole(-1, MOST_SECONDS)?).ok().filter(|&length| length > 0),
            "default_policy" => all.policy = policy(&node)?,
            "pi_enabled" => all.inherits = node.switch()?,
            "mem_buffer_size" => all.buffer = node.whole(1, MOST)?.unsigned_abs(),
            "io_device" => all.device = Some(node.text()?.to_owned()).filter(|name| name != NULL_DEVICE),
            "calibration" => calibration(&node, notes)?,
            _ if OF_LOGS.contains(&key) => unused.push(key),
            _ => notes.push(format!("{} is not a setting of rt-app: ignored", node.at)),
        }
    }
    if unused.contains(&"lock_pages") {
        notes.push(
            "global.lock_pages is ignored: tasks lock their pages on a host, and are never paged out elsewhere"
                .to_owned(),
        );
        unused.retain(|&key| key != "lock_pages");
    }
    if !unused.is_empty() {
        notes.push(format!("ignored, for rt-app's own logs only: global.{}", unused.join(", global.")));
    }
    Ok(all)
}

/// A policy by its name.
pub(super) fn policy(node: &Node<'_>) -> Result<Policy, Fault> {
    let name = node.text()?;
    let known = POLICIES.iter().find(|(known, _)| *known == name).map(|(_, policy)| *policy);
    known
        .ok_or_else(|| Fault::unknown(node.at.clone(), name, "is not a policy", POLICIES.iter().map(|(name, _)| *name)))
}

/// A loop's length is a property of rt-app and its processor. Work here is in time at full speed.
fn calibration(node: &Node<'_>, notes: &mut Vec<String>) -> Result<(), Fault> {
    if let Ok(name) = node.text() {
        let number = name.strip_prefix("CPU").and_then(|number| number.parse::<u16>().ok());
        return number.map(drop).ok_or_else(|| node.fault(format!("{name:?} is not a processor like \"CPU0\"")));
    }
    let length = node.whole(0, MOST)?;
    if length > 0 {
        notes.push(format!(
            "global.calibration is ignored: run is work in us at full speed, as where a loop of rt-app takes {length} ns"
        ));
    }
    Ok(())
}

/// The first key that rt-app would ignore without a word.
pub(super) fn refuse_unknown(table: &Table<'_>, known: &[&str], at: &Path) -> Result<(), Fault> {
    match table.entries().find(|(key, _)| !known.contains(key)) {
        Some((key, _)) => Err(Fault::field(at, key, known.iter().copied())),
        None => Ok(()),
    }
}
