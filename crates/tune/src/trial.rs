//! Settings on trial: they stay only if they are confirmed in time. A user whose setting breaks the connection or the machine
//! recovers by waiting.
//!
//! A separate process holds them ([`AppliedSettings`]); the terminal may close. It polls a file of its own in the journal's folder:
//! renamed to `kept-...`, the settings stay; renamed to `ended-...`, or at SIGTERM, they are restored immediately. When the process
//! dies, its restorer restores them. It has the old values in memory: even without the journal, only `kept-...` makes them stay.

use crate::{applied::AppliedSettings, journal::Journal, owner::Owner, undone::Mismatch};
use nix::sys::signal::SigSet;
use schedlab_linux::{
    Fault, Root, detached,
    signals::{came, ignore},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How often a trial polls its file.
const LOOK: Duration = Duration::from_millis(50);
/// How long the confirming process waits for the trial: a change of elevator can be slow.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a trial says once its settings are in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Begun {
    /// The process that holds them.
    pub pid: i32,
    /// What was set.
    pub settings: BTreeMap<String, String>,
    /// What the kernel took differently.
    pub rounded: Vec<Mismatch>,
    /// Seconds until it is taken back.
    pub within_seconds: u64,
}

/// Either that, or why not.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Begun(Begun),
    Refused(String),
}

/// Begins a trial in a process of its own.
pub fn begin(
    root: &Root,
    journal: &Path,
    settings: &BTreeMap<String, String>,
    within: Duration,
) -> Result<Begun, Fault> {
    let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    // The other process changes its folder.
    let journal = Journal::open(journal)?;
    let text = serde_json::to_string(settings).map_err(|why| Fault::Wrong(why.to_string()))?;
    let mut command = Command::new("/proc/self/exe");
    command.arg("trial").arg("--root").arg(root.path("/")).arg("--journal").arg(journal.folder());
    command.arg("--folder").arg(folder).args(["--within-ms", &within.as_millis().to_string(), "--settings", &text]);
    match serde_json::from_str(detached::run(command)?.trim()) {
        Ok(Answer::Begun(begun)) => Ok(begun),
        Ok(Answer::Refused(why)) => Err(Fault::Wrong(why)),
        Err(why) => Err(Fault::Wrong(format!("the trial ended without a word ({why}); what it had set was put back"))),
    }
}

/// In the trial's process: holds settings, as JSON, until they are confirmed or `within` is over. Returns whether they could be applied;
/// if not, the answer says why.
pub fn hold(root: &Root, journal: &Path, folder: &Path, settings: &str, within: Duration) -> Result<bool, Fault> {
    use nix::sys::signal::Signal::{SIGHUP, SIGINT, SIGTERM};
    detached::settle();
    ignore(&[SIGHUP, SIGINT]);
    let stop = SigSet::from_iter([SIGTERM]);
    stop.thread_block().map_err(|why| Fault::Call { doing: "taking signals".to_owned(), why: why.into() })?;
    let read = serde_json::from_str(settings).map_err(|why| Fault::Wrong(why.to_string()));
    let applied = read.and_then(|settings: BTreeMap<_, _>| {
        Ok((AppliedSettings::apply_at(root, &settings, journal, folder)?, settings))
    });
    let (applied, settings) = match applied {
        Ok(it) => it,
        Err(fault) => return say(&Answer::Refused(fault.to_string())).map(|()| false),
    };
    let marks = Marks::of(journal, &Owner::own());
    fs::write(&marks.pending, b"").map_err(|why| Fault::file(&marks.pending, "write", why))?;
    let (pid, rounded) = (std::process::id() as i32, applied.rounded().to_vec());
    say(&Answer::Begun(Begun { pid, settings, rounded, within_seconds: within.as_secs() }))?;
    let done = if marks.wait(within, &stop) { applied.keep() } else { applied.restore().map(drop) };
    if done.is_ok() {
        // The deciding process waits for this.
        marks.remove();
    }
    done.map(|()| true)
}

fn say(what: &Answer) -> Result<(), Fault> {
    detached::answer(&serde_json::to_string(what).map_err(|why| Fault::Wrong(why.to_string()))?)
}

/// The files by which a trial and other processes communicate: the first to rename one decides.
struct Marks {
    pending: PathBuf,
    kept: PathBuf,
    ended: PathBuf,
}

impl Marks {
    fn of(folder: &Path, owner: &Owner) -> Marks {
        let name = |what: &str| folder.join(format!("{what}-{}-{}", owner.pid, owner.start));
        Marks { pending: name("trial"), kept: name("kept"), ended: name("ended") }
    }

    /// Whether they are to stay. Where the file is gone, or cannot be renamed, they were not confirmed.
    fn wait(&self, within: Duration, stop: &SigSet) -> bool {
        let began = Instant::now();
        while self.pending.exists() {
            let left = within.saturating_sub(began.elapsed());
            if left.is_zero() || came(stop, LOOK.min(left)) {
                // The first to rename it decides.
                return fs::rename(&self.pending, &self.ended).is_err() && self.kept.exists();
            }
        }
        self.kept.exists()
    }

    fn remove(&self) {
        for file in [&self.kept, &self.ended, &self.pending] {
            let _ = fs::remove_file(file);
        }
    }
}

/// The decision about all pending trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The settings stay.
    Keep,
    /// They are restored immediately.
    End,
}

/// Ends or confirms every trial and waits until that is done. Returns their processes, without those that had already timed out.
pub fn decide(folder: &Path, verdict: Verdict) -> Result<Vec<i32>, Fault> {
    let mut notified = Vec::new();
    for owner in pending(folder) {
        let marks = Marks::of(folder, &owner);
        if !owner.lives() {
            marks.remove();
            continue;
        }
        let mark = if verdict == Verdict::Keep { &marks.kept } else { &marks.ended };
        match fs::rename(&marks.pending, mark) {
            Ok(()) => {}
            // Its time was over.
            Err(why) if why.kind() == ErrorKind::NotFound => continue,
            Err(why) if verdict == Verdict::Keep => return Err(Fault::file(&marks.pending, "rename", why)),
            Err(_) => {
                end(&owner)?;
                notified.push(owner.pid);
                continue;
            }
        }
        let began = Instant::now();
        while mark.exists() && owner.lives() && began.elapsed() < PATIENCE {
            std::thread::sleep(LOOK / 5);
        }
        if mark.exists() {
            let _ = fs::remove_file(mark);
            return Err(Fault::Wrong(format!(
                "the trial of process {} did not answer; its settings are restored when it times out",
                owner.pid
            )));
        }
        notified.push(owner.pid);
    }
    Ok(notified)
}

/// Ends a trial where no file can be renamed.
fn end(owner: &Owner) -> Result<(), Fault> {
    let failed =
        |why: nix::Error| Fault::Call { doing: format!("ending the trial of process {}", owner.pid), why: why.into() };
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(owner.pid), nix::sys::signal::Signal::SIGTERM).map_err(failed)?;
    let began = Instant::now();
    while owner.lives() {
        if began.elapsed() > PATIENCE {
            return Err(failed(nix::Error::ETIMEDOUT));
        }
        std::thread::sleep(LOOK / 5);
    }
    Ok(())
}

fn pending(folder: &Path) -> Vec<Owner> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let own = Owner::own().boot;
    let owner = |name: &str| {
        let (pid, start) = name.strip_prefix("trial-")?.split_once('-')?;
        Some(Owner { boot: own.clone(), pid: pid.parse().ok()?, start: start.parse().ok()? })
    };
    entries.flatten().take(10_000).filter_map(|e| owner(e.file_name().to_str()?)).collect()
}
