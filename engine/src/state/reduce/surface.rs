//! Surfaces: a definition, and a state that sequenced patches change. Source: `protocols.md`, section 3.8.
//!
//! **Invariant:** patches are taken in the order of their sequence, each once; what came too early waits, in a buffer with a measure.

use serde_json::{Map, Value};

use super::super::entry::{Body, Sequence};
use super::super::lookup::Space;
use super::super::shelf::Surface;
use super::Fold;
use super::structure;
use crate::fact::{SurfaceChanged, SurfaceOp};
use crate::limits::{SURFACE_BUFFER_BYTES_MAX, SURFACE_BUFFER_MAX};

impl Fold<'_> {
    fn surface_mut(&mut self, ordinal: i64) -> Option<&mut Surface> {
        match self.body_mut(Sequence::Shelf, ordinal)? {
            Body::Surface(surface) => Some(surface),
            _ => None,
        }
    }

    fn new_surface(&mut self, id: &str) -> i64 {
        let ordinal = self.shelve(Body::Surface(Surface { id: id.to_owned(), ..Surface::default() }));
        self.name(Space::Surface, id, ordinal);
        self.write_value(ordinal, Value::Object(Map::new()));
        ordinal
    }

    pub(super) fn surface_changed(&mut self, changed: &SurfaceChanged<'_>) {
        let id = changed.surface.as_ref();
        let known = self.find(Space::Surface, id);
        match (changed.op, known) {
            (SurfaceOp::Create, known) => self.surface_created(known, changed),
            (SurfaceOp::Patch, Some(ordinal)) => self.surface_patched(ordinal, changed),
            (SurfaceOp::Close, Some(ordinal)) => {
                if let Some(surface) = self.surface_mut(ordinal) {
                    surface.closed = true;
                    surface.buffered = Vec::new();
                }
            }
            (SurfaceOp::Patch, None) => {
                self.diagnose("surface_event_before_create", Some(id.to_owned()));
                // Its creation may be on the way: a patch that says its place waits for it.
                if changed.sequence.is_some() {
                    let ordinal = self.new_surface(id);
                    self.surface_patched(ordinal, changed);
                }
            }
            (SurfaceOp::Close, None) => self.diagnose("surface_event_before_create", Some(id.to_owned())),
        }
    }

    /// A creation resets everything, and takes what waits behind it.
    fn surface_created(&mut self, known: Option<i64>, changed: &SurfaceChanged<'_>) {
        let id = changed.surface.as_ref();
        let definition = match changed.body.value() {
            Ok(Value::Object(definition)) => definition,
            Ok(_) => return self.diagnose("surface_not_an_object", Some(id.to_owned())),
            Err(error) => return self.diagnose("surface_not_json", Some(format!("{id}: {error}"))),
        };
        for (code, what) in structure::check(&definition) {
            self.diagnose(code, Some(format!("{id}: {what}")));
        }
        let ordinal = known.unwrap_or_else(|| self.new_surface(id));
        let kept = self.json(&changed.body);
        let Some(surface) = self.surface_mut(ordinal) else { return };
        surface.definition = kept;
        surface.sequence = changed.sequence;
        surface.buffered.retain(|(sequence, _)| changed.sequence.is_some_and(|created| *sequence > created));
        (surface.lost, surface.closed) = (false, false);
        let state = definition.get("state").cloned().unwrap_or_else(|| Value::Object(Map::new()));
        self.write_value(ordinal, state);
        self.drain(ordinal);
    }

    fn surface_patched(&mut self, ordinal: i64, changed: &SurfaceChanged<'_>) {
        let id = changed.surface.to_string();
        let operations = match changed.body.value() {
            // The operations alone, or the event that carries them.
            Ok(Value::Object(mut event)) => event.remove("patch").unwrap_or(Value::Null),
            Ok(operations) => operations,
            // It fails where its turn comes, like any other patch that cannot be applied.
            Err(_) => Value::Null,
        };
        let Some(Body::Surface(surface)) = self.body(Sequence::Shelf, ordinal) else { return };
        let dropped = if surface.closed {
            Some("surface_event_after_close")
        } else if surface.lost {
            Some("surface_needs_create")
        } else {
            let done = |sequence: u64| surface.sequence.is_some_and(|last| sequence <= last);
            let waits = |sequence: u64| surface.buffered.iter().any(|(waiting, _)| *waiting == sequence);
            changed.sequence.filter(|sequence| done(*sequence) || waits(*sequence)).map(|_| "surface_duplicate_sequence")
        };
        if let Some(code) = dropped {
            let place = changed.sequence.map(|sequence| format!(" at {sequence}")).unwrap_or_default();
            return self.diagnose(code, Some(format!("{id}{place}")));
        }
        let Some(sequence) = changed.sequence else {
            // Without a place it is the next, whatever that is.
            return self.take_step(ordinal, None, &operations);
        };
        let created = surface.definition.is_some();
        match surface.sequence {
            Some(last) if last.checked_add(1) == Some(sequence) => self.take_step(ordinal, Some(sequence), &operations),
            // A creation without a place: the first that says its place is the next.
            None if created => self.take_step(ordinal, Some(sequence), &operations),
            _ => return self.buffer(ordinal, sequence, &operations),
        }
        self.drain(ordinal);
    }

    /// Applies a patch and stands behind it; one that fails changes nothing else.
    fn take_step(&mut self, ordinal: i64, sequence: Option<u64>, operations: &Value) {
        let outcome = self.patch_value(ordinal, operations);
        let Some(surface) = self.surface_mut(ordinal) else { return };
        surface.sequence = sequence.or(surface.sequence);
        if let Err(reason) = outcome {
            surface.state.stale = true;
            let detail = format!("{}: {reason}", surface.id);
            self.diagnose("surface_patch_failed", Some(detail));
        }
    }

    fn buffer(&mut self, ordinal: i64, sequence: u64, operations: &Value) {
        let Some(surface) = self.surface_mut(ordinal) else { return };
        let place = surface.buffered.partition_point(|(waiting, _)| *waiting < sequence);
        surface.buffered.insert(place, (sequence, operations.to_string()));
        let bytes = surface.buffered.iter().map(|(_, patch)| patch.len()).sum::<usize>();
        if surface.buffered.len() > SURFACE_BUFFER_MAX || bytes > SURFACE_BUFFER_BYTES_MAX {
            surface.buffered = Vec::new();
            surface.lost = true;
            let id = surface.id.clone();
            self.diagnose("surface_buffer_overflow", Some(id));
        }
    }

    /// Takes what waited for what was just taken.
    fn drain(&mut self, ordinal: i64) {
        loop {
            let Some(surface) = self.surface_mut(ordinal) else { return };
            let next = surface.sequence.and_then(|last| last.checked_add(1));
            if next.is_none() || surface.buffered.first().map(|(sequence, _)| *sequence) != next {
                return;
            }
            let (_, patch) = surface.buffered.remove(0);
            let operations = serde_json::from_str(&patch).unwrap_or(Value::Null);
            self.take_step(ordinal, next, &operations);
        }
    }
}
