//! A request to a drive, as an elevator sees it.

use crate::{Nanos, task::TaskId};

/// Number of a sector of 512 bytes on a drive.
pub type Sector = u64;
/// Place of a request in the table of those that are queued or in service; used again when it has been served.
pub type RequestId = u32;
/// Bytes of a sector.
pub const SECTOR_SIZE: u64 = 512;

/// Whether data comes from the drive or goes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Direction {
    /// From the drive.
    Read,
    /// To the drive.
    Write,
}

/// The class of a request's owner, as `ionice` names them; a lower one is served only when no higher one has anything.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IoClass {
    /// First of all.
    RealTime,
    /// Everybody.
    #[default]
    BestEffort,
    /// When no other task has used the drive for a while.
    Idle,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// First sector.
    pub first: Sector,
    /// How many sectors, at least 1.
    pub sectors: u32,
    /// Read or write.
    pub direction: Direction,
    /// Whether a task waits for it (reads, and writes that are waited for); otherwise it is read-ahead or write-back.
    pub sync: bool,
    /// Whether other requests may be joined to it; pages of the swap area never are.
    pub mergeable: bool,
    /// On whose account it is; [`crate::event::NO_TASK`] for the kernel's own.
    pub owner: TaskId,
    /// The owner's class.
    pub class: IoClass,
    /// The owner's level within the class, 0 (first) to 7.
    pub level: u8,
    /// When it was queued.
    pub arrived: Nanos,
}

impl Request {
    /// The sector after its last.
    pub fn end(&self) -> Sector {
        self.first + u64::from(self.sectors)
    }
}
