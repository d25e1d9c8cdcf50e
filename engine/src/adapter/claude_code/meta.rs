//! Titles of a session, and what its lines say of where it runs.

use std::collections::BTreeMap;

use super::super::fields::{Fields, text_of, write_str};
use super::super::line::{Line, fit, sound};
use super::seen::Seen;
use crate::fact::Text;

/// Summaries that wait for the line that they are of. Most are of other sessions.
const SUMMARIES_MAX: usize = 256;
/// Fields of a line that speak of the session, and how the session calls them.
const PLACE: [(&str, &str); 4] = [("sessionId", "session_id"), ("version", "version"), ("cwd", "cwd"), ("gitBranch", "git_branch")];

/// Who gave a title; the greater wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Titled {
    Summary,
    Model,
    Person,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Meta {
    told: BTreeMap<&'static str, String>,
    titled: Option<Titled>,
    summaries: BTreeMap<String, String>,
}

impl Meta {
    /// States what the line says of the session that was not said before. `more` comes with the first line that has a session.
    pub(super) fn place<'a>(&mut self, fields: &Fields<'a>, more: &[(&'static str, String)], line: &mut Line<'a>) {
        let own = PLACE.iter().filter_map(|(key, name)| Some((*name, sound(fields.get(key)?)?.to_owned())));
        let new: Vec<_> = own.chain(more.iter().cloned()).filter(|(name, json)| self.told.get(name) != Some(json)).collect();
        if !new.is_empty() {
            line.session(None, &new.iter().map(|(name, json)| (*name, json.as_str())).collect::<Vec<_>>());
            self.told.extend(new);
        }
    }

    /// A summary is the title when the line that it is of stands in this transcript, before it or behind it.
    pub(super) fn summary<'a>(&mut self, fields: &Fields<'a>, seen: &Seen, line: &mut Line<'a>) {
        let text = |key: &str| fields.get(key).and_then(text_of);
        let (Some(summary), Some(leaf)) = (text("summary"), fit(text("leafUuid"))) else { return };
        if seen.knows(&leaf) {
            self.title(Titled::Summary, summary, line);
        } else if self.summaries.len() < SUMMARIES_MAX {
            self.summaries.insert(leaf.into_owned(), summary.into_owned());
        }
    }

    /// A line of this uuid has come.
    pub(super) fn came(&mut self, uuid: &str, line: &mut Line<'_>) {
        if let Some(summary) = self.summaries.remove(uuid) {
            self.title(Titled::Summary, Text::Owned(summary), line);
        }
    }

    /// A line that gives a title; `false` when it is none.
    pub(super) fn titles<'a>(&mut self, kind: &str, fields: &Fields<'a>, line: &mut Line<'a>) -> bool {
        let (titled, key) = match kind {
            "custom-title" => (Titled::Person, "customTitle"),
            "ai-title" => (Titled::Model, "aiTitle"),
            _ => return false,
        };
        if let Some(title) = fields.get(key).and_then(text_of) {
            self.title(titled, title, line);
        }
        true
    }

    fn title<'a>(&mut self, titled: Titled, title: Text<'a>, line: &mut Line<'a>) {
        if self.titled <= Some(titled) {
            self.titled = Some(titled);
            line.session(Some(title), &[]);
        }
    }
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_str(&mut out, text);
    out
}
