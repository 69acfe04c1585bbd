//! How a page calls the engine: three functions and one buffer, which has the question before a call and the answer after it.
//!
//! ```text
//! reserve(bytes) -> address     a buffer of at least that size; 0 if no question may be so long
//! ask(bytes) -> length          answers the question that the buffer begins with
//! answer() -> address           of the answer
//! ```
//!
//! A fault of ours, a panic, ends the call with a trap; memory that runs out does, too. The answer says so then, and can still be asked
//! for; the module cannot be used again. An address is only given away: all of this memory is the page's, and nothing here follows a pointer.

#![allow(unsafe_code, reason = "a name that is exported could be another library's; the only one here is this module")]

use crate::{LONGEST, fault::Fault, question};
use schedlab_policies::schedulers::All;
use std::{
    mem,
    panic::{self, PanicHookInfo},
    sync::{Mutex, MutexGuard, Once, PoisonError},
};

static BUFFER: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static READY: Once = Once::new();

/// What is in the buffer while a question is worked on.
const UNANSWERED: &str = "the engine stopped without an answer: it needs more memory than a page gives it";

/// A buffer for a question of that many bytes.
#[unsafe(no_mangle)]
extern "C" fn reserve(bytes: u32) -> u32 {
    let mut buffer = buffer();
    buffer.clear();
    if bytes as usize > LONGEST {
        return 0;
    }
    buffer.resize(bytes.max(1) as usize, 0);
    address(&buffer)
}

/// Answers the question; gives the length of the answer.
#[unsafe(no_mangle)]
extern "C" fn ask(bytes: u32) -> u32 {
    READY.call_once(|| panic::set_hook(Box::new(say)));
    let question = mem::replace(&mut *buffer(), Fault::from(UNANSWERED.to_owned()).answer());
    let answer = question::answer::<All>(&question[..question.len().min(bytes as usize)]);
    let length = answer.len() as u32;
    *buffer() = answer;
    length
}

/// Where the answer is.
#[unsafe(no_mangle)]
extern "C" fn answer() -> u32 {
    address(&buffer())
}

/// Leaves what a panic said as the answer.
fn say(panic: &PanicHookInfo<'_>) {
    let text = panic.payload_as_str().unwrap_or("it gave no reason");
    *buffer() = Fault::from(format!("fault in the engine: {text}")).answer();
}

fn buffer() -> MutexGuard<'static, Vec<u8>> {
    BUFFER.lock().unwrap_or_else(PoisonError::into_inner)
}

fn address(buffer: &[u8]) -> u32 {
    buffer.as_ptr().addr() as u32
}
