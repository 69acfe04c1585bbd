//! What `perf script` and `trace-cmd report` print. Lines of events are taken apart by `prefix` and `printed`.

use super::prefix::decimal;
use super::text::{self, Notes};
use super::{Head, Listener, ReadError};
use std::io::Read;

/// Reads the text of `perf script`: its default fields, or any that have task, processor, time, event and trace. Call chains and
/// the header of `--header` are passed over.
pub(super) fn read_perf<L: Listener>(input: impl Read, listener: &mut L) -> Result<Head, ReadError> {
    text::read("perf script", input, listener, aside_of_perf)
}

/// Reads the text of `trace-cmd report`.
pub(super) fn read_trace_cmd<L: Listener>(input: impl Read, listener: &mut L) -> Result<Head, ReadError> {
    text::read("trace-cmd report", input, listener, aside_of_trace_cmd)
}

fn aside_of_perf(line: &[u8], notes: &mut Notes) -> bool {
    let Some(comment) = line.strip_prefix(b"#") else { return call_chain(line) };
    if let Some(release) = comment.strip_prefix(b" os release :") {
        notes.release = Some(String::from_utf8_lossy(release.trim_ascii()).into_owned());
    } else if let Some(processors) = comment.strip_prefix(b" nrcpus online :") {
        notes.processors = small(processors.trim_ascii());
    }
    true
}

/// Whether this is an address and a symbol: "\tffffffff81234567 schedule+0x2c ([kernel.kallsyms])".
fn call_chain(line: &[u8]) -> bool {
    let word = line.trim_ascii_start();
    let end = word.iter().position(|byte| *byte == b' ').unwrap_or(word.len());
    word.len() < line.len() && end > 0 && word[..end].iter().all(u8::is_ascii_hexdigit)
}

/// "cpus=2", "version = 6", "CPU 1 is empty", "CPU:1 [67 EVENTS DROPPED]", and what `--stat` and the like print by processor.
pub(super) fn aside_of_trace_cmd(line: &[u8], notes: &mut Notes) -> bool {
    if let Some(processors) = line.strip_prefix(b"cpus=") {
        notes.processors = small(processors);
        return notes.processors.is_some();
    }
    if let Some((cpu, inner)) = lost(line, b"[") {
        let Some(count) = inner.strip_suffix(b"EVENTS DROPPED]") else { return false };
        notes.lose(Some(cpu), decimal(count.trim_ascii()));
        return true;
    }
    line.starts_with(b"version = ") || line.starts_with(b"CPU ") && line.ends_with(b" is empty") || call_chain(line)
}

/// The processor of "CPU:1 [..." and what follows the bracket and its word.
pub(super) fn lost<'a>(line: &'a [u8], bracket: &[u8]) -> Option<(u16, &'a [u8])> {
    let rest = line.trim_ascii().strip_prefix(b"CPU:")?;
    let blank = rest.iter().position(|byte| *byte == b' ')?;
    Some((small(&rest[..blank])?, rest[blank..].trim_ascii_start().strip_prefix(bracket)?))
}

/// A number of processors, or of one.
pub(super) fn small(text: &[u8]) -> Option<u16> {
    decimal(text).and_then(|number| u16::try_from(number).ok()).filter(|number| *number < u16::MAX)
}
