//! Which nice values may be set so that they can be taken back. A process without rights can raise a nice value and never lower it
//! again, so it raises none.

use schedlab_linux::{Root, process};

/// The bits of the rights in `CapEff` of /proc/self/status.
const SYS_NICE: u64 = 1 << 23;

/// The rights of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rights {
    /// It may set any nice value of any process.
    pub(crate) any_nice: bool,
    /// It is root: processes of other users are within reach.
    pub(crate) root: bool,
    /// Its user.
    pub(crate) user: u32,
}

impl Rights {
    pub(crate) fn own(root: &Root) -> Rights {
        let text = root.read("/proc/self/status").unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let rights = line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0);
        let user = nix::unistd::geteuid();
        Rights { any_nice: rights & SYS_NICE != 0, root: user.is_root(), user: user.as_raw() }
    }

    /// The nice value next to `wanted` that a process with nice value `own` may have and that can be taken back.
    pub(crate) fn nice(&self, process: i32, own: i32, wanted: i32) -> i32 {
        let wanted = wanted.clamp(-20, 19);
        if self.any_nice || wanted == own {
            return wanted;
        }
        let least = process::least_nice(process).unwrap_or(20);
        // To go back to `own` is to lower it; so that has to be allowed before it is raised.
        if own < least { own } else { wanted.max(least) }
    }

    /// What is missing, if something is.
    pub(crate) fn missing(&self) -> Option<String> {
        let least = process::least_nice(0).unwrap_or(20);
        if self.any_nice || least <= 0 {
            return None;
        }
        Some(
            "nice values stay as they are: what is raised could not be lowered again. Slices, autogroups and groups are set. For nice \
             values, run it with CAP_SYS_NICE, or raise the limit: LimitNICE=-2 in a unit of systemd, `@users - nice -2` in \
             /etc/security/limits.conf"
                .to_owned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_right_nothing_is_raised_that_could_not_be_lowered_again() {
        let own = process::least_nice(0).unwrap();
        let with = |any_nice| Rights { any_nice, root: false, user: 1000 };
        assert_eq!(with(true).nice(0, 0, -25), -20);
        assert_eq!(with(false).nice(0, 4, 4), 4);
        if own == 20 {
            assert_eq!(with(false).nice(0, 0, 5), 0);
            assert!(with(false).missing().unwrap().contains("CAP_SYS_NICE"));
        }
        assert_eq!(with(true).missing(), None);
    }
}
