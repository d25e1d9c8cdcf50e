//! JSON documents: patching and merging.
//!
//! **Invariant:** a patch is applied whole or not at all; a token that could touch a prototype is refused, arrays get no holes, and no
//! document becomes too deep to be read again, or grows above [`DOCUMENT_BYTES_MAX`]. Removing the root leaves null.

use serde_json::{Map, Value};

use crate::limits::{DOCUMENT_BYTES_MAX, MERGED_BYTES_MAX};

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

/// Bytes that a value counts for, beside its string or its members.
const VALUE_BYTES: usize = 32;

/// What [`DOCUMENT_BYTES_MAX`] bounds. Cost: the value.
pub(super) fn measure(value: &Value) -> usize {
    VALUE_BYTES
        + match value {
            Value::String(text) => text.len(),
            Value::Array(list) => list.iter().map(measure).sum(),
            Value::Object(map) => map.iter().map(|(key, value)| key.len() + measure(value)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

/// Applies an RFC 6902 patch, given as JSON, to a document of a measure. Cost: proportional to the patch and what it touches.
pub(super) fn apply(document: &mut Value, bytes: &mut usize, patch: &Value) -> Result<(), PatchFailed> {
    let operations = patch.as_array().ok_or_else(|| PatchFailed { op_index: None, reason: "not an array of operations".to_owned() })?;
    let mut room = Room { bytes: *bytes, copies: DOCUMENT_BYTES_MAX };
    let mut done = Vec::with_capacity(operations.len());
    for (index, operation) in operations.iter().enumerate() {
        if let Err(reason) = step(document, &mut room, operation, &mut done) {
            done.into_iter().rev().fold(None, |taken, undo: Undo| undo.run(document, taken));
            return Err(PatchFailed { op_index: Some(index), reason });
        }
    }
    *bytes = room.bytes;
    Ok(())
}

/// What a patch may still do. Measures are exact, so that every fold decides alike, whatever it began with.
struct Room {
    /// Measure of the document.
    bytes: usize,
    /// What may still be copied: what a patch replaces is kept until its end.
    copies: usize,
}

impl Room {
    /// Puts one measure in the place of another, unless the document would grow too large.
    fn exchange(&mut self, old: usize, new: usize) -> Result<(), String> {
        let bytes = self.bytes.saturating_sub(old).saturating_add(new);
        if new > old && bytes > DOCUMENT_BYTES_MAX {
            return Err(format!("above document_bytes_max = {DOCUMENT_BYTES_MAX}"));
        }
        self.bytes = bytes;
        Ok(())
    }

    fn copy(&mut self, value: &Value) -> Result<Value, String> {
        let left = self.copies.checked_sub(measure(value));
        self.copies = left.ok_or_else(|| format!("copies above document_bytes_max = {DOCUMENT_BYTES_MAX}"))?;
        Ok(value.clone())
    }
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
    /// The place was there, and its value is what the undoing before took out.
    Back(Vec<String>),
}

impl Undo {
    /// Gives what the change had put there; `taken` is what the undoing before gave.
    fn run(self, document: &mut Value, taken: Option<Value>) -> Option<Value> {
        // Each undoes a change that was made, so that its place is there.
        match self {
            Self::Root(value) => Some(std::mem::replace(document, value)),
            Self::Set(at, value) => find_mut(document, &at).map(|place| std::mem::replace(place, value)),
            Self::Take(at) => take(document, &at),
            Self::Put(at, value) => insert(document, &at, value).err(),
            Self::Back(at) => taken.and_then(|value| insert(document, &at, value).err()),
        }
    }
}

fn step(document: &mut Value, room: &mut Room, operation: &Value, done: &mut Vec<Undo>) -> Result<(), String> {
    let path = pointer(operation, "path")?;
    let value = || operation.get("value").cloned().ok_or_else(|| "no value".to_owned());
    match operation.get("op").and_then(Value::as_str).unwrap_or_default() {
        "add" => add(document, room, path, value()?, done),
        "replace" => replace(document, room, path, value()?, done),
        "remove" if path.is_empty() => replace(document, room, path, Value::Null, done),
        "remove" => remove(document, room, path, done),
        "test" => {
            let expected = operation.get("value").ok_or("no value")?;
            let same = find(document, &path).is_some_and(|found| equal(found, expected));
            if same { Ok(()) } else { Err(format!("test of {} failed", shown(&path))) }
        }
        "copy" => {
            let from = pointer(operation, "from")?;
            let copied = room.copy(find(document, &from).ok_or_else(|| format!("{} is not there", shown(&from)))?)?;
            add(document, room, path, copied, done)
        }
        "move" => {
            let from = pointer(operation, "from")?;
            if path == from {
                return find(document, &from).map(|_| ()).ok_or_else(|| format!("{} is not there", shown(&from)));
            }
            if path.starts_with(&from) {
                return Err(format!("{} cannot move into itself", shown(&from)));
            }
            relocate(document, room, from, path, done)
        }
        other => Err(format!("operation {other} is not known")),
    }
}

fn add(document: &mut Value, room: &mut Room, path: Vec<String>, value: Value, done: &mut Vec<Undo>) -> Result<(), String> {
    let (key, old) = place(document, &path);
    room.exchange(old, key + measure(&value))?;
    done.push(set(document, &path, value).map_err(|(_, reason)| reason)?);
    Ok(())
}

/// Sets the place; on failure gives back the value, and says why.
fn set(document: &mut Value, path: &[String], value: Value) -> Result<Undo, (Value, String)> {
    if path.len().saturating_add(depth(&value)) > DEPTH_MAX {
        return Err((value, format!("deeper than {DEPTH_MAX} levels")));
    }
    if path.is_empty() {
        return Ok(Undo::Root(std::mem::replace(document, value)));
    }
    match insert(document, path, value) {
        Ok((at, Some(old))) => Ok(Undo::Set(at, old)),
        Ok((at, None)) => Ok(Undo::Take(at)),
        Err(value) => Err((value, format!("{} has no place", shown(path)))),
    }
}

fn replace(document: &mut Value, room: &mut Room, path: Vec<String>, value: Value, done: &mut Vec<Undo>) -> Result<(), String> {
    if path.len().saturating_add(depth(&value)) > DEPTH_MAX {
        return Err(format!("deeper than {DEPTH_MAX} levels"));
    }
    let place = find_mut(document, &path).ok_or_else(|| format!("{} is not there", shown(&path)))?;
    room.exchange(measure(place), measure(&value))?;
    let old = std::mem::replace(place, value);
    done.push(Undo::Set(path, old));
    Ok(())
}

fn remove(document: &mut Value, room: &mut Room, path: Vec<String>, done: &mut Vec<Undo>) -> Result<(), String> {
    let (key, _) = place(document, &path);
    let value = take(document, &path).ok_or_else(|| format!("{} is not there", shown(&path)))?;
    room.exchange(key + measure(&value), 0)?;
    done.push(Undo::Put(path, value));
    Ok(())
}

/// Moves a value without copying it; undoing finds it where it went.
fn relocate(document: &mut Value, room: &mut Room, from: Vec<String>, path: Vec<String>, done: &mut Vec<Undo>) -> Result<(), String> {
    let (key, _) = place(document, &from);
    let value = take(document, &from).ok_or_else(|| format!("{} is not there", shown(&from)))?;
    let (new_key, old) = place(document, &path);
    let moved = match room.exchange(key + old, new_key) {
        Ok(()) => set(document, &path, value),
        Err(reason) => Err((value, reason)),
    };
    match moved {
        Ok(undo) => {
            done.push(Undo::Back(from));
            done.push(undo);
            Ok(())
        }
        Err((value, reason)) => {
            // It was there a moment ago.
            drop(insert(document, &from, value));
            Err(reason)
        }
    }
}

/// Measures of a place: of the key that a value needs there, and of what an addition replaces.
fn place(document: &Value, path: &[String]) -> (usize, usize) {
    let Some((last, parents)) = path.split_last() else { return (0, measure(document)) };
    match find(document, parents) {
        Some(Value::Object(map)) => (last.len(), map.get(last).map_or(0, |old| last.len() + measure(old))),
        _ => (0, 0),
    }
}

/// The tokens of a JSON pointer.
fn pointer(operation: &Value, field: &str) -> Result<Vec<String>, String> {
    let text = operation.get(field).and_then(Value::as_str).ok_or_else(|| format!("no {field}"))?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let rest = text.strip_prefix('/').ok_or_else(|| format!("{text} is no pointer"))?;
    let tokens: Vec<String> = rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect();
    match refused(&tokens) {
        Some(token) => Err(format!("token {token} is refused")),
        None => Ok(tokens),
    }
}

fn refused(tokens: &[String]) -> Option<&String> {
    tokens.iter().find(|token| REFUSED_TOKENS.contains(&token.as_str()))
}

/// Why a JSON pointer is not followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadPointer {
    /// It is no JSON pointer: it does not begin with `/`, or has an escape that there is not.
    #[error("it is no JSON pointer")]
    NotAPointer,
    /// A token of it would reach the prototype of an object in a client.
    #[error("its token {token:?} is refused")]
    Prototype {
        /// The token.
        token: String,
    },
}

/// Whether a text is a JSON pointer, wherever it leads.
pub(crate) fn is_pointer(text: &str) -> bool {
    let escapes = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    (text.is_empty() || text.starts_with('/')) && escapes
}

/// Whether a pointer may lead into a state.
pub(crate) fn check_pointer(text: &str) -> Result<(), BadPointer> {
    if !is_pointer(text) {
        return Err(BadPointer::NotAPointer);
    }
    let tokens: Vec<String> = text.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect();
    refused(&tokens).map_or(Ok(()), |token| Err(BadPointer::Prototype { token: token.clone() }))
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

/// Puts a value at a place; gives the place as it is found afterwards, and what an object had there. Gives back a value without a place.
fn insert(document: &mut Value, path: &[String], value: Value) -> Result<(Vec<String>, Option<Value>), Value> {
    let Some((last, parents)) = path.split_last() else { return Err(value) };
    match find_mut(document, parents) {
        Some(Value::Object(map)) => {
            let old = map.insert(last.clone(), value);
            Ok((path.to_vec(), old))
        }
        Some(Value::Array(list)) => {
            let at = if last == "-" { Some(list.len()) } else { index(last).filter(|at| *at <= list.len()) };
            let Some(at) = at else { return Err(value) };
            list.insert(at, value);
            let mut place = parents.to_vec();
            place.push(at.to_string());
            Ok((place, None))
        }
        _ => Err(value),
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
        let mut bytes = measure(&document);
        let applied = apply(&mut document, &mut bytes, patch);
        assert_eq!(bytes, measure(&document), "{patch}");
        match applied {
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
            let grown = apply(&mut document, &mut 0, &json!([{"op": "add", "path": path, "value": {}}]));
            if grown.is_err() {
                break;
            }
        }
        assert!(path.len() / 2 < 200);
        assert!(serde_json::from_str::<Value>(&document.to_string()).is_ok());
    }

    #[test]
    fn a_patch_may_shrink_what_is_too_large_and_never_make_it_larger() {
        let mut document = json!({"a": "x".repeat(DOCUMENT_BYTES_MAX - 200), "b": "y"});
        let mut bytes = measure(&document);
        let mut patched = |patch: Value| (apply(&mut document, &mut bytes, &patch).is_ok(), bytes);
        let (_, before) = patched(json!([]));
        let text = "z".repeat(200);
        for larger in [json!({"op": "add", "path": "/c", "value": text}), json!({"op": "replace", "path": "/b", "value": text})] {
            assert_eq!(patched(json!([{"op": "add", "path": "/d", "value": 1}, larger])), (false, before));
        }
        for copies in [json!({"op": "copy", "from": "", "path": "/c"}), json!({"op": "copy", "from": "/a", "path": "/a"})] {
            let twice = json!([copies, {"op": "remove", "path": "/c"}, copies]);
            assert_eq!(patched(twice), (false, before));
        }
        assert!(patched(json!([{"op": "move", "from": "/a", "path": "/b"}])).0);
        assert!(patched(json!([{"op": "move", "from": "/b", "path": ""}])).0);
        assert_eq!(patched(json!([{"op": "remove", "path": ""}])), (true, VALUE_BYTES));
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
