//! Rows that are harmed where they stand in the main file, as a failing disk or a foreign tool does it.

use std::path::Path;
use std::time::{Duration, Instant};

use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition, TableHandle};
use turnstore_storage::{RowKey, Storage, Stream};

/// What is wrong with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// Its bytes are not those of its checksum.
    Checksum,
    /// Its checksum is right, and it holds something else.
    Content,
    /// It is not there.
    Lost,
}

/// Harms the newest version of every row of a kind of a session; answers how many there were.
pub fn harm_rows(path: &Path, stream: Stream, kind: u8, harm: Harm) -> usize {
    match harm {
        Harm::Checksum => break_checksums(path, stream, kind),
        Harm::Content | Harm::Lost => replace(path, stream, kind, harm),
    }
}

/// A writer that was dropped goes in its own time.
fn database(path: &Path) -> Database {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match Database::open(path) {
            Err(DatabaseError::DatabaseAlreadyOpen) if Instant::now() < deadline => std::thread::yield_now(),
            opened => return opened.unwrap(),
        }
    }
}

fn break_checksums(path: &Path, stream: Stream, kind: u8) -> usize {
    let database = database(path);
    let name = {
        let reading = database.begin_read().unwrap();
        let names: Vec<String> = reading.list_tables().unwrap().map(|table| table.name().to_owned()).collect();
        names.into_iter().find(|name| name.starts_with("rows.")).unwrap()
    };
    let definition = TableDefinition::<&[u8; 29], &[u8]>::new(&name);
    let writing = database.begin_write().unwrap();
    let mut harmed = std::collections::BTreeMap::new();
    {
        let mut table = writing.open_table(definition).unwrap();
        for row in table.iter().unwrap() {
            let (key, value) = row.unwrap();
            if key.value()[..8] == stream.get().to_be_bytes() && key.value()[12] == kind {
                let mut value = value.value().to_vec();
                *value.last_mut().unwrap() ^= 0x55;
                // Versions of one row follow each other, so the newest stays.
                harmed.insert(key.value()[..21].to_vec(), (*key.value(), value));
            }
        }
        for (key, value) in harmed.values() {
            table.insert(key, value.as_slice()).unwrap();
        }
    }
    writing.commit().unwrap();
    harmed.len()
}

fn replace(path: &Path, stream: Stream, kind: u8, harm: Harm) -> usize {
    let storage = storage(path);
    let mut checkpoint = storage.begin_checkpoint(storage.checkpoint().unwrap()).unwrap();
    let rows = {
        let reader = storage.reader().unwrap();
        let of = |epoch| {
            let rows = reader.rows(stream, epoch, kind, i64::MIN..=i64::MAX, None, turnstore_storage::Direction::Forward).unwrap();
            rows.map(move |row| row.map(|(ordinal, row)| (RowKey { stream, epoch, kind, ordinal }, row)).unwrap()).collect::<Vec<_>>()
        };
        [0, 1].map(of).concat()
    };
    for (key, row) in &rows {
        match harm {
            Harm::Lost => checkpoint.delete_row(key, row.version),
            _ => {
                let reversed: Vec<u8> = row.bytes.iter().rev().map(|byte| byte ^ 0x5A).collect();
                checkpoint.delete_row(key, row.version);
                checkpoint.put_row(key, &reversed).unwrap();
            }
        }
    }
    checkpoint.commit().unwrap();
    // Not closed: a store that has a tail keeps it.
    if storage.checkpoint() == storage.head() {
        storage.close().unwrap();
    }
    rows.len()
}

/// The storage of a store whose writer is gone or just going.
pub fn storage(path: &Path) -> Storage {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        match Storage::open(path, &turnstore_storage::Options::default()) {
            Err(turnstore_storage::Error::Locked) if Instant::now() < deadline => std::thread::yield_now(),
            opened => return opened.unwrap().storage,
        }
    }
}
