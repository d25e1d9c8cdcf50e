//! Acceptance scenarios: streams of the three wire protocols, and what a session says after them, however the stream arrived.
//!
//! A line of a `.jsonl` file is a scenario: `id`, `title`, `protocol`, `events` and `expect`. An event is a JSON value, or a string of raw
//! server-sent events; `_s` in it names another session than `s1`, `_p` another protocol. An expectation is a path into the tree of
//! [`told`] (`at`, `|` between the steps; `s` another session) with the value there (`eq`; without it nothing may be there), or the codes
//! of all diagnostics in order (`diag`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a failing scenario is shown whole")]

mod told;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use turnstore::adapter::source::{Format, Item, Raw, Reader};
use turnstore::adapter::{Decode, Wire, aiui};
use turnstore::event::{Protocol, Stated};
use turnstore::{Batch, Engine};

const LINE_BYTES_MAX: usize = 1 << 20;

#[derive(Clone)]
struct Scenario {
    id: String,
    title: String,
    protocol: String,
    events: Vec<Value>,
    expect: Vec<Value>,
}

fn scenarios(text: &str) -> Vec<Scenario> {
    let word = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
    let list = |value: &Value, key: &str| value[key].as_array().unwrap().clone();
    let lines = text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|of| Scenario {
            id: word(&of, "id"),
            title: word(&of, "title"),
            protocol: word(&of, "protocol"),
            events: list(&of, "events"),
            expect: list(&of, "expect"),
        })
        .collect()
}

/// How a stream reaches the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Everything in as few appends as there are changes of session.
    AtOnce,
    /// An append for each event.
    EventByEvent,
    /// The process dies after every event, and goes on with what it held in memory of its source.
    Killed,
    /// Everything is folded again at the end.
    Rebuilt,
}

const WAYS: [Way; 4] = [Way::AtOnce, Way::EventByEvent, Way::Killed, Way::Rebuilt];

/// One event as its source gives it: the session, the name of the protocol, the text.
fn sourced(scenario: &Scenario, event: &Value) -> (String, String, String, bool) {
    let mut event = event.clone();
    let mut taken = |key: &str| event.as_object_mut()?.remove(key)?.as_str().map(str::to_owned);
    let session = taken("_s").unwrap_or_else(|| "s1".to_owned());
    let protocol = taken("_p").unwrap_or_else(|| scenario.protocol.clone());
    let protocol = if protocol == "agentui" { "agent-ui".to_owned() } else { protocol };
    match event.as_str() {
        Some(text) => (session, protocol, text.to_owned(), true),
        None => (session, protocol, event.to_string(), false),
    }
}

struct Host {
    folder: tempfile::TempDir,
    engine: Option<Engine>,
    decoders: BTreeMap<(String, String), Box<dyn Decode>>,
    sessions: BTreeSet<String>,
}

impl Host {
    fn new() -> Self {
        let mut host = Self { folder: tempfile::tempdir().unwrap(), engine: None, decoders: BTreeMap::new(), sessions: BTreeSet::new() };
        host.open();
        host
    }

    fn open(&mut self) {
        self.engine = None;
        self.engine = Some(Engine::open(self.folder.path().join("store")).unwrap());
    }

    fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    fn decode<'a>(&mut self, session: &str, protocol: &str, raw: Raw<'a>, facts: &mut Vec<Stated<'a>>) {
        let wire = Wire::named(protocol).unwrap_or_else(|| panic!("no protocol {protocol}"));
        let lane = (session.to_owned(), protocol.to_owned());
        self.decoders.entry(lane).or_insert_with(|| excerpt(wire)).decode_raw(raw, facts);
    }

    /// Takes in the whole stream.
    fn take(&mut self, scenario: &Scenario, way: Way) {
        let events: Vec<_> = scenario.events.iter().map(|event| sourced(scenario, event)).collect();
        let mut waiting: Vec<Stated<'_>> = Vec::new();
        for (index, (session, protocol, text, raw)) in events.iter().enumerate() {
            self.sessions.insert(session.clone());
            if *raw {
                let mut reader = Reader::of_format(text.as_bytes(), Format::Sse, LINE_BYTES_MAX);
                while let Some(item) = reader.read().unwrap() {
                    let Item::Event(raw) = item else { panic!("{}: {item:?}", scenario.id) };
                    let mut facts = Vec::new();
                    self.decode(session, protocol, raw, &mut facts);
                    self.engine().append(session, Batch::of(facts)).unwrap();
                }
            } else {
                self.decode(session, protocol, Raw { line: 0, text, name: None, id: None }, &mut waiting);
            }
            let goes_on = way == Way::AtOnce && events.get(index + 1).is_some_and(|(next, _, _, raw)| next == session && !raw);
            if !goes_on && !waiting.is_empty() {
                self.engine().append(session, Batch::of(std::mem::take(&mut waiting))).unwrap();
            }
            if way == Way::Killed {
                self.open();
            }
        }
        if way == Way::Rebuilt {
            let engine = self.engine.take().unwrap();
            engine.close().unwrap();
            turnstore::rebuild(&self.folder.path().join("store"), Engine::options(), &mut |_| {}).unwrap();
            self.open();
        }
    }
}

/// A decoder of excerpts: scenarios leave out what they are not about, such as the beginning of a run.
fn excerpt(wire: &Wire) -> Box<dyn Decode> {
    if wire.protocol == Protocol::AIUI { Box::new(aiui::Decoder::without_order()) } else { wire.decoder() }
}

fn at<'t>(tree: &'t Value, path: &str) -> Option<&'t Value> {
    path.split('|').try_fold(tree, |value, step| match value {
        Value::Array(list) => step.parse::<usize>().ok().and_then(|place| list.get(place)),
        value => value.get(step),
    })
}

/// What a scenario came to that it should not have.
fn failures(scenario: &Scenario, way: Way) -> Vec<String> {
    let mut host = Host::new();
    host.take(scenario, way);
    let view = host.engine().view();
    let trees: BTreeMap<&str, Value> = host.sessions.iter().map(|session| (session.as_str(), told::told(&view, session))).collect();
    let codes: Vec<String> = host.sessions.iter().flat_map(|session| told::codes(&view, session)).collect();
    let mut failures = Vec::new();
    for expected in &scenario.expect {
        if let Some(diag) = expected.get("diag") {
            if *diag != serde_json::json!(codes) {
                failures.push(format!("diagnostics: expected {diag}, got {codes:?}"));
            }
            continue;
        }
        let (path, session) = (expected["at"].as_str().unwrap(), expected["s"].as_str().unwrap_or("s1"));
        let got = trees.get(session).and_then(|tree| at(tree, path));
        match (expected.get("eq"), got) {
            (Some(value), got) if got != Some(value) => failures.push(format!("{path}: expected {value}, got {got:?}")),
            (None, Some(got)) => failures.push(format!("{path}: expected nothing, got {got}")),
            _ => {}
        }
    }
    if !failures.is_empty() {
        eprintln!("{} {way:?}: {}", scenario.id, trees.values().map(Value::to_string).collect::<Vec<_>>().join("\n"));
    }
    failures
}

/// Runs every scenario of a file, every way; how many there were.
fn hold(text: &str) -> usize {
    let scenarios = scenarios(text);
    let mut failed = Vec::new();
    for scenario in &scenarios {
        for way in WAYS {
            failed.extend(failures(scenario, way).into_iter().map(|what| format!("{} {way:?} ({}): {what}", scenario.id, scenario.title)));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    scenarios.len()
}

#[test]
fn every_acceptance_scenario_holds_however_its_events_arrive() {
    assert_eq!(hold(include_str!("scenarios.jsonl")), 27);
}

#[test]
fn every_further_rule_of_the_protocols_holds_however_its_events_arrive() {
    assert!(hold(include_str!("more.jsonl")) >= 27);
}

/// What of a session its hydration in its own protocol tells.
fn hydrated(tree: &Value, protocol: &str) -> Value {
    let of = |value: &Value, keys: &[&str]| keys.iter().map(|key| ((*key).to_owned(), value[*key].clone())).collect::<Value>();
    let each = |key: &str, keys: &[&str]| {
        let all = tree[key].as_object().into_iter().flatten();
        all.map(|(id, value)| (id.clone(), of(value, keys))).collect::<Value>()
    };
    let spoken: Value = tree["messages"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, message)| message["text"] != "")
        .map(|(id, message)| (id.clone(), of(message, &["text", "role"])))
        .collect();
    match protocol {
        "aseity" => serde_json::json!({
            "turns": each("turns", &["artifacts", "error"]), "messages": spoken, "pending": tree["pending"],
            "title": tree["session"]["title"],
        }),
        _ => serde_json::json!({
            "messages": spoken, "pending": tree["pending"], "queue": tree["queue"], "steer": tree["steer"],
            "artifacts": each("artifacts", &["kind", "status", "version", "preview", "read_ref", "diff_ref"]),
            "evidence": each("evidence", &["status", "verdict"]), "running": tree["current"]["state"] == "active",
        }),
    }
}

#[test]
fn what_hydrates_a_client_tells_what_the_session_has() {
    let mut compared = 0;
    for scenario in [scenarios(include_str!("scenarios.jsonl")), scenarios(include_str!("more.jsonl"))].concat() {
        let protocol = scenario.protocol.replace("agentui", "agent-ui");
        if protocol == "aiui" {
            continue;
        }
        let mut host = Host::new();
        host.take(&scenario, Way::AtOnce);
        let view = host.engine().view();
        let wire = Wire::named(&protocol).unwrap();
        let mut client = Host::new();
        for event in wire.hydrate(&view, "s1").unwrap().unwrap() {
            let event = event.unwrap();
            let mut facts = Vec::new();
            client.decode("s1", &protocol, Raw { line: 0, text: &event, name: None, id: None }, &mut facts);
            client.engine().append("s1", Batch::of(facts)).unwrap();
        }
        let (own, told) = (told::told(&view, "s1"), told::told(&client.engine().view(), "s1"));
        assert_eq!(hydrated(&told, &protocol), hydrated(&own, &protocol), "{} {}", scenario.id, scenario.title);
        compared += 1;
    }
    assert!(compared > 30);
}
