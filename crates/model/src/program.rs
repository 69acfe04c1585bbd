//! What a task does, as steps. The same steps drive simulated tasks and real ones.

use crate::{
    request::IoClass,
    task::Policy,
    units::{Duration, Size, parse_duration},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::fmt;

/// A length of time, fixed or drawn anew each time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Span {
    /// Always the same: "5ms".
    Fixed(Duration),
    /// Exponentially distributed: `{ exp = "5ms" }`.
    Exp {
        /// The mean.
        exp: Duration,
    },
    /// Evenly distributed: `{ uniform = ["4ms", "6ms"] }`.
    Uniform {
        /// The smallest and the largest.
        uniform: [Duration; 2],
    },
}

/// Reads the forms apart, so that a wrong one is described by what is wrong in it.
impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> de::Visitor<'de> for Written {
            type Value = Span;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#"a duration like "36ms", { exp = "36ms" } or { uniform = ["30ms", "42ms"] }"#)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
                parse_duration(text).map(|length| Span::Fixed(Duration(length))).map_err(E::custom)
            }
            fn visit_u64<E: de::Error>(self, bare: u64) -> Result<Span, E> {
                self.visit_str(&bare.to_string())
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut table: A) -> Result<Span, A::Error> {
                let span = match table.next_key::<String>()?.as_deref() {
                    Some("exp") => Span::Exp { exp: table.next_value()? },
                    Some("uniform") => Span::Uniform { uniform: table.next_value()? },
                    Some(other) => return Err(de::Error::unknown_field(other, &["exp", "uniform"])),
                    None => return Err(de::Error::custom("is empty: write either exp or uniform")),
                };
                match table.next_key::<String>()? {
                    Some(_) => Err(de::Error::custom("has more than one distribution: write either exp or uniform")),
                    None => Ok(span),
                }
            }
        }
        from.deserialize_any(Written)
    }
}

/// How often something is done: a number, or without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Times {
    /// So many times.
    Count(u32),
    /// Until the run ends: "forever".
    Word(Forever),
}

/// The word "forever".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Forever {
    /// Until the run ends.
    Forever,
}

impl Times {
    /// The number, if there is an end.
    pub fn count(self) -> Option<u32> {
        match self {
            Times::Count(n) => Some(n),
            Times::Word(Forever::Forever) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Written;
        impl de::Visitor<'_> for Written {
            type Value = Times;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from 1 to {}, or \"forever\"", u32::MAX)
            }
            fn visit_u64<E: de::Error>(self, times: u64) -> Result<Times, E> {
                let wrong = |_| E::invalid_value(de::Unexpected::Unsigned(times), &self);
                u32::try_from(times).map(Times::Count).map_err(wrong)
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<Times, E> {
                match word {
                    "forever" => Ok(Times::Word(Forever::Forever)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }
        }
        from.deserialize_any(Written)
    }
}

/// A set of files of equal size, taken one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSet {
    /// How many.
    pub files: u32,
    /// Size of each.
    pub size: Size,
    /// Sets of the same name are the same files in all programs; a set without a name is one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether every task has files of its own; else all tasks take the same ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// Whether reads and writes pass the block cache by (O_DIRECT): each goes to the drive and waits for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub direct: bool,
}

/// A place in the open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Its first byte.
    Start,
    /// Its last byte and beyond.
    End,
    /// The begin of any of its blocks, each as likely as the other.
    Random,
}

/// In which order pages are touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TouchOrder {
    /// One after the other.
    #[default]
    Sequential,
    /// Drawn anew each time, each as likely as the other.
    Random,
}

fn no_size() -> Size {
    Size(0)
}

fn no_time() -> Span {
    Span::Fixed(Duration(0))
}

fn one_time() -> u32 {
    1
}

/// A use of memory, page by page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Touch {
    /// The program file whose pages are touched: read from the drive when they are missing, shared by all tasks that touch a
    /// file of that name, never written. Without it, the task's own memory: empty at first, paged out by reclaim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Where the touched range begins.
    #[serde(default = "no_size")]
    pub from: Size,
    /// Its length.
    pub size: Size,
    /// How often each of its pages is touched; in random order, the number of draws is this times the number of pages.
    #[serde(default = "one_time")]
    pub times: u32,
    /// In which order.
    #[serde(default)]
    pub order: TouchOrder,
    /// Whether the pages are written.
    #[serde(default)]
    pub write: bool,
    /// User time at each page.
    #[serde(default = "no_time")]
    pub compute: Span,
}

/// Work between two looks at the clock of [`Step::Busy`], ns. rt-app's event "runtime" has the same.
pub const LOOK: crate::Nanos = 32 * crate::MICROSECOND;

/// Steps that are done again and again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// How often.
    pub times: Times,
    /// What.
    pub steps: Vec<Step>,
}

/// A program's use of memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Demand {
    /// The least it will ever want.
    pub from: Size,
    /// The most it will ever want; a run draws evenly between the two.
    pub to: Size,
    /// What its file says it wants.
    pub declared: Size,
}

/// A wait for a condition variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConditionWait {
    /// Its name.
    pub condition: String,
    /// The lock that protects it, which the task holds.
    pub lock: String,
}

/// What a timer does that has expired before the task comes to wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimerMode {
    /// It begins anew: its next expiry is counted from now.
    #[default]
    Relative,
    /// It keeps its pace: its next expiry is one period after the missed one, which may have passed, too.
    Absolute,
}

/// A wait for a timer of the task's own. The first expiry is counted from the task's start, each other one from the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timer {
    /// Its name: waits for a timer of the same name continue its count. Each task has its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// From its last expiry to the one that is waited for.
    pub period: Duration,
    /// What it does when that has passed already.
    #[serde(default)]
    pub mode: TimerMode,
}

/// How the kernel is to treat a task from now on. What is not named stays as it is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Treatment {
    /// Nice value, -20 to 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -20, max = 20))]
    pub nice: Option<i8>,
    /// Scheduling policy; "deadline" can only be asked for at the start of a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// Real-time priority, 1 to 99, together with the policy "fifo" or "rr".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 99))]
    pub priority: Option<u8>,
    /// Slice to ask for; "0s" leaves it to the scheduler again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Duration>,
    /// Processors it may use, at least one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub cpus: Option<Vec<u16>>,
    /// Group to go to; "/" is the root group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Class of its requests to a drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_class: Option<IoClass>,
    /// Level within that class, 0 (first) to 7; 4, if only the class is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub io_level: Option<u8>,
    /// Changes all living tasks of that job, and no other, as `taskset` does; of their treatment, `cpus` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
}

impl Treatment {
    /// The name of the root group: no other can have it.
    pub const ROOT_GROUP: &str = "/";
}

/// One step of a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Uses the processor in user mode.
    Compute(Span),
    /// A system call that costs this much processor time in the kernel (or in the file server) and waits for nothing.
    Call(Span),
    /// Sleeps.
    Sleep(Span),
    /// Waits for the next multiple of this length since the task began; a step reached late counts as a missed deadline.
    Period(Duration),
    /// Waits for a timer of its own; a step reached late counts as a missed deadline, and does not wait.
    Timer(Timer),
    /// Uses the processor in user mode until this much time has passed, with the processor or without: it looks at the clock after each
    /// 32us of work.
    Busy(Duration),
    /// Opens the next file of the set (after the last comes the first).
    Open(FileSet),
    /// Reads this number of bytes at the current offset of the open file; at its end, only the call is made.
    Read(Size),
    /// Closes the open file.
    Close,
    /// Creates the next file of the set, or empties it if it exists, and opens it.
    Create(FileSet),
    /// Writes this number of bytes at the current offset of the open file; they reach the drive by write-back.
    Write(Size),
    /// Moves to that place of the open file.
    Seek(Place),
    /// Deletes the next file of the set; what was not yet written back never will be.
    Delete(FileSet),
    /// Waits until everything that was written is on the drive.
    Sync,
    /// Uses memory, page by page.
    Touch(Touch),
    /// Writes this number of bytes to the terminal.
    Print(Size),
    /// Takes the lock of that name, waiting if another task holds it.
    Lock(String),
    /// Takes the lock of that name for reading, together with other readers; waits while another task has it for itself, and behind
    /// tasks that wait for that.
    ReadLock(String),
    /// Gives the lock of that name back.
    Unlock(String),
    /// Puts one message into the pipe of that name, waiting if it is a queue that is full.
    Send(String),
    /// Takes one message from the pipe of that name, waiting for it if there is none.
    Receive(String),
    /// Takes a permit of the semaphore of that name, waiting for it if there is none.
    Acquire(String),
    /// Gives a permit to the semaphore of that name.
    Release(String),
    /// Waits at the barrier of that name until as many tasks wait there as it is for.
    Barrier(String),
    /// Gives a lock back, waits until the condition is signalled, and takes the lock again.
    ConditionWait(ConditionWait),
    /// Wakes the task that has waited longest for the condition of that name. Without a waiter it has no effect.
    ConditionSignal(String),
    /// Wakes all tasks that wait for the condition of that name.
    ConditionBroadcast(String),
    /// Changes how the kernel treats the task, as setpriority, sched_setattr, sched_setaffinity and ioprio_set do. Children inherit it.
    Set(Treatment),
    /// Creates a child that does these steps.
    Fork(Vec<Step>),
    /// Waits until a child has ended.
    Wait,
    /// Sends a signal to every task of the job that is alive, except itself.
    Signal,
    /// Waits for a signal.
    Pause,
    /// Gets memory as the demand says and holds it; refused means that the program ends here.
    Grow(Demand),
    /// Runs a command of the shell and waits for its end. Only real machines have commands.
    Run(String),
    /// Gives the processor up but stays ready.
    Yield,
    /// Executes another program, which goes on with the steps that follow. Of several processors the kernel may choose another one for it.
    Exec,
    /// Ends the task.
    Exit,
    /// Does the steps again and again.
    Repeat(Repeat),
    /// Names this point of the program in recordings.
    Mark(String),
}
