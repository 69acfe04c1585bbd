//! Lists that a reader types in. They are read here, so that what is wrong with one is said by the engine, at its line.
//!
//! ```text
//! word      ends at a blank, a comma or a semicolon
//! comment   from a word that begins with # to the end of its line
//! time      with a unit, as in an experiment file ("2.5ms"); a bare number is in ms
//! ```

pub mod bursts;
pub mod cylinders;
pub mod references;

use crate::fault::Fault;
use schedlab_model::{
    Nanos, SECOND,
    units::{parse_duration, spell_duration},
};

/// Most bytes of a list.
const LONGEST: usize = 64 << 10;
/// Most characters of a name.
const LONGEST_NAME: usize = 40;
/// The longest time.
const LONGEST_TIME: Nanos = 3600 * SECOND;

/// A word and its line, from 1.
#[derive(Debug, Clone, Copy)]
struct Word<'a> {
    line: usize,
    text: &'a str,
}

impl Word<'_> {
    /// What is wrong with it.
    fn fault(&self, why: &str) -> Fault {
        let cut: String = self.text.chars().take(LONGEST_NAME).collect();
        let more = if cut.len() < self.text.len() { "..." } else { "" };
        Fault::at(self.line, &format!("{cut:?}{more} {why}"))
    }

    /// It as a time.
    fn time(&self) -> Result<Nanos, Fault> {
        let bare = self.text.ends_with(|c: char| c.is_ascii_digit() || c == '.');
        let time = if bare { parse_duration(&format!("{}ms", self.text)) } else { parse_duration(self.text) };
        let wanted = "is no time: write ms as a number such as 24, or a number with its unit such as 2.5ms";
        let time = time.map_err(|_| self.fault(wanted))?;
        // It has a digit that is not 0.
        if time == 0 && self.text.contains(|c| matches!(c, '1'..='9')) {
            return Err(self.fault("rounds to 0: the shortest time is 1ns"));
        }
        if time > LONGEST_TIME {
            return Err(self.fault(&format!("is too long: at most {}", spell_duration(LONGEST_TIME))));
        }
        Ok(time)
    }
}

/// The words of each line that has any.
fn lines(text: &str) -> Result<Vec<Vec<Word<'_>>>, Fault> {
    if text.len() > LONGEST {
        return Err(format!("the list has {} bytes; at most {LONGEST}", text.len()).into());
    }
    let all = (1..).zip(text.lines()).map(|(line, text)| words_of(line, text));
    Ok(all.filter(|line| !line.is_empty()).collect())
}

fn words_of(line: usize, text: &str) -> Vec<Word<'_>> {
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
    let words = text.split(ends).filter(|word| !word.is_empty()).take_while(|word| !word.starts_with('#'));
    words.map(|text| Word { line, text }).collect()
}

/// All words of a list, at most `most`. `things` is what messages call them.
fn words<'a>(text: &'a str, most: usize, things: &str) -> Result<Vec<Word<'a>>, Fault> {
    let words = lines(text)?.concat();
    match words.len() {
        0 => Err(Fault::at(
            1,
            &format!("there are no {things}: write them one after the other, with blanks or commas between them"),
        )),
        count if count > most => {
            Err(words[most].fault(&format!("is one too many: the list has {count} {things}, at most {most} are read")))
        }
        _ => Ok(words),
    }
}
