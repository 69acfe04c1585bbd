//! Two processes, so that everything is restored even if one of them is killed: the outer one, which users see, only waits; the
//! inner one is the supervisor of the run.
//!
//! ```text
//! outer is killed     the kernel sends the inner one a SIGTERM: it ends its tasks and puts back what it has made; when it is
//!                     dead, the outer one's restorer puts back the rest
//! inner is killed     its tasks die with it; the outer one ends what is left (it becomes its child) and, by the journal,
//!                     removes what is left
//! all are killed      the next agent, or schedlab host restore, does it by the journal
//! outer gets a signal it passes the signal on, and ends as the inner one does
//! the caller dies     the kernel sends the outer one a signal
//! ```
//!
//! Both have a real-time priority above that of every task, and so has a generator of requests. A task whose priority is the highest that
//! there is may keep them from their processors: the kernel kills it when it has run for longer than the run without sleeping
//! (RLIMIT_RTTIME).

use crate::{plan::Plan, store, supervisor::kill_children, volume::Mounted, workload::Workload};
use schedlab_linux::{Fault, Root, process, sched, signals::Signals};
use schedlab_tune::{AppliedSettings, RunJournal};
use std::process::ExitCode;

/// The volume that the plan asks for. What it made before a fault is undone.
fn volume(plan: &Plan, journal: &RunJournal) -> Result<Option<Mounted>, Fault> {
    let Some(wish) = &plan.options.volume else { return Ok(None) };
    Mounted::new(journal, wish, &plan.options.scratch, files_of(plan)?).map(Some)
}

/// Bytes of all files of the plan's tasks.
pub fn files_of(plan: &Plan) -> Result<u64, Fault> {
    let workload = Workload::new(plan)?;
    Ok(store::bytes(&workload.programs, workload.tasks.len()))
}

/// Applies the settings; devices that they do not name are the volume's, if there is one.
fn hold(plan: &Plan, volume: Option<&Mounted>) -> Result<AppliedSettings, Fault> {
    let (root, journal) = (Root::default(), &plan.options.journal);
    let Some(volume) = volume else {
        return AppliedSettings::apply_at(&root, &plan.tunables, journal, &plan.options.scratch);
    };
    let mut settings = plan.tunables.clone();
    // It may be named with its device, too.
    let elevator = settings.iter().find(|(name, _)| name.split('@').next() == Some("elevator"));
    let elevator = elevator.map(|(_, value)| value.clone());
    let of_volume = plan.options.volume.iter();
    for (name, value) in of_volume.flat_map(|wish| wish.settings(&plan.scenario, elevator.as_deref())) {
        settings.entry(name.to_owned()).or_insert(value);
    }
    AppliedSettings::apply_at(&root, &settings, journal, &volume.files)
}

/// Does `act` in the inner process; the outer one ends with its status. The outer one holds the settings, so that they are put
/// back whatever becomes of the inner one. When `asker` dies, it is as if a signal had asked the outer one to stop.
pub fn guarded(
    plan: &Plan,
    asker: Option<i32>,
    act: impl FnOnce(&RunJournal, &AppliedSettings, Option<&Mounted>) -> Result<ExitCode, Fault>,
) -> Result<ExitCode, Fault> {
    let fault = |doing: &str| {
        let doing = doing.to_owned();
        |why| Fault::Call { doing, why }
    };
    let (signals, highest) = (Signals::block()?, Workload::new(plan)?.highest_priority);
    if let Some(asker) = asker {
        end_with(asker)?;
    }
    // Before orphans become ours: the restorer is one, and must outlive us.
    let journal = RunJournal::open(&Root::default(), &plan.options.journal);
    let volume = volume(plan, &journal)?;
    let applied = hold(plan, volume.as_ref())?;
    process::become_subreaper().map_err(fault("becoming the reaper of tasks"))?;
    let (outer, moment) = (process::own_pid(), journal.moment());
    let Some(inner) = process::fork().map_err(fault("making a second process"))? else {
        let _ = process::signal_at_parents_end(libc::SIGTERM);
        // Where nothing can be entered, nothing will be made that would have to be undone.
        let membership = journal.join().ok();
        let orphaned = process::parent() != outer;
        let status = if orphaned { Ok(ExitCode::FAILURE) } else { act(&journal, &applied, volume.as_ref()) };
        drop(membership);
        // They are the outer process's to put back.
        std::mem::forget((applied, volume));
        return status;
    };
    // A signal to stop must be handled even among hogs.
    sched::raise(0, highest);
    let status = loop {
        if let Some(signal) = signals.wait_for_any() {
            process::kill(inner, signal);
        }
        match process::reap_if(inner) {
            Ok(Some(status)) => break status,
            Ok(None) => {}
            Err(why) => return Err(Fault::Call { doing: "waiting for the run".to_owned(), why }),
        }
    };
    kill_children(|_| ());
    let left = journal.undo_since(moment).succeeded();
    // The settings of the volume's device go back before it goes.
    let restored = applied.restore();
    drop(volume);
    if libc::WIFEXITED(status) {
        return left.and(restored).map(|_| ExitCode::from(libc::WEXITSTATUS(status) as u8));
    }
    for fault in [left, restored].into_iter().filter_map(Result::err) {
        eprintln!("warning: {}", schedlab_linux::shown(&fault.to_string()));
    }
    Err(Fault::Refused {
        what: "the run".to_owned(),
        why: format!("its process was killed by signal {}", libc::WTERMSIG(status)),
        advice: "its tasks are gone; look at the kernel's log for a lack of memory, and run it again".to_owned(),
    })
}

/// Has the kernel send us a signal when that process, our parent, dies.
fn end_with(asker: i32) -> Result<(), Fault> {
    process::signal_at_parents_end(libc::SIGTERM)
        .map_err(|why| Fault::Call { doing: "asking for a signal at the caller's death".to_owned(), why })?;
    // It may have died before.
    if process::parent() == asker {
        return Ok(());
    }
    Err(Fault::Wrong(format!("--parent {asker}: that is not, or no longer, the process that started this one")))
}
