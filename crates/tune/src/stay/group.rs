//! Settings of control groups, as drop-ins of the systemd unit whose group it is; systemd makes every other group anew.

use schedlab_linux::{Fault, Root};
use std::path::Path;

/// A property of a unit.
pub(super) struct Property {
    pub(super) unit: String,
    pub(super) line: String,
}

/// The property that a file of a group is.
pub(super) fn property(root: &Root, setting: &str, path: &Path, value: &str) -> Result<Property, Fault> {
    let refuse =
        |why: String, advice: &str| Fault::Refused { what: setting.to_owned(), why, advice: advice.to_owned() };
    let unit = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let plain = unit.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:@\\".contains(c));
    if !plain || ![".service", ".slice"].iter().any(|end| unit.ends_with(end)) {
        let why = format!("{unit:?} is no service or slice of systemd, and nothing else makes a group at boot");
        return Err(refuse(why, "name the group of a service or slice, or leave it out"));
    }
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let line = match file.as_str() {
        "cpu.weight" => format!("CPUWeight={value}"),
        "memory.max" | "memory.limit_in_bytes" => match value {
            "max" | "-1" => "MemoryMax=infinity".to_owned(),
            bytes => format!("MemoryMax={bytes}"),
        },
        "cpu.max" | "cpu.cfs_quota_us" => quota(root, path, value).map_err(|why| refuse(why, "leave it out"))?,
        _ => {
            return Err(refuse(
                format!("systemd has no property for {file}"),
                "leave it out, or write it at boot yourself",
            ));
        }
    };
    Ok(Property { unit, line })
}

/// `CPUQuota`: time a period, in percent of one processor; the period is the group's present one.
fn quota(root: &Root, path: &Path, value: &str) -> Result<String, String> {
    if matches!(value, "max" | "-1") {
        return Ok("CPUQuota=".to_owned());
    }
    let number = |text: &str| text.trim().parse::<u64>().ok().filter(|n| *n > 0);
    let period = match root.read(path.with_file_name("cpu.cfs_period_us")) {
        Ok(text) => number(&text),
        Err(_) => root.read(path).ok().and_then(|text| number(text.split_whitespace().nth(1)?)),
    };
    let (Some(quota), Some(period)) = (number(value), period) else {
        return Err(format!("the period of {} is not known", path.display()));
    };
    // systemd takes hundredths of a percent.
    let hundredths = (quota as f64 * 10_000.0 / period as f64).round() as u64;
    Ok(format!("CPUQuota={}.{:02}%\nCPUQuotaPeriodSec={period}us", hundredths / 100, hundredths % 100))
}

/// The drop-in of a unit.
pub(super) fn text(head: &str, unit: &str, lines: &[String]) -> String {
    let section = if unit.ends_with(".slice") { "Slice" } else { "Service" };
    format!("# {head}\n[{section}]\n{}\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_units_have_groups_at_boot() {
        let root = Root::at("/nowhere");
        let of = |path: &str, value: &str| property(&root, "x", Path::new(path), value).map(|p| (p.unit, p.line));
        let web = "/sys/fs/cgroup/system.slice/web.service/memory.max";
        assert_eq!(of(web, "1048576").unwrap(), ("web.service".to_owned(), "MemoryMax=1048576".to_owned()));
        assert!(of("/sys/fs/cgroup/lab/memory.max", "1").unwrap_err().to_string().contains("no service or slice"));
        assert!(of("/sys/fs/cgroup/a.slice/memory.swappiness", "1").unwrap_err().to_string().contains("no property"));
        assert!(of("/sys/fs/cgroup/a.slice/cpu.max", "1000").unwrap_err().to_string().contains("period"));
    }

    #[test]
    fn a_quota_is_a_share_of_its_period() {
        let tree = tempfile::tempdir().unwrap();
        let group = tree.path().join("g/a.slice");
        std::fs::create_dir_all(&group).unwrap();
        std::fs::write(group.join("cpu.max"), "max 50000\n").unwrap();
        let found = property(&Root::at(tree.path()), "x", Path::new("/g/a.slice/cpu.max"), "20000").unwrap();
        assert_eq!(found.line, "CPUQuota=40.00%\nCPUQuotaPeriodSec=50000us");
    }
}
