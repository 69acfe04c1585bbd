//! What a volume's device has done: the kernel's counters of the device, those of the modelled drive below it if there is one,
//! and the host's pages in and out of swap areas.

use schedlab_linux::Root;
use std::path::Path;

/// Bytes of the unit in which the kernel counts.
const SECTOR: u64 = 512;

/// One reading. What this kernel does not report is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// When, ns of the monotonic clock.
    pub at: u64,
    /// Requests done.
    pub requests: Option<u64>,
    /// Bytes read and written.
    pub bytes: [Option<u64>; 2],
    /// Time that requests took from being queued to their end, all together, ms.
    pub waited_ms: Option<u64>,
    /// Time with a request at the device, ns.
    pub busy_ns: Option<u64>,
    /// Requests and bytes that came to the modelled drive.
    pub drive: Option<[u64; 2]>,
    /// Pages read from and written to swap areas.
    pub swapped: [Option<u64>; 2],
}

/// What was done between two readings, as the metrics have it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Done {
    /// Of the device or, where one is modelled, of the drive.
    pub requests: Option<f64>,
    /// Of the same.
    pub bytes: Option<f64>,
    /// Percent of the time.
    pub busy: Option<f64>,
    /// Mean time of a request, s; none without a request.
    pub wait: Option<f64>,
    /// KiB read and written for files.
    pub file_kib: [Option<f64>; 2],
    /// Blocks of 512 B a second read and written for files.
    pub blocks: [Option<f64>; 2],
    /// Pages in and out.
    pub swapped: [Option<f64>; 2],
}

impl Counts {
    /// Reads those of a block device, such as `loop3`, and of the drive, from the text of its `control` file.
    pub fn read(root: &Root, device: &str, control: Option<&str>, at: u64) -> Counts {
        let text = root.read(Path::new("/sys/block").join(device).join("stat")).unwrap_or_default();
        let vmstat = root.read("/proc/vmstat").unwrap_or_default();
        let page = |name: &str| {
            let mut lines = vmstat.lines();
            lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        };
        Counts { at, swapped: [page("pswpin "), page("pswpout ")], ..Counts::parse(&text, control) }
    }

    /// `stat` of the block layer: reads, merged, sectors, ms; the same of writes; in flight, busy ms, waited ms.
    fn parse(stat: &str, control: Option<&str>) -> Counts {
        let columns: Vec<Option<u64>> = stat.split_ascii_whitespace().take(11).map(|word| word.parse().ok()).collect();
        let column = |n: usize| columns.get(n).copied().flatten();
        let both = |a: usize, b: usize| Some(column(a)?.saturating_add(column(b)?));
        let bytes = |n: usize| column(n).map(|sectors| sectors.saturating_mul(SECTOR));
        let drive: Option<Vec<u64>> =
            control.and_then(|text| text.split_ascii_whitespace().map(|word| word.parse().ok()).collect());
        let drive = drive.and_then(|numbers| <[u64; 3]>::try_from(numbers).ok());
        Counts {
            requests: both(0, 4),
            bytes: [bytes(2), bytes(6)],
            waited_ms: both(3, 7),
            busy_ns: drive.map(|[_, _, busy]| busy).or(column(9).map(|ms| ms.saturating_mul(1_000_000))),
            drive: drive.map(|[requests, bytes, _]| [requests, bytes]),
            ..Counts::default()
        }
    }

    /// What was done since an earlier reading; `page` is the size of a page.
    pub fn since(&self, earlier: &Counts, page: u64) -> Done {
        let grown = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?) as f64);
        let seconds = self.at.saturating_sub(earlier.at).max(1) as f64 / 1e9;
        let swapped = [0, 1].map(|way| grown(self.swapped[way], earlier.swapped[way]));
        let moved = [0, 1].map(|way| grown(self.bytes[way], earlier.bytes[way]));
        // A swap area elsewhere on this host counts here too; then less is left than was moved for files.
        let of_files = [0, 1].map(|way| Some((moved[way]? - swapped[way].unwrap_or(0.0) * page as f64).max(0.0)));
        let drive = |which: usize| grown(self.drive.map(|all| all[which]), earlier.drive.map(|all| all[which]));
        let requests = grown(self.requests, earlier.requests);
        let waited = grown(self.waited_ms, earlier.waited_ms);
        Done {
            requests: drive(0).or(requests),
            bytes: drive(1).or(moved[0].zip(moved[1]).map(|(read, written)| read + written)),
            busy: grown(self.busy_ns, earlier.busy_ns).map(|ns| (100.0 * ns / 1e9 / seconds).min(100.0)),
            wait: waited.zip(requests.filter(|&n| n > 0.0)).map(|(ms, requests)| ms / 1000.0 / requests),
            file_kib: of_files.map(|bytes| Some(bytes? / 1024.0)),
            blocks: of_files.map(|bytes| Some(bytes? / 512.0 / seconds)),
            swapped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_pages_are_not_moved_for_files_and_the_modelled_drive_knows_its_requests_better() {
        let then = Counts::parse("10 0 100 50 0 0 0 0 0 5 50", Some("10 51200 0"));
        let now = Counts::parse("30 0 1124 1050 0 0 0 0 0 505 1050", Some("20 575488 1500000000"));
        let at = |counts, at, pages| Counts { at, swapped: [Some(pages), Some(0)], ..counts };
        let done = at(now, 2_000_000_000, 64).since(&at(then, 0, 0), 4096);
        assert_eq!((done.requests, done.bytes), (Some(10.0), Some(524_288.0)));
        assert_eq!((done.busy, done.wait), (Some(75.0), Some(0.05)));
        assert_eq!((done.file_kib[0], done.blocks[0]), (Some(256.0), Some(256.0)));
    }

    #[test]
    fn nonsense_is_nothing() {
        let counts = Counts::parse("x 1 -3", Some("1 2"));
        assert_eq!(counts, Counts { ..Counts::default() });
    }
}
