//! One JSON value a line.

use std::io::{self, BufRead, Read};

use super::{Item, Problem, Reason, detect, is_cut, item, too_long};

/// Reads lines that end in LF or CRLF; blank ones are passed over.
pub(super) struct JsonLines<R> {
    input: R,
    bytes_max: usize,
    line: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> JsonLines<R> {
    pub(super) fn new(input: R, bytes_max: usize) -> Self {
        Self { input, bytes_max, line: 0, buffer: Vec::new() }
    }

    pub(super) fn read(&mut self) -> io::Result<Option<Item<'_>>> {
        loop {
            self.buffer.clear();
            let limit = u64::try_from(self.bytes_max).unwrap_or(u64::MAX).saturating_add(2);
            let read = (&mut self.input).take(limit).read_until(b'\n', &mut self.buffer)?;
            if read == 0 {
                return Ok(None);
            }
            self.line = self.line.saturating_add(1);
            let ended = self.buffer.last() == Some(&b'\n');
            if !ended && u64::try_from(read).unwrap_or(u64::MAX) >= limit {
                let rest = self.input.skip_until(b'\n')?;
                let bytes = limit.saturating_add(u64::try_from(rest.saturating_sub(1)).unwrap_or(u64::MAX));
                self.buffer = Vec::new();
                return Ok(Some(too_long(self.line, bytes, self.bytes_max)));
            }
            let start = if self.line == 1 { self.buffer.len().saturating_sub(detect::without_bom(&self.buffer).len()) } else { 0 };
            if self.buffer.get(start..).unwrap_or_default().trim_ascii().is_empty() {
                continue;
            }
            let bytes = self.buffer.get(start..).unwrap_or_default().trim_ascii();
            if bytes.len() > self.bytes_max {
                return Ok(Some(too_long(self.line, u64::try_from(bytes.len()).unwrap_or(u64::MAX), self.bytes_max)));
            }
            if !ended && (is_cut(bytes) || std::str::from_utf8(bytes).is_err_and(|e| e.error_len().is_none())) {
                return Ok(Some(Item::Problem(Problem { line: self.line, reason: Reason::CutShort })));
            }
            return Ok(Some(item(self.line, bytes, None, None)));
        }
    }
}
