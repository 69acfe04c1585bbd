//! A socket of the kernel's generic netlink: messages in and out as bytes.

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
        // SAFETY: takes numbers only.
        let socket =
            unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_GENERIC) };
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
