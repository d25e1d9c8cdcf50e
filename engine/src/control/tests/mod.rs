//! Writes, judged on a store.

mod intents;
mod writes;

use super::*;
use crate::Engine;
use crate::adapter::aiui;
use crate::event::Stated;
use crate::fact::{InteractionRequested, TurnEnded};

pub(super) struct Host {
    folder: tempfile::TempDir,
    pub(super) engine: Engine,
    decoder: aiui::Decoder,
}

const NOON: UnixMillis = UnixMillis(1_700_000_000_000);

impl Host {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(folder.path().join("store")).unwrap();
        let mut host = Self { folder, engine, decoder: aiui::Decoder::new() };
        host.receive(r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#);
        host
    }

    pub(super) fn receive(&mut self, json: &str) {
        let mut stated: Vec<Stated<'_>> = Vec::new();
        self.decoder.decode(json, &mut stated);
        self.engine.append("s", Batch::of(stated)).unwrap();
    }

    pub(super) fn ask(&mut self, fields: &str) {
        self.receive(&format!(
            r#"{{"type":"HUMAN_INPUT_REQUESTED","request":{{"requestId":"q","runId":"r","kind":"approval","status":"pending"{fields}}}}}"#
        ));
    }

    pub(super) fn answer(&self, decision: &Decision<'_>) -> Result<Permit, Refused> {
        answer(&self.engine.view(), "s", "q", decision, NOON)
    }
}

pub(super) const ACTIONS: &str = r#","actions":[{"id":"approve","intent":"approve"},{"id":"reject","intent":"reject"}],"policy":{"mode":"ask","requiresExplicitResponse":true}"#;

pub(super) fn json(text: &str) -> Json<'_> {
    Json::new(text).unwrap()
}

#[test]
fn an_attempt_moves_nothing_but_its_own_record() {
    let mut host = Host::new();
    host.ask(ACTIONS);
    let permit = host.answer(&Decision::action("d1", "approve")).unwrap();
    assert_eq!((permit.standing(), permit.key()), (Standing::New, "d1"));
    host.engine.append("s", permit.batch().unwrap()).unwrap();
    host.engine.append("s", [permit.settled(Outcome::Confirmed, None)]).unwrap();
    assert_eq!(host.engine.view().pending("s").unwrap().count(), 1);
    host.receive(r#"{"type":"HUMAN_INPUT_RESOLVED","requestId":"q","decisionId":"d1","actionId":"approve"}"#);
    assert!(host.engine.view().pending("s").unwrap().is_empty());
}

#[test]
fn the_same_decision_has_the_same_outcome() {
    let mut host = Host::new();
    host.ask(ACTIONS);
    let decision = Decision::action("d1", "approve").with_response(json(r#"{"b":1,"a":[2]}"#));
    let first = host.answer(&decision).unwrap();
    let receipt = host.engine.append("s", first.batch().unwrap()).unwrap();
    let again = host.answer(&decision).unwrap();
    assert_eq!(again.write(), first.write());
    assert_eq!((again.standing(), again.facts().len()), (Standing::Attempted, 0));
    let repeat = host.engine.append("s", first.batch().unwrap()).unwrap();
    assert_eq!((repeat.first, repeat.duplicate), (receipt.first, true));
    let other = host.answer(&Decision::action("d1", "reject"));
    assert!(matches!(other, Err(Refused::KeyReused { key }) if key == "d1"));
    host.receive(r#"{"type":"HUMAN_INPUT_RESOLVED","requestId":"q","decisionId":"d1","actionId":"approve","response":{"a":[2],"b":1}}"#);
    let after = host.answer(&decision).unwrap();
    assert_eq!((after.standing(), after.facts().len(), after.write()), (Standing::Done, 0, first.write()));
}

#[test]
fn a_decision_that_stands_is_told_and_not_replaced() {
    let mut host = Host::new();
    host.ask(ACTIONS);
    host.receive(r#"{"type":"HUMAN_INPUT_RESOLVED","requestId":"q","decisionId":"d1","actionId":"approve","response":1}"#);
    for other in [Decision::action("d2", "approve"), Decision::cancel("d2")] {
        let refused = host.answer(&other).unwrap_err();
        assert!(matches!(&refused, Refused::AlreadyResolved { by: Some(by), .. } if by == "d1"), "{refused}");
    }
    let same = [
        Decision::action("d1", "reject").with_response(json("1")),
        Decision::action("d1", "approve").with_response(json("2")),
        Decision::action("d1", "approve"),
        Decision::cancel("d1"),
    ];
    for other in same {
        assert!(matches!(host.answer(&other), Err(Refused::KeyReused { .. })), "{other:?}");
    }
}

#[test]
fn a_resolution_without_payload_is_the_decision_that_it_names() {
    let mut host = Host::new();
    host.ask(ACTIONS);
    host.receive(r#"{"type":"HUMAN_INPUT_RESOLVED","requestId":"q","decisionId":"d1"}"#);
    assert_eq!(host.answer(&Decision::action("d1", "approve")).unwrap().standing(), Standing::Done);
}

#[test]
fn what_is_not_there_is_unknown() {
    let host = Host::new();
    assert!(matches!(host.answer(&Decision::cancel("d")), Err(Refused::Unknown { what: "interaction", .. })));
    let view = host.engine.view();
    assert!(matches!(answer(&view, "none", "q", &Decision::cancel("d"), NOON), Err(Refused::Read(Error::NoSession { .. }))));
    assert!(matches!(host.answer(&Decision::cancel("")), Err(Refused::Unnamed { .. })));
}

#[test]
fn expiry_is_judged_by_the_callers_time() {
    let mut host = Host::new();
    host.ask(&format!(r#"{ACTIONS},"expiresAt":"2023-11-14T22:13:20Z""#));
    let view = host.engine.view();
    let approve = Decision::action("d", "approve");
    assert!(answer(&view, "s", "q", &approve, UnixMillis(NOON.0 - 1)).is_ok());
    assert!(matches!(answer(&view, "s", "q", &approve, NOON), Err(Refused::Expired { at: NOON, .. })));
    assert!(answer(&view, "s", "q", &Decision::cancel("d"), NOON).is_ok());
    let pending = view.pending("s").unwrap();
    let asked = pending.interactions().next().unwrap();
    assert_eq!(asked.expires_at(), Some("2023-11-14T22:13:20Z"));
    assert_eq!((asked.is_expired(UnixMillis(NOON.0 - 1)), asked.is_expired(NOON)), (false, true));
}

#[test]
fn everything_that_waits_says_when_it_expires_live_and_saved() {
    let mut host = Host::new();
    host.ask(&format!(r#"{ACTIONS},"expiresAt":"2023-11-14T22:13:20Z""#));
    let check = |engine: &Engine| {
        let page = engine.view().pending_everywhere(10, None).unwrap();
        let [waits] = page.pending.as_slice() else { panic!("{page:?}") };
        assert_eq!(waits.expires_at.as_deref(), Some("2023-11-14T22:13:20Z"));
        assert_eq!((waits.is_expired(UnixMillis(NOON.0 - 1)), waits.is_expired(NOON)), (false, true));
    };
    check(&host.engine);
    host.engine.close().unwrap();
    check(&Engine::open(host.folder.path().join("store")).unwrap());
}

#[test]
fn an_expiry_may_be_a_number_or_nothing_that_reads() {
    let mut host = Host::new();
    host.ask(&format!(r#"{ACTIONS},"expiresAt":1700000000000"#));
    assert!(matches!(host.answer(&Decision::action("d", "approve")), Err(Refused::Expired { at: NOON, .. })));
    host.ask(&format!(r#"{ACTIONS},"expiresAt":"soon""#));
    assert!(host.answer(&Decision::action("d", "approve")).is_ok());
    let expiry = host.engine.view().interaction("s", "q", |asked| asked.expiry()).unwrap();
    assert_eq!(expiry, Some(crate::view::Expiry::Unreadable));
}

#[test]
fn what_was_withdrawn_takes_no_answer() {
    let mut host = Host::new();
    host.ask(ACTIONS);
    host.receive(r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#);
    assert!(matches!(host.answer(&Decision::action("d", "approve")), Err(Refused::Withdrawn { .. })));
}

#[test]
fn only_actions_that_are_offered_can_be_chosen() {
    let mut host = Host::new();
    host.ask(ACTIONS);
    let refused = host.answer(&Decision::action("d", "delete")).unwrap_err();
    assert!(matches!(&refused, Refused::ActionUnknown { offered, .. } if offered == &["approve", "reject"]), "{refused}");
}

#[test]
fn a_response_is_checked_against_the_schema_of_its_request() {
    let mut host = Host::new();
    let schema = r#"{"type":"object","required":["why"],"properties":{"why":{"type":"string","minLength":1}}}"#;
    host.ask(&format!(r#","responseSchema":{schema}{ACTIONS}"#));
    assert!(host.answer(&Decision::response("d", json(r#"{"why":"x"}"#))).is_ok());
    for bad in ["{}", r#"{"why":""}"#, "7", "null"] {
        let refused = host.answer(&Decision::action("d", "approve").with_response(json(bad))).unwrap_err();
        assert!(matches!(&refused, Refused::ResponseInvalid { errors } if !errors.is_empty()), "{bad}: {refused}");
    }
    assert!(host.answer(&Decision::action("d", "reject")).is_ok());
    assert!(host.answer(&Decision::cancel("d")).is_ok());
}

#[test]
fn the_schema_of_an_interrupt_counts_as_well() {
    let mut host = Host::new();
    host.receive(
        r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"q","reason":"input","responseSchema":{"type":"integer"}}]}}"#,
    );
    assert!(host.answer(&Decision::response("d", json("1"))).is_ok());
    assert!(matches!(host.answer(&Decision::response("d", json("\"1\""))), Err(Refused::ResponseInvalid { .. })));
}

#[test]
fn a_request_above_what_stands_in_rows_is_read_whole() {
    let mut host = Host::new();
    host.ask(&format!(r#","description":"{}","responseSchema":{{"type":"integer"}}"#, "x".repeat(300_000)));
    assert!(matches!(host.answer(&Decision::response("d", json("\"1\""))), Err(Refused::ResponseInvalid { .. })));
}

#[test]
fn a_hostile_schema_blocks_responses_and_nothing_else() {
    let mut host = Host::new();
    host.ask(&format!(r##","responseSchema":{{"$ref":"https://example.invalid/s"}}{ACTIONS}"##));
    assert!(matches!(host.answer(&Decision::response("d", json("1"))), Err(Refused::SchemaUnusable { .. })));
    assert!(host.answer(&Decision::action("d", "reject")).is_ok());
    assert!(host.answer(&Decision::cancel("d")).is_ok());
}

#[test]
fn a_request_of_any_form_can_be_answered() {
    let forms = [r#""text""#, "null", "7", r#"{"actions":7,"policy":[],"responseSchema":null}"#, r#"{"actions":[{"id":7},8]}"#];
    for form in forms {
        let host = Host::new();
        let asked = InteractionRequested {
            interaction: "q".into(),
            kind: "approval".into(),
            request: Some(Json::new(form.to_owned()).unwrap()),
            ..InteractionRequested::default()
        };
        host.engine.append("s", [Fact::InteractionRequested(asked)]).unwrap();
        assert!(host.answer(&Decision::action("d", "approve")).is_ok(), "{form}");
        assert!(host.answer(&Decision::response("d", json("{}"))).is_ok(), "{form}");
        host.engine.append("s", [Fact::TurnEnded(TurnEnded { status: "completed".into(), ..TurnEnded::default() })]).unwrap();
    }
}

#[test]
fn a_write_that_failed_can_be_made_again_under_its_key() {
    let mut host = Host::new();
    host.ask(ACTIONS);
    let decision = Decision::action("d1", "approve");
    let first = host.answer(&decision).unwrap();
    host.engine.append("s", first.batch().unwrap()).unwrap();
    host.engine.append("s", [first.settled(Outcome::Unknown, None)]).unwrap();
    let again = host.answer(&decision).unwrap();
    assert_eq!((again.standing(), again.key(), again.write()), (Standing::Again { attempts: 1 }, "d1", first.write()));
    assert_eq!(host.engine.append("s", again.batch().unwrap()).unwrap().appended, 1);
    host.engine.append("s", [again.settled(Outcome::Confirmed, None)]).unwrap();
    assert_eq!(host.answer(&decision).unwrap().standing(), Standing::Done);
    assert_eq!(host.engine.view().pending("s").unwrap().count(), 1);
}

#[test]
fn an_attempt_that_was_recorded_in_time_is_sent_again_after_the_expiry() {
    let mut host = Host::new();
    host.ask(&format!(r#"{ACTIONS},"expiresAt":"2023-11-14T22:13:20Z""#));
    let approve = Decision::action("d", "approve");
    let before = UnixMillis(NOON.0 - 1);
    let permit = answer(&host.engine.view(), "s", "q", &approve, before).unwrap();
    host.engine.append("s", permit.batch().unwrap()).unwrap();
    assert_eq!(host.answer(&approve).unwrap().standing(), Standing::Attempted);
    assert!(matches!(host.answer(&Decision::action("e", "approve")), Err(Refused::Expired { .. })));
}

#[test]
fn ids_that_join_to_the_same_text_are_different_writes() {
    assert_ne!(write_id(&["respond", "a:b", "c"]), write_id(&["respond", "a", "b:c"]));
    assert_eq!(write_id(&["respond", "a", "b"]), write_id(&["respond", "a", "b"]));
}
