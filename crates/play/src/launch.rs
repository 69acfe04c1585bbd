//! How workers are created: each session has a leader, whose children they are at first; then they are the supervisor's.

use crate::{
    setup::Setup,
    shared::Barrier,
    worker::{Worker, die_with},
};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use schedlab_linux::{Fault, files, futex, process};
use std::{
    os::fd::AsRawFd,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::Ordering::{Acquire, Relaxed, Release},
};

/// How often a worker that waits to become the supervisor's child checks that the supervisor lives.
const LOOKS_EVERY_NS: u64 = 100_000_000;

/// Creates the workers. Those of a session are forked by its leader, which exits: they become the supervisor's children. Returns the
/// leaders.
pub(crate) fn launch(setup: &Setup) -> Result<Vec<i32>, Fault> {
    let agent = process::own_pid();
    let mut leaders = Vec::new();
    for session in &setup.workload.sessions {
        let leader =
            process::fork().map_err(|why| Fault::Call { doing: "making a session's leader".to_owned(), why })?;
        leaders.extend(leader);
        if leader.is_none() {
            in_child(|| lead(setup, session, agent));
        }
    }
    Ok(leaders)
}

/// All leaders have ended and been waited for: their tasks are the agent's children.
pub(crate) fn adopt(barrier: &Barrier) {
    barrier.adopted.store(1, Release);
    futex::wake(&barrier.adopted, i32::MAX);
}

/// Nothing of the agent's may be done by a child's end: not even if it panics.
pub(crate) fn in_child(act: impl FnOnce()) -> ! {
    let _ = catch_unwind(AssertUnwindSafe(act));
    process::exit_immediately(101)
}

/// A session's leader: makes its tasks.
fn lead(setup: &Setup, session: &[usize], agent: i32) {
    die_with(agent);
    let barrier = setup.shared.barrier();
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
    (0..3).for_each(|number| files::replace_stream(setup.null.as_raw_fd(), number));
    if process::new_session().is_err() {
        barrier.broken.store(libc::EPERM as u32, Relaxed);
    }
    let leader = process::own_pid();
    for &number in session {
        match process::fork() {
            Ok(Some(pid)) => setup.shared.slots[number].pid.store(pid, Relaxed),
            Ok(None) => {
                wait_for_adoption(barrier, leader, agent);
                let mut worker = Worker::new(setup, number);
                worker.wait_for_start();
                worker.run_program();
            }
            Err(why) => barrier.broken.store(why.raw_os_error().unwrap_or(libc::EAGAIN) as u32, Relaxed),
        }
    }
    process::exit_immediately(0);
}

/// Waits until the session's leader has left and the agent is the parent, with which this task is to die. That the agent is the
/// parent is not enough: the kernel first names the new parent, and then kills a task that asked to die with its parent. Once
/// the agent has waited for the leader, both are over.
fn wait_for_adoption(barrier: &Barrier, leader: i32, agent: i32) {
    while barrier.adopted.load(Acquire) == 0 {
        let parent = process::parent();
        if parent != leader && parent != agent {
            process::exit_immediately(1);
        }
        futex::wait(&barrier.adopted, 0, Some(LOOKS_EVERY_NS));
    }
    die_with(agent);
}
