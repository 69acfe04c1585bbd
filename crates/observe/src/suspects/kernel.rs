//! Softirqs and interrupts by kind, and packets that the protocols dropped since a queue was full.

use schedlab_linux::Root;
use std::collections::BTreeMap;

/// Counters of protocols that say that a queue was full: the file, the line, the name.
const DROPS: &[(&str, &str, &str)] = &[
    ("/proc/net/snmp", "Udp:", "RcvbufErrors"),
    ("/proc/net/snmp", "Udp:", "SndbufErrors"),
    ("/proc/net/netstat", "TcpExt:", "ListenDrops"),
    ("/proc/net/netstat", "TcpExt:", "TCPBacklogDrop"),
    ("/proc/net/netstat", "TcpExt:", "TCPRcvQDrop"),
];
/// Interrupts that are reported at most.
const MOST: usize = 5;

/// Counts by name; rates a second after [`Counts::since`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    /// By kind: NET_RX, TIMER ...
    pub softirqs: BTreeMap<String, f64>,
    /// By line of /proc/interrupts.
    pub interrupts: BTreeMap<String, f64>,
    /// By protocol and counter.
    pub dropped: BTreeMap<String, f64>,
}

/// Since boot.
pub fn read(root: &Root) -> Counts {
    let text = |path: &str| root.read(path).unwrap_or_default();
    let (snmp, netstat) = (text("/proc/net/snmp"), text("/proc/net/netstat"));
    let dropped = DROPS.iter().filter_map(|&(file, line, name)| {
        let text = if file.ends_with("snmp") { &snmp } else { &netstat };
        Some((format!("{line}{name}"), counter(text, line, name)?))
    });
    Counts {
        softirqs: by_line(&text("/proc/softirqs")),
        interrupts: by_line(&text("/proc/interrupts")),
        dropped: dropped.collect(),
    }
}

/// Lines "name: count count ... what it is", the counts added up over processors.
fn by_line(text: &str) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(':') else { continue };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let counts = words.iter().map_while(|word| word.parse::<u64>().ok());
        let (number, sum) = counts.fold((0, 0u64), |(number, sum), count| (number + 1, sum.saturating_add(count)));
        let about = words[number..].join(" ");
        found.insert(format!("{} {about}", name.trim()).trim().to_owned(), sum as f64);
    }
    found
}

/// Two lines of a protocol: names, then numbers.
fn counter(text: &str, line: &str, name: &str) -> Option<f64> {
    let mut lines = text.lines().filter_map(|it| it.strip_prefix(line));
    let place = lines.next()?.split_whitespace().position(|it| it == name)?;
    lines.next()?.split_whitespace().nth(place)?.parse().ok()
}

impl Counts {
    /// By how much they grew a second: of interrupts those that came most often.
    pub fn since(&self, was: &Counts, seconds: f64) -> Counts {
        let rates = |now: &BTreeMap<String, f64>, was: &BTreeMap<String, f64>| -> BTreeMap<String, f64> {
            let rate = |(name, now): (&String, &f64)| {
                let grown = now - was.get(name)?;
                (grown > 0.0 && seconds > 0.0).then(|| (name.clone(), grown / seconds))
            };
            now.iter().filter_map(rate).collect()
        };
        let interrupts = rates(&self.interrupts, &was.interrupts);
        let mut most: Vec<(String, f64)> = interrupts.into_iter().collect();
        most.sort_by(|a, b| b.1.total_cmp(&a.1));
        most.truncate(MOST);
        Counts {
            softirqs: rates(&self.softirqs, &was.softirqs),
            interrupts: most.into_iter().collect(),
            dropped: rates(&self.dropped, &was.dropped),
        }
    }
}
