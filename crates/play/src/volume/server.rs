//! The modelled slow disk as a file: a FUSE file system of one large file, served one request at a time, each taking as long as
//! the drive of the description would. No library between us and `/dev/fuse`.
//!
//! It is a separate process outside the run's control groups. It outlives the process that started it until the file system is
//! unmounted. What it holds lies in a file without a name, so nothing is left when it ends. A second file, `control`, says what it
//! has done (`requests bytes busy_ns`) and takes its pace: `drive` during a measurement, `at once` before and after.
//! When its owner has died it serves without delay, so that unmounting is fast.

use super::{
    drive::Drive,
    fuse::{self, Asked, CONTROL, CONTROL_NAME, DISK, DISK_NAME, ROOT, Request},
};
use schedlab_linux::{Fault, clock, detached, pidfd, proc::task::start_of, sched, signals};

use nix::{
    errno::Errno,
    mount::{MsFlags, mount},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    unistd,
};
use schedlab_model::machine::Disk;
use std::{
    fs::{File, OpenOptions},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::fs::{FileExt, OpenOptionsExt},
    },
    path::PathBuf,
};

/// The paces, as `control` takes them: requests take as long as the drive would.
pub const AS_THE_DRIVE: &str = "drive";
/// It takes no time.
pub const AT_ONCE: &str = "at once";

/// A modelled disk to serve, and its owner.
#[derive(Debug)]
pub struct SlowDisk {
    /// Where to mount it.
    pub at: PathBuf,
    /// Folder of the unnamed file with its contents.
    pub folder: PathBuf,
    /// Its source in the table of mounts.
    pub source: String,
    /// Bytes.
    pub size: u64,
    /// The drive it is modelled on, as JSON.
    pub disk: String,
    /// The process that it serves.
    pub owner: i32,
    /// When that process started, in clock ticks since boot.
    pub start: u64,
}

impl SlowDisk {
    /// In a process of its own: serves it until it is unmounted. Returns whether it could be mounted; if not, the answer says why.
    pub fn serve(self) -> Result<bool, Fault> {
        use nix::sys::signal::Signal::{SIGHUP, SIGINT, SIGTERM};
        detached::settle();
        signals::ignore(&[SIGHUP, SIGINT, SIGTERM]);
        let mut server = match self.mount() {
            Ok(server) => server,
            Err(fault) => return detached::answer(&fault.to_string()).map(|()| false),
        };
        // An owner that died before this line found nothing mounted.
        if start_of(self.owner) != Some(self.start) {
            let _ = nix::mount::umount2(&self.at, nix::mount::MntFlags::MNT_DETACH);
            return Ok(true);
        }
        // What is refused makes it late at times, which its own numbers show.
        let _ = clock::exact_timers();
        sched::raise(0, 0);
        let pid = std::process::id() as i32;
        detached::answer(&format!("ready {pid} {}", start_of(pid).unwrap_or(0)))?;
        server.serve();
        Ok(true)
    }

    fn mount(&self) -> Result<Server, Fault> {
        let disk: Disk = serde_json::from_str(&self.disk).map_err(|why| Fault::Wrong(format!("the disk: {why}")))?;
        let mut nameless = OpenOptions::new();
        nameless.read(true).write(true).custom_flags(libc::O_TMPFILE).mode(0o600);
        let store =
            nameless.open(&self.folder).map_err(|why| Fault::file(&self.folder, "make a nameless file in", why))?;
        store.set_len(self.size).map_err(|why| Fault::file(&self.folder, "make a nameless file in", why))?;
        let kernel = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/fuse");
        let kernel = kernel.map_err(|why| Fault::Refused {
            what: "a modelled disk".to_owned(),
            why: format!("/dev/fuse: {why}"),
            advice: "run as root, on a kernel with FUSE".to_owned(),
        })?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", kernel.as_raw_fd());
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some(self.source.as_str()), &self.at, Some("fuse"), flags, Some(options.as_str()))
            .map_err(|why| Fault::file(&self.at, "mount a FUSE file system at", why.into()))?;
        Ok(Server {
            kernel,
            owner: pidfd::open(self.owner).ok(),
            store,
            size: self.size,
            drive: Drive::new(&disk),
            as_the_drive: false,
            free_at: 0,
            requests: 0,
            bytes: 0,
            busy_ns: 0,
            answer: Vec::with_capacity(fuse::LONGEST),
        })
    }
}

struct Server {
    kernel: File,
    /// Readable when the owner has died.
    owner: Option<OwnedFd>,
    store: File,
    size: u64,
    drive: Drive,
    as_the_drive: bool,
    /// When the drive was done with the last request, ns of the monotonic clock.
    free_at: u64,
    requests: u64,
    bytes: u64,
    busy_ns: u64,
    answer: Vec<u8>,
}

impl Server {
    /// Serves until the file system is unmounted.
    fn serve(&mut self) {
        let mut bytes = vec![0; fuse::LONGEST];
        loop {
            match unistd::read(&self.kernel, &mut bytes) {
                Ok(length) => {
                    let Some(request) = fuse::read(&bytes[..length]) else { continue };
                    if request.asked != Asked::Silence {
                        self.reply(&request);
                        // ENOENT: the requesting task has been killed.
                        let _ = unistd::write(&self.kernel, &self.answer);
                    }
                }
                Err(Errno::EAGAIN) => self.wait(),
                Err(Errno::EINTR | Errno::ENOENT) => {}
                // ENODEV: it has been unmounted.
                Err(_) => return,
            }
        }
    }

    /// Waits for a request. One that came while the drive was at work is served from the end of that work; this one from now.
    fn wait(&mut self) {
        let died = {
            let readable = |file| PollFd::new(file, PollFlags::POLLIN);
            let mut files = [readable(self.kernel.as_fd()), readable(self.kernel.as_fd())];
            if let Some(owner) = &self.owner {
                files[1] = readable(owner.as_fd());
            }
            let _ = poll(&mut files, PollTimeout::NONE);
            self.owner.is_some() && files[1].any() == Some(true)
        };
        if died {
            (self.owner, self.as_the_drive) = (None, false);
        }
        self.free_at = clock::now();
    }

    /// Writes the answer.
    fn reply(&mut self, request: &Request<'_>) {
        let mut answer = std::mem::take(&mut self.answer);
        fuse::begin(&mut answer, request.unique, 0);
        let done = match (&request.asked, request.file) {
            (Asked::Init, _) => {
                fuse::init(&mut answer);
                Ok(())
            }
            (Asked::Lookup(name), ROOT) => self.look_up(name, &mut answer),
            (Asked::Attributes, file @ (ROOT | DISK | CONTROL)) => {
                fuse::about(&mut answer, file, self.size_of(file));
                Ok(())
            }
            (Asked::Open, file @ (DISK | CONTROL)) => {
                fuse::opened(&mut answer, file);
                Ok(())
            }
            (Asked::Read { offset, size }, DISK) => self.read(*offset, *size, &mut answer),
            (Asked::Read { offset: 0, .. }, CONTROL) => {
                let text = format!("{} {} {}\n", self.requests, self.bytes, self.busy_ns);
                answer.extend_from_slice(text.as_bytes());
                Ok(())
            }
            (Asked::Read { .. }, CONTROL) | (Asked::Nothing, _) => Ok(()),
            (Asked::Write { offset, bytes }, DISK) => self.write(*offset, bytes, &mut answer),
            (Asked::Write { bytes, .. }, CONTROL) => self.set_pace(bytes, &mut answer),
            (Asked::Space, _) => {
                fuse::space(&mut answer, self.size);
                Ok(())
            }
            _ => Err(libc::ENOSYS),
        };
        if let Err(error) = done {
            fuse::begin(&mut answer, request.unique, error);
        }
        fuse::end(&mut answer);
        self.answer = answer;
    }

    fn size_of(&self, file: u64) -> u64 {
        if file == DISK { self.size } else { 0 }
    }

    fn look_up(&self, name: &[u8], answer: &mut Vec<u8>) -> Result<(), i32> {
        let names = [(DISK_NAME, DISK), (CONTROL_NAME, CONTROL)];
        let (_, file) = names.into_iter().find(|(known, _)| known.as_bytes() == name).ok_or(libc::ENOENT)?;
        fuse::entry(answer, file, self.size_of(file));
        Ok(())
    }

    fn read(&mut self, offset: u64, size: usize, answer: &mut Vec<u8>) -> Result<(), i32> {
        let size = (size as u64).min(self.size.saturating_sub(offset)) as usize;
        let head = answer.len();
        answer.resize(head + size, 0);
        self.store.read_exact_at(&mut answer[head..], offset).map_err(|_| libc::EIO)?;
        self.take_time(offset, size as u64);
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8], answer: &mut Vec<u8>) -> Result<(), i32> {
        if offset.saturating_add(bytes.len() as u64) > self.size {
            return Err(libc::ENOSPC);
        }
        self.store.write_all_at(bytes, offset).map_err(|_| libc::EIO)?;
        self.take_time(offset, bytes.len() as u64);
        fuse::written(answer, bytes.len());
        Ok(())
    }

    /// The time that the drive takes, from when it was free; what our own work took is part of it.
    fn take_time(&mut self, offset: u64, bytes: u64) {
        let service = self.drive.serve(offset, bytes);
        self.requests += 1;
        self.bytes += bytes;
        if self.as_the_drive {
            self.free_at += service;
            self.busy_ns += service;
            clock::sleep_until(self.free_at);
        }
    }

    fn set_pace(&mut self, bytes: &[u8], answer: &mut Vec<u8>) -> Result<(), i32> {
        let text = bytes.trim_ascii();
        self.as_the_drive = [(AS_THE_DRIVE, true), (AT_ONCE, false)]
            .into_iter()
            .find_map(|(name, pace)| (name.as_bytes() == text).then_some(pace))
            .ok_or(libc::EINVAL)?;
        self.free_at = clock::now();
        fuse::written(answer, bytes.len());
        Ok(())
    }
}
