//! From a scenario to drives, memory and caches.

use crate::{
    RunError,
    files::Files,
    kernel::{Kernel, Personality},
    layout::{Layout, Region},
    programs::check,
    servers::Servers,
    storage::{Disk, Storage},
    streams::{CACHE_STREAM, DRIVE_STREAM},
    timers::Expiry,
};
use schedlab_disk::{AnyDrive, Drive, RequestQueue, Rotating};
use schedlab_memory::{BlockCache, Memory, Setup};
use schedlab_model::{
    event::Observer,
    info::Info,
    machine::{self, Machine},
    request::SECTOR_SIZE,
    rng::Rng,
    scenario::{Choice, RECLAIM, Scenario},
};
use schedlab_policies::{
    caches::{self, CACHES},
    elevators::{self, ELEVATORS},
    reclaim::{self, RECLAIMS},
    schedulers::Scheduler,
};
use schedlab_workloads::Programs;

/// What there is where the scenario chooses nothing.
const ELEVATOR: &str = "fifo";
const CACHE: &str = "lru";

/// What carries out system calls, with its drive, memory and cache.
pub(crate) fn personality(scenario: &Scenario, programs: &Programs, seed: u64) -> Result<Personality, RunError> {
    let machine = &scenario.machine;
    let mut rng = Rng::stream(seed, DRIVE_STREAM);
    let cache = block_cache(scenario, seed)?;
    if machine.personality == machine::Personality::MessagePassing {
        let drive = machine.disk.as_ref().map(|disk| Rotating::new(disk, &mut rng));
        let kib = drive.as_ref().map(|drive| [drive.blocks(), drive.blocks_per_cylinder()]);
        let layout = Layout::new(&machine.files, kib.map(|kib| region(&machine.files, kib)), seed);
        let files = Files::new(&machine.files, layout, cache);
        return Ok(Personality::MessagePassing(Box::new(Servers::new(files, drive))));
    }
    let drive = AnyDrive::new(machine, &mut rng);
    let swap = machine.memory.size.as_ref().map_or(0, |_| machine.memory.swap.get().0);
    let kib = drive.as_ref().map(|drive| usable(drive, swap));
    let layout = Layout::new(&machine.files, kib.map(|kib| region(&machine.files, kib)), seed);
    let disk = drive.map(|drive| disk(scenario, drive, swap)).transpose()?;
    let memory = memory(scenario, programs, cache, disk.is_some())?;
    Ok(Personality::Monolithic(Box::new(Storage::new(machine, memory, layout, disk))))
}

/// KiB on the drive before the swap area, and on one of its cylinders.
fn usable(drive: &AnyDrive, swap: u64) -> [u64; 2] {
    let all = (drive.sectors() * SECTOR_SIZE).saturating_sub(swap) / 1024;
    match drive {
        AnyDrive::Rotating(rotating) => [all, rotating.blocks_per_cylinder()],
        AnyDrive::SolidState(_) => [all, all],
    }
}

/// Where the folders lie: from the middle of the drive on, over a number of cylinders.
fn region(files: &machine::Files, [all, per_cylinder]: [u64; 2]) -> Region {
    let blocks = |kib: u64| (kib * 1024 / files.block.get().0).max(1);
    let first = blocks(all) / 2;
    let spread = blocks(u64::from(files.spread_cylinders.get()) * per_cylinder);
    Region { first, blocks: spread.min(blocks(all) - first) }
}

/// The policy of a family that the scenario chooses, made from its checked parameters.
fn chosen<T>(
    field: &str,
    family: &[Info],
    choice: Option<&Choice>,
    otherwise: &str,
    build: impl FnOnce(&str, &schedlab_model::info::Params) -> Option<T>,
) -> Result<T, RunError> {
    let name = choice.map_or(otherwise, |choice| choice.name.as_str());
    let unknown = || RunError(format!("{field}.name: {name:?} is not known"));
    let info = family.iter().find(|info| info.name == name).ok_or_else(unknown)?;
    let params = check(1, info, choice.map_or(&Default::default(), |choice| &choice.settings))?;
    build(name, &params).ok_or_else(unknown)
}

fn block_cache(scenario: &Scenario, seed: u64) -> Result<BlockCache, RunError> {
    let slots = scenario.machine.files.cache_blocks.get();
    let policy =
        chosen("cache", CACHES, scenario.cache.as_ref(), CACHE, |name, params| caches::build(name, params, slots))?;
    Ok(BlockCache::new(policy, slots, Rng::stream(seed, CACHE_STREAM)))
}

fn disk(scenario: &Scenario, drive: AnyDrive, swap: u64) -> Result<Disk, RunError> {
    let queue = &scenario.machine.queue;
    let device = drive.device(queue.requests.get());
    let elevator = chosen("elevator", ELEVATORS, scenario.elevator.as_ref(), ELEVATOR, |name, params| {
        elevators::build(name, params, &device)
    })?;
    let swap = drive.sectors().saturating_sub(swap / SECTOR_SIZE);
    Ok(Disk::new(RequestQueue::new(queue, drive, elevator), swap))
}

fn memory(scenario: &Scenario, programs: &Programs, cache: BlockCache, has_drive: bool) -> Result<Memory, RunError> {
    let Machine { memory, files, .. } = &scenario.machine;
    let (page, block) = (memory.page.get().0, files.block.get().0);
    let policy = chosen("reclaim", RECLAIMS, scenario.reclaim.as_ref(), RECLAIM, reclaim::build)?;
    let reserve = memory.reserve.get();
    let pages = memory.size.as_ref().map(|size| (size.get().0 / page) as u32 - reserve);
    let setup = Setup {
        pages,
        pages_per_block: block.div_ceil(page) as u32,
        caches_images: page == block,
        cache_leaves: memory.cache_leaves.get(),
        swap: if has_drive { (memory.swap.get().0 / page) as u32 } else { 0 },
        images: programs.images.iter().map(|bytes| bytes.div_ceil(page) as u32).collect(),
    };
    Ok(Memory::new(setup, cache, policy))
}

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// The write-back daemon's first round, and how memory is used at the beginning.
    pub fn start_storage(&mut self) {
        let Personality::Monolithic(storage) = &mut self.personality else { return };
        if storage.disk.is_some() {
            let period = storage.write_back_period();
            self.timers.set(period, Expiry::WriteBack);
            self.perpetual += 1;
        }
        self.begin_storage();
    }
}
