//! Recordings into sessions.
//!
//! **Invariant:** every source event has one number in its recording and is appended under it, whole or not at all; what is stored
//! already is compared and not appended again. Memory is bounded by a few chunks of lines.
//!
//! | part | does |
//! |---|---|
//! | [`recording`] | a file as chunks of numbered lines, and the thread that it names |
//! | [`prefix`] | what the store holds of a recording, compared with what the recording says |
//! | [`lane`] | one recording on its way into one session |
//! | [`noted`] | what folding noted about it |
//! | [`tally`] | what came of it |

pub(crate) mod lane;
pub(crate) mod noted;
pub(crate) mod prefix;
pub(crate) mod recording;
pub(crate) mod tally;
