//! The one writer thread that a host puts before a store without group commit: takes all that waits, syncs once, answers all.
//!
//! **Invariant:** an append is answered after the sync that covers it, never before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::contender::{Producer, Steps, Store};
use crate::failure::{Failure, Outcome};

/// Appends that may wait for the writer before producers block.
const WAITING_MAX: usize = 1024;

/// What a producer hands over: the steps and their lines, encoded on the producer's thread.
#[derive(Debug)]
pub struct Append {
    /// The session.
    pub session: Arc<str>,
    /// The events.
    pub steps: Steps,
    /// Their JSON lines, each with its line end; empty when the sink asks for none.
    pub lines: Vec<u8>,
    answer: Sender<Result<(), String>>,
}

/// What the writer thread drives: one durable commit of a group of appends.
pub trait Sink {
    /// Whether producers encode JSON lines for it.
    const LINES: Lines;

    /// Makes every append of the group durable with one sync.
    fn commit(&mut self, group: &[Append]) -> Outcome<()>;

    /// Ends in good order.
    fn close(self) -> Outcome<()>;
}

/// Whether an append carries JSON lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Encoded on the producer's thread.
    Encoded,
    /// The sink stores typed events.
    Absent,
}

/// A store whose appends go through one grouping writer thread.
#[derive(Debug)]
pub struct Grouped {
    appends: Option<Sender<Append>>,
    writer: Option<JoinHandle<Outcome<()>>>,
    commits: Arc<AtomicU64>,
    lines: Lines,
}

impl Grouped {
    /// Starts the writer thread; `open` runs on it, because some stores cannot move between threads.
    pub fn start<S: Sink>(open: impl FnOnce() -> Outcome<S> + Send + 'static) -> Outcome<Self> {
        let (appends, waiting) = bounded(WAITING_MAX);
        let (opened, ready) = bounded(1);
        let commits = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&commits);
        let writer = std::thread::spawn(move || match open() {
            Ok(sink) => {
                let _ = opened.send(());
                drain(sink, &waiting, &counted)
            }
            Err(failure) => Err(failure),
        });
        if ready.recv().is_err() {
            return Err(joined(writer).err().unwrap_or_else(|| ended("before it opened")));
        }
        Ok(Self { appends: Some(appends), writer: Some(writer), commits, lines: S::LINES })
    }
}

impl Store for Grouped {
    fn producer(&self, session: &str) -> Outcome<Box<dyn Producer>> {
        let appends = self.appends.clone().ok_or_else(|| ended("closed"))?;
        let (answer, answered) = bounded(1);
        Ok(Box::new(Hand { session: Arc::from(session), appends, answer, answered, lines: self.lines }))
    }

    fn commits(&self) -> Option<u64> {
        Some(self.commits.load(Ordering::Relaxed))
    }

    fn close(mut self: Box<Self>) -> Outcome<()> {
        self.appends = None;
        self.writer.take().map_or(Ok(()), joined)
    }
}

struct Hand {
    session: Arc<str>,
    appends: Sender<Append>,
    answer: Sender<Result<(), String>>,
    answered: Receiver<Result<(), String>>,
    lines: Lines,
}

impl Producer for Hand {
    fn append(&mut self, steps: &Steps) -> Outcome<()> {
        let lines = match self.lines {
            Lines::Encoded => crate::step::lines(steps),
            Lines::Absent => Vec::new(),
        };
        let append = Append { session: Arc::clone(&self.session), steps: Arc::clone(steps), lines, answer: self.answer.clone() };
        self.appends.send(append).map_err(|_| ended("stopped"))?;
        let answer = self.answered.recv().map_err(|_| ended("stopped"))?;
        answer.map_err(|reason| Failure::Ended { reason })
    }
}

fn drain<S: Sink>(mut sink: S, waiting: &Receiver<Append>, commits: &AtomicU64) -> Outcome<()> {
    let mut group = Vec::new();
    while let Ok(first) = waiting.recv() {
        group.push(first);
        group.extend(waiting.try_iter());
        let outcome = sink.commit(&group);
        commits.fetch_add(1, Ordering::Relaxed);
        for append in group.drain(..) {
            let answer = match &outcome {
                Ok(()) => Ok(()),
                Err(failure) => Err(failure.to_string()),
            };
            let _ = append.answer.send(answer);
        }
        outcome?;
    }
    sink.close()
}

fn joined(writer: JoinHandle<Outcome<()>>) -> Outcome<()> {
    writer.join().unwrap_or_else(|_| Err(ended("panicked")))
}

fn ended(reason: &str) -> Failure {
    Failure::Ended { reason: reason.to_owned() }
}
