//! From settings as people write them to steps in the right order: everything that can be refused is refused here, before
//! anything is touched.
//!
//! ```text
//! Each setting: its entry in the table, its file on this host, its value in the file's unit, within the range, offered by
//! this kernel. Then settings that belong together: ratios and bytes that zero each other, runtime and period, an elevator and its
//! numbers.
//! Four stages, each read, journalled and written as a whole:
//!   1  independent settings; the old numbers of an elevator that goes (to be written again when it returns); the elevator
//!   2  the depth of the device, which can be written only while the queue has no elevator
//!   3  the elevator, if it had to go for the depth
//!   4  the new elevator's numbers
//! ```

use crate::{
    change::Change,
    entry::{Encoding, Place, Tunable},
    place::{Access, Asked, Found, find, present},
    reading::{Reading, read_bounded},
    table,
};
use schedlab_linux::{Fault, Root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Stages of a change.
const STAGES: usize = 4;

/// One file to be read, remembered and perhaps written.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// As the user named the setting.
    pub setting: String,
    /// The kernel's file.
    pub path: PathBuf,
    /// How its text is read.
    pub reading: Reading,
    /// What to write; nothing if it changes by itself.
    pub text: Option<String>,
    /// See `Change`.
    pub by: Option<PathBuf>,
    /// See `Change`.
    pub follows: Option<PathBuf>,
    /// What is said when the kernel refuses it.
    pub advice: Option<&'static str>,
    /// Whether it is in force only for the next stage.
    pub passing: bool,
}

impl Step {
    /// Whether it is about the same value of the kernel as that change.
    pub(crate) fn is_of(&self, change: &Change) -> bool {
        self.path == change.path && self.reading == change.reading
    }
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// In this order.
    pub stages: [Vec<Step>; STAGES],
    /// Whether debugfs has to be mounted before more can be said.
    pub unmounted: bool,
}

impl Plan {
    /// Every step, in order.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.stages.iter().flatten()
    }
}

/// A setting that has been found on this host.
pub(crate) struct Wanted {
    pub(crate) setting: String,
    pub(crate) tunable: &'static Tunable,
    pub(crate) found: Found,
    pub(crate) text: String,
}

/// Plans the settings; devices that are not named are those of `folder`.
pub fn plan(root: &Root, settings: &BTreeMap<String, String>, folder: &Path) -> Result<Plan, Fault> {
    let wanted = settings.iter().map(|(s, v)| judge(root, s, v, folder)).collect::<Result<Vec<_>, _>>()?;
    let mut plan = Plan { unmounted: wanted.iter().any(|w| w.found.access == Access::Unmounted), ..Plan::default() };
    contradictions(&wanted)?;
    for one in &wanted {
        permitted(root, one, &wanted)?;
    }
    for one in real_time_in_order(root, &wanted)? {
        place(root, one, &wanted, &mut plan)?;
    }
    Ok(plan)
}

/// Name, file and value of one setting.
pub(crate) fn judge(root: &Root, setting: &str, value: &str, folder: &Path) -> Result<Wanted, Fault> {
    let asked = Asked::read(setting);
    let mut tunable = table::named(asked.name).ok_or_else(|| unknown(asked.name))?;
    let mut found = find(root, tunable, asked.of, folder)?;
    if found.access == Access::PerTask {
        return Err(Fault::Wrong(format!(
            "{setting}: each task asks for it; give it to a job of an experiment, it is no setting of the host"
        )));
    }
    if let Some(other) = tunable.also.and_then(table::named).filter(|_| found.access == Access::Missing) {
        let there = find(root, other, asked.of, folder)?;
        if there.access != Access::Missing {
            (tunable, found) = (other, there);
        }
    }
    let text = tunable.encode(value).map_err(|why| {
        let allowed = if tunable.encoding == Encoding::Chosen {
            String::new()
        } else {
            format!("; allowed: {}", tunable.allowed())
        };
        Fault::Wrong(format!("{setting} = {value:?}: {why}{allowed}"))
    })?;
    let text = if matches!(found.place, Place::Group2(_)) && text == "-1" { "max".to_owned() } else { text };
    let text = as_offered(root, &found, text);
    Ok(Wanted { setting: setting.to_owned(), tunable, found, text })
}

/// A word as this kernel spells it: policies of experiment files are written with `_`, as in `mq_deadline`.
fn as_offered(root: &Root, found: &Found, text: String) -> String {
    let dashed = text.replace('_', "-");
    let offered = found.reading == Reading::Chosen && present(root, found).is_some_and(|now| now.1.contains(&dashed));
    if offered { dashed } else { text }
}

fn unknown(name: &str) -> Fault {
    let shared = |t: &&Tunable| t.name.contains(name) || name.contains(t.name);
    let near: Vec<_> = table::all().filter(shared).map(|t| t.name).take(6).collect();
    let hint = if near.is_empty() { String::new() } else { format!("; there is {}", near.join(", ")) };
    Fault::Wrong(format!("no such tunable: {name:?}{hint}; schedlab host tunables lists them"))
}

fn contradictions(wanted: &[Wanted]) -> Result<(), Fault> {
    let mut seen: BTreeMap<(&Path, &str), &str> = BTreeMap::new();
    for one in wanted {
        // One file holds all flags, and the depth is written into the file of nr_requests.
        if let Some(other) = seen.insert((&one.found.path, one.tunable.name), &one.setting) {
            return Err(Fault::Wrong(format!("{other} and {} are the same setting", one.setting)));
        }
        if let Some(other) = wanted.iter().find(|o| Some(o.tunable.name) == one.tunable.zeroes) {
            let why = one.tunable.coupled.unwrap_or_default();
            return Err(Fault::Wrong(format!(
                "{} and {} exclude each other: {} {why}",
                one.setting, other.setting, one.setting
            )));
        }
    }
    Ok(())
}

/// Whether it is there, may be written, and is offered.
fn permitted(root: &Root, one: &Wanted, wanted: &[Wanted]) -> Result<(), Fault> {
    let refuse = |why: String, advice: String| Err(Fault::Refused { what: one.setting.clone(), why, advice });
    let path = one.found.path.display();
    if let Place::Iosched(elevators, _) = one.found.place {
        return elevator_has(root, one, wanted, elevators);
    }
    match one.found.access {
        Access::Missing => {
            let (first, last) = one.tunable.kernels;
            let since = if first.is_empty() {
                String::new()
            } else {
                format!(
                    " (kernels from {first}{})",
                    if last.is_empty() { String::new() } else { format!(" to {last}") }
                )
            };
            let gone = one.tunable.gone.or(one.tunable.also).unwrap_or("leave it out, or take a kernel that has it");
            return refuse(format!("this kernel does not have it: there is no {path}{since}"), gone.to_owned());
        }
        Access::Forbidden => {
            return refuse(format!("{path} may not be opened"), closed("boot without lockdown, or leave it out"));
        }
        Access::ReadOnly => {
            return refuse(
                format!("{path} cannot be written"),
                closed("the host's owner has closed it (a container?)"),
            );
        }
        _ => {}
    }
    if let (Reading::Chosen, Some((_, offers))) = (&one.found.reading, present(root, &one.found))
        && !offers.contains(&one.text)
    {
        return refuse(
            format!("this kernel does not offer {:?} in {path}", one.text),
            format!("offered: {}", offers.join(", ")),
        );
    }
    Ok(())
}

/// What to do about a file that cannot be written: the advice for root is different.
pub(crate) fn closed(root_can: &str) -> String {
    if nix::unistd::geteuid().is_root() { root_can.to_owned() } else { "do it as root".to_owned() }
}

/// Whether the elevator that will be at work has this number.
fn elevator_has(root: &Root, one: &Wanted, wanted: &[Wanted], elevators: &[&str]) -> Result<(), Fault> {
    let queue = queue_of(&one.found.path);
    let scheduler = queue.join("scheduler");
    let will = wanted.iter().find(|w| w.found.path == scheduler).map(|w| w.text.clone());
    let elevator = will.clone().or_else(|| chosen(root, &scheduler)).unwrap_or_else(|| "none".to_owned());
    let there = root.path(&one.found.path).exists();
    if elevators.contains(&elevator.as_str()) && (will.is_some() || there) {
        return if there && one.found.access != Access::Writable {
            let why = format!("{} cannot be written", one.found.path.display());
            Err(Fault::Refused { what: one.setting.clone(), why, advice: "do it as root".to_owned() })
        } else {
            Ok(())
        };
    }
    let device = queue.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    Err(Fault::Refused {
        what: one.setting.clone(),
        why: format!("it is a number of {}, and {device} has {elevator}", elevators.join(" and ")),
        advice: one
            .tunable
            .gone
            .map_or_else(|| format!("set elevator@{device}={} with it", elevators[0]), str::to_owned),
    })
}

fn queue_of(path: &Path) -> PathBuf {
    let queue = path.ancestors().find(|a| a.file_name().is_some_and(|n| n == "queue"));
    queue.unwrap_or(path).to_owned()
}

fn chosen(root: &Root, path: &Path) -> Option<String> {
    Reading::Chosen.of(&read_bounded(&root.path(path)).ok()?)
}

/// Real-time runtime and period in an order in which the first never exceeds the second; refused if it will in the end.
fn real_time_in_order<'a>(root: &Root, wanted: &'a [Wanted]) -> Result<Vec<&'a Wanted>, Fault> {
    let mut order: Vec<&Wanted> = wanted.iter().collect();
    let at = |name: &str| wanted.iter().position(|w| w.tunable.name == name);
    let (runtime, period) = (at("rt_runtime"), at("rt_period"));
    if runtime.is_none() && period.is_none() {
        return Ok(order);
    }
    let now = |name: &str| {
        let found = find(root, table::named(name)?, None, Path::new("/")).ok()?;
        present(root, &found)?.0.parse::<i64>().ok()
    };
    let number = |index: Option<usize>| index.and_then(|i| wanted[i].text.parse::<i64>().ok());
    let (old_runtime, old_period) = (now("rt_runtime"), now("rt_period"));
    if let (Some(r), Some(p)) = (number(runtime).or(old_runtime), number(period).or(old_period))
        && r > p
    {
        let shown = |us: i64| schedlab_model::units::spell_duration(us.unsigned_abs().saturating_mul(1000));
        return Err(Fault::Wrong(format!(
            "rt_runtime would be {} and rt_period {}: it cannot be longer than its period",
            shown(r),
            shown(p)
        )));
    }
    if let (Some(r), Some(p), Some(new), Some(old)) = (runtime, period, number(period), old_runtime)
        && ((new < old) != (r < p))
    {
        order.swap(r, p);
    }
    Ok(order)
}

/// Puts a setting, and what goes with it, into its stages.
fn place(root: &Root, one: &Wanted, wanted: &[Wanted], plan: &mut Plan) -> Result<(), Fault> {
    let mut step = Step {
        setting: one.setting.clone(),
        path: one.found.path.clone(),
        reading: one.found.reading.clone(),
        text: Some(one.text.clone()),
        by: None,
        follows: None,
        advice: one.tunable.coupled,
        passing: false,
    };
    let queue = queue_of(&one.found.path);
    match one.found.place {
        Place::Queue("scheduler") => {
            let cut = wanted.iter().any(|w| w.found.place == Place::Depth && queue_of(&w.found.path) == queue);
            if !cut {
                companions(root, &queue, &one.text, &mut plan.stages[0]);
                plan.stages[0].push(step);
            }
        }
        Place::Depth => {
            let scheduler = queue.join("scheduler");
            let elevator = wanted.iter().find(|w| w.found.path == scheduler);
            let last = elevator.map(|w| w.text.clone()).or_else(|| chosen(root, &scheduler));
            let setting = elevator.map_or(&one.setting, |w| &w.setting).clone();
            let (path, reading) = (scheduler, Reading::Chosen);
            let change = Step { setting, path, reading, ..step.clone() };
            companions(root, &queue, "none", &mut plan.stages[0]);
            plan.stages[0].push(Step { text: Some("none".to_owned()), passing: true, ..change.clone() });
            plan.stages[1].push(Step { passing: true, ..step });
            plan.stages[2].push(Step { text: last, ..change });
        }
        Place::Iosched(..) => plan.stages[3].push(step),
        Place::Queue("nr_requests") => {
            let depth = queue.join("iosched/async_depth");
            if !wanted.iter().any(|w| w.found.path == depth) {
                plan.stages[3].push(follower(&one.setting, depth, &step.path));
            }
            plan.stages[3].push(step);
        }
        Place::Queue("wbt_lat_usec") => plan.stages[3].push(step),
        _ => {
            if let Some(partner) = zeroed(root, one)? {
                step.by = Some(partner.path.clone()).filter(|_| present(root, &one.found).is_some_and(|p| p.0 == "0"));
                plan.stages[0].push(partner);
            }
            plan.stages[0].push(step);
        }
    }
    Ok(())
}

/// The partner that will read 0, if it does not already.
fn zeroed(root: &Root, one: &Wanted) -> Result<Option<Step>, Fault> {
    let Some(partner) = one.tunable.zeroes.and_then(table::named) else { return Ok(None) };
    let found = find(root, partner, None, Path::new("/"))?;
    let step = Step {
        setting: one.setting.clone(),
        path: found.path.clone(),
        reading: found.reading.clone(),
        text: None,
        by: None,
        follows: None,
        advice: None,
        passing: false,
    };
    Ok(present(root, &found).filter(|now| now.0 != "0").map(|_| step))
}

/// What the kernel forgets when an elevator goes: its numbers, the length of its queue, the throttling of write-back.
fn companions(root: &Root, queue: &Path, next: &str, stage: &mut Vec<Step>) {
    let scheduler = queue.join("scheduler");
    if chosen(root, &scheduler).is_none_or(|now| now == next) {
        return;
    }
    let entries = std::fs::read_dir(root.path(queue.join("iosched")));
    let names: BTreeSet<_> = entries.into_iter().flatten().flatten().take(64).map(|e| e.file_name()).collect();
    let numbers = names.into_iter().map(|name| queue.join("iosched").join(name));
    for path in numbers.chain([queue.join("nr_requests"), queue.join("wbt_lat_usec")]) {
        stage.push(follower("elevator", path, &scheduler));
    }
}

fn follower(setting: &str, path: PathBuf, leader: &Path) -> Step {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Step {
        setting: format!("{setting} ({name})"),
        path,
        reading: Reading::Plain,
        text: None,
        by: None,
        follows: Some(leader.to_owned()),
        advice: None,
        passing: false,
    }
}
