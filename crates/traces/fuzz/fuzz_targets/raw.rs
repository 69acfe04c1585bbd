//! Any bytes as the raw buffers of two processors, with the descriptions of a kernel. CONTRIBUTING.md has the command.
#![no_main]

mod promised;

use libfuzzer_sys::fuzz_target;
use schedlab_traces::kernel::raw;
use std::{fs, path::Path, sync::LazyLock};
use tempfile::TempDir;

/// What is read from tracefs apart from the buffers, copied once.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/raw"), folder.path());
    folder
});

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("it is there") {
        let entry = entry.expect("it can be read");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &to) } else { fs::copy(entry.path(), to).map(drop).expect("a copy") }
    }
}

// The first two bytes say where the buffer of the second processor begins.
fuzz_target!(|data: &[u8]| {
    let Some((at, pages)) = data.split_first_chunk() else { return };
    let (first, second) = pages.split_at(usize::from(u16::from_le_bytes(*at)).min(pages.len()));
    for (cpu, pages) in [("cpu0", first), ("cpu1", second)] {
        fs::write(FOLDER.path().join("per_cpu").join(cpu).join("trace_pipe_raw"), pages).expect("it can be written");
    }
    let _ = raw::read(FOLDER.path(), &mut promised::Promised::default());
});
