//! What the queue reports to its caller: the outcome of a submission, and the events since.

use schedlab_model::{
    Nanos,
    request::{Request, RequestId},
};

/// The outcome of submitting a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submitted {
    /// It has a slot.
    Queued(RequestId),
    /// It is a part of that queued request.
    Merged(RequestId),
    /// There is no room. Nothing has changed.
    Full,
}

/// A request that the drive has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// The request, with all its parts.
    pub request: Request,
    /// When.
    pub at: Nanos,
}

/// A part that is complete: what was submitted under a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Given by the caller.
    pub token: u32,
    /// As it was submitted; `arrived` is when.
    pub request: Request,
    /// When the drive took the request that it is a part of.
    pub started: Nanos,
    /// When the drive had served it.
    pub finished: Nanos,
    /// Whether it is the first part of its request: one for each time that the drive interrupts.
    pub leads: bool,
}

/// The drive has become busy, or idle. One that begins a request at the instant at which it ends another stays busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// When.
    pub at: Nanos,
    /// What it is from then on.
    pub busy: bool,
}

/// What has happened, in order of time in each list. The caller owns it, reads it and clears it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Requests taken by the drive.
    pub started: Vec<Started>,
    /// Parts completed.
    pub done: Vec<Done>,
    /// Changes between busy and idle.
    pub turns: Vec<Turn>,
}

impl Progress {
    /// Forgets what has been read.
    pub fn clear(&mut self) {
        self.started.clear();
        self.done.clear();
        self.turns.clear();
    }
}
