//! Laws of memory, under any order of requests: every page is somewhere, no page is twice, and what was changed is never lost.

use proptest::prelude::*;
use schedlab_memory::{BlockCache, Fault, Found, Memory, Name, Part, Room, Setup, State};
use schedlab_model::{
    info::Params,
    page::{PageId, SpaceId, SwapSlot},
    rng::Rng,
};
use schedlab_policies::{
    caches::{self, ActiveInactive, CACHES, Context, Eviction, Key, Slot},
    reclaim::{self, RECLAIMS},
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

const FILES: u32 = 3;
const BLOCKS: u32 = 30;
const SPACES: SpaceId = 3;
const PAGES: PageId = 24;
const IMAGE_PAGES: u32 = 8;
/// How often one search may go through the cache: rounds of growing size are two passes in all, and again with every
/// active page in reach.
const MOST_PASSES: u32 = 4;

/// An eviction policy that counts its calls of `victim`.
#[derive(Debug)]
struct Counted(Box<dyn Eviction>, Arc<AtomicU32>);

impl Eviction for Counted {
    fn hit(&mut self, cx: &mut Context<'_>, slot: Slot) {
        self.0.hit(cx, slot);
    }

    fn victim(&mut self, cx: &mut Context<'_>, incoming: Key) -> Slot {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.victim(cx, incoming)
    }

    fn admit(&mut self, cx: &mut Context<'_>, slot: Slot, key: Key) {
        self.0.admit(cx, slot, key);
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: Slot) {
        self.0.remove(cx, slot);
    }

    fn first_use(&mut self, cx: &mut Context<'_>, slot: Slot) {
        self.0.first_use(cx, slot);
    }

    fn returned(&mut self, cx: &mut Context<'_>, slot: Slot, key: Key) {
        self.0.returned(cx, slot, key);
    }

    fn lists(&self) -> Option<ActiveInactive> {
        self.0.lists()
    }

    fn share_with(&mut self, pages: u32, age: u64) {
        self.0.share_with(pages, age);
    }
}

/// An operation on memory.
#[derive(Debug, Clone)]
enum Act {
    Read(u32, u32),
    Change(u32, u32),
    Delete(u32),
    Touch(SpaceId, PageId, bool),
    TouchImage(SpaceId, PageId),
    End(SpaceId),
    WriteBack,
    /// The drive finishes what it was given, the oldest first.
    Drive(u8),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..FILES, 0..BLOCKS).prop_map(|(file, block)| Act::Read(file, block)),
        4 => (0..FILES, 0..BLOCKS).prop_map(|(file, block)| Act::Change(file, block)),
        1 => (0..FILES).prop_map(Act::Delete),
        8 => (0..SPACES, 0..PAGES, any::<bool>()).prop_map(|(space, page, write)| Act::Touch(space, page, write)),
        4 => (0..SPACES, 0..IMAGE_PAGES).prop_map(|(space, page)| Act::TouchImage(space, page)),
        1 => (0..SPACES).prop_map(Act::End),
        1 => Just(Act::WriteBack),
        6 => (1u8..6).prop_map(Act::Drive),
    ]
}

/// What the drive has been given.
#[derive(Debug, Clone, Copy)]
enum Job {
    Block(u32),
    PageOut(SpaceId, PageId, Option<reclaim::Walk>),
    SwapIn(SpaceId, PageId, SwapSlot),
}

/// Memory, a drive that is slow, and a record of what every block should hold.
struct World {
    memory: Memory,
    drive: Vec<Job>,
    /// For each block: the version that programs have written last, the one on the drive, and the one on its way there.
    versions: BTreeMap<Name, [u32; 3]>,
    now: u64,
    /// Victims that the cache has requested.
    victims: Arc<AtomicU32>,
}

impl World {
    fn new(cache: &str, reclaim: &str) -> World {
        World::of_blocks(1, cache, reclaim)
    }

    /// One with that number of pages in each block.
    fn of_blocks(pages_per_block: u32, cache: &str, reclaim: &str) -> World {
        let of = |family: &[schedlab_model::info::Info], name: &str| {
            Params::check(family.iter().find(|info| info.name == name).unwrap(), []).unwrap()
        };
        let victims = Arc::new(AtomicU32::new(0));
        let policy = Box::new(Counted(caches::build(cache, &of(CACHES, cache), 20).unwrap(), victims.clone()));
        let setup = Setup {
            pages: Some(40 * pages_per_block),
            pages_per_block,
            caches_images: true,
            cache_leaves: 2,
            swap: 30,
            images: vec![IMAGE_PAGES],
        };
        let memory = Memory::new(
            setup,
            BlockCache::new(policy, 20, Rng::stream(1, 1)),
            reclaim::build(reclaim, &of(RECLAIMS, reclaim)).unwrap(),
        );
        World { memory, drive: Vec::new(), versions: BTreeMap::new(), now: 0, victims }
    }

    fn act(&mut self, act: &Act) {
        self.now += 1;
        match *act {
            Act::Read(file, block) => drop(self.block((0, Part::Data(file, block)))),
            Act::Change(file, block) => self.change((0, Part::Data(file, block))),
            Act::Delete(file) => (0..BLOCKS).for_each(|block| self.delete((0, Part::Data(file, block)))),
            Act::Touch(space, page, write) => {
                let first = self.memory.segment(space, None, PAGES);
                self.touch(space, first + page, write);
            }
            Act::TouchImage(space, page) => {
                let first = self.memory.segment(space, Some(0), IMAGE_PAGES);
                self.touch(space, first + page, false);
            }
            Act::End(space) => self.memory.end(space),
            Act::WriteBack => {
                let changed: Vec<u32> = self.memory.cache.to_write().map(|(_, slot)| slot).collect();
                self.write(&changed);
            }
            Act::Drive(jobs) => (0..jobs).for_each(|_| self.finish_one()),
        }
        self.memory.check().unwrap();
        self.nothing_is_lost();
    }

    /// The block's slot, if it is there without waiting; else it is requested.
    fn block(&mut self, name: Name) -> Option<u32> {
        if let Some(slot) = self.memory.cache.find(name) {
            let ready = self.memory.cache.block(slot).state != State::Reading;
            ready.then(|| self.memory.cache.hit(slot));
            return ready.then_some(slot);
        }
        match self.memory.room(name) {
            Room::Free => {
                let slot = self.memory.admit(name, 0, State::Reading, self.now);
                self.drive.push(Job::Block(slot));
            }
            Room::After(slots) => self.write(&slots),
            Room::NoPage => drop(self.search()),
        }
        None
    }

    fn change(&mut self, name: Name) {
        if let Some(slot) = self.block(name) {
            self.memory.cache.change(slot, self.now);
            self.versions.entry(name).or_default()[0] += 1;
        }
    }

    fn delete(&mut self, name: Name) {
        if let Some(slot) = self.memory.cache.find(name) {
            self.memory.delete(slot);
        }
        self.versions.remove(&name);
    }

    fn write(&mut self, slots: &[u32]) {
        for &slot in slots {
            let block = *self.memory.cache.block(slot);
            if block.state == State::Changed {
                self.memory.cache.begin_write(slot);
                let version = self.versions.entry(block.name).or_default();
                version[2] = version[0];
                self.drive.push(Job::Block(slot));
            }
        }
    }

    /// Searches for a page once, without waiting: no block changes meanwhile, and to look at all of them again and again helps
    /// as little as it would help a kernel.
    fn search(&mut self) -> bool {
        let mut walk = self.memory.begin(self.now);
        let mut write = Vec::new();
        let (before, blocks) = (self.victims.load(Ordering::Relaxed), self.memory.cache.len());
        let found = self.memory.search(self.now, &mut walk, &mut write);
        let victims = self.victims.load(Ordering::Relaxed) - before;
        assert!(victims <= MOST_PASSES * blocks, "a search at one moment looks {victims} times at {blocks} blocks");
        self.write(&write);
        if let Found::PageOut { space, page, .. } = found {
            let walk = self.memory.waits().then_some(walk);
            self.drive.push(Job::PageOut(space, page, walk));
        }
        found == Found::Page
    }

    fn touch(&mut self, space: SpaceId, page: PageId, write: bool) {
        if self.memory.touch(space, page, write) {
            return;
        }
        match self.memory.fault(space, page) {
            Fault::Served => assert!(self.memory.touch(space, page, write), "a served page can be touched"),
            Fault::ReadBlock(name) => drop(self.block(name)),
            Fault::SwapIn(slot) => self.drive.push(Job::SwapIn(space, page, slot)),
            Fault::NoPage => drop(self.search()),
            Fault::AwaitPage | Fault::AwaitBlock(_) => assert!(!self.drive.is_empty(), "what is awaited is under way"),
            Fault::ReadImage { .. } => unreachable!("images are cached"),
        }
    }

    fn finish_one(&mut self) {
        if self.drive.is_empty() {
            return;
        }
        match self.drive.remove(0) {
            Job::Block(slot) => {
                let block = *self.memory.cache.block(slot);
                if block.state != State::Reading
                    && let Some(version) = self.versions.get_mut(&block.name)
                    && self.memory.cache.find(block.name) == Some(slot)
                {
                    version[1] = version[2];
                }
                self.memory.transferred(slot);
            }
            Job::PageOut(space, page, walk) => self.memory.left(space, page, walk.as_ref()),
            Job::SwapIn(space, page, slot) => self.memory.swapped_in(space, page, slot),
        }
    }

    /// A block that is not as programs left it on the drive is in the cache, and known to be changed.
    fn nothing_is_lost(&self) {
        for (name, [latest, on_drive, _]) in &self.versions {
            if latest != on_drive {
                let slot = self.memory.cache.find(*name).unwrap_or_else(|| panic!("{name:?} is lost"));
                assert!(self.memory.cache.block(slot).state != State::Clean, "{name:?} counts as clean");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn pages_add_up_and_nothing_changed_is_lost(
        acts in prop::collection::vec(act(), 1..400), cache in 0..CACHES.len(), reclaim in 0..RECLAIMS.len(),
    ) {
        prop_assume!(CACHES[cache].name != "belady");
        let mut world = World::new(CACHES[cache].name, RECLAIMS[reclaim].name);
        for act in &acts {
            world.act(act);
        }
        // When everything has been written, the drive has it all.
        while !world.drive.is_empty() || world.memory.cache.changed() > 0 {
            world.act(&Act::WriteBack);
            world.act(&Act::Drive(5));
        }
        for (name, [latest, on_drive, _]) in &world.versions {
            prop_assert_eq!(latest, on_drive, "{:?}", name);
        }
        (0..SPACES).for_each(|space| world.memory.end(space));
        let usage = world.memory.usage();
        prop_assert_eq!((usage.free + usage.cached, usage.swapped), (40, 0), "the end gives everything back");
    }
}

#[test]
fn a_page_that_was_touched_since_the_last_look_has_a_second_chance() {
    let mut world = World::new("lru", "linux_1_0");
    let first = world.memory.segment(0, None, 40);
    for page in 0..40 {
        world.touch(0, first + page, true);
    }
    assert_eq!(world.memory.usage().free, 0);
    // The first look finds all of them touched or young, and forgets the former: 32 are young.
    assert!(!world.search());
    let Some(Job::PageOut(0, page, _)) = world.drive.first().copied() else { panic!("{:?}", world.drive) };
    assert_eq!(page, first, "the oldest goes");
    world.finish_one();
    assert_eq!((world.memory.usage().free, world.memory.usage().swapped), (1, 1));
    assert!(matches!(world.memory.fault(0, first), Fault::SwapIn(0)));
}

#[test]
fn a_search_among_blocks_that_cannot_go_looks_at_each_a_few_times() {
    let caches = CACHES.iter().filter(|info| info.name != "belady");
    for (cache, pages_per_block) in caches.flat_map(|cache| [(cache, 1), (cache, 8)]) {
        for reclaim in RECLAIMS {
            let mut world = World::of_blocks(pages_per_block, cache.name, reclaim.name);
            // As many blocks as the cache has slots, half of them at the drive; tasks have the rest, and use it.
            (0..20).for_each(|block| world.change((0, Part::Data(0, block))));
            (0..20).for_each(|_| world.finish_one());
            (0..20).for_each(|block| world.change((0, Part::Data(0, block))));
            let changed: Vec<u32> = world.memory.cache.to_write().map(|(_, slot)| slot).take(10).collect();
            world.write(&changed);
            world.search();
        }
    }
}
