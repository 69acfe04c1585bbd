//! Nothing is removed because of its name: only what carries the marker of its entry.

use crate::tree::{Tree, dead_entry};
use schedlab_linux::{Root, tracefs::Tracefs};
use schedlab_tune::{RunJournal, marker, marker::Id, recover};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder of a run that died: what its process has left.
fn left(tree: &Tree) -> PathBuf {
    let (folder, memory) = RunJournal::open(&Root::default(), &tree.journal()).folder(tree.path()).unwrap();
    std::mem::forget(memory);
    fs::create_dir_all(folder.join("set0/deep")).unwrap();
    fs::write(folder.join("set0/deep/0"), "x").unwrap();
    for file in fs::read_dir(tree.journal()).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>() {
        if file.extension().is_some_and(|kind| kind == "json") {
            let text = fs::read_to_string(&file).unwrap();
            fs::remove_file(file).unwrap();
            let entry: serde_json::Value = serde_json::from_str(&text).unwrap();
            let dead = dead_entry(tree, 1, 0, &entry["thing"]);
            let owner =
                serde_json::from_str::<serde_json::Value>(&fs::read_to_string(dead).unwrap()).unwrap()["owner"].clone();
            let marker = folder.join(marker::FILE);
            let mut said: serde_json::Value = serde_json::from_str(&fs::read_to_string(&marker).unwrap()).unwrap();
            said["owner"] = owner;
            fs::write(marker, said.to_string()).unwrap();
        }
    }
    folder
}

/// Recovers; what was left alone.
fn strays(tree: &Tree) -> Vec<String> {
    let undo = recover(&Root::default(), &tree.journal()).unwrap();
    assert_eq!((undo.failed.len(), tree.entries()), (0, 0), "{undo:?}");
    undo.strays
}

#[test]
fn what_a_dead_run_has_left_is_removed_and_nothing_that_it_links_to() {
    let tree = Tree::new();
    tree.put("mine/f", "x");
    let folder = left(&tree);
    symlink(tree.path().join("mine"), folder.join("set0/link")).unwrap();
    symlink(tree.path().join("mine/f"), folder.join("file")).unwrap();
    assert_eq!(strays(&tree), Vec::<String>::new());
    assert!(!folder.exists());
    assert_eq!(tree.get("mine/f"), "x");
}

#[test]
fn a_folder_of_the_same_name_is_left_alone_and_named() {
    type Exchange = fn(&Tree, &Path);
    let ways: [(&str, Exchange); 5] = [
        ("another process's own", |_, folder| {
            fs::remove_dir_all(folder).unwrap();
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("f"), "x").unwrap();
        }),
        ("a link", |tree, folder| {
            tree.put("mine/f", "x");
            fs::remove_dir_all(folder).unwrap();
            symlink(tree.path().join("mine"), folder).unwrap();
        }),
        ("a copy", |tree, folder| {
            let away = tree.path().join("away");
            fs::rename(folder, &away).unwrap();
            assert!(Command::new("cp").arg("-a").arg(&away).arg(folder).status().unwrap().success());
            fs::write(folder.join("f"), "x").unwrap();
        }),
        ("one of another run", |_, folder| {
            let text = fs::read_to_string(folder.join(marker::FILE)).unwrap();
            let mut said: serde_json::Value = serde_json::from_str(&text).unwrap();
            said["id"] = serde_json::to_value(Id::fresh().unwrap()).unwrap();
            fs::write(folder.join(marker::FILE), said.to_string()).unwrap();
            fs::write(folder.join("f"), "x").unwrap();
        }),
        ("one whose marker is a link", |_, folder| {
            let marker = folder.join(marker::FILE);
            fs::rename(&marker, folder.join("f")).unwrap();
            symlink("f", marker).unwrap();
        }),
    ];
    for (what, exchange) in ways {
        let tree = Tree::new();
        let folder = left(&tree);
        exchange(&tree, &folder);
        let said = strays(&tree);
        assert!(folder.join("f").exists(), "{what}");
        assert!(said.len() == 1 && said[0].contains("does not carry our marker"), "{what}: {said:?}");
    }
}

#[test]
fn a_run_that_was_killed_before_it_made_its_folder_has_no_effect() {
    let tree = Tree::new();
    let folder = tree.path().join("schedlab-2024-00");
    let id = Id::fresh().unwrap();
    dead_entry(&tree, 1, 0, &json!({ "kind": "folder", "path": folder, "id": id }));
    assert_eq!(strays(&tree), Vec::<String>::new());
    dead_entry(&tree, 1, 0, &json!({ "kind": "folder", "path": folder, "id": id }));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("f"), "x").unwrap();
    assert_eq!(strays(&tree).len(), 1);
    assert_eq!(fs::read_to_string(folder.join("f")).unwrap(), "x");
}

#[test]
fn what_is_mounted_in_a_folder_is_not_emptied() {
    let tree = Tree::new();
    let folder = left(&tree);
    let mount = Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(folder.join("set0/deep")).output();
    if !mount.is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: a file system cannot be mounted here");
        return;
    }
    fs::write(folder.join("set0/deep/mine"), "x").unwrap();
    let undo = recover(&Root::default(), &tree.journal()).unwrap();
    let kept = fs::read_to_string(folder.join("set0/deep/mine")).unwrap_or_default();
    assert!(Command::new("umount").arg(folder.join("set0/deep")).status().unwrap().success());
    assert_eq!(kept, "x");
    assert!(undo.failed[0].contains("something is mounted"), "{undo:?}");
    assert_eq!(tree.entries(), 1);
    assert_eq!(strays(&tree), Vec::<String>::new());
    assert!(!folder.exists());
}

#[test]
fn a_folder_that_cannot_be_emptied_is_tried_again_when_what_was_made_before_it_is_undone() {
    let tree = Tree::new();
    let folder = left(&tree);
    let place = folder.join("set0/deep");
    let mount = Command::new("mount").args(["-t", "tmpfs", "schedlab-test"]).arg(&place).output();
    if !mount.is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: a file system cannot be mounted here");
        return;
    }
    dead_entry(&tree, 0, 0, &json!({ "kind": "mount", "path": place, "source": "schedlab-test" }));
    let undo = recover(&Root::default(), &tree.journal()).unwrap();
    assert_eq!(undo.failed, Vec::<String>::new());
    assert_eq!((undo.back.len(), tree.entries()), (2, 0), "{undo:?}");
    assert!(!folder.exists());
}

#[test]
fn a_mount_of_another_source_is_left_alone() {
    let tree = Tree::new();
    let place = tree.path().join("place");
    fs::create_dir(&place).unwrap();
    if !Command::new("mount").args(["-t", "tmpfs", "theirs"]).arg(&place).status().is_ok_and(|done| done.success()) {
        eprintln!("skipped: a file system cannot be mounted here");
        return;
    }
    dead_entry(&tree, 1, 0, &json!({ "kind": "mount", "path": place, "source": "schedlab-99999999-00" }));
    let said = strays(&tree);
    assert!(Command::new("umount").arg(&place).status().unwrap().success(), "it is still mounted");
    assert!(said[0].contains("theirs is mounted there"), "{said:?}");
}

/// A group of version 1 or 2 in which one can be made.
fn hierarchy() -> Option<PathBuf> {
    let all = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"].map(PathBuf::from);
    all.into_iter().find(|path| path.join("cgroup.procs").exists() && nix::unistd::geteuid().is_root())
}

#[test]
fn a_group_without_the_marker_keeps_its_tasks() {
    let Some(hierarchy) = hierarchy() else {
        eprintln!("skipped: groups cannot be made here");
        return;
    };
    let tree = Tree::new();
    let (path, id) = (hierarchy.join(format!("schedlab-test-{}", std::process::id())), Id::fresh().unwrap());
    fs::create_dir(&path).unwrap();
    let mut task = Command::new("sleep").arg("60").spawn().unwrap();
    let moved = fs::write(path.join("cgroup.procs"), task.id().to_string());
    let entry = json!({ "kind": "cgroup", "path": path, "id": id });
    dead_entry(&tree, 1, 0, &entry);
    let (said, lives) = (strays(&tree), task.try_wait().unwrap().is_none());
    marker::mark_group(&path, &id).unwrap();
    dead_entry(&tree, 1, 0, &entry);
    let again = strays(&tree);
    let gone = !path.exists();
    let _ = task.kill();
    task.wait().unwrap();
    let _ = fs::remove_dir(&path);
    moved.unwrap();
    assert!(lives && said[0].contains("does not carry our marker"), "{said:?}");
    assert!(gone && again.is_empty(), "with the marker it goes: {again:?}");
}

#[test]
fn a_tracing_instance_without_the_marker_goes_on_recording() {
    let Ok(tracefs) = Tracefs::open(&Root::default()) else {
        eprintln!("skipped: there is no tracefs here");
        return;
    };
    let tree = Tree::new();
    let (name, id) = (format!("schedlab-test-{}", std::process::id()), Id::fresh().unwrap());
    let path = tracefs.path("instances").join(&name);
    fs::create_dir(&path).unwrap();
    fs::write(path.join("events/sched/sched_process_exec/enable"), "1").unwrap();
    let entry = json!({ "kind": "instance", "name": name, "id": id });
    dead_entry(&tree, 1, 0, &entry);
    let said = strays(&tree);
    let stays = path.exists();
    marker::mark_instance(&path, &id).unwrap();
    dead_entry(&tree, 1, 0, &entry);
    let again = strays(&tree);
    let gone = !path.exists();
    let _ = fs::remove_dir(&path);
    assert!(stays && said[0].contains("does not carry our marker"), "{said:?}");
    assert!(gone && again.is_empty(), "with the marker it goes: {again:?}");
}
