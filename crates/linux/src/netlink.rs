//! Sockets of the kernel's netlink: messages in and out as bytes.

use crate::{
    Fault,
    call::{checked, opened},
};
use std::{
    io, mem,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

/// From linux/cn_proc.h: the connector's group of process events.
pub const PROCESS_EVENTS: u32 = 1;
/// Where a message of the connector says which event it is: behind the heads of netlink (16 bytes) and connector (20).
pub const EVENT_AT: usize = 36;

/// The socket. It becomes readable when a message has come.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// Opens one of generic netlink with room for that many bytes of messages that wait to be read. The room is best effort: a
    /// lack of it shows as `ENOBUFS` when messages are lost.
    pub fn open(room: i32) -> Result<Socket, Fault> {
        Socket::of(libc::NETLINK_GENERIC, room)
    }

    /// Opens one that receives the process events of these kinds. The kernel drops all others before they are queued.
    pub fn of_process_events(kinds: &[u32], room: i32) -> Result<Socket, Fault> {
        let socket = Socket::of(libc::NETLINK_CONNECTOR, room)?;
        socket.admit(kinds).map_err(|why| Fault::Call { doing: "choosing process events".to_owned(), why })?;
        socket.join(PROCESS_EVENTS, "listening to process events")?;
        Ok(socket)
    }

    /// Opens one of sock_diag, which also gets what the kernel says to these groups of listeners (bits).
    pub fn diag(groups: u32, room: i32) -> Result<Socket, Fault> {
        let socket = Socket::of(libc::NETLINK_SOCK_DIAG, room)?;
        socket.join(groups, "listening to sock_diag")?;
        Ok(socket)
    }

    /// Joins these groups of listeners (bits).
    fn join(&self, groups: u32, doing: &str) -> Result<(), Fault> {
        // SAFETY: all zeros is an address; its fields are set below.
        let mut address: libc::sockaddr_nl = unsafe { mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        address.nl_groups = groups;
        let length = mem::size_of_val(&address) as libc::socklen_t;
        // SAFETY: the pointer is to an address of that length that lives until the call returns.
        let bound = unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), length) };
        checked(bound.into()).map(drop).map_err(|why| Fault::Call { doing: doing.to_owned(), why })
    }

    fn of(protocol: i32, room: i32) -> Result<Socket, Fault> {
        // SAFETY: takes numbers only.
        let socket = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol) };
        let socket = Socket(opened(socket.into()).map_err(|_| Fault::last("opening a netlink socket"))?);
        // A smaller queue than asked for is no error.
        let _ = socket.set(libc::SO_RCVBUFFORCE, &room);
        Ok(socket)
    }

    /// Has the kernel drop messages whose event is none of these (a filter of the classic kind, whose loads are in network order).
    fn admit(&self, kinds: &[u32]) -> io::Result<()> {
        let code = |code: u32, jt: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf: 0, k };
        let mut filter = vec![code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, EVENT_AT as u32)];
        for (at, kind) in kinds.iter().enumerate() {
            // To the last instruction, which admits: over the comparisons that are left and the refusal.
            let over = (kinds.len() - at) as u8;
            filter.push(code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, over, kind.to_be()));
        }
        filter.push(code(libc::BPF_RET | libc::BPF_K, 0, 0));
        filter.push(code(libc::BPF_RET | libc::BPF_K, 0, u32::MAX));
        self.set(libc::SO_ATTACH_FILTER, &libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() })
    }

    /// Sets an option of sockets. A pointer in its value must be to memory that lives until this returns.
    fn set<T>(&self, option: i32, value: &T) -> io::Result<()> {
        let length = mem::size_of_val(value) as libc::socklen_t;
        // SAFETY: the pointer is to a value of that length that lives until the call returns, as does what it points to.
        let set = unsafe {
            libc::setsockopt(self.0.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const *value).cast(), length)
        };
        checked(set.into()).map(drop)
    }

    /// Sends a message.
    pub fn send(&self, message: &[u8]) -> io::Result<()> {
        // SAFETY: the pointer and length are those of a slice that lives until the call returns.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        checked(sent as libc::c_long).map(drop)
    }

    /// Receives messages into the buffer and returns their length. Without `wait`, an empty queue is an error.
    pub fn receive(&self, buffer: &mut [u8], wait: bool) -> io::Result<usize> {
        let flags = if wait { 0 } else { libc::MSG_DONTWAIT };
        // SAFETY: the pointer and length are those of a slice that lives until the call returns and is exclusively ours.
        let got = unsafe { libc::recv(self.0.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), flags) };
        checked(got as libc::c_long).map(|length| length as usize)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
