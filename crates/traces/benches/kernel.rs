//! Reads recordings of kernels: events a second, and the most memory that was needed.
//!
//! `cargo bench -p schedlab-traces --features zstd --bench kernel -- FILE ...` reads each file three times (perf.data, trace.dat). Without a
//! file, it repeats the events of a small recording by perf until they have 2 GB, and reads these.

use schedlab_traces::kernel::{Event, Head, Kind, Listener, ReadError, dat, perf};
use std::{
    env,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    time::Instant,
};

/// Bytes of records that are written.
const LENGTH: u64 = 2_000_000_000;

/// Counts, and looks at every event.
#[derive(Default)]
struct Count {
    events: u64,
    switches: u64,
    sum: u64,
}

impl Listener for Count {
    #[inline]
    fn event(&mut self, event: &Event) {
        self.events += 1;
        self.switches += u64::from(event.kind == Kind::Switch);
        self.sum = self.sum.wrapping_add(event.time ^ event.value ^ event.task as u64);
    }

    fn name(&mut self, _: u64, _: &str) {}
}

fn read(path: &Path, count: &mut Count) -> Result<Head, ReadError> {
    match dat::read(File::open(path)?, count) {
        Err(ReadError::Wrong { .. }) => perf::read(File::open(path)?, count),
        read => read,
    }
}

/// The most memory that this process needed, MB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// A word of 8 bytes.
fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

/// Writes a recording that has the samples of a small one again and again, later each time, with the end of a round after each.
fn repeat(into: &Path) -> io::Result<()> {
    let small = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/file.perf"))?;
    let (begin, length) = (word(&small, 40) as usize, word(&small, 48) as usize);
    let mut samples = Vec::new();
    let mut at = begin;
    while at < begin + length {
        let size = usize::from(u16::from_ne_bytes([small[at + 6], small[at + 7]]));
        if small[at] == 9 {
            samples.push(small[at..at + size].to_vec());
        }
        at += size;
    }
    // Behind its head, a sample has id, address, task and time.
    let times = || samples.iter().map(|sample| word(sample, 32));
    let span = times().max().unwrap_or(0) - times().min().unwrap_or(0) + 1;
    let mut file = BufWriter::with_capacity(1 << 20, File::create(into)?);
    file.write_all(&small[..begin])?;
    let mut written = 0;
    for turn in 0.. {
        for sample in &samples {
            file.write_all(&sample[..32])?;
            file.write_all(&(word(sample, 32) + turn * span).to_ne_bytes())?;
            file.write_all(&sample[40..])?;
            written += sample.len() as u64;
        }
        file.write_all(&[68, 0, 0, 0, 0, 0, 8, 0])?;
        written += 8;
        if written >= LENGTH {
            break;
        }
    }
    // The sections behind the data move with their end.
    let moved = begin as u64 + written - (begin + length) as u64;
    let (table, rest) = small[begin + length..].split_at(16 * features(&small));
    for section in table.chunks_exact(16) {
        file.write_all(&(word(section, 0) + moved).to_ne_bytes())?;
        file.write_all(&section[8..])?;
    }
    file.write_all(rest)?;
    let mut file = file.into_inner().map_err(io::Error::other)?;
    io::Seek::seek(&mut file, io::SeekFrom::Start(48))?;
    file.write_all(&written.to_ne_bytes())
}

/// How many sections of features a file has.
fn features(file: &[u8]) -> usize {
    file[72..104].iter().map(|byte| byte.count_ones() as usize).sum()
}

fn main() {
    let mut files: Vec<PathBuf> = env::args_os().skip(1).filter(|word| word != "--bench").map(PathBuf::from).collect();
    let made = files.is_empty().then(|| env::temp_dir().join(format!("schedlab-bench-{}.perf", std::process::id())));
    if let Some(made) = &made {
        repeat(made).expect("a recording can be written");
        files.push(made.clone());
    }
    for path in &files {
        for _ in 0..3 {
            let (begin, mut count) = (Instant::now(), Count::default());
            let head = read(path, &mut count).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
            let seconds = begin.elapsed().as_secs_f64();
            let (recorded, lost) = (head.recorded.values().map(|it| it.events).sum::<u64>(), head.lost());
            println!(
                "{}: {recorded} events, {} switches, {lost} lost, {:.1} M events/s, {} MB ({:x})",
                path.display(),
                count.switches,
                recorded as f64 / seconds / 1e6,
                peak(),
                count.sum ^ count.events
            );
        }
    }
    if let Some(made) = made {
        let _ = fs::remove_file(made);
    }
}
