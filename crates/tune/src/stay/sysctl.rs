//! Settings below /proc/sys, as sysctl.d(5) has them: `vm.swappiness = 10`.

use std::fmt::Write as _;
use std::path::Path;

/// Where the kernel has them.
pub(super) const PROC_SYS: &str = "/proc/sys/";

/// The name that sysctl.d has for a file, if it is one of its.
pub(super) fn key(path: &Path) -> Option<String> {
    let below = path.to_str()?.strip_prefix(PROC_SYS)?;
    // Names are written with dots for slashes, and slashes for the dots in names, as of interfaces.
    Some(
        below
            .chars()
            .map(|c| {
                if c == '/' {
                    '.'
                } else if c == '.' {
                    '/'
                } else {
                    c
                }
            })
            .collect(),
    )
}

/// The lines of a file for settings (key, value), in this order.
pub(super) fn text(head: &str, settings: &[(String, String)]) -> String {
    let mut text = format!("# {head}\n");
    for (key, value) in settings {
        let _ = writeln!(text, "{key} = {value}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_and_dots_change_places() {
        let key = |path: &str| key(Path::new(path));
        assert_eq!(key("/proc/sys/vm/swappiness").unwrap(), "vm.swappiness");
        assert_eq!(key("/proc/sys/net/ipv4/conf/eth0.100/rp_filter").unwrap(), "net.ipv4.conf.eth0/100.rp_filter");
        assert_eq!(key("/sys/block/vda/queue/scheduler"), None);
    }
}
