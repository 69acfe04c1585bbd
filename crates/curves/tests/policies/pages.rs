//! The schedules on the pages are what the policies do.

use crate::scripts::{names, next_uses, store};
use schedlab_policies::caches::{self, Entry, Key, Visitor};

/// Runs the schedule of a page and draws it again.
struct Redrawn;

impl Visitor for Redrawn {
    type Output = (String, String);

    fn visit<E: Entry>(self) -> Self::Output {
        let page = E::INFO.page();
        let block = page.split("```text\n").find(|part| part.starts_with("slots ")).expect("a schedule");
        let block = block.split("```").next().expect("the block's end");
        let mut lines = block.lines();
        let slots = lines.next().and_then(|line| line.strip_prefix("slots ")).expect("slots");
        let asked = lines.next().and_then(|line| line.strip_prefix("ask ")).expect("requests");
        let asked: Vec<Key> = asked.split_whitespace().map(|key| key.parse().expect("a key")).collect();
        let drawn = draw::<E>(slots.parse().expect("a number of slots"), &asked);
        (block.to_owned(), drawn)
    }
}

fn draw<E: Entry>(slots: u32, asked: &[Key]) -> String {
    const KEYS: u32 = 10;
    let mut store = store::<E>(slots, KEYS);
    let (mut ask, mut hits, mut out) = ("ask  ".to_owned(), "hit  ".to_owned(), "out  ".to_owned());
    for (&key, next) in asked.iter().zip(next_uses(asked)) {
        let before: Vec<Key> = (0..KEYS).filter(|&key| store.holds(key)).collect();
        let hit = store.request(key, next);
        let gone = before.into_iter().find(|&key| !store.holds(key));
        ask.push_str(&format!(" {key}"));
        hits.push_str(if hit { " *" } else { " ." });
        out.push_str(&gone.map_or_else(|| " .".to_owned(), |key| format!(" {key}")));
    }
    format!("slots {slots}\n{ask}\n{hits}\n{out}\n")
}

#[test]
fn every_page_shows_the_schedule_that_the_policy_makes() {
    for name in names() {
        let (shown, drawn) = caches::visit(name, Redrawn).expect("a name of the table");
        assert_eq!(shown, drawn, "the page of {name}");
    }
}

#[test]
fn every_page_has_its_headings_in_order() {
    let wanted = ["The idea", "A schedule", "Cost", "Good for, not for", "Departures", "References"];
    for info in caches::CACHES {
        let page = info.page();
        let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        let found: Vec<&str> = headings.iter().copied().filter(|heading| *heading != "The formula").collect();
        assert_eq!(found, wanted, "the page of {}", info.name);
        assert!(page.starts_with(&format!("# {}\n\nPromises ", info.name)), "the page of {}", info.name);
    }
}
