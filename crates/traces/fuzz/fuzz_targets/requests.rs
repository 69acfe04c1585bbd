//! Any bytes in any format end in requests or in one problem. CONTRIBUTING.md has the command.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedlab_traces::requests::{FORMATS, Wanted, number};
use std::io::Cursor;

// The first byte chooses the format (the last choice: whichever is recognised), its highest bit whether bytes are counted, the
// bit below whether the columns of a csv are named.
fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let format = FORMATS.get(usize::from(choice & 0x3f) % (FORMATS.len() + 1)).map(|format| format.name.to_owned());
    let columns = (choice & 0x40 != 0).then(|| "time,key,size,op".to_owned());
    let wanted = Wanted { format, columns, bytes: choice & 0x80 != 0, first: Some(100_000), ..Wanted::default() };
    if let Ok(read) = number(Box::new(Cursor::new(bytes.to_vec())), &wanted) {
        assert_eq!(read.keys.iter().max().map(|key| key + 1), Some(read.objects));
        assert!(read.bytes.is_none_or(|sizes| sizes.len() == read.keys.len() && !sizes.contains(&0)));
    }
});
