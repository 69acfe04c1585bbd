//! Text of tracefs: the files `trace` and `trace_pipe`, also in the latency format. Lines of events are taken apart by `prefix` and
//! `printed`; here are the comments at the head and the lines that report lost events.

use super::prefix::decimal;
use super::script::{lost, small};
use super::text::{self, Notes};
use super::{Head, Listener, ReadError};
use memchr::memmem;
use std::io::Read;

/// Reads such a text.
pub(super) fn read<L: Listener>(input: impl Read, listener: &mut L) -> Result<Head, ReadError> {
    text::read("tracefs", input, listener, aside)
}

fn aside(line: &[u8], notes: &mut Notes) -> bool {
    if let Some(comment) = line.strip_prefix(b"#") {
        of_comment(comment, notes);
        return true;
    }
    // "CPU:0 [LOST 123 EVENTS]", "CPU:0 [LOST EVENTS]" where the kernel does not know how many.
    if let Some((cpu, inner)) = lost(line, b"[LOST") {
        let Some(count) = inner.strip_suffix(b"EVENTS]") else { return false };
        notes.lose(Some(cpu), decimal(count.trim_ascii()));
        return true;
    }
    // Stacks, with the option stacktrace.
    line.starts_with(b" => ")
}

/// "entries-in-buffer/entries-written: 10/20   #P:2": what was written and is not there any more was overwritten. In the latency
/// format "latency: 0 us, #10/20, CPU#0 | (... #P:2)", and before it "nop latency trace v1.1.5 on RELEASE".
fn of_comment(comment: &[u8], notes: &mut Notes) {
    let after = |key: &[u8]| memmem::find(comment, key).map(|at| &comment[at + key.len()..]);
    let number = |text: &[u8]| decimal(&text[..text.iter().take_while(|byte| byte.is_ascii_digit()).count()]);
    if let Some(release) = after(b" latency trace v").and_then(|rest| Some(&rest[memmem::find(rest, b" on ")? + 4..])) {
        notes.release = Some(String::from_utf8_lossy(release.trim_ascii()).into_owned());
    }
    let Some(counts) = after(b"entries-written: ").or_else(|| after(b" us, #")) else { return };
    if let Some(slash) = memchr::memchr(b'/', counts) {
        let (there, written) = (number(counts), number(&counts[slash + 1..]));
        if let Some(gone) =
            written.zip(there).and_then(|(written, there)| written.checked_sub(there)).filter(|n| *n > 0)
        {
            notes.lose(None, Some(gone));
        }
    }
    if let Some(processors) = after(b"#P:") {
        let digits = processors.iter().take_while(|byte| byte.is_ascii_digit()).count();
        notes.processors = small(&processors[..digits]);
    }
}
