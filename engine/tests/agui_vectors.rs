//! What the official AG-UI client makes of recorded streams, and what this projection makes of them.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::panic,
    reason = "helpers of tests fail as tests do, and say why they skip"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use turnstore::adapter::aiui::{Folder, Start};
use turnstore::adapter::source::{Item, Reader};

/// A vector for which this projection differs from the client.
struct Exception {
    vector: &'static str,
    /// Why the client does what it does.
    client: &'static str,
    /// What somebody who reads the session wants instead.
    wanted: &'static str,
    /// Where our projection differs, and what it says there.
    ours: fn() -> Vec<(&'static str, Value)>,
}

fn exceptions() -> Vec<Exception> {
    const CLEARS: &str = "the end of any later run without interrupts clears the list, whether or not anybody answered";
    const WAITS: &str = "a question that nobody answered goes on waiting";
    vec![
        Exception {
            vector: "edge-interrupt-then-success-clears",
            client: CLEARS,
            wanted: WAITS,
            ours: || vec![("pendingInterrupts", json!([{"id": "i1", "reason": "approval"}]))],
        },
        Exception {
            vector: "edge-interrupt-then-cancelled-clears",
            client: CLEARS,
            wanted: WAITS,
            ours: || vec![("pendingInterrupts", json!([{"id": "i1", "reason": "approval"}]))],
        },
        Exception {
            vector: "edge-subagent-suspended-resume-next-run",
            client: CLEARS,
            wanted: WAITS,
            ours: || vec![("pendingInterrupts", json!([{"id": "i1", "reason": "x", "subagentRunId": "s"}]))],
        },
        Exception {
            vector: "conf-draft-duplicate-interrupt-id",
            client: "two interrupts with one id are two entries",
            wanted: "one question for one id, answered once",
            ours: || vec![("pendingInterrupts", json!([{"id": "i", "reason": "approval"}]))],
        },
        Exception {
            vector: "edge-state-delta-big-numbers",
            client: "every number is a double, so integers beyond 2^53 are rounded",
            wanted: "the integer that was sent",
            ours: || vec![("state", json!({"f": 1e21, "g": 0.1, "i": 9_007_199_254_740_993_i64, "n": 0}))],
        },
    ]
}

fn vectors() -> Option<PathBuf> {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/agui/vectors");
    let path = std::env::var_os("AGUI_VECTORS").map_or(usual, PathBuf::from);
    if !path.is_dir() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// The projection of the first events of a vector.
fn ours(folder: &Path, name: &str, events: usize) -> Value {
    let input = fs::read_to_string(folder.join(format!("{name}.input.json"))).unwrap_or_else(|_| "{}".to_owned());
    let mut fold = Folder::new(&Start::parse(&input).unwrap(), UNIX_EPOCH + Duration::from_secs(1_780_000_000));
    let bytes = fs::read(folder.join(format!("{name}.jsonl"))).unwrap();
    let mut reader = Reader::new(bytes.as_slice()).unwrap();
    for _ in 0..events {
        let Some(item) = reader.read().unwrap() else { break };
        match item {
            Item::Event(raw) => fold.event(raw),
            Item::Problem(problem) => fold.problem(problem),
        }
    }
    fold.finish()
}

/// Numbers as every JSON reader has them: 1.0 is 1.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => json!(float as i64),
            _ => value.clone(),
        },
        Value::Array(list) => list.iter().map(plain).collect(),
        Value::Object(fields) => Value::Object(fields.iter().map(|(key, value)| (key.clone(), plain(value))).collect::<Map<_, _>>()),
        _ => value.clone(),
    }
}

/// Ids that the client made up are `uuid#n` in the vectors; ours are made up otherwise. Both become the order in which they come.
fn renamed(value: &Value, known: &str) -> Value {
    let mut names = BTreeMap::new();
    fn walk(value: &Value, known: &str, names: &mut BTreeMap<String, String>) -> Value {
        match value {
            Value::String(text) if text.starts_with("uuid#") || (is_uuid(text) && !known.contains(text.as_str())) => {
                let next = format!("made-up-{}", names.len());
                Value::String(names.entry(text.clone()).or_insert(next).clone())
            }
            Value::Array(list) => list.iter().map(|value| walk(value, known, names)).collect(),
            Value::Object(fields) => Value::Object(fields.iter().map(|(key, value)| (key.clone(), walk(value, known, names))).collect()),
            _ => value.clone(),
        }
    }
    walk(value, known, &mut names)
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, b)| if [8, 13, 18, 23].contains(&at) { b == b'-' } else { b.is_ascii_hexdigit() })
}

struct Vector {
    name: String,
    client: Value,
    ours: Value,
    known: String,
}

fn all() -> Option<Vec<Vector>> {
    let folder = vectors()?;
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .filter_map(|file| file.unwrap().file_name().to_string_lossy().strip_suffix(".jsonl").map(str::to_owned))
        .collect();
    names.sort();
    let vectors = names.into_iter().map(|name| {
        let expected: Value = serde_json::from_str(&fs::read_to_string(folder.join(format!("{name}.expected.json"))).unwrap()).unwrap();
        let known = fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap();
        Vector { ours: ours(&folder, &name, usize::MAX), client: expected["client"].clone(), known, name }
    });
    Some(vectors.collect())
}

const PARTS: [&str; 3] = ["messages", "state", "pendingInterrupts"];

#[test]
fn completed_streams_project_to_what_the_client_shows() {
    let Some(vectors) = all() else { return };
    let exceptions = exceptions();
    let (mut equal, mut excepted, mut wrong) = (0, Vec::new(), Vec::new());
    for vector in vectors.iter().filter(|vector| vector.client["outcome"] == "completed") {
        let part = |of: &Value, part: &str| plain(&renamed(&of[part], &vector.known));
        let differing: Vec<&str> = PARTS.into_iter().filter(|name| part(&vector.client, name) != part(&vector.ours, name)).collect();
        let exception = exceptions.iter().find(|exception| exception.vector == vector.name);
        match (differing.is_empty(), exception) {
            (true, None) => equal += 1,
            (true, Some(_)) => wrong.push(format!("{} is no exception any more", vector.name)),
            (false, Some(exception)) => {
                assert!(!exception.client.is_empty() && !exception.wanted.is_empty());
                let stated = (exception.ours)();
                let names: Vec<&str> = stated.iter().map(|(name, _)| *name).collect();
                assert_eq!(names, differing, "{}", vector.name);
                for (name, value) in stated {
                    assert_eq!(plain(&vector.ours[name]), value, "{}", vector.name);
                }
                excepted.push(exception.vector);
            }
            (false, None) => {
                for name in differing {
                    wrong.push(format!(
                        "{} {name}\n  client {}\n  ours   {}",
                        vector.name,
                        part(&vector.client, name),
                        part(&vector.ours, name)
                    ));
                }
            }
        }
    }
    println!("{equal} equal, {} excepted", excepted.len());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(excepted.len() * 20 <= equal + excepted.len());
    assert_eq!(excepted.len(), exceptions.len());
}

/// Whether `ours` holds the client's messages, each with at least the text that the client had.
fn keeps_prefix(client: &Value, ours: &Value) -> bool {
    let empty = Vec::new();
    let (client, ours) = (client.as_array().unwrap_or(&empty), ours.as_array().unwrap_or(&empty));
    client.iter().zip(0..).all(|(message, place)| ours.get(place).is_some_and(|other| keeps(message, other)))
}

fn keeps(client: &Value, ours: &Value) -> bool {
    match (client, ours) {
        (Value::String(client), Value::String(ours)) => ours.starts_with(client.as_str()),
        (Value::Array(client), Value::Array(ours)) => {
            client.len() <= ours.len() && client.iter().zip(ours).all(|(client, ours)| keeps(client, ours))
        }
        // An activity is stated anew by what follows; only text grows.
        (Value::Object(client), Value::Object(ours)) if client.get("role") == Some(&json!("activity")) => {
            ours.get("id") == client.get("id")
        }
        (Value::Object(client), Value::Object(ours)) => {
            client.iter().all(|(key, value)| ours.get(key).is_some_and(|other| keeps(value, other)))
        }
        _ => plain(client) == plain(ours),
    }
}

#[test]
fn refused_streams_keep_the_prefix_and_say_why() {
    let (Some(vectors), Some(folder)) = (all(), vectors()) else { return };
    let (mut refused, mut wrong) = (0, Vec::new());
    for vector in vectors.iter().filter(|vector| vector.client["outcome"] != "completed") {
        refused += 1;
        let (before, after) = (renamed(&vector.client["messages"], &vector.known), renamed(&vector.ours["messages"], &vector.known));
        if !keeps_prefix(&before, &after) {
            wrong.push(format!("{}\n  client {before}\n  ours   {after}", vector.name));
        }
        // What the client had when it refused is what we have after the same events.
        let client: Vec<Value> = PARTS[..2].iter().map(|part| plain(&renamed(&vector.client[*part], &vector.known))).collect();
        let same = |events: usize| {
            let ours = ours(&folder, &vector.name, events);
            PARTS[..2].iter().map(|part| plain(&renamed(&ours[*part], &vector.known))).collect::<Vec<_>>() == client
        };
        if !(0..=vector.known.lines().count()).any(same) {
            wrong.push(format!("{} is never as the client left it: {}", vector.name, vector.client["messages"]));
        }
        let diagnostics = vector.ours["diagnostics"].as_array().unwrap();
        if !diagnostics.iter().any(|noted| noted["code"].as_str().is_some_and(|code| !code.is_empty())) {
            wrong.push(format!("{} has no diagnostic: {}", vector.name, vector.client["error"]));
        }
    }
    println!("{refused} refused");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
