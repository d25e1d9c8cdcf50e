//! Every contender on the same generated agent trace, in one run: what the program `compare` is made of.
//!
//! | module | owns |
//! |---|---|
//! | [`random`], [`words`], [`step`], [`trace`] | the seeded trace and its JSON lines |
//! | [`contender`], [`subject`] | what a contender, and turnstore beyond that, must be able to do |
//! | [`group`] | the writer thread that hosts put before stores without group commit |
//! | [`plain`], [`sqlite`], [`salamander`] | the peers |
//! | [`turnstore`](mod@turnstore) | the one file that meets the engine |
//! | [`client`] | the official AG-UI client, where Node is |
//! | [`setting`], [`fixture`], [`child`], [`round`] | a run: sizes, stores, processes, producers |
//! | [`rows`] | one module for each measure |
//! | [`bar`], [`sample`], [`machine`], [`table`] | what is measured and how it is shown |
//! | [`failure`] | the error of this package |

pub mod random;
pub mod step;
pub mod trace;
pub mod words;

pub mod contender;
pub mod group;
pub mod plain;
pub mod salamander;
pub mod sqlite;
pub mod subject;
pub mod turnstore;

pub mod child;
pub mod client;
pub mod fixture;
pub mod round;
pub mod rows;
pub mod setting;

pub mod bar;
pub mod failure;
pub mod machine;
pub mod sample;
pub mod table;
