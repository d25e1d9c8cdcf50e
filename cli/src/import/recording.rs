//! A recording as chunks of numbered lines.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::path::Path;

use indicatif::ProgressBar;
use turnstore::adapter::check::SOURCE_UNREADABLE;
use turnstore::adapter::source::{Item, Problem, Raw, Reader, Reason};
use turnstore::adapter::{Decode, Wire};
use turnstore::event::{Source, Stated};
use turnstore::fact::{DiagnosticNoted, Fact, Text};

use super::repeats::Repeats;

/// Source events in one chunk, and so in one append.
const CHUNK_EVENTS_MAX: usize = 1024;
/// Bytes after which a chunk takes no more events: 1 MiB.
const CHUNK_BYTES_SOFT_MAX: usize = 1 << 20;

/// A file that tells a progress bar how far it has been read.
struct Counted {
    file: File,
    bar: ProgressBar,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bar.inc(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(read)
    }
}

/// What stands on a line.
enum Standing {
    Event { text: Range<usize>, name: Option<String>, id: Option<String> },
    Unreadable(Problem),
}

/// A numbered source event, or what is there instead of one.
struct Line {
    line: u64,
    number: u64,
    standing: Standing,
}

/// Some lines of a recording with their text.
#[derive(Default)]
pub(crate) struct Chunk {
    text: String,
    lines: Vec<Line>,
}

/// Facts of a chunk, each with the line and the number of its source event.
pub(crate) struct Decoded<'c> {
    pub(crate) facts: Vec<Stated<'c>>,
    /// For each fact: line and number of its source event.
    pub(crate) places: Vec<Place>,
}

/// Where a fact came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) line: u64,
    pub(crate) number: u64,
}

/// A file that is read from its beginning.
pub(crate) struct Recording {
    reader: Reader<BufReader<Counted>>,
    next: u64,
    /// Parts of the file that give nothing to store: it is empty, or its last event is cut short.
    pub(crate) left_out: Vec<Problem>,
}

impl Recording {
    pub(crate) fn open(path: &Path, bar: &ProgressBar) -> io::Result<Self> {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let source = BufReader::with_capacity(256 << 10, Counted { file, bar: bar.clone() });
        Ok(Self { reader: Reader::new(source)?, next: 1, left_out: Vec::new() })
    }

    /// The next lines; `None` at the end of the file.
    pub(crate) fn chunk(&mut self) -> io::Result<Option<Chunk>> {
        let mut chunk = Chunk::default();
        while chunk.lines.len() < CHUNK_EVENTS_MAX && chunk.text.len() < CHUNK_BYTES_SOFT_MAX {
            match self.reader.read()? {
                None => break,
                Some(Item::Event(raw)) => {
                    chunk.push(self.next, raw);
                    self.next += 1;
                }
                Some(Item::Problem(problem)) if matches!(problem.reason, Reason::Empty | Reason::CutShort) => self.left_out.push(problem),
                Some(Item::Problem(problem)) => {
                    chunk.lines.push(Line { line: problem.line, number: self.next, standing: Standing::Unreadable(problem) });
                    self.next += 1;
                }
            }
        }
        Ok((!chunk.lines.is_empty()).then_some(chunk))
    }
}

/// What is remembered of a recording while it is decoded.
pub(crate) struct Decoding {
    pub(crate) wire: &'static Wire,
    decoder: Box<dyn Decode>,
    repeats: Repeats,
}

impl Decoding {
    pub(crate) fn new(wire: &'static Wire) -> Self {
        Self { wire, decoder: wire.decoder(), repeats: Repeats::default() }
    }
}

impl Chunk {
    fn push(&mut self, number: u64, raw: Raw<'_>) {
        let start = self.text.len();
        self.text.push_str(raw.text);
        let standing = Standing::Event { text: start..self.text.len(), name: raw.name.map(str::to_owned), id: raw.id.map(str::to_owned) };
        self.lines.push(Line { line: raw.line, number, standing });
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(|line| match &line.standing {
            Standing::Event { text, .. } => self.text.get(text.clone()),
            Standing::Unreadable(_) => None,
        })
    }

    /// Where its source events stand.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        self.lines.iter().map(|line| Place { line: line.line, number: line.number })
    }

    /// The session that the first event with one names.
    pub(crate) fn session(&self, wire: &Wire) -> Option<String> {
        self.texts().find_map(|text| wire.session_of(text))
    }

    /// Names a recording by its first event, so that a file keeps its name when it grows or moves.
    pub(crate) fn stream_name(&self) -> String {
        let first = self.texts().next().unwrap_or_default();
        let digest = blake3::hash(first.as_bytes()).to_hex();
        format!("file:{}", digest.get(..16).unwrap_or_default())
    }

    /// Decodes the chunk; every chunk before it has been decoded.
    pub(crate) fn decode<'c>(&'c self, decoding: &mut Decoding, stream: &'c str) -> Decoded<'c> {
        let mut decoded = Decoded { facts: Vec::with_capacity(self.lines.len() * 2), places: Vec::with_capacity(self.lines.len() * 2) };
        for line in &self.lines {
            let from = decoded.facts.len();
            match &line.standing {
                Standing::Event { text, name, id } => {
                    let text = self.text.get(text.clone()).unwrap_or_default();
                    let raw = Raw { line: line.line, text, name: name.as_deref(), id: id.as_deref() };
                    decoding.decoder.decode_raw(raw, &mut decoded.facts);
                    decoding.repeats.take(raw, &mut decoded.facts, from);
                }
                Standing::Unreadable(problem) => decoded.facts.push(unreadable(decoding.wire, *problem)),
            }
            for stated in decoded.facts.get_mut(from..).unwrap_or_default() {
                stated.source.stream = Some((Text::Borrowed(stream), line.number));
                decoded.places.push(Place { line: line.line, number: line.number });
            }
        }
        decoded
    }
}

/// A place in the source that cannot be read, kept in the log so that the numbers of what follows stay.
fn unreadable(wire: &Wire, problem: Problem) -> Stated<'static> {
    let fact = DiagnosticNoted { code: Text::Borrowed(SOURCE_UNREADABLE), detail: Some(Text::Owned(problem.to_string())), raw: None };
    let source = Source { protocol: wire.protocol, ..Source::default() };
    Stated { source, ..Stated::from(Fact::DiagnosticNoted(fact)) }
}
