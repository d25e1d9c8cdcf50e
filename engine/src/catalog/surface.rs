//! A surface against the catalogs that it is made of.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{CatalogAction, Catalogs, Component, Graph, Manifest, Unresolved, Version, VersionReq};
use crate::control::schema::{Checker, Misfit};
use crate::limits::{SURFACE_BYTES_MAX, SURFACE_NODES_MAX};
use crate::state::{BadPointer, check_pointer};

/// The slot of children that are given without naming one.
const CHILDREN: &str = "children";

/// Why a surface may not be shown. The log keeps it whatever this says.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsuitable {
    /// It is no definition of a surface. Send an object with `catalog` and `components`.
    #[error("{reason}")]
    NotASurface {
        /// What is missing or of the wrong type.
        reason: String,
    },
    /// It is larger than a surface may be. Split it.
    #[error("its {what} of {count} are above {limit} = {count_max}")]
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
    /// No catalog of this id is registered. Register it, or show a fallback.
    #[error("no catalog {id:?} is registered")]
    UnknownCatalog {
        /// Catalog id.
        id: String,
    },
    /// The catalog is registered, this version is not. Register it, or show a fallback.
    #[error("catalog {id:?} is not registered in version {version:?}")]
    UnknownVersion {
        /// Catalog id.
        id: String,
        /// The version, as it was stated.
        version: String,
    },
    /// The catalog's dependencies do not fit together.
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    /// A node is of a component that neither the catalog nor its dependencies declare.
    #[error("node {node:?}: no catalog declares the component {component:?}")]
    UnknownComponent {
        /// Node id.
        node: String,
        /// Name of the component.
        component: String,
    },
    /// A node has, or binds, a property that its component does not declare.
    #[error("node {node:?}: its component has no property {property:?}")]
    UnknownProperty {
        /// Node id.
        node: String,
        /// The property.
        property: String,
    },
    /// A node lacks a property that its component needs.
    #[error("node {node:?}: its component needs the property {property:?}")]
    MissingProperty {
        /// Node id.
        node: String,
        /// The property.
        property: String,
    },
    /// A property does not fit its schema.
    #[error("node {node:?}: {property:?} does not fit its schema: {}", errors.join("; "))]
    BadProperty {
        /// Node id.
        node: String,
        /// The property.
        property: String,
        /// Where and what, without values.
        errors: Vec<String>,
    },
    /// A node gives children to a slot that its component does not have.
    #[error("node {node:?}: its component has no slot {slot:?}")]
    UnknownSlot {
        /// Node id.
        node: String,
        /// The slot.
        slot: String,
    },
    /// A node triggers an action that no catalog declares, or that its component may not trigger.
    #[error("node {node:?}: its component may not trigger the action {action:?}")]
    UnknownAction {
        /// Node id.
        node: String,
        /// The action.
        action: String,
    },
    /// A node binds a property that may not be bound.
    #[error("node {node:?}: {property:?} may not be bound")]
    NotBindable {
        /// Node id.
        node: String,
        /// The property.
        property: String,
    },
    /// A binding does not lead into the state, or leads where it must not.
    #[error("node {node:?}: the binding of {property:?} is unsafe: {reason}")]
    UnsafeBinding {
        /// Node id.
        node: String,
        /// The property.
        property: String,
        /// Why.
        reason: BadPointer,
    },
}

fn not(reason: impl Into<String>) -> Unsuitable {
    Unsuitable::NotASurface { reason: reason.into() }
}

impl Catalogs {
    /// Whether a surface, as `surface.create` defines it, is made of what its catalog and that one's dependencies declare: components,
    /// properties and their schemas, slots, actions, bindings. The versions that it is made of, or the first thing that does not fit.
    ///
    /// A node is `{id, component, properties, bindings, actions, slots, children}`: `bindings` leads from a property to a JSON pointer into
    /// the state, `actions` from an event to the name of an action, `slots` from a slot to children. Whether the nodes form a tree is
    /// noted where the surface is folded.
    /// Cost: proportional to the definition, within [`SURFACE_BYTES_MAX`] and [`SURFACE_NODES_MAX`].
    ///
    /// # Errors
    /// See [`Unsuitable`].
    pub fn check_surface(&self, definition: &str) -> Result<Graph, Unsuitable> {
        within("bytes", definition.len(), "surface_bytes_max", SURFACE_BYTES_MAX)?;
        let definition: Value = serde_json::from_str(definition).map_err(|error| not(format!("it is no JSON: {error}")))?;
        let (graph, own) = self.of_surface(&definition)?;
        let mut nodes = Vec::new();
        match definition.get("components") {
            Some(Value::Array(list)) => list.iter().for_each(|node| collect(node, &mut nodes)),
            _ => return Err(not("it has no list of components")),
        }
        if let Some(root) = definition.get("root") {
            collect(root, &mut nodes);
        }
        within("nodes", nodes.len(), "surface_nodes_max", SURFACE_NODES_MAX)?;
        let known = Known { catalogs: self, graph: &graph, own };
        let mut checkers = BTreeMap::new();
        for node in nodes {
            known.check(node, &mut checkers)?;
        }
        Ok(graph)
    }

    fn of_surface(&self, definition: &Value) -> Result<(Graph, &Manifest), Unsuitable> {
        let catalog = definition.get("catalog").ok_or_else(|| not("it names no catalog"))?;
        let said = |key: &str| catalog.get(key).and_then(Value::as_str).ok_or_else(|| not(format!("its catalog has no {key}")));
        let (id, stated) = (said("id")?, said("version")?);
        if self.versions(id).next().is_none() {
            return Err(Unsuitable::UnknownCatalog { id: id.to_owned() });
        }
        let unknown = || Unsuitable::UnknownVersion { id: id.to_owned(), version: stated.to_owned() };
        let version = Version::parse(stated).map_err(|_| unknown())?;
        let own = self.get(id, &version).ok_or_else(unknown)?;
        let exactly = VersionReq::parse(&format!("={version}")).map_err(|_| unknown())?;
        Ok((self.resolve(&[(id, exactly)])?, own))
    }
}

fn within(what: &'static str, count: usize, limit: &'static str, count_max: usize) -> Result<(), Unsuitable> {
    if count > count_max { Err(Unsuitable::TooLarge { what, count, limit, count_max }) } else { Ok(()) }
}

/// A node and those inside it. The parser bounds the depth.
fn collect<'v>(node: &'v Value, nodes: &mut Vec<&'v Map<String, Value>>) {
    let Value::Object(of) = node else { return };
    nodes.push(of);
    let slots = of.get("slots").and_then(Value::as_object).into_iter().flat_map(Map::values);
    for children in ["child", CHILDREN].into_iter().filter_map(|key| of.get(key)).chain(slots) {
        match children {
            Value::Array(list) => list.iter().for_each(|child| collect(child, nodes)),
            child => collect(child, nodes),
        }
    }
}

/// What a surface may be made of: its catalog first, then those that it builds on, by id.
struct Known<'c> {
    catalogs: &'c Catalogs,
    graph: &'c Graph,
    own: &'c Manifest,
}

/// Schemas that were made ready, by component and property.
type Checkers<'v> = BTreeMap<(&'v str, &'v str), Checker>;

impl<'c> Known<'c> {
    fn manifests(&self) -> impl Iterator<Item = &'c Manifest> {
        let (catalogs, own) = (self.catalogs, self.own);
        let others = self.graph.iter().filter(move |(id, _)| *id != own.id());
        [own].into_iter().chain(others.filter_map(move |(id, version)| catalogs.get(id, version)))
    }

    fn component(&self, name: &str) -> Option<&'c Component> {
        self.manifests().find_map(|manifest| manifest.component(name))
    }

    fn action(&self, name: &str) -> Option<&'c CatalogAction> {
        self.manifests().find_map(|manifest| manifest.action(name))
    }

    fn check<'v>(&self, node: &'v Map<String, Value>, checkers: &mut Checkers<'v>) -> Result<(), Unsuitable> {
        let text = |keys: &[&str]| keys.iter().find_map(|key| node.get(*key)?.as_str());
        let id = || text(&["id"]).unwrap_or_default().to_owned();
        let name = text(&["component", "type"]).ok_or_else(|| not(format!("node {:?} names no component", id())))?;
        let unknown = || Unsuitable::UnknownComponent { node: id(), component: name.to_owned() };
        let component = self.component(name).ok_or_else(unknown)?;
        let members = |keys: &[&str]| keys.iter().find_map(|key| node.get(*key)).and_then(Value::as_object);
        let properties = members(&["properties", "props"]);
        let bindings = members(&["bindings"]);
        for (property, value) in properties.into_iter().flatten() {
            let unknown = || Unsuitable::UnknownProperty { node: id(), property: property.clone() };
            let schema = component.properties.get(property).ok_or_else(unknown)?;
            let bad = |errors| Unsuitable::BadProperty { node: id(), property: property.clone(), errors };
            let checker = match checkers.entry((name, property)) {
                std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(Checker::new(schema.clone()).map_err(|reason| bad(vec![reason]))?)
                }
            };
            checker.check(value).map_err(|misfit| match misfit {
                Misfit::Schema(reason) => bad(vec![reason]),
                Misfit::Response(errors) => bad(errors),
            })?;
        }
        for (property, pointer) in bindings.into_iter().flatten() {
            if !component.properties.contains_key(property) {
                return Err(Unsuitable::UnknownProperty { node: id(), property: property.clone() });
            }
            if component.bindings.as_ref().is_some_and(|bindable| !bindable.contains(property)) {
                return Err(Unsuitable::NotBindable { node: id(), property: property.clone() });
            }
            let pointer = pointer.as_str().or_else(|| pointer.get("path")?.as_str()).ok_or(BadPointer::NotAPointer);
            pointer.and_then(check_pointer).map_err(|reason| Unsuitable::UnsafeBinding {
                node: id(),
                property: property.clone(),
                reason,
            })?;
        }
        let has = |property: &String| [properties, bindings].into_iter().flatten().any(|of| of.contains_key(property));
        if let Some(property) = component.required.iter().find(|property| !has(property)) {
            return Err(Unsuitable::MissingProperty { node: id(), property: property.clone() });
        }
        self.check_around(node, component, &id)
    }

    /// Slots and actions.
    fn check_around(&self, node: &Map<String, Value>, component: &Component, id: &dyn Fn() -> String) -> Result<(), Unsuitable> {
        let named = node.get("slots").and_then(Value::as_object).into_iter().flat_map(Map::keys).map(String::as_str);
        let unnamed = ["child", CHILDREN].into_iter().filter(|key| node.contains_key(*key)).map(|_| CHILDREN);
        if let Some(slot) = named.chain(unnamed).find(|slot| !component.slots.contains(*slot)) {
            return Err(Unsuitable::UnknownSlot { node: id(), slot: slot.to_owned() });
        }
        let events = ["actions", "events"].into_iter().find_map(|key| node.get(key)).and_then(Value::as_object);
        for action in events.into_iter().flat_map(Map::values) {
            let name = action.as_str().or_else(|| action.get("action")?.as_str()).unwrap_or_default();
            let may = component.actions.as_ref().is_none_or(|may| may.contains(name));
            if !may || self.action(name).is_none() {
                return Err(Unsuitable::UnknownAction { node: id(), action: name.to_owned() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    fn catalogs() -> Catalogs {
        let mut catalogs = Catalogs::default();
        for manifest in [
            json!({"id": "basic", "version": "1.0.0", "components": {
                "Text": {"properties": {"value": {"type": "string", "maxLength": 5}, "size": {"type": "integer"}}, "required": ["value"],
                         "bindings": ["value"]},
                "Column": {"slots": ["children", "footer"]}}}),
            json!({"id": "kit", "version": "2.0.0", "dependencies": {"basic": "^1.0"}, "actions": {"send": {}, "drop": {}},
                   "components": {"Button": {"actions": ["send"]}}}),
        ] {
            catalogs.register(Manifest::parse(&manifest.to_string()).unwrap()).unwrap();
        }
        catalogs
    }

    fn surface(components: Value) -> Value {
        json!({"surfaceId": "u", "catalog": {"id": "kit", "version": "2.0.0"}, "root": "a", "components": components})
    }

    #[track_caller]
    fn refused(definition: &Value, reason: &str) {
        let error = catalogs().check_surface(&definition.to_string()).unwrap_err();
        assert_eq!(error.to_string(), reason);
    }

    #[test]
    fn a_surface_of_declared_things_tells_the_versions_it_is_made_of() {
        let fits = surface(json!([
            {"id": "a", "component": "Column", "children": ["b", {"id": "c", "type": "Text", "bindings": {"value": "/form/name"}}],
             "slots": {"footer": ["d"]}},
            {"id": "b", "component": "Text", "properties": {"value": "Hi", "size": 2}},
            {"id": "d", "component": "Button", "actions": {"press": "send"}},
        ]));
        let graph = catalogs().check_surface(&fits.to_string()).unwrap();
        assert_eq!(graph.version("basic").map(ToString::to_string).as_deref(), Some("1.0.0"));
    }

    #[test]
    fn what_no_catalog_declares_is_refused_by_its_name() {
        let of = |id: &str, version: &str| json!({"catalog": {"id": id, "version": version}, "components": []});
        refused(&of("none", "1.0.0"), "no catalog \"none\" is registered");
        refused(&of("kit", "2.0.1"), "catalog \"kit\" is not registered in version \"2.0.1\"");
        refused(&of("kit", "two"), "catalog \"kit\" is not registered in version \"two\"");
        refused(&json!({"components": []}), "it names no catalog");
        refused(&json!({"catalog": {"id": "kit", "version": "2.0.0"}}), "it has no list of components");
        let node = |node: Value, reason: &str| refused(&surface(json!([node])), reason);
        node(json!({"id": "a"}), "node \"a\" names no component");
        node(json!({"id": "a", "component": "Map"}), "node \"a\": no catalog declares the component \"Map\"");
        node(json!({"id": "a", "component": "Text"}), "node \"a\": its component needs the property \"value\"");
        let text = |more: Value| {
            let mut node = json!({"id": "a", "component": "Text", "properties": {"value": "x"}});
            node.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            node
        };
        node(text(json!({"properties": {"value": "x", "color": 1}})), "node \"a\": its component has no property \"color\"");
        node(text(json!({"bindings": {"color": "/x"}})), "node \"a\": its component has no property \"color\"");
        node(text(json!({"bindings": {"size": "/x"}})), "node \"a\": \"size\" may not be bound");
        node(text(json!({"children": ["b"]})), "node \"a\": its component has no slot \"children\"");
        node(text(json!({"actions": {"press": "nothing"}})), "node \"a\": its component may not trigger the action \"nothing\"");
        let button = json!({"id": "a", "component": "Button", "actions": {"press": "drop"}});
        node(button, "node \"a\": its component may not trigger the action \"drop\"");
        let column = json!({"id": "a", "component": "Column", "slots": {"header": []}});
        node(column, "node \"a\": its component has no slot \"header\"");
        let inner = json!({"id": "a", "component": "Column", "slots": {"footer": [{"id": "z", "component": "Map"}]}});
        node(inner, "node \"z\": no catalog declares the component \"Map\"");
    }

    #[test]
    fn a_property_that_does_not_fit_says_where_without_its_value() {
        let definition = surface(json!([{"id": "a", "component": "Text", "properties": {"value": "secret!"}}]));
        let error = catalogs().check_surface(&definition.to_string()).unwrap_err();
        assert!(matches!(&error, Unsuitable::BadProperty { property, .. } if property == "value"), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }

    #[test]
    fn a_binding_leads_into_the_state_and_nowhere_else() {
        for (pointer, reason) in [
            ("name", BadPointer::NotAPointer),
            ("/a/__proto__/b", BadPointer::Prototype { token: "__proto__".to_owned() }),
            ("/constructor", BadPointer::Prototype { token: "constructor".to_owned() }),
            ("/a~2", BadPointer::NotAPointer),
        ] {
            let definition = surface(json!([{"id": "a", "component": "Text", "bindings": {"value": pointer}}]));
            let error = catalogs().check_surface(&definition.to_string()).unwrap_err();
            assert_eq!(error, Unsuitable::UnsafeBinding { node: "a".to_owned(), property: "value".to_owned(), reason }, "{pointer}");
        }
    }

    #[test]
    fn a_surface_of_a_hundred_thousand_nodes_is_refused_at_once() {
        let nodes: Vec<Value> = (0..100_000).map(|n| json!({"id": n})).collect();
        let error = catalogs().check_surface(&surface(json!(nodes)).to_string()).unwrap_err();
        assert!(matches!(error, Unsuitable::TooLarge { .. }), "{error}");
        let many: Vec<Value> = (0..=SURFACE_NODES_MAX).map(|n| json!({"id": n})).collect();
        let error = catalogs().check_surface(&surface(json!(many)).to_string()).unwrap_err();
        assert!(matches!(error, Unsuitable::TooLarge { limit: "surface_nodes_max", .. }), "{error}");
    }
}
