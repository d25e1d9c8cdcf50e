//! The chain over batches: `link(b) = H(link(b-1), root(b))`.
//!
//! **Invariant:** `root(b)` covers the keyed digest of each event's bytes, in order; without a
//! stream's key its events cannot be guessed from the chain, and destroying the key erases them.

/// The end of the chain after some batch. The empty log's link is all zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Link(pub(crate) [u8; 32]);

/// The secret under which a stream's events are digested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct DigestKey(pub(crate) [u8; 32]);

impl DigestKey {
    /// A fresh one, from the operating system's randomness.
    pub(crate) fn draw() -> Result<Self, crate::Error> {
        draw().map(Self)
    }
}

impl std::fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DigestKey(..)")
    }
}

/// Random bytes of the operating system.
pub(crate) fn draw<const N: usize>() -> Result<[u8; N], crate::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| crate::Error::Io(std::io::Error::other(error)))?;
    Ok(bytes)
}

/// The chain as it grows.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    link: Link,
    root: blake3::Hasher,
}

impl Chain {
    pub(crate) fn from(link: Link) -> Self {
        Self { link, root: blake3::Hasher::new() }
    }

    /// Adds one event to the batch that is open.
    pub(crate) fn event(&mut self, key: &DigestKey, bytes: &[u8]) {
        self.root.update(blake3::keyed_hash(&key.0, bytes).as_bytes());
    }

    /// Ends the open batch.
    pub(crate) fn end(&mut self) {
        let mut next = blake3::Hasher::new();
        next.update(&self.link.0);
        next.update(self.root.finalize().as_bytes());
        self.link = Link(*next.finalize().as_bytes());
        self.root.reset();
    }

    pub(crate) fn link(&self) -> Link {
        self.link
    }
}
