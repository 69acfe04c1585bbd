//! The sampler on trees of several kernels' files, and on nonsense. The trees are made by hand after what those kernels
//! write: 2.6.32 (counts by zone, no pressure), 5.10 (control groups of version 1), 6.18 (version 2).

use proptest::{prelude::*, test_runner::TestRunner};
use schedlab_linux::Root;
use schedlab_observe::sample::{By, Chosen, Line, Sampler, Wanted, schema};
use serde_json::Value;
use std::{fs, path::Path};

const SECOND: u64 = 1_000_000_000;

/// A copy of a tree that a test may change.
fn tree(kernel: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees").join(kernel), folder.path());
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Replaces a piece of a file, which must be there.
fn change(tree: &Path, file: &str, from: &str, to: &str) {
    let text = fs::read_to_string(tree.join(file)).unwrap();
    assert!(text.contains(from), "{file} has no {from:?}");
    fs::write(tree.join(file), text.replacen(from, to, 1)).unwrap();
}

fn everything() -> Wanted {
    let tasks = Some(Chosen { most: 5, by: By::Cpu, named: Vec::new() });
    Wanted { interrupts: Some(1), nice: true, tasks, groups: Vec::new() }
}

/// The line of two samples, a number of seconds apart, between which the tree changes.
fn line(tree: &Path, wanted: Wanted, seconds: f64, changes: impl FnOnce(&Path)) -> Value {
    let mut sampler = Sampler::new(&Root::at(tree), wanted).unwrap();
    let mut line = Line::with_room(1000);
    sampler.sample(5 * SECOND);
    changes(tree);
    sampler.sample(5 * SECOND + (seconds * SECOND as f64) as u64);
    let (now, before) = sampler.last_two();
    now.rates(before).write(sampler.wanted(), 0, &mut line);
    serde_json::from_slice(line.bytes()).unwrap()
}

#[test]
fn an_old_kernel_reports_what_it_has_and_nothing_else() {
    let tree = tree("2.6.32");
    let line = line(tree.path(), everything(), 2.0, |tree| {
        change(tree, "proc/stat", "cpu  10132 120 3450 2001230 5120", "cpu  10232 120 3500 2001280 5120");
        change(tree, "proc/stat", "ctxt 2115000", "ctxt 2115500");
        change(tree, "proc/stat", "intr 1462898", "intr 1463098");
        change(tree, "proc/vmstat", "pgsteal_normal 2000", "pgsteal_normal 2060");
        change(tree, "proc/vmstat", "pgscan_direct_dma32 10", "pgscan_direct_dma32 110");
        change(tree, "proc/diskstats", "sda 20000 500 800000 90000", "sda 20010 500 800400 90120");
        change(tree, "proc/diskstats", "0 80000 390000", "0 80500 393000");
        change(tree, "proc/net/dev", "eth0:1633071233", "eth0:1633075329");
        change(tree, "proc/net/snmp", "3840911 449", "3840961 459");
        change(tree, "proc/net/netstat", "3 4 17", "3 8 17");
        change(tree, "proc/interrupts", "39000          1", "39010          11");
    });
    let numbers = |pointer: &str| line.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}")).as_f64();
    let expected = [
        ("/cpu/usr", 50.0),
        ("/cpu/sys", 25.0),
        ("/cpu/idl", 25.0),
        ("/system/csw", 250.0),
        ("/tcp/estab", 12.0),
        ("/tcp/oseg~1s", 25.0),
        ("/tcp/retrans~1s", 5.0),
        ("/tcp/lisdrop~1s", 2.0),
        ("/system/int", 100.0),
        ("/system/b", 0.0),
        ("/load/load5", 0.18),
        ("/load/tasks", 180.0),
        ("/memory/used", 240_000.0),
        ("/memory/cach", 420_000.0),
        ("/memory/swap_used", 97144.0),
        ("/paging/pgsteal", 30.0),
        ("/paging/pgscan", 50.0),
        ("/disks/0/r~1s", 5.0),
        ("/disks/0/rkB~1s", 100.0),
        ("/disks/0/await", 12.0),
        ("/disks/0/aqu-sz", 1.5),
        ("/disks/0/busy", 25.0),
        ("/net/1/rxkB~1s", 2.0),
        ("/interrupts/1/rate", 10.0),
    ];
    for (pointer, value) in expected {
        assert_eq!(numbers(pointer), Some(value), "{pointer}");
    }
    for unknown in ["/memory/available", "/pressure/cpu/some", "/disks/0/d~1s", "/disks/0/w_await", "/paging/oom_kill"]
    {
        assert_eq!(numbers(unknown), None, "{unknown}");
    }
    assert_eq!(line["interrupts"][1]["device"], "ata_piix");
    assert_eq!(line["disks"].as_array().unwrap().len(), 1, "parts of a drive and idle ones are left out");
    assert_eq!(line["cpus"].as_array().unwrap().len(), 2);
}

#[test]
fn interrupts_that_are_read_rarely_have_the_rate_of_the_whole_interval() {
    let tree = tree("2.6.32");
    let mut sampler =
        Sampler::new(&Root::at(tree.path()), Wanted { interrupts: Some(2), ..Wanted::default() }).unwrap();
    let mut line = Line::with_room(1000);
    let mut rates = Vec::new();
    for second in 1..=5 {
        sampler.sample(second * SECOND);
        change(
            tree.path(),
            "proc/interrupts",
            &format!("{}          1", 38_990 + 10 * second),
            &format!("{}          1", 39_000 + 10 * second),
        );
        let (now, before) = sampler.last_two();
        now.rates(before).write(sampler.wanted(), 0, &mut line);
        let line: Value = serde_json::from_slice(line.bytes()).unwrap();
        rates.push(line["interrupts"][1]["rate"].as_f64());
    }
    assert_eq!(rates, [None, None, Some(10.0), None, Some(10.0)]);
}

#[test]
fn what_a_kernel_lacks_is_named_with_the_reason() {
    let tree = tree("2.6.32");
    let sampler = Sampler::new(&Root::at(tree.path()), Wanted::default()).unwrap();
    let missing: Vec<_> = sampler.missing().iter().map(|missing| missing.what.as_str()).collect();
    assert_eq!(missing, ["/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io"]);
    assert!(sampler.missing()[0].why.contains("No such file"));
}

#[test]
fn pressure_is_the_share_of_the_real_time_between() {
    let tree = tree("5.10");
    let line = line(tree.path(), Wanted::default(), 0.5, |tree| {
        change(tree, "proc/pressure/io", "total=700000", "total=825000");
        change(tree, "proc/pressure/cpu", "total=1000000", "total=1050000");
    });
    assert_eq!(line["pressure"]["io"]["some"], 25);
    assert_eq!(line["pressure"]["io"]["full"], 0);
    assert_eq!(line["pressure"]["cpu"]["some"], 10);
    assert_eq!(line["pressure"]["cpu"]["full"], Value::Null, "5.10 has no such line");
    assert_eq!(line["pressure"]["cpu"]["some_avg10"], 1.25);
}

#[test]
fn counts_of_tasks_held_up_are_no_pages() {
    let tree = tree("5.10");
    let line = line(tree.path(), Wanted::default(), 1.0, |tree| {
        change(tree, "proc/vmstat", "pgscan_direct_throttle 1000000", "pgscan_direct_throttle 2000000");
        change(tree, "proc/vmstat", "workingset_refault_file 90", "workingset_refault_file 95");
    });
    assert_eq!(line["paging"]["pgscan"], 0);
    assert_eq!(line["paging"]["refault"], 5);
}

#[test]
fn a_processor_that_goes_away_and_comes_back_is_null_until_it_has_two_readings() {
    let tree = tree("5.10");
    let mut sampler = Sampler::new(&Root::at(tree.path()), Wanted::default()).unwrap();
    let mut line = Line::with_room(1000);
    let mut next = |at: u64, change: &dyn Fn()| -> Value {
        change();
        sampler.sample(at * SECOND);
        let (now, before) = sampler.last_two();
        now.rates(before).write(sampler.wanted(), 0, &mut line);
        serde_json::from_slice(line.bytes()).unwrap()
    };
    let with = fs::read_to_string(tree.path().join("proc/stat")).unwrap();
    let without: String = with.split_inclusive('\n').filter(|line| !line.starts_with("cpu2")).collect();
    let write = |text: &str| fs::write(tree.path().join("proc/stat"), text).unwrap();
    let cpu2 = |line: &Value| line["cpus"][2]["idl"].clone();
    next(1, &|| {});
    let grown = with.replace("cpu2 15000 100 4500 450000", "cpu2 15000 100 4500 450100");
    assert_eq!(cpu2(&next(2, &|| write(&grown))), 100);
    assert_eq!(cpu2(&next(3, &|| write(&without))), Value::Null);
    assert_eq!(cpu2(&next(4, &|| write(&with))), Value::Null);
    // It comes back with counts that begin anew.
    let reset = with.replace("cpu2 15000 100 4500 450000", "cpu2 3 0 1 450900");
    assert_eq!(cpu2(&next(5, &|| write(&reset))), Value::Null);
    let line = next(6, &|| write(&reset.replace("450900", "450950")));
    assert_eq!(cpu2(&line), 100);
    assert_eq!(line["cpus"].as_array().unwrap().len(), 4, "one place for each that can be present");
}

#[test]
fn waiting_time_that_the_kernel_corrects_downwards_is_null_and_the_rest_is_right() {
    let tree = tree("6.18");
    let line = line(tree.path(), Wanted::default(), 1.0, |tree| {
        change(tree, "proc/stat", "cpu  1719785 146818 143935 453807 4906", "cpu  1719865 146818 143955 453807 4900");
    });
    assert_eq!(line["cpu"]["wai"], Value::Null);
    assert_eq!(line["cpu"]["usr"], 80);
    assert_eq!(line["cpu"]["sys"], 20);
}

#[test]
fn counters_that_go_back_give_null_and_a_drive_that_comes_is_null_at_first() {
    let tree = tree("5.10");
    let line = line(tree.path(), Wanted::default(), 1.0, |tree| {
        change(tree, "proc/diskstats", "sda 1000", "sda 10");
        change(tree, "proc/diskstats", "nvme0n1 7", "nvme0n1 8");
        change(tree, "proc/stat", "ctxt 8000000", "ctxt 5");
        change(
            tree,
            "proc/diskstats",
            " 259       0 nvme0n1",
            "   8      16 sdb 9 0 72 9 0 0 0 0 0 9 9\n 259       0 nvme0n1",
        );
        fs::create_dir(tree.join("sys/block/sdb")).unwrap();
    });
    assert_eq!(line["system"]["csw"], Value::Null);
    let disks = line["disks"].as_array().unwrap();
    let names: Vec<_> = disks.iter().map(|disk| disk["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sda", "sdb", "nvme0n1"]);
    assert_eq!((&disks[0]["r/s"], &disks[0]["await"], &disks[0]["w/s"]), (&Value::Null, &Value::Null, &0.into()));
    assert_eq!(disks[1]["r/s"], Value::Null);
    assert_eq!(disks[2]["r/s"], 1, "found by its name at another place");
}

#[test]
fn groups_of_both_versions_give_the_same_numbers() {
    let (one, two) = (tree("5.10"), tree("6.18"));
    let group = |group: &str| Wanted { groups: vec![group.to_owned()], ..Wanted::default() };
    let old = line(one.path(), group("/build"), 2.0, |tree| {
        change(tree, "sys/fs/cgroup/cpuacct/build/cpuacct.usage", "3000000000", "4000000000");
        change(tree, "sys/fs/cgroup/cpuacct/build/cpuacct.stat", "user 200", "user 300");
        change(tree, "sys/fs/cgroup/cpu/build/cpu.stat", "nr_throttled 20", "nr_throttled 30");
        change(
            tree,
            "sys/fs/cgroup/memory/build/memory.stat",
            "total_workingset_refault_file 2",
            "total_workingset_refault_file 8",
        );
        change(tree, "sys/fs/cgroup/blkio/build/blkio.throttle.io_service_bytes", "8:16 Read 1024", "8:16 Read 5120");
    });
    let new = line(two.path(), group("/user.slice"), 2.0, |tree| {
        change(tree, "sys/fs/cgroup/user.slice/cpu.stat", "usage_usec 3000000", "usage_usec 4000000");
        change(tree, "sys/fs/cgroup/user.slice/cpu.stat", "user_usec 2000000", "user_usec 3000000");
        change(tree, "sys/fs/cgroup/user.slice/cpu.stat", "nr_throttled 20", "nr_throttled 30");
        change(tree, "sys/fs/cgroup/user.slice/memory.stat", "workingset_refault_file 2", "workingset_refault_file 8");
        change(tree, "sys/fs/cgroup/user.slice/io.stat", "rbytes=1024", "rbytes=5120");
        change(tree, "sys/fs/cgroup/user.slice/cpu.pressure", "total=400000", "total=500000");
    });
    for (name, value) in [
        ("cpu", 50.0),
        ("usr", 50.0),
        ("sys", 0.0),
        ("throttled", 5.0),
        ("memory", 1024.0),
        ("refault", 3.0),
        ("rkB/s", 2.0),
    ] {
        assert_eq!(old["groups"][0][name].as_f64(), Some(value), "version 1: {name}");
        assert_eq!(new["groups"][0][name].as_f64(), Some(value), "version 2: {name}");
    }
    assert_eq!((&old["groups"][0]["limit"], &new["groups"][0]["limit"]), (&Value::Null, &Value::Null));
    assert_eq!((&old["groups"][0]["cpu_some"], &new["groups"][0]["cpu_some"]), (&Value::Null, &5.into()));
}

#[test]
fn a_group_that_is_not_there_or_climbs_out_is_refused() {
    let tree = tree("6.18");
    for wrong in ["/nowhere", "/../../etc"] {
        let wanted = Wanted { groups: vec![wrong.to_owned()], ..Wanted::default() };
        let refused = Sampler::new(&Root::at(tree.path()), wanted).err().expect("refused").to_string();
        assert!(refused.contains(wrong), "{refused}");
    }
}

#[test]
fn tasks_have_their_names_levels_and_switches() {
    let tree = tree("6.18");
    let line = line(tree.path(), everything(), 2.0, |tree| {
        change(tree, "proc/77/stat", " 500 100 ", " 550 150 ");
        change(tree, "proc/77/status", "nonvoluntary_ctxt_switches:\t900", "nonvoluntary_ctxt_switches:\t950");
        change(tree, "proc/77/io", "write_bytes: 8192", "write_bytes: 10240");
    });
    let first = &line["tasks"][0];
    let found =
        ["pid", "name", "state", "policy", "nice", "cpu", "usr", "rss", "rkB/s", "wkB/s"].map(|key| &first[key]);
    let expected: [Value; 10] = [
        77.into(),
        "a) (R) b".into(),
        "R".into(),
        "batch".into(),
        5.into(),
        50.into(),
        25.into(),
        1600.into(),
        0.into(),
        1.into(),
    ];
    assert_eq!(found, expected.each_ref());
    let level = |nice: Value| line["nice"].as_array().unwrap().iter().find(|level| level["nice"] == nice).cloned();
    assert_eq!(level(5.into()).unwrap()["present"], 1);
    assert_eq!(
        level(0.into()).unwrap()["present"],
        1,
        "a thread that waits for a drive, of another policy than the first"
    );
    assert_eq!(level(Value::Null).unwrap()["tasks"], 1, "real-time tasks have no nice value that counts");
}

#[test]
fn a_number_that_another_task_has_got_since_is_not_the_same_task() {
    let tree = tree("6.18");
    let line = line(tree.path(), everything(), 1.0, |tree| {
        change(tree, "proc/77/stat", "1 0 90 1000000", "1 0 500 1000000");
        change(tree, "proc/77/stat", " 500 100 ", " 600 100 ");
    });
    assert_eq!((&line["tasks"][0]["pid"], &line["tasks"][0]["cpu"]), (&77.into(), &Value::Null));
}

#[test]
fn every_key_of_every_line_is_in_the_schema_and_vice_versa() {
    let schema = schema();
    for kernel in ["2.6.32", "5.10", "6.18"] {
        let tree = tree(kernel);
        let mut wanted = everything();
        wanted.groups = if kernel == "6.18" { vec!["/user.slice".to_owned()] } else { Vec::new() };
        let line = line(tree.path(), wanted, 1.0, |_| {});
        for section in schema["sections"].as_array().unwrap() {
            let name = section["name"].as_str().unwrap();
            let found = line.pointer(&format!("/{}", name.replace('.', "/"))).unwrap_or_else(|| panic!("no {name}"));
            let objects = if section["list"] == true { found.as_array().unwrap().clone() } else { vec![found.clone()] };
            let columns = section["columns"].as_array().unwrap().iter().map(|column| &column["name"]);
            let mut keys: Vec<&str> = section["labels"]
                .as_array()
                .unwrap()
                .iter()
                .chain(columns)
                .map(|name| name.as_str().unwrap())
                .collect();
            keys.sort_unstable();
            for object in objects {
                let mut has: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
                has.sort_unstable();
                assert_eq!(has, keys, "{name} of {kernel}");
            }
        }
        let sections: Vec<_> =
            schema["sections"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
        for key in line.as_object().unwrap().keys() {
            let of_line = schema["line"].as_array().unwrap().iter().any(|it| it["name"] == *key);
            let section = sections.iter().any(|name| name.split('.').next() == Some(key));
            assert!(of_line || section, "{key} is not in the schema");
        }
    }
}

#[test]
fn nonsense_in_any_file_gives_a_valid_line() {
    let tree = tree("6.18");
    let mut wanted = everything();
    wanted.groups.push("/user.slice".to_owned());
    let mut all = Vec::new();
    list(tree.path(), &mut all);
    let sound: Vec<Vec<u8>> = all.iter().map(|path| fs::read(path).unwrap()).collect();
    let files = prop::collection::vec((0..all.len(), nonsense()), 1..12);
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() });
    let outcome = runner.run(&files, |files| {
        let changes = |_: &Path| files.iter().for_each(|(place, bytes)| fs::write(&all[*place], bytes).unwrap());
        line(tree.path(), wanted.clone(), 1.0, changes);
        line(tree.path(), wanted.clone(), 1.0, |_| {});
        files.iter().for_each(|(place, _)| fs::write(&all[*place], &sound[*place]).unwrap());
        Ok(())
    });
    outcome.unwrap();
}

fn list(folder: &Path, into: &mut Vec<std::path::PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() { list(&path, into) } else { into.push(path) }
    }
    into.sort();
}

/// Bytes that look a little like what the kernel writes, and bytes that do not.
fn nonsense() -> impl Strategy<Value = Vec<u8>> {
    let words = "cpu|cpu0|cpu99999999999|intr|18446744073709551615|-1|0|:|\\(|\\)|R|some|full|avg10=|total=|=|max|8:0|eth0:|sda|\n|\n| | |x";
    let like = prop::collection::vec(prop::sample::select(words.split('|').collect::<Vec<_>>()), 0..120);
    prop_oneof![any::<Vec<u8>>(), like.prop_map(|words| words.join(" ").into_bytes())]
}
