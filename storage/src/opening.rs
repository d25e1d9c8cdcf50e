//! Opening a store for writing: creating it, finding its tail, taking up what a dead writer left.
//!
//! **Invariant:** a main file that expects a tail never opens without exactly that tail; a tail that
//! holds anything main does not is never removed.

use crate::catalog::Catalog;
use crate::database::{self, Opened as Database, contained};
use crate::files::Files;
use crate::frame::Frame;
use crate::ids::{Position, Seq, StoreId};
use crate::link::draw;
use crate::log::{Log, TailFrame};
use crate::medium::{Access, Medium, Which};
use crate::options::Options;
use crate::reader::{open_table, read_state};
use crate::state::{State, TailId, TailState};
use crate::storage::{Opened, Shared, Storage, write_state};
use crate::tables::{STATE, TAIL_FRAMES, TAIL_META};
use crate::{Error, catalog::Known};
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) fn open(path: &Path, options: &Options) -> Result<Opened, Error> {
    let medium = options.medium_at(path);
    let main = if medium.exists(Which::Main)? {
        database::open(medium.as_ref(), Which::Main, Access::Write, options)?
    } else {
        create(medium.as_ref(), options)?
    };
    let mut state = contained("main file", || read_state(&main.begin_read()?))?;
    let tail = match state.tail {
        Some(id) => expected_tail(medium.as_ref(), options, &state, id)?,
        None => fresh_tail(medium.as_ref(), options, &mut state)?,
    };
    let (held, frames) = contained("tail file", || tail_frames(&tail, &state))?;
    state.epoch = state.epoch.next();
    let files = Arc::new(Files::new(main, Some(tail)));
    files.commit(write_state(&files, &state.stored())?)?;
    let catalog = Arc::new(Catalog::new(files.clone()));
    let mut log = Log::new(state);
    log.held.extend(held);
    for (frame, bytes) in &frames {
        take_up(frame, *bytes, &mut log, &catalog)?;
    }
    log.durable = log.head;
    let shared = Shared {
        options: options.clone(),
        medium,
        files,
        catalog,
        log: Mutex::new(log),
        appending: Mutex::new(()),
        writing_main: Mutex::new(()),
        rebuilding: AtomicBool::new(false),
    };
    let tail = frames.into_iter().map(|(frame, _)| frame).collect();
    Ok(Opened { storage: Storage::new(shared), tail })
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
    let files = Files::new(draft, None);
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

/// The tail that main says it has.
fn expected_tail(medium: &dyn Medium, options: &Options, state: &State, id: TailId) -> Result<Database, Error> {
    let checkpoint = state.checkpoint;
    if !medium.exists(Which::Tail)? {
        return Err(Error::TailMissing { checkpoint });
    }
    let tail = match database::open(medium, Which::Tail, Access::Write, options) {
        Err(Error::NotAStore { what }) => {
            return Err(Error::corrupt("tail file", "", format!("it is {what}")));
        }
        tail => tail?,
    };
    let found = tail_state(&tail)?;
    if found.store != state.store {
        return Err(Error::TailForeign { expected: state.store, found: found.store });
    }
    if found.id != id {
        return Err(Error::TailBroken { checkpoint, what: "it is of another opening of the store" });
    }
    Ok(tail)
}

fn tail_state(tail: &Database) -> Result<TailState, Error> {
    let transaction = tail.begin_read()?;
    let missing = || Error::corrupt("tail", STATE, "it does not say whose tail it is");
    let table = open_table(&transaction, TAIL_META)?.ok_or_else(missing)?;
    let stored = table.get(STATE)?.ok_or_else(missing)?;
    TailState::parse(stored.value())
}

/// Makes a tail for a main file that was closed, and notes it in `state`.
fn fresh_tail(medium: &dyn Medium, options: &Options, state: &mut State) -> Result<Database, Error> {
    if medium.exists(Which::Tail)? {
        contained("tail file", || check_leftover(medium, options, state))?;
        medium.remove(Which::Tail)?;
    }
    let id = TailId(draw()?);
    let tail = database::open(medium, Which::Tail, Access::Create, options)?;
    let transaction = tail.begin_write()?;
    let stored = TailState { store: state.store, id }.stored();
    transaction.open_table(TAIL_META)?.insert(STATE, stored.as_slice())?;
    transaction.open_table(TAIL_FRAMES)?;
    transaction.commit().map_err(|error| Error::OutcomeUnknown(Box::new(error)))?;
    // Main must not expect a tail that a crash could still take away.
    medium.sync_dir()?;
    state.tail = Some(id);
    Ok(tail)
}

/// A closed store's leftover tail is what a close or an open that died did not remove or finish. One
/// that holds more than main is no such thing.
fn check_leftover(medium: &dyn Medium, options: &Options, state: &State) -> Result<(), Error> {
    let tail = match database::open(medium, Which::Tail, Access::Write, options) {
        Ok(tail) => tail,
        Err(Error::Locked) => return Err(Error::Locked),
        Err(error @ (Error::Io(_) | Error::Full(_))) => return Err(error),
        // Torn while it was being made: a tail that main knew of was whole.
        Err(_) => return Ok(()),
    };
    let Ok(found) = tail_state(&tail) else { return Ok(()) };
    let transaction = tail.begin_read()?;
    let Some(frames) = open_table(&transaction, TAIL_FRAMES)? else { return Ok(()) };
    let last = frames.range(0..=u64::MAX)?.next_back().transpose()?;
    let above = last.is_some_and(|(first, _)| Position::new(first.value()) > state.checkpoint);
    if above && found.store != state.store {
        return Err(Error::TailForeign { expected: state.store, found: found.store });
    }
    if above {
        let what = "main was closed before the tail's last frames were appended";
        return Err(Error::TailBroken { checkpoint: state.checkpoint, what });
    }
    Ok(())
}

type Sized = (Frame, u64);

/// What the tail holds: frames that main holds too, and the frames above the checkpoint.
fn tail_frames(tail: &Database, state: &State) -> Result<(Vec<TailFrame>, Vec<Sized>), Error> {
    let (mut held, mut above) = (Vec::new(), Vec::new());
    let transaction = tail.begin_read()?;
    let Some(table) = open_table(&transaction, TAIL_FRAMES)? else { return Ok((held, above)) };
    let broken = |what| Error::TailBroken { checkpoint: state.checkpoint, what };
    let (mut next, mut link) = (Position::after(state.checkpoint), state.link);
    for item in table.range(0..=u64::MAX)? {
        let (key, stored) = item?;
        let first = Position::new(key.value()).ok_or_else(|| Error::corrupt("tail", 0, "a position of zero"))?;
        let bytes = stored.value().len() as u64;
        if Some(first) <= state.checkpoint {
            // Main holds it, so that it needs no decoding, only dropping.
            held.push(TailFrame { first, last: first, bytes });
            continue;
        }
        let frame = Frame::decode(state.store, first, stored.value())?;
        if first != next {
            return Err(broken("positions do not join"));
        }
        if frame.header().before != link {
            return Err(broken("links do not join"));
        }
        next = frame.last().next();
        link = frame.header().after;
        above.push((frame, bytes));
    }
    Ok((held, above))
}

/// Counts a frame of the tail in, and learns its streams.
fn take_up(frame: &Frame, bytes: u64, log: &mut Log, catalog: &Catalog) -> Result<(), Error> {
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
            return Err(Error::TailBroken { checkpoint: log.state.checkpoint, what });
        }
        let known = Known { last: Some(span.last()), ..known };
        catalog.update(std::iter::once((span.stream, known)));
    }
    log.link = frame.header().after;
    log.append(TailFrame { first: frame.first(), last: frame.last(), bytes });
    Ok(())
}
