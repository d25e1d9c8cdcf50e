//! The numbers that name things in a store.
//!
//! **Invariant:** positions, streams and sequences start at 1; "none yet" is `Option::None`, never 0.

use std::fmt;
use std::num::NonZeroU64;

macro_rules! counted {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(NonZeroU64);

        impl $name {
            /// The first one, number 1.
            pub const FIRST: Self = Self(NonZeroU64::MIN);

            /// The one with this number; `None` for 0, which names nothing.
            pub const fn new(number: u64) -> Option<Self> {
                match NonZeroU64::new(number) {
                    Some(number) => Some(Self(number)),
                    None => None,
                }
            }

            /// Its number, at least 1.
            pub const fn get(self) -> u64 {
                self.0.get()
            }

            /// The one after it. Saturates at `u64::MAX`, which no store reaches.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }

            /// The one `count` further on. Saturates at `u64::MAX`.
            #[must_use]
            pub const fn plus(self, count: u64) -> Self {
                Self(self.0.saturating_add(count))
            }

            /// The one before it, `None` before the first.
            pub const fn previous(self) -> Option<Self> {
                Self::new(self.0.get() - 1)
            }

            /// The one that follows `last`, which is the first one when there is no last.
            pub const fn after(last: Option<Self>) -> Self {
                match last {
                    Some(last) => last.next(),
                    None => Self::FIRST,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    };
}

counted! {
    /// A place in the whole log, gapless from 1.
    Position
}
counted! {
    /// The number of a stream: one named sequence of events within the log.
    Stream
}
counted! {
    /// A place within one stream, gapless from 1.
    Seq
}

/// The identity of a store: sixteen random bytes, drawn when it is created.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreId([u8; 16]);

impl StoreId {
    /// The identity made of these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreId({self})")
    }
}

/// How often a store has been opened for writing; it rises at every such open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpenEpoch(u64);

impl OpenEpoch {
    /// The epoch with this number; 0 is a store never opened for writing since it was made.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The epoch of the next open.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for OpenEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The hash of an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchKey(pub [u8; 16]);

/// The digest of what a batch says, by which a repeated batch is told from a different one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BatchDigest(pub [u8; 16]);

/// How a batch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchEnd {
    /// The batch's idempotency key and digest, when it has one.
    pub key: Option<(BatchKey, BatchDigest)>,
}

/// What the log remembers of a batch with an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// The batch's first position.
    pub first: Position,
    /// The batch's last position.
    pub last: Position,
    /// The digest it was appended with.
    pub digest: BatchDigest,
}
