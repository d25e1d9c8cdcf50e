//! wip
use std::path::Path;

use crate::args::Whole;
use crate::failure::{Failure, Outcome};
use crate::out::Out;

pub(crate) fn run(_store: &Path, _args: &Whole, _out: &mut Out) -> Result<Outcome, Failure> {
    Ok(Outcome::Done)
}
