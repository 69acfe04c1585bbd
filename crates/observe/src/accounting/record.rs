//! The kernel's record of a task that has ended (`struct taskstats`). It grows at its end from version to version, so the
//! offset of a field never changes. Only version 15 (Linux 6.14) inserted fields in between: it is not read.

use crate::sample::Name;

/// Offsets in bytes, each with the version that brought the field.
const STATUS: usize = 4;
const FLAGS: usize = 8;
const CPU_DELAY: Field = (24, 1);
const DISK_DELAY: Field = (40, 1);
const SWAP_IN_DELAY: Field = (56, 1);
const RAN: Field = (72, 1);
const NAME: std::ops::Range<usize> = 80..112;
const USER: usize = 120;
const PID: usize = 128;
const PARENT: usize = 132;
const ELAPSED_US: Field = (144, 3);
const USER_US: Field = (152, 3);
const SYSTEM_US: Field = (160, 3);
const MINOR_FAULTS: Field = (168, 3);
const MAJOR_FAULTS: Field = (176, 3);
const PEAK_KIB: Field = (200, 3);
const PEAK_VIRTUAL_KIB: Field = (208, 3);
const READ_CALLS_BYTES: Field = (216, 3);
const WRITE_CALLS_BYTES: Field = (224, 3);
const READ_BYTES: Field = (248, 3);
const WRITE_BYTES: Field = (256, 3);
const VOLUNTARY: Field = (272, 4);
const INVOLUNTARY: Field = (280, 4);
const RECLAIM_DELAY: Field = (320, 7);
const THRASHING_DELAY: Field = (336, 9);
const COMPACTION_DELAY: Field = (360, 11);
const PROCESS: (usize, u16) = (368, 12);
const PROCESS_ELAPSED_US: Field = (376, 12);
const PROGRAM_FILE: Field = (392, 12);
const COPY_DELAY: Field = (408, 13);
/// Of the flags: the last task of its process (AGROUP), since the version that names the process.
const LAST: u8 = 0x20;
/// Fields have other offsets in this version.
const MISPLACED: u16 = 15;
/// Before this version there are no task numbers in it.
const OLDEST: u16 = 3;

/// Waits and lives are measured by different clocks: by so much, and a thousandth, a wait may seem longer than the life of its task.
const CLOCKS_DIFFER_NS: u64 = 10_000_000;

type Field = (usize, u16);

/// What the kernel kept of a task. Times in ns. None: this kernel does not report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Record {
    /// Of its program.
    pub name: Name,
    /// Its number.
    pub pid: u32,
    /// Number of its process; older kernels do not report it.
    pub process: Option<u32>,
    /// Number of the process that would have been notified of its end.
    pub parent: u32,
    /// Number of the user.
    pub user: u32,
    /// As wait(2) gives it.
    pub status: u32,
    /// Whether its process ended with it; older kernels do not report it.
    pub last: Option<bool>,
    /// Inode of its program's file; older kernels do not report it.
    pub file: Option<u64>,
    /// From its creation to its end.
    pub elapsed_ns: u64,
    /// From the creation of its process to the end of this task.
    pub process_elapsed_ns: Option<u64>,
    /// Processor time, exact; without delay accounting the sum of the next two.
    pub ran_ns: u64,
    /// As ticks saw it.
    pub user_ns: u64,
    /// As ticks saw it.
    pub system_ns: u64,
    /// Able to run, and not running.
    pub processor_delay_ns: u64,
    /// Waiting for a drive, for swapped-out pages included.
    pub disk_delay_ns: u64,
    /// Waiting for pages to come in that were thrown out too early: swap-in and thrashing.
    pub refault_delay_ns: u64,
    /// In reclaim of memory for its own demands, running or waiting.
    pub reclaim_ns: Option<u64>,
    /// In making memory contiguous.
    pub compaction_ns: Option<u64>,
    /// In copying pages that it shared.
    pub copy_ns: Option<u64>,
    /// Page faults without and with waiting for a drive.
    pub faults: [u64; 2],
    /// Largest resident memory, bytes. It is the memory's, which all tasks of a process share; exec begins another one.
    pub peak_bytes: u64,
    /// Largest mapped memory, bytes.
    pub peak_virtual_bytes: u64,
    /// Bytes by system calls: read, written.
    pub call_bytes: [u64; 2],
    /// Bytes from and to drives.
    pub drive_bytes: [u64; 2],
    /// Context switches, voluntary and not.
    pub switches: [u64; 2],
}

impl Record {
    /// Whether it waited longer than it lived, which cannot be. Linux notes when a wait begins only while it counts (`delayacct_blkio_start` and
    /// the others, 6.18): turned on during the first wait of a kind, it takes that one to have begun with the machine.
    pub fn waits_longer_than_it_lives(&self) -> bool {
        let life = self.elapsed_ns.saturating_add(self.elapsed_ns / 1000).saturating_add(CLOCKS_DIFFER_NS);
        let others = [self.reclaim_ns, self.compaction_ns, self.copy_ns].into_iter().flatten();
        others.chain([self.disk_delay_ns, self.refault_delay_ns]).any(|wait| wait > life)
    }

    /// Reads a record; none if it is of a version that is not known to be laid out like this, or too short.
    pub fn read(bytes: &[u8]) -> Option<Record> {
        let version = u16::from_ne_bytes(*bytes.first_chunk()?);
        if !(OLDEST..).contains(&version) || version == MISPLACED {
            return None;
        }
        let word = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        let field = |(at, since): Field| {
            let value = u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?);
            (version >= since).then_some(value)
        };
        let or_none = |it: Field| field(it).unwrap_or(0);
        let ns = |it: Field| Some(field(it)?.saturating_mul(1000));
        let (user_ns, system_ns) = (ns(USER_US)?, ns(SYSTEM_US)?);
        let name = bytes.get(NAME)?;
        Some(Record {
            name: Name::new(name.split(|&byte| byte == 0).next().unwrap_or(name)),
            pid: word(PID)?,
            process: word(PROCESS.0).filter(|_| version >= PROCESS.1),
            parent: word(PARENT)?,
            user: word(USER)?,
            status: word(STATUS)?,
            last: Some(bytes.get(FLAGS)? & LAST != 0).filter(|_| version >= PROCESS.1),
            file: field(PROGRAM_FILE).filter(|&inode| inode > 0),
            elapsed_ns: ns(ELAPSED_US)?,
            process_elapsed_ns: ns(PROCESS_ELAPSED_US),
            ran_ns: Some(field(RAN)?).filter(|&ran| ran > 0).unwrap_or(user_ns.saturating_add(system_ns)),
            user_ns,
            system_ns,
            processor_delay_ns: field(CPU_DELAY)?,
            disk_delay_ns: field(DISK_DELAY)?,
            refault_delay_ns: field(SWAP_IN_DELAY)?.saturating_add(or_none(THRASHING_DELAY)),
            reclaim_ns: field(RECLAIM_DELAY),
            compaction_ns: field(COMPACTION_DELAY),
            copy_ns: field(COPY_DELAY),
            faults: [or_none(MINOR_FAULTS), or_none(MAJOR_FAULTS)],
            peak_bytes: or_none(PEAK_KIB).saturating_mul(1024),
            peak_virtual_bytes: or_none(PEAK_VIRTUAL_KIB).saturating_mul(1024),
            call_bytes: [or_none(READ_CALLS_BYTES), or_none(WRITE_CALLS_BYTES)],
            drive_bytes: [or_none(READ_BYTES), or_none(WRITE_BYTES)],
            switches: [or_none(VOLUNTARY), or_none(INVOLUNTARY)],
        })
    }
}
