//! What perf says of the machine and of itself, as far as readers need it.

const RELEASE: u64 = 4;
const MACHINE: u64 = 6;
const PROCESSORS: u64 = 7;
const CLOCK_DATA: u64 = 29;
/// The descriptions of tracepoints, read elsewhere.
pub(super) const TRACING_DATA: u64 = 1;
/// The clock that perf uses unless asked for another: the scheduler's.
pub(super) const OWN_CLOCK: &str = "perf";

/// Something of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Feature {
    /// The kernel's.
    Release(String),
    /// The machine's, as `uname -m` prints it.
    Machine(String),
    /// How many there are.
    Processors(u16),
    /// The clock of the times.
    Clock(String),
}

/// Whether readers need the feature of that number.
pub(super) fn is_of_use(number: u64) -> bool {
    [RELEASE, MACHINE, PROCESSORS, CLOCK_DATA].contains(&number)
}

/// Reads a feature; none if it is of no use or makes no sense.
pub(super) fn read(number: u64, content: &[u8]) -> Option<Feature> {
    let word = |at: usize| Some(u32::from_ne_bytes(*content.get(at..)?.first_chunk()?));
    match number {
        // Length (u32), text.
        RELEASE | MACHINE => {
            let text = content.get(4..)?.get(..word(0)? as usize)?;
            let text = String::from_utf8_lossy(text.split(|&byte| byte == 0).next()?).into_owned();
            Some(if number == RELEASE { Feature::Release(text) } else { Feature::Machine(text) })
        }
        // Those that can be (u32), those that are online (u32).
        PROCESSORS => Some(Feature::Processors(u16::try_from(word(0)?).ok()?)),
        // Version (u32), number of the clock (u32), two times.
        CLOCK_DATA => Some(Feature::Clock(clock(word(4)? as i32))),
        _ => None,
    }
}

/// A clock's name by its number, as for `clock_gettime(2)`.
pub(super) fn clock(number: i32) -> String {
    match number {
        0 => "realtime".to_owned(),
        1 => "monotonic".to_owned(),
        4 => "monotonic_raw".to_owned(),
        7 => "boottime".to_owned(),
        11 => "tai".to_owned(),
        _ => format!("clock {number}"),
    }
}
