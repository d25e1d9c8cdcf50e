//! Response items: what the model saw and said.

use serde_json::value::RawValue;

use super::super::fields::{Fields, list_of, text_of};
use super::super::line::{Line, Outcome, fit};
use super::decode::{Decoder, Told, compaction};
use super::twins::{Half, Lane};
use crate::fact::{PartKind, Text};

/// Calls whose result is an item of its own.
const ANSWERED: [&str; 4] = ["function_call", "custom_tool_call", "local_shell_call", "tool_search_call"];
/// How a message begins that tells the model of an interruption, under the name of the person.
const ABORTED: &str = "<turn_aborted>";

impl Decoder {
    /// `false`: the item is not known.
    pub(super) fn item<'a>(&mut self, told: &Told<'_, 'a>, line: &mut Line<'a>) -> bool {
        if let Some(id) = fit(told.text("id")).filter(|_| matches!(told.kind, "message" | "reasoning")) {
            line.author.message = id;
        }
        match told.kind {
            "message" => self.message(told, line),
            "reasoning" => self.reasoning(told, line),
            "compaction" | "compaction_summary" | "context_compaction" => compaction(line),
            "ghost_snapshot" | "other" => {}
            kind if kind.ends_with("_call_output") || kind == "tool_search_output" => self.output(told, line),
            kind if kind.ends_with("_call") => self.call(told, line),
            _ => return false,
        }
        true
    }

    fn message<'a>(&mut self, told: &Told<'_, 'a>, line: &mut Line<'a>) {
        let role = told.text("role").filter(|role| !role.is_empty() && role.len() <= 64).unwrap_or(Text::Borrowed("assistant"));
        let content = match told.string("content") {
            Some(text) => vec![text],
            None => told.fields.get("content").and_then(list_of).unwrap_or_default(),
        };
        let blocks: Vec<_> = content.into_iter().map(|raw| (raw, text_in(raw))).collect();
        let whole: String = blocks.iter().filter_map(|(_, text)| text.and_then(text_of)).collect();
        let lane = match role.as_ref() {
            "user" => Some(Lane::User),
            "assistant" => Some(Lane::Assistant),
            _ => None,
        };
        line.author.role = role;
        line.about("phase", told.fields.get("phase"));
        match lane {
            Some(Lane::User) if !whole.starts_with(ABORTED) => self.turns.asked(line),
            Some(Lane::Assistant) => {
                self.turns.answered();
                self.by_model(line);
            }
            _ => {}
        }
        let twin = lane.filter(|_| !whole.is_empty()).and_then(|lane| self.twins.take(lane, Half::Item, &whole, self.number, 1));
        let stated = twin.is_some();
        if let Some(part) = twin {
            let mut texts = blocks.iter().filter_map(|(_, text)| *text);
            let only = texts.next().filter(|_| texts.next().is_none());
            line.restate(PartKind::Text, part, Text::Owned(whole.clone()), only);
        }
        let mut first = String::new();
        for (raw, text) in blocks {
            if text.is_none() || !stated {
                let part = line.part(PartKind::Text, Some(text.unwrap_or(raw)));
                first = if first.is_empty() { part } else { first };
            }
        }
        if let Some(lane) = lane.filter(|_| !stated && !whole.is_empty()) {
            self.twins.wait(lane, Half::Item, &whole, self.number, first);
        }
    }

    /// The model that is speaking goes with what it says.
    pub(super) fn by_model(&self, line: &mut Line<'_>) {
        if let Some(model) = self.model().and_then(|model| serde_json::from_str::<&RawValue>(model).ok()) {
            line.about("model", Some(model));
        }
    }

    fn reasoning<'a>(&mut self, told: &Told<'_, 'a>, line: &mut Line<'a>) {
        self.turns.answered();
        line.author.role = Text::Borrowed("assistant");
        self.by_model(line);
        let texts = |key: &str, lane| {
            let list = told.fields.get(key).and_then(list_of).unwrap_or_default();
            list.into_iter().map(move |raw| (lane, raw)).collect::<Vec<_>>()
        };
        let blocks = [texts("summary", Lane::Reasoning), texts("content", Lane::RawReasoning)].concat();
        let near = u64::try_from(blocks.len()).unwrap_or(u64::MAX);
        let mut last = None;
        for (lane, raw) in blocks {
            let text = text_in(raw);
            let said = text.and_then(text_of);
            let twin = said.as_deref().and_then(|said| self.twins.take(lane, Half::Item, said, self.number, near));
            last = Some(match (twin, said) {
                (Some(part), Some(said)) => {
                    line.restate(PartKind::Reasoning, part.clone(), said, text);
                    part
                }
                (_, said) => {
                    let part = line.part(PartKind::Reasoning, Some(text.unwrap_or(raw)));
                    if let Some(said) = said {
                        self.twins.wait(lane, Half::Item, &said, self.number, part.clone());
                    }
                    part
                }
            });
        }
        if let Some(sealed) = told.string("encrypted_content") {
            let part = last.unwrap_or_else(|| line.part(PartKind::Reasoning, None));
            line.seal(PartKind::Reasoning, &part, sealed);
        }
    }

    fn call<'a>(&mut self, told: &Told<'_, 'a>, line: &mut Line<'a>) {
        self.turns.answered();
        line.author.role = Text::Borrowed("assistant");
        self.by_model(line);
        let id = fit(told.text("call_id")).or_else(|| fit(told.text("id")));
        let name = told.text("name").unwrap_or_else(|| Text::Owned(told.kind.trim_end_matches("_call").to_owned()));
        let args = ["arguments", "input", "action"].iter().find_map(|key| told.fields.some(key));
        let tool = line.call(id, name, args);
        // Of what the model's own side ran, the item is the end too.
        let status = told.text("status").filter(|status| !ANSWERED.contains(&told.kind) && status != "in_progress");
        if let Some(status) = status.filter(|status| status.len() <= 64) {
            line.result(Some(tool), Outcome { content: told.fields.some("result"), status: Some(status), ..Outcome::default() });
        }
    }

    fn output<'a>(&mut self, told: &Told<'_, 'a>, line: &mut Line<'a>) {
        let output = told.fields.get("output").or_else(|| told.fields.get("tools"));
        let inner = output.and_then(|raw| Fields::parse(raw.get()).ok());
        let failed = inner.as_ref().and_then(|inner| inner.get("success")).is_some_and(|raw| raw.get() == "false");
        let content = inner.and_then(|inner| inner.get("content")).filter(|raw| raw.get().starts_with('"')).or(output);
        line.result(told.text("call_id"), Outcome { content, status: failed.then_some(Text::Borrowed("failed")), ..Outcome::default() });
    }
}

/// The string of a block of text.
fn text_in(raw: &RawValue) -> Option<&RawValue> {
    if raw.get().starts_with('"') {
        return Some(raw);
    }
    let fields = Fields::parse(raw.get()).ok()?;
    let key = match fields.get("type").and_then(text_of).as_deref() {
        Some("refusal") => "refusal",
        Some("input_text" | "output_text" | "text" | "summary_text" | "reasoning_text") => "text",
        _ => return None,
    };
    fields.get(key).filter(|raw| raw.get().starts_with('"'))
}
