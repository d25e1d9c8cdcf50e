//! The command, as a test runs it.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A directory with a store in it.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path("agent.db")
    }

    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnstore"));
        command.current_dir(self.folder.path()).arg("--store").arg(self.store());
        command
    }

    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Ended {
        Ended::of(self.command().args(args).output().unwrap())
    }

    #[track_caller]
    pub(crate) fn import(&self, file: &Path, more: &[&str]) -> Ended {
        Ended::of(self.command().arg("import").arg(file).args(["--protocol", "aiui"]).args(more).output().unwrap())
    }
}

impl Ended {
    pub(crate) fn of(output: Output) -> Self {
        let ended = Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
        ended
    }

    #[track_caller]
    pub(crate) fn done(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// What it said on stderr, which is one line for each thing.
    #[track_caller]
    pub(crate) fn says(self, part: &str) -> Self {
        assert!(self.err.lines().any(|line| line.starts_with("turnstore: ") && line.contains(part)), "{part:?} is not in {:?}", self.err);
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
    }
}

/// The recordings that come with the project.
pub(crate) fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/recordings")
}

/// A recording of `turns` turns in one thread, always the same for the same number, each a prefix of the next.
pub(crate) fn long(thread: &str, turns: usize) -> String {
    let mut text = String::new();
    for turn in 0..turns {
        let mut line = |body: String| writeln!(text, "{{{body}}}").unwrap();
        line(format!(r#""type":"RUN_STARTED","threadId":"{thread}","runId":"r{turn}""#));
        line(format!(r#""type":"TEXT_MESSAGE_START","messageId":"m{turn}","role":"assistant""#));
        for word in 0..20 {
            line(format!(r#""type":"TEXT_MESSAGE_CONTENT","messageId":"m{turn}","delta":"word {word} of {turn}. ""#));
        }
        line(format!(r#""type":"TEXT_MESSAGE_END","messageId":"m{turn}""#));
        line(format!(r#""type":"TOOL_CALL_START","toolCallId":"c{turn}","toolCallName":"look","parentMessageId":"m{turn}""#));
        line(format!(r#""type":"TOOL_CALL_ARGS","toolCallId":"c{turn}","delta":"{{\"at\":{turn}}}""#));
        line(format!(r#""type":"TOOL_CALL_END","toolCallId":"c{turn}""#));
        let result = "lorem ipsum ".repeat(turn % 40);
        line(format!(r#""type":"TOOL_CALL_RESULT","messageId":"t{turn}","toolCallId":"c{turn}","content":"{result}""#));
        line(format!(r#""type":"STATE_SNAPSHOT","snapshot":{{"turn":{turn}}}"#));
        line(format!(r#""type":"RUN_FINISHED","threadId":"{thread}","runId":"r{turn}""#));
    }
    text
}
