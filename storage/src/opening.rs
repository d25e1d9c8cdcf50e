//! Opening a store for writing: creating it, finding its tail, taking up what a dead writer left.
//!
//! **Invariant:** a main file that expects a tail never opens without exactly that tail; a tail that
//! holds anything main does not is never removed.

use crate::catalog::{Catalog, Known};
use crate::database::{self, Opened as Database, contained, name};
use crate::files::Files;
use crate::frame::Frame;
use crate::ids::{Position, Seq, StoreId};
use crate::link::draw;
use crate::log::{Log, TailFrame};
use crate::medium::{Access, Medium, Which};
use crate::options::Options;
use crate::reader::read_state;
use crate::state::{State, TailId};
use crate::stats::file_bytes;
use crate::storage::{Opened, Shared, Storage, write_state};
use crate::tail::{self, TailFile};
use crate::tail_record::record_bytes;
use crate::{Error, tail_scan};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) fn open(path: &Path, options: &Options) -> Result<Opened, Error> {
    let medium = options.medium_at(path);
    // The opening itself may let the file grow. What cannot be measured cannot be opened either, which says why.
    let opened_bytes = file_bytes(medium.as_ref(), Which::Main).unwrap_or(0);
    let main = if medium.exists(Which::Main)? {
        database::open(medium.as_ref(), Which::Main, Access::Write, options)?
    } else {
        create(medium.as_ref(), options)?
    };
    let mut state = contained("main file", || read_state(&main.begin_read()?))?;
    let (tail, frames) = match state.tail {
        Some(id) => expected_tail(medium.as_ref(), options, &state, id)?,
        None => (fresh_tail(medium.as_ref(), options, &mut state)?, Vec::new()),
    };
    state.epoch = state.epoch.next();
    let files = Arc::new(Files::new(main));
    files.commit(write_state(&files, &state.stored())?)?;
    let catalog = Arc::new(Catalog::new(files.clone()));
    let mut log = Log::new(state);
    for frame in &frames {
        take_up(frame, &mut log, &catalog)?;
        files.publish(frame.clone());
    }
    log.durable = log.head;
    let shared = Shared {
        opened_bytes,
        opened_checkpoint: state.checkpoint,
        options: options.clone(),
        medium,
        files,
        catalog,
        log: Mutex::new(log),
        tail: Mutex::new(Some(tail)),
        writing_main: Mutex::new(()),
        rebuilding: AtomicBool::new(false),
    };
    Ok(Opened { storage: Storage::new(shared), tail: frames })
}

/// Makes a main file under another name, and publishes it once it is whole: so a main file that is
/// there was a store once, and anything less is damage.
fn create(medium: &dyn Medium, options: &Options) -> Result<Database, Error> {
    let draft = match database::open(medium, Which::Draft, Access::Create, options) {
        Ok(draft) => draft,
        Err(Error::Locked) => return Err(Error::Locked),
        Err(_) => {
            // What another creation left that died half-way.
            medium.remove(Which::Draft)?;
            database::open(medium, Which::Draft, Access::Create, options)?
        }
    };
    let state = State::new(StoreId::from_bytes(draw()?));
    let files = Files::new(draft);
    files.commit(write_state(&files, &state.stored())?)?;
    match medium.publish() {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Error::Locked);
        }
        published => published?,
    }
    medium.sync_dir()?;
    files.take_main().ok_or(Error::Poisoned)
}

/// The tail that main says it has, and its frames above the checkpoint.
fn expected_tail(medium: &dyn Medium, options: &Options, state: &State, id: TailId) -> Result<(TailFile, Vec<Frame>), Error> {
    let checkpoint = state.checkpoint;
    if !medium.exists(Which::Tail)? {
        return Err(Error::TailMissing { checkpoint });
    }
    let backend = medium.open(Which::Tail, Access::Write)?;
    tail::lock(backend.as_ref())?;
    let newest = tail_scan::newest_header(backend.as_ref())?;
    let (header, slot) = newest.ok_or_else(|| Error::corrupt(name(Which::Tail), "", "it does not say whose tail it is"))?;
    if header.store != state.store {
        return Err(Error::TailForeign { expected: state.store, found: header.store });
    }
    if header.id != id {
        return Err(Error::TailBroken { checkpoint, at: Position::after(checkpoint), what: "it is of another opening of the store" });
    }
    let scan = tail_scan::scan(backend.as_ref(), header, state)?;
    let mut tail = TailFile::found(backend, header, slot, options.tail_rotate_bytes_max)?;
    (tail.marks, tail.end) = (scan.marks, scan.end);
    tail.settle(scan.unsynced_at, &scan.remnants)?;
    Ok((tail, scan.frames))
}

/// Makes a tail for a main file that was closed, and notes it in `state`.
fn fresh_tail(medium: &dyn Medium, options: &Options, state: &mut State) -> Result<TailFile, Error> {
    if medium.exists(Which::Tail)? {
        check_leftover(medium, state)?;
        medium.remove(Which::Tail)?;
    }
    let id = TailId(draw()?);
    let backend = medium.open(Which::Tail, Access::Create)?;
    tail::lock(backend.as_ref())?;
    let tail = TailFile::create(backend, state.store, id, options.tail_rotate_bytes_max)?;
    // Main must not expect a tail that a crash could still take away.
    medium.sync_dir()?;
    state.tail = Some(id);
    Ok(tail)
}

/// A closed store's leftover tail is what a close or an open that died did not remove or finish. One
/// that holds more than main is no such thing.
fn check_leftover(medium: &dyn Medium, state: &State) -> Result<(), Error> {
    let backend = medium.open(Which::Tail, Access::Read)?;
    // Without a header it was torn while it was being made: a tail that main knew of was whole.
    let Some((header, _)) = tail_scan::newest_header(backend.as_ref())? else { return Ok(()) };
    if !tail_scan::goes_beyond(backend.as_ref(), header, state.checkpoint)? {
        return Ok(());
    }
    if header.store != state.store {
        return Err(Error::TailForeign { expected: state.store, found: header.store });
    }
    let what = "main was closed before the tail's last frames were appended";
    Err(Error::TailBroken { checkpoint: state.checkpoint, at: Position::after(state.checkpoint), what })
}

/// Counts a frame of the tail in, and learns its streams.
fn take_up(frame: &Frame, log: &mut Log, catalog: &Catalog) -> Result<(), Error> {
    for declared in frame.declarations() {
        log.next_stream = log.next_stream.max(declared.stream.next());
        let known = Known { key: declared.key, last: None };
        catalog.update(std::iter::once((declared.stream, known)));
    }
    for span in frame.streams() {
        let known = catalog
            .known(span.stream)?
            .ok_or_else(|| Error::corrupt("tail", frame.first(), "events of a stream that was never declared"))?;
        if span.first != Seq::after(known.last) {
            let what = "the seqs of a stream do not join";
            return Err(Error::TailBroken { checkpoint: log.state.checkpoint, at: frame.first(), what });
        }
        let known = Known { last: Some(span.last()), ..known };
        catalog.update(std::iter::once((span.stream, known)));
    }
    log.link = frame.header().after;
    log.append(TailFrame { last: frame.last(), bytes: record_bytes(frame) });
    Ok(())
}
