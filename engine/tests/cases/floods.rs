//! Producers that know no measure: one value of 30 MiB, a hundred thousand small ones, in every field that a row keeps.

use std::collections::BTreeMap;

use crate::host::*;
use turnstore::fact::*;
use turnstore::limits::*;
use turnstore::{Durability, Engine, Error, ItemKind, LongText, Page, Seq, View, Window};

const MANY: usize = 100_000;

fn text(text: impl Into<String>) -> Text<'static> {
    Text::from(text.into())
}

fn open(place: &Place) -> Engine {
    Engine::options().durability(Durability::Buffered).open(place.path()).unwrap()
}

/// Every value that a page hands out, by the name of its field.
fn values(page: &Page) -> BTreeMap<&'static str, LongText<'_>> {
    let mut found = BTreeMap::new();
    let mut put = |name, value: Option<_>| {
        if let Some(value) = value {
            found.insert(name, value);
        }
    };
    for turn in page.turns().filter_map(|turn| turn.turn()) {
        put("turn error", turn.error());
        put("turn result", turn.result());
        put("turn usage", turn.usage());
    }
    for item in page.items() {
        match item.kind() {
            ItemKind::Text(part) => {
                put("part sealed", part.sealed());
                put("part error", part.error());
                put("part content", part.text());
            }
            ItemKind::Tool(tool) => {
                put("tool progress", tool.progress());
                put("tool error", tool.error());
                put("tool detail", tool.detail());
                put("tool sealed", tool.sealed());
                for result in tool.results() {
                    put("result content", result.content());
                    put("result error", result.error());
                    put("result detail", result.detail());
                    put("result metadata", result.metadata());
                    put("result sealed", result.sealed());
                }
            }
            ItemKind::Interaction(asked) => {
                put("request", asked.request());
                put("interrupt", asked.interrupt());
                put("payload", asked.decision().and_then(|decision| decision.payload()));
                put("receipt", asked.decision().and_then(|decision| decision.receipt()));
                put("conflict", asked.conflicts().next().and_then(|decision| decision.payload()));
            }
            ItemKind::Compaction { detail, .. } => put("compaction", detail),
            _ => {}
        }
    }
    found
}

fn result(content: Option<Content<'static>>, error: Option<Text<'static>>, detail: Option<Json<'static>>) -> ToolOp<'static> {
    ToolOp::Result { message: Some("m".into()), content, status: None, reference: None, error, agent: None, detail }
}

fn on_tool(op: ToolOp<'static>) -> Fact<'static> {
    Fact::ToolChanged(ToolChanged { tool: "c".into(), op, metadata: None })
}

fn resolved(decision: &str, payload: Option<Json<'static>>, receipt: Option<Json<'static>>) -> Fact<'static> {
    let (interaction, decision) = (text("q"), Some(text(decision)));
    Fact::InteractionResolved(InteractionResolved { interaction, decision, payload, receipt, ..InteractionResolved::default() })
}

fn message(role: &str) -> HistoryMessage<'static> {
    HistoryMessage { id: text(role), role: text(role), tool_call: Some("c".into()), ..HistoryMessage::default() }
}

fn history(mode: HistoryMode, messages: Vec<HistoryMessage<'static>>) -> Fact<'static> {
    let (turns, older) = (Vec::new(), None);
    Fact::HistoryImported(HistoryImported { mode, messages, turns, older, requested_at: None, authoritative_activities: None })
}

/// For every field that holds a value: what is stated before, and the fact that states the value.
fn large(name: &'static str, large: &str) -> Option<(Vec<Fact<'static>>, Fact<'static>)> {
    let value = || Some(json(large));
    let said = || Some(text(large));
    let end = |error, result, usage| Fact::TurnEnded(TurnEnded { status: "failed".into(), error, result, usage, ..TurnEnded::default() });
    let call = || vec![called("c")];
    Some(match name {
        "turn error" => (vec![turn("t"), user("u", "x")], end(value(), None, None)),
        "turn result" => (vec![turn("t"), user("u", "x")], end(None, value(), None)),
        "turn usage" => (vec![turn("t"), user("u", "x")], end(None, None, value())),
        "part sealed" => {
            let (target, change) = (PartTarget::Message("u".into()), PartChange::Sealed(text(large)));
            (vec![user("u", "x")], Fact::PartFinal(PartFinal { target, change, metadata: None }))
        }
        "part error" => (vec![], history(HistoryMode::Append, vec![HistoryMessage { error: value(), ..message("user") }])),
        "part content" => {
            let content = value().map(Content::Json);
            (vec![], history(HistoryMode::Merge, vec![HistoryMessage { content, ..message("user") }]))
        }
        "tool progress" => (call(), on_tool(ToolOp::Progress { value: json(large) })),
        "tool error" => (call(), on_tool(ToolOp::Failed { error: value() })),
        "tool detail" => (vec![], on_tool(ToolOp::Started { name: "n".into(), message: None, turn: None, agent: None, detail: value() })),
        "tool sealed" => (call(), on_tool(ToolOp::Sealed { value: text(large) })),
        "result content" => (call(), on_tool(result(said().map(Content::Text), None, None))),
        "result error" => (call(), on_tool(result(None, said(), None))),
        "result detail" => (call(), on_tool(result(None, None, value()))),
        "result sealed" => (call(), history(HistoryMode::Append, vec![HistoryMessage { sealed: said(), ..message("tool") }])),
        "result metadata" => (call(), history(HistoryMode::Append, vec![HistoryMessage { metadata: value(), ..message("tool") }])),
        "request" => {
            let current = CurrentTurn { turn: "t".into(), status: "running".into(), pending: vec![(text("q"), json(large))] };
            (vec![turn("t")], Fact::CurrentTurnAsserted(CurrentTurnAsserted { current: Some(current) }))
        }
        "interrupt" => {
            let (interaction, interrupt) = ("q".into(), value());
            (vec![], Fact::InteractionRequested(InteractionRequested { interaction, interrupt, ..InteractionRequested::default() }))
        }
        "payload" => (vec![asked("q")], resolved("d", value(), None)),
        "receipt" => (vec![asked("q")], resolved("d", None, value())),
        "conflict" => (vec![asked("q"), resolved("d", None, None)], resolved("e", value(), None)),
        "compaction" => (vec![], Fact::CompactionMarked(CompactionMarked { phase: "completed".into(), detail: value() })),
        _ => return None,
    })
}

const FIELDS: [&str; 21] = [
    "turn error",
    "turn result",
    "turn usage",
    "part sealed",
    "part error",
    "part content",
    "tool progress",
    "tool error",
    "tool detail",
    "tool sealed",
    "result content",
    "result error",
    "result detail",
    "result sealed",
    "result metadata",
    "request",
    "interrupt",
    "payload",
    "receipt",
    "conflict",
    "compaction",
];

#[test]
fn a_value_of_30_mib_in_any_field_stays_in_the_log_and_is_read_back_whole() {
    let place = Place::new();
    let mut engine = open(&place);
    engine.append("other", conversation(3)).unwrap();
    let other = timeline(&engine.view(), "other");
    let value = format!("{{\"value\":\"{}\"}}", "thirty MiB of it ".repeat((30 << 20) / 17));
    for chunk in FIELDS.chunks(7) {
        for name in chunk {
            let (before, stated) = large(name, &value).unwrap();
            engine.append(name, before.into_iter().chain([stated]).collect::<Vec<_>>()).unwrap();
        }
        engine.checkpoint().unwrap();
        engine.close().unwrap();
        engine = open(&place);
    }
    for view in [engine.view(), engine.view()] {
        assert_eq!(timeline(&view, "other"), other);
        for name in FIELDS {
            let page = view.window(name, Window::default()).unwrap();
            let found = values(&page).remove(name).unwrap_or_else(|| panic!("{name} is not there"));
            assert!(found.truncated() && found.bytes() == value.len() as u64, "{name}");
            assert!(page.truncated() || name.starts_with("turn"), "{name}");
            let reference = found.payload().unwrap();
            assert!(view.payload(&reference).unwrap().as_str() == value, "{name}");
            let chunks = view.payload_chunks(&reference).unwrap();
            let bytes: Vec<usize> = chunks.map(|chunk| chunk.unwrap().len()).collect();
            assert!(bytes.iter().sum::<usize>() == value.len() && bytes.iter().all(|bytes| *bytes <= 1 << 20), "{name}");
        }
        engine.append("conflict", [user("u", "goes on")]).unwrap();
        engine.checkpoint().unwrap();
    }
}

/// Facts that merge an object into a part, a call and the session, and one that states it whole.
fn merged(object: &str) -> [Fact<'static>; 4] {
    let metadata = || Some(json(object));
    let delta = Fact::PartDelta(PartDelta { part: "u".into(), kind: PartKind::Text, text: "".into(), metadata: metadata() });
    let tool = Fact::ToolChanged(ToolChanged { tool: "c".into(), op: ToolOp::ArgsEnd, metadata: metadata() });
    let session = Fact::SessionChanged(SessionChanged { title: None, status: None, fields: metadata() });
    let stated = history(HistoryMode::Append, vec![HistoryMessage { metadata: metadata(), ..message("user") }]);
    [delta, tool, session, stated]
}

type Object = BTreeMap<String, serde_json::Value>;

fn merged_in(view: &View) -> Vec<Object> {
    let page = view.window("s", Window::default()).unwrap();
    let fields = view.session("s").unwrap().unwrap().header.fields;
    let of_items = page.items().filter_map(|item| match item.kind() {
        ItemKind::Text(part) => part.metadata().map(str::to_owned),
        ItemKind::Tool(tool) => tool.metadata().map(str::to_owned),
        _ => None,
    });
    let all: Vec<String> = of_items.chain(fields).collect();
    assert!(all.iter().all(|object| object.len() <= MERGED_BYTES_MAX));
    all.iter().map(|object| serde_json::from_str(object).unwrap()).collect()
}

#[track_caller]
fn check_merge(object: &str, fits: impl Fn(&Object) -> bool) {
    let before = "{\"large\":\"before\"}";
    let flood = |engine: &Engine| {
        engine.append("s", [user("u", "x"), called("c")]).unwrap();
        engine.append("s", merged(before)[..3].to_vec()).unwrap();
        engine.append("s", merged(object)[..2].to_vec()).unwrap();
        engine.append("s", merged(object)[2..].to_vec()).unwrap();
    };
    flooded(flood, |view| {
        let objects = merged_in(view);
        assert_eq!(objects.len(), 4);
        assert!(objects.iter().all(&fits));
        assert_eq!(diagnostics(view, "s"), ["merge_too_large"; 4]);
        // What did not fit is in the log as it was stated.
        let whole = view.events("s", Seq::FIRST).unwrap().filter(|event| event.as_ref().unwrap().bytes().len() > object.len());
        assert_eq!(whole.count(), 4);
    });
}

#[test]
fn a_merged_object_drops_a_value_of_30_mib_and_the_one_that_it_replaces() {
    let object = format!("{{\"large\":\"{}\",\"small\":1}}", "x".repeat(30 << 20));
    check_merge(&object, |merged| merged.len() == 1 && merged["small"] == 1);
}

#[test]
fn a_merged_object_keeps_as_many_of_a_hundred_thousand_keys_as_fit() {
    let keys: Vec<String> = (0..MANY).map(|n| format!("\"key {n}\":{n}")).collect();
    check_merge(&format!("{{{}}}", keys.join(",")), |merged| (1_000..MANY).contains(&merged.len()));
}

fn in_batches(engine: &Engine, session: &str, fact: impl Fn(usize) -> Fact<'static>) -> Result<(), Error> {
    (0..MANY).step_by(2_000).try_for_each(|from| engine.append(session, (from..from + 2_000).map(&fact).collect::<Vec<_>>()).map(|_| ()))
}

/// A flood in one session beside a quiet one; what `check` sees, live, after a kill, after a close.
#[track_caller]
fn flooded(flood: impl Fn(&Engine), check: impl Fn(&View)) {
    let place = Place::new();
    let engine = open(&place);
    engine.append("other", conversation(3)).unwrap();
    flood(&engine);
    engine.checkpoint().unwrap();
    always(engine, &place, |engine| {
        let view = engine.view();
        check(&view);
        assert_eq!(timeline(&view, "other").len(), 9);
        engine.append("other", [user("u1", "again")]).unwrap();
    });
    assert_eq!(place.open().view().verify(&mut |_| {}).unwrap().difference, None);
}

#[test]
fn a_hundred_thousand_results_of_one_call_are_all_there() {
    let flood = |engine: &Engine| {
        engine.append("s", [called("c")]).unwrap();
        in_batches(engine, "s", |n| answered("c", &format!("result {n}"))).unwrap();
    };
    flooded(flood, |view| {
        let page = view.oldest("s", Window::items(2)).unwrap();
        let ItemKind::Tool(call) = page.items().next().unwrap().kind() else { panic!("no call") };
        assert_eq!(call.results().count(), TOOL_RESULTS_MAX);
        assert_eq!(view.session("s").unwrap().unwrap().header.items as usize, 1 + MANY - TOOL_RESULTS_MAX);
    });
}

#[test]
fn a_hundred_thousand_decisions_on_one_question_are_counted_and_the_first_stands() {
    let flood = |engine: &Engine| {
        engine.append("s", [asked("q")]).unwrap();
        in_batches(engine, "s", |n| decided("q", &format!("d{n}"), "{\"yes\":true}")).unwrap();
    };
    flooded(flood, |view| {
        let page = view.window("s", Window::default()).unwrap();
        let ItemKind::Interaction(asked) = page.items().next().unwrap().kind() else { panic!("no question") };
        assert_eq!(asked.decision().unwrap().id(), Some("d0"));
        assert_eq!((asked.conflicts().count(), asked.conflicts_count() as usize), (CONFLICTS_MAX, MANY - 1));
        assert_eq!(view.session("s").unwrap().unwrap().header.diagnostics as usize, MANY - 1);
        assert_eq!(view.events("s", Seq::FIRST).unwrap().count(), MANY + 1);
    });
}

#[test]
fn a_hundred_thousand_turns_that_reference_one_path_are_counted_and_the_newest_are_named() {
    let set = |turn: usize, path: &str| {
        let references = vec![ArtifactReference { path: text(path), artifact_type: "document".into() }];
        Fact::TurnArtifactsSet(TurnArtifactsSet { turn: text(format!("t{turn}")), references })
    };
    let flood = |engine: &Engine| {
        in_batches(engine, "s", |n| set(n, "a.md")).unwrap();
        // Said again it counts once; taken back it does not count.
        engine.append("s", [set(MANY - 1, "a.md"), set(0, "b.md"), set(MANY - 2, "b.md")]).unwrap();
    };
    flooded(flood, |view| {
        let artifacts: Vec<_> = view.artifacts("s").unwrap().map(Result::unwrap).collect();
        let [a, b] = artifacts.as_slice() else { panic!("{} artifacts", artifacts.len()) };
        assert_eq!((a.turns_count as usize, b.turns_count), (MANY - 2, 2));
        assert_eq!(a.turns.last().unwrap(), &format!("t{}", MANY - 1));
        assert!(a.turns.len() > 1000 && a.turns.iter().map(String::len).sum::<usize>() <= LIST_BYTES_MAX);
        assert_eq!(view.turn_artifacts("s", "t7").unwrap().unwrap().len(), 1);
    });
}

#[test]
fn a_hundred_thousand_calls_left_to_the_client_are_counted_and_the_first_are_named() {
    let flood = |engine: &Engine| {
        let pending_tools = (0..MANY).map(|n| text(format!("call {n}"))).collect();
        let ended = TurnEnded { status: "interrupt".into(), pending_tools, ..TurnEnded::default() };
        engine.append("s", [turn("t"), user("u", "x"), Fact::TurnEnded(ended)]).unwrap();
    };
    flooded(flood, |view| {
        let page = view.window("s", Window::default()).unwrap();
        let turn = page.turns().next().unwrap().turn().unwrap();
        assert_eq!((turn.pending_tools_count() as usize, turn.pending_tools().next()), (MANY, Some("call 0")));
        assert!((1000..MANY).contains(&turn.pending_tools().count()));
        let event = view.events("s", Seq::new(3).unwrap()).unwrap().next().unwrap().unwrap();
        let turnstore::event::Body::Fact(Fact::TurnEnded(ended)) = event.event().unwrap().body else { panic!("no end") };
        assert_eq!(ended.pending_tools.len(), MANY);
    });
}

/// A question that waits is never let go of: what would be too many is refused where it comes in.
#[test]
fn questions_are_asked_until_as_many_wait_as_may() {
    let flood = |engine: &Engine| {
        let asked_many = in_batches(engine, "s", |n| asked(&format!("q{n}")));
        assert!(matches!(asked_many, Err(Error::TooLarge { limit: "pending_max", .. })), "{asked_many:?}");
        let current = |many: usize| {
            let pending = (0..many).map(|n| (text(format!("q{n}")), json("1"))).collect();
            Fact::CurrentTurnAsserted(CurrentTurnAsserted {
                current: Some(CurrentTurn { turn: "t".into(), status: "running".into(), pending }),
            })
        };
        assert!(engine.append("s", [current(MANY)]).is_err() && engine.append("s", [asked("one more")]).is_err());
        engine.append("s", [decided("q0", "d", "1"), user("u", "goes on")]).unwrap();
        engine.append("s", [asked("one more")]).unwrap();
        engine.append("whole", [current(PENDING_MAX)]).unwrap();
        // The whole list is said anew: what waited before does not count.
        engine.append("whole", [current(PENDING_MAX)]).unwrap();
    };
    flooded(flood, |view| {
        assert_eq!(view.pending("s").unwrap().count(), PENDING_MAX);
        assert_eq!(view.pending("whole").unwrap().count(), PENDING_MAX);
        assert_eq!(view.pending_everywhere(500, None).unwrap().pending.len(), 500);
    });
}

#[test]
fn diagnostics_keep_the_beginning_of_what_they_say_and_all_of_them_are_there() {
    let noted = |detail: String| Fact::DiagnosticNoted(DiagnosticNoted { code: "odd".into(), detail: Some(text(detail)), raw: None });
    let flood = |engine: &Engine| {
        engine.append("s", [noted("é".repeat(15 << 20))]).unwrap();
        let path = format!("[{{\"op\":\"remove\",\"path\":\"/{}\"}}]", "p".repeat(30 << 20));
        engine.append("s", [Fact::DocumentPatched(DocumentPatched { document: "state".into(), patch: json(&path) })]).unwrap();
        in_batches(engine, "s", |n| noted(format!("diagnostic {n}"))).unwrap();
    };
    flooded(flood, |view| {
        let all: Vec<_> = view.diagnostics("s").unwrap().map(Result::unwrap).collect();
        assert_eq!(all.len(), MANY + 2);
        assert!(all.iter().all(|one| one.detail.as_ref().unwrap().len() <= INLINE_BYTES_MAX));
        assert!(all[0].detail.as_ref().unwrap().len() > INLINE_BYTES_MAX - 2 && all[1].code == "state_patch_failed");
    });
}

#[test]
fn artifacts_beyond_the_room_of_a_turn_are_refused() {
    let place = Place::new();
    let engine = place.open();
    let list = |count: usize, bytes: usize| -> Vec<ArtifactReference<'static>> {
        (0..count).map(|n| ArtifactReference { path: text(format!("{n:0bytes$}")), artifact_type: "image".into() }).collect()
    };
    let set = |references| Fact::TurnArtifactsSet(TurnArtifactsSet { turn: "t".into(), references });
    let in_history = |references| {
        let turns = vec![HistoryTurn { turn: "t".into(), artifacts: Some(references), ..HistoryTurn::default() }];
        let (mode, messages) = (HistoryMode::Page, Vec::new());
        Fact::HistoryImported(HistoryImported { mode, messages, turns, older: None, requested_at: None, authoritative_activities: None })
    };
    for (many, large) in [(set(list(10_001, 8)), set(list(1_000, 2_000))), (in_history(list(10_001, 8)), in_history(list(1_000, 2_000)))] {
        for (fact, limit) in [(many, "turn_artifacts_max"), (large, "turn_artifacts_bytes_max")] {
            let refused = engine.append("s", [user("u", "x"), fact]);
            assert!(matches!(&refused, Err(Error::Rejected { index: 1, reason }) if reason.contains(limit)), "{refused:?}");
        }
    }
    for n in 0..64 {
        let full = Fact::TurnArtifactsSet(TurnArtifactsSet { turn: text(format!("t{n}")), references: list(10_000, 80) });
        engine.append("s", [full]).unwrap();
    }
    always(engine, &place, |engine| {
        engine.checkpoint().unwrap();
        assert_eq!(engine.view().turn_artifacts("s", "t63").unwrap().unwrap().len(), 10_000);
    });
}

#[test]
fn a_title_of_30_mib_is_shown_by_its_beginning() {
    let title = "A title that does not end. ".repeat((30 << 20) / 27);
    let fact = Fact::SessionChanged(SessionChanged { title: Some(text(title.as_str())), status: None, fields: None });
    flooded(
        |engine| assert!(engine.append("s", [fact.clone()]).is_ok()),
        |view| {
            let shown = view.session("s").unwrap().unwrap().header.title.unwrap();
            assert!(shown.len() > TITLE_BYTES_MAX - 4 && title.starts_with(&shown));
            let listed = view.sessions(10, None).unwrap().sessions.into_iter().find(|session| session.id == "s").unwrap();
            assert_eq!(listed.title, Some(shown));
            assert_eq!(diagnostics(view, "s"), ["title_cut"]);
        },
    );
}

/// Without a bound each of these doubles the document: the last would ask for 2^40 values, at this append and at every open after it.
#[test]
fn a_document_that_copies_itself_stops_growing() {
    let patch = |patch: String| Fact::DocumentPatched(DocumentPatched { document: "state".into(), patch: json(&patch) });
    let flood = |engine: &Engine| {
        let copies = (0..40).map(|n| patch(format!("[{{\"op\":\"copy\",\"from\":\"\",\"path\":\"/b{n}\"}}]")));
        engine.append("s", copies.collect::<Vec<_>>()).unwrap();
        // It may still shrink, and then grow again, which says nothing about the patches that failed.
        let removed = (0..19).map(|n| patch(format!("[{{\"op\":\"remove\",\"path\":\"/b{n}\"}}]")));
        engine.append("s", removed.collect::<Vec<_>>()).unwrap();
        engine.append("s", [patch("[{\"op\":\"copy\",\"from\":\"\",\"path\":\"/again\"}]".to_owned())]).unwrap();
    };
    flooded(flood, |view| {
        let document = view.document("s", "state").unwrap().unwrap();
        let value = document.value;
        assert!(document.stale && value["again"]["b19"] == value["b19"] && value["b19"].is_object() && value.get("b18").is_none());
        let failed = diagnostics(view, "s");
        assert!(failed.len() > 10 && failed.iter().all(|code| code == "state_patch_failed"));
    });
}
