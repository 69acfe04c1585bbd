//! The sampler: which files it keeps open, and one reading of all of them.

use super::{
    disks::{self, Disk, Drives},
    groups::{Files, Group},
    interrupts::{self, Interrupts},
    memory::{self, Memory, Paging},
    network::{self, Link},
    nice::Levels,
    open_file::{Missing, OpenFile},
    pressure::{self, Pressure},
    processors::{self, Load, System, Ticks},
    tasks::{self, Chosen, Scan, Task},
    tcp::Tcp,
};
use schedlab_linux::{
    Fault, Root,
    clock::thread_time,
    proc::{
        keyed,
        text::{lines, number},
    },
    process::units,
};
use schedlab_model::Nanos;

/// Processors that are reported of one by one at most.
const MOST_PROCESSORS: usize = 4096;

/// What is sampled in addition to the system's counters, pressure, drives and network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Each interrupt by itself, once per this number of samples: half the cost of all the rest.
    pub interrupts: Option<u32>,
    /// Loads by nice level. Every task is looked at, 10 to 30 microseconds each.
    pub nice: bool,
    /// Tasks. Likewise, unless only named ones are wanted.
    pub tasks: Option<Chosen>,
    /// Control groups, by the paths of /proc/PID/cgroup.
    pub groups: Vec<String>,
}

/// One reading of everything.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// When, ns of the caller's clock.
    pub at_ns: Nanos,
    /// Processor time that the sampling thread had used when it was done, ns.
    pub own_ns: Nanos,
    pub(super) all: Option<Ticks>,
    pub(super) each: Vec<Option<Ticks>>,
    pub(super) system: System,
    pub(super) load: Load,
    pub(super) memory: Memory,
    pub(super) paging: Paging,
    pub(super) pressure: [Pressure; 3],
    pub(super) disks: Vec<Disk>,
    pub(super) links: Vec<Link>,
    pub(super) tcp: Tcp,
    pub(super) interrupts: Interrupts,
    pub(super) groups: Vec<Group>,
    pub(super) levels: Levels,
    pub(super) tasks: Vec<Task>,
    pub(super) reported: Vec<u32>,
}

/// Reads the counters again and again.
pub struct Sampler {
    wanted: Wanted,
    missing: Vec<Missing>,
    stat: Option<OpenFile>,
    load: Option<OpenFile>,
    memory: Option<OpenFile>,
    paging: Option<OpenFile>,
    pressure: [Option<OpenFile>; 3],
    disks: Option<OpenFile>,
    drives: Drives,
    network: Option<OpenFile>,
    protocols: [Option<OpenFile>; 2],
    interrupts: Option<OpenFile>,
    groups: Vec<Files>,
    scan: Option<Scan>,
    taken: u64,
    now: Sample,
    before: Sample,
}

impl Sampler {
    /// Opens the files. One that this kernel does not have is remembered as missing; a control group that is not there is
    /// the caller's mistake.
    pub fn new(root: &Root, wanted: Wanted) -> Result<Sampler, Fault> {
        let mut missing = Vec::new();
        let mut open = |path: &str| match OpenFile::open(root, path) {
            Ok(open_file) => Some(open_file),
            Err(why) => {
                missing.push(Missing { what: path.to_owned(), why: why.to_string() });
                None
            }
        };
        let mut stat = open("/proc/stat");
        let present = stat.as_mut().and_then(OpenFile::read).map_or(0, listed_processors);
        let reported = root.read("/sys/devices/system/cpu/present").ok();
        let processors = reported.and_then(|list| processors::highest(&list)).map_or(present, |highest| highest + 1);
        let groups = wanted.groups.iter().map(|group| Files::open(root, group)).collect::<Result<Vec<_>, _>>()?;
        let chosen = wanted.tasks.clone();
        let scan = (wanted.nice || chosen.is_some()).then(|| Scan::new(root, chosen.unwrap_or_default(), units()));
        let room = if scan.is_some() { tasks::USUAL } else { 0 };
        let empty = || Sample {
            each: vec![None; processors.max(present).min(MOST_PROCESSORS)],
            disks: Vec::with_capacity(disks::MOST),
            links: Vec::with_capacity(network::MOST),
            interrupts: Interrupts { at_ns: 0, each: Vec::with_capacity(interrupts::MOST) },
            groups: Vec::with_capacity(groups.len()),
            tasks: Vec::with_capacity(room),
            reported: Vec::with_capacity(room),
            ..Sample::default()
        };
        Ok(Sampler {
            stat,
            load: open("/proc/loadavg"),
            memory: open("/proc/meminfo"),
            paging: open("/proc/vmstat"),
            pressure: ["/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io"].map(&mut open),
            disks: open("/proc/diskstats"),
            drives: Drives::new(root),
            network: open("/proc/net/dev"),
            protocols: ["/proc/net/snmp", "/proc/net/netstat"].map(&mut open),
            interrupts: wanted.interrupts.and_then(|_| open("/proc/interrupts")),
            scan: scan.transpose()?,
            taken: 0,
            now: empty(),
            before: empty(),
            groups,
            wanted,
            missing,
        })
    }

    /// What this kernel does not report, and why.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// What is sampled in addition to the system's counters.
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Reads everything, at that time of the caller's clock. Nothing is allocated, unless a file or the number of tasks
    /// has grown beyond its maximum so far.
    pub fn sample(&mut self, now_ns: Nanos) -> &Sample {
        std::mem::swap(&mut self.now, &mut self.before);
        let (now, before) = (&mut self.now, &self.before);
        now.at_ns = now_ns;
        (now.all, now.system) = match self.stat.as_mut().and_then(OpenFile::read) {
            Some(text) => processors::read(text, &mut now.each),
            None => (None, System::default()),
        };
        now.load = self.load.as_mut().and_then(OpenFile::read).map(processors::read_load).unwrap_or_default();
        now.memory = keys(&mut self.memory, memory::MEMORY_KEYS);
        now.paging = keys(&mut self.paging, memory::PAGING_KEYS);
        for (pressure, file) in now.pressure.iter_mut().zip(&mut self.pressure) {
            *pressure = file.as_mut().and_then(OpenFile::read).map(pressure::read).unwrap_or_default();
        }
        self.drives.read(self.disks.as_mut().and_then(OpenFile::read).unwrap_or_default(), &mut now.disks);
        network::read(self.network.as_mut().and_then(OpenFile::read).unwrap_or_default(), &mut now.links);
        now.tcp = Tcp::default();
        for text in self.protocols.iter_mut().filter_map(|file| file.as_mut()?.read()) {
            now.tcp.read(text);
        }
        let due = self.wanted.interrupts.is_some_and(|every| self.taken.is_multiple_of(u64::from(every.max(1))));
        if due {
            now.interrupts.at_ns = now_ns;
            let text = self.interrupts.as_mut().and_then(OpenFile::read).unwrap_or_default();
            interrupts::read(text, &mut now.interrupts.each);
        } else {
            now.interrupts.at_ns = before.interrupts.at_ns;
            now.interrupts.each.clone_from(&before.interrupts.each);
        }
        now.groups.clear();
        now.groups.extend(self.groups.iter_mut().map(Files::read));
        if let Some(scan) = &mut self.scan {
            now.levels = before.levels.clone();
            now.levels.begin();
            let levels = self.wanted.nice.then_some(&mut now.levels);
            scan.read(&before.tasks, levels, &mut now.tasks, &mut now.reported);
            now.levels.end(now_ns);
        }
        self.taken += 1;
        now.own_ns = thread_time();
        now
    }

    /// The last sample and the one before it.
    pub fn last_two(&self) -> (&Sample, &Sample) {
        (&self.now, &self.before)
    }
}

/// The number of processors in /proc/stat, by the highest number.
fn listed_processors(text: &[u8]) -> usize {
    let numbers = lines(text).filter_map(|line| line.strip_prefix(b"cpu")?.split(u8::is_ascii_whitespace).next());
    let highest = numbers.filter_map(number).max();
    highest.map_or(0, |highest| usize::try_from(highest).unwrap_or(MOST_PROCESSORS).min(MOST_PROCESSORS) + 1)
}

fn keys<const N: usize>(file: &mut Option<OpenFile>, keys: &[keyed::Key]) -> [Option<u64>; N] {
    file.as_mut().and_then(OpenFile::read).map_or([None; N], |text| keyed::read(text, keys))
}
