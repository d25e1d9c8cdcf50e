//! The two files of a store: shared between processes, and refused when one of them is not what the other expects.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use common::{Place, long};
use turnstore::Engine;

fn tail(place: &Place) -> PathBuf {
    place.path("agent.db-tail")
}

/// A store whose writer was killed: it has acknowledged something and left a tail.
fn killed() -> Place {
    loop {
        let place = Place::new();
        let file = place.file("a.jsonl", long("t", 1500));
        let mut command = place.command();
        command.arg("import").arg(&file).args(["--protocol", "aiui", "--json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(first.contains("acknowledged"), "{first}");
        if tail(&place).exists() {
            return place;
        }
    }
}

#[test]
fn a_store_whose_tail_is_gone_is_refused_until_it_is_back() {
    let place = killed();
    let aside = place.path("aside");
    std::fs::rename(tail(&place), &aside).unwrap();
    for args in [["sessions"].as_slice(), &["show", "t"], &["verify"]] {
        place.run(args).code(1).says("agent.db").says("tail");
    }
    place.import(&place.path("a.jsonl"), &[]).code(1).says("tail");
    std::fs::rename(&aside, tail(&place)).unwrap();
    place.run(&["show", "t"]).done();
    place.run(&["verify"]).done();
}

#[test]
fn a_tail_of_another_store_is_refused() {
    let (place, other) = (killed(), killed());
    let own = std::fs::read(tail(&place)).unwrap();
    std::fs::copy(tail(&other), tail(&place)).unwrap();
    place.run(&["sessions"]).code(1).says("tail");
    std::fs::write(tail(&place), own).unwrap();
    place.run(&["verify"]).done();
}

#[test]
fn a_tail_that_is_no_tail_is_refused_and_left_alone() {
    let place = killed();
    std::fs::write(tail(&place), "my notes").unwrap();
    place.run(&["sessions"]).code(1).says("agent.db");
    assert_eq!(std::fs::read(tail(&place)).unwrap(), b"my notes");
}

#[test]
fn a_store_that_somebody_writes_is_read_beside_and_not_written() {
    let place = Place::new();
    let file = place.file("a.jsonl", long("t", 3));
    place.import(&file, &[]).done();
    let engine = Engine::open(place.store()).unwrap();
    place.run(&["show", "t"]).done();
    place.run(&["sessions", "--json"]).done();
    place.import(&place.file("b.jsonl", long("u", 3)), &[]).code(1).says("open for writing elsewhere");
    engine.close().unwrap();
    place.import(&place.path("b.jsonl"), &[]).done();
}
