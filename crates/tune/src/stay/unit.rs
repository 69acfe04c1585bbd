//! Settings that neither sysctl.d nor udev can make (files of sysfs and debugfs), as a systemd unit that writes them at boot.

use crate::{place::DEBUGFS, script::quoted};
use std::fmt::Write as _;
use std::path::PathBuf;

/// The unit that writes these texts into these files, in this order.
pub(super) fn text(head: &str, name: &str, writes: &[(PathBuf, String)]) -> String {
    let mut text = format!("# {head}\n[Unit]\nDescription=Settings of the schedlab profile {name}\n");
    text.push_str("After=systemd-sysctl.service systemd-udev-trigger.service\n");
    if writes.iter().any(|(path, _)| path.starts_with(DEBUGFS)) {
        let _ = writeln!(text, "RequiresMountsFor={DEBUGFS}");
    }
    text.push_str("\n[Service]\nType=oneshot\nRemainAfterExit=yes\n");
    for (path, value) in writes {
        let command = format!("echo {} > {}", quoted(value), quoted(&path.to_string_lossy()));
        let _ = writeln!(text, "ExecStart=/bin/sh -c \"{}\"", escaped(&command));
    }
    text.push_str("\n[Install]\nWantedBy=multi-user.target\n");
    text
}

/// A text as it is between quotation marks in ExecStart: there a percent sign begins a specifier, and a dollar sign a variable.
pub fn escaped(text: &str) -> String {
    text.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debugfs_is_mounted_first_and_texts_reach_the_file_as_they_are() {
        let path = PathBuf::from("/sys/kernel/debug/sched/base_slice_ns");
        let unit = text("web", "web", &[(path, "3000000".to_owned())]);
        assert!(unit.contains("RequiresMountsFor=/sys/kernel/debug\n"), "{unit}");
        assert!(
            unit.contains("ExecStart=/bin/sh -c \"echo 3000000 > /sys/kernel/debug/sched/base_slice_ns\"\n"),
            "{unit}"
        );
        let other = text("web", "web", &[(PathBuf::from("/sys/a"), "50% $x \"y\"".to_owned())]);
        assert!(other.contains(r#"ExecStart=/bin/sh -c "echo '50%% $$x \"y\"' > /sys/a""#), "{other}");
        assert!(!other.contains("RequiresMountsFor"));
    }
}
