//! Facts, folded straight and folded with everything forgotten at any moments: both give the same rows.

use std::collections::BTreeMap;

use arbitrary::Unstructured;
use turnstore::event::{Body, Event, Owner, Source};
use turnstore::fact::Fact;
use turnstore::state::{RowKind, RowRef, Session};
use turnstore::{Position, Seq, Stream};

use crate::facts::fact;

/// A session whose rows are a map.
struct Folding {
    session: Session,
    rows: BTreeMap<RowRef, Vec<u8>>,
    seq: u64,
}

impl Folding {
    fn new() -> Self {
        Self { session: Session::empty(), rows: BTreeMap::new(), seq: 0 }
    }

    fn fold(&mut self, fact: &Fact<'_>) {
        while let Some(need) = self.session.missing(fact) {
            let row = self.rows.get(&need.row).map(Vec::as_slice);
            self.session.supply(&need, row).expect("it was written by this build");
        }
        self.seq += 1;
        self.session.reduce(&Event {
            position: Position::new(self.seq).expect("above zero"),
            session: Stream::FIRST,
            seq: Seq::new(self.seq).expect("above zero"),
            recorded_at: 0,
            source: Source::default(),
            owner: Owner::UNKNOWN,
            body: Body::Fact(fact.clone()),
            ext: None,
        });
    }

    fn write(&mut self) {
        for (row, bytes) in self.session.state.changed_rows().expect("what was folded can be written") {
            self.rows.insert(row, bytes.to_vec());
        }
        for (row, bytes) in self.session.take_changed_ids() {
            self.rows.insert(row, bytes.to_vec());
        }
        self.session.written(self.seq);
    }

    fn forget(&mut self) {
        self.write();
        if let Some(header) = self.rows.get(&RowRef::HEADER) {
            self.session = Session::of_row(header).expect("it was written by this build");
        }
    }

    /// The rows of the present state. Pieces of text that nothing counts any more may stay behind.
    fn canonical(&mut self) -> BTreeMap<RowRef, Vec<u8>> {
        self.write();
        let epoch = self.session.state.header().epoch;
        let counts = |row: &RowRef| match row.kind {
            RowKind::Text | RowKind::ShelfText => false,
            RowKind::Timeline | RowKind::Ids => row.epoch == epoch,
            _ => true,
        };
        self.rows.iter().filter(|(row, _)| counts(row)).map(|(row, bytes)| (*row, bytes.clone())).collect()
    }
}

/// `bytes` are facts, each followed by what happens to the second fold.
pub fn reduce(bytes: &[u8]) {
    let mut u = Unstructured::new(bytes);
    let (mut straight, mut cut) = (Folding::new(), Folding::new());
    while !u.is_empty() && straight.seq < 400 {
        let (Ok(fact), Ok(what)) = (fact(&mut u), u.int_in_range(0..=7_u8)) else { break };
        straight.fold(&fact);
        cut.fold(&fact);
        match what {
            0 => cut.forget(),
            1 | 2 => cut.write(),
            _ => {}
        }
    }
    let (straight, cut) = (straight.canonical(), cut.canonical());
    assert!(straight.keys().eq(cut.keys()), "other rows: {:?} and {:?}", straight.keys(), cut.keys());
    for (row, bytes) in &straight {
        assert!(cut.get(row) == Some(bytes), "{row:?} differs");
    }
}
