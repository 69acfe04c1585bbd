//! The owner of a journal entry: a process, distinguished from a later one of the same number by its start, and from one of
//! an earlier boot by the boot.

use schedlab_linux::proc::task::start_of;
use serde::{Deserialize, Serialize};

/// A process of one boot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Owner {
    /// The kernel's name for this time of running.
    pub boot: String,
    /// Number of the process.
    pub pid: i32,
    /// When it began, in ticks since boot.
    pub start: u64,
}

impl Owner {
    /// This process.
    pub fn own() -> Owner {
        let pid = std::process::id() as i32;
        Owner { boot: boot(), pid, start: start_of(pid).unwrap_or(0) }
    }

    /// Whether it belongs to the time since the machine was last started.
    pub fn of_this_boot(&self) -> bool {
        self.boot == boot()
    }

    /// Whether it still runs.
    pub fn lives(&self) -> bool {
        self.of_this_boot() && start_of(self.pid) == Some(self.start)
    }
}

fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|t| t.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_one_of_another_start_or_boot_does_not() {
        let own = Owner::own();
        assert!(own.start > 0 && own.lives());
        assert!(!Owner { start: own.start + 1, ..own.clone() }.lives());
        assert!(!Owner { boot: "another".to_owned(), ..own }.lives());
    }
}
