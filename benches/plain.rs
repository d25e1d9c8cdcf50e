//! The floor under every durable append: one file, one write and one fdatasync for a group.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::contender::{Contender, Steps, Store};
use crate::failure::Outcome;
use crate::group::{Append, Grouped, Lines, Sink};

/// Name of the file in the contender's directory.
pub const FILE: &str = "events.jsonl";

/// A plain file of JSON lines.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Contender for Plain {
    fn name(&self) -> &'static str {
        "plain file"
    }

    fn open(&self, dir: &Path) -> Outcome<Box<dyn Store>> {
        let file = growing(&dir.join(FILE))?;
        Ok(Box::new(Grouped::start(move || Ok(Growing { file, buffer: Vec::new() }))?))
    }

    fn import(&self, dir: &Path, batches: &mut dyn Iterator<Item = (String, Steps)>) -> Outcome<()> {
        let mut file = growing(&dir.join(FILE))?;
        for (_, steps) in batches {
            file.write_all(&crate::step::lines(&steps))?;
        }
        file.sync_data()?;
        Ok(())
    }
}

/// Opens a file for appending, its directory entry synced.
pub fn growing(path: &Path) -> Outcome<File> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    if let Some(dir) = path.parent() {
        File::open(dir)?.sync_all()?;
    }
    Ok(file)
}

struct Growing {
    file: File,
    buffer: Vec<u8>,
}

impl Sink for Growing {
    const LINES: Lines = Lines::Encoded;

    fn commit(&mut self, group: &[Append]) -> Outcome<()> {
        self.buffer.clear();
        for append in group {
            self.buffer.extend_from_slice(&append.lines);
        }
        self.file.write_all(&self.buffer)?;
        self.file.sync_data()?;
        Ok(())
    }

    fn close(self) -> Outcome<()> {
        Ok(())
    }
}
