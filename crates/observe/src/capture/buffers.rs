//! The kernel's buffers, a file for each processor: their pages are moved into files as they fill, without being copied through this
//! process (splice), so that a recording is bounded by the disk and not by memory.

use crate::tracing::instance::Instance;
use nix::{
    errno::Errno,
    fcntl::{FcntlArg, SpliceFFlags, fcntl, splice},
    unistd::pipe2,
};
use schedlab_linux::Fault;
use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Read, Seek, SeekFrom, Write},
    os::{fd::OwnedFd, unix::fs::OpenOptionsExt},
    path::Path,
};

/// Bytes that a pipe is asked to hold: the most that a user other than root gets.
const PIPE_BYTES: usize = 1 << 20;

/// The buffers of all processors.
#[derive(Debug)]
pub struct Buffers {
    all: Vec<Buffer>,
    /// What pages go through: a page goes from the kernel's buffer into it and from there into the file.
    pipe: (OwnedFd, OwnedFd),
    page: usize,
    /// Bytes of each buffer.
    capacity: u64,
}

/// That of one processor.
#[derive(Debug)]
pub struct Buffer {
    /// Its number.
    pub processor: u16,
    /// Where the kernel has its pages.
    source: File,
    /// Where they are kept.
    pub kept: File,
    /// Bytes that are kept.
    pub bytes: u64,
}

impl Buffers {
    /// Opens those of an instance, with files in a folder that only this user may read.
    pub fn open(instance: &Instance, folder: &Path, page: usize, capacity: u64) -> Result<Buffers, Fault> {
        let pipe = pipe2(nix::fcntl::OFlag::O_CLOEXEC).map_err(|why| call("making a pipe", why.into()))?;
        // A smaller one does the same work with more calls.
        let _ = fcntl(&pipe.1, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES as i32));
        let buffer = |processor| {
            let path = folder.join(format!("cpu{processor}"));
            let kept = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path);
            let kept = kept.map_err(|why| Fault::file(&path, "make", why))?;
            Ok(Buffer { processor, source: instance.pages(processor)?, kept, bytes: 0 })
        };
        let all = instance.processors()?.into_iter().map(buffer).collect::<Result<_, Fault>>()?;
        Ok(Buffers { all, pipe, page, capacity })
    }

    /// Bytes that are kept, and those that may come at most once nothing more is recorded.
    pub fn bytes(&self) -> (u64, u64) {
        (self.all.iter().map(|buffer| buffer.bytes).sum(), self.capacity * self.all.len() as u64)
    }

    /// Keeps the pages that are full.
    pub fn drain(&mut self) -> Result<(), Fault> {
        for buffer in &mut self.all {
            let begun = buffer.bytes;
            // One that fills as fast as it is emptied is left for the next time, so that the others are not lost.
            while buffer.bytes - begun < 2 * self.capacity {
                match buffer.move_pages(&self.pipe) {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(why) => return Err(of_processor("keeping the events", buffer.processor, why)),
                }
            }
        }
        Ok(())
    }

    /// Keeps all that there is, once nothing more is recorded; what is in a page that is not full, too.
    pub fn finish(mut self) -> Result<Vec<Buffer>, Fault> {
        self.drain()?;
        let mut page = vec![0; self.page];
        for buffer in &mut self.all {
            let done = buffer.copy_rest(&mut page).and_then(|()| buffer.kept.seek(SeekFrom::Start(0)));
            done.map_err(|why| of_processor("keeping the last events", buffer.processor, why))?;
        }
        Ok(self.all)
    }
}

impl Buffer {
    /// Moves as many full pages as a pipe holds; 0 if there are none.
    fn move_pages(&mut self, pipe: &(OwnedFd, OwnedFd)) -> io::Result<u64> {
        let flags = SpliceFFlags::SPLICE_F_MOVE | SpliceFFlags::SPLICE_F_NONBLOCK;
        let taken = loop {
            match splice(&self.source, None, &pipe.1, None, PIPE_BYTES, flags) {
                Ok(taken) => break taken,
                Err(Errno::EAGAIN) => return Ok(0),
                Err(Errno::EINTR) => {}
                Err(why) => return Err(why.into()),
            }
        };
        let mut left = taken;
        while left > 0 {
            match splice(&pipe.0, None, &self.kept, None, left, SpliceFFlags::SPLICE_F_MOVE) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(moved) => left -= moved,
                Err(Errno::EINTR) => {}
                Err(why) => return Err(why.into()),
            }
        }
        self.bytes += taken as u64;
        Ok(taken as u64)
    }

    /// Reads what is left, page by page.
    fn copy_rest(&mut self, page: &mut [u8]) -> io::Result<()> {
        self.kept.seek(SeekFrom::Start(self.bytes))?;
        loop {
            match self.source.read(page) {
                Ok(0) => return Ok(()),
                Ok(length) => {
                    page[length..].fill(0);
                    self.kept.write_all(page)?;
                    self.bytes += page.len() as u64;
                }
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
    }
}

fn call(doing: &str, why: io::Error) -> Fault {
    Fault::Call { doing: doing.to_owned(), why }
}

fn of_processor(doing: &str, processor: u16, why: io::Error) -> Fault {
    call(&format!("{doing} of processor {processor}"), why)
}
