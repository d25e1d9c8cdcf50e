use std::io::{BufReader, Read};

use super::*;

/// Gives one byte at a time, so that everything splits everywhere.
struct Drip<'a>(&'a [u8]);

impl Read for Drip<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.0.len().min(buf.len()).min(1);
        buf[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

type Seen = (u64, Result<(String, Option<String>, Option<String>), Reason>);

fn drain<R: BufRead>(mut reader: Reader<R>) -> Vec<Seen> {
    let mut seen = Vec::new();
    while let Some(next) = reader.read().unwrap() {
        seen.push(match next {
            Item::Event(raw) => (raw.line, Ok((raw.text.to_owned(), raw.name.map(str::to_owned), raw.id.map(str::to_owned)))),
            Item::Problem(problem) => (problem.line, Err(problem.reason)),
        });
    }
    seen
}

fn read(bytes: &[u8], limit: usize) -> Vec<Seen> {
    let whole = drain(Reader::with_limit(bytes, limit).unwrap());
    let dripped = drain(Reader::with_limit(BufReader::with_capacity(1, Drip(bytes)), limit).unwrap());
    assert_eq!(whole, dripped);
    whole
}

fn texts(bytes: &[u8]) -> Vec<String> {
    read(bytes, 1 << 20).into_iter().filter_map(|(_, seen)| seen.ok().map(|(text, ..)| text)).collect()
}

fn problems(bytes: &[u8], limit: usize) -> Vec<(u64, Reason)> {
    read(bytes, limit).into_iter().filter_map(|(line, seen)| seen.err().map(|reason| (line, reason))).collect()
}

#[test]
fn lines_give_one_event_each_whatever_their_ends() {
    assert_eq!(texts(b"\xEF\xBB\xBF{\"a\":1}\n\n{\"b\":2}\r\n  {\"c\":3}"), ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"]);
}

#[test]
fn bad_lines_are_named_and_the_rest_goes_on() {
    let source = b"{\"a\":1}\n\xFF\n{\"n\":\"\0\"}\n{\"long\":\"xxxxxxxxxxxxxxxxxxxxxxxx\"}\n{\"b\":2}\n{\"half\":";
    assert_eq!(
        problems(source, 16),
        [(2, Reason::NotUtf8), (3, Reason::NulByte), (4, Reason::TooLong { bytes: 35, bytes_max: 16 }), (6, Reason::CutShort)]
    );
    assert_eq!(read(source, 16).len(), 6);
}

#[test]
fn an_empty_source_is_a_problem_of_its_own() {
    assert_eq!(problems(b"", 16), [(1, Reason::Empty)]);
    assert_eq!(problems(b" \n\r\n", 16), [(1, Reason::Empty)]);
}

#[test]
fn documents_give_the_objects_of_their_arrays() {
    assert_eq!(texts(b"[{\"a\":[1,\"]\"]},\n {\"b\":{}} ]"), ["{\"a\":[1,\"]\"]}", "{\"b\":{}}"]);
    assert_eq!(texts(b"[[{\"a\":1}],[],[{\"b\":2}]]"), ["{\"a\":1}", "{\"b\":2}"]);
    assert_eq!(texts(b"{\n \"one\": [ {\"a\":1} ],\n \"two\": [ {\"b\":2} ], \"n\": 1\n}"), ["{\"a\":1}", "{\"b\":2}"]);
    assert_eq!(texts(b"{\"events\":[{\"a\":1},{\"b\":2}]}\n"), ["{\"a\":1}", "{\"b\":2}"]);
    assert_eq!(texts(b"[{\"name\":\"x\",\"events\":[{\"a\":1},{\"b\":2}]}]"), ["{\"a\":1}", "{\"b\":2}"]);
    assert_eq!(texts(b"{\n\"type\":\"X\",\n\"delta\":[1]\n}"), ["{\"type\":\"X\",\"delta\":[1]}"]);
}

#[test]
fn elements_that_are_too_long_or_cut_are_named() {
    let source = b"[{\"a\":1},\n{\"long\":\"xxxxxxxxxxxxxxxxxxxxxxxx\"},\n{\"b\":2},\n{\"half\":";
    assert_eq!(problems(source, 16), [(2, Reason::TooLong { bytes: 35, bytes_max: 16 }), (4, Reason::CutShort)]);
    assert_eq!(problems(b"[{\"a\":1}}]", 16), [(1, Reason::Unpaired)]);
    assert_eq!(problems(b"[{\"a\":1}", 16), [(1, Reason::CutShort)]);
}

#[test]
fn blocks_of_server_sent_events_follow_the_standard() {
    let source = "\u{FEFF}: ping\r\ndata: {\"t\":\"é\",\r\ndata:\"r\":1}\r\n\r\nid: 7\revent: x\rdata: {\"a\":1}\r\r\
                  retry: 5\ndata: \n\ndata: {oops\n\nnofield\ndata: {\"z\":\ndata: 1}";
    let seen = read(source.as_bytes(), 1 << 20);
    assert_eq!(
        seen,
        [
            (2, Ok(("{\"t\":\"é\",\n\"r\":1}".to_owned(), None, None))),
            (7, Ok(("{\"a\":1}".to_owned(), Some("x".to_owned()), Some("7".to_owned())))),
            (12, Ok(("{oops".to_owned(), None, None))),
            (15, Ok(("{\"z\":\n1}".to_owned(), None, None))),
        ]
    );
}

#[test]
fn a_block_that_is_too_long_or_cut_is_named() {
    let long = format!("data: {}\n\ndata: {{\"a\":1}}\n\ndata: {{\"half\":", "x".repeat(40));
    assert_eq!(problems(long.as_bytes(), 20), [(1, Reason::TooLong { bytes: 46, bytes_max: 20 }), (5, Reason::CutShort)]);
    assert_eq!(read(long.as_bytes(), 20).len(), 3);
}

#[test]
fn text_that_is_no_format_is_read_as_lines() {
    assert_eq!(texts(b"hello\n{\"a\":1}\n"), ["hello", "{\"a\":1}"]);
}

use proptest::prelude::*;

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let texts = vec![
        "{\"a\":1}",
        "\n",
        "\r\n",
        "\r",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\"events\":[",
        "data: ",
        "data:{\"a\":",
        "id: 1",
        "event: x",
        ":c",
        "\u{FEFF}",
        "\0",
        "\"",
        "\\",
        "é",
        " ",
        "{\"type\":\"X\"}",
    ];
    let piece = prop_oneof![9 => prop::sample::select(texts).prop_map(|text| text.as_bytes().to_vec()), 1 => prop::collection::vec(any::<u8>(), 1..3)];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_stop_the_reader_and_no_cut_changes_what_it_gives(bytes in pieces(), limit in 4_usize..64) {
        for seen in read(&bytes, limit) {
            if let (_, Ok((text, ..))) = seen {
                prop_assert!(text.len() <= limit && !text.contains('\0'));
            }
        }
    }
}
