//! What a descriptor of another process is, by the names that /proc has for it, and of a socket its protocol.

use schedlab_linux::xattr;
use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
};

/// Descriptors of a set that are looked at.
const MOST: usize = 64;
/// Bytes of `struct pollfd`.
const POLLED: usize = 8;
/// Protocols of a socket that has no remote host.
const LOCAL: [&str; 2] = ["UNIX", "UNIX-STREAM"];

/// A socket, by its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Socket(pub(super) u64);

/// What a descriptor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A socket of the internet protocols.
    Inet(Socket),
    /// A socket of this host.
    Local,
    Pipe,
    /// By which a thread wakes another.
    Event,
    Timer,
    Signal,
    Terminal,
    Other,
}

/// The descriptors of a process.
pub(super) struct Table {
    folder: String,
}

impl Table {
    pub(super) fn of(process: i32) -> Table {
        Table { folder: format!("/proc/{process}") }
    }

    /// What a descriptor is.
    pub(super) fn kind(&self, descriptor: i32) -> Kind {
        let path = format!("{}/fd/{descriptor}", self.folder);
        let Ok(target) = fs::read_link(&path) else { return Kind::Other };
        let Some(name) = target.to_str() else { return Kind::Other };
        if let Some(inode) = inode_of(name) {
            return socket(Path::new(&path), inode);
        }
        match name {
            "anon_inode:[eventfd]" => Kind::Event,
            "anon_inode:[timerfd]" => Kind::Timer,
            "anon_inode:[signalfd]" => Kind::Signal,
            _ if name.starts_with("pipe:") => Kind::Pipe,
            _ if name.starts_with("/dev/pts/") || name.starts_with("/dev/tty") => Kind::Terminal,
            _ => Kind::Other,
        }
    }

    /// The inodes of its sockets, of whatever protocol.
    pub(super) fn sockets(&self) -> Vec<u64> {
        let entries = fs::read_dir(format!("{}/fd", self.folder)).into_iter().flatten().flatten();
        entries.filter_map(|entry| inode_of(fs::read_link(entry.path()).ok()?.to_str()?)).collect()
    }

    /// The descriptors of an array of `struct pollfd` in its memory; none if that cannot be read.
    pub(super) fn polled(&self, address: u64, count: u64) -> Option<Vec<Kind>> {
        let mut bytes = vec![0; POLLED * (count as usize).min(MOST)];
        self.memory(address, &mut bytes)?;
        let numbers = bytes.chunks_exact(POLLED).map(|one| i32::from_ne_bytes([one[0], one[1], one[2], one[3]]));
        // A negative one is passed over.
        Some(numbers.filter(|number| *number >= 0).map(|number| self.kind(number)).collect())
    }

    /// The descriptors of sets of bits in its memory.
    pub(super) fn selected(&self, count: u64, sets: &[u64]) -> Option<Vec<Kind>> {
        let mut chosen = vec![0; (count as usize).min(1024).div_ceil(8)];
        for set in sets.iter().filter(|set| **set != 0) {
            let mut bytes = vec![0; chosen.len()];
            self.memory(*set, &mut bytes)?;
            chosen.iter_mut().zip(bytes).for_each(|(all, one)| *all |= one);
        }
        let is_in = |number: &usize| chosen[number / 8] >> (number % 8) & 1 == 1;
        Some((0..chosen.len() * 8).filter(is_in).take(MOST).map(|number| self.kind(number as i32)).collect())
    }

    /// The descriptors that an epoll descriptor watches.
    pub(super) fn watched(&self, descriptor: i32) -> Option<Vec<Kind>> {
        let text = fs::read_to_string(format!("{}/fdinfo/{descriptor}", self.folder)).ok()?;
        let targets =
            text.lines().filter_map(|line| line.strip_prefix("tfd:")?.split_whitespace().next()?.parse().ok());
        Some(targets.take(MOST).map(|number| self.kind(number)).collect())
    }

    fn memory(&self, address: u64, bytes: &mut [u8]) -> Option<()> {
        if bytes.is_empty() {
            return Some(());
        }
        File::open(format!("{}/mem", self.folder)).ok()?.read_exact_at(bytes, address).ok()
    }
}

/// `socket:[1234]`.
fn inode_of(name: &str) -> Option<u64> {
    name.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// A socket by its protocol: the kernel has its name in an extended attribute.
fn socket(path: &Path, inode: u64) -> Kind {
    let mut room = [0; 32];
    let protocol = xattr::read_behind(path, c"system.sockprotoname", &mut room).unwrap_or_default();
    let protocol = protocol.strip_suffix(b"\0").unwrap_or(protocol);
    match std::str::from_utf8(protocol) {
        Ok(name) if LOCAL.contains(&name) => Kind::Local,
        Ok(name) if ["TCP", "UDP", "MPTCP", "SCTP", "DCCP", "RAW", "PING"].iter().any(|one| name.starts_with(one)) => {
            Kind::Inet(Socket(inode))
        }
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn descriptors_of_this_process_are_what_they_are() {
        let own = Table::of(std::process::id() as i32);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(matches!(own.kind(listener.as_raw_fd()), Kind::Inet(_)));
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(own.kind(one.as_raw_fd()), Kind::Local);
        let (reader, _writer) = std::io::pipe().unwrap();
        assert_eq!(own.kind(reader.as_raw_fd()), Kind::Pipe);
        assert_eq!(own.kind(9999), Kind::Other);
        assert!(own.sockets().len() >= 2);
        let polled = [reader.as_raw_fd(), 0, -1, 0];
        assert_eq!(own.polled(polled.as_ptr() as u64, 2).unwrap(), [Kind::Pipe]);
        let mut set = [0_u8; 128];
        set[reader.as_raw_fd() as usize / 8] = 1 << (reader.as_raw_fd() % 8);
        assert_eq!(own.selected(1024, &[set.as_ptr() as u64, 0, 0]).unwrap(), [Kind::Pipe]);
        assert_eq!(own.selected(1024, &[8]), None);
    }
}
