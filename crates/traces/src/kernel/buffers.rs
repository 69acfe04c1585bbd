//! The ring buffers of all processors, merged into one stream of events. Of each, one page is in memory.

use super::{
    Event, Head, Kind, Listener, Loss, ReadError, decoder::Decoder, description::PageHead, order::Gate, pages::Page,
};
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    io::{self, Read},
};

/// Bytes of the pages of all processors together, at most.
const MOST: usize = 1 << 27;

/// The pages of a processor.
pub(super) struct Buffer<'a> {
    cpu: u16,
    from: Box<dyn Read + 'a>,
    page: Vec<u8>,
    events: Vec<Event>,
    next: usize,
    /// Events that its pages say were lost.
    missed: u64,
}

impl<'a> Buffer<'a> {
    /// The pages of that processor come from there.
    pub fn new(cpu: u16, from: impl Read + 'a) -> Self {
        Buffer { cpu, from: Box::new(from), page: Vec::new(), events: Vec::new(), next: 0, missed: 0 }
    }

    /// Reads pages until there are events, or no page is left. Gives the time of the next event.
    fn refill(&mut self, pages: &PageHead, decoder: &mut Decoder, head: &mut Head) -> Result<Option<u64>, ReadError> {
        self.events.clear();
        self.next = 0;
        while self.events.is_empty() {
            match self.read_page(pages.page(), head)? {
                true => self.decode(pages, decoder, head),
                false => return Ok(None),
            }
        }
        Ok(Some(self.events[0].time))
    }

    /// Reads a page; false if there is none.
    fn read_page(&mut self, length: usize, head: &mut Head) -> Result<bool, ReadError> {
        self.page.clear();
        let read = self.from.by_ref().take(length as u64).read_to_end(&mut self.page);
        let why = match read {
            Ok(0) => return Ok(false),
            Ok(read) if read == length => return Ok(true),
            Ok(_) => "it ends within a page".to_owned(),
            Err(why) if matches!(why.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) => {
                why.to_string()
            }
            Err(why) => return Err(why.into()),
        };
        self.from = Box::new(io::empty());
        self.lose(None, None, &why, head);
        Ok(false)
    }

    fn lose(&mut self, time: Option<u64>, events: Option<u64>, why: &str, head: &mut Head) {
        let why = format!("the buffer of processor {}: {why}", self.cpu);
        head.lose(Loss { time, cpu: Some(self.cpu), events, why });
        if let Some(time) = time {
            let (cpu, value, other) = (self.cpu, events.unwrap_or(0), Event::NO_TASK);
            self.events.push(Event { time, value, task: 0, other, extra: 0, cpu, kind: Kind::Lost, bits: 0 });
        }
    }

    fn decode(&mut self, pages: &PageHead, decoder: &mut Decoder, head: &mut Head) {
        let bytes = std::mem::take(&mut self.page);
        match Page::parse(pages, &bytes) {
            None => self.lose(None, None, "a page makes no sense", head),
            Some(page) => {
                if let Some(missed) = page.missed {
                    self.missed = self.missed.saturating_add(missed.unwrap_or(0));
                    self.lose(Some(page.time), missed, "the recorder was too slow", head);
                }
                let mut records = page.records();
                let (mut last, mut undecoded) = (page.time, 0);
                for (time, record) in records.by_ref() {
                    undecoded += u64::from(decoder.decode(time, self.cpu, record, &mut self.events).is_err());
                    last = time;
                }
                if undecoded > 0 {
                    self.lose(Some(last), Some(undecoded), "records do not fit their description", head);
                }
                if records.is_damaged {
                    self.lose(Some(last), None, "a page is damaged, and its rest cannot be read", head);
                }
            }
        }
        self.page = bytes;
    }
}

/// Reads all buffers to their ends. What `waiting` holds comes before their first event. Gives how many events the pages of each processor
/// say were lost.
pub(super) fn merge(
    mut buffers: Vec<Buffer>,
    pages: &PageHead,
    decoder: &mut Decoder,
    waiting: Vec<Event>,
    head: &mut Head,
    listener: &mut impl Listener,
) -> Result<Vec<(u16, u64)>, ReadError> {
    if buffers.len().saturating_mul(pages.page()) > MOST {
        let why = format!("{} buffers with pages of {} bytes would need too much memory", buffers.len(), pages.page());
        return Err(ReadError::Unknown(why));
    }
    let mut order = BinaryHeap::new();
    for (index, buffer) in buffers.iter_mut().enumerate() {
        if let Some(time) = buffer.refill(pages, decoder, head)? {
            order.push(Reverse((time, index)));
        }
    }
    decoder.report(listener);
    let mut gate = Gate::default();
    let earliest = order.peek().map_or(0, |&Reverse((time, _))| time);
    waiting.into_iter().for_each(|event| gate.pass(event, earliest, listener));
    while let Some(Reverse((_, index))) = order.pop() {
        let limit = order.peek().map_or((u64::MAX, usize::MAX), |&Reverse(next)| next);
        let buffer = &mut buffers[index];
        let next = loop {
            match buffer.events.get(buffer.next) {
                Some(event) if (event.time, index) <= limit => {
                    gate.pass(*event, earliest, listener);
                    buffer.next += 1;
                }
                Some(event) => break Some(event.time),
                None => match buffer.refill(pages, decoder, head)? {
                    Some(_) => decoder.report(listener),
                    None => break None,
                },
            }
        };
        order.extend(next.map(|time| Reverse((time, index))));
    }
    finish(&buffers, &gate, decoder, head);
    Ok(buffers.iter().map(|buffer| (buffer.cpu, buffer.missed)).collect())
}

/// Says what the recording was.
fn finish(buffers: &[Buffer], gate: &Gate, decoder: &Decoder, head: &mut Head) {
    if gate.late > 0 {
        let why = "events came later in their buffer than their time allows".to_owned();
        head.lose(Loss { time: None, cpu: None, events: Some(gate.late), why });
    }
    head.losses.sort_by_key(|loss| loss.time.unwrap_or(u64::MAX));
    let highest = buffers.iter().map(|buffer| buffer.cpu.saturating_add(1)).max().unwrap_or(0);
    head.processors = head.processors.max(highest);
    head.span = gate.span();
    head.recorded = decoder.recorded();
}
