//! Lists over the whole store, and what a session has beside its turns.

use super::*;
use crate::Error;
use crate::cursor::CursorError;
use serde_json::json;

fn listed(fixture: &Fixture, size: usize) -> Vec<String> {
    let (mut names, mut cursor) = (Vec::new(), None);
    loop {
        let page = fixture.engine.view().sessions(size, cursor.as_ref()).unwrap();
        names.extend(page.sessions.into_iter().map(|session| session.id));
        match page.cursor {
            Some(next) => cursor = Some(next),
            None => return names,
        }
    }
}

#[test]
fn sessions_are_listed_by_recency_from_memory_and_from_the_index_alike() {
    let fixture = Fixture::new();
    for number in 0..30 {
        fixture.append(&format!("s{number}"), conversation(1, 1));
    }
    let newest_first: Vec<String> = (0..30).rev().map(|number| format!("s{number}")).collect();
    assert_eq!(listed(&fixture, 7), newest_first);
    let fixture = fixture.reopened();
    assert_eq!(listed(&fixture, 7), newest_first);
    fixture.append("s4", text("again", "x"));
    let touched: Vec<String> = std::iter::once("s4".to_owned()).chain(newest_first.into_iter().filter(|id| id != "s4")).collect();
    assert_eq!(listed(&fixture, 7), touched);
    fixture.engine.checkpoint().unwrap();
    assert_eq!(listed(&fixture, 1), touched);
    let page = fixture.engine.view().sessions(1, None).unwrap();
    assert_eq!((page.sessions[0].turns, page.sessions[0].items, page.sessions[0].last_seq), (1, 2, 6));
    let foreign = Fixture::new().engine.view().sessions(5, page.cursor.as_ref()).unwrap_err();
    assert!(matches!(foreign, Error::Cursor(CursorError::Foreign { what: "store" })));
}

#[test]
fn what_waits_is_listed_until_it_is_resolved_and_after_a_restart() {
    let fixture = Fixture::new();
    for session in ["a", "b", "c"] {
        fixture.append(session, vec![turn("t".to_owned()), asked("one"), asked("two"), asked("three")]);
    }
    fixture.append("b", vec![resolved("two")]);
    let everywhere = |fixture: &Fixture, size: usize| {
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let page = fixture.engine.view().pending_everywhere(size, cursor.as_ref()).unwrap();
            all.extend(page.pending.into_iter().map(|waiting| format!("{}/{}/{}", waiting.session, waiting.id, waiting.kind)));
            match page.cursor {
                Some(next) => cursor = Some(next),
                None => return all,
            }
        }
    };
    let expected: Vec<String> =
        ["a/one", "a/two", "a/three", "b/one", "b/three", "c/one", "c/two", "c/three"].map(|id| format!("{id}/approval")).to_vec();
    assert_eq!(everywhere(&fixture, 3), expected);
    let fixture = fixture.reopened();
    assert_eq!(everywhere(&fixture, 3), expected);
    let pending = fixture.engine.view().pending("b").unwrap();
    assert_eq!(pending.interactions().map(|asked| asked.id().to_owned()).collect::<Vec<_>>(), ["one", "three"]);
    assert_eq!(pending.interactions().next().unwrap().request().unwrap().joined(), "{\"say\":\"yes?\"}");
    fixture.append("a", vec![resolved("one"), resolved("two"), resolved("three")]);
    assert_eq!(everywhere(&fixture, 100), expected[3..]);
    fixture.engine.checkpoint().unwrap();
    assert_eq!(everywhere(&fixture, 1), expected[3..]);
    assert!(fixture.engine.view().pending("a").unwrap().is_empty());
}

#[test]
fn a_turn_that_a_gone_process_left_running_reads_as_unobserved_until_the_host_goes_on() {
    let fixture = Fixture::new();
    fixture.append("s", vec![turn("t".to_owned())]);
    fixture.append("s", text("m", "x"));
    let status = |fixture: &Fixture| {
        let page = fixture.engine.view().window("s", crate::Window::items(5)).unwrap();
        let turn = page.turns().next().unwrap().turn().unwrap();
        (turn.status().to_owned(), turn.stated_status().to_owned())
    };
    let summary = |fixture: &Fixture| {
        let session = fixture.engine.view().sessions(1, None).unwrap().sessions.remove(0);
        assert_eq!(fixture.engine.view().session("s").unwrap().unwrap().unobserved, session.unobserved);
        (session.running, session.unobserved)
    };
    let (running, unobserved) = (("running".to_owned(), "running".to_owned()), ("unobserved".to_owned(), "running".to_owned()));
    assert_eq!((status(&fixture), summary(&fixture)), (running.clone(), (true, false)));
    fixture.engine.checkpoint().unwrap();
    assert_eq!((status(&fixture), summary(&fixture)), (running.clone(), (true, false)));
    let fixture = fixture.reopened();
    assert_eq!((status(&fixture), summary(&fixture)), (unobserved, (false, true)));
    fixture.append("s", vec![delta("m".to_owned(), "y".to_owned())]);
    assert_eq!((status(&fixture), summary(&fixture)), (running.clone(), (true, false)));
    fixture.engine.checkpoint().unwrap();
    assert_eq!((status(&fixture), summary(&fixture)), (running, (true, false)));
}

#[test]
fn documents_artifacts_and_diagnostics_read_the_same_from_memory_and_from_rows() {
    let fixture = Fixture::new();
    let filler: Vec<String> = (0..900).map(|line| format!("some filler {line}")).collect();
    fixture.append(
        "s",
        vec![
            document("state", &json!({ "filler": filler, "n": 1 })),
            patched("state", &json!([{ "op": "replace", "path": "/n", "value": 2 }])),
        ],
    );
    fixture.append("s", vec![document("other", &json!(null))]);
    let references = [("a.md", "document"), ("b.png", "image")]
        .map(|(path, artifact_type)| crate::fact::ArtifactReference { path: path.into(), artifact_type: artifact_type.into() });
    fixture.append("s", vec![Fact::TurnArtifactsSet(crate::fact::TurnArtifactsSet { turn: "t".into(), references: references.to_vec() })]);
    fixture.append("s", (0..40).map(|number| delta(format!("unknown{number}"), "x".to_owned())).collect());
    let check = |fixture: &Fixture| {
        let view = fixture.engine.view();
        let value = view.document("s", "state").unwrap().unwrap();
        assert_eq!(
            (value.value["n"].clone(), value.value["filler"][899].clone(), value.stale),
            (json!(2), json!("some filler 899"), false)
        );
        assert_eq!(view.document("s", "other").unwrap().unwrap().value, json!(null));
        assert!(view.document("s", "none").unwrap().is_none());
        assert_eq!(view.documents("s").unwrap().map(|document| document.unwrap().name).collect::<Vec<_>>(), ["state", "other"]);
        let paths: Vec<_> = view.artifacts("s").unwrap().map(|artifact| artifact.unwrap().path.unwrap()).collect();
        assert_eq!(paths, ["a.md", "b.png"]);
        let of_turn: Vec<_> = view.turn_artifacts("s", "t").unwrap().unwrap().into_iter().map(|artifact| artifact.path).collect();
        assert_eq!(of_turn, paths);
        assert_eq!(view.turn_artifacts("s", "nobody").unwrap(), None);
        let details: Vec<_> = view.diagnostics("s").unwrap().map(|diagnostic| diagnostic.unwrap().detail.unwrap()).collect();
        assert_eq!(details, (0..40).map(|number| format!("unknown{number}")).collect::<Vec<_>>());
    };
    check(&fixture);
    fixture.engine.checkpoint().unwrap();
    check(&fixture);
    check(&fixture.reopened());
}

/// What the list, the session's head, every window, and what waits say of the newest turn: one word, because they agree.
#[track_caller]
fn agreed(fixture: &Fixture) -> &'static str {
    let view = fixture.engine.view();
    let listed = view.sessions(1, None).unwrap().sessions.remove(0);
    let head = view.session("s").unwrap().unwrap();
    assert_eq!(listed.unobserved, head.unobserved);
    let word = match (listed.running, listed.unobserved) {
        (true, false) => "running",
        (false, true) => "unobserved",
        (false, false) => "ended",
        (true, true) => panic!("both"),
    };
    let last = head.header.turns;
    let of_newest = |page: &Page| {
        let turns = page.turns().filter_map(|turn| turn.turn());
        let newest = turns.filter(|turn| turn.id() == format!("t{last}")).map(|turn| turn.status().to_owned());
        newest.collect::<Vec<_>>()
    };
    let mut page = view.window("s", crate::Window::items(3)).unwrap();
    let mut statuses = of_newest(&page);
    while let Some(cursor) = page.cursor() {
        page = view.page("s", &cursor, crate::Window::items(3)).unwrap();
        statuses.extend(of_newest(&page));
    }
    let pending = view.pending("s").unwrap();
    statuses.extend(
        pending.items().filter_map(|item| item.turn()).filter(|turn| turn.id() == format!("t{last}")).map(|turn| turn.status().to_owned()),
    );
    assert!(!statuses.is_empty());
    for status in statuses {
        assert!(status == word || (word == "ended" && status == "completed"), "a window says {status}, the list {word}");
    }
    word
}

#[test]
fn the_list_and_every_window_agree_on_a_turn_that_a_kill_left_open_whatever_the_session_does_next() {
    let title =
        || Fact::SessionChanged(crate::fact::SessionChanged { title: Some("new".into()), ..crate::fact::SessionChanged::default() });
    let late = || delta("m0".to_owned(), "late".to_owned());
    let nexts: Vec<(&str, Vec<Fact<'static>>)> = vec![
        ("unobserved", vec![]),
        ("unobserved", vec![title()]),
        ("unobserved", vec![document("state", &json!({ "n": 1 }))]),
        ("unobserved", vec![delta("nobody".to_owned(), "x".to_owned())]),
        ("running", vec![late()]),
        ("running", text("more", "x")),
        ("running", vec![asked("q2")]),
        ("running", vec![title(), resolved("q"), title()]),
        ("running", vec![turn("t1".to_owned())]),
        ("running", vec![turn("t2".to_owned())]),
        ("ended", vec![ended("completed")]),
        ("ended", vec![late(), ended("completed"), title()]),
    ];
    for (expected, facts) in nexts {
        let mut fixture = Fixture::new();
        // Enough that the item changed late is in a page far from the newest.
        let items = (0..200).flat_map(|item| text(&format!("m{item}"), "hello"));
        fixture.append("s", std::iter::once(turn("t1".to_owned())).chain([asked("q")]).chain(items).collect());
        assert_eq!(agreed(&fixture), "running");
        for saved in [false, true] {
            if saved {
                fixture.engine.checkpoint().unwrap();
            }
            fixture = fixture.killed();
            assert_eq!(agreed(&fixture), "unobserved", "{facts:?}");
        }
        for fact in &facts {
            fixture.append("s", vec![fact.clone()]);
        }
        assert_eq!(agreed(&fixture), expected, "{facts:?}");
        fixture.engine.checkpoint().unwrap();
        assert_eq!(agreed(&fixture), expected, "checkpointed, {facts:?}");
        let gone = if expected == "ended" { "ended" } else { "unobserved" };
        fixture = fixture.reopened();
        assert_eq!(agreed(&fixture), gone, "reopened, {facts:?}");
        fixture.append("s", vec![title()]);
        assert_eq!(agreed(&fixture), gone, "renamed after that, {facts:?}");
    }
}

#[test]
fn the_time_of_the_last_event_is_listed_after_a_restart_a_rebuild_and_a_refused_append() {
    let mut fixture = Fixture::new();
    fixture.append("s", text("m", "x"));
    fixture.append("other", text("m", "x"));
    let times = |fixture: &Fixture| {
        let mut sessions = fixture.engine.view().sessions(10, None).unwrap().sessions;
        sessions.sort_by(|one, two| one.id.cmp(&two.id));
        sessions.into_iter().map(|session| (session.id, session.recorded_at, session.last_position)).collect::<Vec<_>>()
    };
    let expected = times(&fixture);
    assert!(expected.iter().all(|(_, recorded_at, _)| *recorded_at > 0));
    let refused = |fixture: &Fixture| {
        assert!(matches!(fixture.engine.append("s", Batch::of(text("n", "y")).expect(99)), Err(Error::Conflict { .. })));
    };
    fixture = fixture.killed();
    assert_eq!(times(&fixture), expected);
    fixture = fixture.reopened();
    refused(&fixture);
    assert_eq!(times(&fixture), expected);
    // Rows of every kind that hold it are lost; the refused append folds the session again, and the next checkpoint writes it.
    for kind in [crate::state::RowKind::Header as u8, 17] {
        fixture = fixture.reopened();
        assert!(rows::lose_rows(&fixture, kind) > 0);
        refused(&fixture);
        assert_eq!(times(&fixture)[..2], expected[..], "rows of kind {kind} are lost");
        fixture.append("third", text("m", "x"));
        fixture.engine.checkpoint().unwrap();
        assert_eq!(times(&fixture)[..2], expected[..], "rows of kind {kind} were lost");
    }
    let Fixture { folder, engine } = fixture;
    engine.close().unwrap();
    crate::rebuild(&folder.path().join("store"), Engine::options(), &mut |_| {}).unwrap();
    let fixture = Fixture { engine: Engine::open(folder.path().join("store")).unwrap(), folder };
    refused(&fixture);
    assert_eq!(times(&fixture)[..2], expected[..]);
}
