//! Text of others on its way to a screen (names of commands, of files, of settings): control characters are shown, not obeyed.

/// The text with every character that a terminal would obey as an escape: `\x1b`, `\u202e`. Line ends and tabs stay.
pub fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match u32::from(sign) {
            _ if !is_obeyed(sign) => out.push(sign),
            code @ ..0x100 => out.extend(format!("\\x{code:02x}").chars()),
            code => out.extend(format!("\\u{code:04x}").chars()),
        }
    }
    out
}

/// Controls, what turns the direction of text, and line ends of Unicode.
fn is_obeyed(sign: char) -> bool {
    let turns = matches!(sign, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (sign.is_control() && !matches!(sign, '\n' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown_and_all_else_stays() {
        assert_eq!(shown("a\x1b[2J\r\u{9b}\u{202e}\0"), r"a\x1b[2J\x0d\x9b\u202e\x00");
        let plain = "naïve: 10 µs\n\t\"x\"";
        assert_eq!(shown(plain), plain);
    }
}
