//! The kernel's events of processes (connector, cn_proc): who forked, and who executes another program.
//!
//! A message has a head of netlink (16 bytes, its length first), one of the connector (20 bytes) and an event: its kind
//! (u32), a processor (u32), a time (u64) and data by kind. What is too short is no event.

use schedlab_linux::{
    Fault,
    netlink::{EVENT_AT, PROCESS_EVENTS, Socket},
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    time::{Duration, Instant},
};

/// From linux/cn_proc.h: kinds of events. The first answers a subscription.
const NONE: u32 = 0;
const FORK: u32 = 1;
const EXEC: u32 = 2;
/// Subscribe.
const LISTEN: u32 = 1;
/// The heads before the event, and where its data begin.
const HEADS: usize = EVENT_AT;
const DATA: usize = HEADS + 16;
/// Bytes of messages that may wait to be read: some 10,000 events.
const WAITING: i32 = 16 << 20;
const LONGEST: usize = 1 << 13;
/// How long the answer to a subscription may take.
const ANSWERED: Duration = Duration::from_millis(500);

/// What a process did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// It made another one.
    Fork {
        /// Who.
        parent: u32,
        /// The new process.
        child: u32,
    },
    /// It executes another program.
    Exec(u32),
}

/// Listens to them.
#[derive(Debug)]
pub struct Events {
    socket: Socket,
    buffer: Vec<u8>,
    /// Events were lost, since they were not read in time.
    pub lost: bool,
}

impl Events {
    /// Listens from now on. Needs CAP_NET_ADMIN before Linux 6.6, and a kernel with CONFIG_PROC_EVENTS.
    pub fn listen() -> Result<Events, Fault> {
        let socket = Socket::of_process_events(&[NONE, FORK, EXEC], WAITING)?;
        let mut events = Events { socket, buffer: vec![0; LONGEST], lost: false };
        events.subscribe().map_err(|why| Fault::Call { doing: "listening to process events".to_owned(), why })?;
        Ok(events)
    }

    /// Gives the events that have come, in order.
    pub fn read(&mut self, mut take: impl FnMut(Event)) {
        loop {
            match self.socket.receive(&mut self.buffer, false) {
                Ok(length) => messages(&self.buffer[..length]).filter_map(event).for_each(&mut take),
                Err(why) if why.raw_os_error() == Some(libc::ENOBUFS) => self.lost = true,
                Err(_) => return,
            }
        }
    }

    fn subscribe(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        bytes.extend((HEADS as u32 + 4).to_ne_bytes());
        bytes.extend((libc::NLMSG_DONE as u16).to_ne_bytes());
        // Flags, sequence, sender; then the connector's head: index, value, sequence, acknowledgement, length, flags.
        bytes.extend([0; 10]);
        bytes.extend(PROCESS_EVENTS.to_ne_bytes());
        bytes.extend(1u32.to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(4u16.to_ne_bytes());
        bytes.extend([0; 2]);
        bytes.extend(LISTEN.to_ne_bytes());
        self.socket.send(&bytes)?;
        self.await_answer()
    }

    /// The kernel answers with an event that has an error number. A kernel without these events does not answer.
    fn await_answer(&mut self) -> io::Result<()> {
        let began = Instant::now();
        while began.elapsed() < ANSWERED {
            match self.socket.receive(&mut self.buffer, false) {
                Ok(length) => {
                    let answer = messages(&self.buffer[..length]).find_map(answer);
                    match answer {
                        Some(0) => return Ok(()),
                        Some(error) => return Err(io::Error::from_raw_os_error(error)),
                        None => {}
                    }
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(1)),
                Err(why) => return Err(why),
            }
        }
        Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
    }
}

impl AsFd for Events {
    /// Becomes readable when an event has come.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The messages in what was received.
fn messages(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*rest.first_chunk()?) as usize;
        let message = rest.get(..length).filter(|message| message.len() >= HEADS)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

fn word(message: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*message.get(at..)?.first_chunk()?))
}

/// Whether a message is the connector's about processes, and its kind.
fn kind(message: &[u8]) -> Option<u32> {
    (word(message, 16)? == PROCESS_EVENTS).then(|| word(message, EVENT_AT))?
}

/// The error number that answers a subscription, if it does.
fn answer(message: &[u8]) -> Option<i32> {
    (kind(message)? == NONE).then(|| word(message, DATA))?.map(|error| error.cast_signed())
}

/// What a process did, if it is that; a new thread is nothing.
fn event(message: &[u8]) -> Option<Event> {
    let data = |at: usize| word(message, DATA + 4 * at);
    match kind(message)? {
        // Thread and process of the parent, then of the child.
        FORK if data(2)? == data(3)? => Some(Event::Fork { parent: data(1)?, child: data(3)? }),
        EXEC => Some(Event::Exec(data(1)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(kind: u32, data: &[u32]) -> Vec<u8> {
        let words = [0, 0, 0, PROCESS_EVENTS, 1, 0, 0, 0, kind, 0, 0, 0];
        let body: Vec<u8> = words.iter().chain(data).flat_map(|word| word.to_ne_bytes()).collect();
        [&(body.len() as u32 + 4).to_ne_bytes(), &body[..]].concat()
    }

    fn events(bytes: &[u8]) -> Vec<Event> {
        messages(bytes).filter_map(event).collect()
    }

    #[test]
    fn forks_of_processes_and_execs_are_read_in_order_and_threads_are_not() {
        let bytes = [message(FORK, &[7, 5, 9, 9]), message(FORK, &[7, 5, 10, 9]), message(EXEC, &[12, 9])].concat();
        assert_eq!(events(&bytes), [Event::Fork { parent: 5, child: 9 }, Event::Exec(9)]);
    }

    #[test]
    fn an_answer_has_an_error_number() {
        assert_eq!(answer(&message(NONE, &[1])), Some(libc::EPERM));
        assert_eq!(answer(&message(EXEC, &[1, 1])), None);
        let mut foreign = message(NONE, &[0]);
        foreign[16] = 9;
        assert_eq!(answer(&foreign), None);
    }

    #[test]
    fn a_message_that_is_cut_is_no_event() {
        let whole = message(FORK, &[7, 5, 9, 9]);
        for length in 0..whole.len() {
            assert_eq!(events(&whole[..length]), []);
            let mut cut = whole[..length].to_vec();
            if length >= 4 {
                cut[..4].copy_from_slice(&(length as u32).to_ne_bytes());
            }
            assert_eq!(events(&cut), [], "{length}");
        }
    }

    proptest! {
        #[test]
        fn whatever_bytes_come_reading_ends(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(messages(&bytes).count() <= bytes.len());
            events(&bytes);
        }

        #[test]
        fn a_damaged_message_reads_nothing_outside_of_it(
            data in prop::collection::vec(any::<u32>(), 0..6), at in 0usize..80, byte: u8,
        ) {
            let mut bytes = [message(FORK, &data), message(EXEC, &data)].concat();
            let at = at % bytes.len();
            bytes[at] = byte;
            prop_assert!(events(&bytes).len() <= 2);
        }
    }
}
