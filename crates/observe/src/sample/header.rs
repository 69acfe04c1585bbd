//! The first line of a stream of samples, and the schema of all the others.

use super::open_file::Missing;
use super::{
    column::Column,
    disks::DISK,
    groups::GROUP,
    interrupts::INTERRUPT,
    memory::{MEMORY, PAGING},
    network::LINK,
    nice::LEVEL,
    pressure::PRESSURE,
    processors::{LOAD, SYSTEM, TIME},
    rates::RESOURCES,
    sampler::Sampler,
    tasks::TASK,
    tcp::TCP,
};
use schedlab_linux::{Root, process::units};
use schedlab_model::Nanos;
use serde::Serialize;
use serde_json::{Value, json};

/// The form of the lines, and its version, which changes when a key is removed or changes its meaning.
const SCHEMA: &str = "schedlab/samples/1";

/// What holds for all samples of a stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Header {
    #[serde(rename = "type")]
    kind: &'static str,
    schema: &'static str,
    agent: &'static str,
    kernel: Option<String>,
    /// The sampler's own, so that it can be reported from those it watches.
    pid: u32,
    /// The unit in which the kernel reports processor time; over a few ticks shares are coarse.
    ticks_per_second: u64,
    processors: usize,
    interval_ns: Nanos,
    began_unix_ns: u128,
    disks: Vec<String>,
    links: Vec<String>,
    groups: Vec<String>,
    missing: Vec<Missing>,
}

impl Header {
    /// Of a sampler that has taken its first sample.
    pub fn of(sampler: &Sampler, root: &Root, interval_ns: Nanos) -> Header {
        let (now, _) = sampler.last_two();
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Header {
            kind: "header",
            schema: SCHEMA,
            agent: env!("CARGO_PKG_VERSION"),
            kernel: root.read("/proc/sys/kernel/osrelease").ok().map(|release| release.trim().to_owned()),
            pid: std::process::id(),
            ticks_per_second: units().ticks,
            processors: now.each.len(),
            interval_ns,
            began_unix_ns: since.map_or(0, |since| since.as_nanos()),
            disks: now.disks.iter().map(|disk| disk.name.to_string()).collect(),
            links: now.links.iter().map(|link| link.name.to_string()).collect(),
            groups: sampler.wanted().groups.clone(),
            missing: sampler.missing().to_vec(),
        }
    }
}

fn columns<T>(table: &[Column<T>]) -> Value {
    table.iter().map(|c| json!({"name": c.name, "unit": c.unit, "meaning": c.meaning})).collect()
}

/// Every key of a line. A section is an object, or a list of objects, whose keys are all there in every line; a number is
/// null where it is not known.
pub fn schema() -> Value {
    let own = |name, unit, meaning| json!({"name": name, "unit": unit, "meaning": meaning});
    let section = |name: &str, many: bool, labels: &[&str], columns: Value| json!({"name": name, "list": many, "labels": labels, "columns": columns});
    let mut sections = vec![
        section("cpu", false, &[], columns(TIME)),
        section("cpus", true, &[], columns(TIME)),
        section("system", false, &[], columns(SYSTEM)),
        section("load", false, &[], columns(LOAD)),
        section("memory", false, &[], columns(MEMORY)),
        section("paging", false, &[], columns(PAGING)),
    ];
    sections.extend(RESOURCES.map(|resource| section(&format!("pressure.{resource}"), false, &[], columns(PRESSURE))));
    sections.extend([
        section("disks", true, &["name"], columns(DISK)),
        section("net", true, &["name"], columns(LINK)),
        section("tcp", false, &[], columns(TCP)),
        section("interrupts", true, &["name", "device"], columns(INTERRUPT)),
        section("groups", true, &["path"], columns(GROUP)),
        section("nice", true, &["nice"], columns(LEVEL)),
        section("tasks", true, &["pid", "name", "state", "policy", "nice"], columns(TASK)),
    ]);
    json!({
        "schema": SCHEMA,
        "line": [
            own("type", "", "\"sample\"; the first line is a \"header\""),
            own("at_ns", "ns", "when it was taken, of the monotonic clock"),
            own("seconds", "s", "since the sample before, over which rates are"),
            own("missed", "samples", "that were due in between and not taken; nothing is made up for them"),
            own("own_ns", "ns", "of processor time that the sampler used for this line"),
        ],
        "sections": sections,
        "null": "interrupts, nice and tasks are null where they were not asked for, interrupts also where not read",
    })
}
