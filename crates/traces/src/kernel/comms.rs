//! The names of tasks, as events carry them: 16 bytes each time, compared with the last name of that task, and numbered only when they differ.

use super::{Listener, Pid};
use hashbrown::HashMap;

/// No kernel numbers its tasks higher (PID_MAX_LIMIT).
pub(super) const MOST_TASKS: Pid = 1 << 22;
/// Tasks whose names are kept together.
const PAGE: usize = 1 << 10;
/// Different names that are distinguished, so that memory stays bounded. A file with more of them is no recording of a kernel.
const MOST_NAMES: usize = 1 << 20;

/// The last name of each task.
#[derive(Debug, Default)]
pub(super) struct Comms {
    /// Names by task, 0 where none is known.
    pages: Vec<Option<Box<[u128; PAGE]>>>,
    numbers: HashMap<u128, u64>,
    /// Names of numbers that the listener has not heard of.
    fresh: Vec<(u64, String)>,
}

impl Comms {
    /// Takes the name of a task, which ends with its first zero byte or with its 16th; gives its number if it is another one than before.
    /// The idle tasks share the number 0 and have names of their own, which no reader needs.
    #[inline]
    pub fn seen(&mut self, pid: Pid, name: &[u8]) -> Option<u64> {
        let name = packed(name);
        if pid <= 0 || pid > MOST_TASKS || name == 0 {
            return None;
        }
        let (page, at) = (pid as usize / PAGE, pid as usize % PAGE);
        if let Some(Some(known)) = self.pages.get(page)
            && known[at] == name
        {
            return None;
        }
        self.changed(page, at, name)
    }

    #[cold]
    fn changed(&mut self, page: usize, at: usize, name: u128) -> Option<u64> {
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        self.pages[page].get_or_insert_with(|| Box::new([0; PAGE]))[at] = name;
        if let Some(&number) = self.numbers.get(&name) {
            return Some(number);
        }
        let number = self.numbers.len();
        if number == MOST_NAMES {
            return None;
        }
        self.numbers.insert(name, number as u64);
        let bytes = name.to_le_bytes();
        let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        self.fresh.push((number as u64, String::from_utf8_lossy(&bytes[..length]).into_owned()));
        Some(number as u64)
    }

    /// Reports the names that are new since the last call. To be called before events are given out.
    #[inline]
    pub fn report(&mut self, listener: &mut impl Listener) {
        for (number, name) in self.fresh.drain(..) {
            listener.name(number, &name);
        }
    }
}

/// A name as a number whose lowest byte is the first, without what follows its end.
#[inline]
fn packed(name: &[u8]) -> u128 {
    const LOW: u128 = u128::MAX / 255;
    let word = match name.first_chunk::<16>() {
        Some(&all) => u128::from_le_bytes(all),
        None => {
            let mut all = [0; 16];
            all[..name.len()].copy_from_slice(name);
            return cut(u128::from_le_bytes(all), LOW);
        }
    };
    cut(word, LOW)
}

/// Clears what follows the first zero byte.
#[inline]
fn cut(word: u128, low: u128) -> u128 {
    // The lowest set bit of this is the top bit of the first zero byte.
    let ends = word.wrapping_sub(low) & !word & (low << 7);
    match ends {
        0 => word,
        _ => word & ((1 << (ends.trailing_zeros() & !7)) - 1),
    }
}
