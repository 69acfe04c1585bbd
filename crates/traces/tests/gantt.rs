//! Drawn schedules, character by character.

mod sample;

use sample::{MS, event, names, run};
use schedlab_model::event::{Event, Kind, NO_TASK, Observer};
use schedlab_traces::{
    Names,
    gantt::{Chart, Drafting},
};

#[track_caller]
fn assert_drawn(chart: &str, expected: &str) {
    assert_eq!(chart, expected.strip_prefix('\n').unwrap(), "\n{chart}");
}

#[test]
fn a_column_shows_the_state_that_held_longest() {
    assert_drawn(
        &Chart::new(&run(), &names(), 100 * MS).text(50),
        r#"
              0ms       20ms      40ms      60ms      80ms
              |         |         |         |         |
editor#0                          ++++
hog <&"1">#1       ##########.........##########
hog <&"1">#2          .......#####..............######
idle 0        -----                                   ~~~~~-----
              a column is 2ms
              # running  + in the kernel  . ready  - idle  ~ idle, waiting for a drive
"#,
    );
}

#[test]
fn when_two_states_held_equally_long_the_running_one_is_drawn() {
    let text = Chart::new(&run(), &names(), 80 * MS).text(4);
    // From 20 to 40 ms the first hog ran, then was ready, the second the other way round.
    assert!(text.contains("hog <&\"1\">#1  ###\n") && text.contains("hog <&\"1\">#2   #.#\n"), "{text}");
    let (wakes, runs) = (event(0, 0, Kind::Wakeup, 1, 0, 0), event(5, 0, Kind::SwitchIn, 0, 0, 0));
    let text = Chart::new(&[created(0), wakes, runs], &names(), 10 * MS).text(1);
    assert!(text.contains("editor#0  #\n"), "{text}");
}

fn created(task: u32) -> Event {
    event(0, task, Kind::Created, 128, 0, NO_TASK.into())
}

#[test]
fn what_had_no_room_is_said() {
    let events: Vec<_> = (0..50).map(created).collect();
    let names = Names { processors: 10, ..names() };
    let chart = Chart::new(&events, &names, MS);
    assert!(chart.text(10).ends_with("left out: 18 more tasks, 2 more processors\n"));
    assert!(chart.svg("many").contains("left out: 18 more tasks, 2 more processors"));
    assert_eq!(chart.text(10).lines().filter(|l| l.contains('#')).count(), 32);
}

#[test]
fn a_cut_through_a_segment_draws_it_up_to_the_cut() {
    assert_drawn(
        &Chart::new(&run(), &names(), 44 * MS).text(22),
        r#"
              0ms       20ms      40ms
              |         |         |
editor#0                          ++
hog <&"1">#1       ##########.......
hog <&"1">#2          .......#####..
idle 0        -----
              a column is 2ms
              # running  + in the kernel  . ready  - idle
"#,
    );
}

#[test]
fn servers_are_drawn_under_their_own_names() {
    let names = Names { servers: vec!["file server".to_owned()], ..names() };
    let text = Chart::new(&[created(0), created(1)], &names, MS).text(10);
    assert!(text.contains("\nfile server\neditor#1\n"), "{text}");
}

#[test]
fn an_empty_chart_is_drawn_without_a_fuss() {
    let chart = Chart::new(&[], &Names::default(), 0);
    assert!(chart.text(0).contains("0ns"));
    assert!(chart.svg("").starts_with("<svg"));
}

#[test]
fn names_cannot_break_out_of_the_picture() {
    let svg = Chart::new(&run(), &names(), 100 * MS).svg("a <b> & \"c\"");
    assert!(svg.contains("<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"));
    assert!(svg.contains("hog &lt;&amp;&quot;1&quot;&gt;#1, running for 20ms at 10ms: cpu 0, user 20ms, system 0ns"));
    assert!(!svg.contains("<&"));
}

#[test]
fn a_line_of_very_many_segments_makes_a_small_picture() {
    let turns = (0..20_000)
        .flat_map(|i| [event(2 * i, 0, Kind::SwitchIn, 0, 0, 0), event(2 * i + 1, 0, Kind::SwitchOut, 0, MS, 0)]);
    let events: Vec<_> = [created(0)].into_iter().chain(turns).collect();
    let svg = Chart::new(&events, &names(), 40_000 * MS).svg("busy");
    assert!(svg.len() < 400_000, "{} bytes", svg.len());
    assert!(svg.contains("mostly"));
}

/// The stretch from a time to another of a run that ended after 100 ms.
fn stretch(events: &[Event], from: u64, to: u64) -> Chart {
    let names = names();
    let mut drafting = Drafting::new(&names, from * MS, to * MS);
    events.iter().for_each(|&event| drafting.observe(event));
    drafting.finish(100 * MS)
}

#[test]
fn a_stretch_is_what_the_whole_shows_there() {
    let events = run();
    assert_drawn(
        &stretch(&events, 36, 60).text(12),
        r#"
                40ms
                |
editor#0        ++++
hog <&"1">#1  ......######
hog <&"1">#2  ##..........
idle 0
              a column is 2ms
              # running  + in the kernel  . ready
"#,
    );
    let (whole, part) = (Chart::new(&events, &names(), 100 * MS).text(50), stretch(&events, 20, 80).text(30));
    for (line, cells) in whole.lines().zip(part.lines()).skip(2).take(3) {
        let cut: String = line.chars().skip(14 + 10).take(30).collect();
        assert_eq!(cells.chars().skip(14).collect::<String>().trim_end(), cut.trim_end());
    }
}

#[test]
fn tasks_that_are_not_alive_in_a_stretch_are_no_part_of_it() {
    let text = stretch(&run(), 90, 96).text(6);
    assert!(!text.contains("#1") && text.contains("editor#0") && text.contains("idle 0        ------"), "{text}");
    assert!(!stretch(&run(), 0, 5).text(5).contains("hog"));
}

#[test]
fn tasks_at_work_have_room_before_those_that_wait() {
    let works = [event(0, 49, Kind::Wakeup, 1, 0, 0), event(0, 49, Kind::SwitchIn, 0, 0, 0)];
    let events: Vec<_> = (0..50).map(created).chain(works).collect();
    let text = Chart::new(&events, &names(), MS).text(10);
    assert!(text.contains("#49") && text.contains("left out: 18 more tasks"), "{text}");
}

#[test]
fn a_picture_names_its_processors_and_their_numbers_stand_in_the_bars() {
    let names = Names { processors: 2, ..names() };
    let svg = Chart::new(&run(), &names, 100 * MS).svg("two");
    assert!(svg.contains(">processor 0, when idle<") && svg.contains(">processor 1, when idle<"));
    assert_eq!(svg.matches("<text class=\"cpu\"").count(), 5, "a bar for each time on a processor\n{svg}");
    assert!(!Chart::new(&run(), &self::names(), 100 * MS).svg("one").contains("<text class=\"cpu\""));
}

#[test]
fn bars_stand_to_scale_in_shares_of_the_width() {
    let svg = Chart::new(&run(), &names(), 100 * MS).svg("scale");
    // The second hog's second time, from 68 to 80 ms: 2 % of margin, then 96 % of the width.
    assert!(svg.contains("x=\"67.280%\"") && svg.contains("width=\"11.520%\""), "{svg}");
}
