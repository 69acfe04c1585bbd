//! Layout files of attention levels: what is refused and how, which rule fits, the examples and the schema.

use schedlab_model::attention::{Layout, schema};

const LAYOUT: &str = include_str!("layouts/six.toml");

fn refused(text: &str) -> String {
    Layout::read(text, "mine.toml").unwrap_err().to_string()
}

#[test]
fn a_wrong_layout_is_refused_with_file_field_and_what_is_allowed() {
    let cases = [
        ("level = 1", "mine.toml:1: level: invalid type: integer `1`, expected a sequence"),
        ("[[level]]\nname = \"x\"\n", "mine.toml:1: level[0]: missing field `nice`"),
        ("x = [", "mine.toml:1: is not TOML: "),
        ("level = []", "mine.toml: level: 0 is not allowed; 1 to 20 is (levels)"),
        (
            "[[level]]\nname = \"x\"\nnice = 0\n",
            "mine.toml: level: no \"foreground\"; levels of the names foreground, background, batch are there",
        ),
    ];
    for (text, said) in cases {
        assert!(refused(text).starts_with(said), "{}", refused(text));
    }
    let also = |more: &str| refused(&format!("{LAYOUT}{more}"));
    let cases = [
        ("nice = 9\n[[level]]\nname = \"x\"\nnice = 3", "mine.toml:20: is not TOML: duplicate key"),
        (
            "[[level]]\nname = \"x\"\nnice = 3",
            "mine.toml: level[6].nice: 3 comes after 10; levels stand in the order of nice",
        ),
        ("[[level]]\nname = \"x\"\nnice = 30", "mine.toml: level[6].nice: 30 is not allowed; -10 to 19 is"),
        ("[[level]]\nname = \"last\"\nnice = 10", "mine.toml: level[6].name: \"last\" is there twice"),
        ("slice = \"1s\"", "mine.toml: level[5].slice: 1s is not allowed; 100us to 100ms is"),
        ("slice = 3", "mine.toml:20: level[5].slice: \"3\" is not a duration"),
        ("weight = 0", "mine.toml: level[5].weight: 0 is not allowed; 1 to 10000 is"),
        ("policy = \"fifo\"", "mine.toml:20: level[5].policy: unknown variant `fifo`, expected `other` or `batch`"),
        ("io = \"first\"", "mine.toml:20: level[5].io: unknown variant `first`, expected one of `high`, `low`, `idle`"),
        ("[[rule]]\nlevel = \"last\"", "mine.toml: rule[0]: names nothing: write name, command or cgroup"),
        (
            "[[rule]]\nname = \"x\"\nlevel = \"lest\"",
            "mine.toml: rule[0].level: \"lest\" is no level; there is above, foreground",
        ),
        ("[[rule]]\nname = \"/(/\"\nlevel = \"last\"", "mine.toml:21: rule[0].name: \"/(/\" is no regular expression"),
        ("[attention]\nleave = 2.0", "mine.toml: attention.leave: 2 is not allowed; 0 to 1 is"),
        ("[attention]\nleave = nan", "mine.toml: attention.leave: NaN is not allowed; 0 to 1 is"),
        ("[attention]\nhalf_life = \"1ms\"", "mine.toml: attention.half_life: 1ms is not allowed; 1s to 1h is"),
        (
            "[attention]\ndwel = \"1ms\"",
            "mine.toml:21: attention.dwel: unknown field `dwel`, expected one of `half_life`",
        ),
        ("[overload]\nshare = 1.5", "mine.toml: overload.share: 1.5 is not allowed; 0.05 to 1 is"),
    ];
    for (text, said) in cases {
        assert!(also(text).starts_with(said), "{}", also(text));
    }
    assert!(refused(&"x".repeat(300 << 10)).contains("at most 262144"));
}

#[test]
fn the_first_rule_that_fits_is_all_that_it_names() {
    let text = format!("{LAYOUT}[[rule]]\nname = \"cc1*\"\ncgroup = \"*.scope\"\nlevel = \"last\"");
    let layout = Layout::read(&text, "x").unwrap();
    let fits = |name: &str, group: &str| layout.rule[0].fits(name, || unreachable!(), || group.to_owned());
    assert!(fits("cc1plus", "/a.scope") && !fits("cc1", "/a.slice"));
    assert!(!layout.rule[0].fits("ld", || unreachable!(), || unreachable!()), "what is not needed is not read");
}

const EXAMPLES: [(&str, &str); 2] = [
    ("desktop.toml", include_str!("../../../examples/attention/desktop.toml")),
    ("rsdl-2007.toml", include_str!("../../../examples/attention/rsdl-2007.toml")),
];

#[test]
fn the_examples_are_layouts_and_the_schema_is_the_one_in_the_tree() {
    for (name, text) in EXAMPLES {
        Layout::read(text, name).unwrap_or_else(|why| panic!("{why}"));
    }
    let nice = |layout: &Layout| layout.level.iter().map(|level| level.nice).collect::<Vec<_>>();
    assert_eq!(nice(&Layout::read(EXAMPLES[1].1, "2007").unwrap()), [-2, -1, 0, 1, 2, 3, 5, 10], "as published");
    let kept: serde_json::Value = serde_json::from_str(include_str!("../../../schema/attention.json")).unwrap();
    assert!(kept == schema(), "write what `schedlab-agent attend schema` prints to schema/attention.json");
}
