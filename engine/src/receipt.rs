//! What an append answers, at once or later.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::{Condvar, Mutex};
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

#[derive(Default)]
struct Slot {
    answer: Option<Answer>,
    waker: Option<Waker>,
}

/// An append under way. Waiting blocks; awaiting needs no runtime of ours. Dropping it does not undo the append.
pub struct Ticket {
    slot: Arc<(Mutex<Slot>, Condvar)>,
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("answered", &self.slot.0.lock().answer.is_some()).finish()
    }
}

/// The writer's end of a ticket. Dropping it unanswered says that the writer has closed, or that it failed.
pub(crate) struct Reply {
    slot: Arc<(Mutex<Slot>, Condvar)>,
    done: bool,
}

pub(crate) fn ticket() -> (Ticket, Reply) {
    let slot = Arc::new((Mutex::new(Slot::default()), Condvar::new()));
    (Ticket { slot: slot.clone() }, Reply { slot, done: false })
}

impl Reply {
    pub(crate) fn answer(mut self, answer: Answer) {
        self.set(answer);
    }

    fn set(&mut self, answer: Answer) {
        self.done = true;
        let mut slot = self.slot.0.lock();
        slot.answer = Some(answer);
        let waker = slot.waker.take();
        drop(slot);
        self.slot.1.notify_one();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.done {
            let failed = std::thread::panicking();
            self.set(Err(if failed { Error::Stopped { reason: "it ended before it answered".to_owned() } } else { Error::Closed }));
        }
    }
}

impl Ticket {
    /// Blocks until the append is answered.
    pub fn wait(self) -> Result<Receipt, Error> {
        let mut slot = self.slot.0.lock();
        loop {
            if let Some(answer) = slot.answer.take() {
                return answer;
            }
            self.slot.1.wait(&mut slot);
        }
    }

    /// The answer, if it is there.
    pub fn try_wait(self) -> Result<Result<Receipt, Error>, Ticket> {
        let answer = self.slot.0.lock().answer.take();
        answer.ok_or(self)
    }
}

impl Future for Ticket {
    type Output = Result<Receipt, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut slot = self.slot.0.lock();
        match slot.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                slot.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}
