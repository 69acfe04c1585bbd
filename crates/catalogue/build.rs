//! Gives the engine its version: the package's, and a digest of every source that can change a result, so that results
//! of another engine are never taken for this one's. And gathers the machine presets into the binary.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Folders whose files decide what a run gives, from the root of the repository.
const SOURCES: &[&str] = &[
    "crates/model/src",
    "crates/policies/src",
    "crates/workloads/src",
    "crates/disk/src",
    "crates/memory/src",
    "crates/sim/src",
    "crates/metrics/src",
];

fn main() {
    // Cargo runs this in the folder of the package; relative paths stay right when the repository is moved.
    let root = Path::new("../..");
    let mut digest = Sha256::new();
    for source in SOURCES {
        let folder = root.join(source);
        println!("cargo::rerun-if-changed={}", folder.display());
        for file in files(&folder) {
            digest.update(file.strip_prefix(root).expect("under the root").to_string_lossy().as_bytes());
            digest.update(std::fs::read(&file).expect("a listed file can be read"));
        }
    }
    let short: String = digest.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=SCHEDLAB_ENGINE={}+{short}", env!("CARGO_PKG_VERSION"));
    gather(&root.join("machines"), "machines.rs");
    gather(&root.join("machines/drives"), "drives.rs");
}

/// Writes a table of presets: name and text of every file in `folder`.
fn gather(folder: &Path, table_file: &str) {
    println!("cargo::rerun-if-changed={}", folder.display());
    let own = |file: &PathBuf| file.parent() == Some(folder) && file.extension().is_some_and(|end| end == "toml");
    let presets = files(folder).into_iter().filter(own);
    let entry = |file: PathBuf| {
        let name = file.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).expect("a preset is text");
        format!("({name:?}, {text:?}), ")
    };
    let table = format!("&[{}]", presets.map(entry).collect::<String>());
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    std::fs::write(out.join(table_file), table).expect("cargo's own folder can be written");
}

/// Every file under `folder`, in an order that does not depend on the file system.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the crates are sibling folders");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    paths.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
