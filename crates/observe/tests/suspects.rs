//! What the counters do not say, of trees of files: control groups of both versions, sockets, softirqs, dropped packets.

use schedlab_linux::Root;
use schedlab_observe::suspects::{groups, kernel, sockets::Sockets};
use std::{fs, path::Path};

fn write(root: &Path, file: &str, text: &str) {
    let place = root.join(file);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, text).unwrap();
}

/// Reads, lets the files be changed, and reads again, two seconds later.
fn grown(root: &Path, change: impl FnOnce()) -> Vec<groups::Change> {
    let at = Root::at(root);
    let before = groups::read(&at);
    change();
    groups::changes(&at, &before, groups::read(&at), 2.0)
}

#[test]
fn a_throttled_group_of_either_version_is_reported_with_its_tasks() {
    for (top, unit) in [("sys/fs/cgroup/cpu/shop", "throttled_time 0"), ("sys/fs/cgroup/shop", "throttled_usec 0")] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "sys/fs/cgroup/other/x", "");
        if !top.contains("/cpu/") {
            write(root, "sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        }
        write(root, &format!("{top}/cgroup.procs"), "41\n42\n");
        write(root, &format!("{top}/cpu.stat"), &format!("nr_periods 10\nnr_throttled 1\n{unit}\n"));
        let after = unit.replace(" 0", if unit.contains("usec") { " 500000" } else { " 500000000" });
        let found = grown(root, || {
            write(root, &format!("{top}/cpu.stat"), &format!("nr_periods 30\nnr_throttled 16\n{after}\n"));
        });
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].path.as_str(), &found[0].tasks), ("/shop", &vec![41, 42]));
        assert_eq!(found[0].throttled_percent, Some(75.0));
        assert_eq!(found[0].throttled_time_percent, Some(25.0));
    }
}

#[test]
fn failed_charges_refaults_and_pressure_of_a_group_are_reported_for_either_version() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let one = "sys/fs/cgroup/memory/a/b";
    write(root, &format!("{one}/memory.failcnt"), "100\n");
    write(root, &format!("{one}/memory.limit_in_bytes"), "9223372036854771712\n");
    write(root, &format!("{one}/memory.stat"), "workingset_refault_file 10\npgmajfault 1\n");
    let found = grown(root, || {
        write(root, &format!("{one}/memory.failcnt"), "300\n");
        write(root, &format!("{one}/memory.stat"), "workingset_refault_file 50\npgmajfault 1\n");
    });
    assert_eq!((found[0].path.as_str(), found[0].failed_per_s, found[0].limit), ("/a/b", Some(100.0), None));
    assert_eq!((found[0].refaults_per_s, found[0].major_faults_per_s), (Some(20.0), Some(0.0)));

    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "sys/fs/cgroup/cgroup.controllers", "memory\n");
    write(root, "sys/fs/cgroup/a/memory.events", "low 0\nhigh 1\nmax 5\noom_kill 0\n");
    write(root, "sys/fs/cgroup/a/memory.pressure", "some avg10=0.00 total=0\nfull avg10=0.00 total=0\n");
    let found = grown(root, || {
        write(root, "sys/fs/cgroup/a/memory.events", "low 0\nhigh 3\nmax 9\noom_kill 1\n");
        write(root, "sys/fs/cgroup/a/memory.pressure", "some avg10=9.00 total=1000000\nfull avg10=0.00 total=0\n");
    });
    assert_eq!((found[0].failed_per_s, found[0].oom_kills), (Some(3.0), 1));
    assert_eq!(found[0].pressure, [None, Some(50.0), None]);
}

#[test]
fn groups_that_come_go_or_begin_again_are_no_change() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "sys/fs/cgroup/memory/old/memory.failcnt", "900\n");
    write(root, "sys/fs/cgroup/memory/again/memory.failcnt", "900\n");
    let found = grown(root, || {
        fs::remove_dir_all(root.join("sys/fs/cgroup/memory/old")).unwrap();
        write(root, "sys/fs/cgroup/memory/new/memory.failcnt", "900\n");
        write(root, "sys/fs/cgroup/memory/again/memory.failcnt", "3\n");
    });
    assert_eq!(found, []);
}

#[test]
fn softirqs_interrupts_and_full_queues_are_counted_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let write_all = |times: u64| {
        let (a, b) = (10 * times, 30 * times);
        write(root, "proc/softirqs", &format!("      CPU0 CPU1\nNET_RX: {a} {b}\nTIMER: 5 5\n"));
        write(
            root,
            "proc/interrupts",
            &format!("      CPU0 CPU1\n 36: {a} 0 PCI-MSIX 1-edge virtio1-req.0\nLOC: 7 7 Local\n"),
        );
        write(root, "proc/net/snmp", &format!("Tcp: InSegs\nTcp: 1\nUdp: InDatagrams RcvbufErrors\nUdp: 9 {b}\n"));
    };
    write_all(1);
    let before = kernel::read(&Root::at(root));
    write_all(2);
    let rates = kernel::read(&Root::at(root)).since(&before, 2.0);
    assert_eq!(rates.softirqs.into_iter().collect::<Vec<_>>(), [("NET_RX".to_owned(), 20.0)]);
    assert_eq!(
        rates.interrupts.into_iter().collect::<Vec<_>>(),
        [("36 PCI-MSIX 1-edge virtio1-req.0".to_owned(), 5.0)]
    );
    assert_eq!(rates.dropped["Udp:RcvbufErrors"], 15.0);
}

#[test]
fn a_socket_of_the_loopback_in_which_data_waits_is_its_owners() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let line = |local: &str, queues: &str, inode: u32| {
        format!("0: {local}:1F90 0100007F:C001 01 {queues} 00:00000000 00000000 0 0 {inode} 1 0\n")
    };
    let lines = [
        line("0100007F", "00000000:00000100", 700),
        line("0100007F", "00000000:00000000", 701),
        line("0200000A", "00000000:00000100", 702),
        "short\n".to_owned(),
    ];
    write(root, "proc/net/tcp", &format!("  sl  local_address\n{}", lines.concat()));
    for (pid, inode) in [(51, 700), (52, 701), (53, 702)] {
        fs::create_dir_all(root.join(format!("proc/{pid}/fd"))).unwrap();
        std::os::unix::fs::symlink(format!("socket:[{inode}]"), root.join(format!("proc/{pid}/fd/3"))).unwrap();
    }
    let mut sockets = Sockets::default();
    sockets.look(&Root::at(root));
    let owners = sockets.owners(&Root::at(root));
    let found: Vec<_> = owners.iter().map(|it| (it.pid, it.waiting_percent)).collect();
    assert_eq!(found, [(51, 100), (52, 0)]);
}
