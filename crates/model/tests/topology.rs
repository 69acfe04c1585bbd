//! Where the processors of a machine are, as its fields say.

use schedlab_model::{machine::Machine, processors::CpuSet, topology::Topology};
use serde_json::json;

fn of(processors: u16, nodes: u16, topology: serde_json::Value) -> Topology {
    let machine = json!({ "name": "any", "processors": processors, "nodes": nodes, "topology": topology });
    serde_json::from_value::<Machine>(machine).expect("a machine").topology()
}

fn cores(topology: &Topology) -> Vec<u16> {
    (0..topology.processors()).map(|cpu| topology.place(cpu).core).collect()
}

#[test]
fn threads_are_numbered_cores_first_unless_the_machine_says_otherwise() {
    assert_eq!(cores(&of(6, 1, json!({ "threads": 2, "thread_speed": 0.6 }))), [0, 1, 2, 0, 1, 2]);
    let threads_first = json!({ "threads": 2, "thread_speed": 0.6, "numbering": "threads_first" });
    assert_eq!(cores(&of(6, 1, threads_first)), [0, 0, 1, 1, 2, 2]);
}

#[test]
fn nodes_have_equal_parts_of_the_cores_and_caches_do_not_reach_across_them() {
    let topology = of(16, 2, json!({ "threads": 2, "thread_speed": 0.6, "cores_per_cache": 3 }));
    // Eight cores, four a node: caches of three and one.
    assert_eq!([0, 2, 3, 4, 6, 7].map(|cpu| topology.place(cpu).cache), [0, 0, 1, 2, 2, 3]);
    assert_eq!([3, 4, 11, 12].map(|cpu| topology.place(cpu).node), [0, 1, 0, 1]);
    assert_eq!(topology.threads(9), CpuSet::from_iter([1, 9]));
    assert_eq!(topology.sharing_cache(0), CpuSet::from_iter([0, 1, 2, 8, 9, 10]));
    assert_eq!(topology.within(0, 10), (0..4).chain(8..12).collect());
    assert_eq!(topology.distances(), [20]);
}

#[test]
fn a_shorter_list_of_capacities_is_repeated() {
    let topology = of(4, 1, json!({ "capacities": [1024, 300] }));
    assert_eq!([0, 1, 2, 3].map(|cpu| topology.place(cpu).capacity), [1024, 300, 1024, 300]);
    assert!(!topology.is_even());
}

/// Both threads of a core have its priority.
#[test]
fn cores_are_favoured_only_where_their_priorities_differ() {
    let threads = json!({ "threads": 2, "thread_speed": 0.6, "priorities": [40, 30] });
    let topology = of(6, 1, threads);
    assert_eq!([0, 1, 2, 3, 4, 5].map(|cpu| topology.place(cpu).priority), [40, 30, 40, 40, 30, 40]);
    assert!(topology.has_favoured());
    assert!(!of(4, 1, json!({})).has_favoured() && !of(4, 1, json!({ "priorities": [40] })).has_favoured());
    assert!(of(4, 1, json!({ "priorities": [40, 30] })).is_even(), "a priority makes no core faster");
}

#[test]
fn processors_are_cores_with_one_cache_where_nothing_is_said() {
    assert_eq!(of(4, 1, json!({})), Topology::uniform(4));
    assert!(of(4, 2, json!({ "threads": 2, "thread_speed": 1.0 })).is_even());
}

#[test]
fn processors_that_take_turns_are_uneven_unless_there_is_one() {
    let turns = |processors| of(processors, 1, json!({ "turns": [4, 3] }));
    assert_eq!(turns(3).turns(), Some(&[4, 3, 4][..]), "a shorter list is repeated");
    assert!(!turns(2).is_even() && turns(1).is_even());
    assert_eq!(of(2, 1, json!({})).turns(), None);
}

#[test]
fn given_distances_are_those_between_nodes() {
    let distances = json!([[10, 16, 22], [16, 10, 16], [22, 16, 10]]);
    let topology = of(3, 3, json!({ "distances": { "value": distances, "source": "a listing" } }));
    assert_eq!(topology.distances(), [16, 22]);
    assert_eq!([topology.within(0, 10), topology.within(0, 16), topology.within(1, 16)], [1, 2, 3].map(CpuSet::all));
}

#[test]
fn a_machine_of_1024_processors_has_all_of_them_in_its_sets() {
    let topology = of(1024, 4, json!({ "threads": 2, "thread_speed": 0.6 }));
    assert_eq!((topology.processors(), topology.place(1023).core), (1024, 511));
    assert_eq!(topology.threads(512), CpuSet::from_iter([0, 512]));
    // Of 512 cores a node has 128, and both threads of each.
    assert_eq!(topology.sharing_cache(1023), (384..512).chain(896..1024).collect());
    assert_eq!(topology.within(0, 20), CpuSet::all(1024));
}
