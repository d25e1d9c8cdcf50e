//! UI-only state: small values of a session that belong to the person who looks at it, such as the selected tab, a draft, a pin or how far
//! was read.
//!
//! **Invariant:** no event, position, row, hash or rebuild knows of it; it is durable when a put returns.

use crate::batch::check_session;
use crate::error::Error;
use crate::limits::{UI_KEY_BYTES_MAX, UI_KEYS_MAX, UI_VALUE_BYTES_MAX};
use crate::shared::Floor;
use crate::view::{Look, View};
use crate::{Engine, Seq};

/// The key under which [`Engine::mark_read`] keeps how far a session was read: a seq in decimal.
pub const READ: &str = "read";
/// The key under which [`Engine::pin`] keeps that a session is pinned.
pub const PINNED: &str = "pinned";

/// Ends a session's id, which has no control characters.
const END: u8 = 0;

fn prefix(session: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(session.len() + 1);
    key.extend_from_slice(session.as_bytes());
    key.push(END);
    key
}

fn key_of(session: &str, key: &str) -> Vec<u8> {
    let mut bytes = prefix(session);
    bytes.extend_from_slice(key.as_bytes());
    bytes
}

fn check(key: &str, value: Option<&str>) -> Result<(), Error> {
    let too_large =
        |what, bytes: usize, limit, bytes_max: usize| Error::TooLarge { what, bytes: bytes as u64, limit, bytes_max: bytes_max as u64 };
    if key.is_empty() || key.chars().any(char::is_control) {
        return Err(Error::UiKey { key: key.chars().take(40).collect() });
    }
    if key.len() > UI_KEY_BYTES_MAX {
        return Err(too_large("a key of UI state", key.len(), "ui_key_bytes_max", UI_KEY_BYTES_MAX));
    }
    match value.map(str::len) {
        Some(bytes) if bytes > UI_VALUE_BYTES_MAX => Err(too_large("a value of UI state", bytes, "ui_value_bytes_max", UI_VALUE_BYTES_MAX)),
        _ => Ok(()),
    }
}

impl Engine {
    /// Puts UI-only values of a session by key, or removes them (`None`): all of them or none. A session may have some before its first
    /// event, such as a draft.
    ///
    /// Cost: two syncs, and the wait for a checkpoint that is being written; not for every keystroke. Errors: [`Error::SessionId`],
    /// [`Error::UiKey`], [`Error::TooLarge`] (of a key, a value, or the number of keys) wrote nothing.
    pub fn put_ui(&self, session: &str, values: &[(&str, Option<&str>)]) -> Result<(), Error> {
        let shared = self.shared();
        check_session(session, &shared.limits)?;
        values.iter().try_for_each(|(key, value)| check(key, *value))?;
        let floor = shared.floor.read();
        let Some(Floor::Writing(storage)) = &*floor else { return Err(Error::Closed) };
        // One put at a time, so that the number of keys is what it was counted to be.
        let _putting = shared.putting_ui.lock();
        let held = storage.reader()?.asides(&prefix(session), UI_KEYS_MAX)?;
        let added = values.iter().filter(|(key, value)| {
            let bytes = key_of(session, key);
            value.is_some() && !held.iter().any(|(held, _)| *held == bytes)
        });
        let keys = held.len() + added.count();
        if keys > UI_KEYS_MAX {
            let (bytes, bytes_max) = (keys as u64, UI_KEYS_MAX as u64);
            return Err(Error::TooLarge { what: "the number of keys of UI state", bytes, limit: "ui_keys_max", bytes_max });
        }
        let keyed: Vec<(Vec<u8>, Option<&str>)> = values.iter().map(|(key, value)| (key_of(session, key), *value)).collect();
        storage.put_aside(keyed.iter().map(|(key, value)| (key.as_slice(), value.map(str::as_bytes))))?;
        Ok(())
    }

    /// Marks a session as read up to a seq; `None` as never read. Cost and errors: those of [`Engine::put_ui`].
    pub fn mark_read(&self, session: &str, seq: Option<Seq>) -> Result<(), Error> {
        let text = seq.map(|seq| seq.get().to_string());
        self.put_ui(session, &[(READ, text.as_deref())])
    }

    /// Pins a session, or unpins it. Cost and errors: those of [`Engine::put_ui`].
    pub fn pin(&self, session: &str, pinned: bool) -> Result<(), Error> {
        self.put_ui(session, &[(PINNED, pinned.then_some("true"))])
    }
}

impl View {
    /// A UI-only value of a session, as it is now, whatever the view's position; `None` when there is none. In a store that is read beside
    /// its writer: as it was at the writer's last commit to the main file.
    pub fn ui(&self, session: &str, key: &str) -> Result<Option<String>, Error> {
        check_session(session, self.limits())?;
        check(key, None)?;
        self.told(|look| look.ui(session, key))
    }

    /// The UI-only values of a session by key, as they are now. Cost: proportional to them, at most [`UI_KEYS_MAX`].
    pub fn ui_values(&self, session: &str) -> Result<Vec<(String, String)>, Error> {
        check_session(session, self.limits())?;
        self.told(|look| {
            let prefix = prefix(session);
            let found = look.reader()?.asides(&prefix, UI_KEYS_MAX)?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            Ok(found.iter().map(|(key, value)| (text(key.get(prefix.len()..).unwrap_or_default()), text(value))).collect())
        })
    }
}

impl Look<'_> {
    fn ui(&self, session: &str, key: &str) -> Result<Option<String>, Error> {
        let found = self.reader()?.aside(&key_of(session, key))?;
        Ok(found.map(|value| String::from_utf8_lossy(&value).into_owned()))
    }

    /// How far a session was read (0 when it never was), and whether it is pinned.
    pub(crate) fn marked(&self, session: &str) -> Result<(u64, bool), Error> {
        let read = self.ui(session, READ)?.and_then(|seq| seq.parse().ok()).unwrap_or(0);
        Ok((read, self.ui(session, PINNED)?.is_some()))
    }
}
