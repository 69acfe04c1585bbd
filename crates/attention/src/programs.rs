//! Which processes are a program. A program is a tree of processes, cut where another one begins:
//!
//! ```text
//! by a rule     processes that fit the same rule below the same program are one; what they start and no rule names is part of it
//! by a window   a process that has the focus begins one with all that it has started, unless a rule names it
//! none          processes of others, threads of the kernel, process 1, this one and those that it came from
//! ```

use crate::{
    processes::{Found, Process, Processes},
    rights::Rights,
};
use schedlab_linux::Root;
use schedlab_model::attention::{Layout, Program};
use std::collections::{BTreeMap, BTreeSet};

/// Longest command line that is compared.
const LONGEST: usize = 4096;

/// What is known of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct About {
    /// The name of the process that it began with.
    pub(crate) name: String,
    /// The process that it began with, if that is a window's.
    pub(crate) window: Option<i32>,
    /// The rule that names it.
    pub(crate) rule: Option<usize>,
    /// The program that it was started from.
    around: Option<Program>,
    /// Its processes.
    pub(crate) members: BTreeSet<i32>,
}

#[cfg(test)]
impl About {
    /// A program for a test.
    pub(crate) fn of(name: &str, members: BTreeSet<i32>) -> About {
        About { name: name.to_owned(), window: None, rule: None, around: None, members }
    }
}

/// All programs.
pub(crate) struct Programs {
    root: Root,
    layout: Layout,
    rights: Rights,
    spared: BTreeSet<i32>,
    all: BTreeMap<Program, About>,
    of: BTreeMap<i32, Program>,
    next: Program,
}

impl Programs {
    pub(crate) fn new(root: &Root, layout: &Layout, rights: Rights, spared: BTreeSet<i32>) -> Programs {
        let (all, of) = (BTreeMap::new(), BTreeMap::new());
        Programs { root: root.clone(), layout: layout.clone(), rights, spared, all, of, next: 1 }
    }

    pub(crate) fn get(&self, program: Program) -> Option<&About> {
        self.all.get(&program)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Program, &About)> {
        self.all.iter().map(|(program, about)| (*program, about))
    }

    /// The program that a process is part of.
    pub(crate) fn of(&self, pid: i32) -> Option<Program> {
        self.of.get(&pid).copied()
    }

    /// Takes in what a look has found. Programs without processes are left for [`Programs::remove_empty`].
    pub(crate) fn take(&mut self, found: &Found, processes: &Processes) {
        for pid in &found.gone {
            self.drop_from(*pid);
        }
        let mut new: Vec<i32> = found.new.clone();
        // Parents before what they have started.
        new.sort_by_key(|pid| (processes.get(*pid).map(|process| process.start), *pid));
        for pid in new {
            let program = self.belongs(pid, processes);
            self.put(pid, program);
        }
    }

    /// Programs whose last process is gone; they are gone then, too.
    pub(crate) fn remove_empty(&mut self) -> Vec<Program> {
        let empty: Vec<Program> = self.iter().filter(|(_, about)| about.members.is_empty()).map(|(p, _)| p).collect();
        empty.iter().for_each(|program| drop(self.all.remove(program)));
        empty
    }

    /// The program of the process that has the focus; it may begin with it. None if it is none that may be touched.
    pub(crate) fn focus(&mut self, pid: i32, processes: &Processes) -> Option<Program> {
        let process = processes.get(pid)?;
        if self.is_left_alone(pid, process) {
            return None;
        }
        let present = self.of(pid);
        if self.rule_of(pid, process).is_some() || present.is_some_and(|it| self.all[&it].window == Some(pid)) {
            return present;
        }
        if !self.is_reachable(process) {
            return None;
        }
        let about = self.begin(process, None, present);
        self.all.get_mut(&about).expect("it was just begun").window = Some(pid);
        // What a rule names has a program of its own already.
        let below = |other: &i32| self.of(*other) == present && processes.line(*other).any(|up| up == pid);
        let below: Vec<i32> = processes.numbers().filter(below).collect();
        for other in below {
            let process = processes.get(other);
            if process.is_some_and(|process| !self.is_left_alone(other, process) && self.is_reachable(process)) {
                self.put(other, Some(about));
            }
        }
        Some(about)
    }

    fn begin(&mut self, process: &Process, rule: Option<usize>, around: Option<Program>) -> Program {
        let about = About { name: process.name.clone(), window: None, rule, around, members: BTreeSet::new() };
        let number = self.next;
        self.next += 1;
        self.all.insert(number, about);
        number
    }

    fn drop_from(&mut self, pid: i32) {
        if let Some(about) = self.of.remove(&pid).and_then(|program| self.all.get_mut(&program)) {
            about.members.remove(&pid);
        }
    }

    fn put(&mut self, pid: i32, program: Option<Program>) {
        if self.of(pid) == program {
            return;
        }
        self.drop_from(pid);
        if let Some(about) = program.and_then(|program| self.all.get_mut(&program)) {
            about.members.insert(pid);
            self.of.insert(pid, program.expect("it has been found"));
        }
    }

    fn belongs(&mut self, pid: i32, processes: &Processes) -> Option<Program> {
        let process = processes.get(pid)?;
        if self.is_left_alone(pid, process) {
            return None;
        }
        if let Some(own) = self.of(pid).filter(|own| self.all[own].window == Some(pid)) {
            return Some(own);
        }
        let around = processes.line(pid).skip(1).find_map(|up| self.of(up));
        let Some(rule) = self.rule_of(pid, process) else {
            let other_users = around.is_some_and(|around| self.other_users(around));
            return around.filter(|_| self.may_touch(process, other_users));
        };
        let same = |(number, about): (Program, &About)| {
            let is_it = about.rule == Some(rule) && (Some(number) == around || about.around == around);
            is_it.then_some(number)
        };
        let found = self.iter().find_map(same);
        Some(found.unwrap_or_else(|| self.begin(process, Some(rule), around)))
    }

    fn other_users(&self, program: Program) -> bool {
        let rule = self.all[&program].rule.map(|rule| self.layout.rule[rule].other_users);
        rule.unwrap_or(self.layout.attention.other_users)
    }

    fn is_left_alone(&self, pid: i32, process: &Process) -> bool {
        process.is_kernel || pid == 1 || self.spared.contains(&pid)
    }

    /// Whether a process that no rule names may be touched.
    fn is_reachable(&self, process: &Process) -> bool {
        self.may_touch(process, self.layout.attention.other_users)
    }

    fn may_touch(&self, process: &Process, other_users: bool) -> bool {
        process.user == self.rights.user || (other_users && self.rights.root)
    }

    /// The first rule that names a process and allows its user.
    fn rule_of(&self, pid: i32, process: &Process) -> Option<usize> {
        let text = |file: &str| std::fs::read(self.root.path(format!("/proc/{pid}/{file}"))).unwrap_or_default();
        let command = || {
            let bytes = text("cmdline");
            let line = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]).replace('\0', " ");
            line.trim_end().to_owned()
        };
        let cgroup = || group_of(&String::from_utf8_lossy(&text("cgroup")));
        self.layout
            .rule
            .iter()
            .position(|rule| self.may_touch(process, rule.other_users) && rule.fits(&process.name, command, cgroup))
    }
}

/// The control group in the text of /proc/PID/cgroup: that of version 2, or else of the first hierarchy.
pub(crate) fn group_of(text: &str) -> String {
    let group = |line: &str| line.splitn(3, ':').nth(2).map(str::to_owned);
    let unified = text.lines().find(|line| line.starts_with("0::")).and_then(group);
    unified.or_else(|| text.lines().next().and_then(group)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::tests::process;
    use std::path::Path;

    const LAYOUT: &str = r#"
        level = [{name = "foreground", nice = 0}, {name = "background", nice = 2}, {name = "batch", nice = 5}]
        rule = [
            {name = "make", level = "batch"}, {name = "cc1*", level = "batch"},
            {command = "/usr/bin/player -x", level = "foreground"}, {cgroup = "/app.slice", name = "x*", level = "batch"}]
    "#;

    fn programs(folder: &Path, spared: &[i32]) -> (Processes, Programs) {
        let (root, layout) = (Root::at(folder), Layout::read(LAYOUT, "x").unwrap());
        let user = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(folder).unwrap());
        let rights = Rights { any_nice: true, root: false, user };
        let mut processes = Processes::new(&root);
        let mut programs = Programs::new(&root, &layout, rights, spared.iter().copied().collect());
        programs.take(&processes.look(), &processes);
        (processes, programs)
    }

    fn members(programs: &Programs) -> Vec<(String, Vec<i32>)> {
        programs.iter().map(|(_, about)| (about.name.clone(), about.members.iter().copied().collect())).collect()
    }

    #[test]
    fn a_rule_cuts_a_tree_and_a_window_cuts_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let all =
            [(10, "term", 1), (11, "sh", 10), (12, "make", 11), (13, "cc1", 12), (14, "cc1plus", 12), (15, "sh", 12)];
        all.iter().for_each(|(pid, name, parent)| process(folder.path(), *pid, name, *parent, 100 + *pid as u64));
        let (processes, mut programs) = programs(folder.path(), &[]);
        let by_rule = [("make".to_owned(), vec![12, 15]), ("cc1".to_owned(), vec![13, 14])];
        assert_eq!(members(&programs), by_rule);
        let window = programs.focus(10, &processes).unwrap();
        assert_eq!(programs.get(window).unwrap().members, BTreeSet::from([10, 11]));
        assert_eq!(programs.focus(10, &processes), Some(window));
        assert_eq!(programs.focus(13, &processes), programs.of(13), "a rule names it");
        let inner = programs.focus(11, &processes).unwrap();
        assert_eq!((programs.of(10), programs.of(11)), (Some(window), Some(inner)));
    }

    #[test]
    fn rules_see_the_command_line_and_the_group() {
        let folder = tempfile::tempdir().unwrap();
        process(folder.path(), 10, "player", 1, 100);
        process(folder.path(), 11, "xeyes", 1, 100);
        let (_, programs) = programs(folder.path(), &[]);
        assert_eq!(members(&programs), [("player".to_owned(), vec![10]), ("xeyes".to_owned(), vec![11])]);
        assert_eq!(group_of("12:cpu:/a\n0::/b:c\n"), "/b:c");
        assert_eq!(group_of("12:cpu:/a\n"), "/a");
    }

    #[test]
    fn this_process_and_those_it_came_from_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        process(folder.path(), 10, "make", 1, 100);
        process(folder.path(), 11, "sh", 10, 110);
        let (processes, mut programs) = programs(folder.path(), &[10]);
        assert_eq!((members(&programs), programs.focus(10, &processes)), (vec![], None));
        assert!(programs.focus(11, &processes).is_some());
    }

    #[test]
    fn a_program_is_gone_with_its_last_process() {
        let folder = tempfile::tempdir().unwrap();
        process(folder.path(), 10, "make", 1, 100);
        let (mut processes, mut programs) = programs(folder.path(), &[]);
        std::fs::remove_dir_all(folder.path().join("proc/10")).unwrap();
        programs.take(&processes.look(), &processes);
        assert_eq!((programs.remove_empty().len(), programs.of(10)), (1, None));
    }
}
