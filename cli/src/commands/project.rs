//! `project`: a recording in the protocol's own message shape, without a store.
