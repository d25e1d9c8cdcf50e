//! JSON documents whose arrays hold the events, read one element at a time.
//!
//! **Invariant:** only one element is in memory; arrays inside arrays are walked, objects inside arrays are events, unless they hold
//! an `events` array and have no type.

use std::collections::VecDeque;
use std::io::{self, BufRead};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::{Item, Problem, Reason, item, too_long};

/// Arrays nested deeper than this are events themselves (and will not decode).
const DEPTH_MAX: usize = 16;

/// Walks a document.
pub(super) struct Document<R> {
    input: R,
    bytes_max: usize,
    line: u64,
    /// Open containers that are walked: arrays, and the object at the top.
    open: Vec<u8>,
    element: Vec<u8>,
    element_bytes: u64,
    /// The object at the top, as far as it is not walked.
    outer: Outer,
    inner: VecDeque<(u64, String)>,
    current: String,
    ended: bool,
}

#[derive(Default)]
struct Outer {
    line: u64,
    text: Vec<u8>,
    /// Length that the text has, kept or not.
    bytes: u64,
    typed: bool,
    walked: bool,
}

/// The elements of the `events` array of an object without a type.
pub(super) fn events_of(text: &[u8]) -> Option<Vec<&RawValue>> {
    #[derive(Deserialize)]
    struct Holder<'a> {
        #[serde(rename = "type")]
        name: Option<IgnoredAny>,
        #[serde(borrow)]
        events: Vec<&'a RawValue>,
    }
    let holder = serde_json::from_slice::<Holder<'_>>(text).ok()?;
    holder.name.is_none().then_some(holder.events)
}

enum Ended {
    Whole,
    CutShort,
}

impl<R: BufRead> Document<R> {
    pub(super) fn new(input: R, bytes_max: usize) -> Self {
        Self {
            input,
            bytes_max,
            line: 1,
            open: Vec::new(),
            element: Vec::new(),
            element_bytes: 0,
            outer: Outer::default(),
            inner: VecDeque::new(),
            current: String::new(),
            ended: false,
        }
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let byte = self.input.fill_buf()?.first().copied();
        if byte.is_some() {
            self.input.consume(1);
            self.line = self.line.saturating_add(u64::from(byte == Some(b'\n')));
        }
        Ok(byte)
    }

    fn problem(line: u64, reason: Reason) -> io::Result<Option<Item<'static>>> {
        Ok(Some(Item::Problem(Problem { line, reason })))
    }

    pub(super) fn read(&mut self) -> io::Result<Option<Item<'_>>> {
        if let Some((line, text)) = self.inner.pop_front() {
            self.current = text;
            return Ok(Some(item(line, self.current.as_bytes(), None, None)));
        }
        while !self.ended {
            let Some(byte) = self.byte()? else {
                self.ended = true;
                if self.open.is_empty() {
                    return Ok(None);
                }
                return Self::problem(self.line, Reason::CutShort);
            };
            match (byte, self.open.last().copied()) {
                (b' ' | b'\t' | b'\r' | b'\n' | b',' | 0xEF | 0xBB | 0xBF, _) => {}
                (b'[', _) if self.open.len() < DEPTH_MAX => self.open.push(b'['),
                (b'{', None) => {
                    self.open.push(b'{');
                    self.outer = Outer { line: self.line, ..Outer::default() };
                }
                (b']', Some(b'[')) => {
                    self.open.pop();
                }
                (b'}', Some(b'{')) => {
                    self.open.pop();
                    if !self.outer.walked {
                        let outer = std::mem::take(&mut self.outer);
                        if outer.bytes.saturating_add(1) > u64::try_from(self.bytes_max).unwrap_or(u64::MAX) {
                            return Ok(Some(too_long(outer.line, outer.bytes.saturating_add(1), self.bytes_max)));
                        }
                        self.element = [b"{".as_slice(), &outer.text, b"}"].concat();
                        return Ok(Some(item(outer.line, &self.element, None, None)));
                    }
                }
                (b'"', Some(b'{')) => {
                    if let Some(problem) = self.field()? {
                        return Ok(Some(Item::Problem(problem)));
                    }
                }
                (b']' | b'}', _) => return Self::problem(self.line, Reason::Unpaired),
                (first, _) => {
                    let line = self.line;
                    return match self.capture(first)? {
                        Ended::CutShort => {
                            self.ended = true;
                            Self::problem(line, Reason::CutShort)
                        }
                        Ended::Whole => Ok(Some(self.give(line))),
                    };
                }
            }
        }
        Ok(None)
    }

    /// Gives the captured element, or the first of the events in it.
    fn give(&mut self, line: u64) -> Item<'_> {
        if self.is_too_long() {
            return too_long(line, self.element_bytes, self.bytes_max);
        }
        if let Some(events) = self.holds_events() {
            self.inner = events.into_iter().map(|text| (line, text)).collect();
            if let Some((line, text)) = self.inner.pop_front() {
                self.current = text;
                return item(line, self.current.as_bytes(), None, None);
            }
        }
        item(line, &self.element, None, None)
    }

    fn holds_events(&self) -> Option<Vec<String>> {
        let marked = self.element.windows(8).any(|window| window == b"\"events\"");
        let events = if marked { events_of(&self.element) } else { None };
        events.filter(|events| !events.is_empty()).map(|events| events.into_iter().map(|raw| raw.get().to_owned()).collect())
    }

    fn is_too_long(&self) -> bool {
        self.element_bytes > u64::try_from(self.bytes_max).unwrap_or(u64::MAX)
    }

    /// One field of the object at the top: its array is walked, anything else is kept.
    fn field(&mut self) -> io::Result<Option<Problem>> {
        let line = self.line;
        let cut = Problem { line, reason: Reason::CutShort };
        if matches!(self.capture(b'"')?, Ended::CutShort) {
            self.ended = true;
            return Ok(Some(cut));
        }
        let key = std::mem::take(&mut self.element);
        self.outer.typed |= key == b"\"type\"";
        loop {
            match self.byte()? {
                Some(b' ' | b'\t' | b'\r' | b'\n' | b':') => {}
                Some(b'[') if !self.outer.typed => {
                    self.outer.walked = true;
                    self.open.push(b'[');
                    return Ok(None);
                }
                Some(first) => {
                    if matches!(self.capture(first)?, Ended::CutShort) {
                        self.ended = true;
                        return Ok(Some(cut));
                    }
                    self.keep_field(&key);
                    return Ok(None);
                }
                None => {
                    self.ended = true;
                    return Ok(Some(cut));
                }
            }
        }
    }

    fn keep_field(&mut self, key: &[u8]) {
        // The field with its colon, and the comma or brace before it.
        let bytes = u64::try_from(key.len()).unwrap_or(u64::MAX).saturating_add(self.element_bytes).saturating_add(2);
        self.outer.bytes = self.outer.bytes.saturating_add(bytes);
        if self.outer.bytes > u64::try_from(self.bytes_max).unwrap_or(u64::MAX) {
            self.outer.text = Vec::new();
            return;
        }
        if !self.outer.text.is_empty() {
            self.outer.text.push(b',');
        }
        self.outer.text.extend_from_slice(key);
        self.outer.text.push(b':');
        self.outer.text.extend_from_slice(&self.element);
    }

    fn keep(&mut self, byte: u8) {
        self.element_bytes = self.element_bytes.saturating_add(1);
        if self.element.len() < self.bytes_max {
            self.element.push(byte);
        } else if self.is_too_long() && !self.element.is_empty() {
            self.element = Vec::new();
        }
    }

    /// Reads one value from its first byte into `element`.
    fn capture(&mut self, first: u8) -> io::Result<Ended> {
        self.element.clear();
        self.element_bytes = 0;
        let mut depth = 0_u64;
        let mut in_string = false;
        let mut escaped = false;
        let mut byte = first;
        loop {
            self.keep(byte);
            if in_string {
                in_string = escaped || byte != b'"';
                escaped = !escaped && byte == b'\\';
            } else {
                match byte {
                    b'"' => in_string = true,
                    b'{' | b'[' => depth = depth.saturating_add(1),
                    b'}' | b']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
            if depth == 0 && !in_string {
                let closed = matches!(byte, b'"' | b'}' | b']') && (self.element_bytes > 1 || byte != b'"');
                let next = self.input.fill_buf()?.first().copied();
                if closed || matches!(next, None | Some(b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n')) {
                    return Ok(Ended::Whole);
                }
            }
            match self.byte()? {
                Some(next) => byte = next,
                None => return Ok(Ended::CutShort),
            }
        }
    }
}
