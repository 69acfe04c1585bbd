//! The processors of the running host and what they share, as its kernel reports it in sysfs. What a kernel does not report, in many
//! virtual machines most of it, has a plain answer: each processor a core, one cache a package, one memory node, full capacity, no favoured
//! core.

use crate::Root;
use schedlab_model::topology::{CAPACITY, Place, Topology};
use std::{collections::BTreeMap, fs};

/// Most processors and memory nodes that are looked at; a kernel has at most 8192 and 1024.
const MOST_PROCESSORS: u16 = 8192;
const MOST_NODES: u16 = 1024;
/// Most caches of a processor.
const MOST_CACHES: u16 = 16;
/// Distance of a node to itself, and to another one where the kernel does not report it.
const LOCAL: u16 = 10;
const REMOTE: u16 = 20;

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";
/// Whether the kernel prefers favoured cores, 1 or Y (arch/x86/kernel/itmt.c): a sysctl up to 6.13, since then in debugfs.
const FAVOURS: [&str; 2] = ["/proc/sys/kernel/sched_itmt_enabled", "/sys/kernel/debug/x86/sched_itmt_enabled"];

/// The processors that are online.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Where each is, by its place in `numbers`. The kernel does not report what threads of a core take from each other: their speed
    /// is 1 here.
    pub topology: Topology,
    /// The kernel's numbers of the processors, ascending.
    pub numbers: Vec<u16>,
    /// The kernel's numbers of the memory nodes that have processors, by the number that they have in `topology`.
    pub nodes: Vec<u16>,
}

/// The host under that root; none if no processor is reported.
pub fn read(root: &Root) -> Option<Host> {
    let numbers = online(root);
    if numbers.is_empty() {
        return None;
    }
    let (node_of, nodes) = nodes(root, &numbers);
    let (mut cores, mut caches) = (Numbers::default(), Numbers::default());
    let favours = FAVOURS.iter().any(|file| root.read(file).is_ok_and(|text| ["1", "Y"].contains(&text.trim())));
    let priority = |cpu: u16| number(root, &format!("{CPUS}/cpu{cpu}/acpi_cppc/highest_perf")).filter(|_| favours);
    let place = |(&cpu, &node): (&u16, &u16)| Place {
        core: cores.of(first(root, &format!("cpu{cpu}/topology"), &["core_cpus_list", "thread_siblings_list"], cpu)),
        cache: caches.of(last_level(root, cpu, node)),
        node,
        capacity: number(root, &format!("{CPUS}/cpu{cpu}/cpu_capacity")).map_or(CAPACITY, |one| one.clamp(1, CAPACITY)),
        priority: priority(cpu).unwrap_or(0),
    };
    let places = numbers.iter().zip(&node_of).map(place).collect();
    Some(Host { topology: Topology::new(places, distances(root, &nodes), 1.0), numbers, nodes })
}

/// Numbers from 0, in the order in which what they stand for is seen.
struct Numbers<T>(BTreeMap<T, u16>);

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Numbers(BTreeMap::new())
    }
}

impl<T: Ord> Numbers<T> {
    fn of(&mut self, one: T) -> u16 {
        let next = self.0.len() as u16;
        *self.0.entry(one).or_insert(next)
    }
}

/// The processors that are online, ascending; where the kernel has no list of them, those that have a folder.
fn online(root: &Root) -> Vec<u16> {
    match list(root, &format!("{CPUS}/online"), MOST_PROCESSORS) {
        found if found.is_empty() => numbered(root, CPUS, "cpu", MOST_PROCESSORS),
        found => found,
    }
}

/// The memory node of each processor, and the kernel's numbers of the nodes that have processors.
fn nodes(root: &Root, cpus: &[u16]) -> (Vec<u16>, Vec<u16>) {
    let members = |node: u16| (node, list(root, &format!("{NODES}/node{node}/cpulist"), MOST_PROCESSORS));
    let known: Vec<(u16, Vec<u16>)> = numbered(root, NODES, "node", MOST_NODES).into_iter().map(members).collect();
    let mut used: Vec<u16> = Vec::new();
    used.extend(known.iter().filter(|(_, has)| cpus.iter().any(|cpu| has.binary_search(cpu).is_ok())).map(|one| one.0));
    if used.is_empty() {
        used.push(0);
    }
    let own = |cpu: &u16| known.iter().find(|(_, has)| has.binary_search(cpu).is_ok()).map_or(used[0], |one| one.0);
    let place = |cpu: &u16| used.binary_search(&own(cpu)).unwrap_or(0) as u16;
    (cpus.iter().map(place).collect(), used)
}

/// What two processors have in common if they share a last-level cache: its level and first processor, or else their package and node.
fn last_level(root: &Root, cpu: u16, node: u16) -> (u16, u16, u16) {
    let folder = |index: u16| format!("cpu{cpu}/cache/index{index}");
    let level = |index: u16| number(root, &format!("{CPUS}/{}/level", folder(index)));
    let highest = (0..MOST_CACHES).filter_map(|index| Some((level(index)?, index))).max();
    match highest {
        Some((level, index)) => (level, first(root, &folder(index), &["shared_cpu_list"], cpu), 0),
        None => (0, number(root, &format!("{CPUS}/cpu{cpu}/topology/physical_package_id")).unwrap_or(0), node),
    }
}

/// The first processor of a list below the folder of processors, which the first of the files that there is has; else the processor
/// itself.
fn first(root: &Root, folder: &str, files: &[&str], cpu: u16) -> u16 {
    let lists = files.iter().map(|file| list(root, &format!("{CPUS}/{folder}/{file}"), MOST_PROCESSORS));
    lists.into_iter().find(|all| all.contains(&cpu)).map_or(cpu, |all| all[0])
}

/// Distances between the nodes that are used. A node's file has one for each node that is online.
fn distances(root: &Root, used: &[u16]) -> Vec<Vec<u16>> {
    let all = numbered(root, NODES, "node", MOST_NODES);
    let row = |from: &u16| {
        let text = root.read(format!("{NODES}/node{from}/distance")).unwrap_or_default();
        let found: Vec<u16> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let known = |to: &u16| found.get(all.binary_search(to).ok()?).copied().filter(|_| found.len() == all.len());
        used.iter().map(|to| known(to).unwrap_or(if from == to { LOCAL } else { REMOTE })).collect()
    };
    used.iter().map(row).collect()
}

/// The numbers of the entries of a folder that are called `name` and a number, ascending.
fn numbered(root: &Root, folder: &str, name: &str, most: u16) -> Vec<u16> {
    let entries = fs::read_dir(root.path(folder)).into_iter().flatten().flatten();
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix(name)?.parse::<u16>().ok();
    let mut found: Vec<u16> = entries.filter_map(number).filter(|&one| one < most).collect();
    found.sort_unstable();
    found
}

fn number(root: &Root, path: &str) -> Option<u16> {
    root.read(path).ok()?.trim().parse().ok()
}

/// A list such as `0-3,8`, ascending; what is not a number below `most` is left out.
fn list(root: &Root, path: &str, most: u16) -> Vec<u16> {
    let text = root.read(path).unwrap_or_default();
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u16>().ok()?..=last.parse::<u16>().ok()?.min(most - 1))
    };
    let mut found: Vec<u16> = text.trim().split(',').filter_map(range).flatten().take(usize::from(most)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// A made-up host: files, those of relative paths below /sys/devices/system, and their texts.
    fn host(files: &[(&str, &str)]) -> (TempDir, Root) {
        let folder = TempDir::new().unwrap();
        for (path, text) in files {
            let below = path.strip_prefix('/').map_or_else(|| format!("sys/devices/system/{path}"), str::to_owned);
            let path = folder.path().join(below);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = Root::at(folder.path());
        (folder, root)
    }

    fn places(host: &Host) -> Vec<(u16, u16, u16, u16)> {
        let all = (0..host.topology.processors()).map(|cpu| host.topology.place(cpu));
        all.map(|place| (place.core, place.cache, place.node, place.capacity)).collect()
    }

    #[test]
    fn threads_caches_nodes_and_distances_are_those_of_sysfs() {
        let (_folder, root) = host(&[
            ("cpu/online", "0-3\n"),
            ("cpu/cpu0/topology/core_cpus_list", "0,2\n"),
            ("cpu/cpu2/topology/core_cpus_list", "0,2\n"),
            ("cpu/cpu1/topology/thread_siblings_list", "1,3\n"),
            ("cpu/cpu3/topology/thread_siblings_list", "1,3\n"),
            ("cpu/cpu0/cache/index0/level", "1\n"),
            ("cpu/cpu0/cache/index0/shared_cpu_list", "0,2\n"),
            ("cpu/cpu0/cache/index3/level", "3\n"),
            ("cpu/cpu0/cache/index3/shared_cpu_list", "0,2\n"),
            ("cpu/cpu2/cache/index3/level", "3\n"),
            ("cpu/cpu2/cache/index3/shared_cpu_list", "0,2\n"),
            ("cpu/cpu1/cache/index3/level", "3\n"),
            ("cpu/cpu1/cache/index3/shared_cpu_list", "1,3\n"),
            ("cpu/cpu3/cache/index3/level", "3\n"),
            ("cpu/cpu3/cache/index3/shared_cpu_list", "1,3\n"),
            ("node/node0/cpulist", "0,2\n"),
            ("node/node0/distance", "10 21\n"),
            ("node/node1/cpulist", "1,3\n"),
            ("node/node1/distance", "21 10\n"),
        ]);
        let host = read(&root).unwrap();
        assert_eq!(places(&host), [(0, 0, 0, 1024), (1, 1, 1, 1024), (0, 0, 0, 1024), (1, 1, 1, 1024)]);
        assert_eq!((host.topology.distance(0, 1), host.topology.distance(1, 1)), (21, 10));
        assert_eq!((host.numbers, host.nodes), (vec![0, 1, 2, 3], vec![0, 1]));
    }

    #[test]
    fn a_kernel_that_reports_processors_only_has_cores_of_one_node_and_cache() {
        let (_folder, root) = host(&[("cpu/online", "0-2\n")]);
        let host = read(&root).unwrap();
        assert_eq!(places(&host), [(0, 0, 0, 1024), (1, 0, 0, 1024), (2, 0, 0, 1024)]);
        assert_eq!(host.topology.distances(), Vec::<u16>::new());
    }

    #[test]
    fn without_a_report_of_caches_those_of_a_package_share_one() {
        let (_folder, root) = host(&[
            ("cpu/online", "0-2\n"),
            ("cpu/cpu0/topology/physical_package_id", "0\n"),
            ("cpu/cpu1/topology/physical_package_id", "1\n"),
            ("cpu/cpu2/topology/physical_package_id", "0\n"),
        ]);
        let caches: Vec<u16> = places(&read(&root).unwrap()).iter().map(|place| place.1).collect();
        assert_eq!(caches, [0, 1, 0]);
    }

    #[test]
    fn processors_that_are_offline_and_nodes_without_processors_are_left_out() {
        let (_folder, root) = host(&[
            ("cpu/online", "1,4-5\n"),
            ("cpu/cpu4/topology/core_cpus_list", "4-5\n"),
            ("cpu/cpu5/topology/core_cpus_list", "4-5\n"),
            ("node/node0/cpulist", "0-1\n"),
            ("node/node0/distance", "10 17 28\n"),
            ("node/node2/cpulist", "\n"),
            ("node/node2/distance", "17 10 28\n"),
            ("node/node8/cpulist", "4-5\n"),
            ("node/node8/distance", "28 28 10\n"),
        ]);
        let host = read(&root).unwrap();
        assert_eq!((&host.numbers[..], &host.nodes[..]), (&[1, 4, 5][..], &[0, 8][..]));
        assert_eq!(places(&host), [(0, 0, 0, 1024), (1, 1, 1, 1024), (1, 1, 1, 1024)]);
        assert_eq!(host.topology.distances(), [28]);
    }

    #[test]
    fn capacities_are_between_1_and_1024() {
        let (_folder, root) = host(&[
            ("cpu/online", "0-3\n"),
            ("cpu/cpu0/cpu_capacity", "490\n"),
            ("cpu/cpu1/cpu_capacity", "0\n"),
            ("cpu/cpu2/cpu_capacity", "4096\n"),
            ("cpu/cpu3/cpu_capacity", "many\n"),
        ]);
        let capacities: Vec<u16> = places(&read(&root).unwrap()).iter().map(|place| place.3).collect();
        assert_eq!(capacities, [490, 1, 1024, 1024]);
    }

    /// What the firmware says counts only where the kernel follows it.
    #[test]
    fn cores_are_favoured_by_their_highest_performance_if_the_kernel_prefers_any() {
        let priorities = |switch: &[(&str, &str)]| -> Vec<u16> {
            let perf = |cpu: u16| format!("cpu/cpu{cpu}/acpi_cppc/highest_perf");
            let paths = [perf(0), perf(1), perf(2)];
            let texts = ["196\n", "231\n", "much\n"];
            let mut files = vec![("cpu/online", "0-3\n")];
            files.extend(paths.iter().map(String::as_str).zip(texts));
            let host = read(&host(&[&files, switch].concat()).1).unwrap();
            (0..4).map(|cpu| host.topology.place(cpu).priority).collect()
        };
        let [sysctl, debugfs] = FAVOURS;
        assert_eq!(priorities(&[(sysctl, "1\n")]), [196, 231, 0, 0]);
        assert_eq!(priorities(&[(debugfs, "Y\n")]), [196, 231, 0, 0]);
        for off in [&[(sysctl, "0\n")][..], &[(debugfs, "N\n")], &[]] {
            assert_eq!(priorities(off), [0; 4]);
        }
    }

    #[test]
    fn without_a_list_of_those_online_processors_are_the_folders_of_that_name() {
        let (_folder, root) = host(&[
            ("cpu/cpu10/uevent", ""),
            ("cpu/cpu2/uevent", ""),
            ("cpu/cpufreq/policy0", ""),
            ("cpu/cpu99999999/uevent", ""),
        ]);
        assert_eq!(read(&root).unwrap().numbers, [2, 10]);
    }

    #[test]
    fn no_text_makes_more_processors_or_distances_than_a_kernel_has() {
        let (_folder, root) = host(&[
            ("cpu/online", "0-65535,0-65535,x,7-,-3,9-2\n"),
            ("cpu/cpu0/topology/core_cpus_list", "junk\n"),
            ("cpu/cpu1/cache/index0/level", "99999999\n"),
            ("node/node0/cpulist", "0-4294967295\n"),
            ("node/node0/distance", "ten 20 30\n"),
        ]);
        let host = read(&root).unwrap();
        assert_eq!((host.numbers.len(), host.topology.processors()), (8192, 8192));
        assert_eq!((host.nodes, host.topology.distance(0, 0)), (vec![0], 10));
    }

    #[test]
    fn a_root_without_processors_has_no_topology() {
        assert_eq!(read(&host(&[]).1), None);
    }

    #[test]
    fn the_running_host_has_the_processors_that_are_online() {
        let Some(host) = read(&Root::default()) else { return };
        let places: Vec<Place> = (0..host.topology.processors()).map(|cpu| host.topology.place(cpu)).collect();
        assert_eq!(places.len(), host.numbers.len());
        assert!(places.iter().all(|place| usize::from(place.node) < host.nodes.len()));
    }
}
