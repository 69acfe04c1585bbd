//! The kernel's messages about tasks that end, over generic netlink. They come for every task of the host; those of the
//! command are selected afterwards, by parentage.
//!
//! A message is a chain of attributes, each a length (u16, its head included), a kind (u16) and data, at multiples of 4
//! bytes. Lengths are checked: what does not fit ends the reading of that message.

use super::record::Record;
use schedlab_linux::{Fault, netlink::Socket};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};

/// From linux/taskstats.h: commands and attributes.
const GET: u8 = 1;
const REGISTER: u16 = 3;
const DEREGISTER: u16 = 4;
const ONE_TASK: u16 = 4;
const STATS: u16 = 3;
/// Heads of a netlink message and of a generic one in it.
const HEAD: usize = 16;
const GENERIC: usize = 4;
/// Bytes of messages that may wait to be read: some 30,000 tasks.
const WAITING: i32 = 64 << 20;
const LONGEST: usize = 1 << 16;

/// Listens for the ends of tasks.
#[derive(Debug)]
pub struct Exits {
    socket: Socket,
    family: u16,
    processors: String,
    buffer: Vec<u8>,
    /// What has come.
    pub records: Vec<Record>,
    /// Messages were lost, since they were not read in time.
    pub lost: bool,
    /// Records came that this program cannot read.
    pub unreadable: bool,
}

impl Exits {
    /// Listens from now on. Needs CAP_NET_ADMIN, and a kernel with CONFIG_TASKSTATS.
    pub fn listen(processors: &str) -> Result<Exits, Fault> {
        let failed = |doing: &str, why| Fault::Call { doing: format!("{doing} the kernel's accounting of tasks"), why };
        let mut exits = Exits {
            socket: Socket::open(WAITING)?,
            family: 0,
            processors: processors.trim().to_owned(),
            buffer: vec![0; LONGEST],
            records: Vec::new(),
            lost: false,
            unreadable: false,
        };
        exits.family = exits.find_family().map_err(|why| failed("finding", why))?;
        exits.register(REGISTER).map_err(|why| failed("listening to", why))?;
        Ok(exits)
    }

    /// Reads the messages that have come.
    pub fn read(&mut self) {
        loop {
            match self.receive(false) {
                Ok(length) => self.take(length),
                Err(why) if why.raw_os_error() == Some(libc::ENOBUFS) => self.lost = true,
                Err(_) => return,
            }
        }
    }

    fn take(&mut self, length: usize) {
        let mut rest = &self.buffer[..length];
        while let Some((kind, body, after)) = message(rest) {
            rest = after;
            if kind != self.family {
                continue;
            }
            for (name, data) in attributes(body.get(GENERIC..).unwrap_or_default()) {
                if name != ONE_TASK {
                    continue;
                }
                for (_, stats) in attributes(data).filter(|&(name, _)| name == STATS) {
                    match Record::read(stats) {
                        Some(record) => self.records.push(record),
                        None => self.unreadable = true,
                    }
                }
            }
        }
    }

    fn register(&mut self, what: u16) -> io::Result<()> {
        let mut list = self.processors.clone().into_bytes();
        list.push(0);
        self.send(self.family, GET, what, &list)?;
        let length = self.receive(true)?;
        refusal(&self.buffer[..length])
    }

    fn find_family(&mut self) -> io::Result<u16> {
        self.send(
            libc::GENL_ID_CTRL as u16,
            libc::CTRL_CMD_GETFAMILY as u8,
            libc::CTRL_ATTR_FAMILY_NAME as u16,
            b"TASKSTATS\0",
        )?;
        let length = self.receive(true)?;
        let answer = &self.buffer[..length];
        let wanted = libc::CTRL_ATTR_FAMILY_ID as u16;
        let found = message(answer).filter(|&(kind, ..)| kind == libc::GENL_ID_CTRL as u16).and_then(|(_, body, _)| {
            let (_, data) = attributes(body.get(GENERIC..)?).find(|&(name, _)| name == wanted)?;
            Some(u16::from_ne_bytes(*data.first_chunk()?))
        });
        let Some(family) = found else {
            return Err(refusal(answer).err().unwrap_or_else(|| io::Error::from_raw_os_error(libc::EPROTO)));
        };
        // The answer is followed by an acknowledgement.
        self.receive(true)?;
        Ok(family)
    }

    fn send(&self, kind: u16, command: u8, name: u16, data: &[u8]) -> io::Result<()> {
        let padded = data.len().next_multiple_of(4);
        let mut bytes = Vec::new();
        bytes.extend(((HEAD + GENERIC + 4 + padded) as u32).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(((libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16).to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend([command, 1, 0, 0]);
        bytes.extend(((4 + data.len()) as u16).to_ne_bytes());
        bytes.extend(name.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(HEAD + GENERIC + 4 + padded, 0);
        self.socket.send(&bytes)
    }

    fn receive(&mut self, wait: bool) -> io::Result<usize> {
        self.socket.receive(&mut self.buffer, wait)
    }
}

impl AsFd for Exits {
    /// Becomes readable when a message has come.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Exits {
    fn drop(&mut self) {
        // The kernel would notice by itself, at the next task that ends.
        let _ = self.register(DEREGISTER);
    }
}

/// The first message: its kind, its body, and what follows it.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
    let kind = u16::from_ne_bytes(*bytes.get(4..)?.first_chunk()?);
    let body = bytes.get(HEAD..length)?;
    Some((kind, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// The error that a message reports, if any.
fn refusal(bytes: &[u8]) -> io::Result<()> {
    let Some((kind, body, _)) = message(bytes) else { return Err(io::Error::from_raw_os_error(libc::EPROTO)) };
    let code = body.first_chunk().map_or(0, |&code| i32::from_ne_bytes(code));
    if kind == libc::NLMSG_ERROR as u16 && code != 0 { Err(io::Error::from_raw_os_error(-code)) } else { Ok(()) }
}

/// Kinds and data of a chain of attributes.
fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(*rest.first_chunk()?));
        // The top two bits are flags, not part of the type.
        let kind = u16::from_ne_bytes(*rest.get(2..)?.first_chunk()?) & 0x3fff;
        let data = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, data))
    })
}
