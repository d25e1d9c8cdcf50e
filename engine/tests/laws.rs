//! The laws, on a real store.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use support::{fact, facts};
use turnstore::fact::*;
use turnstore::{Batch, Durability, Engine, Error, ItemKind, Options, Position, Seq, Store, View, Window};

fn dir() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn path(dir: &tempfile::TempDir) -> std::path::PathBuf {
    dir.path().join("agent.turnstore")
}

/// Everything that a view answers of a session, as text; but whether a turn is observed, which a restart changes.
fn answers(view: &View, session: &str) -> Vec<String> {
    let mut answers = vec![format!("hash {}", view.hash(session).unwrap())];
    let mut page = view.window(session, Window::items(7)).unwrap();
    loop {
        for item in page.items() {
            answers.push(shown(&item));
        }
        match page.cursor() {
            Some(cursor) => page = view.page(session, &cursor, Window::items(7)).unwrap(),
            None => break,
        }
    }
    answers.extend(view.pending(session).unwrap().interactions().map(|asked| format!("pending {}", asked.id())));
    for listed in view.artifacts(session).unwrap() {
        answers.push(format!("{:?}", listed.unwrap()));
    }
    answers.push(format!("{:?} {:?}", view.queue(session).unwrap(), view.workspace(session).unwrap()));
    // Each thing of a list is found by its id too.
    let mut put = |listed: String, found: String| {
        assert_eq!(listed, found);
        answers.push(listed);
    };
    for artifact in view.artifacts_by_id(session).unwrap() {
        let id = artifact.as_ref().unwrap().id.clone().unwrap();
        put(format!("{:?}", artifact.ok()), format!("{:?}", view.artifact(session, &id).unwrap()));
    }
    for evidence in view.evidence_records(session).unwrap() {
        let id = evidence.as_ref().unwrap().id.clone();
        put(format!("{:?}", evidence.ok()), format!("{:?}", view.evidence(session, &id).unwrap()));
    }
    for steer in view.steers(session).unwrap() {
        let id = steer.as_ref().unwrap().id.clone();
        put(format!("{:?}", steer.ok()), format!("{:?}", view.steer(session, &id).unwrap()));
    }
    for intent in view.intents(session).unwrap() {
        let id = intent.as_ref().unwrap().id.clone();
        put(format!("{:?}", intent.ok()), format!("{:?}", view.intent(session, &id).unwrap()));
    }
    for write in view.writes(session).unwrap() {
        let id = write.as_ref().unwrap().id.clone();
        put(format!("{:?}", write.ok()), format!("{:?}", view.write(session, &id).unwrap()));
    }
    for surface in view.surfaces(session).unwrap() {
        let value = view.surface(session, &surface.as_ref().unwrap().id).unwrap().unwrap();
        put(format!("{:?}", surface.unwrap()), format!("{:?}", value.summary));
        put(format!("{value:?}"), format!("{value:?}"));
    }
    for listed in view.diagnostics(session).unwrap() {
        answers.push(format!("{:?}", listed.unwrap()));
    }
    for listed in view.documents(session).unwrap() {
        let document = listed.unwrap();
        answers.push(format!("{document:?} {:?}", view.document(session, &document.name).unwrap()));
    }
    answers
}

fn shown(item: &turnstore::Item<'_>) -> String {
    let turn = item.turn().map(|turn| (turn.id().to_owned(), turn.ended(), turn.reopened()));
    let kind = match item.kind() {
        ItemKind::Text(part) | ItemKind::Reasoning(part) | ItemKind::Activity(part) => {
            format!("part {} {} {:?} {:?}", part.id(), part.role(), part.mark(), part.text().map(|text| text.joined().into_owned()))
        }
        ItemKind::Tool(tool) => {
            let results: Vec<_> = tool.results().map(|result| result.content().map(|text| text.joined().into_owned())).collect();
            format!("tool {} {} {} {results:?}", tool.id(), tool.status(), tool.args().joined())
        }
        ItemKind::Interaction(asked) => format!("interaction {} {:?}", asked.id(), asked.status()),
        ItemKind::Result(result) => format!("result {} {:?}", result.tool(), result.content().map(|text| text.joined().into_owned())),
        ItemKind::Compaction { phase, .. } => format!("compaction {phase}"),
        ItemKind::ArtifactRef(id) => format!("artifact {id}"),
        ItemKind::EvidenceRef(id) => format!("evidence {id}"),
        _ => "other".to_owned(),
    };
    format!("{turn:?} {kind} {:?} {:?}", item.first_seq(), item.last_seq())
}

fn reopened(engine: Engine, path: &Path) -> Engine {
    engine.close().unwrap();
    Engine::open(path).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// L1 and L2: any batching, with checkpoints, reopenings and abandoned handles between, gives the same answers; so does a rebuild.
    #[test]
    fn any_batching_reopening_and_rebuilding_gives_the_same_answers(steps in proptest::collection::vec((proptest::collection::vec(fact(), 1..12), 0_u8..6), 1..10)) {
        let (one, many) = (dir(), dir());
        let whole = Engine::open(path(&one)).unwrap();
        let mut cut = Engine::open(path(&many)).unwrap();
        for (facts, what) in &steps {
            for fact in facts {
                whole.append("s", fact.clone()).unwrap();
            }
            cut.append("s", facts.clone()).unwrap();
            match what {
                0 => { cut.checkpoint().unwrap(); }
                1 => cut = reopened(cut, &path(&many)),
                2 => { drop(cut); cut = Engine::open(path(&many)).unwrap(); }
                _ => {}
            }
        }
        let expected = answers(&whole.view(), "s");
        prop_assert_eq!(&answers(&cut.view(), "s"), &expected);
        cut.close().unwrap();
        turnstore::rebuild(&path(&many), Options::default(), &mut |_| {}).unwrap();
        let rebuilt = Store::read(path(&many)).unwrap();
        prop_assert_eq!(&answers(&rebuilt.view(), "s"), &expected);
        prop_assert_eq!(rebuilt.view().verify(&mut |_| {}).unwrap().difference, None);
    }

    /// L9: no interleaving with other sessions changes a session.
    #[test]
    fn sessions_do_not_see_each_other(facts in proptest::collection::vec((0_usize..3, fact()), 1..60)) {
        let (together, alone) = (dir(), dir());
        let all = Engine::open(path(&together)).unwrap();
        let each = Engine::open(path(&alone)).unwrap();
        for (session, fact) in &facts {
            all.append(&format!("s{session}"), fact.clone()).unwrap();
        }
        for wanted in 0..3 {
            for (_, fact) in facts.iter().filter(|(session, _)| *session == wanted) {
                each.append(&format!("s{wanted}"), fact.clone()).unwrap();
            }
            if facts.iter().any(|(session, _)| *session == wanted) {
                let name = format!("s{wanted}");
                prop_assert_eq!(answers(&all.view(), &name), answers(&each.view(), &name));
            }
        }
    }

    /// L5: following cursors visits every item that was there once and in order, both ways, while a thread appends.
    #[test]
    fn paging_visits_every_item_once_while_appends_go_on(before in facts(60), size in 1_usize..9) {
        let dir = dir();
        let engine = Engine::options().durability(Durability::Buffered).open(path(&dir)).unwrap();
        engine.append("s", part("grows")).unwrap();
        engine.append("s", before).unwrap();
        let there = all_of(&engine.view());
        let (visited, appended) = while_appending(&engine, || [Way::Older, Way::Newer].map(|way| followed(&engine, size, way)));
        for (way, visited) in [Way::Older, Way::Newer].into_iter().zip(visited) {
            let (known, late): (Vec<_>, Vec<_>) = visited.into_iter().partition(|item| !item.contains("late"));
            prop_assert_eq!(&known, &there, "{:?}", way);
            prop_assert_eq!(late.iter().collect::<BTreeSet<_>>().len(), late.len(), "{:?} repeats {:?}", way, late);
            // What came meanwhile came without a gap: each follows the one before it.
            let numbers: Vec<usize> = late.iter().map(|item| item.rsplit("late").next().unwrap().parse().unwrap()).collect();
            prop_assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]) && numbers.len() <= appended, "{:?}: {:?}", way, numbers);
            prop_assert!(way == Way::Older || numbers.first().is_none_or(|first| *first == 0), "{:?}", numbers);
        }
        prop_assert_eq!(all_of(&engine.view()).len(), there.len() + appended);
    }

    /// L7: a key with the same facts is a no-op that returns the first receipt, after a restart too; with other facts an error.
    #[test]
    fn the_same_key_appends_once(facts in facts(6), other in fact(), restart in any::<bool>(), abandon in any::<bool>()) {
        let dir = dir();
        let mut engine = Engine::open(path(&dir)).unwrap();
        let first = engine.append("s", Batch::of(facts.clone()).key("k")).unwrap();
        engine.append("s", other.clone()).unwrap();
        if abandon {
            drop(engine);
            engine = Engine::open(path(&dir)).unwrap();
        }
        if restart {
            engine = reopened(engine, &path(&dir));
        }
        let again = engine.append("s", Batch::of(facts.clone()).key("k")).unwrap();
        prop_assert!(again.duplicate);
        prop_assert_eq!((again.first, again.last, again.seq), (first.first, first.last, first.seq));
        let mut others = facts;
        others.push(other);
        let reused = engine.append("s", Batch::of(others).key("k"));
        prop_assert!(matches!(reused, Err(Error::KeyReused { first: at, .. }) if Some(at) == first.first), "{:?}", reused);
        prop_assert_eq!(engine.view().position(), Position::new(first.last.unwrap().get() + 1));
    }

    /// L8: what is asked and not answered is pending after every restart, in the session and everywhere; what is answered never returns.
    #[test]
    fn pending_is_kept_and_resolved_never_returns(facts in facts(40), restarts in proptest::collection::vec(any::<bool>(), 40)) {
        let dir = dir();
        let mut engine = Engine::open(path(&dir)).unwrap();
        let mut model = BTreeMap::<String, bool>::new();
        for (fact, restart) in facts.iter().zip(&restarts) {
            engine.append("s", fact.clone()).unwrap();
            if let Fact::InteractionResolved(resolved) = fact {
                model.insert(resolved.interaction.to_string(), true);
            }
            if *restart { engine = reopened(engine, &path(&dir)); }
            let view = engine.view();
            let pending: Vec<String> = view.pending("s").unwrap().interactions().map(|asked| asked.id().to_owned()).collect();
            let everywhere: Vec<String> = view.pending_everywhere(100, None).unwrap().pending.iter().map(|asked| asked.id.clone()).collect();
            prop_assert_eq!(pending.iter().collect::<std::collections::BTreeSet<_>>(), everywhere.iter().collect());
            prop_assert!(pending.iter().all(|id| !model.contains_key(id)), "a resolved one is pending: {:?}", pending);
            if let Fact::InteractionRequested(asked) = fact && !model.contains_key(asked.interaction.as_ref()) {
                prop_assert!(pending.contains(&asked.interaction.to_string()));
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Older,
    Newer,
}

/// What an item is, whatever happens to it later.
fn identity(item: &turnstore::Item<'_>) -> String {
    let id = match item.kind() {
        ItemKind::Text(part) => format!("text {}", part.id()),
        ItemKind::Reasoning(part) => format!("reasoning {}", part.id()),
        ItemKind::Activity(part) => format!("activity {}", part.id()),
        ItemKind::Tool(tool) => format!("tool {}", tool.id()),
        ItemKind::Interaction(asked) => format!("interaction {}", asked.id()),
        ItemKind::Result(result) => format!("result {}", result.tool()),
        ItemKind::Compaction { phase, .. } => format!("compaction {phase}"),
        ItemKind::ArtifactRef(id) => format!("artifact {id}"),
        ItemKind::EvidenceRef(id) => format!("evidence {id}"),
        _ => "other".to_owned(),
    };
    format!("{:?} {id}", item.first_seq().map(Seq::get))
}

/// Identities of every item of a view, oldest first, in pages that are as large as they may be.
fn all_of(view: &View) -> Vec<String> {
    let mut page = view.oldest("s", Window::items(500)).unwrap();
    let mut all: Vec<String> = page.items().map(|item| identity(&item)).collect();
    while page.has_newer() {
        page = view.page("s", &page.newer_cursor(), Window::items(500)).unwrap();
        all.extend(page.items().map(|item| identity(&item)));
    }
    all
}

/// The same in small pages from one end, each read at the newest view; oldest first whichever way it went.
fn followed(engine: &Engine, size: usize, way: Way) -> Vec<String> {
    let window = || Window::items(size);
    let mut all = Vec::new();
    let mut page = match way {
        Way::Older => engine.view().window("s", window()).unwrap(),
        Way::Newer => engine.view().oldest("s", window()).unwrap(),
    };
    loop {
        let items: Vec<String> = page.items().map(|item| identity(&item)).collect();
        match way {
            Way::Older => all.extend(items.into_iter().rev()),
            Way::Newer => all.extend(items),
        }
        let next = match way {
            Way::Older => page.cursor(),
            Way::Newer => page.has_newer().then(|| page.newer_cursor()),
        };
        let Some(cursor) = next else { break };
        page = engine.view().page("s", &cursor, window()).unwrap();
    }
    if way == Way::Older {
        all.reverse();
    }
    all
}

/// Does `work` while a thread appends new items, changes old ones and checkpoints; answers how many items came.
fn while_appending<T>(engine: &Engine, work: impl FnOnce() -> T) -> (T, usize) {
    let done = AtomicBool::new(false);
    let begun = Barrier::new(2);
    std::thread::scope(|scope| {
        let appender = scope.spawn(|| {
            let mut appended = 0;
            while appended < 150 && (appended < 5 || !done.load(Ordering::Acquire)) {
                let delta = PartDelta { part: "grows".into(), kind: PartKind::Text, text: "more".into(), metadata: None };
                engine.append("s", vec![part(&format!("late{appended}")), Fact::PartDelta(delta)]).unwrap();
                if appended == 0 {
                    begun.wait();
                }
                if appended % 10 == 9 {
                    engine.checkpoint().unwrap();
                }
                appended += 1;
            }
            appended
        });
        begun.wait();
        let worked = work();
        done.store(true, Ordering::Release);
        (worked, appender.join().unwrap())
    })
}

fn part(id: &str) -> Fact<'static> {
    Fact::PartOpened(PartOpened {
        part: id.to_owned().into(),
        message: id.to_owned().into(),
        kind: PartKind::Text,
        role: "user".into(),
        name: None,
        turn: None,
        agent: None,
        subtype: None,
        content: Some(Content::Text("words".into())),
        metadata: None,
    })
}
