//! Checkpoints, as the writer sees them: freezing what changed, and swapping it out of memory once main holds it.

use std::sync::Arc;
use std::time::Instant;

use crossbeam_channel::TryRecvError;
use turnstore_storage::{Position, Stream};

use super::{Writer, release, show};
use crate::checkpointer::{Done, Job};
use crate::error::Error;
use crate::receipt::Reply;

impl Writer {
    /// Hands what changed to the checkpointer. Cost: proportional to the sessions that changed; appends go on at once.
    pub(super) fn freeze(&mut self) {
        let Some(up_to) = self.storage.head() else { return };
        if self.stopped.is_some() || self.storage.checkpoint() >= Some(up_to) {
            self.unsaved_since = None;
            return;
        }
        let viewed = self.newest_viewed();
        let mut sessions = Vec::new();
        for desk in self.desks.values_mut() {
            let state = &desk.session.state;
            if state.header().last_seq <= state.saved() {
                continue;
            }
            let Some(last_position) = desk.last_position else { continue };
            // A view that is older than the version that goes never reads it, however long it is held.
            let version = desk.placed.checkpoints.last().map_or(0, |(version, _)| *version);
            sessions.push(desk.freeze(last_position, version > viewed));
        }
        self.checkpointing = true;
        self.unsaved = 0;
        self.unsaved_since = None;
        if self.jobs.send(Job { up_to, sessions }).is_err() {
            self.checkpointing = false;
            self.stop("the checkpointer has stopped");
        }
    }

    /// The newest checkpoint that a living view reads rows at, 0 for none: versions above it may be replaced.
    ///
    /// A view that is taken while the checkpoint is written needs none of those either: the rows that change are in memory for it.
    fn newest_viewed(&mut self) -> u64 {
        self.pins.retain(|(_, pin)| pin.strong_count() > 0);
        let head = self.shared.head.lock();
        let now = Arc::strong_count(&head) > 1 || Arc::strong_count(&head.pin) > 1;
        let of_head = head.checkpoint.filter(|_| now);
        of_head.into_iter().chain(self.pins.iter().map(|(checkpoint, _)| *checkpoint)).max().map_or(0, Position::get)
    }

    pub(super) fn checkpointed(&mut self, outcome: Result<Done, Error>) {
        self.checkpointing = false;
        match outcome {
            Ok(done) => self.swap(done),
            Err(error) => self.stop(&format!("a checkpoint failed: {error}")),
        }
        let reached = self.storage.checkpoint();
        let stopped = self.stopped.is_some();
        let (answered, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.flushes).into_iter().partition(|(_, up_to)| stopped || reached >= *up_to);
        self.flushes = waiting;
        for (reply, _) in answered {
            reply.answer(match &self.stopped {
                Some(reason) => Err(Error::Stopped { reason: reason.clone() }),
                None => Ok(self.receipt_of_head()),
            });
        }
        if !self.flushes.is_empty() {
            self.freeze();
        }
    }

    pub(super) fn flush(&mut self, reply: Reply) {
        if self.stopped.is_none() && self.storage.checkpoint() >= self.storage.head() && !self.checkpointing {
            return reply.answer(Ok(self.receipt_of_head()));
        }
        self.flushes.push((reply, self.storage.head()));
        if !self.checkpointing {
            self.freeze();
            if !self.checkpointing {
                self.checkpointed(Err(Error::Closed));
            }
        }
    }

    /// Main holds everything up to `done.up_to`: memory lets go of it, and readers see both at once.
    fn swap(&mut self, done: Done) {
        let shared = self.shared.clone();
        let mut guard = shared.head.lock();
        let head = Arc::make_mut(&mut guard);
        for (stream, placed, saved) in done.sessions {
            let Some(desk) = self.desks.get_mut(&stream) else { continue };
            release(head, stream, &self.nothing);
            desk.placed = placed;
            desk.keys.retain(|_, record| record.last > done.up_to);
            desk.session.written(saved);
            show(head, desk);
        }
        if let Some(checkpoint) = head.checkpoint {
            self.pins.push((checkpoint, Arc::downgrade(&head.pin)));
        }
        head.pin = Arc::new(());
        head.checkpoint = Some(done.up_to);
        let idle = idle(&self.desks, self.shared.limits.idle_sessions_max);
        for stream in idle {
            if let Some(desk) = self.desks.remove(&stream) {
                self.names.remove(&desk.name);
                head.sessions.remove(&stream);
                head.names.remove(&desk.name);
            }
        }
        if self.unsaved > 0 {
            self.unsaved_since.get_or_insert_with(Instant::now);
        }
    }

    /// Back-pressure: the only time that an append waits for a checkpoint.
    pub(super) fn wait_while_tail_is_full(&mut self) {
        let full = self.shared.limits.tail_bytes_hard_max;
        while self.checkpointing && self.storage.tail_bytes() > full {
            match self.outcomes.recv() {
                Ok(outcome) => self.checkpointed(outcome),
                Err(_) => break,
            }
            if self.storage.wants_checkpoint() && !self.checkpointing {
                self.freeze();
            }
        }
    }

    /// Takes in what the checkpointer finished. Its outcomes have a channel of their own, so that a full queue cannot hold them back.
    pub(super) fn outcomes(&mut self) {
        loop {
            match self.outcomes.try_recv() {
                Ok(outcome) => self.checkpointed(outcome),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) if self.checkpointing => {
                    self.checkpointed(Err(Error::Stopped { reason: "the checkpointer has ended".to_owned() }));
                }
                Err(TryRecvError::Disconnected) => break,
            }
        }
    }
}

/// Sessions that are wholly in rows, beyond the number that stays: the longest idle first.
fn idle(desks: &std::collections::BTreeMap<Stream, super::Desk>, stay: usize) -> Vec<Stream> {
    let mut idle: Vec<_> = desks
        .values()
        .filter(|desk| desk.admitted == desk.session.state.header().last_seq && desk.admitted <= desk.session.state.saved())
        .map(|desk| (desk.last_position, desk.stream))
        .collect();
    idle.sort();
    idle.truncate(idle.len().saturating_sub(stay));
    idle.into_iter().map(|(_, stream)| stream).collect()
}
