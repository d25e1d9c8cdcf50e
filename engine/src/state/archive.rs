//! Archived rows in memory: aligned once, validated once, shared.
//!
//! **Invariant:** an archive that exists has been validated whole, so that reading it cannot fail.

use std::fmt;
use std::sync::Arc;

use rkyv::util::AlignedVec;
use yoke::Yoke;

use super::entry::{ArchivedPage, Entry, Page};
use super::header::{ArchivedHeader, Header};
use super::rows::{BadRow, RowKind, RowRef, write_header, write_page};

macro_rules! archive {
    ($(#[$doc:meta])* $name:ident $archived:ty, $native:ty, $write:ident) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name(Yoke<&'static $archived, Arc<AlignedVec>>);

        impl $name {
            /// Takes in the bytes of a row. Cost: one validation; nothing is decoded then or later.
            pub fn new(row: RowRef, bytes: AlignedVec) -> Result<Self, BadRow> {
                Yoke::try_attach_to_cart(Arc::new(bytes), |bytes| rkyv::access::<$archived, rkyv::rancor::Error>(bytes))
                    .map(Self)
                    .map_err(|e| BadRow::new(row, e))
            }

            /// Archives a value in memory.
            pub fn of(row: RowRef, value: &$native) -> Result<Self, BadRow> {
                Self::new(row, $write(value))
            }

            /// The archived value, read in place.
            pub fn get(&self) -> &$archived {
                self.0.get()
            }

            /// The row's bytes.
            pub fn bytes(&self) -> &[u8] {
                self.0.backing_cart()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("bytes", &self.bytes().len()).finish()
            }
        }
    };
}

archive! {
    /// A page of entries, readable in place.
    PageArchive ArchivedPage, Page, write_page
}
archive! {
    /// A session's header, readable in place.
    HeaderArchive ArchivedHeader, Header, write_header
}

impl PageArchive {
    /// Its entries, copied out of the archive.
    pub(crate) fn entries(&self) -> Result<Vec<Option<Entry>>, BadRow> {
        let page = rkyv::deserialize::<Page, rkyv::rancor::Error>(self.get());
        page.map(|page| page.entries).map_err(|error| BadRow { kind: RowKind::Timeline, ordinal: 0, what: error.to_string() })
    }
}
