//! What a person sees of many sessions: lists by what goes on, and state that is the person's own.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test fails by panicking, its helpers too")]

mod host;

use host::{Place, always, json, killed};
use turnstore::fact::*;
use turnstore::limits::{UI_KEY_BYTES_MAX, UI_KEYS_MAX, UI_VALUE_BYTES_MAX};
use turnstore::{Engine, Error, Fallback, READ, Seq, SessionFilter, TaskKind, TaskState, View};

fn started(turn: &str) -> Fact<'static> {
    Fact::TurnStarted(TurnStarted { turn: turn.to_owned().into(), ..TurnStarted::default() })
}

fn ended(turn: &str, status: &'static str) -> Fact<'static> {
    Fact::TurnEnded(TurnEnded { turn: Some(turn.to_owned().into()), status: status.into(), ..TurnEnded::default() })
}

fn asked(id: &str) -> Fact<'static> {
    Fact::InteractionRequested(InteractionRequested {
        interaction: id.to_owned().into(),
        kind: "approval".into(),
        ..InteractionRequested::default()
    })
}

fn queued(items: u64) -> Fact<'static> {
    let item = |n| QueueItem { id: format!("q{n}").into(), position: None, fields: json("{}") };
    let items = (0..items).map(item).collect();
    Fact::QueueSet(QueueSet { items })
}

fn shown(view: &View, filter: SessionFilter) -> Vec<String> {
    let (mut ids, mut cursor) = (Vec::new(), None);
    loop {
        let page = view.sessions_where(filter, 1, cursor.as_ref()).unwrap();
        ids.extend(page.sessions.into_iter().map(|session| session.id));
        cursor = page.cursor;
        if cursor.is_none() {
            return ids;
        }
    }
}

#[test]
fn ui_state_survives_a_kill_a_close_and_a_rebuild_and_is_no_part_of_the_session() {
    let place = Place::new();
    let engine = place.open();
    engine.append("s", vec![started("t")]).unwrap();
    let hash = engine.view().hash("s").unwrap();
    engine.put_ui("s", &[("tab", Some("files")), ("draft", Some("Dear \u{1F600}\n"))]).unwrap();
    engine.put_ui("not yet", &[("draft", Some("a beginning"))]).unwrap();
    engine.put_ui("s", &[("tab", None), ("sections", Some("[1]"))]).unwrap();
    let holds = |engine: &Engine| {
        let view = engine.view();
        assert_eq!(view.ui("s", "draft").unwrap().as_deref(), Some("Dear \u{1F600}\n"));
        assert_eq!(view.ui("s", "tab").unwrap(), None);
        let all = view.ui_values("s").unwrap();
        assert_eq!(all.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["draft", "sections"]);
        assert_eq!(view.ui("not yet", "draft").unwrap().as_deref(), Some("a beginning"));
        assert!(view.session("not yet").unwrap().is_none(), "a draft makes no session");
        assert_eq!(view.hash("s").unwrap(), hash);
        assert_eq!(view.session("s").unwrap().unwrap().last_seq, Seq::new(1));
    };
    always(engine, &place, holds);
    turnstore::rebuild(&place.path(), Engine::options(), &mut |_| {}).unwrap();
    holds(&place.open());
}

#[test]
fn ui_state_beyond_its_limits_is_refused_and_nothing_of_it_is_put() {
    let place = Place::new();
    let engine = place.open();
    let long = "v".repeat(UI_VALUE_BYTES_MAX + 1);
    let key = "k".repeat(UI_KEY_BYTES_MAX + 1);
    for (session, key, value) in [("s", "k", long.as_str()), ("s", key.as_str(), "v")] {
        assert!(matches!(engine.put_ui(session, &[("good", Some("v")), (key, Some(value))]), Err(Error::TooLarge { .. })));
    }
    for key in ["", "a\nb", "\0"] {
        assert!(matches!(engine.put_ui("s", &[("good", Some("v")), (key, Some("v"))]), Err(Error::UiKey { .. })), "{key:?}");
    }
    for session in ["", "a\0b"] {
        assert!(matches!(engine.put_ui(session, &[("k", Some("v"))]), Err(Error::SessionId { .. })), "{session:?}");
    }
    assert!(engine.view().ui_values("s").unwrap().is_empty());
    let keys: Vec<String> = (0..=UI_KEYS_MAX).map(|n| format!("k{n}")).collect();
    let values: Vec<(&str, Option<&str>)> = keys.iter().map(|key| (key.as_str(), Some("v"))).collect();
    assert!(matches!(engine.put_ui("s", &values), Err(Error::TooLarge { .. })));
    engine.put_ui("s", values.get(..UI_KEYS_MAX).unwrap()).unwrap();
    engine.put_ui("s", values.get(..UI_KEYS_MAX).unwrap()).unwrap();
    assert!(matches!(engine.put_ui("s", &[("one more", Some("v"))]), Err(Error::TooLarge { .. })));
    engine.put_ui("another", &[("k", Some("v"))]).unwrap();
    assert_eq!(engine.view().ui_values("s").unwrap().len(), UI_KEYS_MAX);
    let kept = engine.view();
    engine.close().unwrap();
    assert!(matches!(kept.ui("s", "k1"), Err(Error::Closed)));
}

#[test]
fn the_list_of_sessions_shows_what_is_asked_for() {
    let place = Place::new();
    let engine = place.open();
    engine.append("done", vec![started("t"), ended("t", "completed")]).unwrap();
    engine.append("runs", vec![started("t")]).unwrap();
    engine.append("asks", vec![started("t"), asked("a")]).unwrap();
    engine.append("failed", vec![started("t"), ended("t", "failed")]).unwrap();
    engine.mark_read("done", Seq::new(2)).unwrap();
    engine.mark_read("runs", Seq::new(1)).unwrap();
    engine.mark_read("failed", Seq::new(1)).unwrap();
    engine.pin("done", true).unwrap();
    engine.pin("runs", true).unwrap();
    let all = SessionFilter::default();
    let check = |engine: &Engine| {
        let view = engine.view();
        assert_eq!(shown(&view, all), ["failed", "asks", "runs", "done"]);
        assert_eq!(shown(&view, SessionFilter { needs_input: true, ..all }), ["asks"]);
        assert_eq!(shown(&view, SessionFilter { unread: true, ..all }), ["failed", "asks"]);
        assert_eq!(shown(&view, SessionFilter { pinned: true, ..all }), ["runs", "done"]);
        let page = view.sessions(10, None).unwrap();
        assert_eq!(page.sessions.iter().map(|session| session.unread).collect::<Vec<_>>(), [1, 2, 0, 0]);
    };
    check(&engine);
    assert_eq!(shown(&engine.view(), SessionFilter { running: true, ..all }), ["asks", "runs"]);
    assert_eq!(shown(&engine.view(), SessionFilter { running: true, pinned: true, ..all }), ["runs"]);
    assert!(shown(&engine.view(), SessionFilter { stale: true, ..all }).is_empty());
    // Whoever ran is gone.
    let engine = killed(engine, &place);
    check(&engine);
    assert_eq!(shown(&engine.view(), SessionFilter { stale: true, ..all }), ["asks", "runs"]);
    assert!(shown(&engine.view(), SessionFilter { running: true, ..all }).is_empty());
    engine.pin("done", false).unwrap();
    engine.append("runs", vec![ended("t", "completed")]).unwrap();
    assert_eq!(shown(&engine.view(), SessionFilter { pinned: true, unread: true, ..all }), ["runs"]);
    engine.put_ui("runs", &[(READ, Some("no number"))]).unwrap();
    assert_eq!(shown(&engine.view(), SessionFilter { pinned: true, unread: true, ..all }), ["runs"]);
    engine.close().unwrap();
    let read = place.read();
    assert_eq!(shown(&read.view(), SessionFilter { needs_input: true, ..all }), ["asks"]);
}

#[test]
fn tasks_tell_what_goes_on_in_all_sessions() {
    let place = Place::new();
    let engine = place.open();
    engine.append("idle", vec![started("t"), ended("t", "completed")]).unwrap();
    engine.append("fails", vec![started("t"), asked("a"), ended("t", "failed")]).unwrap();
    engine.append("fails", vec![asked("b")]).unwrap();
    engine.append("asks", vec![started("t"), asked("a")]).unwrap();
    engine.append("runs", vec![started("t"), queued(2)]).unwrap();
    engine.append("waits", vec![queued(1)]).unwrap();
    let told = |engine: &Engine| -> Vec<(String, TaskKind, TaskState)> {
        let (mut told, mut cursor) = (Vec::new(), None);
        loop {
            let page = engine.view().tasks(1, cursor.as_ref()).unwrap();
            told.extend(page.tasks.into_iter().map(|task| (task.session.id, task.kind, task.state)));
            cursor = page.cursor;
            if cursor.is_none() {
                return told;
            }
        }
    };
    let task = |session: &str, kind, state| (session.to_owned(), kind, state);
    let (turn, queue) = (TaskKind::Turn, TaskKind::Queue);
    let live = [
        task("waits", queue, TaskState::Queued),
        task("runs", turn, TaskState::Running),
        task("runs", queue, TaskState::Blocked),
        task("asks", turn, TaskState::NeedsInput),
        task("fails", turn, TaskState::Failed),
    ];
    assert_eq!(told(&engine), live);
    engine.checkpoint().unwrap();
    assert_eq!(told(&engine), live);
    let engine = killed(engine, &place);
    let gone = [
        task("waits", queue, TaskState::Queued),
        task("runs", turn, TaskState::Stale),
        task("runs", queue, TaskState::Queued),
        task("asks", turn, TaskState::NeedsInput),
        task("fails", turn, TaskState::Failed),
    ];
    assert_eq!(told(&engine), gone);
    engine.append("fails", vec![started("u"), ended("u", "completed")]).unwrap();
    assert_eq!(told(&engine).first(), Some(&task("fails", turn, TaskState::NeedsInput)));
}

#[test]
fn what_is_missing_late_or_in_conflict_says_so_in_the_order_of_precedence() {
    let place = Place::new();
    let engine = place.open();
    let resolved = |decision: &'static str| {
        Fact::InteractionResolved(InteractionResolved {
            interaction: "a".into(),
            decision: Some(decision.into()),
            resolution: Resolution::Resolved,
            payload: Some(json(&format!("{{\"actionId\":\"{decision}\"}}"))),
            receipt: None,
        })
    };
    let artifact = |op, fields: &str| Fact::ArtifactChanged(ArtifactChanged { artifact: "A".into(), op, turn: None, fields: json(fields) });
    let of_turn = |engine: &Engine| engine.view().turn("s", "t", |turn| turn.fallback()).unwrap().unwrap();
    let of_question = |engine: &Engine| engine.view().interaction("s", "a", |asked| asked.fallback()).unwrap().unwrap();
    let of_artifact = |engine: &Engine| engine.view().artifact("s", "A").unwrap().unwrap().fallback();
    let of_session = |engine: &Engine| engine.view().sessions(1, None).unwrap().sessions.first().unwrap().fallback();
    engine.append("s", vec![started("t"), artifact(ArtifactOp::Updated, "{}")]).unwrap();
    assert_eq!((of_turn(&engine), of_session(&engine)), (None, None));
    assert_eq!(of_artifact(&engine), Some(Fallback::Unknown));
    engine.append("s", vec![asked("a"), queued(1)]).unwrap();
    assert_eq!((of_question(&engine), of_session(&engine)), (Some(Fallback::NeedsInput), Some(Fallback::NeedsInput)));
    engine.append("s", vec![resolved("yes")]).unwrap();
    assert_eq!(of_session(&engine), Some(Fallback::Blocked));
    engine.append("s", vec![resolved("no"), artifact(ArtifactOp::Deleted, "{}")]).unwrap();
    assert_eq!((of_question(&engine), of_artifact(&engine)), (Some(Fallback::Disputed), Some(Fallback::Unavailable)));
    let engine = killed(engine, &place);
    assert_eq!((of_turn(&engine), of_session(&engine)), (Some(Fallback::Stale), Some(Fallback::Stale)));
    engine.append("s", vec![ended("t", "failed"), asked("b")]).unwrap();
    assert_eq!((of_turn(&engine), of_session(&engine)), (Some(Fallback::Failed), Some(Fallback::Failed)));
    assert_eq!(Fallback::first([Fallback::Unknown, Fallback::Stale, Fallback::NeedsInput]), Some(Fallback::NeedsInput));
}
