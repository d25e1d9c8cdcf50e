//! turnstore: an embedded, event-sourced session store for agent hosts.

pub mod fact;
