//! What a sleeping task waits for: the system call in which it sleeps, and what its descriptors are.
//!
//! ```text
//! network    a socket of the internet protocols; of several descriptors, if one of them is
//! lock       a futex, a lock of a file, an eventfd: another thread or process gives it
//! timer      a time that it has set
//! program    another program: a pipe, a local socket, a child's end, a signal
//! terminal   what a person types
//! other      everything else, and what may not be looked at
//! ```

use super::descriptors::{Kind, Socket, Table};
use serde::Serialize;

/// What a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A remote end, or data in flight.
    Network,
    /// A lock.
    Lock,
    /// A time.
    Timer,
    /// Another program.
    Program,
    /// A person.
    Terminal,
    /// None of these, or not known.
    Other,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 6] =
        [Cause::Network, Cause::Lock, Cause::Timer, Cause::Program, Cause::Terminal, Cause::Other];
}

/// A wait: its cause, and the socket if a single one is among what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) cause: Cause,
    pub(super) socket: Option<Socket>,
    /// Whether it is for nothing else.
    pub(super) alone: bool,
    /// Whether it is for room to send.
    pub(super) sends: bool,
}

/// A system call under way: its number and arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Call {
    number: i64,
    arguments: [u64; 6],
}

impl Call {
    /// `nr 0xa 0xb 0xc 0xd 0xe 0xf 0xsp 0xpc`; none while the task runs, or sleeps outside of a system call.
    pub(super) fn read(text: &str) -> Option<Call> {
        let mut words = text.split_ascii_whitespace();
        let number = words.next()?.parse().ok().filter(|number| *number >= 0)?;
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            *argument = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
        }
        Some(Call { number, arguments })
    }

    /// What it waits for.
    pub(super) fn wait(&self, table: &mut Table) -> Wait {
        let first = self.arguments[0] as i32;
        let of = |cause| Wait { cause, socket: None, alone: true, sends: false };
        match class(self.number, self.arguments) {
            Class::Receive => wait_for(table.kind(first)),
            Class::Send => Wait { sends: true, ..wait_for(table.kind(first)) },
            Class::Poll => any(table.polled(self.arguments[0], self.arguments[1])),
            Class::Select => any(table.selected(self.arguments[0], &self.arguments[1..4])),
            Class::Epoll => any(table.watched(first)),
            Class::Lock => of(Cause::Lock),
            Class::Timer => of(Cause::Timer),
            Class::Program => of(Cause::Program),
            Class::Other => of(Cause::Other),
        }
    }
}

/// The wait for one descriptor.
fn wait_for(kind: Kind) -> Wait {
    let (cause, socket) = match kind {
        Kind::Inet(socket) => (Cause::Network, Some(socket)),
        Kind::Local | Kind::Pipe | Kind::Signal => (Cause::Program, None),
        Kind::Event => (Cause::Lock, None),
        Kind::Timer => (Cause::Timer, None),
        Kind::Terminal => (Cause::Terminal, None),
        Kind::Other => (Cause::Other, None),
    };
    Wait { cause, socket, alone: true, sends: false }
}

/// The wait for any of several. One for a remote end is the network's even if a pipe of the program's own, by which it wakes itself, is
/// among them; without descriptors it is for a time.
fn any(kinds: Option<Vec<Kind>>) -> Wait {
    let Some(kinds) = kinds else { return Wait { cause: Cause::Other, socket: None, alone: false, sends: false } };
    let waits: Vec<Wait> = kinds.into_iter().map(wait_for).collect();
    let order = [Cause::Network, Cause::Program, Cause::Terminal, Cause::Lock, Cause::Timer, Cause::Other];
    let cause = order.into_iter().find(|cause| waits.iter().any(|wait| wait.cause == *cause)).unwrap_or(Cause::Timer);
    let mut sockets = waits.iter().filter_map(|wait| wait.socket);
    let socket = sockets.next().filter(|_| sockets.next().is_none());
    Wait { cause, socket, alone: waits.len() == 1, sends: false }
}

/// What the arguments of a call are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// The first is a descriptor to read from, or to be changed.
    Receive,
    /// The first is a descriptor to write to.
    Send,
    /// An array of descriptors, and its length.
    Poll,
    /// A number of descriptors, and three sets.
    Select,
    /// A descriptor with a set of its own.
    Epoll,
    Lock,
    Timer,
    Program,
    Other,
}

/// Calls whose first argument is a descriptor, in which a task can sleep until something comes.
const RECEIVING: [i64; 11] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_shutdown,
    libc::SYS_close,
];
/// Those in which it can sleep until there is room.
const SENDING: [i64; 8] = [
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_splice,
    libc::SYS_sendfile,
];
/// Commands of fcntl(2) that wait for a lock.
const LOCKING: [u64; 2] = [libc::F_SETLKW as u64, libc::F_OFD_SETLKW as u64];

fn class(number: i64, arguments: [u64; 6]) -> Class {
    match number {
        _ if RECEIVING.contains(&number) => Class::Receive,
        _ if SENDING.contains(&number) => Class::Send,
        libc::SYS_ppoll => Class::Poll,
        libc::SYS_pselect6 => Class::Select,
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => Class::Epoll,
        libc::SYS_futex | libc::SYS_futex_waitv | libc::SYS_flock | libc::SYS_semop | libc::SYS_semtimedop => {
            Class::Lock
        }
        libc::SYS_fcntl if LOCKING.contains(&arguments[1]) => Class::Lock,
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => Class::Timer,
        libc::SYS_wait4
        | libc::SYS_waitid
        | libc::SYS_rt_sigsuspend
        | libc::SYS_rt_sigtimedwait
        | libc::SYS_msgrcv
        | libc::SYS_msgsnd => Class::Program,
        other => of_this_architecture(other),
    }
}

/// Calls that only older architectures have.
#[cfg(target_arch = "x86_64")]
fn of_this_architecture(number: i64) -> Class {
    match number {
        libc::SYS_poll => Class::Poll,
        libc::SYS_select => Class::Select,
        libc::SYS_epoll_wait => Class::Epoll,
        libc::SYS_pause => Class::Program,
        _ => Class::Other,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn of_this_architecture(_: i64) -> Class {
    Class::Other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_with_its_arguments() {
        let call = Call::read("35 0x7f 0x0 0x1 0x2 0x3 0x4 0x7ffd 0x7f12\n").unwrap();
        assert_eq!(call, Call { number: 35, arguments: [0x7f, 0, 1, 2, 3, 4] });
        for text in ["running\n", "-1 0x7ffd 0x7f12\n", "", "35", "35 0x1 zz", "35 1 2 3 4 5 6"] {
            assert_eq!(Call::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn of_several_descriptors_the_network_counts_first_and_none_is_a_time() {
        let inet = Kind::Inet(Socket(7));
        let both = Wait { cause: Cause::Network, socket: Some(Socket(7)), alone: false, sends: false };
        assert_eq!(any(Some(vec![Kind::Pipe, inet])), both);
        assert!(any(Some(vec![inet])).alone);
        assert_eq!(any(Some(vec![inet, Kind::Inet(Socket(8))])).socket, None);
        assert_eq!(any(Some(vec![Kind::Event, Kind::Local])).cause, Cause::Program);
        assert_eq!(any(Some(Vec::new())).cause, Cause::Timer);
        assert_eq!(any(None).cause, Cause::Other);
    }
}
