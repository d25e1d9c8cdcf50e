//! Which lines and ids a transcript has had.
//!
//! **Invariant:** no two lines get one id. Memory: about 100 bytes for each line with a uuid.

use std::collections::BTreeMap;

type Digest = [u8; 16];

#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Lines, and which use of their uuid they are.
    lines: BTreeMap<Digest, u32>,
    /// Ids, and how often each was asked for.
    ids: BTreeMap<Digest, u32>,
}

/// What an id is for a line.
pub(super) enum Claim {
    /// The line came before; its id then.
    Repeat(String),
    /// A line of its own, with this id; whether the uuid was used before.
    Own { id: String, reused: bool },
}

fn digest(text: &str) -> Digest {
    blake3::hash(text.as_bytes()).as_bytes().first_chunk().copied().unwrap_or_default()
}

impl Seen {
    pub(super) fn claim(&mut self, uuid: &str, line: &str) -> Claim {
        let own = digest(line);
        if let Some(uses) = self.lines.get(&own) {
            return Claim::Repeat(named(uuid, *uses));
        }
        let key = digest(uuid);
        let before = self.ids.get(&key).copied().unwrap_or(0);
        let mut uses = before + 1;
        while uses > 1 && self.ids.contains_key(&digest(&named(uuid, uses))) {
            uses += 1;
        }
        self.ids.insert(key, uses);
        let id = named(uuid, uses);
        self.ids.entry(digest(&id)).or_insert(1);
        self.lines.insert(own, uses);
        Claim::Own { id, reused: before > 0 }
    }

    /// Whether a line of this uuid came.
    pub(super) fn knows(&self, uuid: &str) -> bool {
        self.ids.contains_key(&digest(uuid))
    }
}

fn named(uuid: &str, uses: u32) -> String {
    if uses == 1 { uuid.to_owned() } else { format!("{uuid}~{uses}") }
}
