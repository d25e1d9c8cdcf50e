//! Every contender on the same generated agent trace, in one run: what the program `compare` is made of.
//!
//! | module | owns |
//! |---|---|
//! | [`trace`], [`step`], [`words`], [`random`] | the seeded trace and its JSON lines |
//! | [`failure`] | the error of this package |

pub mod bar;
pub mod contender;
pub mod failure;
pub mod group;
pub mod plain;
pub mod random;
pub mod round;
pub mod rows;
pub mod salamander;
pub mod sample;
pub mod setting;
pub mod sqlite;
pub mod step;
pub mod subject;
pub mod trace;
pub mod words;
