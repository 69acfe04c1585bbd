//! Calls on files that the standard library lacks, and those that must not allocate.

use crate::{
    call::{checked, opened},
    proc::text::number,
};
use std::{
    ffi::CStr,
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    os::fd::{AsRawFd, OwnedFd, RawFd},
    ptr,
};

/// Opens a file below a folder.
pub fn open_at(folder: RawFd, name: &CStr, flags: i32) -> io::Result<OwnedFd> {
    // SAFETY: the name is a terminated string, alive for the call.
    opened(unsafe { libc::openat(folder, name.as_ptr(), flags | libc::O_CLOEXEC, 0o600) }.into())
}

/// Deletes a file below a folder.
pub fn delete_at(folder: RawFd, name: &CStr) -> io::Result<()> {
    // SAFETY: the name is a terminated string, alive for the call.
    checked(unsafe { libc::unlinkat(folder, name.as_ptr(), 0) }.into()).map(drop)
}

/// A file in memory that may be executed and is no program.
pub fn no_program() -> io::Result<OwnedFd> {
    let made = |flags: libc::c_uint| {
        // SAFETY: the name is a terminated string, alive for the call.
        opened(unsafe { libc::memfd_create(c"exec".as_ptr(), flags | libc::MFD_CLOEXEC) }.into())
    };
    // Kernels before 6.3 do not know the flag, and later ones miss it in their log.
    let file = made(libc::MFD_EXEC).or_else(|_| made(0))?;
    let mut file = File::from(file);
    // Kernels look for a module that can load what does not begin with text.
    file.write_all(b"no program\n")?;
    Ok(file.into())
}

/// Executes a file that is no program ([`no_program`]): the kernel chooses a processor for the task, looks at the file, and refuses it.
/// (bprm_execve, which calls sched_exec)
pub fn execute(file: RawFd) -> io::Result<()> {
    let (arguments, environment) = ([c"exec".as_ptr(), ptr::null()], [ptr::null::<libc::c_char>()]);
    // SAFETY: the path is a terminated string, the lists end with null pointers, all are alive for the call, and the kernel only reads them.
    // The task stays what it is: a file that is no program replaces nothing.
    let done = unsafe {
        libc::syscall(
            libc::SYS_execveat,
            file,
            c"".as_ptr(),
            arguments.as_ptr(),
            environment.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    match checked(done) {
        Err(why) if why.raw_os_error() == Some(libc::ENOEXEC) => Ok(()),
        other => other.map(drop),
    }
}

/// Waits until everything written to the file system of that folder is on the drive.
pub fn sync_file_system(folder: RawFd) -> io::Result<()> {
    // SAFETY: takes a number.
    checked(unsafe { libc::syncfs(folder) }.into()).map(drop)
}

/// Drops a file's pages from the page cache; they must be clean.
pub fn drop_cached(file: &impl AsRawFd) {
    // SAFETY: takes numbers only.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
}

/// Makes a standard stream (0, 1 or 2) refer to another file.
pub fn replace_stream(file: RawFd, stream: RawFd) {
    assert!((0..3).contains(&stream), "{stream} is no standard stream");
    // SAFETY: takes numbers only; a standard stream has no owner that closes it.
    unsafe { libc::dup2(file, stream) };
}

/// Closes every descriptor above the standard streams. Only for a program that has opened none itself yet.
pub(crate) fn close_inherited() {
    // SAFETY: the callers are at the start of their program: what is open was inherited and has no owner here.
    unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
}

/// Waits until a serial port has sent everything.
pub fn drain_port(port: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open for the call.
    checked(unsafe { libc::tcdrain(port.as_raw_fd()) }.into()).map(drop)
}

/// Appends the entries of a folder whose names are numbers. The standard library would allocate each name.
pub fn numbered_entries(mut folder: &File, buffer: &mut [u8], into: &mut Vec<u32>) {
    if folder.seek(SeekFrom::Start(0)).is_err() {
        return;
    }
    loop {
        // SAFETY: the kernel writes at most `buffer.len()` bytes into the buffer, which is exclusively ours during the call.
        let read =
            unsafe { libc::syscall(libc::SYS_getdents64, folder.as_raw_fd(), buffer.as_mut_ptr(), buffer.len()) };
        let Some(mut rest) = usize::try_from(read).ok().filter(|&read| read > 0).and_then(|read| buffer.get(..read))
        else {
            return;
        };
        // An entry: inode, offset (8 bytes each), its own length (2), type (1), name, a zero.
        while let Some(&[low, high]) = rest.get(16..18) {
            let length = usize::from(u16::from_ne_bytes([low, high]));
            let Some(entry) = rest.get(..length).filter(|entry| entry.len() > 19) else { return };
            let name = entry[19..].split(|&byte| byte == 0).next().unwrap_or(b"");
            into.extend(number(name).and_then(|number| u32::try_from(number).ok()));
            rest = &rest[length..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_program_is_executed_and_the_task_goes_on() {
        let file = no_program().expect("memory can hold a file");
        let before = std::process::id();
        execute(file.as_raw_fd()).expect("the kernel refuses only its content");
        assert_eq!(std::process::id(), before);
        let null = File::open("/dev/null").expect("it is there");
        assert_eq!(execute(null.as_raw_fd()).map_err(|why| why.raw_os_error()), Err(Some(libc::EACCES)));
    }
}
