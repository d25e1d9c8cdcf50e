//! Manifests and graphs.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::limits::{CATALOG_BYTES_MAX, CATALOG_COMPONENTS_MAX, CATALOG_DEPENDENCIES_MAX, CATALOG_NESTING_MAX};

fn catalog(id: &str, version: &str, dependencies: &[(&str, &str)]) -> Manifest {
    let dependencies: BTreeMap<_, _> = dependencies.iter().copied().collect();
    Manifest::parse(&serde_json::json!({"id": id, "version": version, "dependencies": dependencies}).to_string()).unwrap()
}

fn catalogs(list: impl IntoIterator<Item = Manifest>) -> Catalogs {
    let mut catalogs = Catalogs::default();
    list.into_iter().for_each(|manifest| catalogs.register(manifest).unwrap());
    catalogs
}

fn resolve(catalogs: &Catalogs, id: &str) -> Result<Vec<String>, Unresolved> {
    let graph = catalogs.resolve(&[(id, VersionReq::STAR)])?;
    Ok(graph.iter().map(|(id, version)| format!("{id} {version}")).collect())
}

#[track_caller]
fn refused(manifest: &str, place: &str) {
    match Manifest::parse(manifest) {
        Err(BadManifest::Field { at, .. }) => assert_eq!(at, place, "{manifest}"),
        other => panic!("{manifest}: {other:?}"),
    }
}

#[track_caller]
fn too_large(manifest: &str, name: &str) {
    match Manifest::parse(manifest) {
        Err(BadManifest::TooLarge { limit, .. }) => assert_eq!(limit, name),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_manifest_that_does_not_read_names_the_field() {
    refused("[]", "");
    refused(r#"{"version":"1.0.0"}"#, "/id");
    refused(r#"{"id":"","version":"1.0.0"}"#, "/id");
    refused(r#"{"id":"a","version":"1"}"#, "/version");
    refused(r#"{"id":"a","version":"1.0.0","dependencies":{"b/c":"what"}}"#, "/dependencies/b~1c");
    refused(r#"{"id":"a","version":"1.0.0","components":[]}"#, "/components");
    refused(r#"{"id":"a","version":"1.0.0","components":{"C":{"properties":1}}}"#, "/components/C/properties");
    refused(r#"{"id":"a","version":"1.0.0","components":{"C":{"required":["x"]}}}"#, "/components/C/required");
    refused(r#"{"id":"a","version":"1.0.0","components":{"C":{"bindings":["x"]}}}"#, "/components/C/bindings");
    refused(r#"{"id":"a","version":"1.0.0","components":{"C":{"slots":[1]}}}"#, "/components/C/slots");
    refused(r#"{"id":"a","version":"1.0.0","actions":{"x":{"policy":"ask"}}}"#, "/actions/x/policy");
    assert!(matches!(Manifest::parse("{"), Err(BadManifest::NotJson { .. })));
}

#[test]
fn a_manifest_above_a_limit_is_refused_with_its_name() {
    let many = |key: &str, count: usize, value: &str| {
        let members: Vec<String> = (0..count).map(|n| format!(r#""m{n}":{value}"#)).collect();
        format!(r#"{{"id":"a","version":"1.0.0","{key}":{{{}}}}}"#, members.join(","))
    };
    too_large(&many("components", 100_000, "{}"), "catalog_bytes_max");
    too_large(&" ".repeat(CATALOG_BYTES_MAX + 1), "catalog_bytes_max");
    too_large(&many("components", CATALOG_COMPONENTS_MAX + 1, "{}"), "catalog_components_max");
    too_large(&many("actions", CATALOG_COMPONENTS_MAX + 1, "{}"), "catalog_components_max");
    too_large(&many("dependencies", CATALOG_DEPENDENCIES_MAX + 1, r#""1""#), "catalog_dependencies_max");
    let nested = |levels: usize| format!(r#"{{"id":"a","version":"1.0.0","x":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    too_large(&nested(CATALOG_NESTING_MAX), "catalog_nesting_max");
    assert!(Manifest::parse(&nested(CATALOG_NESTING_MAX - 1)).is_ok());
    assert!(matches!(Manifest::parse(&nested(100_000)), Err(BadManifest::NotJson { .. })));
}

#[test]
fn a_manifest_keeps_what_it_declares() {
    let manifest = Manifest::parse(
        r#"{"id":"a","version":"1.0.0","components":{"C":{"properties":{"x":{"type":"string"}},"required":["x"],"slots":["head"],"actions":["pay"]}},
        "actions":{"pay":{"policy":{"effect":"external","reversibility":"irreversible","approval":"always","scope":"tenant","idempotency":"key","audit":true}}}}"#,
    )
    .unwrap();
    let component = manifest.component("C").unwrap();
    assert_eq!(component.properties.get("x"), Some(&serde_json::json!({"type": "string"})));
    assert!(component.required.contains("x") && component.slots.contains("head") && component.bindings.is_none());
    let policy = &manifest.action("pay").unwrap().policy;
    for (key, value) in [("approval", "always"), ("scope", "tenant"), ("idempotency", "key")] {
        assert_eq!(policy.stated(key).and_then(|stated| stated.as_str()), Some(value));
    }
    assert_eq!(policy.stated("audit"), Some(&serde_json::Value::Bool(true)));
    assert!(policy.entails().needs_approval());
}

#[test]
fn an_action_needs_approval_unless_its_policy_plainly_says_otherwise() {
    let needs = |policy: &str| {
        let text = format!(r#"{{"id":"a","version":"1.0.0","actions":{{"x":{{"policy":{policy}}}}}}}"#);
        Manifest::parse(&text).unwrap().action("x").unwrap().policy.entails().needs_approval()
    };
    assert!(needs("{}"));
    assert!(needs(r#"{"effect":"External","reversibility":"Reversible"}"#));
    assert!(needs(r#"{"effect":"external","reversibility":"irreversible","approval":"never"}"#));
    assert!(!needs(r#"{"effect":"internal"}"#));
    assert!(needs(r#"{"effect":"internal","approval":"always"}"#));
    assert!(needs(r#"{"effect":"external","reversibility":"reversible","approval":"required"}"#));
    assert!(!needs(r#"{"effect":"external","reversibility":"reversible"}"#));
}

#[test]
fn a_version_is_registered_once_and_never_changes() {
    let mut catalogs = catalogs([catalog("a", "1.0.0", &[])]);
    assert_eq!(catalogs.register(catalog("a", "1.0.0", &[])), Ok(()));
    assert!(matches!(catalogs.register(catalog("a", "1.0.0", &[("b", "1")])), Err(NotRegistered::Changed { .. })));
    assert_eq!(catalogs.register(catalog("a", "1.1.0", &[])), Ok(()));
    assert_eq!(catalogs.versions("a").map(ToString::to_string).collect::<Vec<_>>(), ["1.1.0", "1.0.0"]);
}

#[test]
fn one_version_satisfies_every_consumer() {
    let all = catalogs([
        catalog("app", "1.0.0", &[("left", "1"), ("right", "1")]),
        catalog("left", "1.0.0", &[("shared", ">=1.0")]),
        catalog("right", "1.0.0", &[("shared", "<2")]),
        catalog("shared", "1.4.0", &[]),
        catalog("shared", "2.0.0", &[]),
    ]);
    assert_eq!(resolve(&all, "app").unwrap(), ["app 1.0.0", "left 1.0.0", "right 1.0.0", "shared 1.4.0"]);
}

#[test]
fn an_older_consumer_is_taken_when_the_newest_fits_with_nobody() {
    let all = catalogs([
        catalog("app", "1.0.0", &[("a", "*"), ("z", "1")]),
        catalog("a", "2.0.0", &[("z", "2")]),
        catalog("a", "1.0.0", &[("z", "1")]),
        catalog("z", "1.0.0", &[]),
        catalog("z", "2.0.0", &[]),
    ]);
    assert_eq!(resolve(&all, "app").unwrap(), ["a 1.0.0", "app 1.0.0", "z 1.0.0"]);
}

#[test]
fn a_conflict_names_the_consumers() {
    let all = catalogs([
        catalog("app", "1.0.0", &[("left", "1"), ("right", "1")]),
        catalog("left", "1.0.0", &[("shared", "1")]),
        catalog("right", "1.2.0", &[("shared", "2")]),
        catalog("shared", "1.0.0", &[]),
        catalog("shared", "2.0.0", &[]),
    ]);
    let error = resolve(&all, "app").unwrap_err();
    let Unresolved::Conflict { id, consumers } = &error else { panic!("{error:?}") };
    let who: Vec<_> = consumers.iter().filter_map(|consumer| consumer.catalog.as_ref()).map(|(id, _)| id.as_str()).collect();
    assert_eq!((id.as_str(), who), ("shared", vec!["left", "right"]));
    assert!(error.to_string().contains("left 1.0.0 asks for ^1, right 1.2.0 asks for ^2"), "{error}");
}

#[test]
fn a_catalog_that_nobody_registered_is_named_with_who_asks() {
    let error = resolve(&catalogs([catalog("app", "1.0.0", &[("gone", "1")])]), "app").unwrap_err();
    assert!(matches!(&error, Unresolved::Missing { id, consumers } if id == "gone" && consumers.len() == 1), "{error:?}");
    assert!(matches!(resolve(&Catalogs::default(), "app"), Err(Unresolved::Missing { .. })));
}

#[test]
fn a_cycle_is_refused_in_its_order() {
    let all = catalogs([
        catalog("app", "1.0.0", &[("a", "1")]),
        catalog("a", "1.0.0", &[("c", "1")]),
        catalog("c", "1.0.0", &[("b", "1")]),
        catalog("b", "1.0.0", &[("a", "1")]),
    ]);
    let Err(Unresolved::Cycle { catalogs: cycle }) = resolve(&all, "app") else { panic!() };
    let turned = cycle.iter().cycle().skip_while(|id| *id != "a").take(3).map(String::as_str).collect::<Vec<_>>();
    assert_eq!((cycle.len(), turned), (3, vec!["a", "c", "b"]));
    assert!(matches!(resolve(&catalogs([catalog("a", "1.0.0", &[("a", "1")])]), "a"), Err(Unresolved::Cycle { .. })));
}

#[test]
fn more_manifests_than_may_be_are_refused() {
    let mut all = Catalogs::default();
    let registered = (0..100_000).take_while(|n| all.register(catalog(&format!("c{n}"), "1.0.0", &[])).is_ok()).count();
    assert_eq!(registered, CATALOGS_MAX);
    assert_eq!(all.register(catalog("more", "1.0.0", &[])), Err(NotRegistered::TooMany));
}

#[test]
fn a_chain_of_all_that_may_be_resolves_and_a_ring_of_them_is_refused() {
    let name = |n: usize| format!("c{n:05}");
    let chain = |last: Option<usize>| {
        catalogs((0..CATALOGS_MAX).map(|n| match if n + 1 < CATALOGS_MAX { Some(n + 1) } else { last } {
            Some(next) => catalog(&name(n), "1.0.0", &[(&name(next), "1")]),
            None => catalog(&name(n), "1.0.0", &[]),
        }))
    };
    assert_eq!(resolve(&chain(None), &name(0)).unwrap().len(), CATALOGS_MAX);
    assert!(matches!(resolve(&chain(Some(0)), &name(0)), Err(Unresolved::Cycle { catalogs }) if catalogs.len() == CATALOGS_MAX));
}

/// Pigeons, each in a hole of its own, and a hole too few: no search that only goes back gets through.
#[test]
fn a_search_without_end_is_given_up() {
    let pigeons = 10;
    let mut all = Vec::new();
    let names: Vec<String> = (0..pigeons).map(|pigeon| format!("p{pigeon:02}")).collect();
    all.push(catalog("app", "1.0.0", &names.iter().map(|name| (name.as_str(), "*")).collect::<Vec<_>>()));
    for (pigeon, name) in names.iter().enumerate() {
        for hole in 1..pigeons {
            let mut text = String::new();
            for (other, earlier) in names.iter().enumerate().filter(|(other, _)| *other != pigeon) {
                let (low, high) = (pigeon.min(other), pigeon.max(other));
                let side = if pigeon == low { 1 } else { 2 };
                let _ = write!(text, r#""{}x{low}x{high}x{hole}":"{side}","#, earlier.get(..1).unwrap());
            }
            let text = text.trim_end_matches(',');
            all.push(Manifest::parse(&format!(r#"{{"id":"{name}","version":"{hole}.0.0","dependencies":{{{text}}}}}"#)).unwrap());
        }
    }
    for low in 0..pigeons {
        for (high, hole) in (low + 1..pigeons).flat_map(|high| (1..pigeons).map(move |hole| (high, hole))) {
            for side in ["1.0.0", "2.0.0"] {
                all.push(catalog(&format!("px{low}x{high}x{hole}"), side, &[]));
            }
        }
    }
    assert_eq!(resolve(&catalogs(all), "app"), Err(Unresolved::TooHard));
}

const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Every choice of a version or none for each catalog, and whether one of them is a graph that needs `a`.
fn exists(all: &Catalogs) -> bool {
    let options: Vec<Vec<Option<&Manifest>>> =
        IDS.iter().map(|id| std::iter::once(None).chain(all.versions(id).map(|version| all.get(id, version))).collect()).collect();
    let total: usize = options.iter().map(Vec::len).product();
    (0..total).any(|mut number| {
        let mut chosen = BTreeMap::new();
        for (id, options) in IDS.iter().zip(&options) {
            if let Some(manifest) = options[number % options.len()] {
                chosen.insert(*id, manifest.version().clone());
            }
            number /= options.len();
        }
        is_graph(all, &chosen)
    })
}

/// Whether it has `a`, all that is needed in versions that are asked for, and no cycle.
fn is_graph(all: &Catalogs, chosen: &BTreeMap<&str, Version>) -> bool {
    let needs = |id: &str| all.get(id, &chosen[id]).unwrap().dependencies();
    let complete = chosen
        .keys()
        .all(|id| needs(id).iter().all(|(other, asks)| chosen.get(other.as_str()).is_some_and(|version| asks.matches(version))));
    let mut left: Vec<&str> = chosen.keys().copied().collect();
    if !complete || !chosen.contains_key("a") {
        return false;
    }
    while let Some(leaf) = left.iter().position(|id| needs(id).keys().all(|other| !left.contains(&other.as_str()))) {
        left.remove(leaf);
    }
    left.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn a_graph_is_found_exactly_where_trying_everything_finds_one(
        stated in prop::collection::btree_map((0..5usize, 1..4u64), prop::collection::btree_map(0..5usize, 0..7usize, 0..3), 6..15),
    ) {
        let asks = ["*", "1", "2", "3", "<3", ">1", ">=2, <4"];
        let all = catalogs(stated.iter().map(|((id, version), needs)| {
            let needs: Vec<_> = needs.iter().map(|(other, ask)| (IDS[*other], asks[*ask])).collect();
            catalog(IDS[*id], &format!("{version}.0.0"), &needs)
        }));
        match all.resolve(&[("a", VersionReq::STAR)]) {
            Ok(graph) => {
                let chosen: BTreeMap<&str, Version> = graph.iter().map(|(id, version)| (id, version.clone())).collect();
                prop_assert!(is_graph(&all, &chosen));
                let mut needed = vec!["a"];
                let mut at = 0;
                while let Some(id) = needed.get(at) {
                    for other in all.get(id, &chosen[id]).unwrap().dependencies().keys() {
                        let known = chosen.get_key_value(other.as_str()).unwrap().0;
                        if !needed.contains(known) {
                            needed.push(known);
                        }
                    }
                    at += 1;
                }
                prop_assert_eq!(needed.len(), chosen.len());
            }
            Err(Unresolved::TooHard) => prop_assert!(false),
            Err(_) => prop_assert!(!exists(&all)),
        }
    }
}
