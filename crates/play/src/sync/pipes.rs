//! Pipes between tasks: the kernel's own. A message is written and read in one call, which the kernel does as a whole (PIPE_BUF).
//!
//! A scenario's pipe has no limit, a kernel's has: 65,536 messages in 1 MiB, or 4096 in the 64 KiB that a user has who may not have more.
//! A task that sends to a full one waits. A bounded queue is a pipe with a semaphore:
//!
//!   room        messages that it still takes
//!   receiver    the job of the task that received last, and 1; 0 while none has

use super::semaphore::Semaphore;
use nix::{
    fcntl::{self, FcntlArg, OFlag},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    unistd,
};
use schedlab_linux::{Fault, mapping::PAGE, shareable};
use std::{
    os::fd::{AsFd, OwnedFd},
    sync::atomic::AtomicU32,
};

/// Bytes of a message.
const MESSAGE: usize = 16;
/// Bytes that a pipe holds if its user may have that.
const LARGE: usize = 1 << 20;

shareable! {
    /// What tasks share of a pipe besides the kernel's part.
    #[derive(Debug, Default)]
    pub(crate) struct Traffic {
        pub room: Semaphore,
        pub receiver: AtomicU32,
        /// Messages that tasks have begun to send, and those with which they went on. In between one is in the pipe, or in the hands of
        /// a task that has read it and is still noted as waiting.
        pub sent: AtomicU32,
        pub received: AtomicU32,
    }
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message {
    /// When it was sent, ns of the monotonic clock; of a request, when it should arrive.
    pub sent: u64,
    /// Of a request, its number.
    pub number: u64,
}

impl Message {
    pub fn bytes(self) -> [u8; MESSAGE] {
        (u128::from(self.sent) << 64 | u128::from(self.number)).to_ne_bytes()
    }

    fn of(bytes: [u8; MESSAGE]) -> Message {
        let whole = u128::from_ne_bytes(bytes);
        Message { sent: (whole >> 64) as u64, number: whole as u64 }
    }
}

/// The two ends of a pipe.
pub(crate) struct Pipe {
    read: OwnedFd,
    /// Only a pool's generator has this end of the pipe of its requests.
    write: Option<OwnedFd>,
}

impl Pipe {
    /// A pipe as large as this user may have it, or one that holds as many messages as the queue.
    pub fn new(name: &str, capacity: Option<u32>) -> Result<Pipe, Fault> {
        let fault = |why: nix::Error| Fault::Call { doing: format!("making the pipe {name:?}"), why: why.into() };
        let (read, write) = unistd::pipe2(OFlag::O_CLOEXEC).map_err(fault)?;
        // A page that is partly read, too, is one of the pipe's.
        let needed = capacity.map_or(LARGE, |messages| messages as usize * MESSAGE + PAGE);
        let size = || fcntl::fcntl(write.as_fd(), FcntlArg::F_GETPIPE_SZ).map(|size| size as usize).map_err(fault);
        if size()? < needed {
            // Less is what there is then.
            let _ = fcntl::fcntl(write.as_fd(), FcntlArg::F_SETPIPE_SZ(needed as i32));
        }
        let size = size()?;
        if let Some(messages) = capacity.filter(|_| size < needed) {
            return Err(Fault::Refused {
                what: format!("the queue {name:?} of {messages} messages"),
                why: format!("a pipe of this user holds {} here", size.saturating_sub(PAGE) / MESSAGE),
                advice: "make the queue shorter, run as root, or raise fs.pipe-max-size".to_owned(),
            });
        }
        Ok(Pipe { read, write: Some(write) })
    }

    /// Gives this process's writing end up.
    pub fn close(&mut self) {
        self.write = None;
    }

    /// Writes messages, of which a page at most is written as a whole; waits for room, also through signals. Returns whether
    /// the pipe took them.
    pub fn write(&self, bytes: &[u8]) -> bool {
        let Some(end) = &self.write else { return false };
        loop {
            match unistd::write(end, bytes) {
                Err(nix::Error::EINTR) => {}
                done => return done.is_ok(),
            }
        }
    }

    /// Takes a message, waiting for it also through signals; none will come any more, if there is none.
    pub fn receive(&self) -> Option<Message> {
        let mut bytes = [0; MESSAGE];
        loop {
            match unistd::read(&self.read, &mut bytes) {
                Err(nix::Error::EINTR) => {}
                done => return (done == Ok(MESSAGE)).then(|| Message::of(bytes)),
            }
        }
    }

    /// Whether a receiver would not wait.
    pub fn has_message(&self) -> bool {
        poll(&mut [PollFd::new(self.read.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO) != Ok(0)
    }

    /// Whether a sender would not wait, as far as the kernel's part goes.
    pub fn has_room(&self) -> bool {
        let ready = |end: &OwnedFd| poll(&mut [PollFd::new(end.as_fd(), PollFlags::POLLOUT)], PollTimeout::ZERO);
        self.write.as_ref().is_none_or(|end| ready(end) != Ok(0))
    }

    /// Takes what is left in it, once all tasks are gone.
    pub fn drain(&self) -> Vec<Message> {
        let mut all = Vec::new();
        if fcntl::fcntl(self.read.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).is_ok() {
            all.extend(std::iter::from_fn(|| self.receive()));
        }
        all
    }
}
