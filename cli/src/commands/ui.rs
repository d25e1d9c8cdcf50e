//! `ui`: UI-only state of a session.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use crate::args::Ui;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use crate::render::text;

use super::{must_exist, open_reading, open_writing};

pub(crate) fn run(store: &Path, args: &Ui, out: &mut Out) -> Result<Outcome, Failure> {
    if let Some(key) = args.key.as_deref().filter(|_| args.remove || args.value.is_some()) {
        must_exist(store)?;
        let engine = open_writing(store)?;
        engine.put_ui(&args.session, &[(key, args.value.as_deref())])?;
        engine.close()?;
        return Ok(Outcome::Done);
    }
    let view = open_reading(store)?.view;
    let values = match &args.key {
        Some(key) => view.ui(&args.session, key)?.map(|value| (key.clone(), value)).into_iter().collect(),
        None => view.ui_values(&args.session)?,
    };
    if args.json {
        let all: serde_json::Map<_, _> = values.into_iter().map(|(key, value)| (key, json!(value))).collect();
        out.json(&all)?;
        return Ok(Outcome::Done);
    }
    for (key, value) in values {
        writeln!(out, "{}  {}", text::one_line(&key), text::one_line(&value))?;
    }
    Ok(Outcome::Done)
}
