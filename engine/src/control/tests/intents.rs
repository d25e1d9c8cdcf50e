//! What agents ask of the workspace.

use super::Host;
use crate::control::{Judgement, Refused, Unfit, judge_intent};

const CAPABILITIES: &str = r#"{"protocolVersions":["v1"],"viewKinds":["aiui.resource"],"regions":["sidePanel"],"modes":["tab"],"features":["tabs"],"maxOpenSurfaces":2}"#;

impl Host {
    fn workspace(&mut self, name: &str, value: &str) {
        self.receive(&format!(r#"{{"type":"CUSTOM","name":"aiui.workspace.{name}","value":{value}}}"#));
    }

    fn intent(&mut self, id: &str, fields: &str) {
        self.workspace("intent", &format!(r#"{{"intentId":"{id}","type":"workspace.resource.open"{fields}}}"#));
    }

    fn result(&mut self, id: &str, fields: &str) {
        self.workspace("intent.result", &format!(r#"{{"intentId":"{id}"{fields}}}"#));
    }

    #[track_caller]
    fn judge(&self, id: &str) -> Judgement {
        judge_intent(&self.engine.view(), "s", id).unwrap()
    }
}

fn able() -> Host {
    let mut host = Host::new();
    host.workspace("capabilities", CAPABILITIES);
    host
}

const YES: Judgement = Judgement::Accept { reuses: None };

#[test]
fn an_intent_is_judged_by_what_the_host_can_do() {
    let cases = [
        ("", None),
        (
            r#","viewKind":"aiui.resource","presentation":{"region":"sidePanel","mode":"tab","focus":"request"},"protocolVersion":"v1""#,
            None,
        ),
        (r#","protocolVersion":"v2""#, Some("protocol_version_unsupported")),
        (r#","viewKind":"aiui.other""#, Some("view_kind_unsupported")),
        (r#","presentation":{"region":"main"}"#, Some("region_unsupported")),
        (r#","presentation":{"mode":"window"}"#, Some("mode_unsupported")),
        (r#","presentation":"tab""#, Some("intent_malformed")),
        (r#","viewKind":7"#, Some("intent_malformed")),
        (r#","reuseKey":{}"#, Some("intent_malformed")),
        (r#","type":"workspace.resource.destroy""#, Some("intent_type_unsupported")),
        (r#","type":["open"]"#, Some("intent_malformed")),
    ];
    for (fields, code) in cases {
        let mut host = able();
        host.intent("n", fields);
        let found = match host.judge("n") {
            Judgement::Reject(unfit) => Some(unfit.code()),
            other => {
                assert_eq!(other, YES);
                None
            }
        };
        assert_eq!(found, code, "{fields}");
    }
}

#[test]
fn a_host_that_stated_no_capabilities_can_do_nothing_and_a_list_that_is_not_there_restricts_nothing() {
    let mut host = Host::new();
    host.intent("n", r#","viewKind":"any""#);
    assert_eq!(host.judge("n"), Judgement::Reject(Unfit::CapabilitiesUnknown));
    host.workspace("capabilities", r#"{"modes":[]}"#);
    assert_eq!(host.judge("n"), YES);
    host.intent("m", r#","presentation":{"mode":"tab"}"#);
    assert!(matches!(host.judge("m"), Judgement::Reject(Unfit::Mode { .. })));
}

#[test]
fn surfaces_are_counted_and_one_of_the_same_key_is_used_again() {
    let mut host = able();
    for (id, key) in [("n1", "a"), ("n2", "b")] {
        host.intent(id, &format!(r#","reuseKey":"{key}""#));
        assert_eq!(host.judge(id), YES);
        host.result(id, r#","status":"accepted""#);
        host.result(id, &format!(r#","status":"completed","surfaceId":"surface-{key}""#));
    }
    host.intent("n3", r#","reuseKey":"c""#);
    assert_eq!(host.judge("n3"), Judgement::Reject(Unfit::TooManySurfaces { open: 2, open_max: 2 }));
    host.intent("n4", r#","reuseKey":"a""#);
    assert_eq!(host.judge("n4"), Judgement::Accept { reuses: Some("surface-a".to_owned()) });
    host.workspace("intent", r#"{"intentId":"n5","type":"workspace.surface.focus","surfaceId":"surface-a"}"#);
    assert_eq!(host.judge("n5"), YES);
    host.workspace("intent", r#"{"intentId":"n6","type":"workspace.surface.dismiss","surfaceId":"surface-a"}"#);
    host.result("n6", r#","status":"completed""#);
    assert_eq!(host.judge("n3"), YES);
}

#[test]
fn the_newest_state_says_what_is_open_and_what_is_on_its_way_counts_as_well() {
    let mut host = able();
    host.intent("n1", "");
    host.result("n1", r#","status":"completed","surfaceId":"gone""#);
    host.workspace("state", r#"{"revision":1,"surfaces":[{"surfaceId":"x","reuseKey":"a"},{"surfaceId":"y","status":"closed"}]}"#);
    host.intent("n2", "");
    assert_eq!(host.judge("n2"), YES);
    host.result("n2", r#","status":"accepted""#);
    host.intent("n3", "");
    assert_eq!(host.judge("n3"), Judgement::Reject(Unfit::TooManySurfaces { open: 2, open_max: 2 }));
    host.intent("n4", r#","reuseKey":"a""#);
    assert_eq!(host.judge("n4"), Judgement::Accept { reuses: Some("x".to_owned()) });
    host.result("n2", r#","status":"failed""#);
    assert_eq!(host.judge("n3"), YES);
}

#[test]
fn a_judgement_is_stated_as_the_result_that_then_stands() {
    let mut host = able();
    host.intent("n", r#","viewKind":"aiui.other""#);
    let judged = host.judge("n");
    host.engine.append("s", [judged.result("n").unwrap()]).unwrap();
    let stands = host.judge("n");
    assert_eq!(stands, Judgement::Answered { status: "rejected".to_owned() });
    assert_eq!(stands.result("n"), None);
    let intent = host.engine.view().intent("s", "n").unwrap().unwrap();
    assert!(intent.result.unwrap().shown().contains("view_kind_unsupported"));
}

#[test]
fn an_intent_that_nobody_asked_is_unknown() {
    let host = able();
    assert!(matches!(judge_intent(&host.engine.view(), "s", "zz"), Err(Refused::Unknown { what: "intent", .. })));
}

#[test]
fn capabilities_and_states_of_any_form_are_judged() {
    for form in ["7", "[]", r#""x""#, r#"{"viewKinds":7,"maxOpenSurfaces":"many"}"#, r#"{"viewKinds":[7],"maxOpenSurfaces":-1}"#] {
        let mut host = Host::new();
        host.workspace("capabilities", form);
        host.workspace("state", r#"{"surfaces":7}"#);
        host.intent("n", "");
        host.judge("n");
    }
}
