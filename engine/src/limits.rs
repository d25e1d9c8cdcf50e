//! Every limit of the engine, by name.
//!
//! **Invariant:** a limit is enforced where data enters; what was accepted is read back whole.

/// The limits, each with its default. All are inclusive.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Longest session id: 256 bytes. Ids are keys in every index.
    pub session_id_bytes_max: usize,
    /// Longest id, name or path inside a fact: 4 KiB. Ids are kept in memory while their items are.
    pub id_bytes_max: usize,
    /// Largest fact: 64 MiB, the longest line that an adapter reads.
    pub fact_bytes_max: usize,
    /// Facts in one append: 65,536. A batch is folded and shown at once.
    pub batch_facts_max: usize,
    /// Encoded bytes in one append: 80 MiB. A batch is one frame.
    pub batch_bytes_max: usize,
    /// References in one statement of a turn's artifacts: 10,000. They stand in the turn's own entry.
    pub turn_artifacts_max: usize,
    /// Appends that wait for the writer before callers block: 1,024.
    pub queue_appends_max: usize,
    /// Bytes of appends that wait for the writer before callers block: 128 MiB. One that is larger waits alone.
    pub queue_bytes_max: usize,
    /// Appends that one commit serves: 4,096.
    pub commit_appends_max: usize,
    /// Bytes after which a commit takes no more appends: 4 MiB.
    pub commit_bytes_soft_max: usize,
    /// Events of the store between two checkpoints: 16,384.
    pub checkpoint_events_max: u64,
    /// Milliseconds after which what changed is checkpointed: 1,000, so that followers are near live.
    pub checkpoint_age_ms_max: u64,
    /// Events of a session between two versions that are kept: 4,096. Bounds the fold to any past position.
    pub events_between_checkpoints_max: u64,
    /// Bytes above the checkpoint at which appends wait for it: 32 MiB. Bounds the work of an open after a crash.
    pub tail_bytes_hard_max: u64,
    /// Milliseconds that a buffered append may wait for its sync: 50.
    pub buffered_delay_ms_max: u64,
    /// Events of a session whose ids tell repeats, of those without a sequence: the ids of the session's last 4,096 events. Counted in
    /// events, so that a restart, which reads them from the log, changes nothing.
    pub event_ids_retained_max: usize,
    /// Idle sessions kept in memory: 64.
    pub idle_sessions_max: usize,
    /// Bytes of archived pages kept for readers: 16 MiB.
    pub page_cache_bytes_max: usize,
    /// Items in one window or page: 500.
    pub window_items_max: usize,
    /// Bytes in one window or page: 8 MiB.
    pub window_bytes_max: usize,
    /// Bytes of one piece of a payload that is read in pieces: 1 MiB.
    pub payload_chunk_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            session_id_bytes_max: 256,
            id_bytes_max: 4096,
            fact_bytes_max: 64 << 20,
            batch_facts_max: 65_536,
            batch_bytes_max: 80 << 20,
            turn_artifacts_max: 10_000,
            queue_appends_max: 1024,
            queue_bytes_max: 128 << 20,
            commit_appends_max: 4096,
            commit_bytes_soft_max: 4 << 20,
            checkpoint_events_max: 16_384,
            checkpoint_age_ms_max: 1000,
            events_between_checkpoints_max: 4096,
            tail_bytes_hard_max: 32 << 20,
            buffered_delay_ms_max: 50,
            event_ids_retained_max: 4096,
            idle_sessions_max: 64,
            page_cache_bytes_max: 16 << 20,
            window_items_max: 500,
            window_bytes_max: 8 << 20,
            payload_chunk_bytes: 1 << 20,
        }
    }
}
