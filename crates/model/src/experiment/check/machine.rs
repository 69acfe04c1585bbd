//! Bounds of a machine's numbers. Zero is refused where something is divided by it; the upper bounds lie far
//! above any machine that was built.

use super::{between, bounded, jobs::span};
use crate::{
    MILLISECOND, SECOND,
    experiment::{path::Path, problem::Fault},
    machine::{Cache, Device, Disk, DiskQueue, Files, IdleState, Machine, Personality, SolidState, Sourced, WriteBack},
    processors::MOST_PROCESSORS,
    program::Span,
    topology::CAPACITY,
    units::{Duration, Rate, Size, spell_duration, spell_size},
};

/// Longest cost of one operation.
const DEAREST: u64 = 60 * SECOND;
/// Pages without which nothing could run.
const FEWEST_PAGES: u64 = 16;
/// Most memory, and most swap area, in bytes.
const MOST_MEMORY: u64 = 1 << 36;
/// Most threads of a core, and the largest distance between nodes that firmware can report (255 means that there is no way).
const MOST_THREADS: u64 = 8;
const FARTHEST: u64 = 254;
/// Most idle states (CPUIDLE_STATE_MAX).
const MOST_IDLE_STATES: usize = 10;
/// Smallest unit of a drive, in bytes.
const SECTOR: u64 = 512;

pub(in crate::experiment) fn check(machine: &Machine) -> Result<(), Fault> {
    let at = Path::top("machine");
    between(|| at.key("processors"), machine.processors.get().into(), 1, MOST_PROCESSORS as u64)?;
    rate(&at.key("clock").key("hz"), machine.clock.hz.get(), 1.0, 1e6)?;
    if let Some(stat) = &machine.clock.stat_hz {
        rate(&at.key("clock").key("stat_hz"), stat.get(), 1.0, 1e6)?;
    }
    if let Some(phase) = &machine.clock.phase {
        // A rate that was checked: a tick is a microsecond at least.
        let tick = (SECOND as f64 / machine.clock.hz.get().0) as u64;
        bounded(&at.key("clock").key("phase"), phase.get(), tick - 1)?;
    }
    let threads = machine.topology.threads();
    between(|| at.key("topology").key("threads"), threads.into(), 1, MOST_THREADS)?;
    nodes(&at.key("nodes"), machine)?;
    layout(&at.key("topology"), machine)?;
    machine.cache.as_ref().map_or(Ok(()), |own| cache(&at.key("cache"), own))?;
    for (title, own) in &machine.devices {
        super::name(&at.key("devices"), title)?;
        device(&at.key("devices").key(title), own, machine.processors.get())?;
    }
    idle_states(&at.key("idle_states"), &machine.idle_states)?;
    costs(&at, machine)?;
    files(&at.key("files"), &machine.files)?;
    memory(&at.key("memory"), machine)?;
    machine.disk.as_ref().map_or(Ok(()), |drive| disk(&at.key("disk"), drive))?;
    machine.solid_state.as_ref().map_or(Ok(()), |drive| solid_state(&at.key("solid_state"), drive))?;
    if machine.disk.is_some() && machine.solid_state.is_some() {
        return Err(Fault::new(at.key("solid_state"), "a machine has one drive: a disk or a solid_state"));
    }
    if machine.solid_state.is_some() && machine.personality == Personality::MessagePassing {
        return Err(Fault::new(at.key("solid_state"), "the disk task of a message-passing machine knows disks only"));
    }
    queue(&at.key("queue"), &machine.queue)
}

/// Every node has a core, also where fewer processors than a preset's are asked for.
fn nodes(at: &Path, machine: &Machine) -> Result<(), Fault> {
    let (nodes, cores) = (machine.nodes.get(), machine.cores());
    if (1..=cores).contains(&nodes) {
        return Ok(());
    }
    let processors = machine.processors.get();
    let reason = format!(
        "{nodes} is out of range: from 1 to the number of cores, which is {cores} with {processors} processors"
    );
    Err(Fault::new(at.clone(), reason))
}

/// Threads that share a core have a speed; distances are those of all nodes; a core can do something.
fn layout(at: &Path, machine: &Machine) -> Result<(), Fault> {
    let (layout, nodes) = (&machine.topology, usize::from(machine.nodes.get()));
    match layout.thread_speed.as_ref().map(Sourced::get) {
        None if layout.threads() > 1 => {
            let reason = "threads share a core: give the speed of one while another runs, such as 0.6";
            return Err(Fault::new(at.key("thread_speed"), reason));
        }
        Some(speed) if !(speed > 0.0 && speed <= 1.0) => {
            let reason = format!("{speed} is out of range: above 0, at most 1");
            return Err(Fault::new(at.key("thread_speed"), reason));
        }
        _ => {}
    }
    if let Some(cores) = &layout.cores_per_cache {
        between(|| at.key("cores_per_cache"), cores.get().into(), 1, u16::MAX.into())?;
    }
    if let Some(rows) = layout.distances.as_ref().map(Sourced::value) {
        distances(&at.key("distances"), rows, nodes)?;
    }
    if let Some(lengths) = layout.turns.as_ref().map(Sourced::value) {
        if lengths.is_empty() {
            return Err(Fault::new(
                at.key("turns"),
                "an empty list: give the turn of a processor a length, such as [1]",
            ));
        }
        for &length in lengths {
            between(|| at.key("turns"), length.into(), 1, u16::MAX.into())?;
        }
    }
    for &capacity in layout.capacities.as_ref().map_or(&[][..], |list| list.value()) {
        between(|| at.key("capacities"), capacity.into(), 1, CAPACITY.into())?;
    }
    Ok(())
}

/// A row and a column for each node, of a larger machine also for others, and no other node nearer than the own one.
fn distances(at: &Path, rows: &[Vec<u16>], nodes: usize) -> Result<(), Fault> {
    if rows.len() < nodes || rows.iter().any(|row| row.len() != rows.len()) {
        let reason = format!(
            "{} rows of {}: write a row for each of the {nodes} nodes, with a distance to each",
            rows.len(),
            lengths(rows)
        );
        return Err(Fault::new(at.clone(), reason));
    }
    for (node, row) in rows.iter().enumerate() {
        for &distance in row {
            between(|| at.clone(), distance.into(), row[node].max(1).into(), FARTHEST)?;
        }
    }
    Ok(())
}

/// How many distances the rows have.
fn lengths(rows: &[Vec<u16>]) -> String {
    let (least, most) = (rows.iter().map(Vec::len).min().unwrap_or(0), rows.iter().map(Vec::len).max().unwrap_or(0));
    if least == most { least.to_string() } else { format!("{least} to {most}") }
}

fn rate(at: &Path, Rate(per_second): Rate, low: f64, high: f64) -> Result<(), Fault> {
    if (low..=high).contains(&per_second) {
        return Ok(());
    }
    Err(Fault::new(at.clone(), format!("{per_second}/s is out of range: from {low}/s to {high}/s")))
}

fn costs(at: &Path, machine: &Machine) -> Result<(), Fault> {
    let Machine { clock, costs, calls, terminal, .. } = machine;
    let all: [(&str, &[(&str, Duration)]); 4] = [
        ("clock", &[("interrupt", clock.interrupt.get()), ("task", clock.task.get())]),
        (
            "costs",
            &[
                ("context_switch", costs.context_switch.get()),
                ("migration", costs.migration.get()),
                ("trap", costs.trap.get()),
                ("interrupt", costs.interrupt.get()),
                ("copy_per_kib", costs.copy_per_kib.get()),
            ],
        ),
        (
            "calls",
            &[
                ("read", calls.read.get()),
                ("write", calls.write.get()),
                ("open", calls.open.get()),
                ("close", calls.close.get()),
                ("fork", calls.fork.get()),
                ("exit", calls.exit.get()),
                ("manage", calls.manage.get()),
                ("fault", calls.fault.get()),
                ("scan", calls.scan.get()),
            ],
        ),
        ("terminal", &[("per_kib", terminal.per_kib.get())]),
    ];
    for (table, fields) in all {
        for (field, cost) in fields {
            bounded(&at.key(table).key(field), *cost, DEAREST)?;
        }
    }
    // A tick that takes longer than the time to the next would leave no time for anything else.
    let tick = SECOND as f64 / clock.hz.get().0;
    if clock.interrupt.get().0 as f64 >= tick {
        let reason = format!("{} leaves no time between two ticks", spell_duration(clock.interrupt.get().0));
        return Err(Fault::new(at.key("clock").key("interrupt"), reason));
    }
    Ok(())
}

fn cache(at: &Path, cache: &Cache) -> Result<(), Fault> {
    let Size(bytes) = cache.size.get();
    if !(1 << 10..=1 << 40).contains(&bytes) {
        let reason = format!("{} is not the size of a cache: from 1KiB to 1TiB", spell_size(bytes));
        return Err(Fault::new(at.key("size"), reason));
    }
    bounded(&at.key("fill_per_kib"), cache.fill_per_kib.get(), MILLISECOND)?;
    let remote = cache.remote_fill_per_kib.as_ref();
    remote.map_or(Ok(()), |fill| bounded(&at.key("remote_fill_per_kib"), fill.get(), MILLISECOND))
}

/// Shortest mean time between two interrupts of a device: its handler must leave time for the tasks.
const FASTEST: u64 = 1000;

/// Each is deeper than the one before.
fn idle_states(at: &Path, states: &[IdleState]) -> Result<(), Fault> {
    if states.len() > MOST_IDLE_STATES {
        let reason = format!("{} idle states: at most {MOST_IDLE_STATES}", states.len());
        return Err(Fault::new(at.clone(), reason));
    }
    for (number, state) in states.iter().enumerate() {
        let at = at.index(number);
        bounded(&at.key("latency"), state.latency.get(), DEAREST)?;
        bounded(&at.key("residency"), state.residency.get(), DEAREST)?;
    }
    for (number, pair) in states.windows(2).enumerate() {
        let at = at.index(number + 1);
        let out_of_order = |field: &str, [before, time]: [Duration; 2]| {
            let (before, time) = (spell_duration(before.0), spell_duration(time.0));
            let reason = format!("{time} after {before}: list idle states from the shallowest to the deepest");
            Err(Fault::new(at.key(field), reason))
        };
        let (before, state) = (&pair[0], &pair[1]);
        if state.residency.get().0 <= before.residency.get().0 {
            return out_of_order("residency", [before.residency.get(), state.residency.get()]);
        }
        if state.latency.get().0 < before.latency.get().0 {
            return out_of_order("latency", [before.latency.get(), state.latency.get()]);
        }
    }
    Ok(())
}

fn device(at: &Path, device: &Device, processors: u16) -> Result<(), Fault> {
    span(&at.key("every"), device.every)?;
    let cost = device.cost.get();
    bounded(&at.key("cost"), cost, DEAREST)?;
    let least = match device.every {
        Span::Fixed(length) | Span::Exp { exp: length } => length.0,
        Span::Uniform { uniform: [low, _] } => low.0,
    };
    if least < FASTEST.max(2 * cost.0) {
        let reason = format!(
            "{} is too short: at least 1us, and twice the {} of its handler",
            spell_duration(least),
            spell_duration(cost.0)
        );
        return Err(Fault::new(at.key("every"), reason));
    }
    between(|| at.key("cpu"), device.cpu.into(), 0, u64::from(processors) - 1)
}

fn files(at: &Path, files: &Files) -> Result<(), Fault> {
    block(&at.key("block"), files.block.get())?;
    between(|| at.key("cache_blocks"), files.cache_blocks.get().into(), 4, 1 << 24)?;
    between(|| at.key("track_blocks"), files.track_blocks.get().into(), 1, 1 << 16)?;
    write_back(&at.key("write_back"), &files.write_back)?;
    if files.read_ahead_window.get().0 > 1 << 30 {
        return Err(Fault::new(at.key("read_ahead_window"), "is too large: at most 1GiB"));
    }
    between(|| at.key("extent_blocks"), files.extent_blocks.get().into(), 1, 1 << 20)?;
    between(|| at.key("direct_blocks"), files.direct_blocks.get().into(), 0, 1 << 30)?;
    between(|| at.key("spread_cylinders"), files.spread_cylinders.get().into(), 0, 1 << 20)
}

fn write_back(at: &Path, rules: &WriteBack) -> Result<(), Fault> {
    super::lasting(&at.key("period"), rules.period.get())?;
    bounded(&at.key("expire"), rules.expire.get(), super::LONGEST)?;
    between(|| at.key("background"), rules.background.get().into(), 0, 100)?;
    between(|| at.key("limit"), rules.limit.get().into(), 1, 100)
}

/// Memory must hold a few pages of every kind, and the swap area must lie on the drive.
fn memory(at: &Path, machine: &Machine) -> Result<(), Fault> {
    let memory = &machine.memory;
    block(&at.key("page"), memory.page.get())?;
    let Some(size) = &memory.size else { return Ok(()) };
    if machine.personality == Personality::MessagePassing {
        return Err(Fault::new(at.key("size"), "a message-passing machine does not page: leave it out"));
    }
    let page = memory.page.get().0;
    let least = (u64::from(memory.reserve.get()) + FEWEST_PAGES) * page;
    if size.get().0 < least || size.get().0 > MOST_MEMORY {
        let reason = format!(
            "{} is out of range: from {} (the reserve and {FEWEST_PAGES} pages) to {}",
            spell_size(size.get().0),
            spell_size(least),
            spell_size(MOST_MEMORY)
        );
        return Err(Fault::new(at.key("size"), reason));
    }
    if memory.swap.get().0 > MOST_MEMORY {
        let reason = format!("{} is too large: at most {}", spell_size(memory.swap.get().0), spell_size(MOST_MEMORY));
        return Err(Fault::new(at.key("swap"), reason));
    }
    Ok(())
}

fn block(at: &Path, Size(bytes): Size) -> Result<(), Fault> {
    if bytes.is_multiple_of(SECTOR) && (SECTOR..=1 << 24).contains(&bytes) {
        return Ok(());
    }
    let reason = format!("{} is not the size of a block: a multiple of 512B, from 512B to 16MiB", spell_size(bytes));
    Err(Fault::new(at.clone(), reason))
}

/// Most zones of a drive: those that were built had up to about thirty.
const MOST_ZONES: u64 = 64;
/// Largest buffer of a drive, and largest request.
const LARGEST_BUFFER: u64 = 1 << 30;
/// Longest queue.
const LONGEST_QUEUE: u64 = 1 << 16;

fn disk(at: &Path, disk: &Disk) -> Result<(), Fault> {
    rate(&at.key("rotation"), disk.rotation.get(), 1.0, 1e5)?;
    between(|| at.key("cylinders"), disk.cylinders.get().into(), 1, 1 << 20)?;
    between(|| at.key("heads"), disk.heads.get().into(), 1, 256)?;
    between(|| at.key("sectors"), disk.sectors.get().into(), 1, 10_000)?;
    between(|| at.key("zones"), disk.zones.get().into(), 1, MOST_ZONES.min(disk.cylinders.get().into()))?;
    let fewest = disk.inner_sectors.as_ref().unwrap_or(&disk.sectors).get();
    between(|| at.key("inner_sectors"), fewest.into(), 1, disk.sectors.get().into())?;
    between(|| at.key("interleave"), disk.interleave.get().into(), 1, fewest.into())?;
    bounded(&at.key("seek_full"), disk.seek_full.get(), DEAREST)?;
    bounded(&at.key("seek_track"), disk.seek_track.get(), disk.seek_full.get().0)?;
    size(&at.key("track_buffer"), disk.track_buffer.get(), 0, LARGEST_BUFFER)?;
    bounded(&at.key("overhead"), disk.overhead.get(), DEAREST)?;
    bounded(&at.key("bus_per_kib"), disk.bus_per_kib.get(), 100 * MILLISECOND)?;
    bounded(&at.key("skew"), disk.skew.get(), DEAREST)?;
    bounded(&at.key("command"), disk.command.get(), DEAREST)?;
    bounded(&at.key("sector_copy"), disk.sector_copy.get(), 100 * MILLISECOND)
}

fn solid_state(at: &Path, drive: &SolidState) -> Result<(), Fault> {
    size(&at.key("size"), drive.size.get(), 1 << 20, 1 << 50)?;
    block(&at.key("page"), drive.page.get())?;
    for (field, time) in [("read", &drive.read), ("write", &drive.write)] {
        bounded(&at.key(field), time.get(), SECOND)?;
    }
    between(|| at.key("channels"), drive.channels.get().into(), 1, 4096)?;
    between(|| at.key("queue_depth"), drive.queue_depth.get().into(), 1, LONGEST_QUEUE)?;
    bounded(&at.key("overhead"), drive.overhead.get(), SECOND)?;
    bounded(&at.key("bus_per_kib"), drive.bus_per_kib.get(), 100 * MILLISECOND)?;
    bounded(&at.key("command"), drive.command.get(), SECOND)
}

fn queue(at: &Path, queue: &DiskQueue) -> Result<(), Fault> {
    between(|| at.key("requests"), queue.requests.get().into(), 1, LONGEST_QUEUE)?;
    // More than there are slots is no limit.
    between(|| at.key("writes"), queue.writes.get().into(), 1, LONGEST_QUEUE)?;
    size(&at.key("most"), queue.most.get(), SECTOR, LARGEST_BUFFER)
}

fn size(at: &Path, Size(bytes): Size, low: u64, high: u64) -> Result<(), Fault> {
    if (low..=high).contains(&bytes) {
        return Ok(());
    }
    let reason = format!("{} is out of range: from {} to {}", spell_size(bytes), spell_size(low), spell_size(high));
    Err(Fault::new(at.clone(), reason))
}
