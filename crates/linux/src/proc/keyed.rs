//! Files of lines "key value": /proc/meminfo, /proc/vmstat, the counts in /proc/stat, the flat files of control groups.

use super::text::{lines, number, words};

/// A key, and the counter that its value is added to. A key that ends with `*` matches by prefix: old kernels
/// count by zone (`pgscan_kswapd_normal`) what newer ones count in one.
pub type Key = (&'static str, usize);

/// The counters of a file. A counter whose key the file does not have is none; several keys of one counter add up.
pub fn read<const N: usize>(text: &[u8], keys: &[Key]) -> [Option<u64>; N] {
    let mut counters = [None; N];
    for line in lines(text) {
        let mut words = words(line);
        let Some(name) = words.next() else { continue };
        let name = name.strip_suffix(b":").unwrap_or(name);
        let Some(&(_, at)) = keys.iter().find(|(key, _)| names(key, name)) else { continue };
        if let (Some(value), Some(counter)) = (words.next().and_then(number), counters.get_mut(at)) {
            *counter = Some(counter.unwrap_or(0u64).saturating_add(value));
        }
    }
    counters
}

fn names(key: &str, name: &[u8]) -> bool {
    match key.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning.as_bytes()),
        None => name == key.as_bytes(),
    }
}
