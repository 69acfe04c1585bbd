//! Who says which process has the focus. Each source has a descriptor that becomes readable when there is news.

mod pid_file;
mod sway;
mod x11;

use schedlab_linux::Fault;
use std::{
    os::fd::BorrowedFd,
    path::{Path, PathBuf},
};

/// A source.
pub trait Source {
    /// What people call it.
    fn name(&self) -> String;
    /// Readable when there is news.
    fn descriptor(&self) -> BorrowedFd<'_>;
    /// The process that has the focus by now, `Some(None)` if it is none that is known; none if nothing has changed.
    fn news(&mut self) -> Result<Option<Option<i32>>, Fault>;
}

/// Sources that are there.
pub type Sources = Vec<Box<dyn Source>>;

/// Opens the sources that there are, and says why others are not there.
pub fn open(pid_file: Option<&Path>) -> Result<(Sources, Vec<String>), Fault> {
    let (mut sources, mut without): (Sources, Vec<String>) = (Vec::new(), Vec::new());
    if let Some(path) = pid_file {
        sources.push(Box::new(pid_file::PidFile::open(path)?));
    }
    if let Some(path) = sway_socket() {
        match sway::Sway::connect(&path) {
            Ok(source) => sources.push(Box::new(source)),
            Err(fault) => without.push(format!("sway: {fault}")),
        }
    }
    match std::env::var_os("DISPLAY") {
        // On sway, X11 knows only the programs that still use it.
        Some(_) if std::env::var_os("SWAYSOCK").is_none() => match x11::X11::connect() {
            Ok(source) => sources.push(Box::new(source)),
            Err(fault) => without.push(format!("X11: {fault}")),
        },
        Some(_) => {}
        None => without.push("X11: DISPLAY is not set".to_owned()),
    }
    if std::env::var_os("WAYLAND_DISPLAY").is_some() && std::env::var_os("SWAYSOCK").is_none() {
        without.push("Wayland: this compositor does not say which process has the focus; sway does".to_owned());
    }
    Ok((sources, without))
}

/// Where sway listens. Its windows have the number of their process; those of i3 are windows of X11, which X11 says as well.
fn sway_socket() -> Option<PathBuf> {
    std::env::var_os("SWAYSOCK").map(PathBuf::from)
}
