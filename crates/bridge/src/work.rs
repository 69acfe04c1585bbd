//! Recorded work that scenarios replay: files of `schedlab whatif --write`, read once for all runs.

use crate::from_json;
use schedlab_model::{replay::Replay, scenario::Scenario};
use schedlab_whatif::file;
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeSet,
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

/// The work that was read last, by its digest: runs of one experiment share it.
static LAST: Mutex<Option<(String, Arc<Replay>)>> = Mutex::new(None);

/// A scenario from its text, with its work.
pub(crate) fn scenario(text: &str) -> Result<Scenario, String> {
    loaded(from_json("scenario", text)?)
}

/// A scenario with the work that its jobs replay, if any do, read from its file and checked.
///
/// # Errors
/// If the file is not there, damaged or another, or has not the tasks that the jobs name.
pub fn loaded(mut scenario: Scenario) -> Result<Scenario, String> {
    let Some(recording) = &mut scenario.recording else { return Ok(scenario) };
    let work = known(&recording.file, &recording.sha256)?;
    let streams = work.by_job();
    let mut all = BTreeSet::new();
    for (name, job) in &scenario.workload {
        let Some(replayed) = &job.replay else { continue };
        if !all.insert(replayed) {
            return Err(format!(
                "workload.{name}: another job replays {replayed:?}, too; each recorded task is replayed once"
            ));
        }
        let there = streams.get(replayed.as_str()).map_or(0, Vec::len);
        if there == 0 || job.count as usize != there {
            let why = format!("the recording has {there} tasks named {replayed:?}, and the job {}", job.count);
            return Err(format!("workload.{name}: {why}"));
        }
    }
    recording.work = Some(match recording.speed {
        Some(speed) => Arc::new(work.at_speed(speed)),
        None => work,
    });
    Ok(scenario)
}

/// The work of that file, which must have that digest.
fn known(file: &str, sha256: &str) -> Result<Arc<Replay>, String> {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, work)) = last.as_ref().filter(|(digest, _)| digest == sha256) {
        return Ok(work.clone());
    }
    let path = Path::new(file);
    let failed = |why: std::io::Error| format!("{file}: {why}");
    let found = digest(path)?;
    if found != sha256 {
        let why = "its content is not that of the recording.sha256 that the experiment gives: the file was changed";
        return Err(format!("{file}: {why} (it has {found})"));
    }
    let mut bytes = BufReader::with_capacity(1 << 20, File::open(path).map_err(failed)?);
    let work = Arc::new(file::read(&mut bytes).map_err(failed)?);
    *last = Some((found, work.clone()));
    Ok(work)
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(crate) fn digest(path: &Path) -> Result<String, String> {
    let failed = |why: std::io::Error| format!("{}: {why}", path.display());
    let mut hasher = Sha256::new();
    let mut content = BufReader::with_capacity(1 << 20, File::open(path).map_err(failed)?);
    loop {
        let some = content.fill_buf().map_err(failed)?;
        if some.is_empty() {
            break;
        }
        hasher.update(some);
        let length = some.len();
        content.consume(length);
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
