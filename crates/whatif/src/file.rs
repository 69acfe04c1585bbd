//! Recorded work as a file.
//!
//! ```text
//! file     = magic (16 bytes), length of the head (u32), head (JSON of `Head`), acts of all streams, one after the other (u64 each)
//! ```
//!
//! Numbers are little-endian. The digest that an experiment file has of it is its checksum, too.

use hashbrown::HashMap;
use schedlab_model::replay::{Act, Connections, Jitter, Packed, Replay, Stream};
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Read, Write};

/// The number says since when there are servers (2), inboxes (3), connections (4), yields (5), periods (6) and execs (7).
const MAGIC: &[u8; 16] = b"schedlab work 7\n";
/// Where the number is.
const NUMBER: usize = 14;
/// Longest head, bytes: names of some 100,000 tasks.
const LONGEST_HEAD: usize = 1 << 24;
/// Most acts: 2 GiB of them.
const MOST_ACTS: u64 = 1 << 28;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    span: u64,
    edges: u32,
    delays: [Vec<u32>; 3],
    compute_jitter_permille: u32,
    time_jitter_ns: u64,
    streams: Vec<Task>,
    /// The servers of hub and end, and how many connections there are.
    #[serde(default)]
    connections: Vec<(u32, u32, u32)>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    pid: i32,
    name: String,
    job: String,
    begun: bool,
    #[serde(default)]
    cpu: Option<u16>,
    #[serde(default)]
    locks: bool,
    #[serde(default)]
    inbox: bool,
    #[serde(default)]
    until: Option<u64>,
    acts: u64,
}

/// Writes it.
///
/// # Errors
/// Those of the writer.
pub fn write(work: &Replay, out: &mut impl Write) -> io::Result<()> {
    let task = |stream: &Stream| Task {
        pid: stream.pid,
        name: stream.name.clone(),
        job: stream.job.clone(),
        begun: stream.begun,
        cpu: stream.cpu,
        locks: stream.locks,
        inbox: stream.inbox,
        until: stream.until,
        acts: stream.acts.len() as u64,
    };
    let head = Head {
        span: work.span,
        edges: work.edges,
        delays: work.delays.clone(),
        compute_jitter_permille: work.jitter.compute_permille,
        time_jitter_ns: work.jitter.time,
        streams: work.streams.iter().map(task).collect(),
        connections: work.connections.iter().map(|all| (all.hub, all.end, all.count)).collect(),
    };
    let head = serde_json::to_vec(&head)?;
    if head.len() > LONGEST_HEAD {
        return Err(io::Error::other("the recording has too many tasks to be written"));
    }
    out.write_all(MAGIC)?;
    out.write_all(&(head.len() as u32).to_le_bytes())?;
    out.write_all(&head)?;
    for act in work.streams.iter().flat_map(|stream| &stream.acts) {
        out.write_all(&act.bits().to_le_bytes())?;
    }
    Ok(())
}

/// Reads it; edges may be numbered anew. A file that names edges or tasks that it does not have, more meetings than it has steps, or more servers than it has tasks, is refused.
///
/// # Errors
/// Those of the reader, and `InvalidData` with what is wrong.
pub fn read(file: &mut impl Read) -> io::Result<Replay> {
    let mut magic = [0; 16];
    file.read_exact(&mut magic)?;
    let number = std::mem::replace(&mut magic[NUMBER], MAGIC[NUMBER]);
    if magic != *MAGIC || !(b'1'..=MAGIC[NUMBER]).contains(&number) {
        return Err(wrong("it is no recorded work of schedlab: write it with schedlab whatif --write"));
    }
    let mut length = [0; 4];
    file.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST_HEAD {
        return Err(wrong("its head is longer than any that is written"));
    }
    let mut head = vec![0; length];
    file.read_exact(&mut head)?;
    let head: Head = serde_json::from_slice(&head)?;
    let acts = head.streams.iter().fold(0_u64, |sum, task| sum.saturating_add(task.acts));
    if acts > MOST_ACTS {
        return Err(wrong("it has more steps than any that is written"));
    }
    let bounds = (head.edges, acts, head.streams.len() as u32);
    let connections = connections(&head, acts)?;
    let mut streams = Vec::new();
    for Task { pid, name, job, begun, cpu, locks, inbox, until, acts } in head.streams {
        let acts = (0..acts).map(|_| act(file, bounds)).collect::<io::Result<Vec<Packed>>>()?;
        streams.push(Stream { pid, name, job, begun, cpu, locks, inbox, until, acts });
    }
    // Each takes memory in a replay: if there are more than steps, those that no step names are left out.
    let edges = if u64::from(head.edges) > acts { renumber(&mut streams) } else { head.edges };
    let jitter = Jitter { compute_permille: head.compute_jitter_permille.min(1000), time: head.time_jitter_ns };
    Ok(Replay { streams, edges, span: head.span, delays: head.delays, jitter, connections })
}

/// The connections of a head; those of all hubs are fewer than the steps.
fn connections(head: &Head, acts: u64) -> io::Result<Vec<Connections>> {
    let all = head.connections.iter().map(|&(hub, end, count)| Connections { hub, end, count });
    let count = head.connections.iter().fold(0, |sum: u64, &(.., count)| sum.saturating_add(count.into()));
    let servers = head.streams.len() as u32;
    if head.connections.iter().any(|&(hub, end, _)| hub >= servers || end >= servers) {
        return Err(wrong("connections name a server that there is not"));
    }
    if count > acts {
        return Err(wrong("it has more connections than steps"));
    }
    Ok(all.collect())
}

/// Numbers edges from 0 on, in the order in which steps name them. Gives how many there are.
fn renumber(streams: &mut [Stream]) -> u32 {
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    for packed in streams.iter_mut().flat_map(|stream| &mut stream.acts) {
        let mut dense = |edge: u32| {
            let next = numbers.len() as u32;
            *numbers.entry(edge).or_insert(next)
        };
        *packed = match packed.act() {
            Act::Signal(edge) => Act::Signal(dense(edge)).into(),
            Act::Wait(edge) => Act::Wait(dense(edge)).into(),
            _ => continue,
        };
    }
    numbers.len() as u32
}

fn act(file: &mut impl Read, (edges, meetings, streams): (u32, u64, u32)) -> io::Result<Packed> {
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes)?;
    let packed = Packed::of_bits(u64::from_le_bytes(bytes));
    match packed.act() {
        Act::Signal(edge) | Act::Wait(edge) if edge >= edges => Err(wrong("a step names an edge that there is not")),
        Act::Meet(meeting) if u64::from(meeting) >= meetings => Err(wrong("a step names a meeting that there is not")),
        act if Packed::from(act) != packed => Err(wrong("a step is of a kind that there is not")),
        Act::Ask(server) | Act::Take(server) | Act::Answer(server) if server >= streams => {
            Err(wrong("a step names a server that there is not"))
        }
        Act::Begin(stream) if stream >= streams => Err(wrong("a step begins a task that there is not")),
        _ => Ok(packed),
    }
}

fn wrong(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_act() -> impl Strategy<Value = Act> {
        prop_oneof![
            (0..1_u64 << 60).prop_map(Act::Compute),
            (0..5_u32).prop_map(Act::Signal),
            (0..5_u32).prop_map(Act::Wait),
            (0..1_u64 << 60).prop_map(Act::Until),
            (0..1_u64 << 60).prop_map(Act::Sleep),
            (0..2_u32).prop_map(Act::Begin),
            Just(Act::Meet(0)),
            Just(Act::Ask(0)),
            Just(Act::Take(0)),
            Just(Act::Answer(0)),
            Just(Act::Yield),
            any::<u32>().prop_map(Act::Period),
            Just(Act::Exec),
            Just(Act::Exit),
        ]
    }

    fn any_work() -> impl Strategy<Value = Replay> {
        let stream =
            (any::<i32>(), ".{0,15}", any::<bool>(), any::<Option<u16>>(), prop::collection::vec(any_act(), 5..20))
                .prop_map(|(pid, name, begun, cpu, acts)| {
                    let acts = acts.into_iter().map(Packed::from).collect();
                    let until = cpu.map(u64::from);
                    Stream {
                        pid,
                        job: format!("job-{pid}"),
                        name,
                        begun,
                        cpu,
                        locks: begun,
                        inbox: pid > 0,
                        until,
                        acts,
                    }
                });
        (prop::collection::vec(stream, 2..5), any::<u64>()).prop_map(|(streams, span)| {
            let jitter = Jitter { compute_permille: 20, time: 7 };
            let connections = vec![Connections { hub: 0, end: 1, count: 3 }];
            Replay { streams, edges: 5, span, delays: [vec![1, 2, 3], vec![], vec![4]], jitter, connections }
        })
    }

    #[test]
    fn a_file_that_names_more_edges_than_it_has_steps_needs_memory_for_its_steps_only() {
        let stream =
            |acts: &[Act]| Stream { acts: acts.iter().copied().map(Packed::from).collect(), ..Stream::default() };
        let far = u32::MAX - 1;
        let streams =
            vec![stream(&[Act::Compute(5), Act::Signal(far), Act::Signal(7)]), stream(&[Act::Wait(7), Act::Wait(far)])];
        let mut bytes = Vec::new();
        write(&Replay { streams, edges: u32::MAX, ..Replay::default() }, &mut bytes).unwrap();
        let read = read(&mut &bytes[..]).unwrap();
        assert_eq!(read.edges, 2);
        assert_eq!(read.streams[0], stream(&[Act::Compute(5), Act::Signal(0), Act::Signal(1)]));
        assert_eq!(read.streams[1], stream(&[Act::Wait(1), Act::Wait(0)]));
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(work in any_work()) {
            let mut bytes = Vec::new();
            write(&work, &mut bytes).unwrap();
            prop_assert_eq!(&read(&mut &bytes[..]).unwrap(), &work);
            for number in b'1'..MAGIC[NUMBER] {
                bytes[NUMBER] = number;
                prop_assert_eq!(&read(&mut &bytes[..]).unwrap(), &work, "a file of a version before");
            }
            for number in [b'0', MAGIC[NUMBER] + 1] {
                bytes[NUMBER] = number;
                prop_assert!(read(&mut &bytes[..]).is_err(), "there is no such version");
            }
        }

        #[test]
        fn a_damaged_file_is_refused_or_read_within_bounds(
            work in any_work(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = Vec::new();
            write(&work, &mut bytes).unwrap();
            let cut_off = cut.index(bytes.len());
            prop_assert!(read(&mut &bytes[..cut_off]).is_err());
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(read) = read(&mut &bytes[..]) {
                let all = read.streams.iter().flat_map(|stream| &stream.acts);
                let acts = all.clone().count();
                for act in all {
                    match act.act() {
                        Act::Signal(edge) | Act::Wait(edge) => prop_assert!(edge < read.edges),
                        Act::Meet(meeting) => prop_assert!((meeting as usize) < acts),
                        Act::Ask(server) | Act::Take(server) | Act::Answer(server) => {
                            prop_assert!((server as usize) < read.streams.len());
                        }
                        Act::Begin(stream) => prop_assert!((stream as usize) < read.streams.len()),
                        _ => {}
                    }
                }
            }
        }
    }
}
