//! The state of the daemon, as `status` prints it.

use schedlab_model::attention::Standing;
use serde::Serialize;
use std::collections::BTreeMap;

/// All of it.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// The title of the layout.
    pub layout: String,
    /// The process of this daemon.
    pub pid: u32,
    /// How long it has run, s.
    pub up_s: f64,
    /// The share of one processor that it has used itself.
    pub own_share: f64,
    /// How long a period is now, s.
    pub period_s: f64,
    /// Who says where the focus is.
    pub sources: Vec<String>,
    /// Why others do not.
    pub without: Vec<String>,
    /// The program that has the focus.
    pub focus: Option<u64>,
    /// Levels, the most favoured first.
    pub levels: Vec<LevelStatus>,
    /// Programs, the most favoured first.
    pub programs: Vec<ProgramStatus>,
    /// Changes of the level of a program so far.
    pub moves: u64,
    /// Threads that another process has changed since, and which are left alone.
    pub foreign_threads: usize,
    /// What the kernel has refused, and how often.
    pub refused: BTreeMap<String, u64>,
    /// What cannot be set for want of rights or of a newer kernel.
    pub cannot: Vec<String>,
}

/// A level.
#[derive(Debug, Clone, Serialize)]
pub struct LevelStatus {
    /// Its name.
    pub name: String,
    /// What it adds to nice values.
    pub nice: i32,
    /// Processors that its programs used in the last period.
    pub used: f64,
    /// How many programs are there.
    pub programs: usize,
}

/// A program.
#[derive(Debug, Clone, Serialize)]
pub struct ProgramStatus {
    /// Its number.
    pub program: u64,
    /// The name of the process that it began with.
    pub name: String,
    /// Its level.
    pub level: String,
    /// Why it is there.
    pub standing: Standing,
    /// Levels that overload took from it.
    pub lowered: usize,
    /// Recent attention, 0 to 1.
    pub attention: f64,
    /// Processors that it used in the last period.
    pub used: f64,
    /// Its processes.
    pub processes: Vec<i32>,
    /// Threads that are treated otherwise than by themselves.
    pub treated_threads: usize,
}
