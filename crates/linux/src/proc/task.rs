//! `/proc/PID/stat`, of a process or of a thread.

use super::text::{number, words};
use std::{fs::File, io::Read, path::Path};

/// Bytes that the file has at most, with room to spare: fifty numbers of up to 20 digits, and a name of up to 64 bytes.
const LONGEST: usize = 2048;

/// The file's fields, by their numbers in proc(5). The name is in parentheses and may contain any byte, parentheses too.
#[derive(Debug, Clone, Copy)]
pub struct TaskStat<'a> {
    /// Number of the task.
    pub pid: u32,
    /// Name of its program.
    pub name: &'a [u8],
    /// From field 3, the state, on.
    rest: &'a [u8],
}

/// Number of the first field after the name.
const FIRST: usize = 3;

impl<'a> TaskStat<'a> {
    /// Parses the file.
    pub fn of(text: &'a [u8]) -> Option<TaskStat<'a>> {
        let (open, close) = (text.iter().position(|&b| b == b'(')?, text.iter().rposition(|&b| b == b')')?);
        let pid = u32::try_from(number(text[..open].trim_ascii())?).ok()?;
        Some(TaskStat { pid, name: text.get(open + 1..close)?, rest: &text[close + 1..] })
    }

    /// Each field after the name with its number.
    pub fn fields(&self) -> impl Iterator<Item = (usize, &'a [u8])> {
        words(self.rest).enumerate().map(|(at, word)| (at + FIRST, word))
    }

    /// The field of that number.
    pub fn field(&self, wanted: usize) -> Option<&'a [u8]> {
        words(self.rest).nth(wanted.checked_sub(FIRST)?)
    }

    /// The field of that number, which is a whole number from 0.
    pub fn number(&self, wanted: usize) -> Option<u64> {
        number(self.field(wanted)?)
    }

    /// The state: R running or runnable, S asleep, D in uninterruptible sleep, Z zombie.
    pub fn state(&self) -> Option<u8> {
        self.field(FIRST)?.first().copied()
    }
}

/// What is made of such a file; it is read by a single call, without an allocation. None if there is no such task.
pub fn of_stat<T>(file: impl AsRef<Path>, made: impl FnOnce(&TaskStat) -> Option<T>) -> Option<T> {
    let mut bytes = [0; LONGEST];
    let read = File::open(file).ok()?.read(&mut bytes).ok()?;
    made(&TaskStat::of(bytes.get(..read)?)?)
}

/// When a process started, in clock ticks since boot; none if there is no such process, or only a zombie is left of it.
pub fn start_of(pid: i32) -> Option<u64> {
    start_in(&format!("/proc/{pid}/stat"))
}

/// The same of a thread of a process.
pub fn start_of_thread(process: i32, thread: i32) -> Option<u64> {
    start_in(&format!("/proc/{process}/task/{thread}/stat"))
}

fn start_in(file: &str) -> Option<u64> {
    of_stat(file, |stat| if matches!(stat.state()?, b'Z' | b'X') { None } else { stat.number(22) })
}

/// The name of a process; none if there is no such process.
pub fn comm_of(pid: i32) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/comm")).ok()?;
    Some(String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned())
}

/// The longest command line that is read.
const MOST_OF_A_COMMAND: u64 = 4096;

/// The command line of a process, its words parted by blanks; none if there is no such process, or it is a thread of the kernel.
pub fn command_of(pid: i32) -> Option<String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    std::fs::File::open(format!("/proc/{pid}/cmdline")).ok()?.take(MOST_OF_A_COMMAND).read_to_end(&mut bytes).ok()?;
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty()).map(String::from_utf8_lossy);
    Some(words.collect::<Vec<_>>().join(" ")).filter(|command| !command.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_blanks_and_parentheses() {
        let stat = TaskStat::of(b"17 (a) (b) S 4 17 17 0 -1 0 5").unwrap();
        assert_eq!((stat.pid, stat.name, stat.state()), (17, &b"a) (b"[..], Some(b'S')));
        assert_eq!((stat.number(4), stat.number(10), stat.number(11)), (Some(4), Some(5), None));
        assert_eq!(stat.field(8), Some(&b"-1"[..]));
    }

    #[test]
    fn nonsense_is_no_task() {
        for text in [&b""[..], b"1 )(", b"x (a) S", b"(a) S", b"1 a S"] {
            assert!(TaskStat::of(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_child_that_is_dead_but_not_reaped_has_no_start() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id() as i32;
        let began = std::time::Instant::now();
        while start_of(pid).is_some() && began.elapsed().as_secs() < 10 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(start_of(pid), None);
        child.wait().unwrap();
    }
}
