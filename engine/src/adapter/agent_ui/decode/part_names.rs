//! How the parts of messages are called.
//!
//! **Invariant:** a text without a part id is `<message>#text`; a part id that another message has used is `<message>#<part>`, so that
//! two texts never run together.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::fact::{PartKind, PartTarget, Text};

/// The text parts of a message.
#[derive(Clone, Debug)]
enum Texts {
    /// A history stated it; its part is called as the message.
    Stated,
    /// One part without an id.
    Plain,
    /// One part with this name.
    One(Box<str>),
    /// More than one.
    Several,
}

/// A part by name.
pub(super) struct Named<'a> {
    pub(super) part: Text<'a>,
    /// It was not seen before.
    pub(super) new: bool,
    /// Its id belongs to another message.
    pub(super) reused: bool,
}

/// What was opened, by digests of ids.
#[derive(Clone, Debug, Default)]
pub(super) struct PartNames {
    /// Message of each part.
    messages: BTreeMap<u64, u64>,
    texts: BTreeMap<u64, Texts>,
}

impl PartNames {
    /// The name of a part, which is open from now on.
    pub(super) fn open<'a>(&mut self, kind: PartKind, message: &str, part: Option<&Text<'a>>) -> Named<'a> {
        let owner = digest(&message);
        let (name, reused) = match part {
            None => (self.unnamed(message), false),
            Some(part) if self.messages.get(&of_part(kind, part)).is_some_and(|known| *known != owner) => {
                (Text::Owned(format!("{message}#{part}")), true)
            }
            Some(part) => (part.clone(), false),
        };
        let new = self.messages.insert(of_part(kind, &name), owner).is_none();
        if new && kind == PartKind::Text {
            self.has_text(owner, part.is_none(), &name);
        }
        Named { part: name, new, reused }
    }

    fn unnamed<'a>(&self, message: &str) -> Text<'a> {
        let stated = matches!(self.texts.get(&digest(&message)), Some(Texts::Stated));
        Text::Owned(if stated { message.to_owned() } else { format!("{message}#text") })
    }

    fn has_text(&mut self, message: u64, plain: bool, name: &str) {
        let first = if plain { Texts::Plain } else { Texts::One(name.into()) };
        self.texts.entry(message).and_modify(|texts| *texts = Texts::Several).or_insert(first);
    }

    /// What a final text without a part id speaks of: the message's only text, or all of them. `None`: nothing was seen of it.
    pub(super) fn finals<'a>(&self, message: &Text<'a>) -> Option<PartTarget<'a>> {
        Some(match self.texts.get(&digest(&message.as_ref()))? {
            Texts::Stated => PartTarget::Part(PartKind::Text, message.clone()),
            Texts::Plain => PartTarget::Part(PartKind::Text, self.unnamed(message)),
            Texts::One(name) => PartTarget::Part(PartKind::Text, Text::Owned(name.to_string())),
            Texts::Several => PartTarget::Message(message.clone()),
        })
    }

    /// A history states a message: over what was streamed, when it `replaces` that.
    pub(super) fn history(&mut self, message: &str, replaces: bool) {
        let id = digest(&message);
        if replaces || !self.texts.contains_key(&id) {
            self.texts.insert(id, Texts::Stated);
            self.messages.insert(of_part(PartKind::Text, message), id);
        }
    }
}

fn of_part(kind: PartKind, part: &str) -> u64 {
    digest(&(kind as u8, part))
}

fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
