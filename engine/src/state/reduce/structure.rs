//! Whether the nodes of a surface form a tree. What does not is noted, never mended: the definition stands as it was stated.
//!
//! **Absent:** catalogs, properties, slots, actions and bindings, which a resolver of the host knows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// A diagnostic code, and which nodes it is about.
type Note = (&'static str, String);

/// Ids that one diagnostic names.
const NAMED_MAX: usize = 8;

/// The nodes of a definition by id, each with the ids of its children.
#[derive(Default)]
struct Nodes<'v> {
    children: BTreeMap<&'v str, Vec<&'v str>>,
    twice: BTreeSet<&'v str>,
}

impl<'v> Nodes<'v> {
    /// Takes in a node and those inside it; its id, when it has one. The depth is that of the JSON, which its parser bounds.
    fn add(&mut self, node: &'v Value) -> Option<&'v str> {
        let mut children = Vec::new();
        let slots = node.get("slots").and_then(Value::as_object).into_iter().flat_map(Map::values);
        for given in ["children", "child"].into_iter().filter_map(|key| node.get(key)).chain(slots) {
            match given {
                Value::Array(list) => list.iter().for_each(|child| children.extend(self.child(child))),
                child => children.extend(self.child(child)),
            }
        }
        let id = node.get("id").and_then(Value::as_str)?;
        if self.children.contains_key(id) {
            self.twice.insert(id);
        }
        self.children.entry(id).or_default().extend(children);
        Some(id)
    }

    /// A child is named by its id or stands inside its parent.
    fn child(&mut self, child: &'v Value) -> Option<&'v str> {
        match child {
            Value::String(id) => Some(id),
            Value::Object(_) => self.add(child),
            _ => None,
        }
    }

    fn missing(&self) -> BTreeSet<&'v str> {
        self.children.values().flatten().copied().filter(|child| !self.children.contains_key(child)).collect()
    }

    fn reachable(&self, root: &'v str) -> BTreeSet<&'v str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            if let Some(children) = self.children.get(id)
                && reached.insert(id)
            {
                open.extend(children);
            }
        }
        reached
    }

    /// Nodes that are left when leaves are taken away until none is, and then what only hangs above: those on a cycle or between two.
    fn cyclic(&self) -> BTreeSet<&'v str> {
        let mut parents = BTreeMap::<&str, Vec<&'v str>>::new();
        let mut open_children = BTreeMap::<&'v str, usize>::new();
        for (id, children) in &self.children {
            let known: Vec<_> = children.iter().filter(|child| self.children.contains_key(*child)).collect();
            open_children.insert(id, known.len());
            known.into_iter().for_each(|child| parents.entry(child).or_default().push(id));
        }
        let mut leaves: Vec<&str> = open_children.iter().filter(|(_, open)| **open == 0).map(|(id, _)| *id).collect();
        while let Some(leaf) = leaves.pop() {
            open_children.remove(leaf);
            for parent in parents.get(leaf).into_iter().flatten() {
                if let Some(open) = open_children.get_mut(parent) {
                    *open -= 1;
                    if *open == 0 {
                        leaves.push(parent);
                    }
                }
            }
        }
        let mut left: BTreeSet<&'v str> = open_children.into_keys().collect();
        let mut open_parents: BTreeMap<&'v str, usize> = left.iter().map(|id| (*id, 0)).collect();
        for child in left.iter().filter_map(|id| self.children.get(id)).flatten() {
            open_parents.entry(child).and_modify(|open| *open += 1);
        }
        let mut tops: Vec<&'v str> = open_parents.iter().filter(|(_, open)| **open == 0).map(|(id, _)| *id).collect();
        while let Some(top) = tops.pop() {
            left.remove(top);
            for child in self.children.get(top).into_iter().flatten() {
                if let Some(open) = open_parents.get_mut(child) {
                    *open -= 1;
                    if *open == 0 {
                        tops.push(child);
                    }
                }
            }
        }
        left
    }
}

/// What is wrong with the nodes of a definition: the list `components`, under `root`. Cost: proportional to it.
pub(super) fn check(definition: &Map<String, Value>) -> Vec<Note> {
    let mut nodes = Nodes::default();
    match definition.get("components") {
        Some(Value::Array(list)) => {
            for node in list {
                nodes.add(node);
            }
        }
        _ => return Vec::new(),
    }
    let root = definition.get("root").and_then(|root| nodes.child(root));
    let mut missing = nodes.missing();
    missing.extend(root.filter(|root| !nodes.children.contains_key(root)));
    let unreachable = root.filter(|root| nodes.children.contains_key(root)).map(|root| {
        let reached = nodes.reachable(root);
        nodes.children.keys().copied().filter(|id| !reached.contains(id)).collect::<BTreeSet<_>>()
    });
    let found = [
        ("surface_duplicate_node", std::mem::take(&mut nodes.twice)),
        ("surface_missing_child", missing),
        ("surface_cycle", nodes.cyclic()),
        ("surface_unreachable_node", unreachable.unwrap_or_default()),
    ];
    found.into_iter().filter(|(_, ids)| !ids.is_empty()).map(|(code, ids)| (code, named(&ids))).collect()
}

fn named(ids: &BTreeSet<&str>) -> String {
    let shown: Vec<String> = ids.iter().take(NAMED_MAX).map(|id| format!("{:?}", id.chars().take(64).collect::<String>())).collect();
    let beyond = ids.len().saturating_sub(NAMED_MAX);
    if beyond == 0 { shown.join(", ") } else { format!("{} and {beyond} more", shown.join(", ")) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn codes(definition: &Value, expected: &[(&str, &str)]) {
        let found = check(definition.as_object().unwrap());
        assert_eq!(found.iter().map(|(code, what)| (*code, what.as_str())).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_tree_has_nothing_wrong() {
        codes(&json!({}), &[]);
        codes(
            &json!({"root": "a", "components": [{"id": "a", "children": ["b", "c"]}, {"id": "b"}, {"id": "c", "child": "d"}, {"id": "d"}]}),
            &[],
        );
        codes(&json!({"root": "a", "components": [{"id": "a", "children": [{"id": "b", "children": [{"id": "c"}]}]}]}), &[]);
        let slots = json!({"root": "a", "components": [{"id": "a", "slots": {"head": "b", "foot": [{"id": "c"}]}}, {"id": "b"}]});
        codes(&slots, &[]);
        // Two parents of one node are no cycle.
        codes(&json!({"root": "a", "components": [{"id": "a", "children": ["b", "c"]}, {"id": "b", "children": ["c"]}, {"id": "c"}]}), &[]);
    }

    #[test]
    fn every_fault_is_named_with_its_nodes() {
        codes(&json!({"root": "a", "components": [{"id": "a"}, {"id": "a"}]}), &[("surface_duplicate_node", "\"a\"")]);
        codes(&json!({"root": "a", "components": [{"id": "a", "children": ["z"]}]}), &[("surface_missing_child", "\"z\"")]);
        codes(&json!({"root": "z", "components": [{"id": "a"}]}), &[("surface_missing_child", "\"z\"")]);
        codes(&json!({"root": "a", "components": [{"id": "a"}, {"id": "b"}]}), &[("surface_unreachable_node", "\"b\"")]);
        // A node above the cycle and one below it are not on it.
        let cycle = json!({"root": "r", "components": [{"id": "r", "children": ["a"]}, {"id": "a", "children": ["b"]},
            {"id": "b", "children": ["a", "l"]}, {"id": "l"}]});
        codes(&cycle, &[("surface_cycle", "\"a\", \"b\"")]);
        codes(&json!({"root": "a", "components": [{"id": "a", "children": ["a"]}]}), &[("surface_cycle", "\"a\"")]);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let chain: Vec<_> = (0..200_000).map(|n| json!({"id": n.to_string(), "children": [(n + 1).to_string()]})).collect();
        codes(&json!({"root": "0", "components": chain}), &[("surface_missing_child", "\"200000\"")]);
    }
}
