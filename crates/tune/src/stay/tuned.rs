//! A profile as TuneD has it: one file for all settings of the host, made and taken back by its daemon.

use super::sysctl;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The file of a TuneD profile for these writes, in this order.
pub(super) fn text(head: &str, name: &str, about: &str, writes: &[(PathBuf, String)]) -> String {
    let summary = if about.is_empty() { format!("Settings of the schedlab profile {name}") } else { about.to_owned() };
    let mut text = format!("# {head}\n[main]\nsummary={summary}\n");
    let (sysctls, others): (Vec<_>, Vec<_>) = writes.iter().partition(|(path, _)| sysctl::key(path).is_some());
    for (section, writes) in [("sysctl", sysctls), ("sysfs", others)] {
        if writes.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n[{section}]");
        for (path, value) in writes {
            let key = sysctl::key(path).unwrap_or_else(|| path.display().to_string());
            let _ = writeln!(text, "{key}={value}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sysctls_and_other_files_have_sections_of_their_own() {
        let writes = [("/sys/block/sda/queue/scheduler", "bfq"), ("/proc/sys/vm/swappiness", "10")];
        let writes = writes.map(|(path, value)| (PathBuf::from(path), value.to_owned()));
        let wanted =
            "# h\n[main]\nsummary=s\n\n[sysctl]\nvm.swappiness=10\n\n[sysfs]\n/sys/block/sda/queue/scheduler=bfq\n";
        assert_eq!(text("h", "web", "s", &writes), wanted);
    }
}
