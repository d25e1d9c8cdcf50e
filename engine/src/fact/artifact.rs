//! Facts about artifacts.

use bincode::{BorrowDecode, Encode};

use super::{Json, Text};

/// A workspace file that a turn produced. Paths are opaque and never changed.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub struct ArtifactReference<'a> {
    /// Full relative entry path; not empty.
    pub path: Text<'a>,
    /// document, webpage, presentation, spreadsheet, image.
    pub artifact_type: Text<'a>,
}

/// Replaces the artifacts of a turn; an empty list clears them.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub struct TurnArtifactsSet<'a> {
    /// Turn id; an unknown turn becomes a stub.
    pub turn: Text<'a>,
    /// References; of equal paths the first place and the last value count.
    pub references: Vec<ArtifactReference<'a>>,
}

/// What happened to an artifact. Source: `protocols.md`, section 6.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, BorrowDecode)]
pub enum ArtifactOp {
    /// Created, or created again after deletion.
    Created,
    /// Fields changed.
    Updated,
    /// A preview is ready.
    PreviewReady,
    /// A version exists and is current.
    VersionCreated,
    /// A diff is ready.
    DiffReady,
    /// An export began.
    ExportStarted,
    /// An export ended well.
    ExportCompleted,
    /// The artifact, or the export that is named, failed.
    Failed,
    /// Deleted; versions and references stay.
    Deleted,
    /// The collapsed form: merge what is present.
    Changed,
}

/// One artifact by id.
#[derive(Clone, Debug, PartialEq, Encode, BorrowDecode)]
pub struct ArtifactChanged<'a> {
    /// Artifact id.
    pub artifact: Text<'a>,
    /// What happened.
    pub op: ArtifactOp,
    /// Turn id; `None` means the current turn.
    pub turn: Option<Text<'a>>,
    /// The fields that the source gave, as a JSON object.
    pub fields: Json<'a>,
}
