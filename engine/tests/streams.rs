//! Properties of whole streams, over generated events of the two streaming protocols.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use proptest::prelude::*;
use serde_json::{Value, json};
use turnstore::adapter::source::Raw;
use turnstore::adapter::{Decode, Wire};
use turnstore::event::Stated;
use turnstore::{Batch, Durability, Engine, ItemKind, StateHash, Window};

/// What only reasoning, calls and statuses say.
const INNER: &str = "inner";

fn aiui() -> impl Strategy<Value = Value> {
    let id = prop::sample::select(vec!["a", "b", "c"]);
    let text = prop::sample::select(vec!["", "one ", "two\n", "é"]);
    (0_u8..18, id, text).prop_map(|(kind, id, text)| match kind {
        0 => json!({"type": "RUN_STARTED", "threadId": "t", "runId": format!("run-{id}")}),
        1 => json!({"type": "RUN_FINISHED", "threadId": "t", "runId": format!("run-{id}")}),
        2 => json!({"type": "RUN_ERROR", "message": format!("{INNER}{text}")}),
        3 => json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant", "vendor": 1}),
        4..=6 => json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": text, "timestamp": 7}),
        7 => json!({"type": "TEXT_MESSAGE_END", "messageId": id}),
        8 => json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": id, "delta": text}),
        9 => json!({"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}),
        10 => json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": format!("{INNER}{text}")}),
        11 => json!({"type": "TOOL_CALL_START", "toolCallId": format!("c{id}"), "toolCallName": "f", "parentMessageId": id}),
        12 => json!({"type": "TOOL_CALL_ARGS", "toolCallId": format!("c{id}"), "delta": format!("{INNER}{text}")}),
        13 => json!({"type": "TOOL_CALL_RESULT", "messageId": format!("r{id}"), "toolCallId": format!("c{id}"), "content": format!("{INNER}{text}")}),
        14 => json!({"type": "STEP_STARTED", "stepName": format!("{INNER}{id}")}),
        15 => json!({"type": "STATE_DELTA", "delta": [{"op": "add", "path": format!("/{id}"), "value": text}]}),
        16 => json!({"type": "HUMAN_INPUT_REQUESTED", "request": {"requestId": id, "kind": "approval", "status": "pending", "title": text}}),
        _ => json!({"type": "VENDOR_THING", "id": id}),
    })
}

fn agent_ui() -> impl Strategy<Value = Value> {
    let id = prop::sample::select(vec!["a", "b", "c"]);
    let text = prop::sample::select(vec!["", "one ", "two\n", "é"]);
    (0_u8..14, id, text).prop_map(|(kind, id, text)| match kind {
        0 => json!({"type": "run.started", "runId": format!("run-{id}")}),
        1 => json!({"type": "run.finished", "runId": format!("run-{id}"), "outcome": "success"}),
        2 => json!({"type": "run.status", "runId": format!("run-{id}"), "stage": format!("{INNER}{id}")}),
        3..=5 => json!({"type": "text.delta", "messageId": id, "delta": text, "vendor": {"x": 1}}),
        6 => json!({"type": "text.final", "messageId": id, "text": text}),
        7 => json!({"type": "reasoning.delta", "partId": format!("p{id}"), "delta": format!("{INNER}{text}")}),
        8 => json!({"type": "reasoning.summary", "partId": format!("p{id}"), "text": format!("{INNER}{text}")}),
        9 => json!({"type": "tool.started", "toolCallId": format!("c{id}"), "name": "f"}),
        10 => json!({"type": "tool.result", "toolCallId": format!("c{id}"), "status": "ok", "preview": format!("{INNER}{text}")}),
        11 => json!({"type": "action.required", "actionId": id, "title": text}),
        12 => json!({"type": "artifact.created", "artifactId": id, "artifactStatus": "ready"}),
        _ => json!({"type": "vendor.thing", "id": id}),
    })
}

fn streams() -> impl Strategy<Value = (&'static str, Vec<String>)> {
    let lines = |events: Vec<Value>| events.iter().map(Value::to_string).collect::<Vec<_>>();
    prop_oneof![
        prop::collection::vec(aiui(), 1..40).prop_map(move |events| ("aiui", lines(events))),
        prop::collection::vec(agent_ui(), 1..40).prop_map(move |events| ("agent-ui", lines(events))),
    ]
}

struct Host {
    engine: Engine,
    _folder: tempfile::TempDir,
}

impl Host {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::options().durability(Durability::Buffered).open(folder.path().join("store")).unwrap();
        Self { engine, _folder: folder }
    }

    /// Takes events in, each with an id of its place in the stream.
    fn take(&self, session: &str, decoder: &mut dyn Decode, lines: &[String]) {
        self.take_as(session, decoder, lines, |_| {});
    }

    fn take_as(&self, session: &str, decoder: &mut dyn Decode, lines: &[String], mend: impl Fn(&mut Stated<'_>)) {
        for (place, text) in lines.iter().enumerate() {
            let id = format!("e{place}");
            let mut facts = Vec::new();
            decoder.decode_raw(Raw { line: 0, text, name: None, id: Some(&id) }, &mut facts);
            facts.iter_mut().for_each(&mend);
            self.engine.append(session, Batch::of(facts)).unwrap();
        }
    }

    fn hash(&self, session: &str) -> StateHash {
        self.engine.view().hash(session).unwrap()
    }
}

fn decoder(protocol: &str) -> Box<dyn Decode> {
    Wire::named(protocol).unwrap().decoder()
}

fn once(protocol: &str, lines: &[String]) -> StateHash {
    let host = Host::new();
    host.take("s", decoder(protocol).as_mut(), lines);
    host.hash("s")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn a_prefix_that_is_delivered_again_changes_nothing((protocol, lines) in streams(), cut in any::<prop::sample::Index>()) {
        let (before, _) = lines.split_at(cut.index(lines.len()) + 1);
        let host = Host::new();
        host.take("s", decoder(protocol).as_mut(), before);
        // Whoever connects again begins to read anew.
        host.take("s", decoder(protocol).as_mut(), &lines);
        prop_assert_eq!(host.hash("s"), once(protocol, &lines));
    }

    #[test]
    fn sessions_do_not_change_each_other_however_they_alternate(
        (one, first) in streams(), (two, second) in streams(), order in prop::collection::vec(any::<bool>(), 80),
    ) {
        let host = Host::new();
        let (mut decoders, mut at) = ([decoder(one), decoder(two)], [0, 0]);
        let all = [&first, &second];
        for turn in order.into_iter().map(usize::from).chain([0; 40]).chain([1; 40]) {
            let (Some(lines), Some(at), Some(decoder)) = (all.get(turn), at.get_mut(turn), decoders.get_mut(turn)) else { continue };
            let Some(text) = lines.get(*at) else { continue };
            let id = format!("e{at}");
            let mut facts = Vec::new();
            decoder.decode_raw(Raw { line: 0, text, name: None, id: Some(&id) }, &mut facts);
            host.engine.append(&format!("s{turn}"), Batch::of(facts)).unwrap();
            *at += 1;
        }
        prop_assert_eq!(host.hash("s0"), once(one, &first));
        prop_assert_eq!(host.hash("s1"), once(two, &second));
    }

    #[test]
    fn what_is_thought_called_or_reported_is_never_in_an_answer((protocol, lines) in streams()) {
        let host = Host::new();
        host.take("s", decoder(protocol).as_mut(), &lines);
        let page = host.engine.view().window("s", Window::items(200)).unwrap();
        for item in page.items() {
            if let ItemKind::Text(part) = item.kind() {
                let text = part.text().map(|text| text.joined().into_owned()).unwrap_or_default();
                prop_assert!(!text.contains(INNER), "{text:?}");
            }
        }
    }

    #[test]
    fn what_a_source_says_beyond_the_facts_changes_no_projection((protocol, lines) in streams()) {
        let host = Host::new();
        host.take_as("s", decoder(protocol).as_mut(), &lines, |stated| stated.ext = None);
        prop_assert_eq!(host.hash("s"), once(protocol, &lines));
    }
}
