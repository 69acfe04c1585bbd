//! Recorded work: what tasks of a recording did, step by step, to be done again under another scheduler.
//!
//! A stream is one task. It computes as long as the recorded task did, reports its progress to tasks that waited for it, and waits for
//! what the recorded task waited for:
//!
//! ```text
//! compute    processor time, ns
//! signal     the edge of that number is there
//! wait       until the edge is there; at once if it is
//! until      a time of the recording's own (an arrival, a periodic timer); at once if it has passed
//! yield      gives the processor to others that can go on
//! sleep      so long from now on (a relative timer, a device)
//! period     until a period after the time that was due before; at once if that has passed, and the next period begins then
//! meet       until all tasks that have the meeting of that number have come to it
//! ask        sends a request to the server of that number, and waits for its answer
//! take       a server takes the request that has waited longest for it, and waits for one if there is none
//! answer     a server answers the request that it has taken
//! begin      the stream of that number is created, as a child
//! exit       the task ends
//! ```
//!
//! An *edge* is one recorded wakeup of one task by another. A stream without an exit begins anew when it is through, one *pass* later: its
//! edges are counted, and its times move on by the length of the recording. So a pass of one stream needs the same pass of those
//! that it waits for, and no order of the recording can be turned round; but a task that has an *inbox* takes the edges that are sent to it as they
//! come, from any sender: its n-th wait takes the n-th. A *meeting* is a round of a barrier, whichever task comes last.
//! A stream that ends *until* a time does so whatever it has done, and has no exit.
//! A *server* answers those that ask it, in the order in which they do. Two servers may have *connections*: each message between them is an
//! answer to one, and goes to the other's queue. All wait at one side in the beginning.

use crate::Nanos;
use std::{collections::BTreeMap, fmt};

/// What a task does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Uses the processor for that long, ns.
    Compute(Nanos),
    /// The edge of that number is there.
    Signal(u32),
    /// Waits for the edge.
    Wait(u32),
    /// Waits until this time of the recording, ns since its start.
    Until(Nanos),
    /// Waits for that long, ns.
    Sleep(Nanos),
    /// Waits until so long, ns, after the end of the period or sleep before; where that has passed, goes on, and the next period begins now.
    Period(u32),
    /// Creates the task of that stream.
    Begin(u32),
    /// Waits until all tasks that have the meeting of that number have come to it.
    Meet(u32),
    /// Sends a request to that server, and waits for the answer.
    Ask(u32),
    /// Takes the next request to that server, and waits for one if there is none.
    Take(u32),
    /// Answers the request that was taken of that server.
    Answer(u32),
    /// Gives the processor to others, if there are any that the scheduler prefers then.
    Yield,
    /// Executes another program: the scheduler may choose another processor.
    Exec,
    /// Ends.
    Exit,
}

/// An [`Act`] in eight bytes: the kind in the top three bits. Those of the last kind but one have their own in the next bits, see [`Packed::call`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Packed(u64);

/// Bits of an act's number: 2^61 ns are 73 years.
const BITS: u32 = 61;
const NUMBER: u64 = (1 << BITS) - 1;
/// Bits of the number of a server.
const SERVER: u32 = 32;

impl From<Act> for Packed {
    fn from(act: Act) -> Packed {
        let (kind, number) = match act {
            Act::Compute(length) => (0, length),
            Act::Signal(edge) => (1, edge.into()),
            Act::Wait(edge) => (2, edge.into()),
            Act::Until(time) => (3, time),
            Act::Sleep(length) => (4, length),
            Act::Begin(stream) => (5, stream.into()),
            Act::Exit => (6, 0),
            Act::Ask(server) => (6, 1 << SERVER | u64::from(server)),
            Act::Take(server) => (6, 2 << SERVER | u64::from(server)),
            Act::Answer(server) => (6, 3 << SERVER | u64::from(server)),
            Act::Yield => (6, 4 << SERVER),
            Act::Period(length) => (6, 5 << SERVER | u64::from(length)),
            Act::Exec => (6, 6 << SERVER),
            Act::Meet(meeting) => (7, meeting.into()),
        };
        Packed(kind << BITS | number.min(NUMBER))
    }
}

impl Packed {
    /// As it is written to files.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// From a file.
    pub fn of_bits(bits: u64) -> Packed {
        Packed(bits)
    }

    /// What it stands for.
    #[inline]
    pub fn act(self) -> Act {
        let number = self.0 & NUMBER;
        match self.0 >> BITS {
            0 => Act::Compute(number),
            1 => Act::Signal(number as u32),
            2 => Act::Wait(number as u32),
            3 => Act::Until(number),
            4 => Act::Sleep(number),
            5 => Act::Begin(number as u32),
            6 => Packed::call(number),
            _ => Act::Meet(number as u32),
        }
    }

    /// Calls of servers came later than the eight kinds; the end of a task has the number 0.
    fn call(number: u64) -> Act {
        match number >> SERVER {
            1 => Act::Ask(number as u32),
            2 => Act::Take(number as u32),
            3 => Act::Answer(number as u32),
            4 => Act::Yield,
            5 => Act::Period(number as u32),
            6 => Act::Exec,
            _ => Act::Exit,
        }
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.act().fmt(f)
    }
}

/// One task of the recording.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stream {
    /// Its number in the recording.
    pub pid: i32,
    /// Its name there.
    pub name: String,
    /// The job of a scenario whose task does this: its copies take the streams of that job in order.
    pub job: String,
    /// Whether it is created by another stream, and not there from the start.
    pub begun: bool,
    /// The processor where it was first seen, and begins, if the recording shows it.
    pub cpu: Option<u16>,
    /// Whether what it waits for are locks: those that wake it do not say that they wait soon, as those that write into a pipe do.
    pub locks: bool,
    /// Whether it has an inbox.
    pub inbox: bool,
    /// When it ends, whatever it has done, ns since the start of the recording: something else ended it by the clock.
    pub until: Option<Nanos>,
    /// What it does.
    pub acts: Vec<Packed>,
}

/// Servers that send each other messages: an answer to one of them is a message to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// The server whose streams' answers go to the other one.
    pub hub: u32,
    /// The other one.
    pub end: u32,
    /// How many there are. In the beginning the hub has sent a message over each.
    pub count: u32,
}

/// By how much runs of different seeds differ from the recording, to either side, each value as likely as the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Jitter {
    /// Of each computation, a thousandth of it.
    pub compute_permille: u32,
    /// Of times and lengths of waits, ns; of a length at most a twentieth.
    pub time: Nanos,
}

/// Wakeups after which the woken task runs at once, by what that takes. Index into [`Replay::delays`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waking {
    /// On an idle processor: it leaves idle.
    Idle,
    /// By a timer, or from outside, while another task runs there: it is interrupted and preempted.
    Interrupted,
    /// By another task, which is preempted or waits.
    Task,
}

/// A recording as work.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Replay {
    /// Its tasks.
    pub streams: Vec<Stream>,
    /// Edges are numbered from 0 to below this.
    pub edges: u32,
    /// Length of the recording, ns: what a pass adds to times.
    pub span: Nanos,
    /// How long it took from a wakeup to the switch to the woken task where nothing was in its way, by [`Waking`], ns: quantiles at equal
    /// distances, least first. Each such wakeup takes one of them by chance.
    pub delays: [Vec<u32>; 3],
    /// How runs differ.
    pub jitter: Jitter,
    /// Connections between servers.
    pub connections: Vec<Connections>,
}

impl Replay {
    /// The same work on processors of another speed, 1 being that of the recording: what tasks compute, and what comes before a woken
    /// task runs, takes `1 / speed` of its time. Times and lengths of waits are kept.
    pub fn at_speed(&self, speed: f64) -> Replay {
        let taken = |length: u64| (length as f64 / speed).round() as u64;
        let mut other = self.clone();
        for act in other.streams.iter_mut().flat_map(|stream| &mut stream.acts) {
            if let Act::Compute(length) = act.act() {
                *act = Act::Compute(taken(length)).into();
            }
        }
        for delay in other.delays.iter_mut().flatten() {
            *delay = taken((*delay).into()).min(u32::MAX.into()) as u32;
        }
        other
    }

    /// The streams of each job, in order.
    pub fn by_job(&self) -> BTreeMap<&str, Vec<u32>> {
        let mut jobs: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (number, stream) in (0..).zip(&self.streams) {
            jobs.entry(&stream.job).or_default().push(number);
        }
        jobs
    }

    /// How long it takes to begin with a woken task: the n-th wakeup of that task in a run of that seed. The simulated kernel and those who
    /// listen to it ask both, so it is no draw from a stream.
    #[inline]
    pub fn delay(&self, waking: Waking, seed: u64, task: u32, n: u32) -> Nanos {
        let delays = &self.delays[waking as usize];
        if delays.is_empty() {
            return 0;
        }
        // The finaliser of splitmix64 spreads the three numbers over 64 bits.
        let mut x = seed ^ u64::from(task) << 32 ^ u64::from(n);
        x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        delays[(x % delays.len() as u64) as usize].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_come_back_from_eight_bytes() {
        let all = [
            Act::Compute(0),
            Act::Compute(NUMBER),
            Act::Signal(u32::MAX),
            Act::Wait(7),
            Act::Until(1 << 60),
            Act::Sleep(1),
            Act::Begin(3),
            Act::Meet(9),
            Act::Ask(u32::MAX),
            Act::Take(0),
            Act::Answer(7),
            Act::Yield,
            Act::Period(u32::MAX),
            Act::Exec,
            Act::Exit,
        ];
        for act in all {
            assert_eq!(Packed::from(act).act(), act);
        }
        assert_eq!(Packed::from(Act::Compute(u64::MAX)).act(), Act::Compute(NUMBER), "no number reaches the kind");
    }

    #[test]
    fn processors_of_another_speed_compute_in_another_time_and_wait_as_long() {
        let acts =
            |length| [Act::Compute(length), Act::Sleep(700), Act::Until(900), Act::Exit].map(Packed::from).to_vec();
        let of = |length, delay| Replay {
            streams: vec![Stream { acts: acts(length), ..Stream::default() }],
            delays: [vec![delay], vec![], vec![2 * delay]],
            span: 1000,
            ..Replay::default()
        };
        assert_eq!(of(300, 30).at_speed(1.5), of(200, 20));
        assert_eq!(of(300, 30).at_speed(0.5), of(600, 60));
        assert_eq!(of(300, u32::MAX / 2).at_speed(0.01).delays[0], [u32::MAX], "a delay has 32 bits");
    }

    #[test]
    fn a_delay_is_one_of_the_recorded_ones_of_its_kind_and_each_comes() {
        let replay = Replay { delays: [vec![5, 6, 7, 8], vec![1], vec![]], ..Replay::default() };
        let drawn: std::collections::BTreeSet<_> = (0..100).map(|n| replay.delay(Waking::Idle, 1, 2, n)).collect();
        assert_eq!(drawn, [5, 6, 7, 8].into());
        assert_eq!(replay.delay(Waking::Interrupted, 1, 2, 3), 1);
        assert_eq!(replay.delay(Waking::Task, 1, 2, 3), 0);
    }
}
