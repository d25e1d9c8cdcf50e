//! JSON documents: patching and merging.
//!
//! **Invariant:** a patch is applied whole or not at all; a token that could touch a prototype is refused, arrays get no holes, and no
//! document becomes too deep to be read again. Removing the root leaves null.

use serde_json::{Map, Value};

use crate::limits::MERGED_BYTES_MAX;

/// Why a patch was not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PatchFailed {
    /// Index of the operation that failed; `None` when the patch is not a patch.
    pub(super) op_index: Option<usize>,
    /// For people.
    pub(super) reason: String,
}

const REFUSED_TOKENS: [&str; 3] = ["__proto__", "prototype", "constructor"];

/// Levels of a document; readers of JSON commonly stop at 128.
const DEPTH_MAX: usize = 120;

/// Applies an RFC 6902 patch, given as JSON. Cost: proportional to the patch and what it touches.
pub(super) fn apply(document: &mut Value, patch: &Value) -> Result<(), PatchFailed> {
    let operations = patch.as_array().ok_or_else(|| PatchFailed { op_index: None, reason: "not an array of operations".to_owned() })?;
    let mut done = Vec::with_capacity(operations.len());
    for (index, operation) in operations.iter().enumerate() {
        if let Err(reason) = step(document, operation, &mut done) {
            done.into_iter().rev().for_each(|undo| undo.run(document));
            return Err(PatchFailed { op_index: Some(index), reason });
        }
    }
    Ok(())
}

/// What takes one change back.
enum Undo {
    /// The root was this.
    Root(Value),
    /// The place had this value.
    Set(Vec<String>, Value),
    /// The place was not there.
    Take(Vec<String>),
    /// The place was there, with this value.
    Put(Vec<String>, Value),
}

impl Undo {
    fn run(self, document: &mut Value) {
        // Each undoes a change that was made, so that its place is there.
        match self {
            Self::Root(value) => *document = value,
            Self::Set(at, value) => {
                if let Some(place) = find_mut(document, &at) {
                    *place = value;
                }
            }
            Self::Take(at) => drop(take(document, &at)),
            Self::Put(at, value) => drop(insert(document, &at, value)),
        }
    }
}

fn step(document: &mut Value, operation: &Value, done: &mut Vec<Undo>) -> Result<(), String> {
    let path = pointer(operation, "path")?;
    let value = || operation.get("value").cloned().ok_or_else(|| "no value".to_owned());
    match operation.get("op").and_then(Value::as_str).unwrap_or_default() {
        "add" => add(document, path, value()?, done),
        "replace" => replace(document, path, value()?, done),
        "remove" if path.is_empty() => replace(document, path, Value::Null, done),
        "remove" => remove(document, path, done).map(|_| ()),
        "test" => {
            let expected = operation.get("value").ok_or("no value")?;
            let same = find(document, &path).is_some_and(|found| equal(found, expected));
            if same { Ok(()) } else { Err(format!("test of {} failed", shown(&path))) }
        }
        "copy" => {
            let from = pointer(operation, "from")?;
            let copied = find(document, &from).cloned().ok_or_else(|| format!("{} is not there", shown(&from)))?;
            add(document, path, copied, done)
        }
        "move" => {
            let from = pointer(operation, "from")?;
            if path == from {
                return find(document, &from).map(|_| ()).ok_or_else(|| format!("{} is not there", shown(&from)));
            }
            if path.starts_with(&from) {
                return Err(format!("{} cannot move into itself", shown(&from)));
            }
            let moved = remove(document, from, done)?;
            add(document, path, moved, done)
        }
        other => Err(format!("operation {other} is not known")),
    }
}

fn add(document: &mut Value, path: Vec<String>, value: Value, done: &mut Vec<Undo>) -> Result<(), String> {
    if path.len().saturating_add(depth(&value)) > DEPTH_MAX {
        return Err(format!("deeper than {DEPTH_MAX} levels"));
    }
    if path.is_empty() {
        done.push(Undo::Root(std::mem::replace(document, value)));
        return Ok(());
    }
    let (at, old) = insert(document, &path, value).ok_or_else(|| format!("{} has no place", shown(&path)))?;
    done.push(match old {
        Some(old) => Undo::Set(at, old),
        None => Undo::Take(at),
    });
    Ok(())
}

fn replace(document: &mut Value, path: Vec<String>, value: Value, done: &mut Vec<Undo>) -> Result<(), String> {
    if path.len().saturating_add(depth(&value)) > DEPTH_MAX {
        return Err(format!("deeper than {DEPTH_MAX} levels"));
    }
    let place = find_mut(document, &path).ok_or_else(|| format!("{} is not there", shown(&path)))?;
    let old = std::mem::replace(place, value);
    done.push(Undo::Set(path, old));
    Ok(())
}

/// Removes a value; gives a copy of it when it is small, since undoing needs it too.
fn remove(document: &mut Value, path: Vec<String>, done: &mut Vec<Undo>) -> Result<Value, String> {
    let value = take(document, &path).ok_or_else(|| format!("{} is not there", shown(&path)))?;
    done.push(Undo::Put(path, value.clone()));
    Ok(value)
}

/// The tokens of a JSON pointer.
fn pointer(operation: &Value, field: &str) -> Result<Vec<String>, String> {
    let text = operation.get(field).and_then(Value::as_str).ok_or_else(|| format!("no {field}"))?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let rest = text.strip_prefix('/').ok_or_else(|| format!("{text} is no pointer"))?;
    let tokens: Vec<String> = rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect();
    match tokens.iter().find(|token| REFUSED_TOKENS.contains(&token.as_str())) {
        Some(token) => Err(format!("token {token} is refused")),
        None => Ok(tokens),
    }
}

fn shown(path: &[String]) -> String {
    path.iter().fold(String::new(), |shown, token| shown + "/" + token)
}

/// An array index in its canonical form.
fn index(token: &str) -> Option<usize> {
    let canonical = token == "0" || (!token.starts_with('0') && !token.is_empty() && token.bytes().all(|b| b.is_ascii_digit()));
    if canonical { token.parse().ok() } else { None }
}

fn find<'v>(document: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(document, |value, token| match value {
        Value::Object(map) => map.get(token),
        Value::Array(list) => list.get(index(token)?),
        _ => None,
    })
}

fn find_mut<'v>(document: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(document, |value, token| match value {
        Value::Object(map) => map.get_mut(token),
        Value::Array(list) => list.get_mut(index(token)?),
        _ => None,
    })
}

/// Puts a value at a place; gives the place as it is found afterwards, and what an object had there.
fn insert(document: &mut Value, path: &[String], value: Value) -> Option<(Vec<String>, Option<Value>)> {
    let (last, parents) = path.split_last()?;
    match find_mut(document, parents)? {
        Value::Object(map) => {
            let old = map.insert(last.clone(), value);
            Some((path.to_vec(), old))
        }
        Value::Array(list) => {
            let at = if last == "-" { list.len() } else { index(last).filter(|at| *at <= list.len())? };
            list.insert(at, value);
            let mut place = parents.to_vec();
            place.push(at.to_string());
            Some((place, None))
        }
        _ => None,
    }
}

fn take(document: &mut Value, path: &[String]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    match find_mut(document, parents)? {
        Value::Object(map) => map.remove(last),
        Value::Array(list) => index(last).filter(|at| *at < list.len()).map(|at| list.remove(at)),
        _ => None,
    }
}

/// Levels of a value; the walk stops where it is too deep anyway.
fn depth(value: &Value) -> usize {
    fn below(value: &Value, level: usize) -> usize {
        if level > DEPTH_MAX {
            return level;
        }
        let next = level.saturating_add(1);
        match value {
            Value::Array(list) => list.iter().map(|value| below(value, next)).max().unwrap_or(next),
            Value::Object(map) => map.values().map(|value| below(value, next)).max().unwrap_or(next),
            _ => level,
        }
    }
    below(value, 0)
}

/// Equality by value: 1 and 1.0 are the same number.
fn equal(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => one == two || ((one.is_f64() || two.is_f64()) && one.as_f64() == two.as_f64()),
        (Value::Array(one), Value::Array(two)) => one.len() == two.len() && one.iter().zip(two).all(|(one, two)| equal(one, two)),
        (Value::Object(one), Value::Object(two)) => {
            one.len() == two.len() && one.iter().all(|(key, one)| two.get(key).is_some_and(|two| equal(one, two)))
        }
        _ => one == two,
    }
}

/// Keys that a merge had no place for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub(super) struct Dropped {
    /// How many.
    pub(super) count: u64,
    /// One of them.
    pub(super) first: Option<String>,
}

/// Merges the keys of one JSON object text into another, last write wins; what is no object changes nothing. A key whose value would make
/// the whole larger than [`MERGED_BYTES_MAX`] is dropped, with the value that it had: that is no longer what was said last.
pub(super) fn merge(into: &mut Option<String>, object: &str) -> Dropped {
    let mut dropped = Dropped::default();
    let Ok(Value::Object(new)) = serde_json::from_str(object) else { return dropped };
    let mut merged: Map<String, Value> = into.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    if into.as_ref().map_or(0, String::len) + object.len() <= MERGED_BYTES_MAX {
        merged.extend(new);
    } else {
        let mut bytes = 2 + merged.iter().map(|(key, value)| written(key, value)).sum::<usize>();
        for (key, value) in new {
            bytes -= merged.remove(&key).map_or(0, |old| written(&key, &old));
            let more = written(&key, &value);
            if bytes + more > MERGED_BYTES_MAX {
                dropped.count += 1;
                dropped.first.get_or_insert(key);
            } else {
                bytes += more;
                merged.insert(key, value);
            }
        }
    }
    *into = Some(Value::Object(merged).to_string());
    dropped
}

/// Bytes of a member of an object, with its colon and comma.
fn written(key: &str, value: &Value) -> usize {
    Value::from(key).to_string().len() + value.to_string().len() + 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn patched(mut document: Value, patch: &Value) -> Result<Value, Value> {
        match apply(&mut document, patch) {
            Ok(()) => Ok(document),
            Err(_) => Err(document),
        }
    }

    #[test]
    fn operations_do_what_the_standard_says() {
        let all = json!([
            {"op": "add", "path": "/l/-", "value": 3}, {"op": "add", "path": "/l/0", "value": 0}, {"op": "replace", "path": "/a", "value": {"b": 1}},
            {"op": "copy", "from": "/a", "path": "/c"}, {"op": "move", "from": "/a/b", "path": "/l/1"}, {"op": "remove", "path": "/a"},
            {"op": "test", "path": "/c", "value": {"b": 1.0}}, {"op": "add", "path": "/x~1y~0z", "value": null}
        ]);
        assert_eq!(patched(json!({"l": [1, 2], "a": 0}), &all), Ok(json!({"l": [0, 1, 1, 2, 3], "c": {"b": 1}, "x/y~z": null})));
        assert_eq!(patched(json!({"a": 1}), &json!([{"op": "remove", "path": ""}])), Ok(Value::Null));
    }

    #[test]
    fn what_has_no_place_fails_and_changes_nothing() {
        let document = json!({"l": [1, 2], "s": "x", "o": {}});
        for (op, path) in [
            ("add", "/l/3"),
            ("add", "/l/01"),
            ("remove", "/l/-"),
            ("replace", "/l/-"),
            ("add", "/n/x"),
            ("add", "/s/x"),
            ("remove", "/z"),
            ("add", "/__proto__/x"),
        ] {
            let patch = json!([{"op": "add", "path": "/t", "value": 1}, {"op": op, "path": path, "value": 1}]);
            assert_eq!(patched(document.clone(), &patch), Err(document.clone()), "{op} {path}");
        }
        let into_itself = json!([{"op": "move", "from": "/o", "path": "/o/p"}]);
        assert_eq!(patched(document.clone(), &into_itself), Err(document));
    }

    #[test]
    fn a_document_never_becomes_too_deep_to_be_read_again() {
        let mut document = json!({});
        let mut path = String::new();
        for _ in 0..300 {
            path.push_str("/a");
            let grown = apply(&mut document, &json!([{"op": "add", "path": path, "value": {}}]));
            if grown.is_err() {
                break;
            }
        }
        assert!(path.len() / 2 < 200);
        assert!(serde_json::from_str::<Value>(&document.to_string()).is_ok());
    }

    fn pointers() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["", "/a", "/b", "/a/b", "/l", "/l/0", "/l/1", "/l/-", "/l/5", "/l/0/a"]).prop_map(str::to_owned)
    }

    fn values() -> impl Strategy<Value = Value> {
        prop::sample::select(vec![json!(1), json!(null), json!([1, 2]), json!({"b": 1}), json!("x")])
    }

    proptest! {
        #[test]
        fn a_patch_is_applied_whole_or_not_at_all(
            start in prop::sample::select(vec![json!({}), json!({"a": {"b": 1}, "l": [1, {"a": 2}]}), json!([1])]),
            operations in prop::collection::vec((prop::sample::select(vec!["add", "remove", "replace", "move", "copy", "test"]), pointers(), pointers(), values()), 1..6),
        ) {
            let list: Vec<Value> = operations.iter().map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value})).collect();
            let one_by_one = list.iter().try_fold(start.clone(), |document, operation| patched(document, &json!([operation])).map_err(|_| ()));
            match (patched(start.clone(), &Value::Array(list)), one_by_one) {
                (Ok(whole), Ok(stepped)) => prop_assert_eq!(whole, stepped),
                (Err(unchanged), Err(())) => prop_assert_eq!(unchanged, start),
                (whole, stepped) => prop_assert!(false, "{:?} {:?}", whole, stepped),
            }
        }
    }
}
