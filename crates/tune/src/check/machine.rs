//! What the machine is and what its owner has granted: processors, clocks, groups, devices, limits.

use super::{Answer, Line, text};
use nix::unistd::{AccessFlags, access};
use schedlab_linux::{Root, mounts};
use std::collections::BTreeSet;

/// How many processors this process may use, of how many.
pub(super) fn processors(root: &Root) -> Line {
    let online = text(root, "/sys/devices/system/cpu/online").unwrap_or_else(|| "unknown".to_owned());
    let usable = std::thread::available_parallelism().map_or(1, |n| n.get());
    let seen = format!("{usable} to be used; online {online}");
    Line::fine_if(usable > 1, "processors", seen, "with one, the agent's own work falls on what is measured")
}

/// Everything else about it.
pub(super) fn lines(root: &Root) -> Vec<Line> {
    vec![
        groups(root),
        clock(root),
        siblings(root),
        frequency(root),
        locked_memory(),
        devices(root),
        kvm(root),
        container(root),
    ]
}

fn groups(root: &Root) -> Line {
    let what = "control groups";
    let (mut writable, mut closed) = (BTreeSet::new(), BTreeSet::new());
    for mount in mounts::short(root) {
        let names: Vec<String> = match mount.is_unified() {
            Some(false) => {
                let all = mount.options.split(',');
                all.filter(|o| CONTROLLERS.contains(o)).map(|o| format!("{o} (v1)")).collect()
            }
            Some(true) => {
                let file = mount.point.join("cgroup.controllers");
                let all = file.to_str().and_then(|file| text(root, file)).unwrap_or_default();
                all.split_whitespace().filter(|c| CONTROLLERS.contains(c)).map(|c| format!("{c} (v2)")).collect()
            }
            None => continue,
        };
        let may = access(&root.path(&mount.point), AccessFlags::W_OK).is_ok();
        if may { writable.extend(names) } else { closed.extend(names) }
    }
    let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
    let both = match (writable.is_empty(), closed.is_empty()) {
        (false, true) => (Answer::Yes, list(&writable)),
        (false, false) => (Answer::Limited, format!("{}; closed: {}", list(&writable), list(&closed))),
        (true, false) => (Answer::No, format!("closed: {}", list(&closed))),
        (true, true) => (Answer::No, "none of processor, memory and disk is mounted".to_owned()),
    };
    Line::new(what, both.0, both.1, "as root, or let the host's owner delegate a group")
}

/// Those that an experiment can use.
const CONTROLLERS: &[&str] = &["cpu", "cpuset", "memory", "blkio", "io", "freezer"];

fn clock(root: &Root) -> Line {
    let folder = "/sys/devices/system/clocksource/clocksource0";
    let Some(name) = text(root, &format!("{folder}/current_clocksource")) else {
        return Line::new("clock", Answer::Unknown, "its source cannot be read", "");
    };
    let cheap =
        ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "tod", "riscv_clocksource"];
    let advice = "reading it is a slow call to hardware: probes of short waits suffer; boot with tsc=reliable if it is";
    Line::fine_if(cheap.contains(&name.as_str()), "clock", name, advice)
}

fn siblings(root: &Root) -> Line {
    let what = "processors of their own (SMT)";
    match text(root, "/sys/devices/system/cpu/smt/active").as_deref() {
        Some("1") => Line::new(
            what,
            Answer::Limited,
            "two processors share a core",
            "pin tasks to one of each core, or echo off > /sys/devices/system/cpu/smt/control",
        ),
        Some(_) => match text(root, "/proc/cpuinfo").is_some_and(|t| t.contains(" hypervisor")) {
            true => Line::new(
                what,
                Answer::Unknown,
                "none are seen, but this is a virtual machine",
                "siblings of the real machine show as noise",
            ),
            false => Line::new(what, Answer::Yes, "none share a core", ""),
        },
        None => Line::new(what, Answer::Unknown, "the kernel does not say", ""),
    }
}

fn frequency(root: &Root) -> Line {
    let what = "steady frequency";
    let governor = text(root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let turbo = text(root, "/sys/devices/system/cpu/intel_pstate/no_turbo").map(|t| t == "0");
    let turbo = turbo.or_else(|| text(root, "/sys/devices/system/cpu/cpufreq/boost").map(|t| t == "1"));
    let Some(governor) = governor else {
        return Line::new(
            what,
            Answer::Unknown,
            "the kernel has no say in it",
            "interleave what is compared: the host's speed drifts",
        );
    };
    let steady = governor == "performance" && turbo != Some(true);
    let boost = match turbo {
        Some(true) => ", turbo on",
        Some(false) => ", turbo off",
        None => "",
    };
    Line::fine_if(
        steady,
        what,
        format!("governor {governor}{boost}"),
        "governor performance and no turbo, or interleave what is compared",
    )
}

fn locked_memory() -> Line {
    use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
    let what = "memory that may be locked";
    if nix::unistd::geteuid().is_root() {
        return Line::new(what, Answer::Yes, "all: this is root", "");
    }
    match getrlimit(Resource::RLIMIT_MEMLOCK) {
        Ok((RLIM_INFINITY, _)) => Line::new(what, Answer::Yes, "all", ""),
        Ok((soft, _)) => Line::fine_if(
            soft >= 64 << 20,
            what,
            format!("{} KiB", soft >> 10),
            "ulimit -l unlimited: the agent's own pages could go to swap",
        ),
        Err(why) => Line::new(what, Answer::Unknown, why.to_string(), ""),
    }
}

fn devices(root: &Root) -> Line {
    let open = |path: &str| access(&root.path(path), AccessFlags::R_OK | AccessFlags::W_OK).is_ok();
    let (fuse, control) = (open("/dev/fuse"), open("/dev/loop-control"));
    let name = |there: bool, name: &str| format!("{name} {}", if there { "yes" } else { "no" });
    let seen = format!("{}, {}", name(fuse, "/dev/fuse"), name(control, "/dev/loop-control"));
    let answer = match (fuse, control) {
        (true, true) => Answer::Yes,
        (false, false) => Answer::No,
        _ => Answer::Limited,
    };
    Line::new("a modelled disk (fuse and loop)", answer, seen, "as root; in a container, let the devices through")
}

fn kvm(root: &Root) -> Line {
    let what = "guests by KVM";
    if root.path("/dev/kvm").exists() {
        return Line::new(
            what,
            Answer::Unknown,
            "/dev/kvm is there, which proves nothing",
            "only a guest that has booted does; emulation works everywhere",
        );
    }
    Line::new(what, Answer::No, "there is no /dev/kvm", "emulation works everywhere")
}

fn container(root: &Root) -> Line {
    let what = "a host of its own";
    let marks = ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"];
    let mark = marks.into_iter().find(|path| root.path(path).exists());
    let grouped = text(root, "/proc/1/cgroup")
        .is_some_and(|t| ["docker", "kubepods", "lxc", "containerd"].iter().any(|name| t.contains(name)));
    let machine = text(root, "/proc/cpuinfo").is_some_and(|t| t.contains(" hypervisor"));
    let inside = match (mark, grouped) {
        (Some(path), _) => Some(format!("a container ({path})")),
        (None, true) => Some("a container (by the groups of process 1)".to_owned()),
        (None, false) => None,
    };
    let seen = match (inside, machine) {
        (Some(inside), true) => format!("{inside} in a virtual machine"),
        (Some(inside), false) => inside,
        (None, true) => "a virtual machine".to_owned(),
        (None, false) => "no container or virtual machine seen".to_owned(),
    };
    let alone = seen.starts_with("no ");
    Line::fine_if(alone, what, seen, "neighbours show as stolen time and as holes: look at both in every result")
}
