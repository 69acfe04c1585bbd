//! Attention levels: what holds for any history of focus and loads, and the single cases that the page promises.

use proptest::prelude::*;
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    attention::{Attention, Home, Layout, Placement, Program, Standing},
};
use std::collections::BTreeMap;

const LAYOUT: &str = include_str!("layouts/six.toml");
const FOREGROUND: usize = 1;
const BACKGROUND: usize = 2;
const BATCH: usize = 4;
const LEVELS: usize = 6;
const PROCESSORS: usize = 2;
const PERIOD: Nanos = 2 * SECOND;

fn layout() -> Layout {
    Layout::read(LAYOUT, "layout.toml").unwrap()
}

fn rule() -> Attention {
    Attention::new(layout(), PROCESSORS, 0)
}

fn with(programs: &[(Program, Home)]) -> Attention {
    let mut rule = rule();
    programs.iter().for_each(|(program, home)| rule.enter(*program, *home));
    rule
}

/// Programs that no rule names.
fn ordinary(numbers: std::ops::Range<Program>) -> Attention {
    let home = rule().usual_home();
    with(&numbers.map(|program| (program, home)).collect::<Vec<_>>())
}

fn level(rule: &Attention, program: Program) -> usize {
    rule.placement(program).unwrap().level
}

fn standing(rule: &Attention, program: Program) -> Standing {
    rule.placement(program).unwrap().standing
}

/// Each of these programs uses that many processors in each of that number of periods.
fn periods(rule: &mut Attention, from: Nanos, count: u64, used: &[(Program, f64)]) -> Nanos {
    let used: BTreeMap<Program, Nanos> = used.iter().map(|(p, share)| (*p, (share * PERIOD as f64) as Nanos)).collect();
    (1..=count).for_each(|n| rule.period(from + n * PERIOD, &used));
    from + count * PERIOD
}

#[test]
fn the_focus_counts_after_the_dwell_and_not_before() {
    let mut rule = ordinary(1..3);
    rule.focus(SECOND, Some(1));
    assert_eq!((level(&rule, 1), rule.due()), (BACKGROUND, Some(SECOND + 500 * MILLISECOND)));
    rule.settle(SECOND + 499 * MILLISECOND);
    assert_eq!(level(&rule, 1), BACKGROUND);
    rule.settle(SECOND + 500 * MILLISECOND);
    assert_eq!((level(&rule, 1), rule.due()), (FOREGROUND, None));
}

#[test]
fn a_glance_elsewhere_changes_nothing() {
    let mut rule = ordinary(1..3);
    rule.focus(0, Some(1));
    rule.settle(60 * SECOND);
    rule.focus(60 * SECOND, Some(2));
    rule.focus(60 * SECOND + 300 * MILLISECOND, Some(1));
    rule.settle(70 * SECOND);
    assert_eq!((level(&rule, 1), level(&rule, 2)), (FOREGROUND, BACKGROUND));
}

#[test]
fn the_last_program_stays_in_the_foreground_until_its_attention_is_gone() {
    let mut rule = ordinary(1..3);
    rule.focus(0, Some(1));
    rule.settle(60 * SECOND);
    rule.focus(60 * SECOND, Some(2));
    rule.settle(61 * SECOND);
    assert_eq!([level(&rule, 1), level(&rule, 2)], [FOREGROUND; 2]);
    // 0.875 of attention is below 0.1 after 3.13 half-lives of 20 s.
    rule.settle(122 * SECOND);
    assert_eq!(level(&rule, 1), FOREGROUND);
    rule.settle(123 * SECOND);
    assert_eq!(level(&rule, 1), BACKGROUND);
}

#[test]
fn of_those_out_of_focus_the_one_with_least_attention_makes_room() {
    let mut rule = ordinary(1..4);
    rule.focus(0, Some(1));
    rule.focus(30 * SECOND, Some(2));
    rule.settle(31 * SECOND);
    rule.focus(35 * SECOND, Some(3));
    rule.settle(36 * SECOND);
    assert_eq!([1, 2, 3].map(|program| level(&rule, program)), [FOREGROUND, BACKGROUND, FOREGROUND]);
}

#[test]
fn focus_that_goes_round_faster_than_programs_stay_moves_few() {
    let mut rule = ordinary(0..6);
    let (mut changes, mut last) = (0, Vec::new());
    for n in 0..100u64 {
        rule.focus(n * 600 * MILLISECOND, Some(n % 6));
        rule.settle(n * 600 * MILLISECOND + 550 * MILLISECOND);
        let now: Vec<usize> = rule.placements().map(|(_, placement)| placement.level).collect();
        changes += usize::from(now != last);
        last = now;
    }
    // A minute: each of two places changes hands every 3 s at the most.
    assert!(changes <= 41, "{changes}");
}

#[test]
fn work_without_attention_is_batch_work_only_while_it_is_busy() {
    let mut rule = ordinary(1..3);
    let at = periods(&mut rule, 0, 30, &[(1, 1.0), (2, 0.1)]);
    assert_eq!((standing(&rule, 1), level(&rule, 1)), (Standing::Batch, BATCH));
    assert_eq!((standing(&rule, 2), level(&rule, 2)), (Standing::Home, BACKGROUND));
    periods(&mut rule, at, 60, &[]);
    assert_eq!(standing(&rule, 1), Standing::Home);
}

#[test]
fn a_fixed_program_stays_where_its_rule_puts_it() {
    let mut rule = with(&[(1, Home { level: 0, follows: false })]);
    rule.focus(0, Some(1));
    periods(&mut rule, 0, 50, &[(1, 0.5)]);
    assert_eq!((standing(&rule, 1), level(&rule, 1), rule.due()), (Standing::Fixed, 0, None));
}

#[test]
fn the_largest_user_of_an_overloaded_level_goes_down_and_comes_back_when_it_is_calm() {
    let home = Home { level: FOREGROUND, follows: false };
    let mut rule = with(&[(1, home), (2, home), (3, home)]);
    // 0.85 of both processors; more than 0.8 is too much.
    let steady = [(1, 0.3), (2, 1.0), (3, 0.4)];
    let at = periods(&mut rule, 0, 2, &steady);
    assert_eq!(level(&rule, 2), FOREGROUND, "4 s are not yet 6 s");
    let at = periods(&mut rule, at, 1, &steady);
    assert_eq!([1, 2, 3].map(|program| level(&rule, program)), [FOREGROUND, BACKGROUND, FOREGROUND]);
    let at = periods(&mut rule, at, 100, &steady);
    assert_eq!([1, 2, 3].map(|program| level(&rule, program)), [FOREGROUND, BACKGROUND, FOREGROUND]);
    // With 0.2 of its own there would be 0.45 above.
    let at = periods(&mut rule, at, 9, &[(1, 0.3), (2, 0.2), (3, 0.4)]);
    assert_eq!(level(&rule, 2), BACKGROUND, "18 s are not yet 20 s");
    periods(&mut rule, at, 1, &[(1, 0.3), (2, 0.2), (3, 0.4)]);
    assert_eq!(level(&rule, 2), FOREGROUND);
}

#[test]
fn a_hog_in_the_focused_program_goes_down_two_levels_and_no_more() {
    let mut rule = ordinary(1..2);
    rule.focus(0, Some(1));
    periods(&mut rule, 0, 200, &[(1, 2.0)]);
    let Placement { level, lowered, standing, .. } = rule.placement(1).unwrap();
    assert_eq!((level, lowered, standing), (FOREGROUND + 2, 2, Standing::Foreground));
}

#[test]
fn a_period_of_no_length_counts_nothing_and_time_does_not_go_back() {
    let mut rule = ordinary(1..2);
    rule.focus(10 * SECOND, Some(1));
    rule.period(10 * SECOND, &BTreeMap::from([(1, SECOND)]));
    rule.period(10 * SECOND, &BTreeMap::from([(1, SECOND)]));
    rule.settle(SECOND);
    assert_eq!(rule.placement(1).unwrap().used, 0.1);
}

/// What may happen.
#[derive(Debug, Clone)]
enum Happens {
    Focus(Option<Program>),
    Period(Vec<f64>),
    Wait,
    Leave(Program),
    Enter(Program, usize, bool),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        3 => prop::option::of(0..6u64).prop_map(Happens::Focus),
        4 => prop::collection::vec(0.0..2.0, 6).prop_map(Happens::Period),
        1 => Just(Happens::Wait),
        1 => (0..6u64).prop_map(Happens::Leave),
        1 => (0..6u64, 0..LEVELS, any::<bool>()).prop_map(|(p, l, f)| Happens::Enter(p, l, f)),
    ]
}

fn history() -> impl Strategy<Value = Vec<(Nanos, Happens)>> {
    prop::collection::vec((0..5 * SECOND, happens()), 1..120)
}

fn used(shares: &[f64], length: Nanos) -> BTreeMap<Program, Nanos> {
    shares.iter().zip(0..).map(|(share, program)| (program, (share * length as f64) as Nanos)).collect()
}

/// Plays a history from where the rule is; gives the time at its end.
fn play(rule: &mut Attention, history: &[(Nanos, Happens)]) -> Nanos {
    let mut at = 0;
    for (after, happens) in history {
        at += after;
        match happens {
            Happens::Focus(program) => rule.focus(at, *program),
            Happens::Period(shares) => rule.period(at, &used(shares, *after)),
            Happens::Wait => rule.settle(at),
            Happens::Leave(program) => rule.leave(*program),
            Happens::Enter(program, level, follows) => {
                rule.enter(*program, Home { level: *level, follows: *follows });
            }
        }
    }
    at
}

proptest! {
    #[test]
    fn levels_and_attention_are_in_their_ranges(history in history()) {
        let mut rule = ordinary(0..6);
        play(&mut rule, &history);
        for (_, placement) in rule.placements() {
            prop_assert!(placement.level < LEVELS && placement.lowered <= 2);
            prop_assert!((0.0..=1.0).contains(&placement.attention));
        }
        let foreground = rule.placements().filter(|(_, placement)| placement.standing == Standing::Foreground).count();
        prop_assert!(foreground <= rule.layout().attention.foreground);
    }

    #[test]
    fn the_same_history_has_the_same_outcome(history in history()) {
        let (mut one, mut other) = (ordinary(0..6), ordinary(0..6));
        play(&mut one, &history);
        play(&mut other, &history);
        prop_assert!(one.placements().eq(other.placements()));
    }

    #[test]
    fn the_order_in_which_programs_appear_counts_for_nothing(history in history(), order in Just((0..6u64).collect::<Vec<_>>()).prop_shuffle()) {
        let home = rule().usual_home();
        let (mut one, mut other) = (ordinary(0..6), with(&order.iter().map(|program| (*program, home)).collect::<Vec<_>>()));
        play(&mut one, &history);
        play(&mut other, &history);
        prop_assert!(one.placements().eq(other.placements()));
    }

    #[test]
    fn being_asked_more_often_changes_no_attention(history in history(), between in 1..4u64) {
        let (mut one, mut other) = (ordinary(0..6), ordinary(0..6));
        let mut at = 0;
        for step in &history {
            play_at(&mut one, at, step);
            (1..=between).for_each(|n| other.settle(at + step.0 * n / (between + 1)));
            play_at(&mut other, at, step);
            at += step.0;
            for (program, placement) in one.placements() {
                let seen = other.placement(program).unwrap();
                prop_assert!((seen.attention - placement.attention).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn steady_loads_move_nothing_any_more_after_a_while(history in history(), shares in prop::collection::vec(0.0..1.5, 6), focus in prop::option::of(0..6u64)) {
        let mut rule = ordinary(0..6);
        let mut at = play(&mut rule, &history);
        rule.focus(at, focus);
        let steady = used(&shares, PERIOD);
        let mut period = |rule: &mut Attention| { at += PERIOD; rule.period(at, &steady) };
        (0..200).for_each(|_| period(&mut rule));
        let settled: Vec<usize> = rule.placements().map(|(_, placement)| placement.level).collect();
        for _ in 0..200 {
            period(&mut rule);
            prop_assert_eq!(&rule.placements().map(|(_, placement)| placement.level).collect::<Vec<_>>(), &settled);
        }
    }

    #[test]
    fn without_load_and_focus_all_are_where_the_layout_has_them(history in history()) {
        let mut rule = ordinary(0..6);
        let at = play(&mut rule, &history);
        rule.focus(at, None);
        let homes: BTreeMap<Program, usize> = homes(&history);
        periods(&mut rule, at, 300, &[]);
        for (program, placement) in rule.placements() {
            prop_assert_eq!((placement.level, placement.lowered), (homes[&program], 0));
        }
    }
}

/// One event after a time.
fn play_at(rule: &mut Attention, at: Nanos, (after, happens): &(Nanos, Happens)) {
    match happens {
        Happens::Focus(program) => rule.focus(at + after, *program),
        Happens::Period(shares) => rule.period(at + after, &used(shares, *after)),
        _ => rule.settle(at + after),
    }
}

/// The level at which each program of a history belongs at its end.
fn homes(history: &[(Nanos, Happens)]) -> BTreeMap<Program, usize> {
    let mut homes: BTreeMap<Program, usize> = (0..6).map(|program| (program, BACKGROUND)).collect();
    for (_, happens) in history {
        match happens {
            Happens::Leave(program) => drop(homes.remove(program)),
            Happens::Enter(program, level, _) => drop(homes.entry(*program).or_insert(*level)),
            _ => {}
        }
    }
    homes
}
