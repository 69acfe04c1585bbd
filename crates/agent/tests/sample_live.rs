//! The sampler on the host itself, and the agent that runs it.

use schedlab_linux::Root;
use schedlab_observe::sample::{By, Chosen, Line, Sampler, Wanted};
use serde_json::Value;
use std::{fs, process::Command, thread::sleep, time::Duration};

fn everything() -> Wanted {
    let tasks = Some(Chosen { most: 5, by: By::Cpu, named: Vec::new() });
    Wanted { interrupts: Some(1), nice: true, tasks, groups: Vec::new() }
}

#[test]
fn on_this_host_shares_make_a_hundred_and_counters_grow_as_the_file_says() {
    let mut sampler = Sampler::new(&Root::default(), everything()).unwrap();
    let switches = || {
        let text = fs::read_to_string("/proc/stat").unwrap();
        text.lines().find_map(|line| line.strip_prefix("ctxt ")).unwrap().parse::<u64>().unwrap()
    };
    let began = std::time::Instant::now();
    let nanos = || began.elapsed().as_nanos() as u64;
    let outer = switches();
    sampler.sample(nanos());
    let inner = switches();
    let mut hog = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    sleep(Duration::from_millis(500));
    let inner = switches() - inner;
    sampler.sample(nanos());
    let outer = switches() - outer;
    hog.kill().unwrap();
    hog.wait().unwrap();
    let (now, before) = sampler.last_two();
    let rates = now.rates(before);
    let shares =
        ["usr", "nice", "sys", "idl", "wai", "hiq", "siq", "stl"].map(|kind| rates.value(&format!("cpu.{kind}")));
    let sum: f64 = shares.iter().flatten().sum();
    assert!((sum - 100.0).abs() < 1e-6, "{shares:?}");
    let counted = rates.value("system.csw").unwrap() * rates.seconds();
    assert!((inner as f64..=outer as f64).contains(&counted.round()), "{inner} <= {counted} <= {outer}");
    let memory = |name: &str| rates.value(&format!("memory.{name}")).unwrap();
    assert_eq!(memory("used") + memory("buff") + memory("cach") + memory("free"), memory("total"));
    let mut line = Line::with_room(1000);
    rates.write(sampler.wanted(), 0, &mut line);
    let line: Value = serde_json::from_slice(line.bytes()).unwrap();
    let hog = line["tasks"].as_array().unwrap().iter().find(|task| task["pid"] == hog.id());
    assert!(hog.is_some_and(|hog| hog["name"] == "sh"), "the hog is among the five that use most: {}", line["tasks"]);
}

#[test]
fn the_agent_counts_the_samples_it_misses_and_ends_with_the_process_it_watches() {
    let agent = env!("CARGO_BIN_EXE_schedlab-agent");
    let mut sleeper = Command::new("sleep").arg("0.4").spawn().unwrap();
    let watch = ["sample", "--every", "10ms", "--until", &sleeper.id().to_string()];
    let done = Command::new(agent).args(watch).output().unwrap();
    sleeper.wait().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["type"], &lines[0]["interval_ns"]), (&"header".into(), &10_000_000.into()));
    let missed: u64 = lines[1..].iter().map(|line| line["missed"].as_u64().unwrap()).sum();
    let seconds: f64 = lines[1..].iter().map(|line| line["seconds"].as_f64().unwrap()).sum();
    let due = (lines.len() - 2) as u64 + missed;
    // Every due time was taken or missed; the last line is the end's.
    assert!(due.abs_diff((seconds * 100.0) as u64) <= 1, "{due} in {seconds} s");
    assert!(lines[1..].iter().all(|line| line["own_ns"].as_u64().unwrap() > 0));
}

#[test]
fn the_agent_refuses_what_it_cannot_do_in_one_line() {
    let agent = env!("CARGO_BIN_EXE_schedlab-agent");
    let tried = [
        (["--every", "1ms"], "10ms at least"),
        (["--with", "weather"], "there is interrupts"),
        (["--with", "tasks=0"], "above 0"),
        (["--with", "cgroup=/nowhere"], "no control group"),
        (["--until", "4000000"], "watching process"),
    ];
    for (arguments, reason) in tried {
        let done = Command::new(agent).arg("sample").args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}");
        assert!(said.contains(reason), "{arguments:?}: {said}");
    }
}
