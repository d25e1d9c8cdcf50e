//! Raw source events out of a file or a stream: JSON lines, JSON documents and server-sent events.
//!
//! **Invariant:** memory is bounded by one line (or element, or block) of at most `line_bytes_max`; what cannot be read is named with
//! its line, and reading goes on behind it.
//! **Absent:** what an event means.

mod detect;
mod document;
mod lines;
mod sse;

use std::io::{self, BufRead, Chain, Cursor};

use document::Document;
use lines::JsonLines;
use sse::Sse;

/// Longest line, element or block, in bytes; a longer one is skipped without being kept, and reported.
pub const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How the events of a source stand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON value a line.
    JsonLines,
    /// JSON whose arrays hold the events: an array, or objects with an `events` array or other arrays by name.
    JsonDocument,
    /// `text/event-stream`.
    Sse,
}

/// One event as the source gave it. It is UTF-8 without NUL bytes; whether it is JSON, its decoder says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'r> {
    /// Line of the source, from 1, on which it begins.
    pub line: u64,
    /// The text of the event.
    pub text: &'r str,
    /// Name that the transport gave (`event:`); counts when the event has none itself.
    pub name: Option<&'r str>,
    /// Id that the transport gave to this event (`id:`).
    pub id: Option<&'r str>,
}

/// Something in the source that is no event. The caller reports it and goes on reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct Problem {
    /// Line of the source, from 1.
    pub line: u64,
    /// What is wrong.
    pub reason: Reason,
}

/// Why a part of the source gave no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The line, element or block is longer than the limit. The producer splits it.
    #[error("{bytes} bytes are above the limit of {bytes_max}, skipped")]
    TooLong {
        /// Its length.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// The bytes are not UTF-8.
    #[error("not UTF-8, skipped")]
    NotUtf8,
    /// The text holds a NUL byte.
    #[error("holds a NUL byte, skipped")]
    NulByte,
    /// There is nothing in the source.
    #[error("the source is empty")]
    Empty,
    /// The source ends inside an event; it may come whole when the source has grown.
    #[error("the source ends inside an event, left out")]
    CutShort,
    /// Brackets do not pair here.
    #[error("brackets do not pair, skipped")]
    Unpaired,
}

/// What the source gives next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'r> {
    /// An event.
    Event(Raw<'r>),
    /// Something else.
    Problem(Problem),
}

pub(in crate::adapter::source) type Input<R> = Chain<Cursor<Vec<u8>>, R>;

enum Inner<R> {
    Lines(JsonLines<Input<R>>),
    Document(Document<Input<R>>),
    Sse(Sse<Input<R>>),
    Empty { told: bool },
}

/// Reads the events of a source one by one.
pub struct Reader<R> {
    format: Format,
    inner: Inner<R>,
}

impl<R: BufRead> Reader<R> {
    /// Finds the format from the first bytes. Reads at most 64 KiB ahead.
    ///
    /// # Errors
    /// The source could not be read; the caller opens it again.
    pub fn new(source: R) -> io::Result<Self> {
        Self::with_limit(source, LINE_BYTES_MAX)
    }

    /// As [`Reader::new`], with another limit.
    ///
    /// # Errors
    /// The source could not be read; the caller opens it again.
    pub fn with_limit(mut source: R, line_bytes_max: usize) -> io::Result<Self> {
        let (head, format) = detect::detect(&mut source)?;
        Ok(Self::over(head, source, format, line_bytes_max))
    }

    /// Reads a source whose format is known.
    pub fn of_format(source: R, format: Format, line_bytes_max: usize) -> Self {
        Self::over(Vec::new(), source, Some(format), line_bytes_max)
    }

    fn over(head: Vec<u8>, source: R, format: Option<Format>, bytes_max: usize) -> Self {
        let input = io::Read::chain(Cursor::new(head), source);
        let inner = match format {
            None => Inner::Empty { told: false },
            Some(Format::JsonLines) => Inner::Lines(JsonLines::new(input, bytes_max)),
            Some(Format::JsonDocument) => Inner::Document(Document::new(input, bytes_max)),
            Some(Format::Sse) => Inner::Sse(Sse::new(input, bytes_max)),
        };
        Self { format: format.unwrap_or(Format::JsonLines), inner }
    }

    /// The format that is read.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The next event or problem; `None` at the end. Cost: one pass over the bytes of the event.
    ///
    /// # Errors
    /// The source could not be read; events so far stand, the caller may open it again.
    pub fn read(&mut self) -> io::Result<Option<Item<'_>>> {
        match &mut self.inner {
            Inner::Lines(lines) => lines.read(),
            Inner::Document(document) => document.read(),
            Inner::Sse(sse) => sse.read(),
            Inner::Empty { told: true } => Ok(None),
            Inner::Empty { told } => {
                *told = true;
                Ok(Some(Item::Problem(Problem { line: 1, reason: Reason::Empty })))
            }
        }
    }
}

/// Text of bytes that the caller has delimited.
fn checked(bytes: &[u8]) -> Result<&str, Reason> {
    let text = std::str::from_utf8(bytes).map_err(|_| Reason::NotUtf8)?;
    if memchr::memchr(0, bytes).is_some() { Err(Reason::NulByte) } else { Ok(text) }
}

fn item<'r>(line: u64, bytes: &'r [u8], name: Option<&'r str>, id: Option<&'r str>) -> Item<'r> {
    match checked(bytes) {
        Ok(text) => Item::Event(Raw { line, text, name, id }),
        Err(reason) => Item::Problem(Problem { line, reason }),
    }
}

fn too_long(line: u64, bytes: u64, bytes_max: usize) -> Item<'static> {
    Item::Problem(Problem { line, reason: Reason::TooLong { bytes, bytes_max: u64::try_from(bytes_max).unwrap_or(u64::MAX) } })
}

/// Whether the text breaks off inside a JSON value.
fn is_cut(text: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(text).is_err_and(|error| error.is_eof())
}

#[cfg(test)]
mod tests;
