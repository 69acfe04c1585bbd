//! Examines the kernel's file systems that are not mounted, without visible effects: a thread unshares its mount namespace,
//! mounts them there and examines them; the namespace ends with the thread.

use crate::place::DEBUGFS;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use schedlab_linux::{Root, mounts::has_entries};
use std::io::{ErrorKind, Result};

/// What was seen; a fault is the kernel's own.
#[derive(Debug)]
pub struct Aside {
    /// The features of the scheduler.
    pub features: Result<String>,
    /// The state of lockdown.
    pub lockdown: Result<String>,
    /// Whether an event of the scheduler may be read.
    pub events: Result<()>,
}

impl Aside {
    /// Whether the scheduler's files are there and closed.
    pub fn debugfs_is_closed(&self) -> bool {
        self.features.as_ref().is_err_and(|why| why.kind() == ErrorKind::PermissionDenied)
    }
}

/// Looks; none if this user may not mount, or the files are a test's.
pub fn look(root: &Root) -> Option<Aside> {
    if *root != Root::default() || !nix::unistd::geteuid().is_root() {
        return None;
    }
    std::thread::spawn(look_from_here).join().ok()?
}

fn look_from_here() -> Option<Aside> {
    unshare(CloneFlags::CLONE_NEWNS).ok()?;
    // Or what is mounted here would appear in the table of others.
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).ok()?;
    let root = Root::default();
    for (kind, folder) in
        [("debugfs", DEBUGFS), ("securityfs", "/sys/kernel/security"), ("tracefs", "/sys/kernel/tracing")]
    {
        if !has_entries(&root, folder) {
            // What cannot be mounted is not there, and says so below.
            let _ = mount(Some(kind), folder, Some(kind), MsFlags::empty(), None::<&str>);
        }
    }
    let read = |path: &str| crate::reading::read_bounded(&root.path(path));
    Some(Aside {
        features: read("/sys/kernel/debug/sched/features").or_else(|why| match why.kind() {
            ErrorKind::NotFound => read("/sys/kernel/debug/sched_features"),
            _ => Err(why),
        }),
        lockdown: read("/sys/kernel/security/lockdown"),
        events: read("/sys/kernel/tracing/events/sched/sched_switch/id").map(|_| ()),
    })
}
