//! Which format a file has: by what its first records hold, never by its length or its name. Where the beginning fits no
//! format, or several, nothing is guessed: the user has to say.

use super::{Beginning, FORMATS, Format, Place, Problem, csv, lcs, names, twitter, txt};

/// Bytes that a message shows.
const SHOWN: usize = 16;

/// The only format that the beginning fits.
pub(super) fn format(beginning: &Beginning<'_>) -> Result<&'static Format, Problem> {
    if is_text(beginning.bytes) {
        return Ok(text(beginning));
    }
    if lcs::begins(beginning.bytes) {
        return Ok(&lcs::FORMAT);
    }
    let is_text = |format: &Format| [csv::FORMAT.name, txt::FORMAT.name, twitter::FORMAT.name].contains(&format.name);
    let binary = FORMATS.iter().filter(|format| !is_text(format));
    let (mut fit, mut others) = (Vec::new(), Vec::new());
    for format in binary {
        match (format.fits)(beginning) {
            Ok(()) => fit.push(format),
            Err(why) => others.push(format!("{}: {why}", format.name)),
        }
    }
    match fit[..] {
        [format] => Ok(format),
        [] => Err(unrecognised(beginning, &others)),
        _ => {
            let names: Vec<&str> = fit.iter().map(|format| format.name).collect();
            Err(Place::Whole.problem(format!("may be {}: say which, with --format", names.join(" or "))))
        }
    }
}

/// The format of a text: `twitter` by its first line, `txt` by single words without a heading, else `csv`.
fn text(beginning: &Beginning<'_>) -> &'static Format {
    let fits = |format: &Format| (format.fits)(beginning).is_ok();
    let name = match () {
        () if fits(&twitter::FORMAT) => twitter::FORMAT.name,
        () if !fits(&csv::FORMAT) && fits(&txt::FORMAT) => txt::FORMAT.name,
        () => csv::FORMAT.name,
    };
    FORMATS.iter().find(|format| format.name == name).expect("the table has all formats")
}

/// Whether these are characters in UTF-8, of which the last may go on, and no control characters but those of lines.
fn is_text(bytes: &[u8]) -> bool {
    let characters = std::str::from_utf8(bytes).map_or_else(|why| why.error_len().is_none(), |_| true);
    characters && !bytes.iter().any(|byte| (byte.is_ascii_control() && !byte.is_ascii_whitespace()) || *byte == 0x0c)
}

fn unrecognised(beginning: &Beginning<'_>, why: &[String]) -> Problem {
    let first: Vec<String> = beginning.bytes.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
    // All reasons would be a page; the first is that of the most common format.
    let nearest = why.first().map(|why| format!(" (as {why})")).unwrap_or_default();
    Place::Whole.problem(format!(
        "begins with {}, which is neither text nor records of a known format{nearest}: say which with --format, of {}",
        first.join(" "),
        names()
    ))
}
