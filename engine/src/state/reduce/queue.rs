//! The queue and the steering inputs. Source: `protocols.md`, section 6.4.

use super::super::entry::{Body, Sequence};
use super::super::lookup::{QUEUE, Space};
use super::super::shelf::{Queue, Queued, Steer};
use super::{Fold, owned};
use crate::fact::{Content, QueueSet, SteerChanged};
use crate::limits::QUEUE_BYTES_MAX;

impl Fold<'_> {
    /// Replaces the queue: by stated position, then as listed.
    pub(super) fn queue_set(&mut self, set: &QueueSet<'_>) {
        let mut stated: Vec<_> = set.items.iter().collect();
        stated.sort_by_key(|item| item.position.unwrap_or(u64::MAX));
        let mut queue = Queue { items: Vec::new(), count: stated.len() as u64 };
        let mut bytes = 0_usize;
        for item in stated {
            let fields = self.content(&Content::Json(item.fields.clone()));
            bytes += item.id.len() + fields.shown().len() + 64;
            if bytes > QUEUE_BYTES_MAX {
                break;
            }
            queue.items.push(Queued { id: item.id.to_string(), position: item.position, fields });
        }
        self.state.header.queued = queue.count;
        let kept = queue.items.len();
        match self.find(Space::Single, QUEUE) {
            Some(ordinal) => {
                if let Some(body) = self.body_mut(Sequence::Shelf, ordinal) {
                    *body = Body::Queue(queue);
                }
            }
            None => {
                let ordinal = self.shelve(Body::Queue(queue));
                self.name(Space::Single, QUEUE, ordinal);
            }
        }
        if kept < set.items.len() {
            self.diagnose("queue_cut", Some(format!("{kept} of {} items are kept", set.items.len())));
        }
    }

    pub(super) fn steer_changed(&mut self, changed: &SteerChanged<'_>) {
        let (text, reason) = (self.text_if(&changed.text), self.text_if(&changed.reason));
        let ordinal = self.find(Space::Steer, &changed.steer).unwrap_or_else(|| {
            let ordinal = self.shelve(Body::Steer(Steer { id: changed.steer.to_string(), ..Steer::default() }));
            self.name(Space::Steer, &changed.steer, ordinal);
            ordinal
        });
        let Some(Body::Steer(steer)) = self.body_mut(Sequence::Shelf, ordinal) else { return };
        steer.state = changed.state.to_string();
        steer.target = owned(&changed.target).or(steer.target.take());
        steer.text = text.or(steer.text.take());
        steer.reason = reason.or(steer.reason.take());
    }
}
