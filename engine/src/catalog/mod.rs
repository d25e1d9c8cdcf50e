//! Catalogs: what surfaces may be made of, registered by the host, and whether their versions fit together. Source: `protocols.md`,
//! section 3.8.
//!
//! **Invariant:** nothing here appends, and nothing here takes time that a manifest can stretch: bytes, nesting, counts and the steps of a
//! search have limits in [`crate::limits`].
//! **Absent:** the store. What the log keeps of a surface does not depend on what is registered.
//!
//! ```
//! use turnstore::catalog::{Catalogs, Manifest};
//!
//! let mut catalogs = Catalogs::default();
//! for manifest in [
//!     r#"{"id":"basic","version":"1.2.0","components":{"Text":{"properties":{"value":{"type":"string"}}}}}"#,
//!     r#"{"id":"kit","version":"2.0.0","dependencies":{"basic":"^1.0"},"components":{"Card":{"slots":["children"]}}}"#,
//! ] {
//!     catalogs.register(Manifest::parse(manifest)?)?;
//! }
//! let graph = catalogs.resolve(&[("kit", "2.0.0".parse()?)])?;
//! assert_eq!(graph.version("basic").map(ToString::to_string).as_deref(), Some("1.2.0"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod manifest;
mod resolve;
mod surface;

use std::collections::BTreeMap;

use crate::limits::CATALOGS_MAX;

pub use crate::state::BadPointer;
pub use manifest::{ActionPolicy, BadManifest, CatalogAction, Component, Manifest};
pub use resolve::{Consumer, Graph, Unresolved};
/// The version of a catalog, and what a consumer asks of one: semantic versioning.
pub use semver::{Version, VersionReq};
pub use surface::Unsuitable;

/// The manifests that a host registered: each catalog in any number of versions.
#[derive(Clone, Debug, Default)]
pub struct Catalogs {
    by_id: BTreeMap<String, BTreeMap<Version, Manifest>>,
    count: usize,
}

/// Why a manifest was not registered. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotRegistered {
    /// This version says something else already. Give the manifest a new version.
    #[error("catalog {id:?} {version} is registered with other content")]
    Changed {
        /// Catalog id.
        id: String,
        /// Its version.
        version: Version,
    },
    /// As many are registered as may be. Start with fewer.
    #[error("{CATALOGS_MAX} manifests are registered, which is catalogs_max")]
    TooMany,
}

impl Catalogs {
    /// Registers a version of a catalog. The same manifest again changes nothing.
    ///
    /// # Errors
    /// See [`NotRegistered`].
    pub fn register(&mut self, manifest: Manifest) -> Result<(), NotRegistered> {
        if let Some(known) = self.get(manifest.id(), manifest.version()) {
            let (id, version) = (manifest.id().to_owned(), manifest.version().clone());
            return if *known == manifest { Ok(()) } else { Err(NotRegistered::Changed { id, version }) };
        }
        if self.count >= CATALOGS_MAX {
            return Err(NotRegistered::TooMany);
        }
        self.count += 1;
        self.by_id.entry(manifest.id().to_owned()).or_default().insert(manifest.version().clone(), manifest);
        Ok(())
    }

    /// A manifest by its exact version.
    pub fn get(&self, id: &str, version: &Version) -> Option<&Manifest> {
        self.by_id.get(id)?.get(version)
    }

    /// The versions of a catalog, the newest first.
    pub fn versions(&self, id: &str) -> impl Iterator<Item = &Version> {
        self.by_id.get(id).into_iter().flat_map(|versions| versions.keys().rev())
    }
}

#[cfg(test)]
mod tests;
