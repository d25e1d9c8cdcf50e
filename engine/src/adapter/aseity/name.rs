//! Names of events.

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// An event that is known.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Name { $($(#[$doc])* $name,)* }

        impl Name {
            /// As the protocol spells it.
            pub(super) const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The event of this name.
            pub(super) fn of(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$name),)* "session_messages" => Some(Self::SessionMessages), _ => None }
            }
        }
    };
}

names! {
    TurnStart = "turn_start",
    TurnEnd = "turn_end",
    TurnArtifacts = "turn_artifacts",
    SessionEvent = "session_event",
    PartAdd = "part_add",
    PartUpdate = "part_update",
    PartComplete = "part_complete",
    ToolInputDelta = "tool_input_delta",
    ToolInputComplete = "tool_input_complete",
    ToolResult = "tool_result",
    SessionError = "session_error",
    CompactStart = "compact_start",
    CompactEnd = "compact_end",
    InteractionRequest = "interaction_request",
    /// A page of history: no event of the stream, but the answer to a request.
    SessionMessages = "SessionMessages",
}
