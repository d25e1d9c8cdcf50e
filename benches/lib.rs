//! Placeholder target so that the package builds before its files exist.
