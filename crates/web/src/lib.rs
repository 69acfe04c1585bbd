//! The engine in a page: a question of bytes in, an answer of bytes out.
//!
//! A question is JSON, `{"do": NAME, ...}`:
//!
//! | do | besides | answer |
//! |---|---|---|
//! | `catalog` | | `version`, and everything that an experiment can name, by family, as the bridge to Python gives it |
//! | `resolve` | `text`: an experiment file; `set`: values by path, as after `--set`; `label`: what messages call the file; `format`: "toml" or "json" | `cells`: the `factors` and the `scenario` of each; `question`, `metrics` (null: all), `seeds`: how many; `listed`: the seeds, if the file lists them; `notes` |
//! | `run` | `scenario`, `seed`; `spans`: the most that are wanted | `rows`: metric, value and unit; `warnings`, `seeded`, `elapsed` in ns, `processors`, `tasks`: name and job, null for one of the kernel; `waits`: the distribution function of each job's wakeup latency; `spans`, `left_out` |
//! | `draw` | `scenario`, `seed`; `from`, `to`: the stretch, in ns | `svg`: the schedule of that stretch, as the command draws it |
//! | `references` | `text`: a reference string; `policies`, as after `schedlab cache --policy`; `frames`: how many are shown step by step | `objects`: names; `requests`: places among them; `frames`: 1, 2, ...; `policies`: for each its `faults` by number of frames, where one frame more `rises` them, and the `steps`, null if there are too many |
//! | `cylinders` | `text`: a list of cylinders; `head`, `cylinders`: where the heads are, and how many there are; `elevators`, as experiments have them | `requests`; `elevators`: for each the `rows` in order of service, the way of the heads (`travel`, `to_the_ends`), mean and longest response; times in ns |
//! | `bursts` | `text`: a set of bursts | `text`: the experiment file; `tasks`: name, and when it `arrives` and how long it `computes`, in ns |
//!
//! What is wrong with a question is an answer too: `{"fault": {"message", "line", "column", "field"}}`, what is not known null.
//!
//! An answer begins with the length of its JSON, 32 bits, and the JSON. That of `run` has arrays behind it, each from a multiple of 8 bytes
//! on: the begin and the end of each span in ns (64-bit floats), its task (32 bits; a place among `tasks`), and its processor (16 bits). All
//! numbers have their lowest byte first.
//!
//! `module.rs` is how a page calls it, `question.rs` what is asked, `typed.rs` lists that a reader types in, `fault.rs` what is wrong with that, `schedule.rs` who ran when, `listener.rs` that or a
//! drawing. There are no threads, files or clocks. A page ends a run that it no longer wants together with the worker that makes it.

mod fault;
mod listener;
#[cfg(target_family = "wasm")]
mod module;
mod question;
mod schedule;
mod typed;

pub use question::answer;

/// Most bytes of a question.
pub const LONGEST: usize = 4 << 20;

/// An answer as bytes: the JSON behind its length, then arrays, each at a multiple of 8.
fn packed(json: &str, arrays: &[&[u8]]) -> Vec<u8> {
    let length = u32::try_from(json.len()).expect("an answer is shorter than 4 GiB").to_le_bytes();
    let mut all = [&length, json.as_bytes()].concat();
    for array in arrays {
        all.resize(all.len().next_multiple_of(8), 0);
        all.extend_from_slice(array);
    }
    all
}
