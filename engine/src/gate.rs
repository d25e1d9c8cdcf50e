//! How many bytes are under way between two threads.
//!
//! **Invariant:** what is under way stays within the bound, or it is one thing alone: so nothing is too large to pass.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

/// A bound on the bytes under way. A clone is the same gate.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    under_way: Arc<(Mutex<usize>, Condvar)>,
    bytes_max: usize,
}

/// Bytes under way until this is dropped.
#[derive(Debug)]
pub(crate) struct Passage {
    gate: Gate,
    bytes: usize,
}

impl Gate {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { under_way: Arc::default(), bytes_max }
    }

    /// Blocks while `bytes` more would be too many.
    pub(crate) fn pass(&self, bytes: usize) -> Passage {
        let (lock, less) = &*self.under_way;
        let mut under_way = lock.lock();
        while *under_way > 0 && under_way.saturating_add(bytes) > self.bytes_max {
            less.wait(&mut under_way);
        }
        *under_way = under_way.saturating_add(bytes);
        Passage { gate: self.clone(), bytes }
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        let (lock, less) = &*self.gate.under_way;
        let mut under_way = lock.lock();
        *under_way = under_way.saturating_sub(self.bytes);
        drop(under_way);
        less.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn what_is_under_way_stays_within_the_bound_and_what_is_larger_passes_alone() {
        let gate = Gate::new(100);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (gate, now, most) = (&gate, &now, &most);
                scope.spawn(move || {
                    for n in 0..200 {
                        let bytes = if (n + thread) % 50 == 0 { 1_000 } else { 30 };
                        let passage = gate.pass(bytes);
                        let under_way = now.fetch_add(bytes, Ordering::SeqCst) + bytes;
                        assert!(under_way <= 100 || under_way == 1_000, "{under_way}");
                        most.fetch_max(under_way, Ordering::SeqCst);
                        now.fetch_sub(bytes, Ordering::SeqCst);
                        drop(passage);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 1_000);
        assert_eq!(*gate.under_way.0.lock(), 0);
    }
}
