//! The chart as text: columns of equal time, each cell the state that held longest in it.

use super::{Chart, Line, STATES, State};
use schedlab_model::{Nanos, units::spell_duration};
use std::fmt::Write;

/// Columns between two labels of the scale, at least.
const APART: usize = 10;

impl State {
    fn cell(self) -> char {
        match self {
            State::User => '#',
            State::System => '+',
            State::Ready => '.',
            State::Waiting => ' ',
            State::Idle => '-',
            State::IoWait => '~',
        }
    }
}

impl Chart {
    /// The chart in `columns` (1 to 1000) columns, with a scale above and a legend below. No line ends in a space.
    pub fn text(&self, columns: usize) -> String {
        let columns = columns.clamp(1, 1000);
        let width = self.lines().map(|l| l.label.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        let mut put = |label: &str, cells: String| {
            let line = format!("{label:width$}  {cells}");
            writeln!(text, "{}", line.trim_end()).expect("a string takes everything");
        };
        let (labels, marks) = self.scale_lines(columns);
        put("", labels);
        put("", marks);
        self.lines().for_each(|line| {
            put(&line.label, self.cells(line, columns).iter().map(|s| s.map_or(' ', State::cell)).collect())
        });
        put("", format!("a column is {}", spell_duration(self.length() / columns as Nanos)));
        put("", self.legend());
        self.left_out().into_iter().for_each(|words| put("", words));
        text
    }

    /// Only the states that this chart distinguishes.
    fn legend(&self) -> String {
        let used = |state| self.lines().any(|l| l.segments.iter().any(|s| s.state == state));
        let words = [
            (State::User, "# running"),
            (State::System, "+ in the kernel"),
            (State::Ready, ". ready"),
            (State::Idle, "- idle"),
            (State::IoWait, "~ idle, waiting for a drive"),
        ];
        words.iter().filter(|w| used(w.0)).map(|w| w.1).collect::<Vec<_>>().join("  ")
    }

    fn scale_lines(&self, columns: usize) -> (String, String) {
        let (mut labels, mut marks) = (String::new(), String::new());
        for (time, label) in self.scale(APART as f64 / columns as f64) {
            let column = column_at(time - self.from, self.length(), columns);
            if column >= columns {
                break;
            }
            let pad = |line: &mut String, by: &str| *line = format!("{line:column$}{by}");
            pad(&mut labels, &label);
            pad(&mut marks, "|");
        }
        (labels, marks)
    }

    /// The state of each column; none where a task is not alive, or a processor is at work.
    pub(super) fn cells(&self, line: &Line, columns: usize) -> Vec<Option<State>> {
        let border =
            |column: usize| self.from + (u128::from(self.length()) * column as u128 / columns as u128) as Nanos;
        let mut held = vec![[0; STATES.len()]; columns];
        for segment in &line.segments {
            let first = column_at(segment.from - self.from, self.length(), columns).saturating_sub(1);
            for (column, held) in held.iter_mut().enumerate().skip(first) {
                let (from, to) = (border(column), border(column + 1));
                if from >= segment.to {
                    break;
                }
                held[segment.state as usize] += segment.to.min(to).saturating_sub(segment.from.max(from));
            }
        }
        let longest = |(column, held): (usize, [Nanos; STATES.len()])| {
            let nothing = border(column + 1) - border(column) - held.iter().sum::<Nanos>();
            let best = STATES.into_iter().rev().max_by_key(|&s| held[s as usize])?;
            (held[best as usize] > 0 && held[best as usize] >= nothing).then_some(best)
        };
        held.into_iter().enumerate().map(longest).collect()
    }
}

/// The column in which a time after the begin of the chart lies, or the next.
fn column_at(time: Nanos, length: Nanos, columns: usize) -> usize {
    (u128::from(time) * columns as u128 / u128::from(length.max(1))) as usize
}
