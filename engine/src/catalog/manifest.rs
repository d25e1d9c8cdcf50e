//! One version of a catalog, as its author states it.
//!
//! **Invariant:** a manifest that was read is within every limit, and says each thing once.

use std::collections::{BTreeMap, BTreeSet};

use semver::{Version, VersionReq};
use serde_json::{Map, Value};

use crate::control::{Approval, Effect, Policy, Reversibility};
use crate::limits::{CATALOG_BYTES_MAX, CATALOG_COMPONENTS_MAX, CATALOG_DEPENDENCIES_MAX, CATALOG_NESTING_MAX};

/// Why a manifest cannot be used. Its author mends what is named.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadManifest {
    /// More than a limit allows.
    #[error("{what}: {count} is above {limit} = {count_max}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much.
        count: usize,
        /// Name of the limit.
        limit: &'static str,
        /// The limit.
        count_max: usize,
    },
    /// It is not JSON.
    #[error("the manifest is not JSON: {reason}")]
    NotJson {
        /// Where and why.
        reason: String,
    },
    /// A field is not there or does not read.
    #[error("{at} {reason}")]
    Field {
        /// JSON pointer to the field.
        at: String,
        /// Why.
        reason: String,
    },
}

fn field(at: impl Into<String>, reason: impl Into<String>) -> BadManifest {
    BadManifest::Field { at: at.into(), reason: reason.into() }
}

fn within(what: &'static str, count: usize, limit: &'static str, count_max: usize) -> Result<(), BadManifest> {
    if count > count_max { Err(BadManifest::TooLarge { what, count, limit, count_max }) } else { Ok(()) }
}

/// A version of a catalog: its components, its actions and the catalogs that it builds on.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    id: String,
    version: Version,
    dependencies: BTreeMap<String, VersionReq>,
    components: BTreeMap<String, Component>,
    actions: BTreeMap<String, CatalogAction>,
}

/// What a component declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// Its properties, each with its JSON Schema.
    pub properties: BTreeMap<String, Value>,
    /// The properties that a node must have.
    pub required: BTreeSet<String>,
    /// The slots that take children; `children` is the one without a name.
    pub slots: BTreeSet<String>,
    /// The actions that it may trigger; `None` means each that its catalogs declare.
    pub actions: Option<BTreeSet<String>>,
    /// The properties that may be bound to state; `None` means each of them.
    pub bindings: Option<BTreeSet<String>>,
}

/// An action that a catalog declares.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogAction {
    /// What it entails.
    pub policy: ActionPolicy,
}

/// What a catalog states of an action, kept as it is stated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActionPolicy(Map<String, Value>);

impl ActionPolicy {
    /// The value of `effect`, `reversibility`, `approval`, `scope`, `idempotency`, `audit`, or of anything else that is stated.
    pub fn stated(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// What [`crate::control::permit`] judges the action by. Anything but the plain word `internal` is an effect outside, and anything but
    /// `reversible` cannot be undone: an action of which nothing is stated is judged as the worst.
    pub fn entails(&self) -> Policy {
        let is = |key: &str, word: &str| self.stated(key).and_then(Value::as_str) == Some(word);
        Policy {
            effect: if is("effect", "internal") { Effect::Internal } else { Effect::External },
            reversibility: if is("reversibility", "reversible") { Reversibility::Reversible } else { Reversibility::Irreversible },
            approval: if ["always", "required"].iter().any(|word| is("approval", word))
                || self.stated("approval") == Some(&Value::Bool(true))
            {
                Approval::Always
            } else {
                Approval::WhenIrreversible
            },
        }
    }
}

impl Manifest {
    /// Reads a manifest: an object of `id`, `version`, and objects `dependencies` (catalog id to the version that is asked for),
    /// `components` (name to `properties`, `required`, `slots`, `actions`, `bindings`) and `actions` (name to `policy`). Other fields pass.
    ///
    /// Cost: proportional to the text, at most [`CATALOG_BYTES_MAX`].
    ///
    /// # Errors
    /// See [`BadManifest`].
    pub fn parse(json: &str) -> Result<Self, BadManifest> {
        within("bytes", json.len(), "catalog_bytes_max", CATALOG_BYTES_MAX)?;
        let value: Value = serde_json::from_str(json).map_err(|error| BadManifest::NotJson { reason: error.to_string() })?;
        within("levels", levels(&value), "catalog_nesting_max", CATALOG_NESTING_MAX)?;
        let stated = object(&value, "")?;
        let id = name(stated, "id")?;
        let version = Version::parse(name(stated, "version")?).map_err(|error| field("/version", error.to_string()))?;
        let dependencies = members(stated, "dependencies", |at, asked| {
            let asked = asked.as_str().ok_or_else(|| field(at, "is no text"))?;
            VersionReq::parse(asked).map_err(|error| field(at, error.to_string()))
        })?;
        within("dependencies", dependencies.len(), "catalog_dependencies_max", CATALOG_DEPENDENCIES_MAX)?;
        let components = members(stated, "components", component)?;
        within("components", components.len(), "catalog_components_max", CATALOG_COMPONENTS_MAX)?;
        let actions = members(stated, "actions", |at, value| {
            let policy = match object(value, at)?.get("policy") {
                Some(policy) => object(policy, &format!("{at}/policy"))?.clone(),
                None => Map::new(),
            };
            Ok(CatalogAction { policy: ActionPolicy(policy) })
        })?;
        within("actions", actions.len(), "catalog_components_max", CATALOG_COMPONENTS_MAX)?;
        Ok(Self { id: id.to_owned(), version, dependencies, components, actions })
    }

    /// Catalog id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its version.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// The catalogs that it builds on, and what it asks of each.
    pub fn dependencies(&self) -> &BTreeMap<String, VersionReq> {
        &self.dependencies
    }

    /// A component that it declares.
    pub fn component(&self, name: &str) -> Option<&Component> {
        self.components.get(name)
    }

    /// An action that it declares.
    pub fn action(&self, name: &str) -> Option<&CatalogAction> {
        self.actions.get(name)
    }
}

fn component(at: &str, value: &Value) -> Result<Component, BadManifest> {
    let stated = object(value, at)?;
    let properties: BTreeMap<_, _> = match stated.get("properties") {
        Some(declared) => object(declared, &format!("{at}/properties"))?.clone().into_iter().collect(),
        None => BTreeMap::new(),
    };
    let known = |key: &str, names: &BTreeSet<String>| match names.iter().find(|name| !properties.contains_key(*name)) {
        Some(name) => Err(field(format!("{at}/{key}"), format!("names the property {name:?}, which is not declared"))),
        None => Ok(()),
    };
    let required = names(stated, at, "required")?.unwrap_or_default();
    known("required", &required)?;
    let bindings = names(stated, at, "bindings")?;
    bindings.iter().try_for_each(|bindings| known("bindings", bindings))?;
    let slots = names(stated, at, "slots")?.unwrap_or_default();
    let actions = names(stated, at, "actions")?;
    Ok(Component { properties, required, slots, actions, bindings })
}

fn object<'v>(value: &'v Value, at: &str) -> Result<&'v Map<String, Value>, BadManifest> {
    value.as_object().ok_or_else(|| field(at, "is no object"))
}

fn name<'v>(stated: &'v Map<String, Value>, key: &str) -> Result<&'v str, BadManifest> {
    let text = stated.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.ok_or_else(|| field(format!("/{key}"), "is no text, or an empty one"))
}

/// The members of an object, each read with its place.
fn members<T>(
    stated: &Map<String, Value>,
    key: &str,
    read: impl Fn(&str, &Value) -> Result<T, BadManifest>,
) -> Result<BTreeMap<String, T>, BadManifest> {
    let Some(value) = stated.get(key) else { return Ok(BTreeMap::new()) };
    let list = object(value, &format!("/{key}"))?;
    list.iter().map(|(name, value)| Ok((name.clone(), read(&format!("/{key}/{}", token(name)), value)?))).collect()
}

/// A name as a token of a JSON pointer.
fn token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A list of names; one that stands twice counts once.
fn names(stated: &Map<String, Value>, at: &str, key: &str) -> Result<Option<BTreeSet<String>>, BadManifest> {
    let Some(value) = stated.get(key) else { return Ok(None) };
    let list = value.as_array().and_then(|list| list.iter().map(|name| name.as_str().map(str::to_owned)).collect());
    list.map(Some).ok_or_else(|| field(format!("{at}/{key}"), "is no list of names"))
}

/// Levels of a value; its parser bounds them, so that this does too.
fn levels(value: &Value) -> usize {
    let inner = match value {
        Value::Array(list) => list.iter().map(levels).max(),
        Value::Object(map) => map.values().map(levels).max(),
        _ => return 0,
    };
    inner.unwrap_or(0) + 1
}
