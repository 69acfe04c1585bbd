//! Sockets of the kernel's netlink, generic and of sock_diag: messages in and out as bytes.

use crate::{
    Fault,
    call::{checked, opened},
};
use std::{
    io, mem,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

/// The socket. It becomes readable when a message has come.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// Opens one with room for that many bytes of messages that wait to be read. The room is best effort: a lack of it shows as
    /// `ENOBUFS` when messages are lost.
    pub fn open(room: i32) -> Result<Socket, Fault> {
        Socket::of(libc::NETLINK_GENERIC, room)
    }

    /// Opens one of sock_diag, which also gets what the kernel says to these groups of listeners (bits).
    pub fn diag(groups: u32, room: i32) -> Result<Socket, Fault> {
        let socket = Socket::of(libc::NETLINK_SOCK_DIAG, room)?;
        // SAFETY: all bytes zero are an address of netlink: of no process, in no group.
        let mut address: libc::sockaddr_nl = unsafe { mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        address.nl_groups = groups;
        let (pointer, length) = (&raw const address, mem::size_of_val(&address) as libc::socklen_t);
        // SAFETY: the pointer is to an address of that length that lives until the call returns.
        let bound = unsafe { libc::bind(socket.0.as_raw_fd(), pointer.cast(), length) };
        checked(bound.into()).map_err(|why| Fault::Call { doing: "listening to sock_diag".to_owned(), why })?;
        Ok(socket)
    }

    fn of(family: i32, room: i32) -> Result<Socket, Fault> {
        // SAFETY: takes numbers only.
        let socket = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, family) };
        let socket = opened(socket.into()).map_err(|_| Fault::last("opening a netlink socket"))?;
        let (option, length) = (&raw const room, mem::size_of_val(&room) as libc::socklen_t);
        // SAFETY: the pointer is to a value of that length that lives until the call returns.
        unsafe {
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, option.cast(), length);
        }
        Ok(Socket(socket))
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
