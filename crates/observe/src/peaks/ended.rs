//! Ends of processes with their peaks, exact: the kernel's records (taskstats), and the program that each process ran.

use super::{
    events::Events,
    images::{Images, Running},
    line::{End, Gap, Line},
};
use crate::accounting::{exits::Exits, record::Record};
use schedlab_linux::{Fault, Root, clock::wall_clock};
use std::{
    os::fd::{AsFd, BorrowedFd},
    rc::Rc,
};

/// Listens to them.
#[derive(Debug)]
pub struct Ends {
    exits: Exits,
    events: Result<Events, Fault>,
    images: Images,
    /// Something was lost: the images have to be compared with the processes that live.
    stale: bool,
    /// Processes that ended, and of them those whose arguments were not known.
    pub counted: [u64; 2],
}

impl Ends {
    /// Listens from now on. Needs CAP_NET_ADMIN; without process events, programs are learned by scans.
    pub fn listen(root: &Root) -> Result<Ends, Fault> {
        let exits = Exits::listen(&root.read("/sys/devices/system/cpu/possible").unwrap_or_default())?;
        let events = Events::listen();
        Ok(Ends { exits, events, images: Images::of_living(root), stale: false, counted: [0; 2] })
    }

    /// Why there are no process events, where there are none.
    pub fn without_events(&self) -> Option<&Fault> {
        self.events.as_ref().err()
    }

    /// Readable when a process begins a program, whose arguments have to be read at once.
    pub fn urgent(&self) -> Option<BorrowedFd<'_>> {
        self.events.as_ref().ok().map(AsFd::as_fd)
    }

    /// Readable when a task has ended, which may wait.
    pub fn patient(&self) -> BorrowedFd<'_> {
        self.exits.as_fd()
    }

    /// Takes up what processes have begun.
    pub fn note(&mut self, give: impl FnOnce(&Line<'_>)) {
        let Ok(events) = &mut self.events else { return };
        events.read(|event| self.images.take(event));
        if std::mem::take(&mut events.lost) {
            give(&Line::Gap(Gap { time_ns: wall_clock(), what: "programs" }));
            self.stale = true;
        }
    }

    /// Gives the ends that have come. A program is noted before the end of its process is looked at.
    pub fn read(&mut self, mut give: impl FnMut(&Line<'_>)) {
        self.exits.read();
        self.note(&mut give);
        let time_ns = wall_clock();
        for record in std::mem::take(&mut self.exits.records) {
            self.take(&record, time_ns, &mut give);
        }
        if std::mem::take(&mut self.exits.lost) {
            give(&Line::Gap(Gap { time_ns, what: "ends" }));
            self.stale = true;
        }
        if std::mem::take(&mut self.exits.unreadable) {
            give(&Line::Gap(Gap { time_ns, what: "records" }));
        }
        // A scan forgets what is gone, so it comes after the ends.
        if std::mem::take(&mut self.stale) || self.events.is_err() {
            self.images.scan();
        }
    }

    fn take(&mut self, record: &Record, time_ns: u64, give: &mut impl FnMut(&Line<'_>)) {
        let process = record.process.unwrap_or(record.pid);
        // Kernels that do not report the last task: every task counts as a process. A task of the kernel has no memory.
        if !record.last.unwrap_or(true) || record.peak_bytes == 0 {
            return;
        }
        let mut running = self.images.remove(process).filter(|running| is_of(running, record)).unwrap_or_default();
        if running.image.file.is_none()
            && let Some(image) = record.file.and_then(|inode| self.images.by_file(inode, record.name.bytes()))
        {
            running.image = Rc::new(image);
        }
        self.counted[0] += 1;
        self.counted[1] += u64::from(running.image.arguments.is_none());
        give(&Line::Process(end(record, process, &running, time_ns)));
    }
}

/// Whether a process still ran the program that is known of it. Without process events it may have begun another one.
fn is_of(running: &Running, record: &Record) -> bool {
    running.image.file.zip(record.file).is_none_or(|(file, inode)| file.inode == inode)
}

fn end<'a>(record: &Record, process: u32, running: &'a Running, time_ns: u64) -> End<'a> {
    let image = &running.image;
    End {
        time_ns,
        pid: process,
        user: record.user,
        name: record.name.to_string(),
        path: image.path.as_deref(),
        file: image.file,
        arguments: image.arguments.as_deref(),
        folder: image.folder.as_deref(),
        forked: running.forked,
        parent: running.parent.as_deref(),
        group: image.group.as_deref(),
        peak_bytes: record.peak_bytes,
        peak_virtual_bytes: record.peak_virtual_bytes,
        elapsed_ns: record.process_elapsed_ns.unwrap_or(record.elapsed_ns),
        status: Some(record.status),
        how: "taskstats",
    }
}
