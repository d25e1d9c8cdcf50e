//! Every limit of the engine, by name.
//!
//! **Invariant:** a limit is enforced where data enters; what was accepted is read back whole.

// What follows decides how events are folded, so it is part of the reducer and no setting: every build folds the same events alike. Whoever
// changes one of them changes the reducer's fingerprint. Together they bound a row: 32 entries of at most about 1.5 MiB each.

/// A value above this many bytes stays in the log, and the projection keeps a preview and a reference: 2 KiB. It arrives whole, so that one
/// read brings it back; a copy in the rows would make the file half as large again. Text that grows is kept in pieces instead.
pub const INLINE_BYTES_MAX: usize = 2048;
/// Bytes of such a preview: 256.
pub const PREVIEW_BYTES_MAX: usize = 256;
/// Bytes of a session's title: 4 KiB. The rest of a longer one is cut with a diagnostic; the event that stated it holds it.
pub const TITLE_BYTES_MAX: usize = 4096;
/// Bytes of metadata or fields that are merged key by key: 64 KiB. A key whose value does not fit is dropped with a diagnostic; the event
/// that stated it holds it.
pub const MERGED_BYTES_MAX: usize = 64 << 10;
/// Bytes of the ids in a list that grows, 16 for each beside its own: 64 KiB. What is beyond is counted.
pub const LIST_BYTES_MAX: usize = 64 << 10;
/// Bytes of one growing text: 4,000,000,000, which is what its pieces can be numbered for. Later text is a diagnostic, and in the log.
pub const TEXT_BYTES_MAX: u64 = 4_000_000_000;
/// Measure of a document: 64 MiB of keys and strings, with 32 bytes for each value, which is what one takes in memory at least. A patch
/// that would make a document grow above it fails, as does one that copies more than that: copies grow faster than the log. A document
/// that is set whole is bounded by [`Limits::fact_bytes_max`] alone.
pub const DOCUMENT_BYTES_MAX: usize = 64 << 20;
/// Entries from a message's first on among which a final text looks for the message's text parts: 4,096. Parts behind them stay as they
/// are.
pub const MESSAGE_ENTRIES_MAX: i64 = 4096;
/// Results that stand with their call: 64. Later ones stand in the timeline for themselves.
pub const TOOL_RESULTS_MAX: usize = 64;
/// Decisions that are kept beside the one that stands: 16, the first. Later ones are counted, and each is a diagnostic.
pub const CONFLICTS_MAX: usize = 16;
/// Highest number of interactions that wait in one session: 10,000. One that waits is never let go of, so an append that could make it more
/// is refused.
pub const PENDING_MAX: usize = 10_000;
/// Bytes of the queue's items that are kept: 1 MiB, 64 for each beside its id and value. What is beyond is counted, with a diagnostic.
pub const QUEUE_BYTES_MAX: usize = 1 << 20;
/// Patches of a surface that wait for one before them: 64. One more drops them all, and the surface needs a new creation.
pub const SURFACE_BUFFER_MAX: usize = 64;
/// Bytes of those patches: 1 MiB. What is above drops them likewise.
pub const SURFACE_BUFFER_BYTES_MAX: usize = 1 << 20;
/// Bytes of a key of UI-only state: 256.
pub const UI_KEY_BYTES_MAX: usize = 256;
/// Bytes of a value of UI-only state: 64 KiB, a long draft.
pub const UI_VALUE_BYTES_MAX: usize = 64 << 10;
/// Keys of UI-only state of one session: 256.
pub const UI_KEYS_MAX: usize = 256;
/// Bytes of a row that these bounds allow: 64 MiB.
pub(crate) const ROW_BYTES_MAX: usize = 64 << 20;

// What a response is checked against came from outside, and so did the response: see `crate::control`.

/// Bytes of a schema that a response is checked against: 64 KiB. A larger one is of no use for the check.
pub const SCHEMA_BYTES_MAX: usize = 64 << 10;
/// Levels of JSON in such a schema: 32.
pub const SCHEMA_NESTING_MAX: usize = 32;
/// References in such a schema: 128. Each may be compiled for itself.
pub const SCHEMA_REFERENCES_MAX: usize = 128;
/// Patterns in such a schema: 64.
pub const SCHEMA_PATTERNS_MAX: usize = 64;
/// Bytes of one compiled pattern: 128 KiB.
pub const SCHEMA_PATTERN_BYTES_MAX: usize = 128 << 10;
/// Steps of one check, each a keyword applied to a part of the response: 500,000.
pub const SCHEMA_STEPS_MAX: u64 = 500_000;
/// Bytes of a response that is checked against a schema: 256 KiB.
pub const RESPONSE_BYTES_MAX: usize = 256 << 10;
/// Errors that one check tells: 16, the first.
pub const RESPONSE_ERRORS_MAX: usize = 16;

// Catalogs are registered by the host, and come from outside: see `crate::catalog`.

/// Bytes of a catalog's manifest: 1 MiB.
pub const CATALOG_BYTES_MAX: usize = 1 << 20;
/// Levels of JSON in a manifest: 48.
pub const CATALOG_NESTING_MAX: usize = 48;
/// Bytes of a surface that is checked against its catalogs: 1 MiB.
pub const SURFACE_BYTES_MAX: usize = 1 << 20;
/// Nodes of such a surface: 4,096.
pub const SURFACE_NODES_MAX: usize = 4096;
/// Components, and likewise actions, of one catalog: 1,024.
pub const CATALOG_COMPONENTS_MAX: usize = 1024;
/// Catalogs that one catalog depends on: 64.
pub const CATALOG_DEPENDENCIES_MAX: usize = 64;
/// Manifests that are registered together, each version one: 1,024.
pub const CATALOGS_MAX: usize = 1024;
/// Steps of one search for versions, each a comparison of a version, a dependency that is followed, or a consumer that is named: 1,000,000.
/// A graph of as many catalogs as may be registered needs fewer, unless versions conflict.
pub const CATALOG_STEPS_MAX: u64 = 1_000_000;

/// Highest [`Limits::id_bytes_max`]: 4 KiB.
pub const ID_BYTES_MAX: usize = 4096;
/// Highest [`Limits::turn_artifacts_max`]: 10,000.
pub const TURN_ARTIFACTS_MAX: usize = 10_000;
/// Bytes of the references in one statement of a turn's artifacts, 16 for each beside its path and type: 1 MiB. A larger statement is
/// refused.
pub const TURN_ARTIFACTS_BYTES_MAX: usize = 1 << 20;

/// The limits, each with its default. All are inclusive.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Longest session id: 256 bytes. Ids are keys in every index.
    pub session_id_bytes_max: usize,
    /// Longest id, name, word or path inside a fact: 4 KiB, which is also the highest that it can be set to. Ids are kept in memory while
    /// their items are, and stand whole in rows.
    pub id_bytes_max: usize,
    /// Largest fact: 64 MiB, the longest line that an adapter reads. A larger value comes in piece by piece: text as
    /// [`crate::fact::PartDelta`], a call's arguments and output as [`crate::fact::ToolOp`] deltas.
    pub fact_bytes_max: usize,
    /// Facts in one append: 65,536. A batch is folded and shown at once.
    pub batch_facts_max: usize,
    /// Encoded bytes in one append: 80 MiB. A batch is one frame.
    pub batch_bytes_max: usize,
    /// References in one statement of a turn's artifacts: 10,000, which is also the highest that it can be set to. They stand in the
    /// turn's own entry, and take at most [`TURN_ARTIFACTS_BYTES_MAX`] there.
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
    /// Bytes of one chunk of a payload that is read in chunks: 1 MiB.
    pub payload_chunk_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            session_id_bytes_max: 256,
            id_bytes_max: ID_BYTES_MAX,
            fact_bytes_max: 64 << 20,
            batch_facts_max: 65_536,
            batch_bytes_max: 80 << 20,
            turn_artifacts_max: TURN_ARTIFACTS_MAX,
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
