//! The generated agent trace: an endless session of turns as hosts record them, made step by step.
//!
//! **Invariant:** the same seed gives the same steps; memory holds one message, never the trace.
//!
//! A turn is a user message, then one to five rounds of reasoning, text and tool calls. Deltas have 10 to 60 bytes,
//! tool results half below 700 bytes and a tenth up to 20 KB; one turn in fifty asks the person, one in ten makes artifacts.

use std::collections::VecDeque;

use crate::random::Random;
use crate::step::{Made, Role, Step};
use crate::words::{Words, provider_id, uuid};

const TOOLS: &[&str] = &["Read", "Bash", "Edit", "Grep", "Glob", "Write", "TaskCreate", "WebFetch", "get_weather", "search_code"];
const ARTIFACT_KINDS: &[&str] = &["document", "webpage", "presentation", "spreadsheet", "image"];

/// Steps of one session, without end.
#[derive(Debug)]
pub struct Trace {
    random: Random,
    words: Words,
    session: String,
    waiting: VecDeque<Step>,
}

impl Trace {
    /// The session that `seed` names.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let mut random = Random::seeded(seed);
        let session = uuid(&mut random);
        Self { random, words: Words::default(), session, waiting: VecDeque::new() }
    }

    /// The id of the session.
    #[must_use]
    pub fn session(&self) -> &str {
        &self.session
    }

    fn turn(&mut self) {
        let run = uuid(&mut self.random);
        self.waiting.push_back(Step::RunStarted { thread: self.session.clone(), run: run.clone() });
        let bytes = self.random.within(30, 400);
        self.text(Role::User, bytes);
        let mut parent = String::new();
        for _ in 0..self.random.within(1, 5) {
            if self.random.chance(45) {
                self.reasoning();
            }
            if self.random.chance(70) {
                let bytes = self.random.within(60, 1600);
                parent = self.text(Role::Assistant, bytes);
            }
            for _ in 0..self.random.within(0, 2) {
                self.tool_call(&parent);
            }
        }
        if self.random.chance(2) {
            self.interaction(&run);
        }
        if self.random.chance(10) {
            self.artifacts(&run);
        }
        let bytes = self.random.within(100, 1800);
        self.text(Role::Assistant, bytes);
        self.waiting.push_back(Step::RunFinished { thread: self.session.clone(), run });
    }

    fn text(&mut self, role: Role, bytes: usize) -> String {
        let message = provider_id(&mut self.random, "msg_01");
        self.waiting.push_back(Step::TextStart { message: message.clone(), role });
        // A person's message arrives whole, a model's as it is generated.
        let mut left = bytes;
        while left > 0 {
            let delta = if role == Role::User { self.prose(bytes) } else { self.delta() };
            left = left.saturating_sub(delta.len());
            self.waiting.push_back(Step::TextDelta { message: message.clone(), delta });
        }
        self.waiting.push_back(Step::TextEnd { message: message.clone() });
        message
    }

    fn reasoning(&mut self) {
        let message = provider_id(&mut self.random, "rs_0");
        self.waiting.push_back(Step::ReasoningStart { message: message.clone() });
        for _ in 0..self.random.within(5, 50) {
            let delta = self.delta();
            self.waiting.push_back(Step::ReasoningDelta { message: message.clone(), delta });
        }
        self.waiting.push_back(Step::ReasoningEnd { message });
    }

    fn tool_call(&mut self, parent: &str) {
        let call = provider_id(&mut self.random, "toolu_01");
        let name = self.random.pick(TOOLS).to_owned();
        self.waiting.push_back(Step::ToolStart { call: call.clone(), name, parent: parent.to_owned() });
        for delta in self.arguments() {
            self.waiting.push_back(Step::ToolArgs { call: call.clone(), delta });
        }
        self.waiting.push_back(Step::ToolEnd { call: call.clone() });
        let bytes = self.result_bytes();
        let mut content = String::with_capacity(bytes + 120);
        self.words.tool_output(&mut self.random, &mut content, bytes);
        let message = provider_id(&mut self.random, "msg_01");
        self.waiting.push_back(Step::ToolResult { message, call, content });
    }

    /// The JSON of a call's arguments, cut into deltas of 10 to 60 bytes.
    fn arguments(&mut self) -> Vec<String> {
        let mut path = String::new();
        self.words.path(&mut self.random, &mut path);
        let bytes = self.random.within(20, 420);
        let prose = self.prose(bytes);
        let value = serde_json::json!({ "file_path": path, "description": prose, "limit": self.random.below(500) });
        let whole = value.to_string();
        let mut parts = Vec::new();
        let mut part = String::new();
        let mut length = self.random.within(10, 60);
        for letter in whole.chars() {
            part.push(letter);
            if part.len() >= length {
                parts.push(std::mem::take(&mut part));
                length = self.random.within(10, 60);
            }
        }
        if !part.is_empty() {
            parts.push(part);
        }
        parts
    }

    fn result_bytes(&mut self) -> usize {
        let skew = self.random.fraction().powi(2);
        let scale = |low: f64, high: f64| (low + (high - low) * skew) as usize;
        match self.random.below(10) {
            0..=4 => scale(20.0, 700.0),
            5..=8 => scale(700.0, 4_000.0),
            _ => scale(4_000.0, 20_000.0),
        }
    }

    fn interaction(&mut self, run: &str) {
        let request = provider_id(&mut self.random, "req_");
        let title = self.prose(40);
        self.waiting.push_back(Step::Asked { request: request.clone(), thread: self.session.clone(), run: run.to_owned(), title });
        let decision = provider_id(&mut self.random, "dec_");
        let action = self.random.pick(&["approve", "approve", "deny"]).to_owned();
        self.waiting.push_back(Step::Answered { request, decision, action });
    }

    fn artifacts(&mut self, run: &str) {
        let mut made = Vec::new();
        for _ in 0..self.random.within(1, 3) {
            let mut path = String::new();
            self.words.path(&mut self.random, &mut path);
            made.push(Made { path, kind: self.random.pick(ARTIFACT_KINDS).to_owned() });
        }
        self.waiting.push_back(Step::Artifacts { run: run.to_owned(), made });
    }

    fn delta(&mut self) -> String {
        let bytes = self.random.within(8, 54);
        self.prose(bytes)
    }

    fn prose(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        self.words.prose(&mut self.random, &mut text, bytes);
        text
    }
}

impl Iterator for Trace {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.waiting.is_empty() {
            self.turn();
        }
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(seed: u64, count: usize) -> Vec<String> {
        let line = |step: Step| {
            let mut out = Vec::new();
            step.write_line(&mut out);
            String::from_utf8(out).unwrap()
        };
        Trace::seeded(seed).take(count).map(line).collect()
    }

    #[test]
    fn one_seed_always_gives_the_same_lines() {
        assert_eq!(lines(7, 3_000), lines(7, 3_000));
        assert_ne!(lines(7, 100), lines(8, 100));
    }

    #[test]
    fn every_line_is_one_json_object_with_a_type() {
        for line in lines(1, 20_000) {
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert!(value["type"].is_string(), "{line}");
            assert!(!line.contains('\n'));
        }
    }

    #[test]
    fn sizes_are_shaped_like_recorded_sessions() {
        let (mut deltas, mut short, mut results, mut large, mut asked, mut artifacts) = (0, 0, 0, 0, 0, 0);
        for step in Trace::seeded(2).take(200_000) {
            match step {
                Step::TextDelta { delta, .. } | Step::ReasoningDelta { delta, .. } | Step::ToolArgs { delta, .. } => {
                    deltas += 1;
                    short += usize::from((10..=70).contains(&delta.len()));
                }
                Step::ToolResult { content, .. } => {
                    results += 1;
                    large += usize::from(content.len() >= 1_000);
                    assert!(content.len() < 20_400);
                }
                Step::Asked { .. } => asked += 1,
                Step::Artifacts { .. } => artifacts += 1,
                _ => {}
            }
        }
        assert!(deltas > 150_000, "{deltas} deltas");
        assert!(short * 10 > deltas * 9, "{short} of {deltas} deltas have 10 to 70 bytes");
        assert!(results > 3_000 && large * 5 > results, "{large} of {results} results are large");
        assert!(asked > 5 && artifacts > 50, "{asked} questions, {artifacts} artifact lists");
    }
}
