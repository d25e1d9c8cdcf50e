//! Checking a whole log.
//!
//! **Invariant:** a log passes when every frame decodes, positions and seqs have no gap, and every
//! link that a frame states is the one computed from the events before it.

use crate::Error;
use crate::frame::{FLAG_AFTER_UNKNOWN, FLAG_BEFORE_UNKNOWN};
use crate::ids::{Position, Seq, Stream};
use crate::link::{Chain, Link};
use crate::reader::Reader;
use std::collections::HashMap;

pub(crate) fn log(reader: &Reader) -> Result<u64, Error> {
    let mut keys = reader.digest_keys()?;
    let mut chain = Chain::from(Link::default());
    let mut seqs: HashMap<Stream, Seq> = HashMap::new();
    let mut next = Position::FIRST;
    for frame in reader.frames(Position::FIRST)? {
        let frame = frame?;
        let damaged = |what: &str| Error::corrupt("frames", frame.first(), what);
        let header = frame.header();
        if frame.first() != next {
            return Err(damaged("positions do not join"));
        }
        if header.flags & FLAG_BEFORE_UNKNOWN == 0 && header.before != chain.link() {
            return Err(damaged("the link before is not that of the events before"));
        }
        keys.extend(frame.declarations().map(|declared| (declared.stream, declared.key)));
        for entry in frame.entries() {
            let entry = entry?;
            let key = keys.get(&entry.stream).ok_or_else(|| damaged("an undeclared stream"))?;
            if entry.seq != Seq::after(seqs.insert(entry.stream, entry.seq)) {
                return Err(damaged("the seqs of a stream do not join"));
            }
            chain.event(key, entry.bytes);
            if entry.batch_end.is_some() {
                chain.end();
            }
        }
        if header.flags & FLAG_AFTER_UNKNOWN == 0 && header.after != chain.link() {
            return Err(damaged("the link after is not that of its events"));
        }
        next = frame.last().next();
    }
    if next != Position::after(reader.head()?) {
        return Err(Error::corrupt("frames", next, "the log ends before its head"));
    }
    Ok(next.get() - 1)
}
