//! The one thread that appends and folds.
//!
//! **Invariant:** events are checked, written and made durable before they are folded; since folding is total, what is durable is
//! shown, and what failed never was. One commit serves every append that waits.
//!
//! ```text
//! queue --> admit (checks, stamps) --> frame --> one tail commit --> fold --> head --> answers
//! ```

mod admit;
pub(crate) mod desk;
mod freeze;
pub(crate) mod sources;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use turnstore_storage::{Durability, Frame, FrameBuilder, KeyRecord, Position, Seq, Storage, Stream};

use self::admit::{Admitted, Verdict, admit};
use self::desk::{AtCheckpoint, Desk, Rows};
use crate::batch::Batch;
use crate::checkpointer::{Done, Job};
use crate::error::Error;
use crate::event;
use crate::gate::Passage;
use crate::head::{Head, Shown};
use crate::receipt::{Receipt, Reply, answer_all};
use crate::shared::Shared;
use crate::state::State;

/// What reaches the writer.
pub(crate) enum Command {
    /// An append; it stands in the queue while its passage lasts.
    Append { session: String, batch: Batch, reply: Reply, passage: Passage },
    /// The checkpointer has an outcome.
    Wake,
    /// Checkpoint everything; answered when it is in main.
    Checkpoint(Reply),
    /// Checkpoint everything and end.
    Close(Reply),
    /// The last handle is gone.
    Abandon,
}

struct Waiting {
    stream: Stream,
    batch: Batch,
    admitted: Admitted,
    reply: Reply,
}

/// What the writer listens to and speaks into.
pub(crate) struct Channels {
    pub(crate) queue: Receiver<Command>,
    pub(crate) jobs: Sender<Job>,
    pub(crate) outcomes: Receiver<Result<Done, Error>>,
}

/// The writer's own memory.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    storage: Arc<Storage>,
    queue: Receiver<Command>,
    jobs: Sender<Job>,
    outcomes: Receiver<Result<Done, Error>>,
    durability: Durability,
    next_stream: Stream,
    /// Sessions that the open frame declares.
    declared: Vec<Stream>,
    desks: BTreeMap<Stream, Desk>,
    names: BTreeMap<Arc<str>, Stream>,
    nothing: Arc<State>,
    checkpointing: bool,
    /// Events folded since the last freeze, and when the first of them came.
    unsaved: u64,
    unsaved_since: Option<Instant>,
    unsynced_since: Option<Instant>,
    /// Checkpoints that views may still read at, each alive while one does.
    pins: Vec<(Position, std::sync::Weak<()>)>,
    /// Who waits for a checkpoint, and up to where.
    flushes: Vec<(Reply, Option<Position>)>,
    closing: Option<Reply>,
    stopped: Option<String>,
}

impl Writer {
    pub(crate) fn new(shared: Arc<Shared>, storage: Arc<Storage>, channels: Channels, durability: Durability) -> Self {
        Self {
            shared,
            next_stream: storage.next_stream(),
            declared: Vec::new(),
            storage,
            queue: channels.queue,
            jobs: channels.jobs,
            outcomes: channels.outcomes,
            durability,
            desks: BTreeMap::new(),
            names: BTreeMap::new(),
            nothing: Arc::new(State::default()),
            checkpointing: false,
            unsaved: 0,
            unsaved_since: None,
            unsynced_since: None,
            pins: Vec::new(),
            flushes: Vec::new(),
            closing: None,
            stopped: None,
        }
    }

    /// Folds what a former process acknowledged and did not checkpoint.
    pub(crate) fn recover(&mut self, tail: &[Frame]) -> Result<(), Error> {
        for frame in tail {
            for (stream, name) in frame.declared() {
                let name = Arc::<str>::from(name);
                self.names.insert(name.clone(), stream);
                self.desks.insert(stream, Desk::new(name, stream));
            }
            self.recover_frame(frame)?;
        }
        let shown: Vec<_> = self.desks.keys().copied().collect();
        for stream in shown {
            if let Some(desk) = self.desks.get_mut(&stream) {
                desk.opened_seq = desk.admitted;
            }
            self.show(stream);
        }
        self.shared.durable.advance(self.storage.durable());
        Ok(())
    }

    fn recover_frame(&mut self, frame: &Frame) -> Result<(), Error> {
        let storage = self.storage.clone();
        let open = move || Ok(storage.reader()?);
        let mut rows = Rows::new(&open);
        let mut batch_first = frame.first();
        for entry in frame.entries() {
            let entry = entry?;
            if !self.desks.contains_key(&entry.stream) {
                let reader = self.storage.reader()?;
                let name = reader.stream_name(entry.stream)?.unwrap_or_default();
                self.load(&name)?;
            }
            let event = event::decode(entry.position, entry.stream, entry.seq, entry.bytes)
                .map_err(|source| Error::Event { position: entry.position, source })?;
            let retained_max = self.shared.limits.event_ids_retained_max;
            if let Some(desk) = self.desks.get_mut(&entry.stream) {
                desk.fold_or_refold(&mut rows, &event)?;
                desk.sources.remember(&event, retained_max);
                if let Some((key, digest)) = entry.batch_end.and_then(|end| end.key) {
                    let record = KeyRecord { first: batch_first, last: entry.position, digest };
                    desk.keys.insert(key, record);
                }
            }
            if entry.batch_end.is_some() {
                batch_first = entry.position.next();
            }
            self.unsaved += 1;
        }
        self.unsaved_since.get_or_insert_with(Instant::now);
        Ok(())
    }

    /// The thread's life.
    pub(crate) fn run(mut self) {
        loop {
            match self.next_command() {
                Some(command) => self.turn(command),
                None => self.tick(),
            }
            self.outcomes();
            if self.shared.abandoned.load(Ordering::Acquire) && self.queue.is_empty() {
                break;
            }
            if self.closing.is_some() && !self.checkpointing {
                if self.stopped.is_some() || self.storage.checkpoint() >= self.storage.head() {
                    break;
                }
                self.freeze();
            }
        }
        self.end();
    }

    fn next_command(&self) -> Option<Command> {
        let deadline = self.deadline();
        let received = match deadline {
            Some(deadline) => self.queue.recv_deadline(deadline),
            None => self.queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match received {
            Ok(command) => Some(command),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Command::Abandon),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let age = Duration::from_millis(self.shared.limits.checkpoint_age_ms_max);
        let delay = Duration::from_millis(self.shared.limits.buffered_delay_ms_max);
        let checkpoint = self.unsaved_since.filter(|_| !self.checkpointing && self.stopped.is_none()).map(|since| since + age);
        let sync = self.unsynced_since.map(|since| since + delay);
        [checkpoint, sync].into_iter().flatten().min()
    }

    /// What time alone asks for.
    fn tick(&mut self) {
        let now = Instant::now();
        if self.unsynced_since.is_some_and(|since| now >= since + Duration::from_millis(self.shared.limits.buffered_delay_ms_max)) {
            self.sync();
        }
        let aged = self.unsaved_since.is_some_and(|since| now >= since + Duration::from_millis(self.shared.limits.checkpoint_age_ms_max));
        if aged && !self.checkpointing {
            self.freeze();
        }
    }

    fn sync(&mut self) {
        self.unsynced_since = None;
        match self.storage.sync() {
            Ok(()) => self.shared.durable.advance(self.storage.durable()),
            Err(error) => self.stop(&error.to_string()),
        }
    }

    /// One turn: this command, and every append that waits behind it, in one commit.
    fn turn(&mut self, command: Command) {
        let mut frame = self.storage.begin_frame();
        self.next_stream = self.storage.next_stream();
        let mut waiting = Vec::new();
        let now = now_ms();
        let mut next = Some(command);
        while let Some(command) = next {
            match command {
                Command::Append { session, batch, reply, passage } => {
                    drop(passage);
                    self.take(&session, batch, reply, &mut frame, &mut waiting, now);
                }
                Command::Wake => {}
                Command::Checkpoint(reply) => {
                    self.commit(frame, &mut waiting);
                    self.flush(reply);
                    return;
                }
                Command::Close(reply) => {
                    self.commit(frame, &mut waiting);
                    self.closing = Some(reply);
                    return;
                }
                Command::Abandon => {}
            }
            let full = waiting.len() >= self.shared.limits.commit_appends_max || frame.bytes() >= self.shared.limits.commit_bytes_soft_max;
            next = if full { None } else { self.queue.try_recv().ok() };
        }
        self.commit(frame, &mut waiting);
        let events = self.unsaved >= self.shared.limits.checkpoint_events_max;
        if (events || self.storage.wants_checkpoint()) && !self.checkpointing {
            self.freeze();
        }
        self.wait_while_tail_is_full();
        if self.unsaved_since.is_some() || self.unsynced_since.is_some() {
            self.tick();
        }
    }

    fn take(&mut self, session: &str, mut batch: Batch, reply: Reply, frame: &mut FrameBuilder, waiting: &mut Vec<Waiting>, now: i64) {
        if batch.is_empty() {
            return reply.answer(Ok(self.receipt_of_head()));
        }
        match self.admit(session, &mut batch, frame, now) {
            Ok((stream, Verdict::Admitted(admitted))) => waiting.push(Waiting { stream, batch, admitted, reply }),
            Ok((stream, Verdict::Repeat(record))) if Some(record.last) > self.storage.head() => {
                // The first one is in this very commit: both are answered when it is durable.
                let seq = waiting.iter().find(|first| first.admitted.last == Some(record.last)).map_or(0, |first| first.admitted.seq);
                let (first, last) = (Some(record.first), Some(record.last));
                let admitted = Admitted { first, last, first_seq: seq, seq, dropped: 0, duplicate: true, kept: Vec::new() };
                waiting.push(Waiting { stream, batch, admitted, reply });
            }
            Ok((stream, Verdict::Repeat(record))) => reply.answer(self.first_receipt(stream, &record)),
            Err(error) => reply.answer(Err(error)),
        }
    }

    fn admit(&mut self, session: &str, batch: &mut Batch, frame: &mut FrameBuilder, now: i64) -> Result<(Stream, Verdict), Error> {
        if let Some(reason) = &self.stopped {
            return Err(Error::Stopped { reason: reason.clone() });
        }
        if self.closing.is_some() {
            return Err(Error::Closed);
        }
        let stream = match self.load(session)? {
            Some(stream) => stream,
            None if batch.expected.is_some_and(|expected| expected > 0) => {
                let expected = batch.expected.unwrap_or_default();
                return Err(Error::Conflict { session: session.to_owned(), expected, actual: 0 });
            }
            None => self.declare(Arc::from(session), frame)?,
        };
        let storage = &self.storage;
        let mut reader = || Ok(storage.reader()?);
        let desk = self.desks.get_mut(&stream).ok_or(Error::Closed)?;
        let verdict = admit(desk, batch, frame, now, &self.shared.limits, &mut reader)?;
        Ok((stream, verdict))
    }

    /// Brings a session to a desk; `None` when the store has no such session.
    fn load(&mut self, name: &str) -> Result<Option<Stream>, Error> {
        if let Some(stream) = self.names.get(name) {
            return Ok(Some(*stream));
        }
        let name = Arc::<str>::from(name);
        let reader = self.storage.reader()?;
        let Some((stream, last)) = reader.stream(&name)? else { return Ok(None) };
        let open_epoch = self.shared.open_epoch.get();
        let desk = match last.map(Seq::get) {
            None => Desk::new(name.clone(), stream),
            Some(last) => match Desk::load(&mut AtCheckpoint(&reader), name.clone(), stream, last, open_epoch)? {
                Some(desk) => desk,
                None => Desk::refolded(&reader, name.clone(), stream, last, open_epoch)?,
            },
        };
        self.names.insert(name, stream);
        self.desks.insert(stream, desk);
        Ok(Some(stream))
    }

    fn declare(&mut self, name: Arc<str>, frame: &mut FrameBuilder) -> Result<Stream, Error> {
        let stream = self.next_stream;
        frame.declare(stream, &name)?;
        self.next_stream = stream.next();
        self.declared.push(stream);
        self.names.insert(name.clone(), stream);
        self.desks.insert(stream, Desk::new(name, stream));
        Ok(stream)
    }

    fn first_receipt(&self, stream: Stream, record: &KeyRecord) -> Result<Receipt, Error> {
        let reader = self.storage.reader()?;
        let frame = reader.frames(record.last)?.next().transpose()?;
        let entry = frame.iter().flat_map(Frame::entries).filter_map(Result::ok).find(|entry| entry.position == record.last);
        let seq = entry.filter(|entry| entry.stream == stream).map_or(0, |entry| entry.seq.get());
        Ok(Receipt {
            first: Some(record.first),
            last: Some(record.last),
            seq,
            appended: 0,
            dropped: 0,
            duplicate: true,
            durability: self.durability,
            open_epoch: self.shared.open_epoch,
        })
    }

    fn commit(&mut self, frame: FrameBuilder, waiting: &mut Vec<Waiting>) {
        let waiting = std::mem::take(waiting);
        let declared = std::mem::take(&mut self.declared);
        if frame.is_empty() {
            // A frame without events is not written, and neither are the sessions that it declares.
            for stream in declared {
                if let Some(desk) = self.desks.remove(&stream) {
                    self.names.remove(&desk.name);
                }
            }
        } else {
            let count = u64::from(frame.count());
            if let Err(error) = self.storage.append(frame, self.durability) {
                self.fail(waiting, error);
                return;
            }
            self.shared.commits.fetch_add(1, Ordering::Relaxed);
            if let Err(error) = self.publish(&waiting) {
                self.stop(&error.to_string());
            }
            self.unsaved += count;
            self.unsaved_since.get_or_insert_with(Instant::now);
            match self.durability {
                Durability::Durable => self.shared.durable.advance(self.storage.durable()),
                Durability::Buffered => {
                    self.unsynced_since.get_or_insert_with(Instant::now);
                }
            }
        }
        answer_all(waiting.into_iter().map(|Waiting { admitted, reply, .. }| {
            let receipt = Receipt {
                first: admitted.first,
                last: admitted.last,
                seq: admitted.seq,
                appended: admitted.kept.len(),
                dropped: admitted.dropped,
                duplicate: admitted.duplicate,
                durability: self.durability,
                open_epoch: self.shared.open_epoch,
            };
            (reply, Ok(receipt))
        }));
    }

    /// A commit failed: nothing of it is shown, and nothing more is taken, because it may yet turn out to be durable.
    fn fail(&mut self, waiting: Vec<Waiting>, error: turnstore_storage::Error) {
        let reason = error.to_string();
        self.stop(&reason);
        let mut first = Some(error);
        for Waiting { reply, .. } in waiting {
            let error = first.take().unwrap_or_else(|| turnstore_storage::Error::OutcomeUnknown(reason.clone().into()));
            reply.answer(Err(error.into()));
        }
    }

    fn stop(&mut self, reason: &str) {
        self.stopped.get_or_insert_with(|| reason.to_owned());
    }

    /// Folds what is durable now and shows it, all in one step.
    fn publish(&mut self, waiting: &[Waiting]) -> Result<(), Error> {
        let shared = self.shared.clone();
        let storage = self.storage.clone();
        let open = move || Ok(storage.reader()?);
        let mut rows = Rows::new(&open);
        let mut guard = shared.head.lock();
        let head = Arc::make_mut(&mut guard);
        head.next_stream = Some(self.storage.next_stream());
        let folded = waiting.iter().try_for_each(|waiting| self.fold(head, waiting, &mut rows));
        // Whatever could not be folded, what was let go of is shown again: never an empty session.
        for Waiting { stream, .. } in waiting.iter().filter(|waiting| !waiting.admitted.kept.is_empty()) {
            if let Some(desk) = self.desks.get(stream) {
                show(head, desk);
            }
        }
        folded
    }

    fn fold(&mut self, head: &mut Head, waiting: &Waiting, rows: &mut Rows<'_>) -> Result<(), Error> {
        let Waiting { stream, batch, admitted, .. } = waiting;
        if admitted.kept.is_empty() {
            return Ok(());
        }
        let (Some(desk), Some(mut position)) = (self.desks.get_mut(stream), admitted.first) else { return Ok(()) };
        release(head, *stream, &self.nothing);
        let mut seq = Seq::new(admitted.first_seq).unwrap_or(Seq::FIRST);
        for span in admitted.kept.iter().filter_map(|index| batch.spans.get(*index)) {
            let bytes = batch.bytes.get(span.range.clone()).unwrap_or_default();
            let event = event::decode(position, *stream, seq, bytes).map_err(|source| Error::Event { position, source })?;
            desk.fold_or_refold(rows, &event)?;
            head.position = Some(position);
            position = position.next();
            seq = seq.next();
        }
        Ok(())
    }

    fn show(&mut self, stream: Stream) {
        let mut guard = self.shared.head.lock();
        let head = Arc::make_mut(&mut guard);
        if let Some(desk) = self.desks.get(&stream) {
            show(head, desk);
            head.position = head.position.max(desk.last_position);
        }
    }

    fn end(&mut self) {
        if self.unsynced_since.is_some() {
            self.sync();
        }
        for (reply, _) in self.flushes.drain(..) {
            reply.answer(Err(Error::Closed));
        }
        if let Some(reply) = self.closing.take() {
            let answer = match &self.stopped {
                Some(reason) => Err(Error::Stopped { reason: reason.clone() }),
                None => Ok(self.receipt_of_head()),
            };
            reply.answer(answer);
        }
        self.shared.durable.close();
    }

    fn receipt_of_head(&self) -> Receipt {
        let last = self.storage.head();
        Receipt {
            first: None,
            last,
            seq: 0,
            appended: 0,
            dropped: 0,
            duplicate: false,
            durability: Durability::Durable,
            open_epoch: self.shared.open_epoch,
        }
    }
}

/// Lets go of a session's state in the head, so that the writer is its only owner unless a view is alive.
fn release(head: &mut Head, stream: Stream, nothing: &Arc<State>) {
    if let Some(shown) = head.sessions.get_mut(&stream) {
        shown.state = nothing.clone();
    }
}

fn show(head: &mut Head, desk: &Desk) {
    let Some(last_position) = desk.last_position else { return };
    match head.sessions.get_mut(&desk.stream) {
        Some(shown) => {
            shown.state = desk.session.state.clone();
            shown.last_position = last_position;
            shown.recorded_at = desk.recorded_at;
        }
        None => {
            let shown = Shown {
                name: desk.name.clone(),
                state: desk.session.state.clone(),
                last_position,
                recorded_at: desk.recorded_at,
                opened_seq: desk.opened_seq,
            };
            head.names.insert(desk.name.clone(), desk.stream);
            head.sessions.insert(desk.stream, shown);
        }
    }
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or(0)
}
