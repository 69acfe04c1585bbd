//! The tasks of the command: all those below this process, to which the kernel hands orphans. Without `strangers`, children that were there before.

use std::{collections::BTreeSet, fs};

/// Tasks that are looked at, at most.
const MOST: usize = 4096;

/// Calls `each` with the process and the number of every task.
pub(super) fn each(strangers: &BTreeSet<i32>, mut each: impl FnMut(i32, i32)) {
    let own = std::process::id() as i32;
    let (mut left, mut seen) = (children(own), 0);
    left.retain(|child| !strangers.contains(child));
    while let Some(process) = left.pop() {
        for task in threads(process) {
            seen += 1;
            if seen > MOST {
                return;
            }
            each(process, task);
            left.extend(children_of(process, task));
        }
    }
}

pub(super) fn threads(process: i32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn children(process: i32) -> Vec<i32> {
    threads(process).into_iter().flat_map(|task| children_of(process, task)).collect()
}

/// Children that a thread has made. No kernel without CONFIG_PROC_CHILDREN has the file.
fn children_of(process: i32, task: i32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{task}/children")).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect()
}
