//! Deliveries that come again within a recording, as after a reconnect.
//!
//! **Invariant:** a repeat is told from the recording alone, in order, so that reading it again tells the same. What is dropped here is
//! what the engine drops when a host appends the events as they arrive.
//!
//! | an event has | it is a repeat when |
//! |---|---|
//! | a sequence of its own | it is not above the highest of its stream |
//! | an id of its own | one of the last events had that id |
//! | an id of the transport | one of the last events had that id and the same text: some servers give all events of a run one id |

use std::collections::{BTreeMap, VecDeque};

use turnstore::adapter::check::REPEATED_DELIVERY;
use turnstore::adapter::source::Raw;
use turnstore::event::{Source, Stated};
use turnstore::fact::{DiagnosticNoted, Fact, Text};

/// Ids that are remembered: as many as the engine does.
const IDS_MAX: usize = 4096;

/// What the recording has given so far.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    streams: BTreeMap<String, u64>,
    ids: BTreeMap<String, blake3::Hash>,
    order: VecDeque<String>,
}

impl Repeats {
    /// Takes in the facts of the next event, with the stream that its protocol gave it. Those of a repeat give way to a diagnostic that
    /// holds the event.
    pub(crate) fn take<'a>(&mut self, raw: Raw<'a>, facts: &mut Vec<Stated<'a>>, from: usize) {
        let own = facts.get(from..).unwrap_or_default();
        // What is kept as it came says nothing twice.
        let says_something = own.iter().any(|stated| !matches!(stated.fact, Fact::DiagnosticNoted(_)));
        let Some(first) = own.first().filter(|_| says_something) else { return };
        let Some(detail) = self.repeats(raw, &first.source) else { return };
        let fact = DiagnosticNoted {
            code: Text::Borrowed(REPEATED_DELIVERY),
            detail: Some(Text::Owned(detail)),
            raw: Some(Text::Borrowed(raw.text)),
        };
        let source = Source { protocol: first.source.protocol, event_id: first.source.event_id.clone(), ..Source::default() };
        facts.truncate(from);
        facts.push(Stated { source, ..Stated::from(Fact::DiagnosticNoted(fact)) });
    }

    fn repeats(&mut self, raw: Raw<'_>, source: &Source<'_>) -> Option<String> {
        if let Some((stream, sequence)) = &source.stream {
            return match self.streams.get_mut(stream.as_ref()) {
                Some(highest) if *sequence <= *highest => Some(format!("sequence {sequence} after {highest}")),
                Some(highest) => {
                    *highest = *sequence;
                    None
                }
                None => {
                    self.streams.insert(stream.clone().into_owned(), *sequence);
                    None
                }
            };
        }
        let id = source.event_id.as_deref()?;
        let text = blake3::hash(raw.text.as_bytes());
        match self.ids.get(id) {
            Some(known) if raw.id != Some(id) || *known == text => Some(format!("event {id} was delivered before")),
            Some(_) => {
                self.ids.insert(id.to_owned(), text);
                None
            }
            None => {
                self.ids.insert(id.to_owned(), text);
                self.order.push_back(id.to_owned());
                if self.order.len() > IDS_MAX {
                    self.order.pop_front().and_then(|oldest| self.ids.remove(&oldest));
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use turnstore::adapter::Wire;

    use super::*;

    /// How many of the events are repeats.
    fn repeats(protocol: &str, events: &[(&str, Option<&str>)]) -> usize {
        let mut decoder = Wire::named(protocol).unwrap().decoder();
        let (mut repeats, mut facts) = (Repeats::default(), Vec::new());
        for (text, id) in events {
            let raw = Raw { line: 1, text, name: None, id: *id };
            let from = facts.len();
            decoder.decode_raw(raw, &mut facts);
            repeats.take(raw, &mut facts, from);
        }
        facts.iter().filter(|stated| matches!(&stated.fact, Fact::DiagnosticNoted(noted) if noted.code == REPEATED_DELIVERY)).count()
    }

    #[test]
    fn an_event_that_comes_again_is_taken_once() {
        let delta = r#"{"type":"text.delta","messageId":"m","delta":"x","eventId":"e1"}"#;
        let later = r#"{"type":"text.delta","messageId":"m","delta":"x","eventId":"e1","timestamp":"later"}"#;
        let other = r#"{"type":"text.delta","messageId":"m","delta":"x","eventId":"e2"}"#;
        assert_eq!(repeats("agent-ui", &[(delta, None), (delta, None), (later, None), (other, None)]), 2);
    }

    #[test]
    fn a_sequence_that_does_not_rise_is_a_repeat_within_its_stream() {
        let of = |run: &str, sequence: u64| {
            format!(r#"{{"type":"text.delta","runId":"{run}","messageId":"m","delta":"x","sequence":{sequence}}}"#)
        };
        let lines = [of("r", 1), of("r", 2), of("r", 2), of("r", 1), of("q", 1), of("r", 3)];
        let events: Vec<_> = lines.iter().map(|line| (line.as_str(), None)).collect();
        assert_eq!(repeats("agent-ui", &events), 2);
    }

    #[test]
    fn one_transport_id_for_a_whole_run_makes_no_repeats_of_its_events() {
        let delta = |text: &str| format!(r#"{{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"{text}"}}"#);
        let (a, b) = (delta("a"), delta("b"));
        assert_eq!(repeats("aiui", &[(&a, Some("run")), (&b, Some("run")), (&a, Some("run"))]), 0);
        assert_eq!(repeats("aiui", &[(&a, Some("1")), (&b, Some("2")), (&b, Some("2"))]), 1);
        assert_eq!(repeats("aiui", &[(&a, None), (&a, None)]), 0);
    }
}
