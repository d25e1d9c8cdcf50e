//! One round: the same producers with the same appends against one store.
//!
//! **Invariant:** the clock runs from when all producers stand ready until the last of them has its last answer.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::contender::{Producer, Steps, Store};
use crate::failure::{Failure, Outcome};
use crate::trace::Trace;

/// Threads that append at once.
pub const PRODUCERS: usize = 64;

/// The appends of a round, made before its clock starts: one session for each producer.
#[derive(Debug)]
pub struct Load {
    producers: Vec<(String, Vec<Steps>)>,
}

impl Load {
    /// `appends` of `events` each for every producer; the same seed makes the same load.
    #[must_use]
    pub fn seeded(seed: u64, appends: usize, events: usize) -> Self {
        let one = |producer: usize| {
            let mut trace = Trace::seeded(seed.wrapping_mul(1_000).wrapping_add(producer as u64));
            let session = trace.session().to_owned();
            let steps = (0..appends).map(|_| trace.by_ref().take(events).collect()).collect();
            (session, steps)
        };
        Self { producers: (0..PRODUCERS).map(one).collect() }
    }
}

/// What a round came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ran {
    /// Events acknowledged.
    pub events: u64,
    /// Commits that covered them, when the contender tells.
    pub commits: Option<u64>,
    /// Wall time.
    pub elapsed: Duration,
}

impl Ran {
    /// Durable events a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.events as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// Runs a load; a producer stops after `at_most` even when it has appends left.
pub fn run(store: &dyn Store, load: &Load, at_most: Duration) -> Outcome<Ran> {
    let commits = store.commits();
    let ready = Barrier::new(load.producers.len() + 1);
    let mut hands = Vec::new();
    for (session, steps) in &load.producers {
        hands.push((store.producer(session)?, steps));
    }
    let (started, counts) = std::thread::scope(|scope| {
        let mut threads = Vec::with_capacity(hands.len());
        for (mut hand, steps) in hands {
            let ready = &ready;
            threads.push(scope.spawn(move || {
                ready.wait();
                append_all(hand.as_mut(), steps, at_most)
            }));
        }
        ready.wait();
        let started = Instant::now();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Outcome<u64>>| {
            thread.join().unwrap_or_else(|_| Err(Failure::Ended { reason: "a producer panicked".to_owned() }))
        };
        (started, threads.into_iter().map(join).collect::<Vec<_>>())
    });
    let elapsed = started.elapsed();
    let mut events = 0;
    for count in counts {
        events += count?;
    }
    Ok(Ran { events, commits: store.commits().zip(commits).map(|(now, before)| now - before), elapsed })
}

fn append_all(hand: &mut dyn Producer, appends: &[Steps], at_most: Duration) -> Outcome<u64> {
    let started = Instant::now();
    let mut events = 0;
    for steps in appends {
        hand.append(steps)?;
        events += steps.len() as u64;
        if started.elapsed() >= at_most {
            break;
        }
    }
    Ok(events)
}
