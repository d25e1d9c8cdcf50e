//! Ordered bytes that survive.
