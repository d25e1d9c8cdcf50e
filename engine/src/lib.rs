//! The session store.
