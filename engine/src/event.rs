//! An event: a fact in its place, and its bytes in the log.
//!
//! **Invariant:** `event = EventMeta | fact body | residue`; `recorded_at` is the first eight bytes, so that the writer stamps an
//! event that its caller encoded. The bytes with the stamp zeroed identify the fact.

use bincode::{BorrowDecode, Encode};
use turnstore_storage::{Position, Seq, Stream};

use crate::fact::{self, Fact, Json, Kind, Text};

/// The version of every fact body that this build writes.
const BODY_VERSION: u8 = 1;

/// Where a fact came from. All of it is optional but the protocol.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source<'a> {
    /// Wire protocol.
    pub protocol: Protocol,
    /// The event's name as it was spelled, when the fact does not already say it.
    pub name: Option<Text<'a>>,
    /// The event's own id.
    pub event_id: Option<Text<'a>>,
    /// A sequenced source (a file, an SSE stream) and the event's place in it.
    pub stream: Option<(Text<'a>, u64)>,
    /// This fact is part `i` (from 0) of `n` that one source event gave.
    pub part: Option<(u16, u16)>,
}

/// A wire protocol by its frozen number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Protocol(pub u8);

impl Protocol {
    /// Facts that the host states itself.
    pub const HOST: Self = Self(0);
    /// AIUI, the AG-UI compatible event set.
    pub const AIUI: Self = Self(1);
    /// Aseity.
    pub const ASEITY: Self = Self(2);
    /// Agent UI.
    pub const AGENT_UI: Self = Self(3);
    /// Transcripts of Claude Code.
    pub const CLAUDE_CODE: Self = Self(4);
    /// Rollouts of Codex.
    pub const CODEX: Self = Self(5);
}

/// Who states a fact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner(pub u8);

impl Owner {
    /// Not said.
    pub const UNKNOWN: Self = Self(0);
    /// The agent runtime.
    pub const RUNTIME: Self = Self(1);
    /// The model.
    pub const MODEL: Self = Self(2);
    /// A tool.
    pub const TOOL: Self = Self(3);
    /// The action service: approvals and answers.
    pub const ACTION: Self = Self(4);
    /// The artifact service.
    pub const ARTIFACT: Self = Self(5);
    /// The evidence service.
    pub const EVIDENCE: Self = Self(6);
    /// The session service.
    pub const SESSION: Self = Self(7);
    /// The host.
    pub const HOST: Self = Self(8);
}

/// A fact with what the source said around it: what a host appends.
#[derive(Clone, Debug, PartialEq)]
pub struct Stated<'a> {
    /// The fact.
    pub fact: Fact<'a>,
    /// Where it came from.
    pub source: Source<'a>,
    /// Who states it.
    pub owner: Owner,
    /// Every source field that the fact's body does not model, as a JSON object; never read by the reducer.
    pub ext: Option<Json<'a>>,
}

impl<'a> From<Fact<'a>> for Stated<'a> {
    fn from(fact: Fact<'a>) -> Self {
        Self { fact, source: Source::default(), owner: Owner::UNKNOWN, ext: None }
    }
}

/// What an event says: a fact, or bytes of a kind that this build does not know.
#[derive(Clone, Debug, PartialEq)]
pub enum Body<'a> {
    /// A fact.
    Fact(Fact<'a>),
    /// Written by a newer build; carried, counted, never an error.
    Unknown {
        /// The kind's number.
        kind: Kind,
        /// The body's version.
        version: u8,
        /// The body's bytes.
        bytes: &'a [u8],
    },
}

/// A fact in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Event<'a> {
    /// Place in the whole log.
    pub position: Position,
    /// Session, by its number in the store.
    pub session: Stream,
    /// Place within the session.
    pub seq: Seq,
    /// Milliseconds since 1970, stamped by the writer; the reducer never reads it.
    pub recorded_at: i64,
    /// Where it came from.
    pub source: Source<'a>,
    /// Who stated it.
    pub owner: Owner,
    /// What it says.
    pub body: Body<'a>,
    /// What the source said beyond the body.
    pub ext: Option<Text<'a>>,
}

/// Bytes in the log that are not an event of any version. Nothing can be done but to restore them; other events stay readable.
#[derive(Debug, thiserror::Error)]
#[error("event bytes do not decode: {what}")]
pub struct Undecodable {
    what: String,
}

#[derive(Encode, BorrowDecode)]
struct MetaV1<'a> {
    recorded_at: i64,
    kind: u8,
    version: u8,
    protocol: u8,
    owner: u8,
    name: Option<&'a str>,
    event_id: Option<&'a str>,
    stream: Option<(&'a str, u64)>,
    part: Option<(u16, u16)>,
    body_bytes: u32,
}

/// Appends the bytes of `stated` to `out`, with the stamp zeroed.
pub(crate) fn encode(stated: &Stated<'_>, out: &mut Vec<u8>) -> Result<(), bincode::error::EncodeError> {
    let source = &stated.source;
    let meta = MetaV1 {
        recorded_at: 0,
        kind: stated.fact.kind().0,
        version: BODY_VERSION,
        protocol: source.protocol.0,
        owner: stated.owner.0,
        name: source.name.as_deref(),
        event_id: source.event_id.as_deref(),
        stream: source.stream.as_ref().map(|(name, seq)| (name.as_ref(), *seq)),
        part: source.part,
        body_bytes: 0,
    };
    fact::encode(&meta, out)?;
    // The length of the body is the last field of the meta, and known only now.
    let body = out.len();
    stated.fact.encode_body(out)?;
    let length = u32::try_from(out.len() - body).map_err(|_| bincode::error::EncodeError::Other("body above 4 GiB"))?;
    if let Some(slot) = out.get_mut(body.saturating_sub(4)..body) {
        slot.copy_from_slice(&length.to_le_bytes());
    }
    if let Some(ext) = &stated.ext {
        out.extend_from_slice(ext.as_str().as_bytes());
    }
    Ok(())
}

/// Writes the time of recording into encoded event bytes.
pub(crate) fn stamp(bytes: &mut [u8], recorded_at: i64) {
    if let Some(slot) = bytes.first_chunk_mut::<8>() {
        *slot = recorded_at.to_le_bytes();
    }
}

/// Decodes event bytes without copying. Cost: proportional to the number of fields, not to the text.
pub(crate) fn decode(position: Position, session: Stream, seq: Seq, bytes: &[u8]) -> Result<Event<'_>, Undecodable> {
    let bad = |what: String| Undecodable { what };
    let (meta, rest) = fact::decode_front::<MetaV1<'_>>(bytes).map_err(|e| bad(format!("meta: {e}")))?;
    let body_bytes = usize::try_from(meta.body_bytes).unwrap_or(usize::MAX);
    let (body, ext) = rest.split_at_checked(body_bytes).ok_or_else(|| bad("body is cut short".to_owned()))?;
    let kind = Kind(meta.kind);
    let known = if meta.version == BODY_VERSION {
        Fact::decode_body(kind, body).map_err(|e| bad(format!("body of kind {}: {e}", kind.0)))?
    } else {
        None
    };
    let ext = std::str::from_utf8(ext).map_err(|e| bad(format!("residue: {e}")))?;
    Ok(Event {
        position,
        session,
        seq,
        recorded_at: meta.recorded_at,
        source: Source {
            protocol: Protocol(meta.protocol),
            name: meta.name.map(Text::Borrowed),
            event_id: meta.event_id.map(Text::Borrowed),
            stream: meta.stream.map(|(name, seq)| (Text::Borrowed(name), seq)),
            part: meta.part,
        },
        owner: Owner(meta.owner),
        body: known.map_or(Body::Unknown { kind, version: meta.version, bytes: body }, Body::Fact),
        ext: (!ext.is_empty()).then_some(Text::Borrowed(ext)),
    })
}
