//! I/O ports, which an emulator's devices are reached by.

use std::io;

/// The right to use some ports; given back when dropped, since a kernel that switches to a task with ports has more to do.
#[derive(Debug)]
pub struct Ports {
    /// First port and count.
    ranges: Vec<(u16, u16)>,
}

impl Ports {
    /// Asks the kernel for these ranges of ports: the first port of each, and how many.
    pub fn open(ranges: &[(u16, u16)]) -> io::Result<Ports> {
        let ports = Ports { ranges: ranges.to_vec() };
        ports.permit(true).map(|()| ports)
    }

    fn permit(&self, allow: bool) -> io::Result<()> {
        self.ranges.iter().try_for_each(|&(port, count)| instructions::permit(port, count, allow))
    }

    fn check(&self, port: u16) {
        let has = |&(first, count): &(u16, u16)| (first..first + count).contains(&port);
        assert!(self.ranges.iter().any(has), "port {port:#x} was not asked for");
    }

    /// Writes a byte to a port.
    pub fn write(&self, port: u16, byte: u8) {
        self.check(port);
        instructions::write(port, byte);
    }

    /// Writes a 16-bit number to a port.
    pub fn write_word(&self, port: u16, word: u16) {
        self.check(port);
        instructions::write_word(port, word);
    }

    /// Fills the bytes from a port.
    pub fn read(&self, port: u16, bytes: &mut [u8]) {
        self.check(port);
        instructions::read(port, bytes);
    }
}

impl Drop for Ports {
    fn drop(&mut self) {
        let _ = self.permit(false);
    }
}

/// The instructions. Using a port without permission ends the process.
#[cfg(target_arch = "x86_64")]
mod instructions {
    use std::{arch::asm, io};

    pub(super) fn permit(port: u16, count: u16, allow: bool) -> io::Result<()> {
        // SAFETY: it takes three numbers and changes only what this thread may do.
        match unsafe { libc::ioperm(port.into(), count.into(), allow.into()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(super) fn write(port: u16, byte: u8) {
        // SAFETY: a port is written, and no memory is touched.
        unsafe { asm!("out dx, al", in("dx") port, in("al") byte, options(nostack, preserves_flags)) }
    }

    pub(super) fn write_word(port: u16, word: u16) {
        // SAFETY: a port is written, and no memory is touched.
        unsafe { asm!("out dx, ax", in("dx") port, in("ax") word, options(nostack, preserves_flags)) }
    }

    pub(super) fn read(port: u16, bytes: &mut [u8]) {
        // SAFETY: as many bytes are written, upwards from the first, as the slice has; it is exclusively ours meanwhile.
        unsafe {
            asm!(
                "cld", "rep insb",
                in("dx") port, inout("rdi") bytes.as_mut_ptr() => _, inout("rcx") bytes.len() => _,
                options(nostack)
            );
        }
    }
}

/// Other processors have no ports, so no emulator is found there.
#[cfg(not(target_arch = "x86_64"))]
mod instructions {
    use std::io;

    pub(super) fn permit(_: u16, _: u16, _: bool) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    pub(super) fn write(_: u16, _: u8) {}
    pub(super) fn write_word(_: u16, _: u16) {}
    pub(super) fn read(_: u16, _: &mut [u8]) {}
}
