//! Text, reasoning and activity parts.

use super::super::chunked::{Chunked, Relation};
use super::super::entry::{Body, Content, Mark, Part, PartRole, Sequence};
use super::super::lookup::Space;
use super::super::rows::{Field, RowKind};
use super::value::merge;
use super::{Fold, owned};
use crate::fact::{self, PartChange, PartDelta, PartFinal, PartOpened, PartTarget};

impl Fold<'_> {
    /// The first entry of a message, whatever opened it.
    pub(super) fn message(&self, id: &str) -> Option<i64> {
        self.find(Space::Text, id).or_else(|| self.find(Space::Message, id))
    }

    /// Names a message by its first entry, unless it has one.
    pub(super) fn name_message(&mut self, id: &str, ordinal: i64) {
        if self.message(id).is_none() {
            self.name(Space::Message, id, ordinal);
        }
    }

    pub(super) fn part_mut(&mut self, ordinal: i64) -> Option<&mut Part> {
        match self.body_mut(Sequence::Timeline, ordinal)? {
            Body::Part(part) => Some(part),
            _ => None,
        }
    }

    pub(super) fn part_opened(&mut self, opened: &PartOpened<'_>) {
        let turn = self.open_part(opened);
        if opened.role == "assistant" || opened.kind != fact::PartKind::Text {
            self.said(turn);
        }
    }

    /// Opens a part, or goes on with it; the turn of one that is new.
    fn open_part(&mut self, opened: &PartOpened<'_>) -> Option<i64> {
        let kind = PartRole::from(opened.kind);
        if let Some(ordinal) = self.find(Space::of(kind), &opened.part) {
            self.part_reopened(ordinal, opened);
            return None;
        }
        if kind == PartRole::Text && self.find(Space::Activity, &opened.message).is_some() {
            self.diagnose("message_is_an_activity", Some(opened.message.to_string()));
            return None;
        }
        let turn = self.turn_of(opened.turn.as_deref());
        let mut sealed = Vec::new();
        let content = match &opened.content {
            Some(fact::Content::Text(text)) => Some(Content::Text(Chunked::of(text, &mut sealed))),
            Some(content) => Some(self.content(content)),
            // A message that a call made has no text before there is some.
            None if kind == PartRole::Activity || self.message(&opened.message).is_some() => None,
            None => Some(Content::Text(Chunked::default())),
        };
        // The text of a message that a call made is that message's, whatever it says of itself.
        let by_call = kind == PartRole::Text && self.made_by_call(&opened.message);
        let mut part = Part {
            id: opened.part.to_string(),
            message: opened.message.to_string(),
            kind,
            role: if by_call { "assistant".to_owned() } else { opened.role.to_string() },
            name: owned(&opened.name).filter(|_| !by_call),
            agent: owned(&opened.agent),
            subtype: owned(&opened.subtype),
            content,
            mark: Mark::Open,
            sealed: None,
            error: None,
            metadata: None,
        };
        let dropped = merge(&mut part.metadata, opened.metadata.as_ref());
        self.note(dropped);
        let ordinal = self.append(turn, Body::Part(part));
        self.keep(RowKind::Text, ordinal, Field::TEXT, sealed);
        if kind != PartRole::Text || opened.part != opened.message {
            self.name_message(&opened.message, ordinal);
        }
        self.name(Space::of(kind), &opened.part, ordinal);
        turn
    }

    /// A part that is known: a replay, or text that goes on. An activity that names its type is stated anew.
    fn part_reopened(&mut self, ordinal: i64, opened: &PartOpened<'_>) {
        let Some(part) = self.part_mut(ordinal) else { return };
        if part.mark == Mark::Closed {
            part.mark = Mark::Open;
        }
        if part.kind == PartRole::Activity && opened.subtype.is_some() {
            part.subtype = owned(&opened.subtype);
            part.agent = owned(&opened.agent);
        }
        let dropped = merge(&mut part.metadata, opened.metadata.as_ref());
        self.note(dropped);
    }

    /// Whether the message of this id exists because a call needed one.
    fn made_by_call(&self, message: &str) -> bool {
        let first = self.message(message).and_then(|ordinal| self.body(Sequence::Timeline, ordinal));
        matches!(first, Some(Body::Tool(tool)) if tool.message == message)
    }

    /// Text for a message that has none: it begins here when a call made the message, else it is unknown.
    fn first_text(&mut self, delta: &PartDelta<'_>) -> Option<i64> {
        if delta.kind == fact::PartKind::Text && self.made_by_call(&delta.part) {
            return self.begin_text(&delta.part);
        }
        self.diagnose("delta_for_unknown_part", Some(delta.part.to_string()));
        None
    }

    /// A text part for an assistant's message that has none.
    fn begin_text(&mut self, message: &fact::Text<'_>) -> Option<i64> {
        self.part_opened(&PartOpened {
            part: message.clone(),
            message: message.clone(),
            kind: fact::PartKind::Text,
            role: fact::Text::Borrowed("assistant"),
            name: None,
            turn: None,
            agent: None,
            subtype: None,
            content: None,
            metadata: None,
        });
        self.find(Space::Text, message)
    }

    pub(super) fn part_delta(&mut self, delta: &PartDelta<'_>) {
        let known = self.find(Space::of(delta.kind.into()), &delta.part);
        let Some(ordinal) = known.or_else(|| self.first_text(delta)) else { return };
        let Some(part) = self.part_mut(ordinal) else { return };
        if part.mark.is_final() {
            return self.diagnose("delta_after_final", Some(delta.part.to_string()));
        }
        let dropped = merge(&mut part.metadata, delta.metadata.as_ref());
        let mut sealed = Vec::new();
        let text = text_of(&mut part.content);
        let room = text.has_room(&delta.text);
        if room {
            text.push(&delta.text, &mut sealed);
        }
        if !sealed.is_empty() {
            self.keep(RowKind::Text, ordinal, Field::TEXT, sealed);
        }
        self.note(dropped);
        if !room {
            self.diagnose("text_full", Some(delta.part.to_string()));
        }
    }

    pub(super) fn part_final(&mut self, last: &PartFinal<'_>) {
        if let (PartTarget::Message(message), PartChange::Text(text)) = (&last.target, &last.change) {
            return self.message_final(message, text, last.metadata.as_ref());
        }
        let ordinal = match &last.target {
            PartTarget::Part(kind, part) => self.find(Space::of((*kind).into()), part),
            PartTarget::Message(message) => {
                let others = [Space::Text, Space::Reasoning, Space::Activity, Space::Message];
                others.iter().find_map(|space| self.find(*space, message))
            }
        };
        let name = match &last.target {
            PartTarget::Part(_, id) | PartTarget::Message(id) => id,
        };
        let Some(ordinal) = ordinal else {
            return self.diagnose("final_for_unknown_part", Some(name.to_string()));
        };
        let sealed = if let PartChange::Sealed(value) = &last.change { self.text(value) } else { None };
        match self.body_mut(Sequence::Timeline, ordinal) {
            Some(Body::Part(part)) => {
                let dropped = merge(&mut part.metadata, last.metadata.as_ref());
                match &last.change {
                    PartChange::Closed if part.mark == Mark::Open => part.mark = Mark::Closed,
                    PartChange::Closed => {}
                    PartChange::Sealed(_) => part.sealed = sealed,
                    PartChange::Text(text) => self.final_text(ordinal, text),
                }
                self.note(dropped);
            }
            Some(Body::Tool(tool)) if sealed.is_some() => {
                let result = tool.results.iter_mut().find(|result| result.message.as_deref() == Some(name));
                *result.map_or(&mut tool.message_sealed, |result| &mut result.sealed) = sealed;
            }
            Some(Body::Result(lone)) if sealed.is_some() => lone.result.sealed = sealed,
            _ => {}
        }
    }

    /// The owner's full text of a message against what was streamed in all its text parts; nothing else of the message takes part.
    fn message_final(&mut self, message: &fact::Text<'_>, text: &str, metadata: Option<&fact::Json<'_>>) {
        let first = [Space::Text, Space::Message].iter().filter_map(|space| self.find(*space, message)).min();
        let mut parts = first.map_or_else(Vec::new, |first| self.text_parts(message, first));
        if parts.is_empty() && first.is_some_and(|first| self.may_say(message, first)) {
            parts.extend(self.begin_text(message));
        }
        let Some((last, before)) = parts.split_last() else {
            return self.diagnose("final_for_unknown_part", Some(message.to_string()));
        };
        let rest = before.iter().try_fold(text, |rest, part| self.behind(*part, rest));
        if let Some(rest) = rest.filter(|rest| self.behind(*last, rest).is_some()) {
            before.iter().for_each(|part| self.marked(*part, Mark::Match));
            self.final_text(*last, rest);
            let only = self.part_mut(*last).is_some_and(|part| part.mark == Mark::FinalOnly);
            if only && rest.len() < text.len() {
                self.marked(*last, if rest.is_empty() { Mark::Match } else { Mark::Extended });
            }
        } else {
            before.iter().for_each(|part| self.marked(*part, Mark::Superseded));
            self.marked(*last, Mark::Replaced);
            let mut sealed = Vec::new();
            if let Some(part) = self.part_mut(*last) {
                *text_of(&mut part.content) = Chunked::of(text, &mut sealed);
            }
            self.keep(RowKind::Text, *last, Field::TEXT, sealed);
            self.diagnose("final_text_mismatch", Some(message.to_string()));
        }
        let dropped = self.part_mut(*last).map(|part| merge(&mut part.metadata, metadata));
        self.note(dropped.unwrap_or_default());
    }

    /// The text parts of a message that stand, in order.
    fn text_parts(&self, message: &str, first: i64) -> Vec<i64> {
        let stands = |ordinal: &i64| match self.body(Sequence::Timeline, *ordinal) {
            Some(Body::Part(part)) => part.kind == PartRole::Text && part.message == message && part.mark != Mark::Superseded,
            _ => false,
        };
        self.state.of_message(first).filter(stands).collect()
    }

    /// Whether a message that has no text is an assistant's: it began with reasoning or a call.
    fn may_say(&self, message: &str, first: i64) -> bool {
        match self.body(Sequence::Timeline, first) {
            Some(Body::Part(part)) => part.kind == PartRole::Reasoning && part.message == message,
            Some(Body::Tool(tool)) => tool.message == message,
            _ => false,
        }
    }

    /// What of a text is behind that of a part; `None` when the text does not begin with it.
    fn behind<'t>(&self, part: i64, text: &'t str) -> Option<&'t str> {
        let Some(Body::Part(Part { content, .. })) = self.body(Sequence::Timeline, part) else { return None };
        let relation = match content {
            None => return Some(text),
            Some(Content::Text(streamed)) => streamed.compare(text),
            Some(_) => return None,
        };
        match relation {
            Relation::Equal => Some(""),
            Relation::Extended { from } => text.get(from..),
            Relation::Different => None,
        }
    }

    fn marked(&mut self, part: i64, mark: Mark) {
        if let Some(part) = self.part_mut(part) {
            part.mark = mark;
        }
    }

    /// The owner's full text against what was streamed.
    fn final_text(&mut self, ordinal: i64, text: &str) {
        let Some(part) = self.part_mut(ordinal) else { return };
        let mut sealed = Vec::new();
        let streamed = text_of(&mut part.content);
        let was_empty = streamed.bytes() == 0;
        part.mark = match streamed.compare(text) {
            Relation::Equal if was_empty => Mark::FinalOnly,
            Relation::Equal => Mark::Match,
            Relation::Extended { from } => {
                streamed.push(text.get(from..).unwrap_or_default(), &mut sealed);
                if was_empty { Mark::FinalOnly } else { Mark::Extended }
            }
            Relation::Different => {
                *streamed = Chunked::of(text, &mut sealed);
                Mark::Replaced
            }
        };
        let (replaced, id) = (part.mark == Mark::Replaced, part.id.clone());
        self.keep(RowKind::Text, ordinal, Field::TEXT, sealed);
        if replaced {
            self.diagnose("final_text_mismatch", Some(id));
        }
    }
}

/// The growing text of a content; what is no text gives way to it.
pub(super) fn text_of(content: &mut Option<Content>) -> &mut Chunked {
    if !matches!(content, Some(Content::Text(_))) {
        *content = Some(Content::Text(Chunked::default()));
    }
    match content {
        Some(Content::Text(text) | Content::Json(text)) => text,
        _ => unreachable!("the content was just made a text"),
    }
}
