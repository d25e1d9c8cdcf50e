//! `hash`: the canonical state hash of a session.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use crate::args::OfSession;
use crate::failure::{Failure, Outcome};
use crate::out::Out;

use super::{at_session, open_reading};

pub(crate) fn run(store: &Path, args: &OfSession, out: &mut Out) -> Result<Outcome, Failure> {
    let reading = open_reading(store)?;
    let view = &reading.view;
    let hash = view.hash(&args.session).map_err(|error| at_session(error.into(), &args.session))?;
    if args.json {
        out.json(&json!({ "session": args.session, "hash": hash.to_string() }))?;
    } else {
        writeln!(out, "{hash}")?;
    }
    Ok(Outcome::Done)
}
