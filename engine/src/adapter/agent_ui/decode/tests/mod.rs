mod folded;
mod hostile;
mod round_trip;
mod table;

use super::super::encode::encode_stated;
use super::*;

/// The facts of each of the events, decoded as one session.
fn decoded<'a>(lines: &[&'a str]) -> Vec<Vec<Stated<'a>>> {
    let mut decoder = Decoder::new();
    lines
        .iter()
        .map(|line| {
            let mut out = Vec::new();
            decoder.decode(line, &mut out);
            out
        })
        .collect()
}

/// The codes that events give, in order.
fn codes(lines: &[&str]) -> Vec<String> {
    let facts = decoded(lines).into_iter().flatten();
    facts.filter_map(|stated| if let Fact::DiagnosticNoted(noted) = stated.fact { Some(noted.code.into_owned()) } else { None }).collect()
}

/// The facts of one event without what was noted about it.
fn facts(line: &str) -> Vec<Fact<'_>> {
    let all = decoded(&[line]).remove(0).into_iter().map(|stated| stated.fact);
    all.filter(|fact| !matches!(fact, Fact::DiagnosticNoted(_))).collect()
}

/// Whether the events come back equal by value.
#[track_caller]
fn comes_back(lines: &[&str]) {
    for (line, facts) in lines.iter().zip(decoded(lines)) {
        let back = encode_stated(&facts).unwrap();
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&back), value(line), "{facts:?}");
    }
}
