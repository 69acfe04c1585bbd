//! Dying on purpose: a test lets the agent kill itself at its n-th step and looks at what is left.
//!
//! The steps are those between which a real SIGKILL or a loss of power can fall: before and after each write into the journal
//! and into the kernel.

use std::sync::atomic::{AtomicI64, Ordering};

/// Steps left; none are counted below zero.
static LEFT: AtomicI64 = AtomicI64::new(-1);

/// The n-th step from now on is the last.
pub fn after(steps: u32) {
    LEFT.store(i64::from(steps), Ordering::Relaxed);
}

/// A step.
pub(crate) fn point() {
    if LEFT.load(Ordering::Relaxed) < 0 {
        return;
    }
    if LEFT.fetch_sub(1, Ordering::Relaxed) == 0 {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
    }
}
