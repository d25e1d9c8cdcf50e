//! turnstore: an embedded, event-sourced session store for agent hosts.

pub mod adapter;
pub mod event;
pub mod fact;
mod index;
pub mod state;
