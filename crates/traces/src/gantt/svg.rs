//! The chart as a picture of its own: one SVG file with tooltips, for light and dark pages.
//!
//! Times are placed by shares of the width, words by pixels, and names stand above their lines: so the picture can be
//! read at the width of a telephone and at that of a screen, with the same letters.

use super::{Chart, Line, Segment, State};
use schedlab_model::{Nanos, units::spell_duration};
use std::fmt::Write;

/// Width of the picture where nothing else asks for one, in pixels; a bar is at least half a pixel of it.
const WIDTH: f64 = 960.0;
/// Where the time axis begins, and its length, in percent of the width.
const LEFT: f64 = 2.0;
const SHARE: f64 = 96.0;
/// Heights of a line with its name, of its bar and of the part above the lines, in pixels.
const LINE: f64 = 29.0;
const BAR: f64 = 12.0;
const TOP: f64 = 58.0;
/// Space between the parts.
const GAP: f64 = 12.0;
/// Width of a narrow picture, into which the legend is set.
const NARROW: f64 = 300.0;
/// Longest label shown in full, in characters, and the width of one.
const LABEL: usize = 40;
const CHARACTER: f64 = 7.0;
/// A line of more segments than this is drawn by the half pixel, so that the file stays small.
const SEGMENTS: usize = 2000;
/// A bar of less than this part of the width has no room for the number of its processor.
const NUMBERED: f64 = 2.2;

/// Colours: those of `python/schedlab/pictures/style.py`, whose tests hold them apart for red-green blind readers.
const STYLE: &str = "
svg{--card:#f5f5f3;--ink:#1d1f23;--dim:#5b616a;--line:#dcdee1;--user:#2458a8;--system:#84260a;--ready:#eeb422;--wait:#9c98c0;--idle:#dde6ea;--io:#86806f}
@media screen and (prefers-color-scheme:dark){svg{--card:#1e2124;--ink:#e6e7e9;--dim:#a2a9b3;--line:#34383e;--user:#7db8ff;--system:#c47f1c;--ready:#fff0a0;--wait:#6c7888;--idle:#342c5c;--io:#6e2c1c}}
text{font:11px system-ui,sans-serif;fill:var(--ink);paint-order:stroke;stroke:var(--card);stroke-width:3px}
.title{font-size:13px;font-weight:600}.scale,.note{fill:var(--dim)}
.cpu{fill:var(--card);stroke:none;font-size:9px;pointer-events:none}@media (max-width:700px){.cpu{display:none}}
.ground{fill:var(--card)}.grid{stroke:var(--line)}
.user{fill:var(--user)}.system{fill:var(--system)}.ready{fill:var(--ready)}.wait{fill:var(--wait)}.idle{fill:var(--idle)}.io{fill:var(--io)}
rect:hover{opacity:.75}.ground:hover{opacity:1}
";

impl State {
    /// Class, height of its bar as a share of the full height, and name.
    fn look(self) -> (&'static str, f64, &'static str) {
        match self {
            State::User => ("user", 1.0, "running"),
            State::System => ("system", 1.0, "in the kernel"),
            State::Ready => ("ready", 0.375, "ready"),
            State::Waiting => ("wait", 0.125, "waiting"),
            State::Idle => ("idle", 1.0, "idle"),
            State::IoWait => ("io", 1.0, "idle, waiting for a drive"),
        }
    }
}

impl Chart {
    /// The chart as a complete SVG document with this title.
    pub fn svg(&self, title: &str) -> String {
        let bottom = TOP + LINE * self.lines().count() as f64;
        let (legend, height) = self.legend_marks(bottom + 2.0 * GAP);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" style=\"max-width:100%\" \
             role=\"img\">\n<title>{0}</title>\n<style>{STYLE}</style>\n\
             <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n\
             <text class=\"title\" x=\"{LEFT}%\" y=\"20\">{0}</text>\n",
            escape(title)
        );
        svg += &self.scale_marks(bottom);
        for (row, line) in self.tasks.iter().enumerate() {
            svg += &self.row(line, &shorten(&line.label), TOP + LINE * row as f64);
        }
        for (row, line) in self.processors.iter().enumerate() {
            let name = format!("processor {row}, when idle");
            svg += &self.row(line, &name, TOP + LINE * (self.tasks.len() + row) as f64);
        }
        svg + &legend + "</svg>\n"
    }

    /// Where a time stands, in percent of the width.
    fn x(&self, time: Nanos) -> f64 {
        LEFT + SHARE * (time - self.from) as f64 / self.length().max(1) as f64
    }

    /// A label that would touch the one before it in a narrow picture is left out.
    fn scale_marks(&self, bottom: f64) -> String {
        let (mut marks, mut free) = (String::new(), 0.0);
        for (time, label) in self.scale(0.16) {
            let (x, top, y) = (self.x(time), TOP - 8.0, TOP - 13.0);
            put(
                &mut marks,
                format_args!("<line class=\"grid\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{top}\" y2=\"{bottom}\"/>"),
            );
            // At the edges a label stands inside.
            let character = 100.0 * CHARACTER / NARROW;
            let width = character * label.chars().count() as f64;
            let (anchor, left) = if x < 8.0 {
                ("start", x)
            } else if x > 92.0 {
                ("end", x - width)
            } else {
                ("middle", x - width / 2.0)
            };
            if left < free {
                continue;
            }
            free = left + width + character;
            put(
                &mut marks,
                format_args!("<text class=\"scale\" x=\"{x:.2}%\" y=\"{y}\" text-anchor=\"{anchor}\">{label}</text>"),
            );
        }
        marks
    }

    fn row(&self, line: &Line, label: &str, top: f64) -> String {
        let (name, middle) = (top + 10.0, top + 14.0 + BAR / 2.0);
        let label = escape(label);
        let mut row = String::new();
        put(&mut row, format_args!("<text x=\"{LEFT}%\" y=\"{name}\">{label}</text>"));
        let coarse = (line.segments.len() > SEGMENTS).then(|| self.coarse(line));
        for segment in coarse.as_ref().unwrap_or(&line.segments) {
            let (class, share, name) = segment.state.look();
            let (from, height) = (self.x(segment.from), BAR * share);
            // The thinnest bar can still be seen.
            let width = (self.x(segment.to) - from).max(0.06);
            let (y, length) = (middle - height / 2.0, spell_duration(segment.to - segment.from));
            let (at, note) = (spell_duration(segment.from), if segment.note.is_empty() { "" } else { ": " });
            put(
                &mut row,
                format_args!(
                    "<rect class=\"{class}\" x=\"{from:.3}%\" y=\"{y}\" width=\"{width:.3}%\" height=\"{height}\">\
                     <title>{label}, {name} for {length} at {at}{note}{}</title></rect>",
                    segment.note
                ),
            );
            if let Some(cpu) = segment.cpu.filter(|_| self.processors.len() > 1 && width > NUMBERED) {
                let y = middle + 3.5;
                put(&mut row, format_args!("<text class=\"cpu\" x=\"{:.3}%\" y=\"{y}\">{cpu}</text>", from + 0.3));
            }
        }
        row
    }

    /// A line by the half pixel, equal neighbours as one segment.
    fn coarse(&self, line: &Line) -> Vec<Segment> {
        let columns = 2 * WIDTH as usize;
        let time = |column: usize| self.from + (u128::from(self.length()) * column as u128 / columns as u128) as Nanos;
        let cells = self.cells(line, columns);
        let mut column = 0;
        let mut segments = Vec::new();
        for run in cells.chunk_by(|a, b| a == b) {
            let (from, to) = (time(column), time(column + run.len()));
            column += run.len();
            segments.extend(run[0].map(|state| Segment { from, to, state, cpu: None, note: "mostly".to_owned() }));
        }
        segments
    }

    /// The states that the chart shows, in as many lines as a narrow picture needs; and the height of the whole.
    fn legend_marks(&self, top: f64) -> (String, f64) {
        let mut legend = String::new();
        let (mut x, mut y) = (GAP, top);
        let mut entry = |width: f64| {
            if x > GAP && x + width > NARROW {
                (x, y) = (GAP, y + 18.0);
            }
            let place = (x, y);
            x += width + GAP;
            place
        };
        let shown = |state| self.lines().any(|l| l.segments.iter().any(|s| s.state == state));
        for state in super::STATES.into_iter().filter(|&state| shown(state)) {
            let (class, share, name) = state.look();
            let (x, y) = entry(22.0 + CHARACTER * name.len() as f64);
            let height = BAR * share;
            let (top, words) = (y - 4.0 - height / 2.0, x + 22.0);
            put(
                &mut legend,
                format_args!("<rect class=\"{class}\" x=\"{x}\" y=\"{top}\" width=\"16\" height=\"{height}\"/>"),
            );
            put(&mut legend, format_args!("<text class=\"note\" x=\"{words}\" y=\"{y}\">{name}</text>"));
        }
        let numbers = (self.processors.len() > 1).then(|| "numbers: the processor".to_owned());
        for words in numbers.into_iter().chain(self.left_out()) {
            let (x, y) = entry(CHARACTER * words.len() as f64);
            put(&mut legend, format_args!("<text class=\"note\" x=\"{x}\" y=\"{y}\">{words}</text>"));
        }
        (legend, y + GAP)
    }
}

fn put(text: &mut String, line: std::fmt::Arguments<'_>) {
    writeln!(text, "{line}").expect("a string takes everything");
}

fn shorten(label: &str) -> String {
    if label.chars().count() <= LABEL {
        return label.to_owned();
    }
    label.chars().take(LABEL - 1).chain(['…']).collect()
}

/// For text and attributes of XML; characters that XML forbids are dropped.
fn escape(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars().filter(|c| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}')) {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            c => safe.push(c),
        }
    }
    safe
}
