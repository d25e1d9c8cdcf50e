//! Which format a source has, from its first bytes.

use std::io::{self, BufRead};

use super::Format;

const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Reads the head of the source and names the format; `None` when there is nothing but blanks.
pub(super) fn detect<R: BufRead>(source: &mut R) -> io::Result<(Vec<u8>, Option<Format>)> {
    let mut head = Vec::new();
    loop {
        let chunk = source.fill_buf()?;
        let at_end = chunk.is_empty();
        let take = chunk.len().min(HEAD_BYTES_MAX.saturating_sub(head.len()));
        head.extend_from_slice(chunk.get(..take).unwrap_or_default());
        source.consume(take);
        let full = at_end || head.len() >= HEAD_BYTES_MAX;
        let bytes = without_bom(&head);
        if let Some(format) = format_of(bytes, full) {
            return Ok((head, Some(format)));
        }
        if at_end {
            let format = (!bytes.trim_ascii().is_empty()).then_some(Format::JsonLines);
            return Ok((head, format));
        }
        if full {
            return Ok((head, Some(Format::JsonLines)));
        }
    }
}

pub(super) fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}

/// The format, or `None` while the bytes at hand do not say.
fn format_of(head: &[u8], whole: bool) -> Option<Format> {
    let text = head.trim_ascii_start();
    match text.first()? {
        b'[' => Some(Format::JsonDocument),
        b'{' => {
            let end = text.iter().position(|b| *b == b'\n');
            if end.is_none() && !whole {
                return None;
            }
            Some(if is_container(text.get(..end.unwrap_or(text.len())).unwrap_or_default()) {
                Format::JsonDocument
            } else {
                Format::JsonLines
            })
        }
        _ => {
            let ends = |line: &[u8]| ["data:", "event:", "id:", "retry:", ":"].iter().any(|field| line.starts_with(field.as_bytes()));
            if head.split(|b| matches!(b, b'\n' | b'\r')).any(ends) {
                return Some(Format::Sse);
            }
            (whole && !text.is_empty()).then_some(Format::JsonLines)
        }
    }
}

/// Whether a first line that begins an object is the beginning of a document rather than an event of its own.
fn is_container(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    if serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err() {
        let opened = matches!(line.last(), Some(b'{' | b'[' | b','));
        return opened || (position(line, b"\"events\"").is_some() && position(line, b"\"type\"") > position(line, b"\"events\""));
    }
    super::document::events_of(line).is_some()
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
