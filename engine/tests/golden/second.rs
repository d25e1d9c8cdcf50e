//! The layout of events, stated a second time for another decoder: the bytes are those of the layout, not of one crate.

use turnstore::fact::{Content, Fact, HistoryMode, PartKind, ToolOp};
use wincode::{SchemaRead, SchemaWrite};

#[derive(Debug, SchemaRead, SchemaWrite)]
pub struct Meta<'a> {
    pub recorded_at: i64,
    pub kind: u8,
    pub version: u8,
    pub protocol: u8,
    pub owner: u8,
    pub name: Option<&'a str>,
    pub event_id: Option<&'a str>,
    pub stream: Option<(&'a str, u64)>,
    pub part: Option<(u16, u16)>,
    pub body_bytes: u32,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
enum Kind {
    Text,
    Reasoning,
    Activity,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
enum Stuff<'a> {
    Text(&'a str),
    Json(&'a str),
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct Delta<'a> {
    part: &'a str,
    kind: Kind,
    text: &'a str,
    metadata: Option<&'a str>,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct Opened<'a> {
    part: &'a str,
    message: &'a str,
    kind: Kind,
    role: &'a str,
    name: Option<&'a str>,
    turn: Option<&'a str>,
    agent: Option<&'a str>,
    subtype: Option<&'a str>,
    content: Option<Stuff<'a>>,
    metadata: Option<&'a str>,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
enum Op<'a> {
    Started {
        name: &'a str,
        message: Option<&'a str>,
        turn: Option<&'a str>,
        agent: Option<&'a str>,
        detail: Option<&'a str>,
    },
    ArgsDelta {
        text: &'a str,
    },
    ArgsSet {
        text: &'a str,
    },
    ArgsEnd,
    Progress {
        value: &'a str,
    },
    OutputDelta {
        text: &'a str,
    },
    Result {
        message: Option<&'a str>,
        content: Option<Stuff<'a>>,
        status: Option<&'a str>,
        reference: Option<&'a str>,
        error: Option<&'a str>,
        agent: Option<&'a str>,
        detail: Option<&'a str>,
    },
    Failed {
        error: Option<&'a str>,
    },
    Sealed {
        value: &'a str,
    },
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct Changed<'a> {
    tool: &'a str,
    op: Op<'a>,
    metadata: Option<&'a str>,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct Ended<'a> {
    turn: Option<&'a str>,
    status: &'a str,
    error: Option<&'a str>,
    retryable: Option<bool>,
    result: Option<&'a str>,
    usage: Option<&'a str>,
    pending_tools: Vec<&'a str>,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
enum Mode {
    Page,
    Replace,
    Merge,
    Append,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct Reference<'a> {
    path: &'a str,
    artifact_type: &'a str,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct Call<'a> {
    id: &'a str,
    name: &'a str,
    args: &'a str,
    sealed: Option<&'a str>,
    metadata: Option<&'a str>,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct Message<'a> {
    id: &'a str,
    role: &'a str,
    turn: Option<&'a str>,
    name: Option<&'a str>,
    content: Option<Stuff<'a>>,
    tools: Vec<Call<'a>>,
    tool_call: Option<&'a str>,
    subtype: Option<&'a str>,
    error: Option<&'a str>,
    sealed: Option<&'a str>,
    agent: Option<&'a str>,
    metadata: Option<&'a str>,
    artifacts: Option<Vec<Reference<'a>>>,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct Turn<'a> {
    turn: &'a str,
    status: Option<&'a str>,
    error: Option<&'a str>,
    artifacts: Option<Vec<Reference<'a>>>,
}

#[derive(Debug, PartialEq, SchemaRead, SchemaWrite)]
struct History<'a> {
    mode: Mode,
    messages: Vec<Message<'a>>,
    turns: Vec<Turn<'a>>,
    older: Option<&'a str>,
    requested_at: Option<u64>,
    authoritative_activities: Option<Vec<&'a str>>,
}

/// What stands before a body, and what is left. It is written again to find where it ends.
pub fn meta(bytes: &[u8]) -> (Meta<'_>, &[u8]) {
    let meta: Meta<'_> = wincode::deserialize(bytes).unwrap();
    let again = wincode::serialize(&meta).unwrap();
    let rest = bytes.strip_prefix(again.as_slice()).expect("the second encoder writes other bytes");
    (meta, rest)
}

/// Checks the body of a mirrored kind in both directions; `false` for other kinds.
pub fn body_matches(fact: &Fact<'_>, body: &[u8]) -> bool {
    match fact {
        Fact::PartDelta(delta) => {
            let kind = kind(delta.kind);
            let own = Delta { part: &delta.part, kind, text: &delta.text, metadata: json(&delta.metadata) };
            assert_eq!(wincode::deserialize_exact::<Delta<'_>>(body).unwrap(), own);
            assert_eq!(wincode::serialize(&own).unwrap(), body);
        }
        Fact::PartOpened(opened) => {
            let own = Opened {
                part: &opened.part,
                message: &opened.message,
                kind: kind(opened.kind),
                role: &opened.role,
                name: opened.name.as_deref(),
                turn: opened.turn.as_deref(),
                agent: opened.agent.as_deref(),
                subtype: opened.subtype.as_deref(),
                content: stuff(&opened.content),
                metadata: json(&opened.metadata),
            };
            assert_eq!(wincode::deserialize_exact::<Opened<'_>>(body).unwrap(), own);
            assert_eq!(wincode::serialize(&own).unwrap(), body);
        }
        Fact::ToolChanged(changed) => {
            let own = Changed { tool: &changed.tool, op: op(&changed.op), metadata: json(&changed.metadata) };
            assert_eq!(wincode::deserialize_exact::<Changed<'_>>(body).unwrap(), own);
            assert_eq!(wincode::serialize(&own).unwrap(), body);
        }
        Fact::TurnEnded(ended) => {
            let own = Ended {
                turn: ended.turn.as_deref(),
                status: &ended.status,
                error: json(&ended.error),
                retryable: ended.retryable,
                result: json(&ended.result),
                usage: json(&ended.usage),
                pending_tools: ended.pending_tools.iter().map(AsRef::as_ref).collect(),
            };
            assert_eq!(wincode::deserialize_exact::<Ended<'_>>(body).unwrap(), own);
            assert_eq!(wincode::serialize(&own).unwrap(), body);
        }
        Fact::HistoryImported(history) => {
            let own = own_history(history);
            assert_eq!(wincode::deserialize_exact::<History<'_>>(body).unwrap(), own);
            assert_eq!(wincode::serialize(&own).unwrap(), body);
        }
        _ => return false,
    }
    true
}

fn json<'f>(json: &'f Option<turnstore::fact::Json<'_>>) -> Option<&'f str> {
    json.as_ref().map(|json| json.as_str())
}

fn kind(kind: PartKind) -> Kind {
    match kind {
        PartKind::Text => Kind::Text,
        PartKind::Reasoning => Kind::Reasoning,
        PartKind::Activity => Kind::Activity,
    }
}

fn stuff<'f>(content: &'f Option<Content<'_>>) -> Option<Stuff<'f>> {
    content.as_ref().map(|content| match content {
        Content::Text(text) => Stuff::Text(text),
        Content::Json(json) => Stuff::Json(json.as_str()),
    })
}

fn op<'f>(op: &'f ToolOp<'_>) -> Op<'f> {
    match op {
        ToolOp::Started { name, message, turn, agent, detail } => {
            Op::Started { name, message: message.as_deref(), turn: turn.as_deref(), agent: agent.as_deref(), detail: json(detail) }
        }
        ToolOp::ArgsDelta { text } => Op::ArgsDelta { text },
        ToolOp::ArgsSet { text } => Op::ArgsSet { text },
        ToolOp::ArgsEnd => Op::ArgsEnd,
        ToolOp::Progress { value } => Op::Progress { value: value.as_str() },
        ToolOp::OutputDelta { text } => Op::OutputDelta { text },
        ToolOp::Result { message, content, status, reference, error, agent, detail } => Op::Result {
            message: message.as_deref(),
            content: stuff(content),
            status: status.as_deref(),
            reference: reference.as_deref(),
            error: error.as_deref(),
            agent: agent.as_deref(),
            detail: json(detail),
        },
        ToolOp::Failed { error } => Op::Failed { error: json(error) },
        ToolOp::Sealed { value } => Op::Sealed { value },
    }
}

fn references<'f>(references: &'f Option<Vec<turnstore::fact::ArtifactReference<'_>>>) -> Option<Vec<Reference<'f>>> {
    let references = references.as_ref()?;
    Some(references.iter().map(|reference| Reference { path: &reference.path, artifact_type: &reference.artifact_type }).collect())
}

fn own_message<'f>(message: &'f turnstore::fact::HistoryMessage<'_>) -> Message<'f> {
    let call = |tool: &'f turnstore::fact::HistoryTool<'_>| Call {
        id: &tool.id,
        name: &tool.name,
        args: &tool.args,
        sealed: tool.sealed.as_deref(),
        metadata: json(&tool.metadata),
    };
    Message {
        id: &message.id,
        role: &message.role,
        turn: message.turn.as_deref(),
        name: message.name.as_deref(),
        content: stuff(&message.content),
        tools: message.tools.iter().map(call).collect(),
        tool_call: message.tool_call.as_deref(),
        subtype: message.subtype.as_deref(),
        error: json(&message.error),
        sealed: message.sealed.as_deref(),
        agent: message.agent.as_deref(),
        metadata: json(&message.metadata),
        artifacts: references(&message.artifacts),
    }
}

fn own_history<'f>(history: &'f turnstore::fact::HistoryImported<'_>) -> History<'f> {
    let turn = |turn: &'f turnstore::fact::HistoryTurn<'_>| Turn {
        turn: &turn.turn,
        status: turn.status.as_deref(),
        error: json(&turn.error),
        artifacts: references(&turn.artifacts),
    };
    History {
        mode: match history.mode {
            HistoryMode::Page => Mode::Page,
            HistoryMode::Replace => Mode::Replace,
            HistoryMode::Merge => Mode::Merge,
            HistoryMode::Append => Mode::Append,
        },
        messages: history.messages.iter().map(own_message).collect(),
        turns: history.turns.iter().map(turn).collect(),
        older: history.older.as_deref(),
        requested_at: history.requested_at,
        authoritative_activities: history.authoritative_activities.as_ref().map(|all| all.iter().map(AsRef::as_ref).collect()),
    }
}
