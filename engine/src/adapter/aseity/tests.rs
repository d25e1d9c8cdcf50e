//! Sessions that are told in the protocol and read back, through a store.

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Decoder, session_event, session_messages};
use crate::fact::{Fact, TurnEnded, TurnStarted};
use crate::{Batch, Engine, InteractionStatus, ItemKind, Window};

struct Told {
    folder: TempDir,
    engine: Engine,
    decoder: Decoder,
}

impl Told {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(folder.path().join("store")).unwrap();
        Self { folder, engine, decoder: Decoder::new() }
    }

    fn of(events: &[Value]) -> Self {
        let mut told = Self::new();
        events.iter().for_each(|event| told.tell("s", event));
        told
    }

    fn tell(&mut self, session: &str, event: &Value) {
        let text = event.to_string();
        let mut facts = Vec::new();
        self.decoder.decode(&text, &mut facts);
        self.engine.append(session, Batch::of(facts)).unwrap();
    }

    fn reopened(self) -> Self {
        self.engine.close().unwrap();
        let engine = Engine::open(self.folder.path().join("store")).unwrap();
        Self { engine, ..self }
    }

    /// Status and artifacts of a turn.
    #[track_caller]
    fn turn(&self, id: &str) -> (String, Option<Value>, Option<Value>) {
        let page = self.engine.view().window("s", Window::items(500)).unwrap();
        let turn = page.turns().filter_map(|turn| turn.turn()).find(|turn| turn.id() == id).unwrap();
        let artifacts = turn.artifacts().map(|list| list.map(|(path, kind)| json!([path, kind])).collect());
        (turn.stated_status().to_owned(), artifacts, turn.error().map(|error| serde_json::from_str(&error.joined()).unwrap()))
    }

    fn pending(&self) -> Vec<String> {
        self.engine.view().pending("s").unwrap().interactions().map(|asked| asked.id().to_owned()).collect()
    }

    fn interaction(&self, id: &str) -> InteractionStatus {
        let page = self.engine.view().window("s", Window::items(500)).unwrap();
        let status = page.items().find_map(|item| match item.kind() {
            ItemKind::Interaction(asked) if asked.id() == id => Some(asked.status()),
            _ => None,
        });
        status.unwrap()
    }

    fn codes(&self) -> Vec<String> {
        self.engine.view().diagnostics("s").unwrap().map(|noted| noted.unwrap().code).collect()
    }

    fn messages(&self) -> Value {
        let view = self.engine.view();
        let page = view.window("s", Window::items(500)).unwrap();
        serde_json::from_str(session_messages(&view, &page).unwrap().as_str()).unwrap()
    }

    fn event(&self) -> Value {
        serde_json::from_str(session_event(&self.engine.view(), "s").unwrap().unwrap().as_str()).unwrap()
    }
}

fn start(turn: &str) -> Value {
    json!({"type": "turn_start", "turn_id": turn})
}

fn end(turn: &str, status: &str) -> Value {
    json!({"type": "turn_end", "turn_id": turn, "status": status})
}

fn references(paths: &[&str]) -> Value {
    paths.iter().map(|path| json!({"entryPath": path, "artifactType": "document"})).collect()
}

fn artifacts(turn: &str, paths: &[&str]) -> Value {
    json!({"type": "turn_artifacts", "turn_id": turn, "artifacts": references(paths)})
}

fn asks(turn: &str, id: &str) -> Value {
    json!({"type": "interaction_request", "turn_id": turn, "interaction_id": id, "data": {"q": id}})
}

fn current(turn: &str, status: &str, pending: &[&str]) -> Value {
    let pending: Value = pending.iter().map(|id| json!({"interactionId": id, "data": {"q": id}})).collect();
    json!({"type": "session_event", "current_turn": {"turnId": turn, "status": status, "pendingInteractions": pending}})
}

fn documents(paths: &[&str]) -> Option<Value> {
    Some(paths.iter().map(|path| json!([path, "document"])).collect())
}

#[test]
fn artifacts_belong_to_the_turn_that_they_name_whenever_they_come() {
    let told = Told::of(&[start("t1"), end("t1", "completed"), start("t2"), artifacts("t1", &["a"]), artifacts("t0", &["z"])]);
    assert_eq!(told.turn("t1"), ("completed".to_owned(), documents(&["a"]), None));
    assert_eq!(told.turn("t2"), ("running".to_owned(), None, None));
    assert_eq!(told.turn("t0"), ("unknown".to_owned(), documents(&["z"]), None));
    assert_eq!(told.event()["current_turn"]["turnId"], "t2");
    assert_eq!(told.codes(), Vec::<String>::new());
}

#[test]
fn a_collection_is_replaced_and_cleared_and_survives_a_rejected_one() {
    let mut told = Told::of(&[start("t"), artifacts("t", &["old", "kept"]), artifacts("t", &["kept", "./kept", "kept"])]);
    assert_eq!(told.turn("t").1, documents(&["kept", "./kept"]));
    told.tell(
        "s",
        &json!({"type": "turn_artifacts", "turn_id": "t", "artifacts": [{"entryPath": "new", "artifactType": "document"}, {"id": "x"}]}),
    );
    assert_eq!(told.turn("t").1, documents(&["kept", "./kept"]));
    told.tell("s", &artifacts("t", &[]));
    assert_eq!(told.turn("t").1, documents(&[]));
    assert_eq!(told.codes(), [super::code::LEGACY_ARTIFACT_REFERENCE]);
}

#[test]
fn a_path_in_another_session_is_another_artifact() {
    let mut told = Told::of(&[start("t"), artifacts("t", &["r"])]);
    told.tell("other", &start("t"));
    told.tell("other", &artifacts("t", &["r"]));
    told.tell("s", &artifacts("t", &[]));
    let other = told.engine.view().turn_artifacts("other", "t").unwrap().unwrap();
    assert_eq!(other.iter().map(|of| of.path.as_str()).collect::<Vec<_>>(), ["r"]);
}

#[test]
fn what_was_stated_after_a_page_was_asked_for_stands() {
    let page = |path: &str, at: u64| {
        json!({"type": "SessionMessages", "messages": [{"id": "m", "role": "assistant", "turnId": "t9", "text": "new"}],
            "turns": [{"turnId": "silent", "status": "completed", "artifacts": references(&["s"])}, {"turnId": "t9", "status": "completed", "artifacts": references(&[path])}],
            "requested_at_seq": at})
    };
    let told = Told::of(&[page("n", 0), artifacts("t9", &["live"]), page("n", 1)]);
    assert_eq!(told.turn("t9").1, documents(&["live"]));
    assert_eq!(told.turn("silent"), ("completed".to_owned(), documents(&["s"]), None));
    let told = Told::of(&[page("n", 0), artifacts("t9", &["live"]), page("newer", 2)]);
    assert_eq!(told.turn("t9").1, documents(&["newer"]));
}

#[test]
fn artifacts_that_only_a_message_states_reach_its_turn() {
    let message = json!({"id": "m", "role": "assistant", "turnId": "t", "text": "", "artifacts": references(&["a"]), "error": {"code": "x", "message": ""}});
    let told = Told::of(&[json!({"type": "SessionMessages", "messages": [message], "requested_at_seq": 0})]);
    assert_eq!(told.turn("t").1, documents(&["a"]));
    let back = &told.messages()["messages"][0];
    assert_eq!((&back["error"], &back["artifacts"]), (&json!({"code": "x", "message": ""}), &references(&["a"])));
}

#[test]
fn an_open_turn_that_is_absent_says_nothing_and_null_means_idle() {
    let mut told = Told::of(&[current("t", "running", &["i1", "i2", "i3"]), json!({"type": "session_event", "title": "x"})]);
    assert_eq!(told.pending(), ["i1", "i2", "i3"]);
    told.tell("s", &current("t", "running", &["i2"]));
    assert_eq!((told.pending(), told.interaction("i1")), (vec!["i2".to_owned()], InteractionStatus::Withdrawn));
    told.tell("s", &current("t", "running", &["i2", "i3"]));
    assert_eq!(told.pending(), ["i2", "i3"]);
    told.tell("s", &json!({"type": "session_event", "current_turn": null}));
    assert_eq!(told.turn("t").0, "unknown");
    assert_eq!((told.pending(), told.codes()), (Vec::new(), vec!["turn_ended_unobserved".to_owned()]));
    assert_eq!(told.event(), json!({"type": "session_event", "current_turn": null, "title": "x"}));
}

#[test]
fn a_turn_that_was_interrupted_keeps_its_artifacts_and_has_no_error() {
    let told =
        Told::of(&[start("t"), asks("t", "i"), artifacts("t", &["draft"]), end("t", "interrupted"), current("t", "interrupted", &[])]);
    assert_eq!(told.turn("t"), ("interrupted".to_owned(), documents(&["draft"]), None));
    assert_eq!(told.interaction("i"), InteractionStatus::Withdrawn);
    assert_eq!(told.event()["current_turn"], Value::Null);
    assert_eq!(told.codes(), Vec::<String>::new());
}

#[test]
fn statuses_that_hosts_keep_to_themselves_are_running_both_ways() {
    let told = Told::of(&[current("t", "waiting", &[]), asks("t", "i")]);
    assert_eq!(told.turn("t").0, "running");
    let open = json!({"turnId": "t", "status": "running", "pendingInteractions": [{"interactionId": "i", "data": {"q": "i"}}]});
    assert_eq!(told.event()["current_turn"], open);
    assert_eq!(told.codes(), [super::code::HOST_STATUS_ON_WIRE]);
    assert_eq!(told.reopened().event()["current_turn"], open, "what waits is told after a restart too");
}

#[test]
fn a_turn_of_a_process_that_is_gone_is_not_told_to_run() {
    let told = Told::of(&[start("t")]).reopened();
    assert_eq!(told.event()["current_turn"], Value::Null);
    assert_eq!(told.messages()["turns"][0], json!({"turnId": "t", "status": "unknown"}));
}

#[test]
fn the_open_turn_is_found_behind_many_items_of_others() {
    let mut told = Told::of(&[start("open")]);
    for n in 0..120 {
        told.tell("s", &artifacts(&format!("late{n}"), &["a"]));
        told.tell(
            "s",
            &json!({"type": "part_add", "turn_id": format!("late{n}"), "part": {"id": format!("p{n}"), "type": "text", "text": "x"}}),
        );
    }
    assert_eq!(told.event()["current_turn"]["turnId"], "open");
}

#[test]
fn imported_pages_go_out_as_they_came_in() {
    let turns = json!([{"turnId": "t0", "status": "completed", "artifacts": references(&["silent"])},
        {"turnId": "t1", "status": "failed", "error": {"code": "x", "message": ""}}]);
    let page = json!({"type": "SessionMessages", "messages": [
        {"id": "u", "role": "user", "turnId": "t1", "text": "q", "attachments": [{"id": 12345678901234567890_u64}]},
        {"id": "m", "role": "assistant", "turnId": "t1", "parts": [{"type": "text", "text": "a".repeat(5_000)}], "error": {"code": "y", "message": ""}}],
        "turns": turns, "requested_at_seq": 0});
    let out = Told::of(std::slice::from_ref(&page)).reopened().messages();
    assert_eq!(out["messages"], page["messages"]);
    assert_eq!(out["turns"], page["turns"]);
    assert_eq!(out.get("olderCursor"), None);
    let again = Told::of(std::slice::from_ref(&out)).messages();
    assert_eq!(again, out, "what went out comes in as the same");
}

#[test]
fn live_turns_go_out_as_messages_with_their_parts() {
    let told = Told::of(&[
        start("t"),
        json!({"type": "part_add", "turn_id": "t", "message_id": "m", "part": {"id": "r", "type": "reasoning"}}),
        json!({"type": "part_update", "part_id": "r", "delta": "hm"}),
        json!({"type": "part_add", "turn_id": "t", "message_id": "m", "part": {"id": "p", "type": "text", "text": "He"}}),
        json!({"type": "part_update", "part_id": "p", "delta": "llo"}),
        json!({"type": "part_complete", "part_id": "p", "part": {"id": "p", "type": "text", "text": "Hello"}}),
        json!({"type": "part_add", "turn_id": "t", "message_id": "m", "part": {"id": "chart", "type": "chart", "points": [1]}}),
        artifacts("t", &["a"]),
        json!({"type": "turn_end", "turn_id": "t", "status": "failed", "error": {"code": "max", "message": "", "max_attempts": 3}}),
    ]);
    assert_eq!(told.codes(), Vec::<String>::new());
    let error = json!({"code": "max", "message": "", "max_attempts": 3});
    let message = json!({"id": "m", "role": "assistant", "turnId": "t", "artifacts": references(&["a"]), "error": error, "parts": [
        {"id": "r", "type": "reasoning", "text": "hm"}, {"id": "p", "type": "text", "text": "Hello"}, {"id": "chart", "type": "chart", "points": [1]}]});
    let turn = json!({"turnId": "t", "status": "failed", "artifacts": references(&["a"]), "error": error});
    assert_eq!(told.messages(), json!({"type": "SessionMessages", "messages": [message], "turns": [turn]}));
}

#[test]
fn decoding_goes_on_after_a_restart() {
    let mut told = Told::of(&[
        start("t"),
        json!({"type": "part_add", "turn_id": "t", "message_id": "m", "part": {"id": "r", "type": "reasoning"}}),
        json!({"type": "part_update", "part_id": "r", "delta": "h"}),
        json!({"type": "part_add", "turn_id": "t", "message_id": "m", "part": {"id": "p", "type": "tool", "toolCallId": "c", "toolName": "grep"}}),
    ])
    .reopened();
    told.decoder = Decoder::new();
    told.decoder.learn(&told.engine.view().window("s", Window::items(50)).unwrap());
    told.tell("s", &json!({"type": "part_update", "part_id": "r", "delta": "m"}));
    told.tell("s", &json!({"type": "tool_result", "part_id": "p", "output": "3"}));
    assert_eq!(told.codes(), Vec::<String>::new());
    let parts: Vec<Value> =
        told.messages()["messages"].as_array().unwrap().iter().flat_map(|of| of["parts"].as_array().unwrap().clone()).collect();
    assert_eq!((&parts[0]["text"], &parts[1]["output"]), (&json!("hm"), &json!("3")));
}

#[test]
fn a_tool_goes_out_with_its_input_and_result() {
    let told = Told::of(&[
        start("t"),
        json!({"type": "part_add", "turn_id": "t", "part": {"id": "p", "type": "tool", "toolCallId": "c", "toolName": "grep"}}),
        json!({"type": "tool_input_delta", "tool_call_id": "c", "delta": "{\"q\":"}),
        json!({"type": "tool_input_complete", "tool_call_id": "c", "input": {"q": 1}}),
        json!({"type": "tool_result", "tool_call_id": "c", "output": {"hits": []}}),
        end("t", "completed"),
    ]);
    assert_eq!(told.codes(), Vec::<String>::new());
    let part = json!({"id": "c", "type": "tool", "toolCallId": "c", "toolName": "grep", "input": {"q": 1}, "status": "succeeded", "output": {"hits": []}});
    assert_eq!(told.messages()["messages"][0]["parts"], json!([part]));
}

#[test]
fn pages_of_a_session_follow_their_cursor_and_keep_turns_without_text() {
    let mut told = Told::new();
    for n in 0..30 {
        let turn = format!("t{n}");
        told.tell("s", &start(&turn));
        if n % 3 == 0 {
            told.tell("s", &json!({"type": "part_add", "turn_id": turn, "part": {"id": format!("p{n}"), "type": "text", "text": "x"}}));
        }
        told.tell("s", &artifacts(&turn, &["a"]));
        told.tell("s", &end(&turn, "completed"));
    }
    let view = told.engine.view();
    let mut page = view.window("s", Window::items(4)).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    loop {
        let out: Value = serde_json::from_str(session_messages(&view, &page).unwrap().as_str()).unwrap();
        for turn in out["turns"].as_array().unwrap() {
            assert_eq!(turn["artifacts"], references(&["a"]));
            seen.insert(turn["turnId"].as_str().unwrap().to_owned());
        }
        let Some(older) = out.get("olderCursor") else { break };
        page = view.page("s", &older.as_str().unwrap().parse().unwrap(), Window::items(4)).unwrap();
    }
    assert_eq!(seen.len(), 30);
}

#[test]
fn turns_that_another_protocol_told_go_out_too() {
    let told = Told::new();
    let started = TurnStarted { turn: "t".into(), ..TurnStarted::default() };
    let ended = TurnEnded { turn: Some("t".into()), status: "stopping".into(), ..TurnEnded::default() };
    told.engine.append("s", Batch::of(vec![Fact::TurnStarted(started), Fact::TurnEnded(ended)])).unwrap();
    assert_eq!(told.messages()["turns"], json!([{"turnId": "t", "status": "running"}]));
}
