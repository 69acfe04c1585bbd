//! What a trace.dat says of the recording, in options: number (u16), length (u32), content.

use super::wrong;
use crate::kernel::{Head, ReadError, calls::Machine, copied};

/// Options that are read, as `trace-cmd.dat.v7(5)` numbers them.
mod option {
    pub const STATISTICS: u16 = 2;
    pub const BUFFER: u16 = 3;
    pub const CLOCK: u16 = 4;
    pub const SYSTEM: u16 = 5;
    pub const PROCESSORS: u16 = 8;
    pub const HEADER_INFO: u16 = 16;
    pub const FORMATS: u16 = 18;
    pub const NAMES: u16 = 21;
    pub const TEXT: u16 = 22;
    /// Of schedlab: the state of the host at the start.
    pub const STATE: u16 = crate::kernel::state::OPTION;
}
/// The number of the last option.
pub(super) const DONE: u16 = 0;
/// Buffers and statistics that are read.
const MOST: usize = 1 << 14;

/// Where the buffer of a processor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub cpu: u16,
    pub offset: u64,
    pub length: u64,
}

/// What the options say.
#[derive(Debug, Default)]
pub(super) struct Options {
    /// Where sections are: the head of pages, the descriptions of tracepoints, the names of tasks.
    pub header_info: Option<u64>,
    pub formats: Option<u64>,
    pub names: Option<u64>,
    pub state: Option<u64>,
    /// Whose numbers system calls have.
    pub machine: Machine,
    /// Whether the trace is a text.
    pub is_text: bool,
    /// Where version 6 has the places of the buffers of further instances.
    pub instances: Vec<u64>,
    /// The buffers of all instances.
    pub places: Vec<Place>,
    /// Length of a page, if the file says it.
    pub page: Option<usize>,
    /// Events that were lost, by the kernel's statistics of each processor.
    pub overruns: Vec<(u16, u64)>,
}

/// Reads numbers and texts from bytes.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (&number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(number)
    }

    fn u32(&mut self) -> Option<u32> {
        self.number().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.number().map(u64::from_ne_bytes)
    }

    fn text(&mut self) -> Option<String> {
        let end = self.0.iter().position(|&byte| byte == 0)?;
        let text = String::from_utf8_lossy(&self.0[..end]).into_owned();
        self.0 = &self.0[end + 1..];
        Some(text)
    }
}

impl Options {
    /// Reads an option of a file of version 6 or 7.
    pub fn read(&mut self, number: u16, content: &[u8], version: u8, head: &mut Head) -> Result<(), ReadError> {
        let text = || String::from_utf8_lossy(content);
        let offset = || Bytes(content).u64();
        match number {
            option::CLOCK => head.clock = Some(copied::clock(&text(), super::FORMAT)?),
            // System, host, release, machine.
            option::SYSTEM => {
                let text = text();
                let mut words = text.trim_end_matches('\0').split(' ').skip(2);
                head.release = words.next().map(str::to_owned);
                self.machine = words.next().map_or(self.machine, Machine::named);
            }
            option::PROCESSORS => {
                head.processors = Bytes(content).u32().and_then(|count| u16::try_from(count).ok()).unwrap_or(0);
            }
            option::STATISTICS if self.overruns.len() < MOST => self.overruns.extend(overrun(&text())),
            option::BUFFER if version == 6 => self.instances.extend(offset()),
            option::BUFFER => {
                self.buffer(content, head)?.ok_or_else(|| wrong("its option BUFFER ends too early"))?;
            }
            option::HEADER_INFO => self.header_info = offset(),
            option::FORMATS => self.formats = offset(),
            option::NAMES => self.names = offset(),
            option::STATE => self.state = offset(),
            option::TEXT => self.is_text = true,
            _ => {}
        }
        Ok(())
    }

    /// Offset (u64), name of the instance (text), clock (text), length of a page (u32; not in the first files of version 7), number of
    /// processors (u32), and for each: its number (u32), offset (u64), length (u64).
    fn buffer(&mut self, content: &[u8], head: &mut Head) -> Result<Option<()>, ReadError> {
        let mut bytes = Bytes(content);
        let read = (|| Some((bytes.u64()?, bytes.text()?, bytes.text()?)))();
        let Some((_, name, clock)) = read else { return Ok(None) };
        let clock = copied::clock(&clock, super::FORMAT)?;
        if bytes.0.len() % 20 == 8 {
            self.page = bytes.u32().map(|page| page as usize);
        }
        let count = bytes.u32().map_or(0, |count| count as usize);
        let before = self.places.len();
        for _ in 0..count.min(MOST) {
            let place = (|| Some((bytes.u32()?, bytes.u64()?, bytes.u64()?)))();
            let Some((cpu, offset, length)) = place else { return Ok(None) };
            self.place(cpu, offset, length)?;
        }
        let Some(place) = self.places.get(before) else { return Ok(Some(())) };
        if head.clock.as_ref().is_some_and(|other| *other != clock) && before > 0 && place.length > 0 {
            return Err(wrong(format!("the clock of its instance {name:?} is another than that of the others")));
        }
        head.clock = Some(clock);
        Ok(Some(()))
    }

    /// Takes the place of a processor's buffer.
    pub fn place(&mut self, cpu: u32, offset: u64, length: u64) -> Result<(), ReadError> {
        let most = MOST as u32;
        if cpu >= most || self.places.len() >= MOST {
            return Err(wrong(format!(
                "it has a processor {cpu} or more than {MOST} buffers; {most} processors are the most"
            )));
        }
        if length > 0 {
            self.places.push(Place { cpu: cpu as u16, offset, length });
        }
        Ok(())
    }
}

/// The processor, and how many events were overwritten or dropped there, by `per_cpu/cpuN/stats`.
fn overrun(text: &str) -> Option<(u16, u64)> {
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    let lost = value("overrun:")?.saturating_add(value("dropped events:").unwrap_or(0));
    Some((u16::try_from(value("CPU:")?).ok()?, lost))
}
