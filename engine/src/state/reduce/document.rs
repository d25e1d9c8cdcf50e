//! JSON documents: whole values and patches.

use std::sync::Arc;

use serde_json::Value;

use super::super::chunked::{CHUNK_BYTES_MAX, Chunked};
use super::super::entry::{Body, Document, Sequence};
use super::super::lookup::Space;
use super::super::patch::{self, PatchFailed};
use super::super::rows::{Field, RowKind, piece_ordinal};
use super::super::session::{Held, State};
use super::Fold;
use crate::fact::{DocumentPatched, DocumentSet};

/// Documents of this prefix exist only after they were set: a patch does not make them.
const ACTIVITY: &str = "activity:";

impl Fold<'_> {
    fn document_mut(&mut self, ordinal: i64) -> Option<&mut Document> {
        match self.body_mut(Sequence::Shelf, ordinal)? {
            Body::Document(document) => Some(document),
            Body::Surface(surface) => Some(&mut surface.state),
            _ => None,
        }
    }

    pub(super) fn document_set(&mut self, set: &DocumentSet<'_>) {
        match set.value.value() {
            Ok(value) => self.set_document(&set.document, value, set.replace),
            Err(error) => self.diagnose("document_not_json", Some(format!("{}: {error}", set.document))),
        }
    }

    pub(super) fn set_document(&mut self, name: &str, value: Value, replace: bool) {
        let known = self.find(Space::Document, name);
        if known.is_some() && !replace {
            return;
        }
        let ordinal = known.unwrap_or_else(|| self.new_document(name));
        self.write_value(ordinal, value);
    }

    /// Writes a value whole, which is no longer stale.
    pub(super) fn write_value(&mut self, ordinal: i64, value: Value) {
        self.write_base(ordinal, Arc::new(value));
        if let Some(document) = self.document_mut(ordinal) {
            document.stale = false;
        }
    }

    fn new_document(&mut self, name: &str) -> i64 {
        let ordinal = self.shelve(Body::Document(Document { name: name.to_owned(), ..Document::default() }));
        self.name(Space::Document, name, ordinal);
        ordinal
    }

    /// Writes the value whole and forgets the patches before it.
    fn write_base(&mut self, ordinal: i64, value: Arc<Value>) {
        let mut sealed = Vec::new();
        let base = Chunked::of(&value.to_string(), &mut sealed);
        let bytes = patch::measure(&value);
        if let Some(document) = self.document_mut(ordinal) {
            document.base = base;
            document.patches = Chunked::default();
        }
        self.keep(RowKind::ShelfText, ordinal, Field::BASE, sealed);
        self.hold(ordinal, value, bytes);
    }

    /// Keeps a value in memory, with its measure. What is no document has no name to be found by.
    fn hold(&mut self, ordinal: i64, value: Arc<Value>, bytes: usize) {
        let name = match self.body(Sequence::Shelf, ordinal) {
            Some(Body::Document(document)) => Some(Arc::from(document.name.as_str())),
            _ => None,
        };
        self.state.documents.insert(ordinal, Held { name, value, bytes, changed: self.seq });
    }

    pub(super) fn document_patched(&mut self, patched: &DocumentPatched<'_>) {
        let name = patched.document.as_ref();
        let ordinal = match self.find(Space::Document, name) {
            Some(ordinal) => ordinal,
            None if name.starts_with(ACTIVITY) => return self.diagnose("patch_for_unknown_activity", Some(name.to_owned())),
            None => {
                let ordinal = self.new_document(name);
                self.write_base(ordinal, Arc::new(Value::Object(serde_json::Map::new())));
                ordinal
            }
        };
        let operations = patched.patch.value().map_err(|error| error.to_string());
        if let Err(reason) = operations.and_then(|operations| self.patch_value(ordinal, &operations)) {
            if let Some(document) = self.document_mut(ordinal) {
                document.stale = true;
            }
            self.diagnose("state_patch_failed", Some(format!("{name}: {reason}")));
        }
    }

    /// Applies operations to a value, whole or not at all; says why not.
    pub(super) fn patch_value(&mut self, ordinal: i64, operations: &Value) -> Result<(), String> {
        let (mut value, mut bytes) = self.state.take_document(ordinal).ok_or("its value does not read")?;
        let outcome = patch::apply(Arc::make_mut(&mut value), &mut bytes, operations);
        self.hold(ordinal, value, bytes);
        match outcome {
            Ok(()) => self.patch_written(ordinal, &operations.to_string()),
            Err(PatchFailed { op_index: Some(index), reason }) => return Err(format!("operation {index}: {reason}")),
            Err(PatchFailed { op_index: None, reason }) => return Err(reason),
        }
        Ok(())
    }

    /// Keeps the patch beside the base until the patches reach half of it: bytes written stay proportional to bytes received.
    fn patch_written(&mut self, ordinal: i64, operations: &str) {
        let mut sealed = Vec::new();
        let Some(document) = self.document_mut(ordinal) else { return };
        document.patches.push(operations, &mut sealed);
        document.patches.push("\n", &mut sealed);
        if document.patches.bytes() > (document.base.bytes() / 2).max(CHUNK_BYTES_MAX as u64) {
            if let Some(value) = self.state.documents.get(&ordinal).map(|held| held.value.clone()) {
                self.write_base(ordinal, value);
            }
        } else {
            self.keep(RowKind::ShelfText, ordinal, Field::PATCHES, sealed);
        }
    }
}

impl State {
    /// The value for changing, with its measure: from memory, else from its base and patches.
    fn take_document(&mut self, ordinal: i64) -> Option<(Arc<Value>, usize)> {
        if let Some(held) = self.documents.remove(&ordinal) {
            return Some((held.value, held.bytes));
        }
        let document = self.entry(Sequence::Shelf, ordinal)?.body.document()?;
        let base = self.joined(ordinal, Field::BASE, &document.base)?;
        let patches = self.joined(ordinal, Field::PATCHES, &document.patches)?;
        let value = value_of(&base, &patches)?;
        let bytes = patch::measure(&value);
        Some((Arc::new(value), bytes))
    }

    fn joined(&self, ordinal: i64, field: Field, text: &Chunked) -> Option<String> {
        let mut joined = String::with_capacity(usize::try_from(text.bytes()).ok()?);
        for index in 0..text.sealed {
            joined.push_str(self.piece(RowKind::ShelfText, piece_ordinal(ordinal, field, index))?);
        }
        joined.push_str(&text.tail);
        Some(joined)
    }
}

/// A document's value from its base and its patches, one a line; `None` when they do not read.
pub fn value_of(base: &str, patches: &str) -> Option<Value> {
    let mut value = serde_json::from_str(base).ok()?;
    let mut bytes = patch::measure(&value);
    for line in patches.lines() {
        patch::apply(&mut value, &mut bytes, &serde_json::from_str(line).ok()?).ok()?;
    }
    Some(value)
}
