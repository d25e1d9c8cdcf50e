//! Writes that are no answer.

use super::{ACTIONS, Host, json};
use crate::control::{Action, Approval, Decision, Effect, Outcome, Permit, Policy, Refused, Reversibility, Standing, permit, settle};
use crate::fact::{ArtifactChanged, ArtifactOp, Fact, HistoryImported, HistoryMode, Json, WriteChanged, WriteOp};
use crate::{Batch, Error};

fn ask(host: &Host, action: &Action<'_>) -> Result<Permit, Refused> {
    permit(&host.engine.view(), "s", "k", action)
}

fn artifact(op: ArtifactOp, fields: &'static str) -> Fact<'static> {
    Fact::ArtifactChanged(ArtifactChanged { artifact: "a".into(), op, turn: None, fields: Json::new(fields).unwrap() })
}

const END: &str = r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#;

#[test]
fn a_run_is_steered_queued_behind_and_interrupted_only_while_it_runs() {
    let mut host = Host::new();
    let actions = [
        Action::Queue { run: None, draft: json("{}") },
        Action::Queue { run: Some("r"), draft: json("{}") },
        Action::Steer { run: "r", payload: json("\"x\"") },
        Action::Interrupt { run: None },
        Action::Interrupt { run: Some("r") },
    ];
    for action in &actions {
        assert_eq!(ask(&host, action).unwrap().standing(), Standing::New, "{action:?}");
    }
    host.receive(END);
    for action in &actions {
        let refused = ask(&host, action).unwrap_err();
        assert!(matches!(&refused, Refused::NotRunning { status, .. } if status == "completed"), "{action:?}: {refused}");
    }
    let unknown = Action::Steer { run: "zz", payload: json("1") };
    assert!(matches!(ask(&host, &unknown), Err(Refused::Unknown { what: "run", .. })));
}

#[test]
fn a_run_is_found_by_its_own_id_beside_its_turns() {
    let mut host = Host::new();
    host.receive(END);
    host.receive(r#"{"type":"RUN_STARTED","threadId":"t","runId":"run-2","turnId":"turn-2"}"#);
    for run in ["run-2", "turn-2"] {
        assert!(ask(&host, &Action::Steer { run, payload: json("1") }).is_ok(), "{run}");
    }
}

#[test]
fn a_session_that_is_new_can_be_sent_to_and_nothing_else() {
    let host = Host::new();
    let view = host.engine.view();
    assert!(permit(&view, "new", "k", &Action::Send { draft: json("{}") }).is_ok());
    let other = permit(&view, "new", "k", &Action::ExportEvidence { run: None });
    assert!(matches!(other, Err(Refused::Read(Error::NoSession { .. }))));
    assert!(matches!(permit(&view, "s", "", &Action::Send { draft: json("{}") }), Err(Refused::Unnamed { what: "key" })));
}

#[test]
fn an_edit_names_the_version_that_it_was_made_on() {
    let host = Host::new();
    let edit = |version| Action::EditArtifact { artifact: "a", version, change: json("[]") };
    assert!(matches!(ask(&host, &edit(None)), Err(Refused::Unknown { what: "artifact", .. })));
    host.engine.append("s", [artifact(ArtifactOp::Created, r#"{"artifactStatus":"ready"}"#)]).unwrap();
    assert!(ask(&host, &edit(None)).is_ok());
    host.engine.append("s", [artifact(ArtifactOp::VersionCreated, r#"{"artifactVersionId":"v2"}"#)]).unwrap();
    assert!(ask(&host, &edit(Some("v2"))).is_ok());
    for stale in [None, Some("v1")] {
        let refused = ask(&host, &edit(stale)).unwrap_err();
        assert!(matches!(&refused, Refused::StaleVersion { current: Some(current), .. } if current == "v2"), "{refused}");
    }
    host.engine.append("s", [artifact(ArtifactOp::Deleted, "{}")]).unwrap();
    assert!(matches!(ask(&host, &edit(Some("v2"))), Err(Refused::Deleted { .. })));
}

#[test]
fn older_history_is_fetched_with_the_newest_cursor() {
    let host = Host::new();
    let fetch = Action::OlderHistory { cursor: "c1" };
    assert!(matches!(ask(&host, &fetch), Err(Refused::StaleCursor { newest: None })));
    let page = |older: Option<&'static str>| {
        Fact::HistoryImported(HistoryImported {
            mode: HistoryMode::Page,
            messages: Vec::new(),
            turns: Vec::new(),
            older: older.map(Into::into),
            requested_at: None,
            authoritative_activities: None,
        })
    };
    host.engine.append("s", [page(Some("c1"))]).unwrap();
    assert!(ask(&host, &fetch).is_ok());
    host.engine.append("s", [page(Some("c2"))]).unwrap();
    assert!(matches!(ask(&host, &fetch), Err(Refused::StaleCursor { newest: Some(newest) }) if newest == "c2"));
}

#[test]
fn a_write_that_is_recorded_stands_whatever_changes_under_it() {
    let mut host = Host::new();
    let steer = Action::Steer { run: "r", payload: json(r#"{"text":"x"}"#) };
    let first = ask(&host, &steer).unwrap();
    host.engine.append("s", first.batch().unwrap()).unwrap();
    host.receive(END);
    let again = ask(&host, &steer).unwrap();
    assert_eq!((again.standing(), again.write()), (Standing::Attempted, first.write()));
    let other = Action::Steer { run: "r", payload: json(r#"{"text":"y"}"#) };
    assert!(matches!(ask(&host, &other), Err(Refused::KeyReused { key }) if key == "k"));
    host.engine.append("s", [settle(&host.engine.view(), "s", first.write(), Outcome::Confirmed, None).unwrap()]).unwrap();
    assert_eq!(ask(&host, &steer).unwrap().standing(), Standing::Done);
}

#[test]
fn only_a_write_that_was_attempted_can_be_settled() {
    let host = Host::new();
    assert!(matches!(settle(&host.engine.view(), "s", "w", Outcome::Failed, None), Err(Refused::Unknown { what: "write", .. })));
}

const PAY: Policy = Policy { effect: Effect::External, reversibility: Reversibility::Irreversible, approval: Approval::WhenIrreversible };

fn pay(approval: Option<&str>) -> Action<'_> {
    Action::Act { name: "pay", target: "invoice-1", policy: PAY, approval }
}

const ABOUT: &str = r#","subject":{"type":"x","referenceId":"invoice-1"}"#;

fn resolve(host: &mut Host, fields: &str) {
    host.receive(&format!(r#"{{"type":"HUMAN_INPUT_RESOLVED","requestId":"q","decisionId":"d"{fields}}}"#));
}

#[test]
fn what_nobody_can_take_back_needs_an_approval_of_itself() {
    let mut host = Host::new();
    for approval in [None, Some("q")] {
        assert!(matches!(ask(&host, &pay(approval)), Err(Refused::NotApproved { .. })));
    }
    host.ask(&format!("{ACTIONS}{ABOUT}"));
    assert!(matches!(ask(&host, &pay(Some("q"))), Err(Refused::NotApproved { .. })), "pending");
    resolve(&mut host, r#","actionId":"approve""#);
    assert!(ask(&host, &pay(Some("q"))).is_ok());
    let other = Action::Act { name: "pay", target: "invoice-2", policy: PAY, approval: Some("q") };
    assert!(matches!(ask(&host, &other), Err(Refused::NotApproved { .. })), "of something else");
    host.receive(r#"{"type":"HUMAN_INPUT_RESOLVED","requestId":"q","decisionId":"e","actionId":"reject"}"#);
    assert!(matches!(ask(&host, &pay(Some("q"))), Err(Refused::NotApproved { .. })), "disputed");
}

#[test]
fn what_is_not_plainly_an_approval_is_none() {
    let decisions = [
        (r#","actionId":"reject""#, false),
        (r#","status":"cancelled","actionId":"approve""#, false),
        (r#","status":"expired""#, false),
        ("", false),
        (r#","response":{"approved":"true"}"#, false),
        (r#","response":{"approved":false}"#, false),
        (r#","response":{"approved":true}"#, true),
        (r#","response":{"decision":"approved"}"#, true),
        (r#","actionId":"later","response":{"approved":true}"#, false),
    ];
    for (decision, approves) in decisions {
        let mut host = Host::new();
        host.ask(&format!("{ACTIONS}{ABOUT}"));
        resolve(&mut host, decision);
        assert_eq!(ask(&host, &pay(Some("q"))).is_ok(), approves, "{decision}");
    }
}

#[test]
fn an_action_that_can_be_taken_back_needs_none() {
    let host = Host::new();
    for (effect, reversibility) in [(Effect::Internal, Reversibility::Irreversible), (Effect::External, Reversibility::Reversible)] {
        let action = Action::Act {
            name: "x",
            target: "y",
            policy: Policy { effect, reversibility, approval: Approval::WhenIrreversible },
            approval: None,
        };
        assert!(ask(&host, &action).is_ok());
        let always = Policy { effect, reversibility, approval: Approval::Always };
        let action = Action::Act { name: "x", target: "y", policy: always, approval: None };
        assert!(matches!(ask(&host, &action), Err(Refused::NotApproved { .. })), "its owner asks for one all the same");
    }
}

#[test]
fn an_unapproved_action_is_never_recorded_as_done() {
    let mut host = Host::new();
    let attempt = |detail: &'static str| {
        let op = WriteOp::Attempted {
            action: "act".into(),
            target: Some("invoice-1".into()),
            key: None,
            detail: Some(Json::new(detail).unwrap()),
        };
        Batch::of([Fact::WriteChanged(WriteChanged { write: "w".into(), op })])
    };
    let unnamed = attempt(r#"{"policy":{"effect":"external","reversibility":"irreversible"}}"#);
    assert!(matches!(host.engine.append("s", unnamed), Err(Error::Rejected { .. })));
    let always = attempt(r#"{"policy":{"effect":"internal","reversibility":"reversible","approval":"always"}}"#);
    assert!(matches!(host.engine.append("s", always), Err(Error::Rejected { .. })));
    host.ask(&format!("{ACTIONS}{ABOUT}"));
    host.engine.append("s", attempt(r#"{"policy":{"effect":"external","reversibility":"irreversible"},"approval":"q"}"#)).unwrap();
    let done = |host: &Host| settle(&host.engine.view(), "s", "w", Outcome::Confirmed, None);
    assert!(matches!(done(&host), Err(Refused::NotApproved { .. })));
    assert!(settle(&host.engine.view(), "s", "w", Outcome::Unknown, None).is_ok());
    let approve = Decision::action("d", "approve");
    host.answer(&approve).unwrap();
    resolve(&mut host, r#","actionId":"approve""#);
    assert!(done(&host).is_ok());
}
