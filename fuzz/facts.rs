//! Facts out of bytes, over small families of ids, so that they meet.

use arbitrary::{Result, Unstructured};
use turnstore::fact::*;

type Made = Fact<'static>;

fn id(u: &mut Unstructured<'_>, family: &str) -> Result<Text<'static>> {
    Ok(format!("{family}{}", u.int_in_range(0..=5_u8)?).into())
}

fn maybe<T>(u: &mut Unstructured<'_>, make: impl FnOnce(&mut Unstructured<'_>) -> Result<T>) -> Result<Option<T>> {
    if u.ratio(1, 2)? { make(u).map(Some) } else { Ok(None) }
}

fn text(u: &mut Unstructured<'_>) -> Result<Text<'static>> {
    if u.ratio(1, 16)? {
        // Long enough to be sealed in pieces, with characters of two bytes at their edges.
        return Ok("é long text ".repeat(u.int_in_range(0..=900_usize)?).into());
    }
    Ok(u.arbitrary::<&str>()?.chars().take(40).collect::<String>().into())
}

fn json(u: &mut Unstructured<'_>) -> Result<Json<'static>> {
    const VALUES: [&str; 9] =
        ["null", "1", "\"x\"", "{}", "{\"a\":1,\"b\":[1,2]}", "{\"k\":null}", "[{\"a\":2}]", "1e400", "{\"__proto__\":{}}"];
    Ok(Json::new(*u.choose(&VALUES)?).expect("these are JSON"))
}

fn patch(u: &mut Unstructured<'_>) -> Result<Json<'static>> {
    const PATHS: [&str; 8] = ["", "/a", "/a/-", "/a/0", "/b", "/b/99999999999999999999", "/~2", "/__proto__"];
    const OPS: [&str; 6] = ["add", "remove", "replace", "test", "move", "copy"];
    let count = u.int_in_range(0..=3)?;
    let mut operations = Vec::new();
    for _ in 0..count {
        let (op, path, from) = (*u.choose(&OPS)?, *u.choose(&PATHS)?, *u.choose(&PATHS)?);
        operations.push(format!("{{\"op\":\"{op}\",\"path\":\"{path}\",\"from\":\"{from}\",\"value\":{}}}", json(u)?.as_str()));
    }
    Ok(Json::new(format!("[{}]", operations.join(","))).expect("it was put together as JSON"))
}

fn content(u: &mut Unstructured<'_>) -> Result<Content<'static>> {
    if u.ratio(1, 4)? { json(u).map(Content::Json) } else { text(u).map(Content::Text) }
}

fn kind(u: &mut Unstructured<'_>) -> Result<PartKind> {
    Ok(*u.choose(&[PartKind::Text, PartKind::Text, PartKind::Reasoning, PartKind::Activity])?)
}

fn status(u: &mut Unstructured<'_>) -> Result<Text<'static>> {
    Ok((*u.choose(&["completed", "failed", "interrupt", "running", "weird", ""])?).into())
}

fn document(u: &mut Unstructured<'_>) -> Result<Text<'static>> {
    if u.ratio(1, 2)? { Ok("state".into()) } else { id(u, "activity:m") }
}

fn references(u: &mut Unstructured<'_>) -> Result<Vec<ArtifactReference<'static>>> {
    let count = u.int_in_range(0..=3)?;
    (0..count).map(|_| Ok(ArtifactReference { path: id(u, "p/")?, artifact_type: id(u, "kind")? })).collect()
}

fn turn_fact(u: &mut Unstructured<'_>) -> Result<Made> {
    Ok(match u.int_in_range(0..=3)? {
        0 => Fact::TurnStarted(TurnStarted {
            turn: id(u, "t")?,
            run: maybe(u, |u| id(u, "t"))?,
            parent: maybe(u, |u| id(u, "t"))?,
            ..TurnStarted::default()
        }),
        1 => Fact::TurnStatus(TurnStatus {
            turn: maybe(u, |u| id(u, "t"))?,
            stage: id(u, "stage")?,
            phase: maybe(u, |u| Ok((*u.choose(&["started", "finished"])?).into()))?,
            detail: None,
        }),
        2 => Fact::TurnEnded(TurnEnded {
            turn: maybe(u, |u| id(u, "t"))?,
            status: status(u)?,
            error: maybe(u, json)?,
            pending_tools: vec![id(u, "c")?],
            ..TurnEnded::default()
        }),
        _ => {
            let current = maybe(u, |u| {
                let pending = vec![(id(u, "i")?, json(u)?)];
                Ok(CurrentTurn { turn: id(u, "t")?, status: status(u)?, pending })
            })?;
            Fact::CurrentTurnAsserted(CurrentTurnAsserted { current })
        }
    })
}

fn part_fact(u: &mut Unstructured<'_>) -> Result<Made> {
    Ok(match u.int_in_range(0..=3)? {
        0 => Fact::PartOpened(PartOpened {
            part: id(u, "m")?,
            message: id(u, "m")?,
            kind: kind(u)?,
            role: (*u.choose(&["assistant", "user", "tool", ""])?).into(),
            name: None,
            turn: maybe(u, |u| id(u, "t"))?,
            agent: None,
            subtype: maybe(u, |u| id(u, "plan"))?,
            content: maybe(u, content)?,
            metadata: maybe(u, json)?,
        }),
        1 | 2 => Fact::PartDelta(PartDelta { part: id(u, "m")?, kind: kind(u)?, text: text(u)?, metadata: maybe(u, json)? }),
        _ => {
            let target = if u.ratio(1, 2)? { PartTarget::Part(kind(u)?, id(u, "m")?) } else { PartTarget::Message(id(u, "m")?) };
            let change = match u.int_in_range(0..=2)? {
                0 => PartChange::Closed,
                1 => PartChange::Text(text(u)?),
                _ => PartChange::Sealed(text(u)?),
            };
            Fact::PartFinal(PartFinal { target, change, metadata: maybe(u, json)? })
        }
    })
}

fn tool_fact(u: &mut Unstructured<'_>) -> Result<Made> {
    let op = match u.int_in_range(0..=8)? {
        0 => ToolOp::Started {
            name: id(u, "tool")?,
            message: maybe(u, |u| id(u, "m"))?,
            turn: maybe(u, |u| id(u, "t"))?,
            agent: None,
            detail: maybe(u, json)?,
        },
        1 => ToolOp::ArgsDelta { text: text(u)? },
        2 => ToolOp::ArgsSet { text: text(u)? },
        3 => ToolOp::ArgsEnd,
        4 => ToolOp::Progress { value: json(u)? },
        5 => ToolOp::OutputDelta { text: text(u)? },
        6 => ToolOp::Result {
            message: maybe(u, |u| id(u, "m"))?,
            content: maybe(u, content)?,
            status: maybe(u, status)?,
            reference: None,
            error: maybe(u, text)?,
            agent: None,
            detail: maybe(u, json)?,
        },
        7 => ToolOp::Failed { error: maybe(u, json)? },
        _ => ToolOp::Sealed { value: text(u)? },
    };
    Ok(Fact::ToolChanged(ToolChanged { tool: id(u, "c")?, op, metadata: maybe(u, json)? }))
}

fn interaction_fact(u: &mut Unstructured<'_>) -> Result<Made> {
    Ok(if u.ratio(1, 2)? {
        Fact::InteractionRequested(InteractionRequested {
            interaction: id(u, "i")?,
            kind: id(u, "kind")?,
            request: maybe(u, json)?,
            interrupt: maybe(u, json)?,
            turn: maybe(u, |u| id(u, "t"))?,
            tool: maybe(u, |u| id(u, "c"))?,
            expires_at: None,
        })
    } else {
        Fact::InteractionResolved(InteractionResolved {
            interaction: id(u, "i")?,
            decision: maybe(u, |u| id(u, "d"))?,
            resolution: *u.choose(&[Resolution::Resolved, Resolution::Cancelled, Resolution::Expired])?,
            payload: maybe(u, json)?,
            receipt: maybe(u, json)?,
        })
    })
}

fn message(u: &mut Unstructured<'_>) -> Result<HistoryMessage<'static>> {
    let tool =
        |u: &mut Unstructured<'_>| Ok(HistoryTool { id: id(u, "c")?, name: "grep".into(), args: text(u)?, ..HistoryTool::default() });
    Ok(HistoryMessage {
        id: id(u, "m")?,
        role: (*u.choose(&["assistant", "user", "reasoning", "activity", "tool"])?).into(),
        turn: maybe(u, |u| id(u, "t"))?,
        content: maybe(u, content)?,
        tools: maybe(u, tool)?.into_iter().collect(),
        tool_call: maybe(u, |u| id(u, "c"))?,
        subtype: maybe(u, |u| id(u, "plan"))?,
        artifacts: maybe(u, references)?,
        ..HistoryMessage::default()
    })
}

fn history_fact(u: &mut Unstructured<'_>) -> Result<Made> {
    let modes = [HistoryMode::Page, HistoryMode::Replace, HistoryMode::Merge, HistoryMode::Append];
    let mode = *u.choose(&modes)?;
    let count = u.int_in_range(0..=4)?;
    let messages = (0..count).map(|_| message(u)).collect::<Result<_>>()?;
    let turn = |u: &mut Unstructured<'_>| {
        Ok(HistoryTurn { turn: id(u, "t")?, status: maybe(u, status)?, artifacts: maybe(u, references)?, ..HistoryTurn::default() })
    };
    let turns = maybe(u, turn)?.into_iter().collect();
    let authoritative_activities = maybe(u, |u| Ok(vec![id(u, "plan")?]))?;
    Ok(Fact::HistoryImported(HistoryImported {
        mode,
        messages,
        turns,
        older: None,
        requested_at: maybe(u, |u| u.arbitrary())?,
        authoritative_activities,
    }))
}

fn side_fact(u: &mut Unstructured<'_>) -> Result<Made> {
    Ok(match u.int_in_range(0..=6)? {
        0 => Fact::DocumentSet(DocumentSet { document: document(u)?, value: json(u)?, replace: u.arbitrary()? }),
        1 | 2 => Fact::DocumentPatched(DocumentPatched { document: document(u)?, patch: patch(u)? }),
        3 => Fact::TurnArtifactsSet(TurnArtifactsSet { turn: id(u, "t")?, references: references(u)? }),
        4 => Fact::SessionChanged(SessionChanged { title: maybe(u, text)?, status: None, fields: maybe(u, json)? }),
        5 => Fact::CompactionMarked(CompactionMarked { phase: "started".into(), detail: maybe(u, json)? }),
        _ => Fact::DiagnosticNoted(DiagnosticNoted { code: "odd".into(), detail: maybe(u, text)?, raw: None }),
    })
}

/// Any fact that is folded.
pub(crate) fn fact(u: &mut Unstructured<'_>) -> Result<Made> {
    match u.int_in_range(0..=11)? {
        0..=3 => part_fact(u),
        4 | 5 => tool_fact(u),
        6 | 7 => turn_fact(u),
        8 => interaction_fact(u),
        9 => history_fact(u),
        _ => side_fact(u),
    }
}
