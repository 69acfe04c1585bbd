//! The behaviour specific to `two_list`, as far as its own data show it.

use super::{super::FileLists, *};
use schedlab_model::page::{Home, Page, Space};

const PAGES: u32 = 16_384;

fn policy(settings: &[(&str, &str)]) -> TwoList {
    let given = settings.iter().map(|&(name, value)| (name, value.to_owned()));
    TwoList::new(&Params::check(&TwoList::INFO, given).unwrap())
}

fn context(spaces: &mut [Space], files: FileLists) -> Context<'_> {
    let cached = files.inactive + files.active;
    Context { spaces, born: 0, pages: PAGES, free: 0, cached: [cached, cached], files, leaving: 0, swap_free: 1000 }
}

fn files(inactive: u32, active: u32) -> FileLists {
    FileLists { inactive, active, ..Default::default() }
}

/// A policy that knows n own pages of one task, touched or not since, and the task.
fn loaded(settings: &[(&str, &str)], pages: u32, accessed: bool) -> (TwoList, Vec<Space>) {
    let mut policy = policy(settings);
    let page = Page { home: Home::Present, dirty: true, accessed, ..Page::default() };
    let mut spaces = vec![Space { pages: vec![page; pages as usize], swappable: true, ..Space::default() }];
    for page in 0..pages {
        policy.brought_in(&mut context(&mut spaces, files(0, 0)), 0, page);
    }
    (policy, spaces)
}

/// Pages out and files looked at in one search that gains nothing from files.
fn search(policy: &mut TwoList, spaces: &mut [Space], files: FileLists) -> [u32; 2] {
    let mut walk = policy.begin(&mut context(spaces, files));
    let mut seen = [0, 0];
    for _ in 0..10_000 {
        match policy.next(&mut context(spaces, files), &mut walk) {
            Choice::PageOut { space, page } => {
                spaces[space as usize].pages[page as usize].home = Home::Swapped(0);
                seen[0] += 1;
                walk.gained += 1;
            }
            Choice::Shrink(how) => {
                seen[1] += how.looks;
                walk.gained += how.gain;
            }
            _ => return seen,
        }
    }
    panic!("the search does not end: {walk:?}");
}

#[test]
fn the_weights_are_those_of_the_kernel_s_fractions() {
    // By hand from get_scan_count: A = 100, F = 300, T = 400, S = 1200.
    let mut policy = policy(&[("swappiness", "60")]);
    policy.cost = [100, 300];
    let mut spaces = Vec::new();
    let cx = context(&mut spaces, files(0, 100));
    assert_eq!(policy.weights(&cx, &[500, 500, 0, 100], 5, [true, true]), [60 * 1201 / 501, 140 * 1201 / 701]);
}

#[test]
fn many_files_that_do_not_come_back_are_scanned_alone_at_any_swappiness() {
    for swappiness in ["0", "60", "100", "200"] {
        let (mut policy, mut spaces) = loaded(&[("swappiness", swappiness)], 6000, false);
        assert_eq!(search(&mut policy, &mut spaces, files(10_000, 0))[0], 0, "{swappiness}");
    }
}

#[test]
fn files_in_use_let_own_pages_go_by_their_swappiness() {
    let outs = ["0", "30", "100", "200"].map(|swappiness| {
        let (mut policy, mut spaces) = loaded(&[("swappiness", swappiness)], 8000, false);
        (0..20).map(|_| search(&mut policy, &mut spaces, files(3000, 5000))[0]).sum::<u32>()
    });
    assert!(outs[0] == 0 && outs.is_sorted() && outs[1] < outs[3], "{outs:?}");
}

#[test]
fn in_a_group_swappiness_nothing_spares_programs_to_the_end_and_else_only_while_there_are_files() {
    let (mut policy, mut spaces) = loaded(&[("swappiness", "0"), ("group", "true")], 100, false);
    assert_eq!(search(&mut policy, &mut spaces, files(0, 0)), [0, 0]);
    let (mut policy, mut spaces) = loaded(&[("swappiness", "0")], 100, false);
    assert!(search(&mut policy, &mut spaces, files(0, 0))[0] > 0);
}

#[test]
fn a_new_page_goes_out_untouched_and_stays_once_when_touched_and_longer_when_touched_twice() {
    let (mut policy, mut spaces) = loaded(&[], 3, true);
    let none = files(0, 0);
    let look = |policy: &mut TwoList, spaces: &mut [Space]| policy.own.look(&mut context(spaces, none));
    assert_eq!([0; 3].map(|_| look(&mut policy, &mut spaces)), [Looked::Stays; 3], "each was touched when it came");
    spaces[0].pages[1].accessed = true;
    let second = [0; 3].map(|_| look(&mut policy, &mut spaces));
    assert_eq!(second, [Looked::Out(0, 0), Looked::Stays, Looked::Out(0, 2)]);
    assert_eq!((policy.own.inactive(), policy.own.active()), (0, 1));
}

#[test]
fn costs_are_halved_when_they_exceed_a_quarter_of_the_lists() {
    let (mut policy, mut spaces) = loaded(&[], 400, false);
    let cx = context(&mut spaces, files(400, 0));
    policy.note(&cx, 0, 4, 0);
    assert_eq!(policy.cost, [128, 0]);
    policy.note(&cx, 1, 2, 9);
    assert_eq!(policy.cost, [64, 36], "201 of 800 pages");
    let mut early = TwoList { own: policy.own, ..self::policy(&[("variant", "5.9")]) };
    early.note(&cx, 0, 4, 7);
    assert_eq!(early.cost, [4, 0], "an I/O cost as much as a page, and a look nothing");
}

#[test]
fn a_page_that_comes_back_soon_is_active_and_costs_if_it_had_been_in_use() {
    let (mut policy, mut spaces) = loaded(&[], 20, false);
    let none = files(0, 0);
    policy.own.age = 50;
    assert_eq!(policy.own.look(&mut context(&mut spaces, none)), Looked::Out(0, 0));
    let back = |policy: &mut TwoList, spaces: &mut [Space], files| {
        spaces[0].pages[0] = Page { home: Home::Present, born: 7, dirty: true, ..Page::default() };
        policy.brought_in(&mut context(spaces, files), 0, 0);
    };
    back(&mut policy, &mut spaces, files(5, 0));
    assert_eq!((policy.own.active(), policy.own.activated, policy.cost), (1, 1, [0, 0]));
    policy.own.deactivate(&mut context(&mut spaces, none), 1);
    while policy.own.look(&mut context(&mut spaces, none)) != Looked::Out(0, 0) {}
    back(&mut policy, &mut spaces, files(5, 0));
    assert_eq!(policy.own.active(), 1);
    assert!(policy.cost[0] > 0 || policy.sizes(&context(&mut spaces, none)).iter().sum::<u32>() < 128);
}

#[test]
fn lists_count_only_pages_that_are_on_them() {
    let (mut policy, mut spaces) = loaded(&[], 10, false);
    for page in 0..4 {
        policy.gone(spaces[0].pages[page].mark);
        spaces[0].pages[page].home = Home::Absent;
    }
    assert_eq!(policy.own.inactive(), 6);
    assert_eq!(policy.own.look(&mut context(&mut spaces, files(0, 0))), Looked::Out(0, 4));
    assert_eq!(policy.own.inactive(), 5);
}

#[test]
fn no_more_than_a_batch_is_on_its_way() {
    let (mut policy, mut spaces) = loaded(&[("swappiness", "200")], 3000, false);
    let mut walk = policy.begin(&mut context(&mut spaces, files(0, 0)));
    let mut cx = Context { leaving: BATCH, ..context(&mut spaces, files(0, 0)) };
    assert_eq!(policy.next(&mut cx, &mut walk), Choice::Wait);
}

#[test]
fn a_page_whose_place_was_kept_goes_without_a_write_until_it_is_written_to() {
    let (mut policy, mut spaces) = loaded(&[("swappiness", "200")], 3000, false);
    (0..40).for_each(|page| spaces[0].pages[page].dirty = page % 2 == 1);
    let none = files(0, 0);
    let mut walk = policy.begin(&mut context(&mut spaces, none));
    let mut goes = || policy.next(&mut context(&mut spaces, none), &mut walk);
    assert_eq!([goes(), goes()], [Choice::Drop { space: 0, page: 0 }, Choice::PageOut { space: 0, page: 1 }]);
}

#[test]
fn counters_that_are_old_let_a_stream_push_programs_out_until_they_are_refreshed() {
    let outs = |refreshed: bool| {
        let (mut policy, mut spaces) = loaded(&[("swappiness", "200"), ("variant", "6.17")], 6000, false);
        let many = files(10_000, 0);
        if refreshed {
            policy.refresh(&mut context(&mut spaces, many));
        }
        search(&mut policy, &mut spaces, many)[0]
    };
    assert_eq!(policy(&[("variant", "6.17")]).refresh_period(), Some(2_000_000_000));
    assert_eq!(policy(&[]).refresh_period(), None, "others count at each search");
    assert!(outs(false) > 0, "as counted last, there are no files");
    assert_eq!(outs(true), 0);
}
