//! Wrong experiments and what is said of them: the file, the line, the field, the value found, what is allowed,
//! the nearest name. Long, because it is a table.

#![allow(clippy::result_large_err, reason = "a problem is met once, at the end")]

mod catalogue;

use catalogue::{CATALOGUE, GOOD};
use schedlab_model::experiment::{Experiment, Files, Format, Problem, expand, files, read, read_scenario, read_with};

/// A valid experiment; each case replaces one part of it.
const BASE: &str = r#"question = "What?"
machine = "ideal"
metrics = ["tasks.io.real"]
seeds = 3
duration = "10s"
[scheduler]
name = "minix"
slice = "50ms"
[workload]
hog = { load = "spin" }
[workload.io]
nice = 0
steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]
[groups]
users = { weight = 512 }
[sweep]
"workload.hog.nice" = [0, 5]
[goal]
minimize = ["tasks.io.real"]
"#;

/// The text of the base, its replacement, the message.
#[rustfmt::skip]
const CASES: &[(&str, &str, &str)] = &[
    (r#"question = "What?""#, r#"question = "What?"#, r#":1: is not TOML: invalid basic string, expected `"`"#),
    ("seeds = 3", r"seeds = 3
seeds = 4", ":5: is not TOML: duplicate key"),
    ("seeds = 3", "seeds = 99999999999999999999", ":4: seeds: 99999999999999999999 is too large for a whole number"),
    ("seeds = 3", "seeds = nan", ":4: seeds: nan is not a finite number"),
    (r#"duration = "10s""#, "duration = 1979-05-27", ":5: duration: 1979-05-27 is a date, which no field takes"),
    ("seeds", "sedes", r#":4: sedes: unknown field; did you mean "seeds"? (known: question, machine, scheduler, elevator, cache, reclaim, workload, groups, shared, duration, attention, recording, tunables, metrics, seeds, sweep, goal, space)"#),
    (r#"question = "What?""#, "question = 4", ":1: question: 4 is not a text in quotes"),
    (r#"machine = "ideal"
"#, "", ": machine: is missing"),
    (r#"[scheduler]
name = "minix"
slice = "50ms"
"#, "", ": scheduler: is missing"),
    (r#"name = "minix"
"#, "", ":6: scheduler.name: is missing"),
    (r#"[workload]
hog = { load = "spin" }
[workload.io]"#, "[load.io]", ":9: load: unknown field (known: question, machine, scheduler, elevator, cache, reclaim, workload, groups, shared, duration, attention, recording, tunables, metrics, seeds, sweep, goal, space)"),
    (r#"duration = "10s""#, r#"duration = "10 parsecs""#, r#":5: duration: "10 parsecs" is not a duration: write a number with one of the units ns, us, ms, s, min, h like "36ms""#),
    (r#"duration = "10s""#, "duration = 10", r#":5: duration: "10" is not a duration: write a number with one of the units ns, us, ms, s, min, h like "36ms""#),
    (r#"duration = "10s""#, r#"duration = "0s""#, ":5: duration: 0s is too short: a time longer than nothing is wanted"),
    (r#"duration = "10s""#, r#"duration = "2000h""#, ":5: duration: 2000h is too long: at most 1000h"),
    ("seeds = 3", "seeds = 0", ":4: seeds: 0 is not a number of seeds from 1, or a list of seeds"),
    ("seeds = 3", r#"cache = { name = "belady" }"#, ":4: cache.name: belady is clairvoyant: it needs a trace of requests, see schedlab cache"),
    ("seeds = 3", r#"elevator = { name = "c_lok" }"#, r#":4: elevator.name: "c_lok" is not a known elevator; did you mean "c_look"? (known: fifo, c_look)"#),
    ("seeds = 3", r#"elevator = "c_look""#, ":4: elevator: is not a table: write { name = ... } with its parameters"),
    ("seeds = 3", r#"reclaim = { name = "two_list", race = true }"#, ":4: reclaim.race: unknown field (known: name)"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", drive = "quik" }"#, r#":2: machine.drive: "quik" is not a drive; did you mean "quick"? (known: quick)"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", drive = "quick", solid_state = { channels = 0 } }"#, ":2: machine.solid_state.channels: 0 is out of range: from 1 to 4096"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", memory = { size = "64KiB" } }"#, ":2: machine.memory.size: 64KiB is out of range: from 144KiB (the reserve and 16 pages) to 64GiB"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", files = { write_back = { limit = 101 } } }"#, ":2: machine.files.write_back.limit: 101 is out of range: from 1 to 100"),
    (r#"machine = "ideal""#, r#"machine = { preset = "at_286", memory = { size = "4MiB" } }"#, ":2: machine.memory.size: a message-passing machine does not page: leave it out"),
    ("seeds = 3", "seeds = []", ":4: seeds: has no seeds"),
    (r#""workload.hog.nice" = [0, 5]"#, r#""workload.hog.nice" = [0, 5, 0]"#, r#":17: sweep."workload.hog.nice"[2]: 0 makes the same cell as 0: identical runs add no information"#),
    (r#""workload.hog.nice" = [0, 5]"#, r#""scheduler.slice" = ["10ms", "0.01s"]"#, r#":17: sweep."scheduler.slice"[1]: "0.01s" makes the same cell as "10ms": identical runs add no information"#),
    (r#""workload.hog.nice" = [0, 5]"#, r#"zip = { "workload.hog.nice" = [0, 1, 0], "scheduler.slice" = ["1ms", "1ms", "1000us"] }"#, r#":17: sweep.zip."scheduler.slice"[2]: "1000us", 0 makes the same cell as "1ms", 0: identical runs add no information"#),
    (r#""workload.hog.nice" = [0, 5]"#, r#""workload.io.steps[1].read" = ["1KiB"]
"workload.io.steps.1.read" = ["2KiB", "3KiB"]"#, r#":17: sweep."workload.io.steps[1].read": workload.io.steps[1].read is swept twice"#),
    (r#"nice = 0"#, "cpus = []", ":12: workload.io.cpus: is empty: name a processor on which its tasks may run, or leave the field out for all"),
    (r#""close"]"#, r#""close", { lock = "a" }, { compute = "1ms" }, { lock = "a" }]"#, r#":13: workload.io.steps[5].lock: "a" is held here already, since workload.io.steps[3]: the task would wait for itself"#),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"passes = 2
steps = [{ lock = "a" }, { compute = "1ms" }]"#, r#":14: workload.io.steps[0].lock: "a" is held here already, since workload.io.steps[0]: the task would wait for itself"#),
    (r#""close"]"#, r#""close", { repeat = { times = 3, steps = [{ lock = "a" }, { compute = "1ms" }] } }]"#, r#":13: workload.io.steps[3].repeat.steps[0].lock: "a" is held here already, since workload.io.steps[3].repeat.steps[0]: the task would wait for itself"#),
    (r#""close"]"#, r#""close", { fork = [{ lock = "b" }, { lock = "b" }] }]"#, r#":13: workload.io.steps[3].fork[1].lock: "b" is held here already, since workload.io.steps[3].fork[0]: the task would wait for itself"#),
    ("nice = 0\nsteps = [", "passes = \"forever\"\nsteps = [{ compute = \"1ms\" }, ", r#":3: metrics[0]: "tasks.io.real" has no value in any run of "io": no task of it ever ends; did you mean "tasks.io.passes"?"#),
    ("seeds = 3", "seeds = [1, 2, 1]", ":4: seeds: has 1 twice; an identical run adds no information"),
    ("seeds = 3", "seeds = -1", ":4: seeds: -1 is not a number of seeds from 1, or a list of seeds"),
    ("seeds = 3", r#"seeds = "many""#, r#":4: seeds: "many" is not a number of seeds from 1, or a list of seeds"#),
    ("seeds = 3", r#"seeds = [1, "two"]"#, r#":4: seeds[1]: "two" is not a whole number from 0"#),
    ("seeds = 3", "seeds = 10_000_000", ":4: seeds: makes 20000000 runs with 2 cells; at most 10000000"),
    (r#""ideal""#, r#""ideel""#, r#":2: machine: "ideel" is not a machine; did you mean "ideal"? (known: at_286, ideal)"#),
    (r#""ideal""#, r#""guest:6.1""#, r#":2: machine: "guest:6.1" is a guest kernel; this version has simulated machines and the host (known: at_286, ideal)"#),
    (r#""ideal""#, "4", ":2: machine: 4 is neither the name of a machine nor a table"),
    (r#"machine = "ideal""#, r#"machine = { preset = "at_386" }"#, r#":2: machine.preset: "at_386" is not a machine; did you mean "at_286"? (known: at_286, ideal)"#),
    (r#"machine = "ideal""#, "machine = { preset = 3 }", ":2: machine.preset: 3 is not the name of a machine"),
    (r#"machine = "ideal""#, r#"machine = { name = "mine", processors = 0 }"#, ":2: machine.processors: 0 is out of range: from 1 to 1024"),
    (r#"machine = "ideal""#, "machine = { processors = 1 }", ":2: machine.name: is missing"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", processors = 1025 }"#, ":2: machine.processors: 1025 is out of range: from 1 to 1024"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", processors = "two" }"#, r#":2: machine.processors: "two" is not a whole number up to 1024"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", processors = -1 }"#, ":2: machine.processors: -1 is not a whole number up to 1024"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", processors = 70000 }"#, ":2: machine.processors: 70000 is not a whole number up to 1024"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", processors = { value = 2 } }"#, ":2: machine.processors.source: is missing"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", processors = { value = 2, sauce = "x" } }"#, ":2: machine.processors.sauce: unknown field (known: value, source)"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", processors = [1] }"#, ":2: machine.processors: [1] is not a whole number up to 1024"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", procesors = 2 }"#, r#":2: machine.procesors: unknown field; did you mean "processors"? (known: name, title, processors, personality, accounting, interrupt_accounting, preemption, prepared, clock, costs, idle_states, cache, nodes, topology, devices, calls, files, disk, solid_state, queue, terminal, memory)"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", personality = "monolitic" }"#, r#":2: machine.personality: "monolitic" is not known here; did you mean "monolithic"? (known: monolithic, message_passing)"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", clock = { hz = "0/s" } }"#, ":2: machine.clock.hz: 0/s is out of range: from 1/s to 1000000/s"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", clock = { hz = 60 } }"#, r#":2: machine.clock.hz: "60" is not a rate: write a number per unit of time like "60/s""#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", clock = { hz = "60" } }"#, r#":2: machine.clock.hz: "60" is not a rate: write a number per unit of time like "60/s""#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", clock = {} }"#, ":2: machine.clock.hz: is missing"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", clock = { hz = "100/s", interrupt = "10ms" } }"#, ":2: machine.clock.interrupt: 10ms leaves no time between two ticks"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", costs = { trap = "61s" } }"#, ":2: machine.costs.trap: 61s is too long: at most 1min"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", nodes = 99 }"#, r#":2: machine.nodes: 99 is out of range: from 1 to the number of cores, which is 4 with 4 processors"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", nodes = 3, topology = { threads = 2, thread_speed = 0.6 } }"#, r#":2: machine.nodes: 3 is out of range: from 1 to the number of cores, which is 2 with 4 processors"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", topology = { threads = 0 } }"#, r#":2: machine.topology.threads: 0 is out of range: from 1 to 8"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", topology = { threads = 2 } }"#, r#":2: machine.topology.thread_speed: threads share a core: give the speed of one while another runs, such as 0.6"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", topology = { threads = 2, thread_speed = 0 } }"#, r#":2: machine.topology.thread_speed: 0 is out of range: above 0, at most 1"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", topology = { threads = 2, thread_speed = 1.5 } }"#, r#":2: machine.topology.thread_speed: 1.5 is out of range: above 0, at most 1"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", topology = { threads = 2, thread_spede = 0.6 } }"#, r#":2: machine.topology.thread_spede: unknown field; did you mean "thread_speed"? (known: threads, thread_speed, cores_per_cache, numbering, distances, capacities, priorities, turns, halt_poll, newidle_cost)"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", topology = { turns = [] } }"#, r#":2: machine.topology.turns: an empty list: give the turn of a processor a length, such as [1]"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", topology = { turns = [1, 0] } }"#, r#":2: machine.topology.turns: 0 is out of range: from 1 to 65535"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", topology = { cores_per_cache = 0 } }"#, r#":2: machine.topology.cores_per_cache: 0 is out of range: from 1 to 65535"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", topology = { numbering = "core_first" } }"#, r#":2: machine.topology.numbering: "core_first" is not known here; did you mean "cores_first"? (known: cores_first, threads_first)"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", nodes = 2, topology = { distances = [[10, 20]] } }"#, r#":2: machine.topology.distances: 1 rows of 2: write a row for each of the 2 nodes, with a distance to each"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", nodes = 2, topology = { distances = [[10, 20], [20]] } }"#, r#":2: machine.topology.distances: 2 rows of 1 to 2: write a row for each of the 2 nodes, with a distance to each"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", nodes = 2, topology = { distances = [[10, 9], [20, 10]] } }"#, r#":2: machine.topology.distances: 9 is out of range: from 10 to 254"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", nodes = 2, topology = { distances = [[10, 255], [20, 10]] } }"#, r#":2: machine.topology.distances: 255 is out of range: from 10 to 254"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", topology = { capacities = [1024, 0] } }"#, r#":2: machine.topology.capacities: 0 is out of range: from 1 to 1024"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", topology = { capacities = [1025] } }"#, r#":2: machine.topology.capacities: 1025 is out of range: from 1 to 1024"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", topology = { threads = 9 } }"#, ":2: machine.topology.threads: 9 is out of range: from 1 to 8"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", cache = { size = "1B", fill_per_kib = "1us" } }"#, ":2: machine.cache.size: 1B is not the size of a cache: from 1KiB to 1TiB"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", devices.sound = { every = "10us", cost = "6us" } }"#, ":2: machine.devices.sound.every: 10us is too short: at least 1us, and twice the 6us of its handler"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", devices.sound = { every = "1ms", cpu = 99 } }"#, ":2: machine.devices.sound.cpu: 99 is out of range: from 0 to 3"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", preemption = "some" }"#, r#":2: machine.preemption: "some" is not known here (known: none, voluntary, lazy, full)"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", clock = { hz = "100/s", stat_hz = "0/s" } }"#, ":2: machine.clock.stat_hz: 0/s is out of range: from 1/s to 1000000/s"),
    (r#"load = "spin""#, r#"load = "spin", policy = "deadline""#, ":10: workload.hog.reservation: is missing: the policy deadline needs runtime and period"),
    (r#"load = "spin""#, r#"load = "spin", reservation = { runtime = "5ms", period = "4ms" }"#, ":10: workload.hog.reservation.runtime: 5ms is too long: at most 4ms"),
    (r#"load = "spin""#, r#"load = "spin", reservation = { runtime = "1ms", period = "4ms", deadline = "5ms" }"#, ":10: workload.hog.reservation.deadline: 5ms is too long: at most 4ms"),
    (r#"load = "spin""#, r#"load = "spin", session = "a b""#, r#":10: workload.hog.session."a b": a name has 1 to 64 letters, digits, "_" or "-""#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", costs = { trap = 5 } }"#, r#":2: machine.costs.trap: "5" is not a duration: write a number with one of the units ns, us, ms, s, min, h like "36ms""#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", files = { block = "1000B" } }"#, ":2: machine.files.block: 1kB is not the size of a block: a multiple of 512B, from 512B to 16MiB"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", files = { cache_blocks = 3 } }"#, ":2: machine.files.cache_blocks: 3 is out of range: from 4 to 16777216"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", files = { track_blocks = 0 } }"#, ":2: machine.files.track_blocks: 0 is out of range: from 1 to 65536"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", files = { extent_blocks = 0 } }"#, ":2: machine.files.extent_blocks: 0 is out of range: from 1 to 1048576"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", files = { read_ahead = "yes" } }"#, r#":2: machine.files.read_ahead: "yes" is not true or false"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", memory = { sizing = "high" } }"#, r#":2: machine.memory.sizing: "high" is not known here (known: declared, high_water)"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "0/min", cylinders = 615, heads = 4, sectors = 17, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us" } }"#, ":2: machine.disk.rotation: 0/s is out of range: from 1/s to 100000/s"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 615, heads = 0, sectors = 17, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us" } }"#, ":2: machine.disk.heads: 0 is out of range: from 1 to 256"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 615, heads = 4, sectors = 0, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us" } }"#, ":2: machine.disk.sectors: 0 is out of range: from 1 to 10000"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 0, heads = 4, sectors = 17, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us" } }"#, ":2: machine.disk.cylinders: 0 is out of range: from 1 to 1048576"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 615, heads = 4, sectors = 17, interleave = 18, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us" } }"#, ":2: machine.disk.interleave: 18 is out of range: from 1 to 17"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 615, sectors = 17, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us" } }"#, ":2: machine.disk.heads: is missing"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 615, heads = 4, sectors = 17, interleave = 3, seek_track = "151ms", seek_full = "150ms", command = "1ms", sector_copy = "500us" } }"#, ":2: machine.disk.seek_track: 151ms is too long: at most 150ms"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 615, heads = 4, sectors = 17, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us", zones = 0 } }"#, ":2: machine.disk.zones: 0 is out of range: from 1 to 64"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 615, heads = 4, sectors = 17, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us", zones = 65 } }"#, ":2: machine.disk.zones: 65 is out of range: from 1 to 64"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 8, heads = 4, sectors = 17, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us", zones = 9 } }"#, ":2: machine.disk.zones: 9 is out of range: from 1 to 8"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 615, heads = 4, sectors = 17, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us", inner_sectors = 18, zones = 2 } }"#, ":2: machine.disk.inner_sectors: 18 is out of range: from 1 to 17"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 615, heads = 4, sectors = 17, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us", inner_sectors = 0, zones = 2 } }"#, ":2: machine.disk.inner_sectors: 0 is out of range: from 1 to 17"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 615, heads = 4, sectors = 17, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us", inner_sectors = 2, zones = 2 } }"#, ":2: machine.disk.interleave: 3 is out of range: from 1 to 2"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 615, heads = 4, sectors = 17, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us", track_buffer = "2GiB" } }"#, ":2: machine.disk.track_buffer: 2GiB is out of range: from 0B to 1GiB"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 615, heads = 4, sectors = 17, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us", overhead = "2min" } }"#, ":2: machine.disk.overhead: 2min is too long: at most 1min"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 615, heads = 4, sectors = 17, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us", bus_per_kib = "1s" } }"#, ":2: machine.disk.bus_per_kib: 1s is too long: at most 100ms"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 615, heads = 4, sectors = 17, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us", seek_curve = "rood" } }"#, r#":2: machine.disk.seek_curve: "rood" is not known here; did you mean "root"? (known: linear, root)"#),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", idle_states = [{ residency = "2us", latency = "2us" }, { residency = "2us", latency = "50us" }] }"#, ":2: machine.idle_states[1].residency: 2us after 2us: list idle states from the shallowest to the deepest"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", idle_states = [{ residency = "2us", latency = "2us" }, { residency = "1ms", latency = "1us" }] }"#, ":2: machine.idle_states[1].latency: 1us after 2us: list idle states from the shallowest to the deepest"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", idle_states = [{ residency = "0us", latency = "1us" }, { residency = "1us", latency = "1us" }, { residency = "2us", latency = "1us" }, { residency = "3us", latency = "1us" }, { residency = "4us", latency = "1us" }, { residency = "5us", latency = "1us" }, { residency = "6us", latency = "1us" }, { residency = "7us", latency = "1us" }, { residency = "8us", latency = "1us" }, { residency = "9us", latency = "1us" }, { residency = "10us", latency = "1us" }] }"#, ":2: machine.idle_states: 11 idle states: at most 10"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", idle_states = [{ residency = "2us" }] }"#, ":2: machine.idle_states[0].latency: is missing"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", idle_states = [{ residency = "2us", latency = "2min" }] }"#, ":2: machine.idle_states[0].latency: 2min is too long: at most 1min"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", solid_state = { size = "512KiB", read = "75us", write = "89us", page = "4KiB", channels = 8, queue_depth = 32 } }"#, ":2: machine.solid_state.size: 512KiB is out of range: from 1MiB to 1048576GiB"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", solid_state = { size = "256GB", read = "75us", write = "89us", page = "1000B", channels = 8, queue_depth = 32 } }"#, ":2: machine.solid_state.page: 1kB is not the size of a block: a multiple of 512B, from 512B to 16MiB"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", solid_state = { size = "256GB", read = "2s", write = "89us", page = "4KiB", channels = 8, queue_depth = 32 } }"#, ":2: machine.solid_state.read: 2s is too long: at most 1s"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", solid_state = { size = "256GB", read = "75us", write = "2s", page = "4KiB", channels = 8, queue_depth = 32 } }"#, ":2: machine.solid_state.write: 2s is too long: at most 1s"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", solid_state = { size = "256GB", read = "75us", write = "89us", page = "4KiB", channels = 0, queue_depth = 32 } }"#, ":2: machine.solid_state.channels: 0 is out of range: from 1 to 4096"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", solid_state = { size = "256GB", read = "75us", write = "89us", page = "4KiB", channels = 8, queue_depth = 0 } }"#, ":2: machine.solid_state.queue_depth: 0 is out of range: from 1 to 65536"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", solid_state = { size = "256GB", read = "75us", write = "89us", page = "4KiB", channels = 8, queue_depth = 32, overhead = "2s" } }"#, ":2: machine.solid_state.overhead: 2s is too long: at most 1s"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", solid_state = { size = "256GB", read = "75us", write = "89us", page = "4KiB", channels = 8, queue_depth = 32, bus_per_kib = "1s" } }"#, ":2: machine.solid_state.bus_per_kib: 1s is too long: at most 100ms"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", disk = { rotation = "3600/min", cylinders = 615, heads = 4, sectors = 17, interleave = 3, seek_track = "8ms", seek_full = "150ms", command = "1ms", sector_copy = "500us" }, solid_state = { size = "256GB", read = "75us", write = "89us", page = "4KiB", channels = 8, queue_depth = 32 } }"#, ":2: machine.solid_state: a machine has one drive: a disk or a solid_state"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", queue = { requests = 0 } }"#, ":2: machine.queue.requests: 0 is out of range: from 1 to 65536"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", queue = { writes = 0 } }"#, ":2: machine.queue.writes: 0 is out of range: from 1 to 65536"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", queue = { most = "100B" } }"#, ":2: machine.queue.most: 100B is out of range: from 512B to 1GiB"),
    (r#"machine = "ideal""#, r#"machine = { preset = "ideal", queue = { merge = 1 } }"#, ":2: machine.queue.merge: 1 is not true or false"),
    (r#""minix""#, r#""minx""#, r#":7: scheduler.name: "minx" is not a scheduler; did you mean "minix"? (known: round_robin, minix)"#),
    (r#"name = "minix""#, "name = 3", ":7: scheduler.name: 3 is not the name of a scheduler"),
    (r#"slice = "50ms""#, r#"slice = "36""#, r#":8: scheduler.slice: "36" is not a duration: write a number with one of the units ns, us, ms, s, min, h like "36ms""#),
    (r#"slice = "50ms""#, "slice = 36", r#":8: scheduler.slice: "36" is not a duration: write a number with one of the units ns, us, ms, s, min, h like "36ms""#),
    (r#"slice = "50ms""#, r#"slice = "1h""#, ":8: scheduler.slice: 1h is out of range: from 1ms to 10s"),
    (r#"slice = "50ms""#, r#"slice = ["1ms"]"#, r#":8: scheduler.slice: ["1ms"] is not a single value"#),
    (r#"slice = "50ms""#, r#"slise = "50ms""#, r#":8: scheduler.slise: unknown field; did you mean "slice"? (known: name, slice, ready_at)"#),
    (r#"slice = "50ms""#, r#"ready_at = "tial""#, r#":8: scheduler.ready_at: "tial" is not one of tail, head; did you mean "tail"?"#),
    (r#"slice = "50ms""#, r#"quantum = "50ms""#, ":8: scheduler.quantum: unknown field (known: name, slice, ready_at)"),
    (r#"load = "spin""#, r#"laod = "spin""#, r#":10: workload.hog.laod: unknown field; did you mean "load"? (known: arrivals, count, cpus, footprint, gap, group, io_class, io_level, load, nice, passes, policy, priority, replay, requests, reservation, session, slice, start, steps)"#),
    (r#"load = "spin""#, r#"load = "spinn""#, r#":10: workload.hog.load: "spinn" is not a load; did you mean "spin"? (known: spin, read_files)"#),
    (r#"load = "spin""#, r#"load = "spin", steps = ["yield"]"#, ":10: workload.hog: has both load and steps; a job has one of them"),
    (r#"{ load = "spin" }"#, "{ nice = 1 }", ":10: workload.hog: has neither load nor steps; a job has one of them"),
    (r#"load = "spin""#, r#"load = "read_files""#, ":10: workload.hog.files: is missing: How many files."),
    (r#"load = "spin""#, r#"load = "read_files", files = 1.5"#, r#":10: workload.hog.files: "1.5" is not a whole number"#),
    (r#"load = "spin""#, r#"load = "read_files", files = 0"#, ":10: workload.hog.files: 0 is out of range: from 1 to 100000"),
    (r#"load = "spin""#, r#"load = "read_files", files = 1, sorted = "yes""#, r#":10: workload.hog.sorted: "yes" is neither true nor false"#),
    (r#"load = "spin""#, r#"load = "read_files", files = 1, rate = "5""#, r#":10: workload.hog.rate: "5" is not a rate: write a number per unit of time like "60/s""#),
    (r#"load = "spin""#, r#"load = "read_files", files = 1, size = "4 kB", sorted = 1"#, r#":10: workload.hog.sorted: "1" is neither true nor false"#),
    (r#"load = "spin""#, r#"load = "spin", files = 3"#, ":10: workload.hog.files: unknown field (known: arrivals, count, cpus, footprint, gap, group, io_class, io_level, load, nice, passes, policy, priority, replay, requests, reservation, session, slice, start, steps, compute)"),
    ("nice = 0", "nice = 21", ":12: workload.io.nice: 21 is out of range: from -20 to 20"),
    ("nice = 0", r#"nice = "low""#, r#":12: workload.io.nice: "low" is not a whole number from -20 to 20"#),
    ("nice = 0", "nice = 200", ":12: workload.io.nice: 200 is not a whole number from -20 to 20"),
    ("nice = 0", "count = 0", ":12: workload.io.count: 0 is out of range: from 1 to 1000000"),
    ("nice = 0", "count = 1_000_000", ":12: workload.io.count: makes 1000001 tasks in all; at most 1000000"),
    ("nice = 0", "passes = 0", r#":12: workload.io.passes: 0 is out of range: at least 1, or "forever""#),
    ("nice = 0", r#"passes = "forevr""#, r#":12: workload.io.passes: "forevr" is not a whole number from 1 to 4294967295, or "forever""#),
    ("nice = 0", "passes = 1.5", r#":12: workload.io.passes: 1.5 is not a whole number from 1 to 4294967295, or "forever""#),
    ("nice = 0", r#"policy = "fifo""#, ":11: workload.io.priority: 0 is out of range: from 1 to 99 under fifo and rr"),
    ("nice = 0", "priority = 5", ":12: workload.io.priority: is for the policies fifo and rr; other tasks have a nice value"),
    ("nice = 0", r#"policy = "rr"
priority = 100"#, ":13: workload.io.priority: 100 is out of range: from 1 to 99 under fifo and rr"),
    ("nice = 0", r#"policy = "round""#, r#":12: workload.io.policy: "round" is not known here (known: other, batch, idle, fifo, rr, iso, deadline)"#),
    ("nice = 0", r#"slice = "0ms""#, ":12: workload.io.slice: 0s is too short: a time longer than nothing is wanted"),
    ("nice = 0", "cpus = [0, 4]", ":12: workload.io.cpus[1]: the machine has no processor 4: it has 4, counted from 0"),
    ("nice = 0", "cpus = 1", ":12: workload.io.cpus: 1 is not a list"),
    ("nice = 0", r#"group = "user""#, r#":12: workload.io.group: "user" is not a group; did you mean "users"? (known: users)"#),
    ("nice = 0", "start = { exp = 5 }", r#":12: workload.io.start.exp: "5" is not a duration: write a number with one of the units ns, us, ms, s, min, h like "36ms""#),
    ("nice = 0", r#"start = { expo = "5ms" }"#, r#":12: workload.io.start.expo: unknown field; did you mean "exp"? (known: exp, uniform)"#),
    ("nice = 0", r#"gap = { uniform = ["5ms", "1ms"] }"#, ":12: workload.io.gap.uniform: goes down from 5ms to 1ms: the shorter comes first"),
    ("nice = 0", r#"gap = { uniform = ["5ms"] }"#, r#":12: workload.io.gap.uniform: ["5ms"] has the wrong length: a list of two is wanted"#),
    ("nice = 0", r#"gap = { uniform = ["5ms", "6ms", "7ms"] }"#, r#":12: workload.io.gap.uniform: ["5ms","6ms","7ms"] has the wrong length: a list of two is wanted"#),
    ("nice = 0", "gap = {}", ":12: workload.io.gap: is empty: write either exp or uniform"),
    ("nice = 0", r#"gap = { exp = "1ms", uniform = ["1ms", "2ms"] }"#, ":12: workload.io.gap: has more than one distribution: write either exp or uniform"),
    ("nice = 0", "start = -5", r#":12: workload.io.start: -5 is not a duration like "36ms", { exp = "36ms" } or { uniform = ["30ms", "42ms"] }"#),
    ("nice = 0", "start = true", r#":12: workload.io.start: true is not a duration like "36ms", { exp = "36ms" } or { uniform = ["30ms", "42ms"] }"#),
    ("weight = 512", "weight = 0", ":15: groups.users.weight: 0 is out of range: from 1 to 262144"),
    ("weight = 512", "wieght = 3", r#":15: groups.users.wieght: unknown field; did you mean "weight"? (known: parent, weight, quota, burst, period, memory)"#),
    ("weight = 512", r#"parent = "usres""#, r#":15: groups.users.parent: "usres" is not a group; did you mean "users"? (known: users)"#),
    ("users = { weight = 512 }", r#"a = { parent = "b" }
b = { parent = "a" }"#, ":15: groups.a.parent: makes a circle: the group would contain itself"),
    ("weight = 512", r#"quota = "0s""#, ":15: groups.users.quota: 0s is too short: a time longer than nothing is wanted"),
    ("weight = 512", r#"burst = "5ms""#, ":15: groups.users.burst: is for groups with a quota"),
    ("weight = 512", r#"quota = "5ms", burst = "6ms""#, ":15: groups.users.burst: 6ms is too long: at most 5ms"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, "steps = []", ":13: workload.io.steps: has no steps"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = "close""#, r#":13: workload.io.steps: "close" is not a list of steps"#),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = ["cloze"]"#, r#":13: workload.io.steps[0]: "cloze" is not a step; did you mean "close"? (known: compute, call, sleep, period, timer, busy, open, read, create, write, seek, delete, touch, print, lock, read_lock, unlock, send, receive, acquire, release, barrier, condition_wait, condition_signal, condition_broadcast, set, fork, grow, run, repeat, mark, close, sync, wait, signal, pause, yield, exec, exit)"#),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = ["compute"]"#, r#":13: workload.io.steps[0]: "compute" needs a value: { compute = ... }"#),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, "steps = [{ close = true }]", r#":13: workload.io.steps[0].close: takes no value: write "close" alone"#),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ comput = "1ms" }]"#, r#":13: workload.io.steps[0].comput: "comput" is not a step; did you mean "compute"? (known: compute, call, sleep, period, timer, busy, open, read, create, write, seek, delete, touch, print, lock, read_lock, unlock, send, receive, acquire, release, barrier, condition_wait, condition_signal, condition_broadcast, set, fork, grow, run, repeat, mark, close, sync, wait, signal, pause, yield, exec, exit)"#),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ compute = "1ms", sleep = "1ms" }]"#, ":13: workload.io.steps[0]: a step has one name, this has 2"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, "steps = [{}]", ":13: workload.io.steps[0]: is empty: a step has one name"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, "steps = [3]", ":13: workload.io.steps[0]: 3 is not a step: write { name = value } or a name"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ compute = "5" }]"#, r#":13: workload.io.steps[0].compute: "5" is not a duration: write a number with one of the units ns, us, ms, s, min, h like "36ms""#),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ compute = { uniform = ["2ms", "1ms"] } }]"#, ":13: workload.io.steps[0].compute.uniform: goes down from 2ms to 1ms: the shorter comes first"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ sleep = "1001h" }]"#, ":13: workload.io.steps[0].sleep: 1001h is too long: at most 1000h"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ period = "0s" }]"#, ":13: workload.io.steps[0].period: 0s is too short: a time longer than nothing is wanted"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ read = "1KiB" }]"#, ":13: workload.io.steps[0]: no file is open here: open or create comes first"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ open = { files = 1, size = "1B" } }, "close", "close"]"#, ":13: workload.io.steps[2]: no file is open here: open or create comes first"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ open = { files = 1, size = "1B" } }, { repeat = { times = 2, steps = [{ read = "1B" }, "close"] } }]"#, ":13: workload.io.steps[1].repeat.steps[0]: no file is open here: open or create comes first"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ open = { files = 0, size = "1B" } }]"#, ":13: workload.io.steps[0].open.files: 0 is out of range: from 1 to 1000000"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, "steps = [{ open = { files = 1 } }]", ":13: workload.io.steps[0].open.size: is missing"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ open = { files = 1, size = "2000GiB" } }]"#, ":13: workload.io.steps[0].open.size: 2000GiB is too large: at most 1024GiB"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ lock = "a" }, { unlock = "b" }]"#, r#":13: workload.io.steps[1].unlock: no program has the step lock = "b"; did you mean "a"? (known: a)"#),
    (r#""close"]"#, r#""close", { acquire = "db" }]"#, r#":13: workload.io.steps[3].acquire: no semaphore is called "db": declare it as shared.db = { semaphore = ... }"#),
    (r#""close"]
"#, r#""close", { barrier = "db" }]
[shared]
db = { semaphore = 2 }
"#, ":13: workload.io.steps[3].barrier: shared.db is no barrier: declare it as { barrier = ... }"),
    ("[groups]", "[shared]\ngate = { barrier = 0 }\n[groups]", ":15: shared.gate.barrier: 0 is out of range: from 1 to 1048576"),
    ("[groups]", "[shared]\ngate = { bairrer = 1 }\n[groups]", r#":15: shared.gate: "bairrer" is not known here; did you mean "barrier"? (known: queue, semaphore, barrier, lock)"#),
    (r#""close"]"#, r#""close", { lock = "a" }, { condition_wait = { condition = "c", lock = "a" } }]"#, r#":13: workload.io.steps[4].condition_wait.condition: no program has the step condition_signal = "c""#),
    (r#""close"]"#, r#""close", { condition_signal = "c" }, { condition_wait = { condition = "c", lock = "a" } }]"#, r#":13: workload.io.steps[4].condition_wait.lock: "a" is not held here: lock it first"#),
    (r#""close"]"#, r#""close", { condition_signal = "c" }, { read_lock = "a" }, { condition_wait = { condition = "c", lock = "a" } }]"#, r#":13: workload.io.steps[5].condition_wait.lock: "a" is held for reading here: other readers could change nothing of what is waited for"#),
    (r#""close"]"#, r#""close", { lock = "a" }, { read_lock = "a" }]"#, r#":13: workload.io.steps[4].read_lock: "a" is held here already, since workload.io.steps[3]: the task would wait for itself"#),
    (r#""close"]"#, r#""close", { set = {} }]"#, r#":13: workload.io.steps[3].set: changes nothing: name what is to change, like { set = { nice = 5 } }"#),
    (r#""close"]"#, r#""close", { set = { nise = 5 } }]"#, r#":13: workload.io.steps[3].set.nise: unknown field; did you mean "nice"? (known: nice, policy, priority, slice, cpus, group, io_class, io_level, job)"#),
    (r#""close"]"#, r#""close", { set = { job = "io" } }]"#, r#":13: workload.io.steps[3].set.job: of the tasks of a job, only cpus can be changed: { set = { cpus = [0, 1], job = "NAME" } }"#),
    (r#""close"]"#, r#""close", { set = { job = "io", cpus = [0], nice = 1 } }]"#, r#":13: workload.io.steps[3].set.job: of the tasks of a job, only cpus can be changed: { set = { cpus = [0, 1], job = "NAME" } }"#),
    (r#""close"]"#, r#""close", { set = { job = "oi", cpus = [0] } }]"#, r#":13: workload.io.steps[3].set.job: there is no job "oi"; did you mean "io"? (known: hog, io)"#),
    (r#""close"]"#, r#""close", { set = { nice = 21 } }]"#, r#":13: workload.io.steps[3].set.nice: 21 is out of range: from -20 to 20"#),
    (r#""close"]"#, r#""close", { set = { policy = "fifo" } }]"#, r#":13: workload.io.steps[3].set.priority: is missing: the policies fifo and rr need one, from 1 to 99"#),
    (r#""close"]"#, r#""close", { set = { policy = "rr", priority = 100 } }]"#, r#":13: workload.io.steps[3].set.priority: 100 is out of range: from 1 to 99"#),
    (r#""close"]"#, r#""close", { set = { priority = 5 } }]"#, r#":13: workload.io.steps[3].set.priority: goes with the policy fifo or rr: give policy too"#),
    (r#""close"]"#, r#""close", { set = { policy = "deadline" } }]"#, r#":13: workload.io.steps[3].set.policy: "deadline" cannot be set by a step: a job asks for its reservation at its start"#),
    (r#""close"]"#, r#""close", { set = { cpus = [] } }]"#, r#":13: workload.io.steps[3].set.cpus: is empty: name a processor that the task may use"#),
    (r#""close"]"#, r#""close", { set = { cpus = [0, 9] } }]"#, r#":13: workload.io.steps[3].set.cpus[1]: the machine has no processor 9: it has 4, counted from 0"#),
    (r#""close"]"#, r#""close", { set = { group = "nowhere" } }]"#, r#":13: workload.io.steps[3].set.group: "nowhere" is not a group (known: users)"#),
    (r#""close"]"#, r#""close", { set = { io_level = 3 } }]"#, r#":13: workload.io.steps[3].set.io_level: is a level within a class: give io_class too"#),
    (r#""close"]"#, r#""close", { set = { io_class = "idle", io_level = 3 } }]"#, r#":13: workload.io.steps[3].set.io_level: is for real_time and best_effort; the idle class has no levels"#),
    ("[groups]", "[shared]\nbus = { lock = { ceiling = 0 } }\n[groups]", ":15: shared.bus.lock.ceiling: 0 is out of range: from 1 to 99"),
    ("[groups]", "[shared]\nbus = { lock = \"protect\" }\n[groups]", r#":15: shared.bus.lock: "protect" is not known here (known: none, inherit, ceiling)"#),
    (r#""close"]
"#, r#""close", { set = { policy = "fifo", priority = 60 } }, { lock = "bus" }]
[shared]
bus = { lock = { ceiling = 50 } }
"#, r#":13: workload.io.steps[4].lock: "bus" has the ceiling 50: only tasks under fifo or rr, of at most that priority, may lock it"#),
    (r#""close"]
"#, r#""close", { read_lock = "bus" }]
[shared]
bus = { lock = "inherit" }
"#, r#":13: workload.io.steps[3].read_lock: "bus" has a protocol, and so one holder at a time: lock it instead"#),
    ("[groups]", "[recording]\nfile = \"a.work\"\nsha256 = \"\"\nspeed = 0\n[groups]", ":17: recording.speed: 0 is out of range: from 0.01 to 100"),
    ("[groups]", "[recording]\nfile = \"a.work\"\nsha256 = \"\"\nspeed = 100.5\n[groups]", ":17: recording.speed: 100.5 is out of range: from 0.01 to 100"),
    ("[groups]", "[recording]\nfile = \"a.work\"\nsha256 = \"\"\nspede = 2\n[groups]", r#":17: recording.spede: unknown field; did you mean "speed"? (known: file, sha256, speed)"#),
    ("[groups]", "attention = 3\n[groups]", r#":14: workload.io.attention: unknown field (known: arrivals, count, cpus, footprint, gap, group, io_class, io_level, load, nice, passes, policy, priority, replay, requests, reservation, session, slice, start, steps)"#),
    ("seeds = 3", "attention = 3", ":4: attention: 3 is not a table"),
    ("seeds = 3", "attention = {}", r#":4: attention: moves no job: name one in focus ([{ at = "0s", job = "NAME" }]), or in a rule of the layout"#),
    ("seeds = 3", "attention = { enabled = 1 }", ":4: attention.enabled: 1 is not true or false"),
    ("seeds = 3", "attention = { focsu = [] }", r#":4: attention.focsu: unknown field; did you mean "focus"? (known: enabled, period, focus, layout)"#),
    ("seeds = 3", r#"attention = { period = "1ms", focus = [{ at = "0s", job = "io" }] }"#, ":4: attention.period: 1ms is out of range: from 100ms to 1min"),
    ("seeds = 3", r#"attention = { focus = [{ job = "io" }] }"#, ":4: attention.focus[0].at: is missing"),
    ("seeds = 3", r#"attention = { focus = [{ at = "0s", job = "oi" }] }"#, r#":4: attention.focus[0].job: there is no job "oi"; did you mean "io"? (known: hog, io)"#),
    ("seeds = 3", r#"attention = { focus = [{ at = "2s", job = "io" }, { at = "2s" }] }"#, ":4: attention.focus[1].at: 2s comes after 2s: changes stand in the order of time"),
    ("seeds = 3", r#"attention = { enabled = false, focus = [{ at = "2000h", job = "io" }] }"#, ":4: attention.focus[0].at: 2000h is too long: at most 1000h"),
    ("seeds = 3", r#"attention = { layout = { rule = [{ name = "io*", level = "batsh" }] } }"#, r#":4: attention.layout.rule[0].level: "batsh" is no level; there is foreground, background, batch"#),
    ("seeds = 3", r#"attention = { layout = { rule = [{ name = "io", command = "x", level = "batch" }] } }"#, ":4: attention.layout.rule[0].command: is not compared here: a rule goes by the job's name"),
    ("seeds = 3", r#"attention = { layout = { rule = [{ name = "oi", level = "batch" }] } }"#, r#":4: attention: moves no job: name one in focus ([{ at = "0s", job = "NAME" }]), or in a rule of the layout"#),
    ("seeds = 3", r#"attention = { layout = { attention = { dwell = "5min" } } }"#, ":4: attention.layout.attention.dwell: 5min is not allowed; 0ns to 1min is"),
    ("seeds = 3", r#"attention = { layout = { attention = { other_users = true } } }"#, ":4: attention.layout.attention.other_users: jobs have no users: leave it out"),
    ("seeds = 3", r#"attention = { layout = { overload = { share = "all" } } }"#, r#":4: attention.layout.overload.share: "all" is not a number"#),
    ("seeds = 3", r#"attention = { layout = { level = [{ name = "foreground", nice = 0 }, { name = "background", nice = 30 }] } }"#, ":4: attention.layout.level[1].nice: 30 is not allowed; -10 to 19 is"),
    ("seeds = 3", r#"attention = { layout = { level = [{ name = "foreground", nice = 0, weight = 5 }, { name = "background", nice = 3 }, { name = "batch", nice = 5 }] } }"#, ":4: attention.layout.level[0].weight: a job has no control group of its own whose weight could change: leave it out"),
    (r#""workload.hog.nice" = [0, 5]"#, r#""attention.enabled" = [false, true]"#, r#": attention: moves no job: name one in focus ([{ at = "0s", job = "NAME" }]), or in a rule of the layout (in the cell attention.enabled = false)"#),
    ("nice = 0", "io_level = 4", ":12: workload.io.io_level: is a level within a class: give io_class too"),
    ("nice = 0", "requests = 4", ":12: workload.io.requests: is for a job with arrivals; give when they arrive"),
    ("nice = 0", r#"arrivals = { poisson = "0/s" }"#, ":12: workload.io.arrivals.poisson: 0/s is out of range: more than 0/s, up to 1000000000/s"),
    ("nice = 0", r#"arrivals = { poison = "10/s" }"#, r#":12: workload.io.arrivals: "poison" is not known here; did you mean "poisson"? (known: poisson, every, bursts, recorded)"#),
    ("nice = 0", r#"arrivals = { every = "0s" }"#, ":12: workload.io.arrivals.every: 0s is too short: a time longer than nothing is wanted"),
    ("nice = 0", r#"arrivals = { bursts = { size = 0, every = "1s" } }"#, ":12: workload.io.arrivals.bursts.size: 0 is out of range: from 1 to 1000000"),
    ("nice = 0", r#"arrivals = { recorded = ["2ms", "1ms"] }"#, ":12: workload.io.arrivals.recorded[1]: is earlier than the one before: write the times in order"),
    ("nice = 0", r#"arrivals = { recorded = { file = "x" } }"#, r#":12: workload.io.arrivals.recorded.file: "x" was not read; only an experiment that is read from a file can name others"#),
    ("\"workload.hog.nice\" = [0, 5]", r#""workload.io.arrivals" = [{ recorded = { file = "x" } }]"#, r#":17: sweep."workload.io.arrivals"[0].recorded: a file of times cannot be swept: give a job, or an experiment, for each file"#),
    ("\"workload.hog.nice\" = [0, 5]", r#""workload.io.arrivals.recorded.file" = ["x"]"#, r#":17: sweep."workload.io.arrivals.recorded.file": a file of times cannot be swept: give a job, or an experiment, for each file"#),
    ("\"workload.hog.nice\" = [0, 5]", r#""workload.io.arrivals.recorded" = [{ file = "x" }]"#, r#":17: sweep."workload.io.arrivals.recorded": a file of times cannot be swept: give a job, or an experiment, for each file"#),
    (r#"slice = "50ms""#, r#"slice = { sweep = ["50ms", "9ms"] }"#, r#":8: scheduler.slice: a list to try is not written here: leave the field out, and write it in the table [sweep]: "scheduler.slice" = ["50ms","9ms"]"#),
    ("nice = 0", r#"arrivals = { recorded = [] }"#, ":12: workload.io.arrivals.recorded: 0 times: from 1 to 1000000"),
    ("nice = 0", "arrivals = { recorded = [\"2ms\"] }\nrequests = 1", ":12: workload.io.arrivals.recorded: has as many requests as there are times: leave out requests"),
    ("nice = 0", "arrivals = { every = \"1s\" }\npasses = 2", ":13: workload.io.passes: is not for a job with arrivals: it makes one pass for each request"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ receive = "answer" }]"#, r#":13: workload.io.steps[0].receive: no program has the step send = "answer""#),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, "steps = [{ fork = [] }]", ":13: workload.io.steps[0].fork: has no steps"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ fork = "close" }]"#, r#":13: workload.io.steps[0].fork: "close" is not a list of steps"#),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ repeat = { times = 0, steps = ["yield"] } }]"#, r#":13: workload.io.steps[0].repeat.times: 0 is out of range: at least 1, or "forever""#),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ repeat = { steps = ["yield"] } }]"#, ":13: workload.io.steps[0].repeat.times: is missing"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ repeat = { times = 2, step = ["yield"] } }]"#, r#":13: workload.io.steps[0].repeat.step: unknown field; did you mean "steps"? (known: times, steps)"#),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ repeat = { times = "forever", steps = ["signal"] } }]"#, ":13: workload.io.steps[0].repeat: takes no time on this machine and is repeated without end or nearly so: compute, sleep or wait for a period in it"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ repeat = { times = 4000, steps = [{ repeat = { times = 4000, steps = [{ mark = "m" }] } }] } }]"#, ":13: workload.io.steps[0].repeat: takes no time on this machine and is repeated without end or nearly so: compute, sleep or wait for a period in it"),
    ("nice = 0", r#"passes = "forever""#, ":13: workload.io.steps: takes no time on this machine and is repeated without end or nearly so: compute, sleep or wait for a period in it"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ grow = { from = "2KiB", to = "1KiB", declared = "1KiB" } }]"#, r#":13: workload.io.steps[0].grow.from: 2KiB is more than the 1KiB of "to""#),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ repeat = { times = 2, steps = [{ repeat = { times = 2, steps = [{ repeat = { times = 2, steps = [{ repeat = { times = 2, steps = [{ repeat = { times = 2, steps = [{ repeat = { times = 2, steps = [{ repeat = { times = 2, steps = [{ repeat = { times = 2, steps = [{ repeat = { times = 2, steps = ["yield"] } }] } }] } }] } }] } }] } }] } }] } }] } }]"#, ":13: workload.io.steps[0].repeat.steps[0].repeat.steps[0].repeat.steps[0].repeat.steps[0].repeat.steps[0].repeat.steps[0].repeat.steps[0].repeat.steps[0]: is the 9th repeat in a repeat; at most 8"),
    (r#"steps = [{ open = { files = 2, size = "4KiB" } }, { read = "1KiB" }, "close"]"#, r#"steps = [{ fork = [{ fork = [{ fork = [{ fork = [{ fork = [{ fork = [{ fork = [{ fork = [{ fork = ["yield"] }] }] }] }] }] }] }] }] }]"#, ":13: workload.io.steps[0].fork[0].fork[0].fork[0].fork[0].fork[0].fork[0].fork[0].fork[0]: is the 9th fork in a fork; at most 8"),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = ["tasks.oi.real"]"#, r#":3: metrics[0]: "tasks.oi.real": the workload has no job "oi"; did you mean "io"? (known: hog, io, *)"#),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = ["tasks.io.reel"]"#, r#":3: metrics[0]: "tasks.io.reel" is not a metric; did you mean "tasks.io.real"? (known: tasks.io.wakeup_latency, tasks.io.real, tasks.io.user)"#),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = ["real"]"#, r#":3: metrics[0]: "real": real belongs to tasks: write tasks.*.real, or a job for the *"#),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = ["context_switch"]"#, r#":3: metrics[0]: "context_switch" is not a metric; did you mean "context_switches"? (known: context_switches, wakeup_latency, load1)"#),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = ["tasks.*.context_switches"]"#, r#":3: metrics[0]: "tasks.*.context_switches": context_switches belongs to the whole system: write context_switches"#),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = ["wakeup_latency"]"#, r#":3: metrics[0]: "wakeup_latency": wakeup_latency is a distribution: append a statistic, as in wakeup_latency.p99 (known: mean, min, max, p50, p90, p95, p99, p999, count, censored, censored_max)"#),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = ["wakeup_latency.p98"]"#, r#":3: metrics[0]: "wakeup_latency.p98": wakeup_latency is a distribution: append a statistic, as in wakeup_latency.p99; did you mean "p90"? (known: mean, min, max, p50, p90, p95, p99, p999, count, censored, censored_max)"#),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = ["context_switches.mean"]"#, r#":3: metrics[0]: "context_switches.mean": context_switches is one number, it has no statistics"#),
    (r#"metrics = ["tasks.io.real"]"#, "metrics = []", ":3: metrics: is empty: name a metric, or leave the field out for every metric"),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = "real""#, r#":3: metrics: "real" is not a list"#),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = ["tasks.io"]"#, r#":3: metrics[0]: "tasks.io" is not a metric: write tasks.JOB.METRIC"#),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = ["nice.7.load1"]"#, r#":3: metrics[0]: "nice.7.load1": the workload has no task of nice level "7"; did you mean "5"? (known: 0, 5, *)"#),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = ["nice.low.load1"]"#, r#":3: metrics[0]: "nice.low.load1": the workload has no task of nice level "low" (known: 0, 5, *)"#),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = ["nice.5"]"#, r#":3: metrics[0]: "nice.5" is not a metric: write nice.LEVEL.METRIC"#),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = ["nice.5.laod1"]"#, r#":3: metrics[0]: "nice.5.laod1" is not a metric; did you mean "nice.5.load1"? (known: nice.5.load1, nice.5.niceness)"#),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = ["nice.*.real"]"#, r#":3: metrics[0]: "nice.*.real": real belongs to tasks: write tasks.*.real, or a job for the *"#),
    (r#"metrics = ["tasks.io.real"]"#, r#"metrics = ["niceness"]"#, r#":3: metrics[0]: "niceness": niceness belongs to nice levels: write nice.*.niceness, or a level for the *"#),
    ("minimize =", "minimise =", r#":19: goal.minimise: unknown field; did you mean "minimize"? (known: minimize, maximize, keep, weights)"#),
    (r#"minimize = ["tasks.io.real"]"#, r#"minimize = ["tasks.*.real"]"#, r#":19: goal.minimize[0]: "tasks.*.real" is a number for each job; a goal names one job"#),
    (r#"minimize = ["tasks.io.real"]"#, r#"minimize = ["nice.*.load1"]"#, r#":19: goal.minimize[0]: "nice.*.load1" is a number for each nice level; a goal names one nice level"#),
    (r#"minimize = ["tasks.io.real"]"#, r#"minimize = ["tasks.io.real"]
maximize = ["tasks.io.real"]"#, r#":20: goal.maximize[0]: "tasks.io.real" cannot be both less and more"#),
    ("[goal]", r#"[goal]
keep = ["tasks.io.real"]"#, r#":19: goal.keep[0]: "tasks.io.real" is no condition: write a metric, one of <= >= = < >, and a bound"#),
    ("[goal]", r#"[goal]
keep = ["tasks.io.real <= 4"]"#, r#":19: goal.keep[0]: "tasks.io.real <= 4": "4" is no bound of tasks.io.real: write a time like "5ms""#),
    ("[goal]", r#"[goal]
keep = ["tasks.*.real <= 4s"]"#, r#":19: goal.keep[0]: "tasks.*.real" is a number for each job; a goal names one job"#),
    ("[goal]", r#"[goal]
keep = ["tasks.io.wakeup_latency.count > some"]"#, r#":19: goal.keep[0]: "tasks.io.wakeup_latency.count > some": "some" is no bound of tasks.io.wakeup_latency.count: write a number or a share like "20%""#),
    ("[goal]", r#"[goal]
keep = ["tasks.io.wall = 1"]"#, r#":19: goal.keep[0]: "tasks.io.wall" is not a metric; did you mean "tasks.io.real"? (known: tasks.io.wakeup_latency, tasks.io.real, tasks.io.user)"#),
    ("[goal]", r#"[goal]
weights = { "tasks.io.user" = 2 }"#, r#":19: goal.weights."tasks.io.user": "tasks.io.user" is neither in minimize nor in maximize; did you mean "tasks.io.real"? (known: tasks.io.real)"#),
    ("[goal]", r#"[goal]
weights = { "tasks.io.real" = 0 }"#, r#":19: goal.weights."tasks.io.real": 0 is no weight: a number greater than 0 is wanted"#),
    ("[goal]", r#"[space]
"scheduler.slice" = "50ms"
[goal]"#, r#":19: space."scheduler.slice": is neither a range nor a list; write "scheduler.slice" = { low = "1ms", high = "1s" } or [...]"#),
    ("[goal]", r#"[space]
"scheduler.slice" = { low = "50ms" }
[goal]"#, r#":19: space."scheduler.slice": a range has low and high, and nothing else"#),
    ("[goal]", r#"[space]
"scheduler.slice" = { low = "50ms", high = "36ms" }
[goal]"#, r#":19: space."scheduler.slice": low = "50ms" is not less than high = "36ms""#),
    ("[goal]", r#"[space]
"scheduler.slice" = { low = "50ms", high = "36KiB" }
[goal]"#, r#":19: space."scheduler.slice": "50ms" and "36KiB" are not of one kind"#),
    ("[goal]", r#"[space]
"scheduler.slice" = { low = "head", high = "1s" }
[goal]"#, r#":19: space."scheduler.slice".low: "head" is no quantity: a range is of times, sizes, rates or whole numbers"#),
    ("[goal]", r#"[space]
"scheduler.slice" = { low = "1ns", high = "1s" }
[goal]"#, r#":19: space."scheduler.slice": "1ns": 1ns is out of range: from 1ms to 10s"#),
    ("[goal]", r#"[space]
"scheduler.slice" = ["1ms"]
[goal]"#, r#":19: space."scheduler.slice": has length 1; a choice is among 2 to 1000 values"#),
    ("[goal]", r#"[space]
"scheduler.slice" = ["1s", "1000ms"]
[goal]"#, r#":19: space."scheduler.slice"[1]: "1000ms" is there twice"#),
    ("[goal]", r#"[space]
"scheduler.ready_at" = ["head", "tial"]
[goal]"#, r#":19: space."scheduler.ready_at": "tial": "tial" is not one of tail, head; did you mean "tail"?"#),
    ("[goal]", r#"[space]
"workload.hog.nice" = [0, 1]
[goal]"#, r#":19: space."workload.hog.nice": workload.hog.nice is swept: leave it out of [sweep] or of [space]"#),
    ("[goal]", r#"[space]
"workload.hgo.nice" = [0, 1]
[goal]"#, r#":19: space."workload.hgo.nice": there is no "hgo" in the workload; did you mean "hog"? (known: hog, io)"#),
    ("[goal]", r#"[space]
"workload.hog.steps" = [0, 1]
[goal]"#, r#":19: space."workload.hog.steps": 0: workload.hog: has both load and steps; a job has one of them"#),
    (r#"minimize = ["tasks.io.real"]"#, r#"minimize = ["tasks.io.wall"]"#, r#":19: goal.minimize[0]: "tasks.io.wall" is not a metric; did you mean "tasks.io.real"? (known: tasks.io.wakeup_latency, tasks.io.real, tasks.io.user)"#),
    (r#""workload.hog.nice" = [0, 5]"#, r#""scheduler.slice" = ["50ms", "36ms", "18"]"#, r#":17: sweep."scheduler.slice"[2]: scheduler.slice: "18" is not a duration: write a number with one of the units ns, us, ms, s, min, h like "36ms""#),
    (r#""workload.hog.nice" = [0, 5]"#, r#""scheduler.slise" = ["50ms"]"#, r#":17: sweep."scheduler.slise"[0]: scheduler.slise: unknown field; did you mean "slice"? (known: name, slice, ready_at)"#),
    (r#""workload.hog.nice" = [0, 5]"#, r#""schedular.slice" = ["50ms"]"#, r#":17: sweep."schedular.slice": no scenario has a field "schedular"; did you mean "scheduler"? (known: machine, scheduler, elevator, cache, reclaim, workload, groups, shared, duration, attention, tunables)"#),
    (r#""workload.hog.nice" = [0, 5]"#, r#"scheduler.slice = ["50ms"]"#, r#":17: sweep.scheduler: is not a list of values; quote the path: "scheduler.slice" = [...]"#),
    (r#""workload.hog.nice" = [0, 5]"#, r#""workload.hgo.nice" = [0]"#, r#":17: sweep."workload.hgo.nice": there is no "hgo" in the workload; did you mean "hog"? (known: hog, io)"#),
    (r#""workload.hog.nice" = [0, 5]"#, r#""workload.io.steps[3].compute" = ["1ms"]"#, r#":17: sweep."workload.io.steps[3].compute": the list has 3 elements, counted from 0"#),
    (r#""workload.hog.nice" = [0, 5]"#, r#""workload.hog..nice" = [0]"#, r#":17: sweep."workload.hog..nice": "workload.hog..nice" is not a path: write names with dots between them, like scheduler.slice"#),
    (r#""workload.hog.nice" = [0, 5]"#, r#""workload.hog.nice.level" = [0]"#, r#":10: workload.hog.nice: {"level":0} is not a whole number from -20 to 20 (in the cell workload.hog.nice.level = 0)"#),
    ("[0, 5]", "[]", r#":17: sweep."workload.hog.nice": has no values"#),
    ("[0, 5]", "5", r#":17: sweep."workload.hog.nice": is not a list of values; quote the path: "scheduler.slice" = [...]"#),
    ("[0, 5]", "[0, 50]", r#":17: sweep."workload.hog.nice"[1]: workload.hog.nice: 50 is out of range: from -20 to 20"#),
    ("[goal]", r#"[sweep.zip]
"scheduler.slice" = ["1ms", "2ms"]
"workload.hog.count" = [1]
[goal]"#, r#":20: sweep.zip."workload.hog.count": lists of a zip move together: this one has length 1, scheduler.slice has 2"#),
    ("[goal]", r#"[sweep.zip]
"workload.hog.nice" = [1]
[goal]"#, r#":19: sweep.zip."workload.hog.nice": workload.hog.nice is swept twice"#),
    ("[goal]", r"[sweep.zip]
[goal]", ":18: sweep.zip: has no lists"),
    ("[goal]", r#"[[sweep.zip]]
"scheduler.slice" = ["1ms"]
[[sweep.zip]]
"scheduler.slice" = ["1ms"]
[goal]"#, r#":21: sweep.zip[1]."scheduler.slice": scheduler.slice is swept twice"#),
    (r#""workload.hog.nice" = [0, 5]"#, r#""scheduler.name" = ["minix", "round_robin"]
"scheduler.ready_at" = ["head"]"#, r#":18: sweep."scheduler.ready_at"[0]: scheduler.ready_at: unknown field (known: name, slice) (in the cell scheduler.name = "round_robin")"#),
    ("[0, 5]", r#"[0, 5]
"workload.io.steps[2]" = ["close", "cloze"]"#, r#":18: sweep."workload.io.steps[2]"[1]: workload.io.steps[2]: "cloze" is not a step; did you mean "close"? (known: compute, call, sleep, period, timer, busy, open, read, create, write, seek, delete, touch, print, lock, read_lock, unlock, send, receive, acquire, release, barrier, condition_wait, condition_signal, condition_broadcast, set, fork, grow, run, repeat, mark, close, sync, wait, signal, pause, yield, exec, exit)"#),
    (r#""workload.hog.nice" = [0, 5]"#, r#""workload.io.count" = [1, 2]
"workload.hog.count" = [1, 1_000_000]"#, r#":17: sweep."workload.io.count"[0]: workload.io.count: makes 1000001 tasks in all; at most 1000000 (in the cell workload.hog.count = 1000000)"#),
    (r#""workload.hog.nice" = [0, 5]"#, r#""scheduler.name" = ["minix", "round_robin"]
"workload.hog.nice" = [0, 60]"#, r#":18: sweep."workload.hog.nice"[1]: workload.hog.nice: 60 is out of range: from -20 to 20"#),
    (r#""workload.hog.nice" = [0, 5]"#, "seeds = [1, 2]", r#":17: sweep.seeds: no scenario has a field "seeds" (known: machine, scheduler, elevator, cache, reclaim, workload, groups, shared, duration, attention, tunables)"#),
    (r#""workload.hog.nice" = [0, 5]"#, r#"duration = ["1s", "0.5 s", "x"]"#, r#":17: sweep.duration[2]: duration: "x" is not a duration: write a number with one of the units ns, us, ms, s, min, h like "36ms""#),
    (r#""workload.hog.nice" = [0, 5]"#, r#"machine = ["ideal", "ibm"]"#, r#":17: sweep.machine[1]: machine: "ibm" is not a machine (known: at_286, ideal)"#),
    (r#"[workload]
hog = { load = "spin" }
"#, r#"[workload]
"hog dog" = { load = "spin" }
hog = { load = "spin" }
"#, r#":10: workload."hog dog": a name has 1 to 64 letters, digits, "_" or "-""#),
    ("users = { weight = 512 }", r#""a.b" = { weight = 512 }"#, r#":15: groups."a.b": a name has 1 to 64 letters, digits, "_" or "-""#),
    (r#"duration = "10s""#, r#"duration = "1e99s""#, r#":5: duration: "1e99s" is not a duration: write a number with one of the units ns, us, ms, s, min, h like "36ms""#),
    (r#"slice = "50ms""#, r#"slice = """
50ms
or so""""#, r#":8: scheduler.slice: "50ms\nor so" is not a duration: write a number with one of the units ns, us, ms, s, min, h like "36ms""#),
];

/// Overrides of the base, what is said.
#[rustfmt::skip]
const OVERRIDES: &[(&[&str], &str)] = &[
    (&["scheduler.slice=36"], r#": --set scheduler.slice=36: scheduler.slice: "36" is not a duration: write a number with one of the units ns, us, ms, s, min, h like "36ms""#),
    (&["scheduler.slise=36ms"], r#": --set scheduler.slise=36ms: scheduler.slise: unknown field; did you mean "slice"? (known: name, slice, ready_at)"#),
    (&["workload.hgo.nice=1"], r#": --set workload.hgo.nice=1: workload.hgo.nice: there is no "hgo" in the workload; did you mean "hog"? (known: hog, io)"#),
    (&["slice"], r#": --set slice: has no "=": write PATH=VALUE, like scheduler.slice=36ms"#),
    (&["workload..nice=3"], r#": --set workload..nice=3: "workload..nice" is not a path: write names with dots between them, like scheduler.slice"#),
    (&["workload.hog.nice=[1]"], ": --set workload.hog.nice=[1]: workload.hog.nice: [1] is not a whole number from -20 to 20"),
    (&["machine.topology={ threads = 2 }", "machine.topology.thread_speed=1.5"], ": --set machine.topology.thread_speed=1.5: machine.topology.thread_speed: 1.5 is out of range: above 0, at most 1"),
    (&["machine.topology={ threads = 2 }", "machine.topology.thread_speed=fast"], r#": --set machine.topology.thread_speed=fast: machine.topology.thread_speed: "fast" is not a number"#),
    (&["machine=1.5"], r#": --set machine=1.5: machine: "1.5" is not a machine (known: at_286, ideal)"#),
    (&["machine.processors=0"], ": --set machine.processors=0: machine.processors: 0 is out of range: from 1 to 1024"),
    (&[r#"sweep."scheduler.slice"=["1ms", "2"]"#], r#": --set sweep."scheduler.slice"=["1ms", "2"]: scheduler.slice: "2" is not a duration: write a number with one of the units ns, us, ms, s, min, h like "36ms""#),
    (&["machine=guest:6.1"], r#": --set machine=guest:6.1: machine: "guest:6.1" is a guest kernel; this version has simulated machines and the host (known: at_286, ideal)"#),
    (&["tunables={ \"a b\" = 1 }"], r#": --set tunables={ "a b" = 1 }: tunables."a b": is not the name of a tunable: letters, digits, "_", "-", ".", "@", like elevator@vda"#),
    (&["question.deeper=1"], r#": --set question.deeper=1: question.deeper: "What?" has no fields"#),
    (&[r#"metrics=["context_switch"]"#], r#": --set metrics=["context_switch"]: metrics[0]: "context_switch" is not a metric; did you mean "context_switches"? (known: context_switches, wakeup_latency, load1)"#),
    (&["workload.io.steps[9]=close"], ": --set workload.io.steps[9]=close: workload.io.steps[9]: the list has 3 elements, counted from 0"),
    (&["scheduler.name=round_robin", "scheduler.ready_at=head"], ": --set scheduler.ready_at=head: scheduler.ready_at: unknown field (known: name, slice)"),
];

fn problem(text: &str, overrides: &[&str]) -> Problem {
    let overrides: Vec<String> = overrides.iter().map(|text| text.to_string()).collect();
    match read(text, "bad.toml", Format::Toml, &overrides, &CATALOGUE) {
        Ok(_) => panic!("accepted with {overrides:?}: {text}"),
        Err(problem) => problem,
    }
}

fn said(text: &str, overrides: &[&str]) -> String {
    problem(text, overrides).to_string()
}

#[test]
fn the_base_is_right() {
    for text in [BASE, GOOD] {
        let experiment = read(text, "good.toml", Format::Toml, &[], &CATALOGUE).unwrap();
        assert!(!expand(&experiment, &CATALOGUE).unwrap().is_empty());
    }
}

#[test]
fn a_wrong_file_is_refused_with_its_fault() {
    for (right, wrong, message) in CASES {
        assert!(BASE.contains(right), "{right}");
        let text = BASE.replacen(right, wrong, 1);
        assert_eq!(said(&text, &[]), format!("bad.toml{message}"), "{wrong}");
    }
}

#[test]
fn a_wrong_override_is_refused_with_its_fault() {
    for (set, message) in OVERRIDES {
        assert_eq!(said(BASE, set), format!("bad.toml{message}"));
    }
}

#[test]
fn a_number_with_a_point_is_set_where_a_number_is_wanted() {
    let set = ["machine.topology={ threads = 2 }", "machine.topology.thread_speed=0.7", "machine.processors=2"];
    let read = read(BASE, "good.toml", Format::Toml, &set.map(str::to_owned), &CATALOGUE);
    assert_eq!(read.expect("it is right").machine.expect("it is set")["topology"]["thread_speed"], 0.7);
}

/// The base with other steps of the job `io`.
fn with_steps(steps: &str) -> String {
    let (before, after) = BASE.split_once("steps = ").unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    format!("{before}steps = [{steps}]\n{after}")
}

#[test]
fn nesting_and_number_of_steps_are_bounded() {
    let nested = |open: &str, close: &str, levels| {
        let text = with_steps(&(open.repeat(levels) + "'yield'" + &close.repeat(levels)));
        read(&text, "bad.toml", Format::Toml, &[], &CATALOGUE).map_err(|problem| problem.reason)
    };
    for (open, close, what) in [("{ repeat = { times = 1, steps = [", "] } }", "repeat"), ("{ fork = [", "] }", "fork")]
    {
        assert!(nested(open, close, 8).is_ok());
        assert_eq!(nested(open, close, 9).unwrap_err(), format!("is the 9th {what} in a {what}; at most 8"));
        assert!(nested(open, close, 5000).is_err());
    }
    let many = |count| with_steps(&"'yield', ".repeat(count));
    assert!(read(&many(10_000), "good.toml", Format::Toml, &[], &CATALOGUE).is_ok());
    let message = "bad.toml:13: workload.io.steps: makes 10001 steps in all; at most 10000";
    assert_eq!(said(&many(10_001), &[]), message);
}

#[test]
fn the_size_of_a_sweep_is_bounded() {
    let ones = |count| format!("[{}]", vec!["1"; count].join(", "));
    let text = |a, b| {
        let more = format!("{}\n\"workload.hog.count\" = {}", ones(a), ones(b));
        BASE.replace("[0, 5]", &more)
    };
    assert_eq!(said(&text(101, 1000), &[]), "bad.toml:16: sweep: makes 101000 cells; at most 100000");
    assert_eq!(
        said(&text(100, 100), &["seeds=1001"]),
        "bad.toml: --set seeds=1001: seeds: makes 10010000 runs with 10000 cells; at most 10000000"
    );
    let steps = with_steps(&"'yield', ".repeat(10_000)).replace("[0, 5]", &ones(20_000));
    assert_eq!(
        said(&steps, &[]),
        "bad.toml:16: sweep: makes 20000 cells of 80176 bytes; at most 268435456 bytes in all"
    );
}

#[test]
fn a_file_has_at_most_a_mebibyte() {
    let text = format!("{BASE}#{}", " ".repeat(1 << 20));
    let message = format!("bad.toml: has {} bytes; an experiment has at most 1048576", text.len());
    assert_eq!(said(&text, &[]), message);
    assert!(problem(BASE, &[&format!("question={}", "x".repeat(1 << 20))]).reason.contains("at most 1048576"));
}

/// An experiment whose job is served at the times of a file, and the text of that file.
fn with_times(times: &str) -> Result<Experiment, Problem> {
    let text = BASE.replace("nice = 0", r#"arrivals = { recorded = { file = "times.txt" } }"#);
    assert_eq!(files(&text, Format::Toml, &[]), ["times.txt"]);
    let read = Files::from([("times.txt".to_owned(), ("a/times.txt".to_owned(), times.to_owned()))]);
    read_with(&text, "bad.toml", Format::Toml, &[], &read, &CATALOGUE).map(|(experiment, _)| experiment)
}

#[test]
fn times_of_a_file_are_those_of_a_list() {
    let found = with_times("# s\n0.5\n\n700ms # late\r\n  2 \n2s").unwrap();
    let listed = BASE.replace("nice = 0", r#"arrivals = { recorded = ["0.5s", "700ms", "2s", "2s"] }"#);
    let listed = read(&listed, "bad.toml", Format::Toml, &[], &CATALOGUE).unwrap();
    assert_eq!(found, listed);
    let hash = |one| expand(one, &CATALOGUE).unwrap()[0].hash.clone();
    assert_eq!(hash(&found), hash(&listed));
    assert_ne!(hash(&found), hash(&with_times("0.5").unwrap()));
}

#[test]
fn a_bad_file_of_times_is_named_with_its_line() {
    let wanted = "write one a line, in seconds (0.25) or with a unit (\"250ms\")";
    for (times, line, reason) in [
        ("", 1, format!("has no times: {wanted}")),
        ("# none\n\n", 1, format!("has no times: {wanted}")),
        ("1\nx", 2, format!("\"x\" is not a time: {wanted}")),
        ("-1", 1, format!("\"-1\" is not a time: {wanted}")),
        ("# a\n1 2", 2, format!("\"1 2\" is not a time: {wanted}")),
        ("1e400", 1, format!("\"1e400\" is not a time: {wanted}")),
        ("nan", 1, format!("\"nan\" is not a time: {wanted}")),
        ("1,5", 1, format!("\"1,5\" is not a time: {wanted}")),
        ("1\n2ms", 2, "\"2ms\" is earlier than the time before: write the times in order".to_owned()),
    ] {
        assert_eq!(with_times(times).unwrap_err().to_string(), format!("a/times.txt:{line}: {reason}"));
    }
    let many = with_times(&"1\n".repeat(1_000_001)).unwrap_err().to_string();
    assert_eq!(many, "a/times.txt:1000001: is the 1000001th time: at most 1000000");
    let long = with_times(&"x".repeat(1 << 20)).unwrap_err().to_string();
    assert!(long.len() < 1000, "{} bytes", long.len());
}

#[test]
fn json_is_judged_alike() {
    let said = |text| read(text, "bad.json", Format::Json, &[], &CATALOGUE).unwrap_err().to_string();
    assert_eq!(said("{\n \"seeds\": 3,,\n}"), "bad.json:2: is not JSON: key must be a string");
    assert_eq!(said("[1]"), "bad.json: an experiment is a table of fields");
    let start = "bad.json: sedes: unknown field; did you mean \"seeds\"?";
    assert!(said("{\"sedes\": 3}").starts_with(start));
    assert_eq!(said("{\"seeds\": 1.5}"), "bad.json: seeds: 1.5 is not a number of seeds from 1, or a list of seeds");
}

#[test]
fn a_scenario_has_no_field_of_an_experiment() {
    let text = "{\"seeds\": 3}";
    let said = read_scenario(text, "scenario", Format::Json, &CATALOGUE).unwrap_err().to_string();
    let known = "(known: machine, scheduler, elevator, cache, reclaim, workload, groups, shared, duration, attention, tunables)";
    assert_eq!(said, format!("scenario: seeds: unknown field {known}"));
}

#[test]
fn a_problem_comes_in_parts_for_programs() {
    let text = BASE.replace("\"minix\"", "\"minx\"");
    let Problem { file, line, source_of_value, field, found, reason, nearest, known, cell } = problem(&text, &[]);
    assert_eq!((file.as_str(), line, source_of_value), ("bad.toml", Some(7), None));
    assert_eq!((field.as_str(), found.as_deref()), ("scheduler.name", Some("minx")));
    assert_eq!((reason.as_str(), nearest.as_deref()), ("\"minx\" is not a scheduler", Some("minix")));
    assert_eq!((known, cell), (vec!["round_robin".to_owned(), "minix".to_owned()], None));
    let out_of_range = problem(&BASE.replace("nice = 0", "nice = 30"), &[]);
    assert_eq!(out_of_range.found.as_deref(), Some("30"));
}

#[test]
fn a_message_is_one_short_line_whatever_the_value() {
    let long = "x\\n".repeat(100_000);
    for (right, wrong) in [
        ("\"minix\"", format!("\"{long}\"")),
        ("\"ideal\"", format!("\"{long}\"")),
        ("\"50ms\"", format!("\"{long}\"")),
        ("nice = 0", format!("\"{long}\" = 0")),
        ("\"tasks.io.real\"", format!("\"{long}\"")),
        ("\"workload.hog.nice\"", format!("\"{long}\"")),
        ("hog =", format!("\"{long}\" =")),
    ] {
        let message = said(&BASE.replacen(right, &wrong, 1), &[]);
        assert!(message.len() < 1500 && !message.contains('\n'), "{} bytes: {}", message.len(), &message[..200]);
    }
}
