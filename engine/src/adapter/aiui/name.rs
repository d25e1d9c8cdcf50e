//! The names of the AIUI event set, and their older spellings.
//!
//! **Invariant:** a spelling maps to one name or to none; the spelling itself is kept by the caller.

use std::borrow::Cow;

macro_rules! names {
    ($($variant:ident $text:literal),* $(,)?) => {
        /// An event name of the set.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Name { $($variant,)* }

        impl Name {
            /// The canonical spelling.
            pub(super) fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The name with exactly this spelling.
            pub(super) fn canonical(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

names! {
    RunStarted "RUN_STARTED", RunFinished "RUN_FINISHED", RunError "RUN_ERROR",
    StepStarted "STEP_STARTED", StepFinished "STEP_FINISHED",
    TextStart "TEXT_MESSAGE_START", TextContent "TEXT_MESSAGE_CONTENT", TextEnd "TEXT_MESSAGE_END", TextChunk "TEXT_MESSAGE_CHUNK",
    ToolStart "TOOL_CALL_START", ToolArgs "TOOL_CALL_ARGS", ToolEnd "TOOL_CALL_END", ToolChunk "TOOL_CALL_CHUNK",
    ToolResult "TOOL_CALL_RESULT",
    ReasoningStart "REASONING_START", ReasoningEnd "REASONING_END", ReasoningMessageStart "REASONING_MESSAGE_START",
    ReasoningMessageContent "REASONING_MESSAGE_CONTENT", ReasoningMessageEnd "REASONING_MESSAGE_END",
    ReasoningMessageChunk "REASONING_MESSAGE_CHUNK", ReasoningEncryptedValue "REASONING_ENCRYPTED_VALUE",
    ThinkingStart "THINKING_START", ThinkingEnd "THINKING_END", ThinkingTextStart "THINKING_TEXT_MESSAGE_START",
    ThinkingTextContent "THINKING_TEXT_MESSAGE_CONTENT", ThinkingTextEnd "THINKING_TEXT_MESSAGE_END",
    StateSnapshot "STATE_SNAPSHOT", StateDelta "STATE_DELTA", MessagesSnapshot "MESSAGES_SNAPSHOT",
    ActivitySnapshot "ACTIVITY_SNAPSHOT", ActivityDelta "ACTIVITY_DELTA",
    Raw "RAW", Custom "CUSTOM",
    SubagentStarted "SUBAGENT_STARTED", SubagentFinished "SUBAGENT_FINISHED", SubagentError "SUBAGENT_ERROR",
    HumanInputRequested "HUMAN_INPUT_REQUESTED", HumanInputResolved "HUMAN_INPUT_RESOLVED",
    UiBlock "UI_BLOCK", Interruption "INTERRUPTION",
}

impl Name {
    /// The name that a spelling means: itself, or its upper-case form with words parted (`RunFinished`).
    pub(super) fn of(spelling: &str) -> Option<Self> {
        Self::canonical(spelling).or_else(|| Self::canonical(&parted(spelling)))
    }
}

/// Puts `_` before each capital that follows a lower-case letter or a digit, and makes all of it upper case.
fn parted(spelling: &str) -> Cow<'_, str> {
    if spelling.len() > 64 || !spelling.bytes().any(|b| b.is_ascii_lowercase()) {
        return Cow::Borrowed(spelling);
    }
    let mut out = String::with_capacity(spelling.len() + 8);
    let mut small = false;
    for c in spelling.chars() {
        if c.is_ascii_uppercase() && small {
            out.push('_');
        }
        small = c.is_ascii_lowercase() || c.is_ascii_digit();
        out.push(c.to_ascii_uppercase());
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legacy_spellings_mean_their_canonical_names() {
        assert_eq!(Name::of("TextMessageContent"), Some(Name::TextContent));
        assert_eq!(Name::of("RunFinished"), Some(Name::RunFinished));
        assert_eq!(Name::of("ToolCallStart"), Some(Name::ToolStart));
        assert_eq!(Name::of("TOOL_CALL_START"), Some(Name::ToolStart));
    }

    #[test]
    fn unknown_spellings_mean_nothing() {
        for name in ["", "ActionExecutionStart", "VENDOR_NEW_THING", "aiui.workspace.intent", "textmessagecontent"] {
            assert_eq!(Name::of(name), None, "{name}");
        }
    }
}
