//! The tasks of the host with how each is scheduled.

use super::groups::Hierarchy;
use schedlab_linux::{
    Root,
    proc::{
        task::TaskStat,
        text::{number, signed},
    },
    sched::Attributes,
};
use schedlab_traces::kernel::state::{MOST_TASKS, Task};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

/// Fields of `/proc/PID/stat` by their numbers in proc(5).
mod field {
    pub const PARENT: usize = 4;
    pub const FLAGS: usize = 9;
    pub const NICE: usize = 19;
    pub const PROCESSOR: usize = 39;
    pub const PRIORITY: usize = 40;
    pub const POLICY: usize = 41;
}
/// Most tasks of a recorded command that are looked at at one time, the newest first: a look took some 90 us a task on a virtual machine, so all
/// together take at most 3 % of a processor.
const MOST_OF_COMMAND: usize = 32;
/// The flag of a thread of the kernel (PF_KTHREAD).
const OF_KERNEL: u64 = 0x0020_0000;

/// Adds all tasks that are not there yet, and returns how many found no room. One that ends meanwhile is left out.
pub(super) fn add(root: &Root, hierarchy: Option<&Hierarchy>, autogroups: bool, found: &mut Vec<Task>) -> u64 {
    let known: BTreeSet<i32> = found.iter().map(|task| task.pid).collect();
    let mut left_out = 0;
    for process in numbers(root.path("/proc")) {
        let mut pids = numbers(root.path(format!("/proc/{process}/task")));
        pids.retain(|pid| !known.contains(pid));
        if pids.is_empty() {
            continue;
        }
        // The group by session is the process's.
        let autogroup = autogroups.then(|| line(root, &format!("/proc/{process}/autogroup"))).flatten();
        for pid in pids {
            if found.len() == MOST_TASKS {
                left_out += 1;
            } else if let Some(task) = task(root, process, pid, hierarchy) {
                found.push(Task { autogroup: autogroup.clone(), ..task });
            }
        }
    }
    found.sort_by_key(|task| (task.process, task.pid));
    left_out
}

fn task(root: &Root, process: i32, pid: i32, hierarchy: Option<&Hierarchy>) -> Option<Task> {
    let folder = format!("/proc/{process}/task/{pid}");
    // The name may be any bytes.
    let text = fs::read(root.path(format!("{folder}/stat"))).ok()?;
    let stat = TaskStat::of(&text)?;
    let small = |wanted| u32::try_from(stat.number(wanted)?).ok();
    let group = hierarchy.and_then(|hierarchy| {
        let text = root.read(format!("{folder}/cgroup")).ok()?;
        hierarchy.group_of(&text).map(str::to_owned)
    });
    let status = fs::read(root.path(format!("{folder}/status"))).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let processors = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let attributes = if *root == Root::default() { Attributes::of(pid).ok() } else { None };
    Some(Task {
        pid,
        process,
        parent: number(stat.field(field::PARENT)?)?.try_into().ok()?,
        name: String::from_utf8_lossy(stat.name).into_owned(),
        state: char::from(stat.state()?).to_string(),
        kernel: stat.number(field::FLAGS)? & OF_KERNEL != 0,
        processor: stat.number(field::PROCESSOR)?.try_into().ok()?,
        nice: signed(stat.field(field::NICE)?)?.try_into().ok()?,
        policy: small(field::POLICY)?,
        priority: small(field::PRIORITY)?,
        slice_ns: attributes.map_or(0, |known| known.runtime),
        deadline_ns: attributes.map_or(0, |known| known.deadline),
        period_ns: attributes.map_or(0, |known| known.period),
        processors: processors.unwrap_or_default().trim().to_owned(),
        group: group.unwrap_or_default(),
        autogroup: None,
        meanwhile: false,
    })
}

/// Looks again at the tasks of a process and at those of all that it made, as far as the kernel says which they are (CONFIG_PROC_CHILDREN).
pub(super) fn follow(
    root: &Root,
    hierarchy: Option<&Hierarchy>,
    autogroups: bool,
    process: i32,
    found: &mut BTreeMap<i32, Task>,
) {
    let (mut left, mut looked, mut known) = (vec![process], 0, BTreeSet::new());
    while let Some(process) = left.pop().filter(|_| looked < MOST_OF_COMMAND) {
        if !known.insert(process) {
            continue; // the kernel's list changes while it is read
        }
        let autogroup = autogroups.then(|| line(root, &format!("/proc/{process}/autogroup"))).flatten();
        for pid in numbers(root.path(format!("/proc/{process}/task"))) {
            looked += 1;
            let children = root.read(format!("/proc/{process}/task/{pid}/children")).unwrap_or_default();
            left.extend(children.split_ascii_whitespace().filter_map(|child| child.parse::<i32>().ok()));
            if let Some(task) = task(root, process, pid, hierarchy)
                && (found.len() < MOST_TASKS || found.contains_key(&pid))
            {
                found.insert(pid, Task { autogroup: autogroup.clone(), meanwhile: true, ..task });
            }
        }
    }
}

/// Adds the names of tasks that are not known yet.
pub(super) fn add_names(root: &Root, known: &mut BTreeMap<i32, String>) {
    for process in numbers(root.path("/proc")) {
        for pid in numbers(root.path(format!("/proc/{process}/task"))) {
            if known.len() < 2 * MOST_TASKS
                && !known.contains_key(&pid)
                && let Ok(name) = fs::read(root.path(format!("/proc/{process}/task/{pid}/comm")))
            {
                known.insert(pid, String::from_utf8_lossy(name.trim_ascii_end()).into_owned());
            }
        }
    }
}

fn line(root: &Root, path: &str) -> Option<String> {
    let text = root.read(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn numbers(folder: PathBuf) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<i32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn with_stat(stat: &[u8]) -> Vec<Task> {
        let mut found = Vec::new();
        let folder = TempDir::new().unwrap();
        let task = folder.path().join("proc/7/task/8");
        fs::create_dir_all(&task).unwrap();
        fs::write(task.join("stat"), stat).unwrap();
        fs::write(task.join("status"), "Name:\tx\nCpus_allowed_list:\t0-1,3\n").unwrap();
        fs::write(folder.path().join("proc/7/autogroup"), "/autogroup-5 nice 0\n").unwrap();
        assert_eq!(add(&Root::at(folder.path()), None, true, &mut found), 0);
        let once = found.clone();
        add(&Root::at(folder.path()), None, true, &mut found);
        assert_eq!(found, once, "a known task is not added again");
        found
    }

    #[test]
    fn a_task_has_the_numbers_of_its_file_whatever_its_name_is() {
        let tail = b" S 4 7 7 0 -1 2129984 0 0 0 0 0 0 0 0 39 -20 1 0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 50 1 0 0 0";
        let found = with_stat(&[&b"8 (a) \xff(b"[..], b")", tail].concat());
        let expected = Task {
            pid: 8,
            process: 7,
            parent: 4,
            name: "a) \u{fffd}(b".to_owned(),
            state: "S".to_owned(),
            kernel: true,
            processor: 3,
            nice: -20,
            policy: 1,
            priority: 50,
            processors: "0-1,3".to_owned(),
            autogroup: Some("/autogroup-5 nice 0".to_owned()),
            ..Task::default()
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn tasks_of_a_command_are_followed_through_those_that_it_made_and_seen_again() {
        let folder = TempDir::new().unwrap();
        let write = |pid: i32, policy: u32, children: &str| {
            let task = folder.path().join(format!("proc/{pid}/task/{pid}"));
            fs::create_dir_all(&task).unwrap();
            let numbers = format!(
                "S 4 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 {policy} 0 0 0"
            );
            fs::write(task.join("stat"), format!("{pid} (a) {numbers}")).unwrap();
            fs::write(task.join("children"), children).unwrap();
        };
        [(7, "8 9 "), (8, ""), (9, "10"), (10, "7"), (11, "")].into_iter().for_each(|(pid, made)| write(pid, 0, made));
        let (root, mut found) = (Root::at(folder.path()), BTreeMap::new());
        follow(&root, None, false, 7, &mut found);
        assert_eq!(
            found.keys().copied().collect::<Vec<i32>>(),
            [7, 8, 9, 10],
            "also where the kernel names them in a circle"
        );
        write(10, 3, "");
        follow(&root, None, false, 7, &mut found);
        assert!(found[&10].meanwhile && found[&10].policy == 3);
    }

    #[test]
    fn a_file_that_is_cut_short_is_no_task() {
        assert_eq!(with_stat(b"8 (a) S 4 7"), []);
        assert_eq!(with_stat(b""), []);
    }
}
