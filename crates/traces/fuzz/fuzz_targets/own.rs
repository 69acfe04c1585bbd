//! Any bytes as a recording of schedlab: those of its names, then those of its events, in blocks whose checksums are right, or what comes
//! after the head as it is. CONTRIBUTING.md has the command.
#![no_main]

mod promised;

const HEAD: &[u8] = b"schedlab\x01\0\0\0";
/// In the length of a block: it is the last.
const LAST: u32 = 1 << 31;

/// A block of that payload.
fn block(payload: &[u8], last: u32) -> Vec<u8> {
    let head = (payload.len() as u32 | last).to_le_bytes();
    let sum = crc32fast::hash(&[&head, payload].concat()).to_le_bytes();
    [&head, &sum, payload].concat()
}

// The first two bytes are the length of the names; if that is 0, there are no checksums.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((length, rest)) = data.split_first_chunk() else { return };
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    if length == 0 {
        return promised::stream(HEAD, rest);
    }
    let (names, events) = rest.split_at(length);
    let count = (events.len() as u64 / 8).to_le_bytes();
    let blocks = [HEAD, &block(names, 0), &block(events, 0), &block(&count, LAST)].concat();
    promised::stream(HEAD, &blocks);
});
