//! What a command prints.

use std::io::{self, BufWriter, StdoutLock, Write};

use serde::Serialize;

use crate::failure::Failure;
use crate::render::paint::Paint;

/// Stdout, buffered, and the paint for it.
pub(crate) struct Out {
    inner: BufWriter<StdoutLock<'static>>,
    pub(crate) paint: Paint,
}

impl Out {
    pub(crate) fn new() -> Self {
        Self { inner: BufWriter::with_capacity(64 << 10, io::stdout().lock()), paint: Paint::of_stdout() }
    }

    /// One JSON value on one line.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.inner, value)?;
        self.inner.write_all(b"\n")?;
        Ok(())
    }

    /// One JSON value, laid out for people.
    pub(crate) fn json_pretty(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer_pretty(&mut self.inner, value)?;
        self.inner.write_all(b"\n")?;
        Ok(())
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
