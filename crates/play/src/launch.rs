//! How the tasks of a workload come to be: sessions and their leaders, whose children they are first, then the agent's.

use crate::{
    arena::Gate,
    player::{Player, die_with},
    stage::Stage,
};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use schedlab_linux::{Fault, files, futex, process};
use std::{
    os::fd::AsRawFd,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::Ordering::{Acquire, Relaxed, Release},
};

/// A task that waits to become the agent's child looks so often whether the agent has died.
const LOOKS_EVERY_NS: u64 = 100_000_000;

/// Makes the tasks. A session's tasks have a common ancestor, who leads it and leaves: they become the agent's children. Gives
/// the leaders.
pub(crate) fn launch(stage: &Stage) -> Result<Vec<i32>, Fault> {
    let agent = process::own_pid();
    let mut leaders = Vec::new();
    for session in &stage.company.sessions {
        let leader =
            process::fork().map_err(|why| Fault::Call { doing: "making a session's leader".to_owned(), why })?;
        leaders.extend(leader);
        if leader.is_none() {
            in_child(|| lead(stage, session, agent));
        }
    }
    Ok(leaders)
}

/// All leaders have ended and been waited for: their tasks are the agent's children.
pub(crate) fn adopt(gate: &Gate) {
    gate.adopted.store(1, Release);
    futex::wake(&gate.adopted, i32::MAX);
}

/// Nothing of the agent's may be done by a child's end: not even if it panics.
fn in_child(act: impl FnOnce()) -> ! {
    let _ = catch_unwind(AssertUnwindSafe(act));
    process::exit_at_once(101)
}

/// A session's leader: makes its tasks.
fn lead(stage: &Stage, session: &[usize], agent: i32) {
    die_with(agent);
    let gate = stage.arena.gate();
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
    (0..3).for_each(|number| files::replace_stream(stage.null.as_raw_fd(), number));
    if process::new_session().is_err() {
        gate.broken.store(libc::EPERM as u32, Relaxed);
    }
    let leader = process::own_pid();
    for &number in session {
        match process::fork() {
            Ok(Some(pid)) => stage.arena.slots[number].pid.store(pid, Relaxed),
            Ok(None) => {
                wait_for_adoption(gate, leader, agent);
                let mut player = Player::new(stage, number);
                player.wait_for_start();
                player.perform();
            }
            Err(why) => gate.broken.store(why.raw_os_error().unwrap_or(libc::EAGAIN) as u32, Relaxed),
        }
    }
    process::exit_at_once(0);
}

/// Waits until the session's leader has left and the agent is the parent, with which this task is to die. That the agent is the
/// parent is not enough: the kernel first names the new parent, and then kills a task that asked to die with its parent. Once
/// the agent has waited for the leader, both are over.
fn wait_for_adoption(gate: &Gate, leader: i32, agent: i32) {
    while gate.adopted.load(Acquire) == 0 {
        let parent = process::parent();
        if parent != leader && parent != agent {
            process::exit_at_once(1);
        }
        futex::wait(&gate.adopted, 0, Some(LOOKS_EVERY_NS));
    }
    die_with(agent);
}
