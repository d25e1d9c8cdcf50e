//! A transcript folded in memory, for tests: what a reader of the session would find.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use turnstore_storage::{Position, Seq, Stream};

use super::piece::{Piece, Unencodable};
use super::source::{Format, Item, Raw, Reader};
use crate::event::{self, Body as Said, Event, Stated};
use crate::fact::{self, Fact, Json, ToolOp};
use crate::state::{Body, Chunked, Content, Entry, Field, Part, PartRole, RowKind, Sequence, Session, Tool, Turn, piece_ordinal};

/// A decoder of one line.
pub(super) type Decode<'d> = &'d mut dyn FnMut(Raw<'_>) -> Vec<Stated<'static>>;

/// Facts that outlive their line.
pub(super) fn kept(facts: Vec<Stated<'_>>) -> Vec<Stated<'static>> {
    facts
        .iter()
        .map(|stated| {
            let mut bytes = Vec::new();
            event::encode(stated, &mut bytes).unwrap();
            let bytes: &'static [u8] = Box::leak(bytes.into_boxed_slice());
            let event = event::decode(Position::FIRST, Stream::FIRST, Seq::FIRST, bytes).unwrap();
            let Said::Fact(fact) = event.body else { panic!("a fact of this build") };
            let ext = event.ext.map(|ext| Json::built(ext.into_owned()));
            Stated { fact, source: event.source, owner: event.owner, ext }
        })
        .collect()
}

/// A session folded from facts.
pub(super) struct Folded {
    session: Session,
    seq: u64,
    payloads: BTreeMap<u64, String>,
    pub(super) codes: Vec<String>,
}

impl Folded {
    pub(super) fn new() -> Self {
        Self { session: Session::empty(), seq: 0, payloads: BTreeMap::new(), codes: Vec::new() }
    }

    pub(super) fn fold(&mut self, stated: &Stated<'_>) {
        self.seq += 1;
        match &stated.fact {
            Fact::DiagnosticNoted(noted) => self.codes.push(noted.code.to_string()),
            Fact::PartOpened(opened) => self.keep(opened.content.as_ref()),
            Fact::ToolChanged(changed) => {
                if let ToolOp::Result { content, .. } = &changed.op {
                    self.keep(content.as_ref());
                }
            }
            _ => {}
        }
        self.session.reduce(&Event {
            position: Position::FIRST,
            session: Stream::FIRST,
            seq: Seq::new(self.seq).unwrap(),
            recorded_at: 0,
            source: stated.source.clone(),
            owner: stated.owner,
            body: Said::Fact(stated.fact.clone()),
            ext: None,
        });
    }

    fn keep(&mut self, content: Option<&fact::Content<'_>>) {
        let text = match content {
            Some(fact::Content::Text(text)) => text.to_string(),
            Some(fact::Content::Json(json)) => json.as_str().to_owned(),
            None => return,
        };
        self.payloads.insert(self.seq, text);
    }

    pub(super) fn of(lines: &[&str], decode: Decode<'_>) -> Self {
        let mut folded = Self::new();
        for (line, text) in (1..).zip(lines) {
            decode(Raw { line, text, name: None, id: None }).iter().for_each(|stated| folded.fold(stated));
        }
        folded
    }

    pub(super) fn entries(&self) -> Vec<(i64, Entry)> {
        let header = self.session.state.header();
        (header.first..header.next).filter_map(|at| Some((at, self.session.state.entry(Sequence::Timeline, at)?.clone()))).collect()
    }

    pub(super) fn header(&self) -> &crate::state::Header {
        self.session.state.header()
    }

    pub(super) fn fields(&self) -> Value {
        self.header().fields.as_deref().map_or(Value::Null, |fields| serde_json::from_str(fields).unwrap())
    }

    pub(super) fn turns(&self) -> Vec<Turn> {
        self.entries().into_iter().filter_map(|(_, entry)| if let Body::Turn(turn) = entry.body { Some(turn) } else { None }).collect()
    }

    /// Ids and statuses of the turns.
    pub(super) fn statuses(&self) -> Vec<String> {
        self.turns().into_iter().map(|turn| format!("{}:{}", turn.id, turn.status)).collect()
    }

    fn parts_of(&self, kind: PartRole) -> Vec<(Part, String)> {
        let of_kind = |(at, entry): (i64, Entry)| match entry.body {
            Body::Part(part) if part.kind == kind => {
                let text = part.content.as_ref().map_or(String::new(), |content| self.text(at, Field::TEXT, content));
                Some((part, text))
            }
            _ => None,
        };
        self.entries().into_iter().filter_map(of_kind).collect()
    }

    pub(super) fn parts(&self) -> Vec<(Part, String)> {
        self.parts_of(PartRole::Text)
    }

    /// Role and text of every text part, in order.
    pub(super) fn texts(&self) -> Vec<(String, String)> {
        self.parts().into_iter().map(|(part, text)| (part.role, text)).collect()
    }

    pub(super) fn reasoning(&self) -> Vec<(Part, String)> {
        self.parts_of(PartRole::Reasoning)
    }

    /// Every call with its arguments and the contents of its results.
    pub(super) fn tools(&self) -> Vec<(Tool, String, Vec<String>)> {
        let tool = |(at, entry): (i64, Entry)| {
            let Body::Tool(tool) = entry.body else { return None };
            let args = self.chunked(at, Field::ARGS, &tool.args);
            let contents = tool.results.iter();
            let contents =
                contents.map(|result| result.content.as_ref().map_or(String::new(), |content| self.text(at, Field::TEXT, content)));
            let contents = contents.collect();
            Some((tool, args, contents))
        };
        self.entries().into_iter().filter_map(tool).collect()
    }

    /// Results without a call: the call that they name, and their content.
    pub(super) fn lone_results(&self) -> Vec<(String, String)> {
        let lone = |(at, entry): (i64, Entry)| {
            let Body::Result(lone) = entry.body else { return None };
            Some((lone.tool, lone.result.content.as_ref().map_or(String::new(), |content| self.text(at, Field::TEXT, content))))
        };
        self.entries().into_iter().filter_map(lone).collect()
    }

    pub(super) fn compactions(&self) -> usize {
        self.entries().iter().filter(|(_, entry)| matches!(entry.body, Body::Compaction(_))).count()
    }

    fn text(&self, at: i64, field: Field, content: &Content) -> String {
        match content {
            Content::Text(text) | Content::Json(text) => self.chunked(at, field, text),
            Content::Payload(logged) => self.payloads[&logged.seq].clone(),
        }
    }

    fn chunked(&self, at: i64, field: Field, text: &Chunked) -> String {
        let pieces = (0..text.sealed).map(|n| self.session.state.piece(RowKind::Text, piece_ordinal(at, field, n)).unwrap());
        pieces.chain([text.tail.as_str()]).collect()
    }
}

/// Whether a line comes back equal by value, or as it was where it has no value.
pub(super) fn comes_back(text: &str, facts: &[Stated<'_>], encode: fn(&[Piece<'_>]) -> Result<String, Unencodable>) {
    assert!(!facts.is_empty());
    let stored: Vec<Vec<u8>> = facts
        .iter()
        .map(|stated| {
            let mut bytes = Vec::new();
            event::encode(stated, &mut bytes).unwrap();
            bytes
        })
        .collect();
    let decoded = |bytes| event::decode(Position::FIRST, Stream::FIRST, Seq::FIRST, bytes).unwrap();
    let events: Vec<_> = stored.iter().map(|bytes| decoded(bytes)).collect();
    let back = encode(&events.iter().map(|event| Piece::of_event(event).unwrap()).collect::<Vec<_>>()).unwrap();
    match serde_json::from_str::<Value>(text) {
        Ok(value) => assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), value, "{facts:?}"),
        Err(_) => assert_eq!(back, text),
    }
}

/// The events of a file, as an importer reads them.
pub(super) fn read(bytes: &[u8], mut event: impl FnMut(Raw<'_>)) {
    let mut reader = Reader::of_format(bytes, Format::JsonLines, 64 << 20);
    while let Some(item) = reader.read().unwrap() {
        if let Item::Event(raw) = item {
            event(raw);
        }
    }
}

/// Recorded transcripts of one host; none where they are not at hand.
pub(super) fn recorded(host: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus").join(host);
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: {} is not there", folder.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Numbers that look random and are the same in every run.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(below.max(1)).unwrap()).unwrap()
    }
}

/// What happens to files: a cut, NUL bytes, lines twice, times in another order. Each with whether every line of the file is still
/// there, in order and whole.
pub(super) fn damaged(bytes: &[u8], dice: &mut Dice) -> Vec<(Vec<u8>, bool)> {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let cut = bytes[..dice.roll(bytes.len())].to_vec();
    let mut nuls = bytes.to_vec();
    nuls.extend([0; 284]);
    let mut inside = bytes.to_vec();
    let at = dice.roll(inside.len());
    inside.splice(at..at, [0; 16]);
    let twice: Vec<u8> = lines
        .iter()
        .flat_map(|line| {
            let ended: Vec<u8> = if line.ends_with(b"\n") { line.to_vec() } else { [line, b"\n".as_slice()].concat() };
            if dice.roll(3) == 0 { ended.repeat(2) } else { ended }
        })
        .collect();
    vec![(cut, false), (nuls, true), (inside, false), (twice, true), (other_times(&lines, dice), true)]
}

fn other_times(lines: &[&[u8]], dice: &mut Dice) -> Vec<u8> {
    let key = b"\"timestamp\":\"2";
    let timed = |line: &&[u8]| {
        let mut line = line.to_vec();
        let places: Vec<usize> = line.windows(key.len()).enumerate().filter(|(_, part)| *part == key).map(|(at, _)| at).collect();
        for at in places {
            line[at + key.len()] = b'0' + u8::try_from(dice.roll(10)).unwrap();
        }
        line
    };
    lines.iter().flat_map(timed).collect()
}
