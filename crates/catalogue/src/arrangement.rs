//! How the processors of a machine are arranged: for the eye, and as JSON.

use schedlab_model::topology::Topology;
use schedlab_policies::schedulers::NamedDomain;
use serde_json::{Value, json};
use std::fmt::Write;

mod domains;

/// Widest line.
const WIDTH: usize = 78;
/// Most memory nodes whose distances are drawn as a table.
const MOST_COLUMNS: usize = 16;

/// The processors of a preset or of the host, with the numbers that they and their nodes have there.
pub struct Arrangement {
    nodes: Vec<Node>,
    distances: Vec<Vec<u16>>,
    thread_speed: Option<f64>,
    /// Of the first processor.
    domains: Vec<NamedDomain>,
}

/// A memory node with its number and the caches of its processors.
struct Node {
    number: u16,
    caches: Vec<Cache>,
}

/// A last-level cache with the cores that share it.
struct Cache {
    number: u16,
    cores: Vec<Core>,
}

/// A core with its processors.
struct Core {
    number: u16,
    capacity: u16,
    priority: u16,
    processors: Vec<u16>,
}

impl Arrangement {
    /// The processors of a simulated machine. Each of its nodes has some.
    pub fn of_machine(topology: &Topology) -> Arrangement {
        let numbers: Vec<u16> = (0..topology.processors()).collect();
        let nodes: Vec<u16> = (0..=numbers.iter().map(|&cpu| topology.place(cpu).node).max().unwrap_or(0)).collect();
        let own = Arrangement::numbered(topology, &numbers, &nodes);
        let shared = own.threads() > 1;
        Arrangement { thread_speed: shared.then(|| topology.thread_speed()), ..own }
    }

    /// The processors of a host, with the numbers that they and their nodes have there.
    pub fn numbered(topology: &Topology, numbers: &[u16], nodes: &[u16]) -> Arrangement {
        let mut all: Vec<Node> = nodes.iter().map(|&number| Node { number, caches: Vec::new() }).collect();
        for (&number, place) in numbers.iter().zip((0..).map(|cpu| topology.place(cpu))) {
            let caches = &mut all[usize::from(place.node)].caches;
            let cache = entry(caches, |one| one.number == place.cache, || Cache { number: place.cache, cores: vec![] });
            let core = || Core {
                number: place.core,
                capacity: place.capacity,
                priority: place.priority,
                processors: Vec::new(),
            };
            entry(&mut cache.cores, |one| one.number == place.core, core).processors.push(number);
        }
        let places = 0..nodes.len() as u16;
        let row = |from: u16| places.clone().map(|to| topology.distance(from, to)).collect();
        let distances = places.clone().map(row).collect();
        Arrangement { nodes: all, distances, thread_speed: None, domains: domains::of(topology, numbers) }
    }

    fn cores(&self) -> impl Iterator<Item = &Core> {
        self.nodes.iter().flat_map(|node| &node.caches).flat_map(|cache| &cache.cores)
    }

    /// Whether something is the same of all cores.
    fn all_alike(&self, what: impl Fn(&Core) -> u16) -> bool {
        let mut all = self.cores().map(what);
        let first = all.next();
        all.all(|one| Some(one) == first)
    }

    /// Most processors of a core.
    fn threads(&self) -> usize {
        self.cores().map(|core| core.processors.len()).max().unwrap_or(0)
    }

    fn processors(&self) -> usize {
        self.cores().map(|core| core.processors.len()).sum()
    }

    /// Whether there is anything to see.
    pub fn is_single(&self) -> bool {
        self.processors() < 2
    }

    /// All of it, for programs.
    pub fn json(&self) -> Value {
        let core = |Core { number, capacity, priority, processors }: &Core| json!({ "core": number, "capacity": capacity, "priority": priority, "processors": processors });
        let cache =
            |one: &Cache| json!({ "cache": one.number, "cores": one.cores.iter().map(core).collect::<Vec<_>>() });
        let node =
            |one: &Node| json!({ "node": one.number, "caches": one.caches.iter().map(cache).collect::<Vec<_>>() });
        json!({
            "processors": self.processors(),
            "nodes": self.nodes.iter().map(node).collect::<Vec<_>>(),
            "distances": self.distances,
            "thread_speed": self.thread_speed,
            "domains": self.domains.iter().map(domains::json).collect::<Vec<_>>(),
        })
    }

    /// All of it, in lines for the eye.
    pub fn drawing(&self) -> String {
        let mut text = self.summary();
        let (even, equal) = (self.all_alike(|core| core.capacity), self.all_alike(|core| core.priority));
        let shown = |core: &Core| (if even { 0 } else { core.capacity }, if equal { 0 } else { core.priority });
        for node in &self.nodes {
            let _ = write!(text, "\nnode {}\n", node.number);
            for cache in &node.caches {
                let mut head = format!("  cache {:<3}", cache.number);
                for alike in cache.cores.chunk_by(|one, next| shown(one) == shown(next)) {
                    if !even {
                        let _ = write!(head, "capacity {:<5}", alike[0].capacity);
                    }
                    if !equal {
                        let _ = write!(head, "priority {:<5}", alike[0].priority);
                    }
                    cores(&mut text, &head, alike);
                    head = " ".repeat(11);
                }
            }
        }
        text + &self.distances() + &domains::drawing(&self.domains)
    }

    /// What there is, and what brackets mean.
    fn summary(&self) -> String {
        let mut caches: Vec<u16> = self.nodes.iter().flat_map(|node| &node.caches).map(|cache| cache.number).collect();
        caches.sort_unstable();
        caches.dedup();
        let mut text = format!(
            "{}: {}, {}, {}\n",
            counted(self.processors(), "processor"),
            counted(self.nodes.len(), "node"),
            counted(caches.len(), "last-level cache"),
            counted(self.cores().count(), "core"),
        );
        if self.threads() > 1 {
            text += "[ ] is a core";
            if let Some(speed) = self.thread_speed {
                let _ = write!(text, "; a thread of one runs at {speed} of its speed while another does");
            }
            text.push('\n');
        }
        text
    }

    /// A table of the distances between nodes, or of many nodes which distances there are.
    fn distances(&self) -> String {
        if self.nodes.len() < 2 {
            return String::new();
        }
        if self.nodes.len() > MOST_COLUMNS {
            let all = || self.distances.iter().flatten();
            let (least, most) = (all().min().expect("there are nodes"), all().max().expect("there are nodes"));
            return format!("\ndistances between nodes: {least} to {most}\n");
        }
        let cells = |row: &[u16]| row.iter().map(|cell| format!("{cell:>4}")).collect::<String>();
        let numbers: Vec<u16> = self.nodes.iter().map(|node| node.number).collect();
        let mut text = format!("\ndistances{}\n", cells(&numbers));
        for (number, row) in numbers.iter().zip(&self.distances) {
            let _ = writeln!(text, "{number:>9}{}", cells(row));
        }
        text
    }
}

/// The one of a list for which something holds; made, if there is none.
fn entry<T>(all: &mut Vec<T>, is: impl Fn(&T) -> bool, made: impl FnOnce() -> T) -> &mut T {
    let at = all.iter().position(is).unwrap_or_else(|| {
        all.push(made());
        all.len() - 1
    });
    &mut all[at]
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Cores in brackets behind what is to be said first, in lines that are not too long.
fn cores(text: &mut String, head: &str, cores: &[Core]) {
    let mut line = head.to_owned();
    for core in cores {
        let processors: Vec<String> = core.processors.iter().map(u16::to_string).collect();
        let next = format!(" [{}]", processors.join(" "));
        if line.len() + next.len() > WIDTH {
            let _ = writeln!(text, "{line}");
            line = " ".repeat(head.len());
        }
        line += &next;
    }
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::topology::Place;

    /// Processors at (core, cache, node, capacity).
    fn topology(places: &[(u16, u16, u16, u16)], distances: &[&[u16]]) -> Topology {
        let place =
            |&(core, cache, node, capacity): &(u16, u16, u16, u16)| Place { core, cache, node, capacity, priority: 0 };
        let distances = distances.iter().map(|row| row.to_vec()).collect();
        Topology::new(places.iter().map(place).collect(), distances, 0.6)
    }

    #[test]
    fn nodes_caches_cores_threads_and_distances_are_drawn() {
        let places = [(0, 0, 0, 1024), (1, 1, 1, 1024), (0, 0, 0, 1024), (1, 1, 1, 1024)];
        let own = Arrangement::of_machine(&topology(&places, &[&[10, 21], &[21, 10]]));
        let drawing = "\
4 processors: 2 nodes, 2 last-level caches, 2 cores
[ ] is a core; a thread of one runs at 0.6 of its speed while another does

node 0
  cache 0   [0 2]

node 1
  cache 1   [1 3]

distances   0   1
        0  10  21
        1  21  10

domains of processor 0 under eevdf and cfs
level    processors groups own group            flags
SMT               2      2 0                    SHARE_CPUCAPACITY SHARE_LLC
NUMA 21           4      2 0,2                  NUMA
";
        assert_eq!(own.drawing(), drawing);
    }

    #[test]
    fn cores_of_a_cache_are_drawn_by_capacity_where_it_differs() {
        let own = Arrangement::of_machine(&topology(&[(0, 0, 0, 400), (1, 0, 0, 400), (2, 0, 0, 1024)], &[&[10]]));
        let drawing = "\
3 processors: 1 node, 1 last-level cache, 3 cores

node 0
  cache 0  capacity 400   [0] [1]
           capacity 1024  [2]

domains of processor 0 under eevdf and cfs
level    processors groups own group            flags
MC                3      3 0                    SHARE_LLC ASYM_CPUCAPACITY
";
        assert_eq!(own.drawing(), drawing);
    }

    #[test]
    fn cores_of_a_cache_are_drawn_by_priority_where_some_are_favoured() {
        let place =
            |cpu: u16| Place { core: cpu, cache: 0, node: 0, capacity: 1024, priority: [45, 40][usize::from(cpu / 2)] };
        let own = Arrangement::of_machine(&Topology::new((0..4).map(place).collect(), vec![vec![10]], 1.0));
        let drawing = "\
4 processors: 1 node, 1 last-level cache, 4 cores

node 0
  cache 0  priority 45    [0] [1]
           priority 40    [2] [3]

domains of processor 0 under eevdf and cfs
level    processors groups own group            flags
MC                4      4 0                    SHARE_LLC ASYM_PACKING
";
        assert_eq!(own.drawing(), drawing);
        assert_eq!(own.json()["nodes"][0]["caches"][0]["cores"][2]["priority"], 40);
    }

    #[test]
    fn numbers_of_a_host_are_its_kernels_and_the_speed_of_its_threads_is_not_known() {
        let own = topology(&[(0, 0, 0, 1024), (1, 0, 1, 1024), (1, 0, 1, 1024)], &[&[10, 28], &[28, 10]]);
        let own = Arrangement::numbered(&own, &[1, 4, 5], &[0, 8]);
        let drawing = "\
3 processors: 2 nodes, 1 last-level cache, 2 cores
[ ] is a core

node 0
  cache 0   [1]

node 8
  cache 0   [4 5]

distances   0   8
        0  10  28
        8  28  10

domains of processor 1 under eevdf and cfs
level    processors groups own group            flags
NUMA 28           3      2 1                    NUMA
";
        assert_eq!(own.drawing(), drawing);
        assert_eq!(own.json()["nodes"][1]["caches"][0]["cores"][0]["processors"], json!([4, 5]));
        assert_eq!(own.json()["thread_speed"], Value::Null);
    }

    #[test]
    fn lines_of_many_processors_are_short_enough_and_name_each_once() {
        for (count, threads) in [(64, 1), (64, 2), (64, 4), (1024, 1), (1024, 2)] {
            let places: Vec<_> = (0..count).map(|cpu| (cpu % (count / threads), 0, 0, 1024)).collect();
            let drawing = Arrangement::of_machine(&topology(&places, &[&[10]])).drawing();
            assert!(drawing.lines().all(|line| line.len() <= WIDTH), "{drawing}");
            let cores = drawing.lines().filter(|line| line.starts_with("  "));
            let words = cores.flat_map(|line| line.split(['[', ']', ' '])).filter_map(|word| word.parse::<u16>().ok());
            let mut all: Vec<u16> = words.skip(1).collect();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<u16>>());
        }
    }

    #[test]
    fn many_nodes_have_the_range_of_their_distances_in_place_of_a_table() {
        let places: Vec<_> = (0..64).map(|cpu| (cpu, cpu, cpu, 1024)).collect();
        let rows: Vec<Vec<u16>> =
            (0..64).map(|from| (0..64).map(|to| if from == to { 10 } else { 30 }).collect()).collect();
        let rows: Vec<&[u16]> = rows.iter().map(Vec::as_slice).collect();
        let drawing = Arrangement::of_machine(&topology(&places, &rows)).drawing();
        assert!(drawing.contains("\ndistances between nodes: 10 to 30\n"), "{drawing}");
    }
}
