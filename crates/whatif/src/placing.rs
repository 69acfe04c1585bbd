//! How each task is treated in an experiment: from the state at the start where the recording has it, else from its events.

use crate::{
    groups::{GroupNames, USUAL_SHARES, described},
    history::{Recording, Task},
    treatment::Policy,
};
use schedlab_model::nice;
use schedlab_traces::kernel::{
    Pid,
    state::{self, State},
};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What the kernel calls policies, by their numbers in `sched_setattr(2)`; what is not here is an ordinary task.
const NAMES: [(u32, &str); 4] = [(1, "fifo"), (2, "rr"), (3, "batch"), (5, "idle")];
/// The policies of tasks that have slices: other, batch and idle.
const ORDINARY: [u32; 3] = [0, 3, 5];
/// Tasks in a chain of parents that are looked at.
const MOST_PARENTS: u32 = 64;
/// Processors of a mask that are looked at.
const MOST_PROCESSORS: u16 = 1024;

/// How a task is treated; tasks of one job are treated alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Placing {
    pub policy: &'static str,
    pub nice: i8,
    pub priority: u8,
    pub slice: Option<u64>,
    /// Empty: all.
    pub cpus: Vec<u16>,
    pub group: Option<String>,
}

/// Places the tasks of a recording.
pub(crate) struct Places<'a> {
    processors: &'a [u16],
    /// By task that was made within the recording, the one that made it.
    parents: BTreeMap<Pid, Pid>,
    known: BTreeMap<Pid, &'a state::Task>,
    /// Whether tasks of a session make a group.
    autogroup: bool,
    /// The slice of a task that asks for none.
    usual_slice: Option<u64>,
    /// Names of the groups of recorded tasks.
    names: GroupNames<'a>,
    /// By session, what the group of its tasks weighs.
    sessions: BTreeMap<&'a str, u64>,
}

impl<'a> Places<'a> {
    pub fn new(recording: &Recording, state: Option<&'a State>, processors: &'a [u16]) -> Places<'a> {
        let known = state.map(|state| state.tasks.iter().map(|task| (task.pid, task)).collect()).unwrap_or_default();
        let setting = |name: &str| state.and_then(|state| setting(state, name));
        let autogroup = setting("sched_autogroup_enabled") == Some(1);
        let made = recording.tasks.iter().filter(|task| task.forked);
        let parents = made.filter_map(|task| Some((task.pid, task.parent?))).collect();
        let (usual_slice, names) = (state.and_then(usual_slice), GroupNames::default());
        let sessions = state.into_iter().flat_map(|state| &state.tasks);
        let sessions = sessions.filter_map(|task| task.autogroup.as_deref().map(session)).collect();
        let mut places = Places { processors, parents, known, autogroup, usual_slice, names, sessions };
        let paths = recording.tasks.iter().filter_map(|task| places.group(places.known_of(task)?));
        places.names = GroupNames::of(paths.collect::<BTreeSet<&str>>().into_iter());
        places
    }

    /// How a task is treated.
    pub fn of(&self, task: &Task) -> Placing {
        let shown = task.treatment();
        let known = self.known_of(task);
        let (policy, nice, priority) = match shown.policy {
            Policy::Fair(nice) => (fair(known), nice, 0),
            Policy::RealTime(priority) => (real_time(known), 0, priority),
            // Its size is no ordinary task's: before all others, as reservations are.
            Policy::Deadline => ("fifo", 0, 99),
        };
        let slice = known.map(|known| known.slice_ns).filter(|&slice| slice > 0 && Some(slice) != self.usual_slice);
        // A task that was made within the recording may have bound itself since.
        let cpus = known.map(|known| self.cpus(&known.processors));
        let bound = || self.place(shown.bound).filter(|_| self.processors.len() > 1).into_iter().collect();
        let cpus = cpus.filter(|cpus| !task.forked || !cpus.is_empty()).unwrap_or_else(bound);
        let slice = slice.filter(|_| matches!(shown.policy, Policy::Fair(_)));
        let group = known.and_then(|known| self.names.get(self.group(known)?)).map(str::to_owned);
        Placing { policy, nice, priority, slice, cpus, group }
    }

    /// Whether how a task is treated is only known of the one that made it.
    pub fn is_inherited(&self, task: &Task) -> bool {
        task.forked && self.known_of(task).is_some_and(|known| known.pid != task.pid || !known.meanwhile)
    }

    /// What the state says of a task, or of the one that made it.
    fn known_of(&self, task: &Task) -> Option<&'a state::Task> {
        if let Some(own) = self.known.get(&task.pid).filter(|own| own.meanwhile || !task.forked) {
            return Some(own);
        }
        let mut pid = if task.forked { task.parent? } else { task.pid };
        // Numbers come again, so a chain could go round.
        for _ in 0..MOST_PARENTS {
            if let Some(known) = self.known.get(&pid) {
                return Some(known);
            }
            pid = *self.parents.get(&pid)?;
        }
        None
    }

    /// Which of the simulated processors is the one of that number.
    pub fn place(&self, number: Option<u16>) -> Option<u16> {
        self.processors.iter().position(|&known| Some(known) == number).map(|place| place as u16)
    }

    /// A list such as "0-3,8"; empty if it is all of them.
    fn cpus(&self, list: &str) -> Vec<u16> {
        let mut all = BTreeSet::new();
        for part in list.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            if let (Ok(first), Ok(last)) = (first.trim().parse::<u16>(), last.trim().parse::<u16>()) {
                all.extend((first..=last.min(MOST_PROCESSORS)).filter_map(|number| self.place(Some(number))));
            }
        }
        if all.len() == self.processors.len() { Vec::new() } else { all.into_iter().collect() }
    }

    /// The path of a task's group, or of that of its session.
    fn group(&self, known: &'a state::Task) -> Option<&'a str> {
        if known.group != "/" && !known.group.is_empty() {
            return Some(&known.group);
        }
        known.autogroup.as_deref().filter(|_| self.autogroup && !known.kernel).map(|group| session(group).0)
    }

    /// The groups of these names, with those that contain them.
    pub fn groups<'s>(&'s self, state: Option<&'s State>, used: &'s BTreeSet<String>) -> Map<String, Value> {
        let mut all = Map::new();
        let named = |group: &'s state::Group| Some((self.names.get(&group.path)?, group));
        let groups: BTreeMap<&str, &state::Group> =
            state.into_iter().flat_map(|state| &state.groups).filter_map(named).collect();
        for name in used {
            let mut name = name.as_str();
            while let Some(group) = groups.get(name).filter(|_| !all.contains_key(name)) {
                let parent = self.names.above(&group.path);
                all.insert(name.to_owned(), described(group, parent));
                let Some(above) = parent else { break };
                name = above;
            }
            let weight = || {
                let of = self.sessions.iter().find(|(path, _)| self.names.get(path) == Some(name));
                json!({ "weight": of.map_or(USUAL_SHARES, |(_, &weight)| weight) })
            };
            all.entry(name.to_owned()).or_insert_with(weight);
        }
        all
    }
}

/// Names of tasks that were made within a recording and ran: the state at its start says how those were treated that made them.
pub fn inherited(recording: &Recording, state: &State) -> BTreeSet<String> {
    let places = Places::new(recording, Some(state), &recording.processors);
    let made = recording.tasks.iter().filter(|task| task.work() > 0 && places.is_inherited(task));
    made.map(|task| task.name.clone()).collect()
}

/// The group of a session and its weight, of "/autogroup-25 nice 5": it weighs as a task of that nice value.
fn session(autogroup: &str) -> (&str, u64) {
    let (path, nice) = autogroup.split_once(" nice ").unwrap_or((autogroup, "0"));
    (path, nice::weight(nice.trim().parse().unwrap_or(0)))
}

/// The slice of a task that asks for none: as the kernel's own file has it, which it does not show under lockdown, else that of more than half of
/// the ordinary tasks. A kernel gives it as the slice of such tasks (since 6.12); recordings of runs give them 0.
pub(crate) fn usual_slice(state: &State) -> Option<u64> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for task in state.tasks.iter().filter(|task| ORDINARY.contains(&task.policy)) {
        *counts.entry(task.slice_ns).or_default() += 1;
    }
    let all: usize = counts.values().sum();
    let says = !counts.contains_key(&0);
    let usual = counts.into_iter().find(|(_, count)| says && 2 * count > all).map(|(slice, _)| slice);
    setting(state, "base_slice_ns").or(usual)
}

/// A number among the scheduler's settings, by the name of its file.
pub(crate) fn setting(state: &State, name: &str) -> Option<u64> {
    let found = state.kernel.settings.iter().find(|(path, _)| path.rsplit('/').next() == Some(name))?;
    found.1.trim().parse().ok()
}

fn fair(known: Option<&state::Task>) -> &'static str {
    match known.map(name_of) {
        Some(name @ ("batch" | "idle")) => name,
        _ => "other",
    }
}

fn real_time(known: Option<&state::Task>) -> &'static str {
    match known.map(name_of) {
        Some("rr") => "rr",
        _ => "fifo",
    }
}

fn name_of(known: &state::Task) -> &'static str {
    NAMES.iter().find(|(number, _)| *number == known.policy).map_or("other", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::History;
    use schedlab_traces::kernel::{Context, Event, Kind, Listener};

    #[test]
    fn lists_of_processors_are_read_and_all_of_them_are_none() {
        let recording = Recording::default();
        let places = Places::new(&recording, None, &[0, 1, 2, 3]);
        assert_eq!(places.cpus("0-1,3"), [0, 1, 3]);
        assert!(places.cpus("0-3").is_empty());
        assert!(places.cpus("0-63").is_empty());
        assert_eq!(places.cpus("2,x,7"), [2]);
        let places = Places::new(&recording, None, &[1, 5]);
        assert_eq!(places.cpus("5"), [1], "the second of those that were recorded");
    }

    fn with_slices(slices: &[(u32, u64)]) -> State {
        let task = |&(policy, slice_ns): &(u32, u64)| state::Task { policy, slice_ns, ..state::Task::default() };
        State { tasks: slices.iter().map(task).collect(), ..State::default() }
    }

    #[test]
    fn the_slice_of_most_tasks_is_that_of_those_that_ask_for_none_where_the_kernel_does_not_show_it() {
        assert_eq!(usual_slice(&with_slices(&[(0, 14), (3, 14), (0, 9), (6, 9), (6, 9)])), Some(14));
        assert_eq!(usual_slice(&with_slices(&[(0, 14), (0, 9)])), None);
        assert_eq!(usual_slice(&with_slices(&[(1, 0), (0, 0)])), None, "a kernel before 6.12");
        assert_eq!(usual_slice(&with_slices(&[(0, 9), (0, 9), (0, 0)])), None, "a run, two of whose tasks ask for one");
        let mut shown = with_slices(&[(0, 9), (0, 9)]);
        shown.kernel.settings.insert("/sys/kernel/debug/sched/base_slice_ns".to_owned(), "14\n".to_owned());
        assert_eq!(usual_slice(&shown), Some(14));
    }

    #[test]
    fn the_group_of_a_session_weighs_as_a_task_of_its_nice_value() {
        assert_eq!(session("/autogroup-25 nice 0"), ("/autogroup-25", 1024));
        assert_eq!(session("/autogroup-7 nice 10"), ("/autogroup-7", 110));
        assert_eq!(session("/autogroup-7 nice -5"), ("/autogroup-7", 3121));
        assert_eq!(session("/autogroup-7"), ("/autogroup-7", 1024));
        let task = |pid, group: &str| state::Task { pid, autogroup: Some(group.to_owned()), ..state::Task::default() };
        let mut state =
            State { tasks: vec![task(5, "/autogroup-1 nice 10"), task(6, "/autogroup-2 nice 0")], ..State::default() };
        state.kernel.settings.insert("/proc/sys/kernel/sched_autogroup_enabled".to_owned(), "1".to_owned());
        let mut history = History::default();
        let (kind, bits) = (Kind::Switch, Event::bits(1, Context::Task));
        let switch = |task, other| Event { time: 0, value: 0, task, other, extra: 0, cpu: 0, kind, bits };
        [switch(5, 6), switch(6, 5)].iter().for_each(|event| history.event(event));
        let recording = history.finish();
        let places = Places::new(&recording, Some(&state), &[0, 1]);
        let used: BTreeSet<String> = recording.tasks.iter().filter_map(|task| places.of(task).group).collect();
        let found = places.groups(Some(&state), &used);
        assert_eq!(found["autogroup-1"], json!({ "weight": 110 }));
        assert_eq!(found["autogroup-2"], json!({ "weight": 1024 }));
    }

    #[test]
    fn a_task_that_was_made_meanwhile_is_bound_where_it_waited_next_to_an_idle_processor() {
        let known =
            |pid, processors: &str| state::Task { pid, processors: processors.to_owned(), ..state::Task::default() };
        let state = State { tasks: vec![known(5, "0-1"), known(6, "0-1")], ..State::default() };
        let mut history = History::default();
        let event = |ms: u64, cpu, kind, task, other, flag| {
            let bits = Event::bits(flag, Context::Task);
            Event { time: 1_000_000 * ms, value: 0, task, other, extra: 0, cpu, kind, bits }
        };
        history.event(&event(0, 1, Kind::Switch, 9, 0, 1));
        history.event(&event(0, 0, Kind::Switch, 9, 5, 1));
        history.event(&event(1, 0, Kind::Fork, 5, 7, 0));
        history.event(&event(1, 0, Kind::Switch, 5, 7, 1));
        for turn in 0..10 {
            history.event(&event(10 * turn + 2, 0, Kind::Switch, 7, 6, 0));
            history.event(&event(10 * turn + 8, 0, Kind::Switch, 6, 7, 0));
        }
        let recording = history.finish();
        let places = Places::new(&recording, Some(&state), &[0, 1]);
        let task = |pid| recording.tasks.iter().find(|task| task.pid == pid).unwrap();
        assert_eq!(places.of(task(7)).cpus, [0]);
        assert!(places.of(task(6)).cpus.is_empty(), "its own state says that it may use both");
        assert_eq!([7, 6].map(|pid| places.is_inherited(task(pid))), [true, false]);
        let mut seen = state.clone();
        seen.add([state::Task { policy: 3, meanwhile: true, ..known(7, "1") }].into_iter());
        let places = Places::new(&recording, Some(&seen), &[0, 1]);
        assert_eq!((places.of(task(7)).cpus, places.of(task(7)).policy), (vec![1], "batch"), "it was seen itself");
        assert!(!places.is_inherited(task(7)));
    }

    #[test]
    fn groups_stand_below_those_that_contain_them_and_have_their_weights() {
        let group = |path: &str, weight| state::Group { path: path.to_owned(), weight, ..state::Group::default() };
        let groups = vec![group("/a", Some(50)), group("/a/b", None), group("/a-b", Some(200)), group("/c", None)];
        let task = |pid, group: &str| state::Task { pid, group: group.to_owned(), ..state::Task::default() };
        let state = State { groups, tasks: vec![task(5, "/a/b"), task(6, "/a-b"), task(7, "/")], ..State::default() };
        let mut history = History::default();
        let (kind, bits) = (Kind::Switch, Event::bits(1, Context::Task));
        let switch = |task, other| Event { time: 0, value: 0, task, other, extra: 0, cpu: 0, kind, bits };
        [switch(5, 6), switch(6, 7), switch(7, 5)].iter().for_each(|event| history.event(event));
        let recording = history.finish();
        let places = Places::new(&recording, Some(&state), &[0, 1]);
        let of = |task: &Task| places.of(task).group;
        let used: BTreeSet<String> = recording.tasks.iter().filter_map(of).collect();
        assert_eq!(used, ["a-b".to_owned(), "a-b-2".to_owned()].into());
        let found = places.groups(Some(&state), &used);
        assert_eq!(found["a-b-2"], json!({ "weight": 1024, "parent": "a" }));
        assert_eq!(found["a-b"], json!({ "weight": 2048 }));
        assert_eq!(found["a"], json!({ "weight": 512 }));
        assert_eq!(found.len(), 3, "a group without a task is left out");
    }
}
