//! One recording on its way into one session.
//!
//! **Invariant:** events of the recording enter the session in order and under their numbers; an event that the engine refuses leaves a
//! diagnostic under its number, so that the numbers behind it stay.

use std::collections::VecDeque;

use turnstore::adapter::Wire;
use turnstore::adapter::check::{self, SOURCE_UNREADABLE, Severity};
use turnstore::event::{Source, Stated};
use turnstore::fact::{DiagnosticNoted, Fact, Text};
use turnstore::{Batch, Engine, Error, Receipt, Ticket};

use super::prefix::{Differs, Prefix, Relation};
use super::recording::{Chunk, Decoded, Decoding, Place};
use super::tally::Tally;

/// Appends that wait for their acknowledgement while the next chunk is read.
const TICKETS_MAX: usize = 4;

/// An acknowledged append: the number of the last source event in it, and its receipt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) number: u64,
    pub(crate) receipt: Receipt,
}

/// Why a recording goes no further.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stop {
    #[error(transparent)]
    Differs(#[from] Differs),
    #[error(transparent)]
    Store(#[from] Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// One recording on its way.
pub(crate) struct Lane<'e> {
    engine: &'e Engine,
    stream: String,
    decoding: Decoding,
    prefix: Prefix,
    tickets: VecDeque<(u64, Ticket)>,
    pub(crate) tally: Tally,
}

impl<'e> Lane<'e> {
    pub(crate) fn new(engine: &'e Engine, wire: &'static Wire, stream: String, tally: Tally) -> Result<Self, Error> {
        let prefix = Prefix::of(&engine.view(), wire, &tally.session, &stream)?;
        Ok(Self { engine, stream, decoding: Decoding::new(wire), prefix, tickets: VecDeque::new(), tally })
    }

    /// Takes in the next chunk; tells of each append that is acknowledged meanwhile.
    pub(crate) fn take(&mut self, chunk: &Chunk, told: &mut dyn FnMut(&Tally, Acknowledged) -> std::io::Result<()>) -> Result<(), Stop> {
        let stream = self.stream.clone();
        let decoded = chunk.decode(&mut self.decoding, &stream);
        let (facts, places) = self.fresh(&decoded)?;
        let mut before = None;
        for (stated, place) in facts.iter().zip(places) {
            self.remark(before, stated, *place);
            before = Some(&stated.fact);
        }
        let Some(last) = places.last() else { return Ok(()) };
        if self.append(facts, *last, told)?.is_some() {
            self.one_by_one(facts, places, told)?;
        }
        while self.tickets.len() > TICKETS_MAX {
            self.settle(told)?;
        }
        Ok(())
    }

    /// Submits an append; gives the reason when the engine refuses it. What asks is waited for, since how much may wait is known only
    /// when it is written: behind a later number it could not be appended any more.
    fn append(
        &mut self,
        facts: &[Stated<'_>],
        last: Place,
        told: &mut dyn FnMut(&Tally, Acknowledged) -> std::io::Result<()>,
    ) -> Result<Option<Error>, Stop> {
        let ticket = match self.engine.submit(&self.tally.session, Batch::of(facts.iter().cloned())) {
            Ok(ticket) => ticket,
            Err(error @ (Error::Rejected { .. } | Error::TooLarge { .. })) => return Ok(Some(error)),
            Err(error) => return Err(error.into()),
        };
        let asks = |stated: &Stated<'_>| matches!(stated.fact, Fact::InteractionRequested(_) | Fact::CurrentTurnAsserted(_));
        if !facts.iter().any(asks) {
            self.tickets.push_back((last.number, ticket));
            return Ok(None);
        }
        self.finish(told)?;
        match ticket.wait() {
            Ok(receipt) => self.acknowledged(last.number, receipt, told)?,
            Err(error @ Error::TooLarge { .. }) => return Ok(Some(error)),
            Err(error) => return Err(error.into()),
        }
        Ok(None)
    }

    /// Waits for every append that is under way.
    pub(crate) fn finish(&mut self, told: &mut dyn FnMut(&Tally, Acknowledged) -> std::io::Result<()>) -> Result<(), Stop> {
        while !self.tickets.is_empty() {
            self.settle(told)?;
        }
        Ok(())
    }

    fn settle(&mut self, told: &mut dyn FnMut(&Tally, Acknowledged) -> std::io::Result<()>) -> Result<(), Stop> {
        let Some((number, ticket)) = self.tickets.pop_front() else { return Ok(()) };
        let receipt = ticket.wait()?;
        self.acknowledged(number, receipt, told)
    }

    fn acknowledged(
        &mut self,
        number: u64,
        receipt: Receipt,
        told: &mut dyn FnMut(&Tally, Acknowledged) -> std::io::Result<()>,
    ) -> Result<(), Stop> {
        self.tally.facts += u64::try_from(receipt.appended).unwrap_or(u64::MAX);
        self.tally.seq = self.tally.seq.max(receipt.seq);
        told(&self.tally, Acknowledged { number, receipt })?;
        Ok(())
    }

    /// The facts that the store does not hold yet.
    fn fresh<'d, 'c>(&mut self, decoded: &'d Decoded<'c>) -> Result<(&'d [Stated<'c>], &'d [Place]), Stop> {
        let mut from = 0;
        for group in decoded.places.chunk_by(|a, b| a.number == b.number) {
            self.tally.events += 1;
            let to = from + group.len();
            if from < decoded.facts.len() && self.is_known(decoded.facts.get(from..to).unwrap_or_default(), group)? {
                self.tally.known += 1;
                from = to;
            } else {
                let rest = decoded.places.get(to..).unwrap_or_default();
                self.tally.events += u64::try_from(rest.chunk_by(|a, b| a.number == b.number).count()).unwrap_or(u64::MAX);
                break;
            }
        }
        Ok((decoded.facts.get(from..).unwrap_or_default(), decoded.places.get(from..).unwrap_or_default()))
    }

    fn is_known(&mut self, facts: &[Stated<'_>], group: &[Place]) -> Result<bool, Stop> {
        let Some(place) = group.first() else { return Ok(false) };
        match self.prefix.compare(place.number, facts)? {
            Relation::Known => Ok(true),
            Relation::New => Ok(false),
            Relation::Other => Err(Differs { line: place.line, number: place.number }.into()),
        }
    }

    fn remark(&mut self, before: Option<&Fact<'_>>, stated: &Stated<'_>, place: Place) {
        let Fact::DiagnosticNoted(noted) = &stated.fact else { return };
        let nameless = matches!(before, Some(Fact::Opaque(opaque)) if opaque.name.is_empty());
        // An error that stands in the place of its event: the event had no effect.
        let refused = noted.raw.is_some() && check::about(self.decoding.wire, &noted.code).severity == Severity::Error;
        let no_event = noted.code == SOURCE_UNREADABLE || refused || nameless;
        let remarks = if no_event { &mut self.tally.refused } else { &mut self.tally.diagnostics };
        remarks.add(place.line, &noted.code, noted.detail.as_deref().unwrap_or("kept as it came"));
    }

    /// Appends event by event, when one of them makes the whole batch unacceptable.
    fn one_by_one(
        &mut self,
        facts: &[Stated<'_>],
        places: &[Place],
        told: &mut dyn FnMut(&Tally, Acknowledged) -> std::io::Result<()>,
    ) -> Result<(), Stop> {
        let mut from = 0;
        for group in places.chunk_by(|a, b| a.number == b.number) {
            let own = facts.get(from..from + group.len()).unwrap_or_default();
            from += group.len();
            let Some(place) = group.first() else { continue };
            if let Some(refused) = self.append(own, *place, told)? {
                let reason = refused.to_string();
                self.tally.refused.add(place.line, SOURCE_UNREADABLE, reason.as_str());
                let stand_in = stand_in(self.decoding.wire, &self.stream, *place, &reason);
                let ticket = self.engine.submit(&self.tally.session, Batch::of([stand_in]))?;
                self.tickets.push_back((place.number, ticket));
            }
        }
        Ok(())
    }
}

/// What is appended for an event that the engine refuses.
fn stand_in<'a>(wire: &Wire, stream: &'a str, place: Place, reason: &str) -> Stated<'a> {
    let fact = DiagnosticNoted {
        code: Text::Borrowed(SOURCE_UNREADABLE),
        detail: Some(Text::Owned(format!("line {}: {reason}", place.line))),
        raw: None,
    };
    let source = Source { protocol: wire.protocol, stream: Some((Text::Borrowed(stream), place.number)), ..Source::default() };
    Stated { source, ..Stated::from(Fact::DiagnosticNoted(fact)) }
}
