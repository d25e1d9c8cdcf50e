//! `verify`: everything folded aside and compared with what is stored.

use std::io::Write;
use std::path::Path;

use serde_json::json;

use crate::args::Whole;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use crate::render::{number, text};

use super::{events_bar, open_reading};

pub(crate) fn run(store: &Path, args: &Whole, out: &mut Out) -> Result<Outcome, Failure> {
    let reading = open_reading(store)?;
    let bar = events_bar(reading.view.position(), "verified");
    let verified = reading.view.verify(&mut |events| bar.set_position(events))?;
    bar.finish_and_clear();
    let outcome = if verified.difference.is_some() { Outcome::Differs } else { Outcome::Done };
    if args.json {
        let difference = verified.difference.as_ref().map(|difference| {
            json!({
                "session": difference.session,
                "place": difference.place,
                "saved": difference.saved,
                "folded": difference.folded,
            })
        });
        out.json_pretty(&json!({ "sessions": verified.sessions, "events": verified.events, "difference": difference }))?;
        return Ok(outcome);
    }
    if let Some(difference) = &verified.difference {
        writeln!(out, "session {}: {} differs", text::one_line(&difference.session), text::one_line(&difference.place))?;
        writeln!(out, "  stored  {}", text::clip(&text::one_line(&difference.saved), 160))?;
        writeln!(out, "  folded  {}", text::clip(&text::one_line(&difference.folded), 160))?;
        writeln!(out, "`turnstore rebuild` makes what is stored anew from the log")?;
    } else {
        writeln!(
            out,
            "{} of {} folded again: everything stored is what the log says",
            number::of(verified.events, "event"),
            number::of(verified.sessions, "session")
        )?;
    }
    Ok(outcome)
}
