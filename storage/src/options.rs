//! How a store is opened, and every limit it keeps.

use crate::medium::{FileMedium, Medium};
use std::path::Path;
use std::sync::Arc;

/// Who else may have the main file open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Other processes may follow the main file read-only.
    Followers,
    /// Nobody else may open the store.
    Exclusive,
}

/// How a store is opened. Every limit ends in `_max`, in bytes unless its name says otherwise.
#[derive(Clone, Debug)]
pub struct Options {
    /// Memory for pages of the main file. 16 MiB.
    pub main_cache_bytes_max: usize,
    /// Stored tail bytes at which [`crate::Storage::wants_checkpoint`] says so. 2 MiB, so that
    /// reading the tail after a crash stays within milliseconds.
    pub tail_bytes_soft_max: u64,
    /// Stored tail bytes at which an append is refused until a checkpoint. 256 MiB. So many are
    /// held in memory too.
    pub tail_bytes_hard_max: u64,
    /// Used bytes of the tail file above which it begins again at its front. 4 MiB: the file stays
    /// near it as long as checkpoints keep up, and near twice what is above the checkpoint otherwise.
    pub tail_rotate_bytes_max: u64,
    /// Raw bytes of a merged frame in the main file. 256 KiB: large enough to compress, small
    /// enough that a page of one stream does not read much else.
    pub frame_bytes_max: usize,
    /// Raw bytes of the frame of one append. 64 MiB.
    pub append_bytes_max: usize,
    /// Raw bytes of one row. 64 MiB.
    pub row_bytes_max: usize,
    /// Bytes of a stream's name. 1,024.
    pub name_bytes_max: usize,
    /// Bytes of a key of the index. 2,048.
    pub index_key_bytes_max: usize,
    /// Length up to which a main file that grew is compacted when it is closed. 512 MiB: a larger one would make closing take seconds.
    pub compact_bytes_max: u64,
    /// Effort of compression of merged frames, 1 to 19. 5.
    pub compression_level: i32,
    /// Who else may have the main file open. Followers.
    pub sharing: Sharing,
    /// Where the files are; `None` is the path itself, through the file system.
    pub medium: Option<Arc<dyn Medium>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            main_cache_bytes_max: 16 << 20,
            tail_bytes_soft_max: 2 << 20,
            tail_bytes_hard_max: 256 << 20,
            tail_rotate_bytes_max: 4 << 20,
            frame_bytes_max: 256 << 10,
            append_bytes_max: 64 << 20,
            row_bytes_max: 64 << 20,
            name_bytes_max: 1024,
            index_key_bytes_max: 2048,
            compact_bytes_max: 512 << 20,
            compression_level: 5,
            sharing: Sharing::Followers,
            medium: None,
        }
    }
}

impl Options {
    pub(crate) fn medium_at(&self, path: &Path) -> Arc<dyn Medium> {
        self.medium.clone().unwrap_or_else(|| Arc::new(FileMedium::new(path)))
    }
}
