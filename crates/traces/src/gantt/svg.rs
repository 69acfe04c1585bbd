//! The chart as a picture of its own: one SVG file with tooltips, for light and dark pages.

use super::{Chart, Line, Segment, State};
use schedlab_model::{Nanos, units::spell_duration};
use std::fmt::Write;

/// Width of the time axis, and heights of a line, of its bar and of the part above the lines, in pixels.
const WIDTH: f64 = 960.0;
const LINE: f64 = 24.0;
const BAR: f64 = 16.0;
const TOP: f64 = 64.0;
/// Space between the parts.
const GAP: f64 = 16.0;
/// Longest label shown in full, in characters, and the width of one.
const LABEL: usize = 24;
const CHARACTER: f64 = 7.4;
/// A line of more segments than this is drawn by the half pixel, so that the file stays small.
const SEGMENTS: usize = 2000;

/// Colours: fit for the colour-blind, with enough contrast on either ground.
const STYLE: &str = "
svg{--ground:#fff;--ink:#1c2430;--faint:#5c6675;--grid:#e4e8ee;--user:#2b6cd4;--system:#7a3fb5;--ready:#e8a33d;--wait:#c3cad4;--idle:#dfe4ea;--io:#a8c6b4}
@media (prefers-color-scheme:dark){svg{--ground:#12161c;--ink:#e8ecf2;--faint:#9aa5b4;--grid:#262d37;--user:#5b9bff;--system:#b98af0;--ready:#f0b557;--wait:#4a5463;--idle:#2b333e;--io:#3f6b55}}
text{font:12px ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;fill:var(--ink)}
.title{font-size:16px;font-weight:600}.scale,.note{fill:var(--faint)}.scale{font-size:11px}
.ground{fill:var(--ground)}.grid{stroke:var(--grid)}
.user{fill:var(--user)}.system{fill:var(--system)}.ready{fill:var(--ready)}.wait{fill:var(--wait)}.idle{fill:var(--idle)}.io{fill:var(--io)}
rect{rx:2px}.ground{rx:0}rect:hover{opacity:.75}.ground:hover{opacity:1}
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

/// Positions in the drawing.
struct Layout {
    left: f64,
    length: f64,
}

impl Layout {
    fn x(&self, time: Nanos) -> f64 {
        self.left + WIDTH * time as f64 / self.length
    }
}

impl Chart {
    /// The chart as a complete SVG document with this title.
    pub fn svg(&self, title: &str) -> String {
        let longest = self.lines().map(|l| l.label.chars().count().min(LABEL)).max().unwrap_or(0);
        let layout = Layout { left: 2.0 * GAP + CHARACTER * longest as f64, length: self.length.max(1) as f64 };
        let bottom = TOP + LINE * self.lines().count() as f64;
        let (width, height) = (layout.left + WIDTH + 2.0 * GAP, bottom + 3.5 * GAP);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\">\n<title>{0}</title>\n<style>{STYLE}</style>\n\
             <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n\
             <text class=\"title\" x=\"{GAP}\" y=\"28\">{0}</text>\n",
            escape(title)
        );
        svg += &self.scale_marks(&layout, bottom);
        for (row, line) in self.lines().enumerate() {
            svg += &self.row(line, TOP + LINE * row as f64, &layout);
        }
        svg += &self.legend_marks(&layout, bottom + 2.0 * GAP);
        svg + "</svg>\n"
    }

    fn scale_marks(&self, layout: &Layout, bottom: f64) -> String {
        let mut marks = String::new();
        for (time, label) in self.scale(0.08) {
            let (x, top) = (layout.x(time), TOP - 6.0);
            put(&mut marks, format_args!("<path class=\"grid\" d=\"M{x:.1} {top}V{bottom}\"/>"));
            let y = TOP - 12.0;
            put(
                &mut marks,
                format_args!("<text class=\"scale\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>"),
            );
        }
        marks
    }

    fn row(&self, line: &Line, top: f64, layout: &Layout) -> String {
        let middle = top + LINE / 2.0;
        let (x, y) = (layout.left - GAP / 2.0, middle + 4.0);
        let label = escape(&shorten(&line.label));
        let mut row = String::new();
        put(&mut row, format_args!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"end\">{label}</text>"));
        let coarse = (line.segments.len() > SEGMENTS).then(|| self.coarse(line));
        for segment in coarse.as_ref().unwrap_or(&line.segments) {
            let (class, share, name) = segment.state.look();
            let (from, height) = (layout.x(segment.from), BAR * share);
            // The thinnest bar can still be seen.
            let width = (layout.x(segment.to) - from).max(0.6);
            let (y, length) = (middle - height / 2.0, spell_duration(segment.to - segment.from));
            let (at, note) = (spell_duration(segment.from), if segment.note.is_empty() { "" } else { ": " });
            put(
                &mut row,
                format_args!(
                    "<rect class=\"{class}\" x=\"{from:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{height}\">\
                     <title>{label}, {name} for {length} at {at}{note}{}</title></rect>",
                    segment.note
                ),
            );
        }
        row
    }

    /// A line by the half pixel, equal neighbours as one segment.
    fn coarse(&self, line: &Line) -> Vec<Segment> {
        let columns = 2 * WIDTH as usize;
        let time = |column: usize| (u128::from(self.length) * column as u128 / columns as u128) as Nanos;
        let cells = self.cells(line, columns);
        let mut column = 0;
        let mut segments = Vec::new();
        for run in cells.chunk_by(|a, b| a == b) {
            let (from, to) = (time(column), time(column + run.len()));
            column += run.len();
            segments.extend(run[0].map(|state| Segment { from, to, state, note: "mostly".to_owned() }));
        }
        segments
    }

    fn legend_marks(&self, layout: &Layout, y: f64) -> String {
        let mut legend = String::new();
        let mut x = layout.left;
        for state in super::STATES {
            if self.lines().any(|l| l.segments.iter().any(|s| s.state == state)) {
                let (class, share, name) = state.look();
                let height = BAR * share;
                let (top, words) = (y - 4.0 - height / 2.0, x + 26.0);
                put(
                    &mut legend,
                    format_args!("<rect class=\"{class}\" x=\"{x:.1}\" y=\"{top}\" width=\"20\" height=\"{height}\"/>"),
                );
                put(&mut legend, format_args!("<text class=\"note\" x=\"{words:.1}\" y=\"{y}\">{name}</text>"));
                x = words + 0.85 * CHARACTER * name.len() as f64 + GAP;
            }
        }
        if let Some(words) = self.left_out() {
            put(&mut legend, format_args!("<text class=\"note\" x=\"{x:.1}\" y=\"{y}\">{words}</text>"));
        }
        legend
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
