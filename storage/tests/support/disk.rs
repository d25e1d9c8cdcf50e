//! A disk in memory that loses what was not synced.
//!
//! One clock counts every change of every file and of the directory. At a set tick the power goes:
//! that operation and all later ones fail. [`Disk::reboot`] then decides, by seed, what of the
//! unsynced survived. Survivable faults, per file: any subset of the writes and length changes since
//! the file's last sync, each write torn into sectors of 512 bytes, any subset of which survives.
//! For the directory: any prefix of the creations, removals and renames since its last sync.
//! What was synced is never lost, and sectors are never half-written.

use super::Dice;
use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard};
use turnstore_storage::{Access, BackendError, Medium, StorageBackend, Which};

const SECTOR: usize = 512;
/// Where the records of a tail begin.
const FRONT: usize = 8192;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Read,
    Write,
    /// Of the tail: a header slot, or the sync after it.
    WriteHeader,
    SyncHeader,
    /// Of the tail: what is needed, back to the front; or the sync after it.
    WriteCopy,
    SyncCopy,
    SetLen,
    Sync,
    Create,
    Remove,
    Publish,
    SyncDir,
}

/// A sync that reports success and does nothing: what a canary must be caught at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    None,
    MainSync,
    TailSync,
    CopySync,
    DirSync,
}

/// Where the power went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crash {
    pub kind: Kind,
    pub which: Option<Which>,
}

#[derive(Debug)]
enum Op {
    Write(usize, Vec<u8>),
    SetLen(usize),
}

#[derive(Debug, Default)]
struct FileState {
    durable: Vec<u8>,
    current: Vec<u8>,
    pending: Vec<Op>,
    /// Where the last record was written since the last header, and what the last write was.
    record_at: usize,
    wrote: Option<Kind>,
}

impl FileState {
    /// What a write to the tail is.
    fn write_kind(&mut self, at: usize) -> Kind {
        let kind = match at {
            0..FRONT => Kind::WriteHeader,
            FRONT if self.record_at > FRONT => Kind::WriteCopy,
            _ => Kind::Write,
        };
        self.record_at = if kind == Kind::WriteHeader { 0 } else { at };
        self.wrote = Some(kind);
        kind
    }

    fn sync_kind(&self) -> Kind {
        match self.wrote {
            Some(Kind::WriteHeader) => Kind::SyncHeader,
            Some(Kind::WriteCopy) => Kind::SyncCopy,
            _ => Kind::Sync,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum DirOp {
    Create(Which, usize),
    Remove(Which),
    Publish,
}

type Names = BTreeMap<Which, usize>;

fn apply_dir(names: &mut Names, op: DirOp) {
    match op {
        DirOp::Create(which, file) => drop(names.insert(which, file)),
        DirOp::Remove(which) => drop(names.remove(&which)),
        DirOp::Publish => {
            let file = names.remove(&Which::Draft).unwrap();
            names.insert(Which::Main, file);
        }
    }
}

fn apply(content: &mut Vec<u8>, op: &Op) {
    match op {
        Op::Write(at, bytes) => write_at(content, *at, bytes),
        Op::SetLen(len) => content.resize(*len, 0),
    }
}

fn write_at(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if content.len() < at + bytes.len() {
        content.resize(at + bytes.len(), 0);
    }
    content[at..at + bytes.len()].copy_from_slice(bytes);
}

#[derive(Debug)]
struct State {
    files: Vec<FileState>,
    names: Names,
    durable_names: Names,
    pending_names: Vec<DirOp>,
    clock: u64,
    crash_at: u64,
    crash_on: Option<Kind>,
    crashed: Option<Crash>,
    /// The tick at which one operation fails, and only that one. Reads tick too then.
    fail_at: Option<u64>,
    failed: Option<Crash>,
    lie: Lie,
    /// No file may grow.
    full: bool,
}

impl State {
    /// Which name a file has now.
    fn which(&self, file: usize) -> Option<Which> {
        self.names.iter().find(|(_, named)| **named == file).map(|(which, _)| *which)
    }

    /// Counts a change. `Err` when the power is gone; at the tick itself the change is still noted.
    fn tick(&mut self, kind: Kind, which: Option<Which>) -> Tick {
        if self.crashed.is_some() {
            return Tick::Refuse(io::Error::other("the power is gone"));
        }
        self.clock += 1;
        if self.fail_at == Some(self.clock) {
            self.failed = Some(Crash { kind, which });
            return Tick::Refuse(io::Error::other("this operation fails"));
        }
        let now = self.clock >= self.crash_at || self.crash_on == Some(kind);
        if now && kind != Kind::Read {
            self.crashed = Some(Crash { kind, which });
            return Tick::Last(io::Error::other("the power goes"));
        }
        Tick::Go
    }
}

enum Tick {
    Go,
    /// The change happens, unsynced, and the power goes.
    Last(io::Error),
    Refuse(io::Error),
}

impl Tick {
    fn result(self) -> io::Result<()> {
        match self {
            Self::Go => Ok(()),
            Self::Last(error) | Self::Refuse(error) => Err(error),
        }
    }

    fn happens(&self) -> bool {
        !matches!(self, Self::Refuse(_))
    }
}

/// The disk. Clones are the same disk.
#[derive(Clone, Debug)]
pub struct Disk(Arc<Mutex<State>>);

impl Disk {
    pub fn new(lie: Lie) -> Self {
        Self(Arc::new(Mutex::new(State {
            files: Vec::new(),
            names: Names::new(),
            durable_names: Names::new(),
            pending_names: Vec::new(),
            clock: 0,
            crash_at: u64::MAX,
            crash_on: None,
            crashed: None,
            fail_at: None,
            failed: None,
            lie,
            full: false,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The power goes at the n-th change from now.
    pub fn crash_in(&self, ticks: u64) {
        let mut state = self.state();
        state.crash_at = state.clock + ticks.max(1);
    }

    /// The power goes at the next change of this kind.
    pub fn crash_on(&self, kind: Kind) {
        self.state().crash_on = Some(kind);
    }

    pub fn crash_never(&self) {
        let mut state = self.state();
        (state.crash_at, state.crash_on) = (u64::MAX, None);
    }

    /// The n-th operation from now fails, reads included, and only that one.
    pub fn fail_in(&self, ticks: u64) {
        let mut state = self.state();
        state.fail_at = Some(state.clock + ticks);
    }

    pub fn fail_never(&self) {
        let mut state = self.state();
        state.fail_at = None;
        state.failed = None;
    }

    /// From now on no file may grow.
    pub fn fill_up(&self) {
        self.state().full = true;
    }

    pub fn space_again(&self) {
        self.state().full = false;
    }

    pub fn failed(&self) -> Option<Crash> {
        self.state().failed
    }

    pub fn crashed(&self) -> Option<Crash> {
        self.state().crashed
    }

    /// Power is back: decides what survived, and makes that all there is.
    pub fn reboot(&self, dice: &mut Dice) {
        let mut state = self.state();
        let mode = dice.below(4);
        let kept = match mode {
            0 => state.pending_names.len(),
            1 => 0,
            _ => dice.below(state.pending_names.len() as u64 + 1) as usize,
        };
        let mut names = state.durable_names.clone();
        for op in state.pending_names.drain(..kept).collect::<Vec<_>>() {
            apply_dir(&mut names, op);
        }
        state.pending_names.clear();
        for file in &mut state.files {
            // Each file fares by itself: one may keep all, the other nothing.
            let mode = if mode < 2 { mode } else { dice.below(5) };
            let mut content = std::mem::take(&mut file.durable);
            for op in file.pending.drain(..) {
                survive(&mut content, &op, mode, dice);
            }
            file.current.clone_from(&content);
            file.durable = content;
        }
        for (file, content) in state.files.iter_mut().enumerate() {
            if !names.values().any(|named| *named == file) {
                *content = FileState::default();
            }
        }
        state.durable_names.clone_from(&names);
        state.names = names;
        state.crashed = None;
        (state.crash_at, state.crash_on) = (u64::MAX, None);
    }
}

/// What of one unsynced change survives. Modes: 0 all, 1 none, 2 half, 3 most but torn, 4 few.
fn survive(content: &mut Vec<u8>, op: &Op, mode: u64, dice: &mut Dice) {
    let lost = match mode {
        0 => false,
        1 => true,
        2 => dice.one_in(2),
        3 => dice.one_in(8),
        _ => !dice.one_in(4),
    };
    if lost {
        return;
    }
    match op {
        Op::Write(at, bytes) if mode >= 2 && dice.one_in(3) => {
            let (mut at, mut left) = (*at, bytes.as_slice());
            while !left.is_empty() {
                let (sector, rest) = left.split_at(left.len().min(SECTOR - at % SECTOR));
                if dice.one_in(2) {
                    write_at(content, at, sector);
                }
                at += sector.len();
                left = rest;
            }
        }
        op => apply(content, op),
    }
}

impl Medium for Disk {
    fn exists(&self, which: Which) -> io::Result<bool> {
        let state = self.state();
        if state.crashed.is_some() {
            return Err(io::Error::other("the power is gone"));
        }
        Ok(state.names.contains_key(&which))
    }

    fn open(&self, which: Which, access: Access) -> io::Result<Box<dyn StorageBackend>> {
        let mut state = self.state();
        let file = match (state.names.get(&which), access) {
            (Some(file), _) => *file,
            (None, Access::Create) => {
                let tick = state.tick(Kind::Create, Some(which));
                if tick.happens() {
                    state.files.push(FileState::default());
                    let op = DirOp::Create(which, state.files.len() - 1);
                    apply_dir(&mut state.names, op);
                    state.pending_names.push(op);
                }
                tick.result()?;
                state.files.len() - 1
            }
            (None, _) => return Err(io::Error::from(io::ErrorKind::NotFound)),
        };
        (state.files[file].record_at, state.files[file].wrote) = (0, None);
        Ok(Box::new(Backend { disk: self.clone(), file }))
    }

    fn remove(&self, which: Which) -> io::Result<()> {
        let mut state = self.state();
        if !state.names.contains_key(&which) {
            return Ok(());
        }
        let tick = state.tick(Kind::Remove, Some(which));
        if tick.happens() {
            apply_dir(&mut state.names, DirOp::Remove(which));
            state.pending_names.push(DirOp::Remove(which));
        }
        tick.result()
    }

    fn publish(&self) -> io::Result<()> {
        let mut state = self.state();
        if state.names.contains_key(&Which::Main) {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists));
        }
        let tick = state.tick(Kind::Publish, Some(Which::Draft));
        if tick.happens() {
            apply_dir(&mut state.names, DirOp::Publish);
            state.pending_names.push(DirOp::Publish);
        }
        tick.result()
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut state = self.state();
        state.tick(Kind::SyncDir, None).result()?;
        if state.lie != Lie::DirSync {
            state.durable_names = state.names.clone();
            state.pending_names.clear();
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Backend {
    disk: Disk,
    file: usize,
}

impl Backend {
    fn change(&self, op: Op) -> io::Result<()> {
        let mut state = self.disk.state();
        let which = state.which(self.file);
        let kind = match &op {
            Op::SetLen(_) => Kind::SetLen,
            Op::Write(at, _) if which == Some(Which::Tail) => state.files[self.file].write_kind(*at),
            Op::Write(..) => Kind::Write,
        };
        let length = state.files[self.file].current.len();
        let wanted = match &op {
            Op::SetLen(len) => *len,
            Op::Write(at, bytes) => at + bytes.len(),
        };
        if state.full && wanted > length {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let tick = state.tick(kind, which);
        if tick.happens() {
            let file = &mut state.files[self.file];
            apply(&mut file.current, &op);
            file.pending.push(op);
        }
        tick.result()
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state().files[self.file].current.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.disk.state();
        if state.fail_at.is_some() {
            let which = state.which(self.file);
            state.tick(Kind::Read, which).result()?;
        }
        if state.crashed.is_some() {
            return Err(io::Error::other("the power is gone"));
        }
        let content = &state.files[self.file].current;
        let end = offset as usize + out.len();
        let read = content.get(offset as usize..end);
        out.copy_from_slice(read.ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(Op::SetLen(len as usize))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        let which = state.which(self.file);
        let kind = if which == Some(Which::Tail) { state.files[self.file].sync_kind() } else { Kind::Sync };
        state.tick(kind, which).result()?;
        let lies = match which {
            Some(Which::Main) => state.lie == Lie::MainSync,
            Some(Which::Tail) => state.lie == Lie::TailSync || (state.lie == Lie::CopySync && kind == Kind::SyncCopy),
            _ => false,
        };
        if !lies {
            let FileState { durable, pending, .. } = &mut state.files[self.file];
            for op in pending.drain(..) {
                apply(durable, &op);
            }
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(Op::Write(offset as usize, data.to_vec()))
    }

    fn try_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn try_lock_shared_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }

    fn lock_shared_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }

    fn unlock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }

    fn query_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(false)
    }
}
