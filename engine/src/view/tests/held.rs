//! A view that is held answers as it did when it was taken, whatever the store does.

use super::*;
use crate::{Error, Limits, Position, Seq, Stream, View, Window};
use serde_json::json;

const SESSIONS: usize = 24;

fn name(number: usize) -> String {
    format!("s{number}")
}

/// Every read of a view, as text.
fn everything(view: &View) -> Vec<String> {
    let mut said = vec![format!("{:?} {:?}", view.position(), view.log(Position::FIRST).unwrap().count())];
    for size in [1, 3, 100] {
        let mut cursor = None;
        loop {
            let page = view.sessions(size, cursor.as_ref()).unwrap();
            said.extend(page.sessions.iter().map(|session| format!("by {size}: {session:?}")));
            match page.cursor {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        let mut cursor = None;
        loop {
            let page = view.pending_everywhere(size, cursor.as_ref()).unwrap();
            said.extend(page.pending.iter().map(|waiting| format!("by {size}: {waiting:?}")));
            match page.cursor {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
    }
    for number in 0..2 * SESSIONS {
        said.push(format!("{:?}", Stream::new(number as u64 + 1).map(|stream| view.session_name(stream).unwrap())));
        let session = &name(number);
        let Some(head) = view.session(session).unwrap() else {
            let absent = [
                view.window(session, Window::default()).map(|_| ()),
                view.events(session, Seq::FIRST).map(|_| ()),
                view.pending(session).map(|_| ()),
                view.hash(session).map(|_| ()),
            ];
            assert!(absent.iter().all(|answer| matches!(answer, Err(Error::NoSession { .. }))), "{session}: {absent:?}");
            said.push(format!("no {session}"));
            continue;
        };
        let mut page = view.window(session, Window::items(4)).unwrap();
        let mut items = ids(&page);
        while let Some(cursor) = page.cursor() {
            page = view.page(session, &cursor, Window::items(4)).unwrap();
            items.extend(ids(&page));
        }
        let statuses: Vec<_> = page.turns().filter_map(|turn| turn.turn()).map(|turn| turn.status().to_owned()).collect();
        let waiting: Vec<_> = view.pending(session).unwrap().interactions().map(|asked| asked.id().to_owned()).collect();
        let documents: Vec<_> = view.documents(session).unwrap().map(|document| document.unwrap().name).collect();
        let values: Vec<_> = documents.iter().map(|name| view.document(session, name).unwrap()).collect();
        let diagnostics: Vec<_> = view.diagnostics(session).unwrap().map(|diagnostic| diagnostic.unwrap()).collect();
        let events = view.events(session, Seq::FIRST).unwrap().count();
        said.push(format!(
            "{head:?} {items:?} {statuses:?} {waiting:?} {values:?} {diagnostics:?} {events} {}",
            view.hash(session).unwrap()
        ));
    }
    said
}

/// One round of changes to every kind of list.
fn go_on(engine: &Engine, round: usize) {
    let title = |text: String| {
        Fact::SessionChanged(crate::fact::SessionChanged { title: Some(text.into()), ..crate::fact::SessionChanged::default() })
    };
    let touched = name((round * 7) % SESSIONS);
    let facts = vec![
        turn(format!("r{round}")),
        title(format!("round {round}")),
        asked(&format!("q{round}")),
        document("state", &json!({ "round": round })),
        delta(format!("unknown{round}"), "x".to_owned()),
    ];
    engine.append(&touched, Batch::of(facts)).unwrap();
    engine.append(&touched, Batch::of(text(&format!("m{round}"), &"words ".repeat(1 + round % 5 * 400)))).unwrap();
    let answered = name((round * 5) % SESSIONS);
    engine.append(&answered, Batch::of(vec![resolved("first"), resolved(&format!("q{}", round / 2)), ended("completed")])).unwrap();
    if round.is_multiple_of(3) {
        engine.append(&name(SESSIONS + round / 3), Batch::of(vec![turn("new".to_owned()), asked("of a new one")])).unwrap();
    }
}

#[test]
fn every_read_of_a_held_view_stays_as_it_was_while_lists_change_and_checkpoints_pass() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { idle_sessions_max: 3, events_between_checkpoints_max: 8, ..Limits::default() };
    let engine = Engine::options().limits(limits).open(folder.path().join("store")).unwrap();
    let empty = (engine.view(), everything(&engine.view()));
    for number in 0..SESSIONS {
        engine.append(&name(number), Batch::of(conversation(2, 3))).unwrap();
        if number % 2 == 0 {
            engine.append(&name(number), Batch::of(vec![turn("open".to_owned()), asked("first")])).unwrap();
        }
    }
    let unsaved = (engine.view(), everything(&engine.view()));
    engine.checkpoint().unwrap();
    assert!(engine.shared().head().sessions.len() < SESSIONS / 2, "most sessions must be in rows only");
    let mut held = vec![empty, unsaved, (engine.view(), everything(&engine.view()))];
    for round in 0..60 {
        go_on(&engine, round);
        if round.is_multiple_of(2) {
            engine.checkpoint().unwrap();
        }
        if round % 15 == 7 {
            held.push((engine.view(), everything(&engine.view())));
        }
        if round % 12 == 5 || round == 59 {
            for (view, before) in &held {
                let now = everything(view);
                let first = before.iter().zip(&now).find(|(before, now)| before != now);
                assert!(first.is_none() && now.len() == before.len(), "round {round}, view at {:?}: {first:?}", view.position());
            }
        }
    }
    drop(held);
    engine.close().unwrap();
}
