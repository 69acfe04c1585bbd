//! The object of a journal entry: what a run creates or changes on a host, and must undo.

use crate::{
    change::Change,
    marker::{self, Id},
    owner::Owner,
    program::TreatedProgram,
    remove,
    undone::Undone,
};
use schedlab_linux::{Fault, Root};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Something that has to be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Object {
    /// A setting of the kernel.
    Value(Change),
    /// A control group: its tasks are killed, then it is removed.
    Cgroup {
        /// Its folder.
        path: PathBuf,
        /// Its marker.
        id: Id,
    },
    /// A control group that only counts: its tasks go back to the group above, then it is removed.
    Enclosure {
        /// Its folder.
        path: PathBuf,
        /// Its marker.
        id: Id,
    },
    /// A tracefs instance.
    Instance {
        /// Its name; the mount point of tracefs depends on the mount namespace.
        name: String,
        /// Its marker.
        id: Id,
    },
    /// Something mounted.
    Mount {
        /// Where.
        path: PathBuf,
        /// What the table of mounts calls its source: another one mounted there is none of ours.
        source: String,
    },
    /// A file that the kernel pages out to, on a mount of ours.
    Swap {
        /// Which.
        path: PathBuf,
    },
    /// A loop device, if it still shows this file, which lies in a folder of ours.
    Loop {
        /// `/dev/loopN`.
        device: PathBuf,
        /// What it shows.
        file: PathBuf,
        /// Its `read_ahead_kb` before, which Linux 6.18 raises when a file is attached (blk_apply_bdi_limits), and never lowers.
        #[serde(default)]
        read_ahead: Option<String>,
    },
    /// A process of ours that outlives us.
    Process {
        /// Its number.
        pid: i32,
        /// When it began, in ticks since boot: another process of that number is none of ours.
        start: u64,
    },
    /// A process that acts for its owner: it must be dead before anything of the owner is undone.
    Member {
        /// Its number.
        pid: i32,
        /// When it began, in ticks since boot.
        start: u64,
    },
    /// How the kernel treats the threads of a program.
    Program(TreatedProgram),
    /// A folder with its contents.
    Folder {
        /// Which.
        path: PathBuf,
        /// Its marker.
        id: Id,
    },
}

impl Object {
    /// Whether it is still there after the machine has been started anew.
    pub fn outlives_a_boot(&self) -> bool {
        matches!(self, Object::Folder { .. })
    }

    /// Whether its entry must survive a loss of power: what the kernel alone holds goes with it.
    pub(crate) fn is_flushed(&self) -> bool {
        matches!(self, Object::Value(_) | Object::Folder { .. })
    }

    /// What it is, for a message.
    pub fn name(&self) -> String {
        match self {
            Object::Value(change) => format!("{} ({})", change.setting, change.path.display()),
            Object::Cgroup { path, .. } | Object::Enclosure { path, .. } => format!("group {}", path.display()),
            Object::Instance { name, .. } => format!("tracing instance {name}"),
            Object::Folder { path, .. } => format!("folder {}", path.display()),
            Object::Program(program) => format!("program {}", program.name),
            Object::Mount { path, .. } => format!("mount {}", path.display()),
            Object::Swap { path } => format!("swap area {}", path.display()),
            Object::Loop { device, file, .. } => format!("{} on {}", device.display(), file.display()),
            Object::Process { pid, .. } | Object::Member { pid, .. } => format!("process {pid}"),
        }
    }

    /// Undoes it. A fault means that it is still there.
    pub fn undo(&self, root: &Root, owner: &Owner) -> Result<Undone, Fault> {
        match self {
            Object::Value(change) => change.undo(root),
            Object::Cgroup { path, id } => remove::group(&root.path(path), id),
            Object::Enclosure { path, id } => remove::enclosure(&root.path(path), id),
            Object::Instance { name, id } => remove::instance(root, name, id),
            Object::Mount { path, source } => remove::mount(&root.path(path), source),
            Object::Swap { path } => remove::swap(&root.path(path)),
            Object::Loop { device, file, read_ahead } => remove::attachment(root, device, file, read_ahead.as_deref()),
            Object::Process { pid, start } => remove::process(*pid, *start),
            Object::Member { pid, start } => remove::member(*pid, *start),
            Object::Program(program) => program.undo(),
            Object::Folder { path, id } => marker::remove_folder(&root.path(path), id, owner),
        }
    }
}
