//! What the fuzz targets do with bytes.
//!
//! **Invariant:** only public entries of the crates are used; a finding is a panic.

mod adapter;
mod cursor;
mod event;
mod facts;
mod fold;
mod frame;
mod memory;

pub use adapter::adapter_aiui;
pub use cursor::cursor_decode;
pub use event::event_decode;
pub use fold::reduce;
pub use frame::frame_decode;

#[cfg(test)]
mod tests;
