//! What an append answers, at once or later.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread::Thread;

use parking_lot::Mutex;
use turnstore_storage::{Durability, OpenEpoch, Position, Seq};

use crate::error::Error;

/// What became of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Position of the first event; `None` when every fact was a repeat.
    pub first: Option<Position>,
    /// Position of the last event.
    pub last: Option<Position>,
    /// The session's last seq now, or at the first append of a repeated key; 0 when it is empty.
    pub seq: u64,
    /// Facts that were appended.
    pub appended: usize,
    /// Facts that were dropped because their source had been read that far, or their event id is known.
    pub dropped: usize,
    /// The key had been used for the same facts: this is the first receipt again.
    pub duplicate: bool,
    /// Whether the events survive the end of the process.
    pub durability: Durability,
    /// The opening of the store that gave the positions; a buffered position means nothing in another.
    pub open_epoch: OpenEpoch,
}

impl Receipt {
    /// The last seq as a number of the session.
    pub fn last_seq(&self) -> Option<Seq> {
        Seq::new(self.seq)
    }
}

type Answer = Result<Receipt, Error>;

/// Callers that are woken directly; each wakes two more, and so on. Waking costs the writer a system call for each, and meanwhile the
/// next appends wait.
const WOKEN_AT_ONCE: usize = 12;

#[derive(Default)]
struct Slot {
    answer: Option<Answer>,
    waker: Option<Waker>,
    /// The thread that is parked until the answer is there.
    parked: Option<Thread>,
    /// Others that were answered in the same moment, which the parked thread wakes before it returns.
    wakes: Vec<Thread>,
}

type Shared = Arc<Mutex<Slot>>;

/// An append under way. Waiting blocks; awaiting needs no runtime of ours. Dropping it does not undo the append.
pub struct Ticket {
    slot: Shared,
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("answered", &self.slot.lock().answer.is_some()).finish()
    }
}

/// The writer's end of a ticket. Dropping it unanswered says that the writer has closed, or that it failed.
pub(crate) struct Reply {
    slot: Shared,
    done: bool,
}

pub(crate) fn ticket() -> (Ticket, Reply) {
    let slot = Shared::default();
    (Ticket { slot: slot.clone() }, Reply { slot, done: false })
}

impl Reply {
    pub(crate) fn answer(mut self, answer: Answer) {
        if let Some(parked) = self.set(answer, Vec::new) {
            parked.unpark();
        }
    }

    /// Answers; gives back the thread that is parked for it, which is not woken yet.
    fn set(&mut self, answer: Answer, wakes: impl FnOnce() -> Vec<Thread>) -> Option<Thread> {
        self.done = true;
        let mut slot = self.slot.lock();
        slot.answer = Some(answer);
        let parked = slot.parked.take();
        if parked.is_some() {
            slot.wakes = wakes();
        }
        let waker = slot.waker.take();
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
        parked
    }
}

/// Answers many at once. Cost for the writer: a lock each, and a system call for a few; the threads that wake do the rest.
pub(crate) fn answer_all(replies: impl Iterator<Item = (Reply, Answer)>) {
    // Only a thread that is parked is handed others to wake: it wakes for certain, and does not return before it has.
    let mut waiting = VecDeque::new();
    for (mut reply, answer) in replies {
        let many = waiting.len() >= WOKEN_AT_ONCE;
        let take = || if many { waiting.drain(..2).collect() } else { Vec::new() };
        if let Some(parked) = reply.set(answer, take) {
            waiting.push_back(parked);
        }
    }
    waiting.iter().for_each(Thread::unpark);
}

impl Drop for Reply {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let failed = std::thread::panicking();
        let error = if failed { Error::Stopped { reason: "it ended before it answered".to_owned() } } else { Error::Closed };
        if let Some(parked) = self.set(Err(error), Vec::new) {
            parked.unpark();
        }
    }
}

impl Ticket {
    /// Blocks until the append is answered.
    pub fn wait(self) -> Result<Receipt, Error> {
        loop {
            let mut slot = self.slot.lock();
            if let Some(answer) = slot.answer.take() {
                let wakes = std::mem::take(&mut slot.wakes);
                drop(slot);
                wakes.iter().for_each(Thread::unpark);
                return answer;
            }
            slot.parked = Some(std::thread::current());
            drop(slot);
            // It may return for no reason; the answer decides.
            std::thread::park();
        }
    }

    /// The answer, if it is there.
    pub fn try_wait(self) -> Result<Result<Receipt, Error>, Ticket> {
        let answer = self.slot.lock().answer.take();
        answer.ok_or(self)
    }
}

impl Future for Ticket {
    type Output = Result<Receipt, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut slot = self.slot.lock();
        match slot.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                slot.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    fn answers(replies: Vec<Reply>) {
        answer_all(replies.into_iter().map(|reply| (reply, Err(Error::Closed))));
    }

    #[test]
    fn everyone_who_waits_is_woken_by_one_answer_to_all() {
        for waiting in [1, 2, 7, 64, 300] {
            let (tickets, replies): (Vec<_>, Vec<_>) = (0..waiting).map(|_| ticket()).unzip();
            std::thread::scope(|scope| {
                let threads: Vec<_> = tickets.into_iter().map(|ticket| scope.spawn(move || ticket.wait())).collect();
                // Most of them are parked by now; those that are not find their answer.
                std::thread::sleep(std::time::Duration::from_millis(20));
                answers(replies);
                assert!(threads.into_iter().all(|thread| matches!(thread.join(), Ok(Err(Error::Closed)))));
            });
        }
    }

    #[test]
    fn nobody_waits_for_one_who_dropped_its_ticket_asked_once_or_came_late() {
        let (mut late, mut replies, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..90 {
            let (ticket, reply) = ticket();
            replies.push(reply);
            match index % 3 {
                0 => drop(ticket),
                1 => late.extend(ticket.try_wait().err()),
                _ => waiting.push(ticket),
            }
        }
        let ready = Barrier::new(waiting.len() + 1);
        std::thread::scope(|scope| {
            let ready = &ready;
            let wait = |ticket: Ticket| {
                scope.spawn(move || {
                    ready.wait();
                    ticket.wait()
                })
            };
            let threads: Vec<_> = waiting.drain(..).map(wait).collect();
            ready.wait();
            answers(replies);
            assert!(threads.into_iter().all(|thread| matches!(thread.join(), Ok(Err(Error::Closed)))));
        });
        assert!(late.len() == 30 && late.into_iter().all(|ticket| matches!(ticket.wait(), Err(Error::Closed))));
    }
}
