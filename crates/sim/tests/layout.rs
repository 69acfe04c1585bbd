//! The rules of ARCHITECTURE.md and CONTRIBUTING.md that a machine can check: which crate may depend on which, how files are named, how
//! long they may be, and how they begin.

use schedlab_policies::schedulers::SCHEDULERS;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Our own crates that each crate may depend on. A new crate has to be given its place here.
const WALLS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("policies", &["model"]),
    ("workloads", &["model"]),
    ("metrics", &["model"]),
    ("traces", &["model"]),
    ("disk", &["model", "policies"]),
    ("memory", &["model", "policies"]),
    ("curves", &["model", "policies", "traces"]),
    ("sim", &["model", "policies", "workloads", "metrics", "disk", "memory"]),
    ("runs", &["model", "policies", "metrics", "sim"]),
    ("testing", &["model", "policies", "workloads", "metrics", "traces", "curves", "sim", "runs"]),
    ("explain", &["traces"]),
    ("whatif", &["model", "traces"]),
    ("linux", &["model"]),
    ("tune", &["model", "linux"]),
    ("observe", &["model", "metrics", "traces", "linux", "tune"]),
    ("play", &["model", "workloads", "metrics", "linux", "tune", "observe"]),
    ("attention", &["model", "linux", "tune"]),
    ("agent", &["model", "linux", "tune", "observe", "play", "attention"]),
    ("catalogue", &["model", "policies", "workloads", "metrics"]),
    (
        "bridge",
        &["model", "policies", "metrics", "traces", "explain", "whatif", "sim", "runs", "curves", "linux", "catalogue"],
    ),
    ("python", &["bridge"]),
    ("web", &["model", "policies", "metrics", "traces", "disk", "curves", "sim", "catalogue"]),
    ("bench", &["model", "policies", "workloads", "metrics", "traces", "explain", "sim", "disk", "curves"]),
];
/// Libraries that only some crates may use.
const RESERVED: &[(&str, &[&str])] = &[
    ("pyo3", &["python"]),
    ("arrow-array", &["bridge"]),
    ("rand", &["model"]),
    ("rayon", &["sim", "curves", "bridge", "bench"]),
    ("libc", &["linux", "tune", "observe", "play", "attention", "agent"]),
    ("rustix", &["bench"]),
    ("nix", &["linux", "tune", "observe", "play", "attention", "agent"]),
    ("x11rb", &["attention"]),
    ("clap", &["agent"]),
];
/// A longer file, or one with a longer function, says at its head why it is one: "Long, because ...".
const MOST_LINES: usize = 400;
const MOST_LINES_OF_A_FUNCTION: usize = 80;
const REASON: &str = "Long, because ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// All files of the project below a folder, without what tools leave behind.
fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display())) {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_symlink() || name.starts_with('.') || ["target", "__pycache__"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() { files(&path, into) } else { into.push(path) }
    }
}

/// The code, by path from the root.
fn code(extension: &str) -> BTreeMap<String, String> {
    let root = root();
    let mut all = Vec::new();
    ["crates", "python", "scripts", "tests"]
        .iter()
        .map(|f| root.join(f))
        .filter(|f| f.exists())
        .for_each(|f| files(&f, &mut all));
    let named = |path: PathBuf| (path.strip_prefix(&root).unwrap().to_string_lossy().into_owned(), path);
    let of_kind = all.into_iter().filter(|path| path.extension().is_some_and(|e| e == extension)).map(named);
    of_kind.map(|(name, path)| (name, read(&path))).collect()
}

/// The manifests by the folder of their crate.
fn manifests() -> BTreeMap<String, toml::Table> {
    let entries = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let crates = entries.filter(|path| path.join("Cargo.toml").exists());
    let manifest = |path: PathBuf| {
        (path.file_name().unwrap().to_string_lossy().into_owned(), read(&path.join("Cargo.toml")).parse().unwrap())
    };
    crates.map(manifest).collect()
}

/// The names under which a manifest has dependencies, those for some targets included and those of its tests left out.
fn dependencies(manifest: &toml::Table) -> BTreeSet<String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let of_targets = targets.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_table);
    let tables = std::iter::once(manifest).chain(of_targets);
    let named = |table: &toml::Table| ["dependencies", "build-dependencies"].map(|name| table.get(name).cloned());
    let named = tables.flat_map(named).flatten();
    named
        .filter_map(|table| table.as_table().cloned())
        .flat_map(|table| table.keys().cloned().collect::<Vec<_>>())
        .collect()
}

#[test]
fn crates_depend_on_no_crate_above_them() {
    for (name, manifest) in manifests() {
        let wall = WALLS.iter().find(|(of, _)| *of == name);
        let (_, allowed) = wall.unwrap_or_else(|| panic!("crates/{name} has no place among the walls"));
        for dependency in dependencies(&manifest) {
            let Some(ours) = dependency.strip_prefix("schedlab-") else { continue };
            assert!(allowed.contains(&ours), "crates/{name} must not depend on {ours}");
        }
    }
}

#[test]
fn a_policy_has_nothing_but_the_model() {
    assert_eq!(dependencies(&manifests()["policies"]), BTreeSet::from(["schedlab-model".to_owned()]));
    for (path, text) in code("rs").into_iter().filter(|(path, _)| path.starts_with("crates/policies/src/")) {
        for name in ["std::time", "std::fs", "std::thread", "std::net", "std::env", "std::process", "model::rng"] {
            assert!(!text.contains(name), "{path} must not use {name}");
        }
    }
}

#[test]
fn libraries_of_one_purpose_stay_in_the_crates_that_have_it() {
    for (name, manifest) in manifests() {
        for dependency in dependencies(&manifest) {
            let reserved = RESERVED.iter().find(|(library, _)| *library == dependency);
            assert!(
                reserved.is_none_or(|(_, users)| users.contains(&name.as_str())),
                "crates/{name} uses {dependency}"
            );
        }
    }
}

#[test]
fn unsafe_code_is_forbidden_except_in_linux_python_and_the_names_of_web() {
    let workspace: toml::Table = read(&root().join("Cargo.toml")).parse().unwrap();
    assert_eq!(workspace["workspace"]["lints"]["rust"]["unsafe_code"].as_str(), Some("forbid"));
    let others = ["linux", "python", "web"];
    for (name, manifest) in manifests().into_iter().filter(|(name, _)| !others.contains(&name.as_str())) {
        let inherits = manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(toml::Value::as_bool);
        assert_eq!(inherits, Some(true), "crates/{name} does not inherit the lints");
    }
    assert_eq!(manifests()["web"]["lints"]["rust"]["unsafe_code"].as_str(), Some("deny"));
    for (path, text) in code("rs").into_iter().filter(|(path, _)| path.starts_with("crates/web/src/")) {
        let names = text.matches("#[unsafe(no_mangle)]").count();
        let (of_names, all) = (if path.ends_with("/module.rs") { 3 } else { 0 }, text.matches("unsafe").count());
        // The names, and the line that allows them.
        assert_eq!((names, all), (of_names, if of_names > 0 { of_names + 1 } else { 0 }), "{path}");
    }
}

/// The paths that a `use` tree or a path names, and how many bytes it takes: `a::{b, c::d}` names `a::b` and `a::c::d`.
fn paths(text: &str) -> (Vec<String>, usize) {
    let blanks = |text: &str| text.len() - text.trim_start().len();
    let start = blanks(text);
    if text[start..].starts_with('{') {
        let (mut all, mut at) = (Vec::new(), start + 1);
        loop {
            let (inner, taken) = paths(&text[at..]);
            all.extend(inner);
            at += taken + text[at + taken..].find([',', '}']).unwrap_or(0);
            if !text[at..].starts_with(',') {
                return (all, at + 1);
            }
            at += 1;
        }
    }
    let of_name = |c: char| c.is_alphanumeric() || c == '_';
    let end = text[start..].find(|c| !of_name(c)).map_or(text.len(), |length| start + length);
    let name = &text[start..end];
    match text[end..].strip_prefix("::") {
        Some(rest) => {
            let (inner, taken) = paths(rest);
            (inner.into_iter().map(|path| format!("{name}::{path}")).collect(), end + 2 + taken)
        }
        None => (vec![name.to_owned()], end),
    }
}

/// The modules of a crate that each module names, by their paths. That a module names the one around it is left out.
fn named_modules(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let folder = format!("crates/{name}/src/");
    let modules: BTreeMap<String, String> = code("rs")
        .into_iter()
        .filter_map(|(path, text)| {
            let module =
                path.strip_prefix(&folder)?.trim_end_matches(".rs").trim_end_matches("mod").trim_end_matches('/');
            Some((module.replace('/', "::"), text))
        })
        .collect();
    let of = |module: &String, text: &String| {
        let tested = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = tested.lines().map(|line| line.split("//").next().unwrap_or_default());
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        let around = module.rsplit_once("::").map_or("", |(around, _)| around);
        let mut named = BTreeSet::new();
        for (word, base) in [("crate::", ""), ("super::", around)] {
            for (at, _) in text.match_indices(word).filter(|(at, _)| !text[..*at].ends_with("super::")) {
                for path in paths(&text[at + word.len()..]).0 {
                    let mut path = if base.is_empty() { path } else { format!("{base}::{path}") };
                    while !modules.contains_key(&path) && !path.is_empty() {
                        path = path.rsplit_once("::").map_or(String::new(), |(around, _)| around.to_owned());
                    }
                    named.insert(path);
                }
            }
        }
        named.retain(|other| !other.is_empty() && other != module && other != around);
        (module.clone(), named)
    };
    modules.iter().map(|(module, text)| of(module, text)).collect()
}

#[test]
fn no_two_modules_of_a_crate_need_each_other() {
    assert!(named_modules("agent").values().any(|all| !all.is_empty()), "what modules name is not found");
    for name in manifests().keys() {
        let named = named_modules(name);
        for module in named.keys() {
            let (mut seen, mut left) = (BTreeSet::new(), vec![module]);
            while let Some(next) = left.pop() {
                let new: Vec<&String> = named[next].iter().filter(|other| !seen.contains(other)).collect();
                assert!(!new.contains(&module), "crates/{name}: {module} needs {next}, which needs {module}");
                seen.extend(new.iter().copied());
                left.extend(new);
            }
        }
    }
}

#[test]
fn no_file_is_a_drawer_for_odds_and_ends() {
    for extension in ["rs", "py"] {
        for path in code(extension).into_keys() {
            let drawers = ["util", "utils", "helper", "helpers", "common", "misc"];
            let drawer = Path::new(&path).with_extension("").iter().any(|part| drawers.iter().any(|d| part == *d));
            assert!(!drawer, "{path} does not say what it is");
        }
    }
}

#[test]
fn every_file_begins_by_saying_what_it_is() {
    let ours = |path: &str| !path.contains("/examples/");
    for (path, text) in code("rs").into_iter().filter(|(path, _)| ours(path)) {
        assert!(text.starts_with("//! "), "{path} does not begin with //!");
    }
}

#[test]
fn long_files_and_functions_give_a_reason() {
    let of_rust = code("rs").into_iter().map(|(path, text)| (longest_function(&text, "fn ", true), path, text));
    let of_python = code("py").into_iter().map(|(path, text)| (longest_function(&text, "def ", false), path, text));
    for (function, path, text) in of_rust.chain(of_python) {
        let head: String = text.lines().take_while(|line| !line.is_empty()).collect();
        let lines = text.lines().count();
        let short = lines <= MOST_LINES && function <= MOST_LINES_OF_A_FUNCTION;
        assert!(
            short || head.contains(REASON),
            "{path} has {lines} lines and a function of {function}; its head gives no reason ({REASON:?})"
        );
    }
}

/// Lines of the longest function. A function ends where the indentation is again that of its beginning.
fn longest_function(text: &str, keyword: &str, closed_by_brace: bool) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let starts = |line: &str| {
        let words = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        let words = words.trim_start_matches("pub(super) ").trim_start_matches("const ").trim_start_matches("async ");
        words.starts_with(keyword)
    };
    let length = |start: usize| {
        let ends = |line: &&str| match closed_by_brace {
            true => line.trim_start().starts_with('}') && indent(line) == indent(lines[start]),
            false => {
                !line.trim().is_empty() && !line.trim_start().starts_with(')') && indent(line) <= indent(lines[start])
            }
        };
        // A signature without a body ends on its own line.
        if closed_by_brace && lines[start].trim_end().ends_with(';') {
            return 1;
        }
        lines[start + 1..].iter().position(ends).map_or(lines.len() - start, |n| n + 2)
    };
    (0..lines.len()).filter(|&n| starts(lines[n])).map(length).max().unwrap_or(0)
}

#[test]
fn a_policys_name_is_its_files_and_every_policy_is_in_the_table() {
    let folder = "crates/policies/src/schedulers/";
    let policies = code("rs")
        .into_iter()
        .filter(|(path, text)| path.starts_with(folder) && text.contains("\nimpl Scheduler for "));
    let mut named: BTreeSet<String> = BTreeSet::new();
    for (path, text) in policies {
        let stem = path.rsplit('/').next().unwrap().trim_end_matches(".rs").to_owned();
        assert!(text.contains(&format!("name: \"{stem}\",")), "{path} has another name than its file");
        assert!(text.starts_with(&format!("//! # {stem}\n")), "{path} does not begin with its name");
        assert!(text.contains(&format!("documentation!(\"{stem}.rs\")")), "{path} shows another file as its page");
        let camel: String = stem.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
        assert!(text.contains(&format!("\nimpl Scheduler for {camel} ")), "{path} does not name its type {camel}");
        named.insert(stem);
    }
    assert_eq!(named, SCHEDULERS.iter().map(|info| info.name.to_owned()).collect());
}
