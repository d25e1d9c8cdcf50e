//! Text that claims to be a cursor.

use turnstore::{Cursor, PendingCursor, SessionsCursor};

/// What reads as a cursor is written as the same text again.
pub fn cursor_decode(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(cursor) = text.parse::<Cursor>() {
        assert_eq!(cursor.to_string(), text);
    }
    if let Ok(cursor) = text.parse::<SessionsCursor>() {
        assert_eq!(cursor.to_string(), text);
    }
    if let Ok(cursor) = text.parse::<PendingCursor>() {
        assert_eq!(cursor.to_string(), text);
    }
}
