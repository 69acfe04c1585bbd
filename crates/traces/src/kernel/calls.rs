//! What system calls are about, as far as it says why a task leaves its processor in one: a lock, data of another task, or its own wish.
//!
//! An event of a single call (`syscalls:sys_enter_futex`) has the call's name. One of all calls (`raw_syscalls:sys_enter`) has its number,
//! which depends on the processor's architecture.

/// What a call is about: [`super::Event::call`] of a [`super::Kind::SyscallEnter`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Call {
    /// Something else, or the file does not say.
    #[default]
    Other,
    /// The kernel's part of locks, conditions, semaphores and barriers of user space: to wait for one, or to wake who does.
    Futex,
    /// To take data from a file, a pipe, a socket or a queue, or to accept a connection.
    Receive,
    /// To give data to one, or to connect.
    Send,
    /// To wait until any of several can be read or written.
    Poll,
    /// To give the processor to others.
    Yield,
}

/// Whose numbers of system calls a file has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Machine {
    /// x86 with 64 bits; what is assumed where a file does not say.
    #[default]
    X86,
    /// Those that have the kernel's common numbers (`include/uapi/asm-generic/unistd.h`): arm64, riscv, loongarch.
    Common,
    /// One whose numbers are not known here.
    Unknown,
}

/// No such call on that machine.
const NONE: usize = usize::MAX;
/// All numbers here are below it.
const NUMBERS: usize = 512;

/// Calls by name, with their numbers on x86-64 and the common ones.
#[rustfmt::skip]
const CALLS: &[(&str, Call, usize, usize)] = &[
    ("futex", Call::Futex, 202, 98),
    ("futex_waitv", Call::Futex, 449, 449),
    ("futex_wake", Call::Futex, 454, 454),
    ("futex_wait", Call::Futex, 455, 455),
    ("futex_requeue", Call::Futex, 456, 456),
    ("read", Call::Receive, 0, 63),
    ("readv", Call::Receive, 19, 65),
    ("recvfrom", Call::Receive, 45, 207),
    ("recvmsg", Call::Receive, 47, 212),
    ("recvmmsg", Call::Receive, 299, 243),
    ("accept", Call::Receive, 43, 202),
    ("accept4", Call::Receive, 288, 242),
    ("mq_timedreceive", Call::Receive, 243, 183),
    ("msgrcv", Call::Receive, 70, 188),
    ("write", Call::Send, 1, 64),
    ("writev", Call::Send, 20, 66),
    ("sendto", Call::Send, 44, 206),
    ("sendmsg", Call::Send, 46, 211),
    ("sendmmsg", Call::Send, 307, 269),
    ("sendfile64", Call::Send, 40, 71),
    ("connect", Call::Send, 42, 203),
    ("mq_timedsend", Call::Send, 242, 182),
    ("msgsnd", Call::Send, 69, 189),
    ("poll", Call::Poll, 7, NONE),
    ("ppoll", Call::Poll, 271, 73),
    ("select", Call::Poll, 23, NONE),
    ("pselect6", Call::Poll, 270, 72),
    ("epoll_wait", Call::Poll, 232, NONE),
    ("epoll_pwait", Call::Poll, 281, 22),
    ("epoll_pwait2", Call::Poll, 441, 441),
    ("sched_yield", Call::Yield, 24, 124),
];

impl Machine {
    /// The machine of that name, as `uname -m` prints it.
    pub fn named(name: &str) -> Machine {
        match name {
            "x86_64" => Machine::X86,
            "aarch64" | "riscv64" | "loongarch64" => Machine::Common,
            _ => Machine::Unknown,
        }
    }

    /// What the call of that number is about.
    #[inline]
    pub fn call(self, number: u64) -> Call {
        let calls = match self {
            Machine::X86 => &X86,
            Machine::Common => &COMMON,
            Machine::Unknown => return Call::Other,
        };
        usize::try_from(number).ok().and_then(|number| calls.get(number)).copied().unwrap_or_default()
    }
}

/// Calls by number: there is one event of each call.
const X86: [Call; NUMBERS] = numbered(false);
const COMMON: [Call; NUMBERS] = numbered(true);

const fn numbered(common: bool) -> [Call; NUMBERS] {
    let mut calls = [Call::Other; NUMBERS];
    let mut at = 0;
    while at < CALLS.len() {
        let number = if common { CALLS[at].3 } else { CALLS[at].2 };
        if number != NONE {
            calls[number] = CALLS[at].1;
        }
        at += 1;
    }
    calls
}

/// What the call of that name is about.
pub(super) fn named(name: &[u8]) -> Call {
    CALLS.iter().find(|known| known.0.as_bytes() == name).map_or(Call::Other, |known| known.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_machine() {
        let (x86, arm) = (Machine::named("x86_64"), Machine::named("aarch64"));
        assert_eq!((x86.call(202), arm.call(202)), (Call::Futex, Call::Receive), "futex, accept");
        assert_eq!((x86.call(0), arm.call(63), arm.call(0)), (Call::Receive, Call::Receive, Call::Other));
        assert_eq!((x86.call(u64::MAX), arm.call(u64::MAX)), (Call::Other, Call::Other));
        assert_eq!((x86.call(24), arm.call(124)), (Call::Yield, Call::Yield));
        assert_eq!(Machine::named("s390x").call(202), Call::Other);
    }
}
