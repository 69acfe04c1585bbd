//! The emulator as its guest sees it, through ports: a device that pauses the machine, and one that hands over files.
//!
//! ```text
//! pause      a byte 14 to port 0x443 (a watchdog, ib700): 2 s later the emulator stops the machine, if it is so configured
//! files      a number to port 0x510 selects, bytes come from port 0x511 (fw_cfg); number 0x19 is the directory
//! directory  how many (4 bytes), and for each: size (4), number (2), 2 bytes of nothing, name (56); the first byte counts most
//! ```
//!
//! Files are read synchronously, by the instruction that requests them: one that differs from run to run changes only its own
//! contents. A serial line or a drive would answer when the host has time. So would a device that stops the machine immediately:
//! until the emulator has stopped, its clock may or may not advance to the next timer. A watchdog is a timer itself: with an
//! idle processor, the machine stops at exactly that time.

use schedlab_linux::ports::Ports;
use std::{thread, time::Duration};

/// Where the watchdog is set, and to what: its fourteenth step is 2 s.
const WATCHDOG: (u16, u8) = (0x443, 14);
/// After this the machine has been paused, and goes on: the watchdog's time, and a little more.
const PAUSED: Duration = Duration::from_millis(2010);
/// Where files are selected, and where their bytes come from.
const SELECT: u16 = 0x510;
const DATA: u16 = 0x511;
/// What can be selected without a directory: the four letters that say that it is an emulator, and the directory.
const SIGNATURE: u16 = 0;
const DIRECTORY: u16 = 0x19;
/// An entry of the directory, and where in it the name begins.
const ENTRY: usize = 64;
const NAME: usize = 8;
/// No emulator has more files.
const MOST_FILES: usize = 0x1000;
/// Reading a byte takes half a microsecond of the guest's time; so much is read before a run begins.
const LARGEST_FILE: usize = 1 << 20;

/// The emulator; having the value grants the use of its ports.
pub struct Emulator(Ports);

impl Emulator {
    /// Asks the kernel for the ports.
    ///
    /// # Errors
    /// In words: no kernel's permission, or no emulator.
    pub fn find() -> Result<Self, String> {
        let ports = Ports::open(&[(WATCHDOG.0, 1), (SELECT, 2)]);
        let found = Self(ports.map_err(|why| format!("the emulator's ports: {why}"))?);
        match found.read(SIGNATURE, 4).as_slice() {
            b"QEMU" => Ok(found),
            other => Err(format!("port {DATA:#x} says {other:?}, and an emulator would say QEMU")),
        }
    }

    /// Sleeps while the emulator pauses the machine. When it goes on, it may be another process on another day.
    pub fn pause(&self) {
        self.0.write(WATCHDOG.0, WATCHDOG.1);
        thread::sleep(PAUSED);
    }

    /// The contents of a file that the emulator hands over.
    ///
    /// # Errors
    /// In words: there is no such file, or it is too large.
    pub fn file(&self, name: &str) -> Result<Vec<u8>, String> {
        let count = self.read(DIRECTORY, 4);
        let count = number(&count).min(MOST_FILES);
        let directory = self.read(DIRECTORY, 4 + count * ENTRY);
        let (select, size) = entry(&directory[4..], name).ok_or_else(|| format!("the emulator has no file {name}"))?;
        if size > LARGEST_FILE {
            return Err(format!("{name}: {size} bytes; at most {LARGEST_FILE} can be handed over"));
        }
        Ok(self.read(select, size))
    }

    /// The first bytes of what is selected by a number.
    fn read(&self, select: u16, size: usize) -> Vec<u8> {
        self.0.write_word(SELECT, select);
        let mut bytes = vec![0; size];
        self.0.read(DATA, &mut bytes);
        bytes
    }
}

/// Number and size of a file, by the entries of the directory.
fn entry(entries: &[u8], name: &str) -> Option<(u16, usize)> {
    let named = |entry: &[u8]| entry[NAME..].split(|&byte| byte == 0).next() == Some(name.as_bytes());
    let found = entries.chunks_exact(ENTRY).find(|entry| named(entry))?;
    Some((u16::from_be_bytes([found[4], found[5]]), number(found)))
}

/// The first four bytes.
fn number(bytes: &[u8]) -> usize {
    bytes[..4].iter().fold(0, |so_far, &byte| so_far << 8 | usize::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(files: &[(u32, u16, &str)]) -> Vec<u8> {
        let one = |&(size, select, name): &(u32, u16, &str)| {
            let mut entry = [&size.to_be_bytes()[..], &select.to_be_bytes(), &[0, 0], name.as_bytes()].concat();
            entry.resize(ENTRY, 0);
            entry
        };
        files.iter().flat_map(one).collect()
    }

    #[test]
    fn a_file_is_found_by_its_whole_name() {
        let entries = directory(&[(7, 0x20, "etc/e820"), (0x10203, 0x21, "opt/order"), (9, 0x22, "opt/orders")]);
        assert_eq!(entry(&entries, "opt/order"), Some((0x21, 0x10203)));
        assert_eq!(entry(&entries, "opt/orders"), Some((0x22, 9)));
        assert_eq!(entry(&entries, "opt"), None);
    }

    #[test]
    fn a_name_that_fills_its_place_is_found() {
        let name = "n".repeat(ENTRY - NAME);
        assert_eq!(entry(&directory(&[(1, 2, &name)]), &name), Some((2, 1)));
    }
}
