//! Text of sessions made fit for a terminal.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// Text on one line: line ends become spaces, other control characters a visible stand-in.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(['\n', '\r', '\t']).map(str::trim).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().map(harmless));
    }
    line
}

/// Text with its line ends and tabs, other control characters as a visible stand-in.
pub(crate) fn lines(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| c == '\n' || c == '\t' || harmless(c) == c) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").chars().map(|c| if c == '\n' || c == '\t' { c } else { harmless(c) }).collect())
}

/// Characters of a text that one line can show at most.
const FRONT_CHARS: usize = 400;

/// The front of a text, as much as one line can show.
pub(crate) fn front(text: &str) -> &str {
    text.char_indices().nth(FRONT_CHARS).and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

/// The front of a text, at most `columns` wide, with an ellipsis when something is left out.
pub(crate) fn clip(text: &str, columns: usize) -> String {
    let mut clipped = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide > columns {
            while used + 1 > columns {
                let Some(last) = clipped.pop() else { break };
                used = used.saturating_sub(last.width().unwrap_or(0));
            }
            clipped.push('…');
            return clipped;
        }
        used += wide;
        clipped.push(c);
    }
    clipped
}

/// The lines of a text, broken between words so that none is wider than `columns`; a longer word is broken itself.
pub(crate) fn wrap(text: &str, columns: usize) -> impl Iterator<Item = String> {
    let columns = columns.max(2);
    text.lines().flat_map(move |line| {
        let mut broken = Vec::new();
        let mut rest = line;
        loop {
            let end = fitting(rest, columns);
            let (first, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            broken.push(first.trim_end().to_owned());
            rest = after.trim_start();
            if rest.is_empty() {
                return broken;
            }
        }
    })
}

/// Bytes of the front of a line that fit: all of it, else up to a space, else up to a character.
fn fitting(line: &str, columns: usize) -> usize {
    let (mut used, mut space) = (0, None);
    for (at, c) in line.char_indices() {
        let wide = c.width().unwrap_or(0);
        if c == ' ' && used > 0 {
            space = Some(at);
        }
        if used + wide > columns {
            return space.unwrap_or(at);
        }
        used += wide;
    }
    line.len()
}

/// Control characters, and those that turn the direction of text around, become a visible stand-in.
fn harmless(c: char) -> char {
    match c {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(one_line("a\u{1b}[2Jb\u{7}"), "a␛[2Jb␇");
        assert_eq!(lines("a\r\nb\u{9b}c"), "a\nb\u{fffd}c");
    }

    #[test]
    fn wrapping_breaks_between_words_and_keeps_every_one() {
        let wrapped: Vec<_> = wrap("one two three\n\nabcdefgh  ij", 7).collect();
        assert_eq!(wrapped, ["one two", "three", "", "abcdefg", "h  ij"]);
        assert_eq!(wrap("日本語", 2).collect::<Vec<_>>(), ["日", "本", "語"]);
    }

    #[test]
    fn clipping_counts_columns_and_not_bytes() {
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abcd", 3), "ab…");
        assert_eq!(clip("日本語", 4), "日…");
        assert_eq!(clip("日本語", 6), "日本語");
    }
}
