//! Settings of block devices as udev rules: they are made whenever the device appears.
//!
//! A device is recognised by its serial number or world-wide name where it has one, because names like `sda` are given
//! in the order in which devices are found. Rules are carried out one after the other, so an elevator comes before its numbers.

use schedlab_linux::Root;
use std::fmt::Write as _;
use std::path::Path;

/// An attribute of a device to be written.
pub(super) struct Attribute {
    /// As in /sys/block.
    pub(super) device: String,
    /// Below the device: `queue/scheduler`.
    pub(super) name: String,
    pub(super) value: String,
}

/// The device and the attribute of a file below /sys/block.
pub(super) fn attribute(path: &Path, value: &str) -> Option<Attribute> {
    let (device, name) = path.to_str()?.strip_prefix("/sys/block/")?.split_once('/')?;
    Some(Attribute { device: device.to_owned(), name: name.to_owned(), value: value.to_owned() })
}

/// The rules, and what there is to say of them.
pub(super) fn text(root: &Root, head: &str, attributes: &[Attribute]) -> (String, Vec<String>) {
    let (mut text, mut notes) = (format!("# {head}\n"), Vec::new());
    let mut last = "";
    for one in attributes {
        let known = identity(root, &one.device);
        if one.device != last {
            let _ = writeln!(text, "# {} when this was written", one.device);
            if known.is_none() {
                notes.push(format!(
                    "{0}: no serial number is known, so the rule is for whatever disk has the name {0}",
                    one.device
                ));
            }
            last = &one.device;
        }
        let is_it = known.unwrap_or_else(|| format!("KERNEL==\"{}\"", one.device));
        let _ = writeln!(
            text,
            "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{{DEVTYPE}}==\"disk\", {is_it}, ATTR{{{}}}=\"{}\"",
            one.name, one.value
        );
    }
    (text, notes)
}

/// What a rule recognises a device by: its own attribute, or that of the device which it is on.
fn identity(root: &Root, device: &str) -> Option<String> {
    let folder = Path::new("/sys/block").join(device);
    [
        ("ATTR{wwid}", "wwid"),
        ("ATTR{serial}", "serial"),
        ("ATTRS{wwid}", "device/wwid"),
        ("ATTRS{serial}", "device/serial"),
    ]
    .into_iter()
    .find_map(|(key, file)| {
        let found = root.read(folder.join(file)).ok()?;
        let value = found.trim_end();
        let literal = |c: char| c.is_ascii_graphic() && !"\"\\*?[]|".contains(c);
        // A pattern of udev has no way to say that a sign is itself.
        (!value.is_empty() && value.chars().all(literal)).then(|| format!("{key}==\"{value}\""))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn rules(files: &[(&str, &str)]) -> (String, Vec<String>) {
        let tree = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = tree.path().join("sys/block/sda").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let one =
            |name: &str, value: &str| attribute(Path::new(&format!("/sys/block/sda/queue/{name}")), value).unwrap();
        text(&Root::at(tree.path()), "web", &[one("scheduler", "bfq"), one("iosched/low_latency", "0")])
    }

    #[test]
    fn an_elevator_comes_before_its_numbers() {
        let (text, notes) = rules(&[]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[2].ends_with("KERNEL==\"sda\", ATTR{queue/scheduler}=\"bfq\""), "{text}");
        assert!(lines[3].ends_with("ATTR{queue/iosched/low_latency}=\"0\""), "{text}");
        assert_eq!(notes.len(), 1);
    }

    #[test]
    fn a_device_with_a_serial_number_is_recognised_by_it() {
        let (text, notes) = rules(&[("device/wwid", "naa.5000c500a1b2c3d4\n")]);
        assert!(text.contains("ATTRS{wwid}==\"naa.5000c500a1b2c3d4\"") && !text.contains("KERNEL"), "{text}");
        assert!(notes.is_empty());
        // One that a rule cannot say is not used.
        assert!(rules(&[("serial", "a\"b*")]).0.contains("KERNEL==\"sda\""));
        assert!(rules(&[("serial", "")]).0.contains("KERNEL==\"sda\""));
    }
}
