//! Which task's end ended the recording, if one did: that of a recorded command. A replay then lasts as long as its work, not as long as
//! the recording.

use crate::history::{Recording, Step};
use hashbrown::HashMap;
use schedlab_traces::kernel::Pid;

/// The end comes within this share of the recording's end, a twentieth.
const NEAR: u64 = 20;
/// The task and those that it made, and these made, had at least this share of all processor time, a tenth.
const LARGE: u64 = 10;

/// The index of the task, if there is one. Where it is known which process recorded, only a command of that one counts.
pub fn last(recording: &Recording, recorder: Option<Pid>) -> Option<usize> {
    let children = children(recording);
    let work: Vec<u64> = recording.tasks.iter().map(|task| task.work()).collect();
    let all: u64 = work.iter().sum();
    let near = recording.span - recording.span / NEAR;
    let ended = |at: &usize| recording.tasks[*at].life.1.is_some_and(|end| end >= near);
    let asked = |at: &usize| recorder.is_none() || recording.tasks[*at].parent == recorder;
    let candidates = (0..recording.tasks.len()).filter(ended).filter(asked);
    let sized =
        candidates.map(|at| (tree(at, &children, &work), at)).filter(|(size, _)| size * LARGE >= all && *size > 0);
    // Of a command and its children, the command: it has the larger tree; of equal ones, the older.
    sized.max_by_key(|&(size, at)| (size, std::cmp::Reverse(at))).map(|(_, at)| at)
}

/// By task, those that it made.
fn children(recording: &Recording) -> Vec<Vec<usize>> {
    let mut newest: HashMap<Pid, Vec<usize>> = HashMap::new();
    for (at, task) in recording.tasks.iter().enumerate().filter(|(_, task)| task.forked) {
        newest.entry(task.pid).or_default().push(at);
    }
    let child = |step: &Step| match step {
        Step::Fork(pid) => newest.get(pid).and_then(|all| all.first()).copied(),
        _ => None,
    };
    recording.tasks.iter().map(|task| task.steps.iter().filter_map(child).collect()).collect()
}

/// Processor time of a task and all below it.
fn tree(at: usize, children: &[Vec<usize>], work: &[u64]) -> u64 {
    let mut seen = vec![false; work.len()];
    let (mut left, mut sum) = (vec![at], 0_u64);
    while let Some(at) = left.pop() {
        if !std::mem::replace(&mut seen[at], true) {
            sum = sum.saturating_add(work[at]);
            left.extend(&children[at]);
        }
    }
    sum
}
