//! One module for each command.

pub(crate) mod artifacts;
pub(crate) mod events;
pub(crate) mod hash;
pub(crate) mod import;
pub(crate) mod pending;
pub(crate) mod project;
pub(crate) mod rebuild;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod verify;
