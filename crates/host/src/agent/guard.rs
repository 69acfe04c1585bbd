//! Two processes, so that everything is put back though one of them is killed: the outer one that people see does nothing but
//! wait, the inner one does the run.
//!
//! ```text
//! outer is killed     the kernel sends the inner one a SIGTERM: it ends its tasks and puts everything back
//! inner is killed     its tasks die with it; the outer one ends what is left (it becomes its child) and removes what is left
//! outer is told       it passes the signal on, and ends as the inner one does
//! ```

use super::{
    attributes,
    conduct::{Signals, kill_children},
    files, groups, system,
};
use crate::{Fault, Root, plan::Plan, tunables::Held};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};

/// Does `act` in the inner process; the outer one ends with its status. The outer one holds the settings, so that they are put
/// back whatever becomes of the inner one.
pub(super) fn guarded(plan: &Plan, act: impl FnOnce(&Held) -> Result<ExitCode, Fault>) -> Result<ExitCode, Fault> {
    let fault = |doing: &str| {
        let doing = doing.to_owned();
        |why| Fault::Call { doing, why }
    };
    let signals = Signals::block()?;
    // Before orphans become ours: the warden of the settings is one, and must outlive us.
    let options = &plan.options;
    let held = Held::apply_at(&Root::default(), &plan.tunables, &options.journal, &options.scratch)?;
    system::prctl(libc::PR_SET_CHILD_SUBREAPER, 1).map_err(fault("becoming the reaper of tasks"))?;
    let outer = system::own_pid();
    let Some(inner) = system::fork().map_err(fault("making a second process"))? else {
        let _ = system::signal_at_parents_end(libc::SIGTERM);
        if system::parent() != outer {
            system::exit_at_once(1);
        }
        let status = act(&held);
        // They are the outer process's to put back.
        std::mem::forget(held);
        return status;
    };
    // Beside hogs, a signal to stop must come through.
    attributes::stand_out();
    let status = loop {
        if let Some(signal) = signals.wait_for_any() {
            system::kill(inner, signal);
        }
        match system::reap_if(inner) {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(why) => return Err(Fault::Call { doing: "waiting for the run".to_owned(), why }),
        }
    };
    kill_children();
    let restored = held.restore();
    if libc::WIFEXITED(status) {
        return restored.map(|_| ExitCode::from(libc::WEXITSTATUS(status) as u8));
    }
    let _ = catch_unwind(AssertUnwindSafe(|| {
        groups::sweep_all(&Root::default());
        files::sweep(&plan.options.scratch);
    }));
    Err(Fault::Refused {
        what: "the run".to_owned(),
        why: format!("its process was killed by signal {}", libc::WTERMSIG(status)),
        advice: "its tasks are gone; look at the kernel's log for a lack of memory, and run it again".to_owned(),
    })
}
