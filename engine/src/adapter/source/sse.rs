//! Server-sent events. Source: `protocols.md`, section 3.3.
//!
//! **Invariant:** a block that the end of the input cuts off is still given, when its data is not cut inside a JSON value.

use std::io::{self, BufRead};

use super::{Item, Problem, Reason, detect, is_cut, item, too_long};

/// Reads blocks of `field: value` lines.
pub(super) struct Sse<R> {
    input: R,
    bytes_max: usize,
    line: u64,
    after_cr: bool,
    buffer: Vec<u8>,
    block: Block,
    /// What was given last; kept so that it can be borrowed.
    given: Block,
    ended: bool,
}

#[derive(Default)]
struct Block {
    line: u64,
    data: Vec<u8>,
    has_data: bool,
    bytes: u64,
    name: Option<String>,
    id: Option<String>,
}

impl<R: BufRead> Sse<R> {
    pub(super) fn new(input: R, bytes_max: usize) -> Self {
        Self {
            input,
            bytes_max,
            line: 0,
            after_cr: false,
            buffer: Vec::new(),
            block: Block::default(),
            given: Block::default(),
            ended: false,
        }
    }

    /// Reads one line into the buffer, without its end; gives its length, or `None` at the end.
    fn next_line(&mut self) -> io::Result<Option<u64>> {
        self.buffer.clear();
        let mut bytes = 0_u64;
        let mut any = false;
        loop {
            let mut chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Ok(any.then_some(bytes));
            }
            if std::mem::take(&mut self.after_cr) && chunk.first() == Some(&b'\n') {
                self.input.consume(1);
                chunk = self.input.fill_buf()?;
                if chunk.is_empty() {
                    return Ok(any.then_some(bytes));
                }
            }
            any = true;
            let end = chunk.iter().position(|b| matches!(b, b'\n' | b'\r'));
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
            bytes = bytes.saturating_add(u64::try_from(part.len()).unwrap_or(u64::MAX));
            // The beginning is enough to know the field; what is too long is told by its length.
            let room = self.bytes_max.saturating_add(16).saturating_sub(self.buffer.len());
            self.buffer.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
            self.after_cr = end.is_some_and(|at| chunk.get(at) == Some(&b'\r'));
            let used = end.map_or(chunk.len(), |at| at.saturating_add(1));
            self.input.consume(used);
            if end.is_some() {
                return Ok(Some(bytes));
            }
        }
    }

    pub(super) fn read(&mut self) -> io::Result<Option<Item<'_>>> {
        while !self.ended {
            let Some(bytes) = self.next_line()? else {
                self.ended = true;
                break;
            };
            self.line = self.line.saturating_add(1);
            let start = if self.line == 1 { self.buffer.len().saturating_sub(detect::without_bom(&self.buffer).len()) } else { 0 };
            let line = self.buffer.get(start..).unwrap_or_default();
            if !line.is_empty() || bytes > 3 {
                self.block.take(self.line, line, bytes, self.bytes_max);
            } else if std::mem::take(&mut self.block.has_data) {
                return Ok(Some(self.give(false)));
            } else {
                self.block = Block::default();
            }
        }
        if std::mem::take(&mut self.block.has_data) { Ok(Some(self.give(true))) } else { Ok(None) }
    }

    fn give(&mut self, at_end: bool) -> Item<'_> {
        self.given = std::mem::take(&mut self.block);
        let Block { line, data, bytes, name, id, .. } = &self.given;
        if *bytes > u64::try_from(self.bytes_max).unwrap_or(u64::MAX) {
            return too_long(*line, *bytes, self.bytes_max);
        }
        if at_end && is_cut(data) {
            return Item::Problem(Problem { line: *line, reason: Reason::CutShort });
        }
        item(*line, data, name.as_deref(), id.as_deref())
    }
}

impl Block {
    /// Takes one line of the block; `bytes` is its true length.
    fn take(&mut self, number: u64, line: &[u8], bytes: u64, bytes_max: usize) {
        let colon = line.iter().position(|b| *b == b':');
        let field = line.get(..colon.unwrap_or(line.len())).unwrap_or_default();
        let value = colon.and_then(|at| line.get(at.saturating_add(1)..)).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                self.bytes = self.bytes.saturating_add(bytes);
                if !self.has_data && value.is_empty() && self.data.is_empty() {
                    return;
                }
                if self.has_data {
                    self.data.push(b'\n');
                } else {
                    self.line = number;
                }
                self.has_data = true;
                if self.data.len().saturating_add(value.len()) <= bytes_max {
                    self.data.extend_from_slice(value);
                }
            }
            b"event" => self.name = std::str::from_utf8(value).ok().map(str::to_owned),
            b"id" if !value.contains(&0) => self.id = std::str::from_utf8(value).ok().filter(|id| !id.is_empty()).map(str::to_owned),
            _ => {}
        }
    }
}
