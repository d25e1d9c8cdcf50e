//! The text of the trace: prose, code, tool output and ids with about the entropy of recorded sessions.
//!
//! **Invariant:** every function appends to the buffer given and reads nothing but the generator.

use std::fmt::Write as _;

use crate::random::Random;

/// Words of recorded agent sessions, most frequent first.
const WORDS: &str = "the to a if in for and file with of is not this that as on it be or from by you use are path test \
tests line code all can will should at an read directory we let tool message has when return command files I data \
user need function which now session check output using any must only one into each text name item result project \
error commit diff changes mode issue pattern new filter agent plan section system options first found help active \
extract latest parser count main version prefix open object pass make existing add inline valid list both find \
pending prompt other input after end available handle types single what specific so fix range status running \
environment before argument more background repository task about string field multiple create process working \
raise merge style source update exit contents already parent without custom full token structure continue edit \
instead works parsing analysis image behavior sorted get understand present logic provided build was parameter \
value would empty functions correctly key related unknown agents how just back across context method tools \
different successfully contains module script needed most where inside expected updated number null arguments \
including pull correct modified their there based action dependencies three than preview modify same again option \
problem example does exist consider max call length write real snippet padding configuration time direct avoid \
false request integration last regular think between verify two want whether head response search true artifacts \
flag state may display own issues methods comparison reports start parse elements shell point references within \
simple fetch outside visible group relevant itself ensure answer proceed dependency variable while feature could \
might parameters automatically optional also analyze documentation instructions passed complex explore markers \
branches checked summaries recent handles matches marked some errors none improve starts named includes additional \
proper actual created supported individual uses break syntax required doing missing change automated replace look \
ignore local cases codebase nodes requires unless returns either index written blocks approach common our fixed \
otherwise high sure relative rather improvements warning extraction minimal interface currently identify yet \
metadata please steps shared settings better changed confirm page log because appear capability examples considered \
old step looks reading config filtering possible requested given complete problems initial operations next another \
track carefully shows results report progress access mechanism execution verbose order push through being remove \
requests multi fail block following done workflows features ends applicable skip conversation built library \
comprehensive detailed short way isolated virtual date positional keep cannot native original failed once means \
ready duplicate values extra bug follow structured best separate since headers refactoring safe global characters \
special examine setup plain top shown those good during permission such below looking tell later quality manually \
conflicts appropriate word properly cross tags specify implemented instance edge general applies helpful reason \
formatting long generated here added names flow duplicated matching select artifact updating wait indicator \
previous final right even very above total calls skipped less points focused whitespace everything well few trace \
summarize scope wrong utility consistent load verification absolute exactly success times never cleaner rejected \
place objects under fallback over often entire normal prefer cause excessive lists understanding management strict \
second always generic allow together loop much were imports against software target history tree generates why \
primary reflect clear happens keeping internal maintaining configured buffer cursor window writer reader retry \
timeout queue worker socket thread signal schema migration column table record cache snapshot replay checksum \
latency throughput durable append flush segment offset compaction encoder decoder stream chunk delta header \
payload cursor registry resolver planner scheduler dispatcher listener endpoint gateway router middleware session \
credential certificate signature digest entropy threshold percentile histogram gauge counter probe sampler";

/// Parts of identifiers and file names.
const STEMS: &[&str] = &[
    "parse", "render", "load", "write", "fetch", "merge", "token", "node", "event", "frame", "entry", "cursor", "page", "window", "cache",
    "index", "path", "line", "schema", "field", "record", "batch", "commit", "client", "server", "request", "response", "state", "turn",
    "message", "tool", "agent", "session", "config", "option", "result", "error", "retry", "queue", "worker", "stream", "buffer", "chunk",
    "delta", "digest", "header", "filter", "query", "table", "column", "row", "key", "value", "count", "limit", "scope", "route", "store",
];

const EXTENSIONS: &[&str] = &["rs", "py", "ts", "tsx", "go", "md", "json", "toml", "yaml", "sql"];
const FOLDERS: &[&str] = &["src", "tests", "crates", "lib", "internal", "app", "packages", "docs", "scripts", "server", "web"];
const LEVELS: &[&str] = &["INFO", "DEBUG", "WARN", "ERROR", "TRACE"];
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Writes words, code and ids drawn from a generator.
///
/// Names recur as they do in a session: three of four come from the ones used lately.
#[derive(Debug)]
pub struct Words {
    list: Vec<&'static str>,
    names: Vec<String>,
    paths: Vec<String>,
}

impl Default for Words {
    fn default() -> Self {
        Self { list: WORDS.split_ascii_whitespace().collect(), names: Vec::new(), paths: Vec::new() }
    }
}

impl Words {
    /// A word, frequent ones more often.
    fn word(&self, random: &mut Random) -> &'static str {
        let skewed = random.fraction().powf(2.5) * self.list.len() as f64;
        self.list.get(skewed as usize).copied().unwrap_or("the")
    }

    /// Appends prose until `out` has grown by at least `bytes`.
    pub fn prose(&mut self, random: &mut Random, out: &mut String, bytes: usize) {
        let end = out.len() + bytes;
        while out.len() < end {
            match random.below(40) {
                0 => self.code_span(random, out),
                1 => {
                    let _ = write!(out, " {}", random.below(5000));
                }
                2 | 3 => out.push_str(random.pick(&[".", ",", ".", ":", ".\n\n", ";", " -", "?"])),
                _ => {
                    out.push(' ');
                    out.push_str(self.word(random));
                }
            }
        }
    }

    fn code_span(&mut self, random: &mut Random, out: &mut String) {
        out.push_str(" `");
        self.identifier(random, out);
        out.push_str(random.pick(&["`", "()`", "`", ".rs`"]));
    }

    fn identifier(&mut self, random: &mut Random, out: &mut String) {
        let name = recurring(random, &mut self.names, |random| {
            let mut name = random.pick(STEMS).to_owned();
            for _ in 0..random.below(3) {
                name.push('_');
                name.push_str(random.pick(STEMS));
            }
            name
        });
        out.push_str(name);
    }

    /// Appends a relative path such as `crates/cursor/src/page_merge.rs`.
    pub fn path(&mut self, random: &mut Random, out: &mut String) {
        let path = recurring(random, &mut self.paths, |random| {
            let mut path = String::new();
            for _ in 0..random.within(1, 3) {
                let names = if random.chance(60) { FOLDERS } else { STEMS };
                path.push_str(random.pick(names));
                path.push('/');
            }
            path.push_str(random.pick(STEMS));
            path.push('_');
            path.push_str(random.pick(STEMS));
            path.push('.');
            path.push_str(random.pick(EXTENSIONS));
            path
        });
        out.push_str(path);
    }

    fn code_line(&mut self, random: &mut Random, out: &mut String) {
        for _ in 0..random.below(4) {
            out.push_str("    ");
        }
        match random.below(7) {
            0 => {
                out.push_str("let ");
                self.identifier(random, out);
                out.push_str(" = ");
                self.call(random, out);
                out.push_str(random.pick(&["?;", ";", ".unwrap_or_default();"]));
            }
            1 => {
                out.push_str("if ");
                self.identifier(random, out);
                let _ = write!(out, " {} {} {{", random.pick(&["==", "<", ">=", "!="]), random.below(1024));
            }
            2 => {
                out.push_str("// ");
                let bytes = random.within(15, 70);
                self.prose(random, out, bytes);
            }
            3 => out.push('}'),
            4 => {
                out.push_str("return ");
                self.call(random, out);
                out.push(';');
            }
            5 => {
                out.push_str("fn ");
                self.identifier(random, out);
                out.push('(');
                self.identifier(random, out);
                let _ = write!(out, ": &{}) -> {} {{", random.pick(&["str", "[u8]", "Path"]), random.pick(&["u64", "Result<()>", "bool"]));
            }
            _ => {
                self.call(random, out);
                out.push(';');
            }
        }
    }

    fn call(&mut self, random: &mut Random, out: &mut String) {
        out.push_str(random.pick(STEMS));
        out.push_str(random.pick(&[".", "::", "."]));
        self.identifier(random, out);
        out.push('(');
        self.identifier(random, out);
        if random.chance(40) {
            let _ = write!(out, ", {}", random.below(256));
        }
        out.push(')');
    }

    /// Appends the output of a tool, in one of five shapes, until `out` has grown by at least `bytes`.
    pub fn tool_output(&mut self, random: &mut Random, out: &mut String, bytes: usize) {
        let end = out.len() + bytes;
        let shape = random.below(5);
        let mut number = random.below(900);
        while out.len() < end {
            number += 1;
            match shape {
                0 => {
                    let _ = write!(out, "{number:>6}\t");
                    self.code_line(random, out);
                }
                1 => {
                    self.path(random, out);
                    let _ = write!(out, ":{}: ", random.below(2000));
                    self.code_line(random, out);
                }
                2 => self.json_object(random, out),
                3 => self.log_line(random, out),
                _ => {
                    out.push_str(random.pick(&["+", "-", " ", " ", " "]));
                    self.code_line(random, out);
                }
            }
            out.push('\n');
        }
    }

    fn json_object(&mut self, random: &mut Random, out: &mut String) {
        let _ = write!(out, "{{\"id\":{},\"path\":\"", random.below(100_000));
        self.path(random, out);
        let _ = write!(out, "\",\"size\":{},\"sha\":\"", random.below(200_000));
        hex(random, out, 12);
        out.push_str("\",\"status\":\"");
        out.push_str(random.pick(&["modified", "added", "unchanged", "deleted"]));
        out.push_str("\",\"summary\":\"");
        let bytes = random.within(20, 80);
        self.prose(random, out, bytes);
        out.push_str("\"},");
    }

    fn log_line(&mut self, random: &mut Random, out: &mut String) {
        let _ = write!(
            out,
            "2026-06-{:02}T{:02}:{:02}:{:02}.{:03}Z {:<5} ",
            random.within(1, 30),
            random.below(24),
            random.below(60),
            random.below(60),
            random.below(1000),
            random.pick(LEVELS)
        );
        self.identifier(random, out);
        out.push_str(": ");
        let bytes = random.within(20, 70);
        self.prose(random, out, bytes);
        let _ = write!(out, " took={}ms", random.below(3000));
    }
}

/// One of the last 16 names, or in one case of four a new one that takes the place of an old.
fn recurring<'a>(random: &mut Random, names: &'a mut Vec<String>, new: impl FnOnce(&mut Random) -> String) -> &'a str {
    let place = random.below(16);
    if place >= names.len() {
        names.push(new(random));
        return names.last().map_or("", String::as_str);
    }
    let fresh = random.chance(25).then(|| new(random));
    match names.get_mut(place) {
        Some(name) => {
            if let Some(fresh) = fresh {
                *name = fresh;
            }
            name
        }
        None => "",
    }
}

/// Appends `digits` hexadecimal digits.
pub fn hex(random: &mut Random, out: &mut String, digits: usize) {
    for _ in 0..digits {
        out.push(char::from_digit(u32::try_from(random.below(16)).unwrap_or(0), 16).unwrap_or('0'));
    }
}

/// An id as providers make them: a prefix and 24 letters and digits.
#[must_use]
pub fn provider_id(random: &mut Random, prefix: &str) -> String {
    let mut id = String::with_capacity(prefix.len() + 24);
    id.push_str(prefix);
    for _ in 0..24 {
        id.push(BASE62.get(random.below(62)).copied().map_or('0', char::from));
    }
    id
}

/// A UUID of version 7 in shape.
#[must_use]
pub fn uuid(random: &mut Random) -> String {
    let mut id = String::with_capacity(36);
    id.push_str("019c8a5");
    hex(random, &mut id, 1);
    id.push('-');
    hex(random, &mut id, 4);
    id.push_str("-7");
    hex(random, &mut id, 3);
    id.push_str("-9");
    hex(random, &mut id, 3);
    id.push('-');
    hex(random, &mut id, 12);
    id
}

/// Text that does not compress below three quarters: base64 of random bytes, `bytes` long.
#[must_use]
pub fn noise(random: &mut Random, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 10);
    while text.len() < bytes {
        let mut bits = random.next_u64();
        for _ in 0..10 {
            text.push(BASE64.get((bits & 63) as usize).copied().map_or('A', char::from));
            bits >>= 6;
        }
    }
    text.truncate(bytes);
    text
}
