//! One event of the trace, in no protocol's shape, and its JSON line in the AG-UI shape.
//!
//! **Invariant:** `write_line` writes exactly one JSON object, without the line end.

use std::io::Write as _;

use serde::{Deserialize, Serialize};

/// Who speaks in a text message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// The role as the protocols spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// An artifact that a turn made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// Path of the file.
    pub path: String,
    /// `document`, `webpage`, `presentation`, `spreadsheet` or `image`.
    pub kind: String,
}

/// One event of an agent session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// A turn begins.
    RunStarted {
        /// The session.
        thread: String,
        /// The turn.
        run: String,
    },
    /// The turn ended well.
    RunFinished {
        /// The session.
        thread: String,
        /// The turn.
        run: String,
    },
    /// A text message opens.
    TextStart {
        /// Its id.
        message: String,
        /// Who speaks.
        role: Role,
    },
    /// Text arrives.
    TextDelta {
        /// The message it belongs to.
        message: String,
        /// The text.
        delta: String,
    },
    /// A text message is complete.
    TextEnd {
        /// Its id.
        message: String,
    },
    /// A reasoning message opens.
    ReasoningStart {
        /// Its id.
        message: String,
    },
    /// Reasoning arrives.
    ReasoningDelta {
        /// The message it belongs to.
        message: String,
        /// The text.
        delta: String,
    },
    /// A reasoning message is complete.
    ReasoningEnd {
        /// Its id.
        message: String,
    },
    /// A tool call opens.
    ToolStart {
        /// Its id.
        call: String,
        /// The tool.
        name: String,
        /// The message that made the call.
        parent: String,
    },
    /// Arguments arrive.
    ToolArgs {
        /// The call they belong to.
        call: String,
        /// Part of the JSON of the arguments.
        delta: String,
    },
    /// The arguments are complete.
    ToolEnd {
        /// The call.
        call: String,
    },
    /// The tool answered.
    ToolResult {
        /// Id of the message that carries the answer.
        message: String,
        /// The call.
        call: String,
        /// The answer.
        content: String,
    },
    /// The agent asks the person.
    Asked {
        /// Id of the interaction.
        request: String,
        /// The session.
        thread: String,
        /// The turn.
        run: String,
        /// What is asked.
        title: String,
    },
    /// The person answered.
    Answered {
        /// Id of the interaction.
        request: String,
        /// Id of the decision.
        decision: String,
        /// The action chosen.
        action: String,
    },
    /// The artifacts of a turn; replaces what it had.
    Artifacts {
        /// The turn.
        run: String,
        /// The whole collection.
        made: Vec<Made>,
    },
}

impl Step {
    /// Appends the event as one AG-UI JSON object.
    pub fn write_line(&self, out: &mut Vec<u8>) {
        match self {
            Self::RunStarted { thread, run } => object(out, "RUN_STARTED", &[("threadId", thread), ("runId", run)]),
            Self::RunFinished { thread, run } => {
                object(out, "RUN_FINISHED", &[("threadId", thread), ("runId", run)]);
                out.pop();
                out.extend_from_slice(br#","outcome":{"type":"success"}}"#);
            }
            Self::TextStart { message, role } => object(out, "TEXT_MESSAGE_START", &[("messageId", message), ("role", role.name())]),
            Self::TextDelta { message, delta } => object(out, "TEXT_MESSAGE_CONTENT", &[("messageId", message), ("delta", delta)]),
            Self::TextEnd { message } => object(out, "TEXT_MESSAGE_END", &[("messageId", message)]),
            Self::ReasoningStart { message } => object(out, "REASONING_MESSAGE_START", &[("messageId", message), ("role", "reasoning")]),
            Self::ReasoningDelta { message, delta } => {
                object(out, "REASONING_MESSAGE_CONTENT", &[("messageId", message), ("delta", delta)])
            }
            Self::ReasoningEnd { message } => object(out, "REASONING_MESSAGE_END", &[("messageId", message)]),
            Self::ToolStart { call, name, parent } => {
                object(out, "TOOL_CALL_START", &[("toolCallId", call), ("toolCallName", name), ("parentMessageId", parent)]);
            }
            Self::ToolArgs { call, delta } => object(out, "TOOL_CALL_ARGS", &[("toolCallId", call), ("delta", delta)]),
            Self::ToolEnd { call } => object(out, "TOOL_CALL_END", &[("toolCallId", call)]),
            Self::ToolResult { message, call, content } => {
                object(out, "TOOL_CALL_RESULT", &[("messageId", message), ("toolCallId", call), ("content", content), ("role", "tool")]);
            }
            Self::Asked { request, thread, run, title } => write_asked(out, request, thread, run, title),
            Self::Answered { request, decision, action } => {
                let fields = [("requestId", request.as_str()), ("decisionId", decision), ("actionId", action), ("status", "resolved")];
                object(out, "HUMAN_INPUT_RESOLVED", &fields);
            }
            Self::Artifacts { run, made } => write_artifacts(out, run, made),
        }
    }
}

fn write_asked(out: &mut Vec<u8>, request: &str, thread: &str, run: &str, title: &str) {
    let fields = [
        ("requestId", request),
        ("runId", run),
        ("threadId", thread),
        ("turnId", run),
        ("kind", "approval"),
        ("status", "pending"),
        ("title", title),
    ];
    object(out, "HUMAN_INPUT_REQUESTED", &fields);
    out.pop();
    out.extend_from_slice(
        br#","actions":[{"id":"approve","label":"Approve","intent":"accept"},{"id":"deny","label":"Deny","intent":"reject"}],"policy":{"mode":"blocking","requiresExplicitResponse":true},"createdAt":"2026-06-17T23:19:36Z"}"#,
    );
}

fn write_artifacts(out: &mut Vec<u8>, run: &str, made: &[Made]) {
    object(out, "CUSTOM", &[("name", "turn_artifacts")]);
    out.pop();
    out.extend_from_slice(br#","value":{"turnId":"#);
    string(out, run);
    out.extend_from_slice(br#","artifacts":["#);
    for (index, artifact) in made.iter().enumerate() {
        out.extend_from_slice(if index == 0 { br#"{"entryPath":"# } else { br#",{"entryPath":"# });
        string(out, &artifact.path);
        out.extend_from_slice(br#","artifactType":"#);
        string(out, &artifact.kind);
        out.push(b'}');
    }
    out.extend_from_slice(b"]}}");
}

fn object(out: &mut Vec<u8>, kind: &str, fields: &[(&str, &str)]) {
    let _ = write!(out, r#"{{"type":"{kind}""#);
    for (name, value) in fields {
        let _ = write!(out, r#","{name}":"#);
        string(out, value);
    }
    out.push(b'}');
}

/// Appends a JSON string; writing to a `Vec` cannot fail.
fn string(out: &mut Vec<u8>, text: &str) {
    let _ = serde_json::to_writer(out, text);
}

/// The lines of several steps, each with its line end.
#[must_use]
pub fn lines(steps: &[Step]) -> Vec<u8> {
    let mut out = Vec::with_capacity(steps.len() * 160);
    for step in steps {
        step.write_line(&mut out);
        out.push(b'\n');
    }
    out
}
