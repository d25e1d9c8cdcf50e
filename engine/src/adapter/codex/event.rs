//! Events: what the person saw.

use serde_json::value::RawValue;

use super::super::fields::text_of;
use super::super::line::{Line, fit};
use super::decode::{Decoder, Told, compaction};
use super::twins::{Half, Lane};
use crate::fact::{PartKind, Text};

/// Events that are known and hold nothing for the timeline, or nothing that a response item does not hold.
const QUIET: [&str; 40] = [
    "agent_message_delta",
    "agent_reasoning_delta",
    "agent_reasoning_raw_content_delta",
    "agent_reasoning_section_break",
    "apply_patch_approval_request",
    "background_event",
    "collab_agent_interaction_begin",
    "collab_agent_interaction_end",
    "collab_agent_spawn_begin",
    "collab_agent_spawn_end",
    "collab_close_begin",
    "collab_close_end",
    "collab_waiting_begin",
    "collab_waiting_end",
    "deprecation_notice",
    "entered_review_mode",
    "exec_approval_request",
    "exec_command_begin",
    "exec_command_end",
    "exec_command_output_delta",
    "exited_review_mode",
    "image_generation_end",
    "item_completed",
    "item_started",
    "mcp_tool_call_begin",
    "mcp_tool_call_end",
    "patch_apply_begin",
    "patch_apply_end",
    "plan_update",
    "session_configured",
    "shutdown_complete",
    "stream_error",
    "thread_rolled_back",
    "turn_diff",
    "undo_completed",
    "undo_started",
    "view_image_tool_call",
    "warning",
    "web_search_begin",
    "web_search_end",
];

impl Decoder {
    /// `false`: the event is not known.
    pub(super) fn event<'a>(&mut self, told: &Told<'_, 'a>, line: &mut Line<'a>) -> bool {
        let turn = || fit(told.text("turn_id"));
        match told.kind {
            "task_started" | "turn_started" => self.turns.told(turn(), line),
            "task_complete" | "turn_complete" => self.turns.ended(turn(), "completed", line),
            "turn_aborted" => {
                let reason = told.text("reason").filter(|reason| !reason.is_empty() && reason.len() <= 64);
                self.turns.ended(turn(), reason.as_deref().unwrap_or("interrupted"), line);
            }
            "error" => self.turns.failed(told.payload.map_or("{}", RawValue::get), line),
            "token_count" => {
                if let Some(usage) = told.fields.some("info").and_then(super::super::line::sound) {
                    self.turns.used(usage);
                }
            }
            "user_message" => self.said(told.string("message"), Lane::User, "user", line),
            "agent_message" => self.said(told.string("message"), Lane::Assistant, "assistant", line),
            "agent_reasoning" => self.said(told.string("text"), Lane::Reasoning, "assistant", line),
            "agent_reasoning_raw_content" => self.said(told.string("text"), Lane::RawReasoning, "assistant", line),
            "context_compacted" => {
                if self.twins.take(Lane::Compaction, Half::Event, "", self.number, 2).is_none() {
                    self.twins.wait(Lane::Compaction, Half::Event, "", self.number, String::new());
                    compaction(line);
                }
            }
            "thread_name_updated" => {
                if let Some(title) = told.text("thread_name") {
                    line.session(Some(title), &[]);
                }
            }
            kind => return QUIET.contains(&kind),
        }
        true
    }

    /// Text that a response item has too, unless none came and none comes.
    fn said<'a>(&mut self, text: Option<&'a RawValue>, lane: Lane, role: &'static str, line: &mut Line<'a>) {
        let Some((raw, text)) = text.and_then(|raw| Some((raw, text_of(raw)?))) else { return };
        if self.twins.take(lane, Half::Event, &text, self.number, 1).is_some() {
            if lane == Lane::User && !self.turns.is_open() {
                self.turns.asked(line);
            }
            return;
        }
        line.author.role = Text::Borrowed(role);
        let kind = match lane {
            Lane::User => {
                self.turns.asked(line);
                PartKind::Text
            }
            Lane::Assistant => PartKind::Text,
            _ => PartKind::Reasoning,
        };
        if lane != Lane::User {
            self.turns.answered();
            self.by_model(line);
        }
        let part = line.part(kind, Some(raw));
        self.twins.wait(lane, Half::Event, &text, self.number, part);
    }
}
