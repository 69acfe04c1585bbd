//! Perfetto traces, as far as they hold ftrace events. Numbers of fields are those of `protos/perfetto/trace/trace_packet.proto`.
//!
//!   trace  = packets; several of them may be packed with deflate in one
//!   bundle = events of one processor in order of time; the bundles of different processors overlap
//!
//! What is packed more densely (`compact_sched`) is in `compact`, the events of a bundle are in `ftrace`.

mod compact;
mod ftrace;

use super::calls::Machine;
use super::delivery::Delivery;
use super::proto::{Fields, Value};
use super::tasks::{MOST_PID, Source};
use super::{Context, Event, Head, Kind, Listener, Loss, Pid, ReadError};
use flate2::read::ZlibDecoder;
use ftrace::Bundles;
use std::io::{self, BufReader, Read};

const FORMAT: &str = "Perfetto trace";
/// Events that may wait for those of other processors.
const WAITING: usize = 1 << 21;
/// Bytes of the largest packet that is read.
const MOST_PACKET: u64 = 64 << 20;

/// Fields of a packet.
const FTRACE_EVENTS: u32 = 1;
const PROCESS_TREE: u32 = 2;
const SYSTEM_INFO: u32 = 45;
const COMPRESSED: u32 = 50;
/// The highest field of a packet that a file was seen to begin with, and then some.
const MOST_FIELD: u32 = 1000;

/// Whether a file begins with packets: as far as its first one is there, it is made of fields.
pub(super) fn begins(bytes: &[u8]) -> bool {
    let mut rest = match bytes {
        [0x0a, rest @ ..] => rest,
        _ => return false,
    };
    let Some(length) = super::proto::varint(&mut rest).filter(|length| (1..=MOST_PACKET).contains(length)) else {
        return false;
    };
    let whole = usize::try_from(length).is_ok_and(|length| length <= rest.len());
    let packet = &rest[..rest.len().min(length as usize)];
    let mut fields = Fields::new(packet);
    let first = fields.next().is_some_and(|(field, _)| field < MOST_FIELD);
    match whole {
        true => {
            first
                && fields.by_ref().all(|(field, _)| field < MOST_FIELD)
                && !fields.damaged()
                && next(&rest[packet.len()..])
        }
        // It goes on behind what is known of it.
        false => first || packet.first().is_some_and(|tag| tag & 7 == 2),
    }
}

/// Whether a packet begins here, or nothing.
fn next(bytes: &[u8]) -> bool {
    bytes.first().is_none_or(|tag| *tag == 0x0a)
}

/// Reads a trace.
pub(super) fn read<L: Listener>(input: impl Read, listener: &mut L) -> Result<Head, ReadError> {
    let mut trace = Trace {
        delivery: Delivery::new(FORMAT, WAITING, listener),
        bundles: Bundles::default(),
        packets: 0,
        release: None,
        processors: 0,
    };
    if let Some(why) = trace.packets(&mut BufReader::with_capacity(1 << 18, input), true)? {
        if trace.packets == 0 {
            return Err(ReadError::Wrong { format: FORMAT, why });
        }
        let time = trace.bundles.time;
        trace.delivery.loss(Loss { time, cpu: None, events: None, why });
    }
    let bundles = trace.bundles;
    let mut head = trace.delivery.finish("packets");
    head.recorded = bundles.recorded();
    head.clock = bundles.clock.map(str::to_owned);
    head.release = trace.release;
    head.processors = head.processors.max(trace.processors);
    Ok(head)
}

/// A trace being read.
struct Trace<'a, L> {
    delivery: Delivery<'a, L>,
    bundles: Bundles,
    packets: u64,
    release: Option<String>,
    processors: u16,
}

impl<L: Listener> Trace<'_, L> {
    /// Reads packets to their end; why they ended before it, if they did.
    fn packets(&mut self, input: &mut dyn Read, outer: bool) -> Result<Option<String>, ReadError> {
        let mut packet = Vec::new();
        loop {
            let number = self.packets + 1;
            let ended = |why: &str| Ok(Some(format!("packet {number}: {why}")));
            let Some(tag) = self::varint(input)? else { return Ok(None) };
            let (Ok(tag), Ok(Some(length))) = (tag, self::varint(input).map(|length| length.and_then(Result::ok)))
            else {
                return ended("the file ends within its length");
            };
            if tag != 0x0a || length > MOST_PACKET {
                return ended("its head is damaged, and what follows cannot be found");
            }
            packet.clear();
            // Grows with what is really there, not with what the length promises.
            input.take(length).read_to_end(&mut packet)?;
            if (packet.len() as u64) < length {
                return ended("the file ends within it");
            }
            self.packets = number;
            if let Some(why) = self.packet(&packet, outer)? {
                self.delivery.unread(self.bundles.time, || format!("packet {number}: {why}"));
            }
        }
    }

    /// Takes a packet; what is wrong with it.
    fn packet(&mut self, packet: &[u8], outer: bool) -> Result<Option<String>, ReadError> {
        let mut fields = Fields::new(packet);
        for (field, value) in fields.by_ref() {
            let Value::Bytes(content) = value else { continue };
            match field {
                FTRACE_EVENTS => {
                    if let Some(why) = self.bundles.take(content, &mut self.delivery) {
                        return Ok(Some(why.to_owned()));
                    }
                }
                PROCESS_TREE => self.process_tree(content),
                SYSTEM_INFO => self.system_info(content),
                COMPRESSED if outer => {
                    let read = self.packets(&mut ZlibDecoder::new(content), false);
                    match read {
                        Err(ReadError::Io(why)) => return Ok(Some(format!("it cannot be unpacked: {why}"))),
                        read => return read,
                    }
                }
                _ => {}
            }
        }
        Ok(fields.damaged().then(|| "it is damaged".to_owned()))
    }

    /// Names and processes of tasks: field 1 processes (1 pid, 3 command line), field 2 threads (1 tid, 2 name, 3 tgid).
    fn process_tree(&mut self, tree: &[u8]) {
        let (time, cpu) = (self.bundles.time.unwrap_or(0), Event::ALL);
        let bits = Event::bits(0, Context::Unknown);
        let at = Event { time, value: 0, task: 0, other: Event::NO_TASK, extra: 0, cpu, kind: Kind::Named, bits };
        for (field, value) in Fields::new(tree) {
            let Value::Bytes(of) = value else { continue };
            let (mut number, mut process, mut name) = (0, 0, None);
            for of in Fields::new(of) {
                match of {
                    (1, Value::Number(value)) => number = pid(value),
                    (3, Value::Number(value)) if field == 2 => process = pid(value),
                    // Of the command line, the first word.
                    (3, Value::Bytes(text)) if field == 1 => name = name.or(Some(short(text))),
                    (2, Value::Bytes(text)) if field == 2 => name = Some(text),
                    _ => {}
                }
            }
            self.delivery.named(&at, number, name.unwrap_or_default(), Source::Tool);
            self.delivery.member(&at, number, if field == 1 { number } else { process });
        }
    }

    /// The kernel's release, the machine (1 utsname: 3 release, 4 machine) and the number of processors (8).
    fn system_info(&mut self, info: &[u8]) {
        for field in Fields::new(info) {
            match field {
                (1, Value::Bytes(names)) => {
                    for name in Fields::new(names) {
                        let (field, Value::Bytes(text)) = name else { continue };
                        let text = String::from_utf8_lossy(&text[..text.len().min(256)]);
                        match field {
                            3 => self.release = Some(text.into_owned()),
                            4 => self.bundles.machine = Machine::named(&text),
                            _ => {}
                        }
                    }
                }
                (8, Value::Number(count)) => self.processors = u16::try_from(count).unwrap_or(0),
                _ => {}
            }
        }
    }
}

/// The name that a task of this command line has at first: the file's, of which the kernel keeps 15 bytes.
fn short(command: &[u8]) -> &[u8] {
    let name = memchr::memrchr(b'/', command).map_or(command, |slash| &command[slash + 1..]);
    &name[..name.len().min(15)]
}

/// A task's number.
fn pid(value: u64) -> Pid {
    i32::try_from(value).ok().filter(|pid| (0..=MOST_PID).contains(pid)).unwrap_or(Event::NO_TASK)
}

/// Takes a number from a stream; none at its end, an error if it ends within the number or that has more than ten bytes.
fn varint(input: &mut dyn Read) -> io::Result<Option<Result<u64, ()>>> {
    let mut value = 0;
    for at in 0..10 {
        let mut byte = [0];
        match input.read_exact(&mut byte) {
            Ok(()) => value |= u64::from(byte[0] & 0x7f) << (7 * at),
            Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => return Ok((at > 0).then_some(Err(()))),
            Err(why) => return Err(why),
        }
        if byte[0] & 0x80 == 0 {
            return Ok(Some(Ok(value)));
        }
    }
    Ok(Some(Err(())))
}
