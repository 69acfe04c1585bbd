//! # two_list
//!
//! Promises files and programs a share of memory by what a miss of each costs, and a longer stay to pages used twice.
//!
//! ## The idea
//!
//!     The tasks' own pages are on two lists, active and inactive, as the cache's are (eviction policy `two_list`). New
//!     ones are inactive. A search works in rounds of priority 12, 11, ... 0, until it has gained 32 pages. A round scans
//!     1/2^priority of each list, 32 pages of each in turn:
//!         inactive own pages, the oldest: touched since, it stays, and the second time becomes active; else out to the swap area,
//!             not waited for;
//!         active own pages: the oldest become inactive, while the inactive are too few or pages come back;
//!         inactive files: the cache evicts by its own policy, and takes pages of program files from tasks that have not touched them.
//!     Files alone are scanned while there are many inactive ones that do not come back (cache trim), or without swap area.
//!     A page that comes back so soon that the lists would have kept it is active at once.
//!     A daemon begins when fewer pages are free than the low mark, and goes on to the high mark.
//!
//! ## The formula
//!
//!     own pages : files    scanned as  ap : fp  of what is due by size, each rounded down
//!     ap  =  swappiness * (S + 1) / (T + A + 1)              whole numbers
//!     fp  =  (200 - swappiness) * (S + 1) / (T + F + 1)      T = A + F,  S = 3 T
//!     A, F   +32 for a page written out or back after it had been in use, +1 for one scanned in vain (to 6.1: +1 for each of the
//!            former); both are halved whenever T exceeds a quarter of the lists
//!     too few inactive    inactive * ratio < active,   ratio = floor(sqrt(10 * GiB on both lists)), 1 below 1 GiB
//!     cache trim          inactive files / 2^priority > 0, and neither too few of them nor coming back
//!     comes back soon     pages evicted or made active since its eviction <= files + active own pages
//!
//! ## Cost
//!
//! Constant for each page looked at.
//!
//! ## Good for, not for
//!
//! Machines whose files and programs compete for memory. `swappiness` sets the cost of a page-out compared with a read: 0
//! spares programs as long as there are files, 100 treats both alike, 200 spares files. While files are read in a stream,
//! nothing is swapped at any swappiness, as on 5.10 and 6.1; 6.17 does swap, since it reads counters that are up to 2 s
//! old (`variant = "6.17"`, docs/parity-memory.md).
//!
//! ## Departures
//!
//! The lists of active and inactive pages only: no generations (MGLRU), which kernels since 6.1 can have and Debian's 6.17 has
//! by default (`tunables.lru_gen = "off"` in a guest). One node, one zone, one control group: all memory, or with
//! `group` a group's limit, where swappiness 0 means never. Pages of program files are in the block cache's own order, not
//! on lists of their own. The cache balances its own two lists whenever it evicts, not in batches; under another eviction
//! policy all its pages count as inactive, and none as coming back. An experiment that names no cache has the eviction
//! policy `two_list`. A page comes from the swap area alone (`vm.page-cluster = 0`), and keeps its place there while the
//! area is at most half full; the place is given up when the page is evicted changed (the kernel: when it is written to).
//! With `variant = "6.17"` the counters are refreshed every 2 s of the run, beginning after the first 2 s; a kernel's run
//! begins at any moment between two. No more than 32 pages are on their way out at a time. The daemon takes no time of its
//! own and searches as tasks do. The marks are 1/64 and 3/128 of memory (the kernel computes them from min_free_kbytes).
//!
//! ## References
//!
//! - Linux 5.10, 6.1, 6.17, mm/vmscan.c: get_scan_count, prepare_scan_control (prepare_scan_count), shrink_lruvec,
//!   shrink_active_list, inactive_is_low, folio_check_references; mm/swap.c: lru_note_cost; mm/workingset.c:
//!   workingset_refault.
//!
//! Long, because the page and the rule belong in one file.

use super::{
    Choice, Context, Entry, Mapped, Reclaim, Scan, Shrink, Stage, Walk,
    own_pages::{Looked, OwnPages},
};
use schedlab_model::{
    Nanos,
    info::{Domain, Info, Parameter, Params},
    page::{PageId, SpaceId},
};

/// DEF_PRIORITY.
const GENTLEST: u8 = 12;
/// SWAP_CLUSTER_MAX: looked at in one go, enough for a search, on their way out at most, and the cost of an I/O.
const BATCH: u32 = 32;
/// MAX_RECLAIM_RETRIES: searches without progress before reclaim fails.
const RETRIES: u32 = 16;
const GIB_SHIFT: u32 = 18;
/// How often a kernel that does not do so for each search brings a group's counters up to date.
const FLUSH_TIME: Nanos = 2_000_000_000;

/// The lists, in the order in which a round has them.
const OWN: usize = 0;
const OWN_ACTIVE: usize = 1;
const FILE: usize = 2;
const FILE_ACTIVE: usize = 3;

/// The lists of the tasks' own pages, and what each side has cost.
#[derive(Debug)]
pub struct TwoList {
    swappiness: u64,
    /// Whether memory is the limit of a control group.
    group: bool,
    /// What an I/O costs, and a page that was scanned and stayed.
    io_cost: u64,
    stay_cost: u64,
    own: OwnPages,
    /// Own pages, files.
    cost: [u64; 2],
    /// Pages that had come back soon when the last search ended: own ones, files.
    seen: [u64; 2],
    swap: bool,
    /// What was counted last, if the counters are brought up to date only periodically.
    counted: Option<Counters>,
}

/// What decides a round in addition to the sizes by which it scans.
#[derive(Debug, Clone, Copy, Default)]
struct Counters {
    sizes: [u32; 4],
    /// Pages that have come back soon so far: own ones, files.
    activated: [u64; 2],
}

/// Whether a list is short compared with the active one, as `inactive_is_low` has it.
fn is_low(inactive: u32, active: u32) -> bool {
    let gib = (u64::from(inactive) + u64::from(active)) >> GIB_SHIFT;
    let ratio = (10 * gib).isqrt().max(1);
    u64::from(inactive) * ratio < u64::from(active)
}

impl TwoList {
    fn sizes(&self, cx: &Context<'_>) -> [u32; 4] {
        [self.own.inactive(), self.own.active(), cx.files.inactive, cx.files.active]
    }

    /// The lists as its counters have them.
    fn counters(&self, cx: &Context<'_>) -> Counters {
        self.counted.unwrap_or_else(|| self.counted_now(cx))
    }

    fn counted_now(&self, cx: &Context<'_>) -> Counters {
        Counters { sizes: self.sizes(cx), activated: [self.own.activated, cx.files.activated] }
    }

    /// Notes what a batch has cost. Both sides are halved once when together they exceed a quarter of the lists.
    fn note(&mut self, cx: &Context<'_>, side: usize, ios: u32, stayed: u32) {
        let cost = u64::from(ios) * self.io_cost + u64::from(stayed) * self.stay_cost;
        if cost == 0 {
            return;
        }
        self.cost[side] += cost;
        let size: u64 = self.counters(cx).sizes.into_iter().map(u64::from).sum();
        if self.cost.iter().sum::<u64>() > size / 4 {
            self.cost = self.cost.map(|cost| cost / 2);
        }
    }

    /// A round of that priority begins.
    fn round(&self, cx: &Context<'_>, priority: u8, forced: bool) -> Scan {
        let sizes = self.sizes(cx);
        let Counters { sizes: counted, activated } = self.counters(cx);
        let back = [activated[0] != self.seen[0], activated[1] != self.seen[1]];
        let low = [is_low(counted[OWN], counted[OWN_ACTIVE]), is_low(counted[FILE], counted[FILE_ACTIVE])];
        let deactivates = [forced || back[0] || low[0], forced || back[1] || low[1]];
        let weights = self.weights(cx, &sizes, priority, deactivates);
        let sum = u64::from(weights[0]) + u64::from(weights[1]);
        let due = |list: usize| {
            let size = u64::from(sizes[list]) >> priority;
            (size * u64::from(weights[list / 2])).checked_div(sum).unwrap_or(0) as u32
        };
        let mut wanted = match weights {
            [u32::MAX, u32::MAX] => sizes.map(|size| size >> priority),
            _ => [due(OWN), due(OWN_ACTIVE), due(FILE), due(FILE_ACTIVE)],
        };
        // The cache makes files inactive when it evicts, not before: while it has no inactive ones, the active ones are due.
        if sizes[FILE] == 0 {
            wanted.swap(FILE, FILE_ACTIVE);
        }
        let adjusted = !self.group && priority == GENTLEST;
        Scan { left: wanted, wanted, deactivates, adjusted, ..Scan::default() }
    }

    /// How much of what is due by size is scanned: of own pages, of files.
    fn weights(&self, cx: &Context<'_>, sizes: &[u32; 4], priority: u8, deactivates: [bool; 2]) -> [u32; 2] {
        if cx.swap_free == 0 || self.group && self.swappiness == 0 {
            return [0, 1];
        }
        if priority == 0 && self.swappiness > 0 {
            return [u32::MAX; 2];
        }
        if self.files_are_few(cx, sizes) && !deactivates[0] && sizes[OWN] >> priority > 0 {
            return [1, 0];
        }
        if self.counters(cx).sizes[FILE] >> priority > 0 && !deactivates[1] {
            return [0, 1];
        }
        let total = self.cost[0] + self.cost[1];
        let [own, file] = self.cost.map(|cost| total + cost);
        let of = |weight: u64, cost: u64| (weight * (own + file + 1) / (cost + 1)) as u32;
        [of(self.swappiness, own), of(200 - self.swappiness, file)]
    }

    /// Whether files are next to nothing, which only the search for all of memory asks.
    fn files_are_few(&self, cx: &Context<'_>, sizes: &[u32; 4]) -> bool {
        let high = self.watermarks(cx.pages).map_or(0, |[_, high]| high);
        !self.group && sizes[FILE] + sizes[FILE_ACTIVE] + cx.free <= high
    }

    /// The next batch of the round; false if the round is over.
    fn next_batch(&mut self, cx: &mut Context<'_>, scan: &mut Scan, gained: u32) -> bool {
        loop {
            if scan.list == 4 {
                scan.list = 0;
                if scan.left[OWN] + scan.left[FILE] + scan.left[FILE_ACTIVE] == 0 {
                    return false;
                }
                if gained >= BATCH && !scan.adjusted && !cut(scan) {
                    return false;
                }
            }
            let list = scan.list;
            let pages = scan.left[list].min(BATCH);
            scan.left[list] -= pages;
            match list {
                OWN | FILE if pages > 0 => {
                    (scan.of, scan.batch, scan.out, scan.stayed) = (list, pages, 0, 0);
                    scan.list += 1;
                    return true;
                }
                OWN_ACTIVE | FILE_ACTIVE if pages > 0 && !scan.deactivates[list / 2] => scan.skipped = true,
                // The cache balances its own lists.
                OWN_ACTIVE => self.own.deactivate(cx, pages),
                _ => {}
            }
            scan.list += 1;
        }
    }

    /// The next step of the batch; nothing if it is over.
    fn look(&mut self, cx: &mut Context<'_>, walk: &mut Walk, scan: &mut Scan) -> Option<Choice> {
        if scan.of == FILE {
            return self.look_at_files(cx, walk, scan);
        }
        let no_files = scan.wanted[FILE] + scan.wanted[FILE_ACTIVE] == 0;
        while scan.batch > 0 && cx.swap_free > 0 {
            if cx.leaving >= BATCH {
                // Files do not pay for a slow drive.
                if no_files && walk.gained == 0 {
                    return Some(Choice::Wait);
                }
                break;
            }
            scan.batch -= 1;
            match self.own.look(cx) {
                Looked::Nothing => break,
                Looked::Stays => (walk.looked, scan.stayed) = (walk.looked + 1, scan.stayed + 1),
                Looked::Out(space, page) => {
                    (walk.looked, scan.out) = (walk.looked + 1, scan.out + 1);
                    return Some(Choice::PageOut { space, page });
                }
                Looked::Clean(space, page) => {
                    walk.looked += 1;
                    return Some(Choice::Drop { space, page });
                }
            }
        }
        // What is on its way out has not been gained yet.
        self.note(cx, 0, scan.out, scan.out + scan.stayed);
        (scan.batch, scan.out, scan.stayed) = (0, 0, 0);
        None
    }

    /// The same of a batch of files, which the cache goes through at one go.
    fn look_at_files(&mut self, cx: &Context<'_>, walk: &Walk, scan: &mut Scan) -> Option<Choice> {
        let looks = std::mem::take(&mut scan.batch);
        if looks > 0 {
            (scan.out, scan.stayed) = (walk.gained, looks);
            let pages_per_block = cx.cached[1].checked_div(cx.cached[0]).unwrap_or(1).max(1);
            let blocks = looks.div_ceil(pages_per_block);
            return Some(Choice::Shrink(Shrink {
                looks: blocks,
                gain: looks,
                write_all: false,
                mapped: Mapped::Unmap,
            }));
        }
        let gained = walk.gained - scan.out;
        self.note(cx, 1, 0, std::mem::take(&mut scan.stayed).saturating_sub(gained));
        None
    }

    /// A round is over: the next one, or the end of the search.
    fn round_over(&mut self, cx: &mut Context<'_>, walk: &mut Walk, scan: &Scan) -> Option<Choice> {
        let [inactive, active, ..] = self.counters(cx).sizes;
        if self.swap && is_low(inactive, active) {
            self.own.deactivate(cx, BATCH);
        }
        if walk.gained >= BATCH {
            return Some(self.ends(cx, Choice::Enough));
        }
        let (mut failed, mut forced) = (scan.failed, scan.failed % 2 == 1);
        if walk.priority > 0 {
            walk.priority -= 1;
        } else {
            if walk.gained > 0 {
                return Some(self.ends(cx, Choice::Enough));
            }
            // Once more with every active page in reach, if any was spared; then again from the beginning.
            failed += if forced || scan.skipped { 1 } else { 2 };
            forced = failed % 2 == 1;
            walk.priority = GENTLEST;
            // What is at the drive helps sooner than another search at the same moment; the kernel, too, waits for it here.
            let waits = cx.leaving > 0 || std::mem::take(&mut walk.at_drive) > 0;
            if waits || failed >= 2 * RETRIES {
                walk.stage = Stage::Lists(Scan { failed: 0, ..self.round(cx, GENTLEST, false) });
                let choice = if waits { Choice::Wait } else { Choice::GiveUp };
                return Some(self.ends(cx, choice));
            }
        }
        let skipped = scan.skipped && walk.priority < GENTLEST;
        walk.stage = Stage::Lists(Scan { failed, skipped, ..self.round(cx, walk.priority, forced) });
        None
    }

    /// A search is over: what has come back so far does not count for the next one.
    fn ends(&mut self, cx: &Context<'_>, choice: Choice) -> Choice {
        self.seen = self.counters(cx).activated;
        choice
    }
}

/// Enough is gained: the side of which less is left is scanned no more, and of the other only as large a part of what was wanted.
/// Says whether there is anything left to scan.
fn cut(scan: &mut Scan) -> bool {
    let left = [scan.left[OWN] + scan.left[OWN_ACTIVE], scan.left[FILE] + scan.left[FILE_ACTIVE]];
    if left[0] == 0 || left[1] == 0 {
        return false;
    }
    let (less, more) = if left[1] > left[0] { (OWN, FILE) } else { (FILE, OWN) };
    let percent = left[less / 2] * 100 / (scan.wanted[less] + scan.wanted[less + 1] + 1);
    (scan.left[less], scan.left[less + 1]) = (0, 0);
    for list in [more, more + 1] {
        let scanned = scan.wanted[list] - scan.left[list];
        scan.left[list] = (u64::from(scan.wanted[list]) * u64::from(100 - percent.min(100)) / 100) as u32;
        scan.left[list] -= scan.left[list].min(scanned);
    }
    scan.adjusted = true;
    scan.left[OWN] + scan.left[FILE] + scan.left[FILE_ACTIVE] > 0
}

impl Entry for TwoList {
    const INFO: Info = Info {
        name: "two_list",
        summary: "active and inactive pages, files against programs by what each costs (swappiness)",
        year: 2020,
        origin: "Linux 5.9 to 6.18, without generations",
        promises: &[],
        parameters: &[
            Parameter {
                name: "swappiness",
                meaning: "weight of programs' own pages against files, of 200",
                domain: Domain::Count { low: 0, high: 200 },
                default: Some("60"),
                logarithmic: false,
                grows: false,
                host: Some("swappiness"),
            },
            Parameter {
                name: "variant",
                meaning: "what costs: of 6.2 and later, an I/O 32 and a page scanned without result 1; of 5.9 to 6.1, an I/O 1; of 6.17, as \
                          6.2, and the counters that decide a round are up to 2 s old",
                domain: Domain::Choice { names: &["6.2", "5.9", "6.17"] },
                default: Some("6.2"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            Parameter {
                name: "group",
                meaning: "whether memory is the limit of a control group: no daemon, and with swappiness 0 nothing is paged out",
                domain: Domain::Switch,
                default: Some("false"),
                logarithmic: false,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("two_list.rs"),
    };

    fn new(params: &Params) -> Self {
        let early = params.name("variant") == "5.9";
        TwoList {
            swappiness: params.whole("swappiness"),
            group: params.switch("group"),
            io_cost: if early { 1 } else { BATCH.into() },
            stay_cost: if early { 0 } else { 1 },
            own: OwnPages::default(),
            cost: [0; 2],
            seen: [0; 2],
            swap: false,
            counted: (params.name("variant") == "6.17").then(Counters::default),
        }
    }
}

impl Reclaim for TwoList {
    fn begin(&mut self, cx: &mut Context<'_>) -> Walk {
        self.swap |= cx.swap_free > 0;
        Walk {
            priority: GENTLEST,
            stage: Stage::Lists(self.round(cx, GENTLEST, false)),
            looked: 0,
            gained: 0,
            at_drive: 0,
        }
    }

    fn next(&mut self, cx: &mut Context<'_>, walk: &mut Walk) -> Choice {
        loop {
            let Stage::Lists(mut scan) = walk.stage else { unreachable!("this policy scans lists") };
            if let Some(choice) = self.look(cx, walk, &mut scan) {
                walk.stage = Stage::Lists(scan);
                return choice;
            }
            let more = self.next_batch(cx, &mut scan, walk.gained);
            walk.stage = Stage::Lists(scan);
            if !more && let Some(choice) = self.round_over(cx, walk, &scan) {
                return choice;
            }
        }
    }

    fn in_batches(&self) -> bool {
        true
    }

    fn brought_in(&mut self, cx: &mut Context<'_>, space: SpaceId, page: PageId) {
        let [_, own, inactive, active] = self.counters(cx).sizes.map(u64::from);
        let kept = inactive + active + if cx.swap_free > 0 { own } else { 0 };
        if self.own.brought_in(cx, space, page, kept) {
            self.note(cx, 0, 1, 0);
        }
    }

    fn gone(&mut self, mark: u8) {
        self.own.gone(mark);
    }

    fn file_refaulted(&mut self, cx: &mut Context<'_>) {
        self.note(cx, 1, 1, 0);
    }

    fn own_pages(&self) -> (u32, u64) {
        (if self.swap { self.own.inactive() + self.own.active() } else { 0 }, self.own.age)
    }

    fn keeps_places(&self) -> bool {
        true
    }

    fn refresh_period(&self) -> Option<Nanos> {
        self.counted.map(|_| FLUSH_TIME)
    }

    fn refresh(&mut self, cx: &mut Context<'_>) {
        self.counted = Some(self.counted_now(cx));
    }

    fn waits(&self) -> bool {
        false
    }

    fn watermarks(&self, pages: u32) -> Option<[u32; 2]> {
        Some(if self.group { [0, 0] } else { [(pages / 64).max(8), (pages * 3 / 128).max(12)] })
    }
}

#[cfg(test)]
#[path = "two_list_tests.rs"]
mod tests;
