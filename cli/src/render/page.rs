//! A page of a session, for people.

use std::io::{self, Write};

use turnstore::{InteractionItem, Item, ItemKind, LongText, Page, PartItem, ResultItem, ToolItem, TurnRef};

use super::number;
use super::paint::Paint;
use super::text::{clip, front, lines, one_line, wrap};
use crate::out::Out;

/// Columns that a line of a session takes at most.
const COLUMNS: usize = 100;
/// Columns of the label in front of an item.
const LABEL: usize = 11;

/// How much of a text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// One line of each item.
    Short,
    /// Messages whole, results and arguments by their first lines.
    Full,
}

/// Lines of a message that are shown in full length.
const MESSAGE_LINES: usize = 60;
/// Lines of arguments and results.
const RESULT_LINES: usize = 6;

/// Writes turns and items. `before` is the turn that was written last, when another page came before this one.
pub(crate) struct PageWriter<'o> {
    out: &'o mut Out,
    length: Length,
    before: Option<String>,
}

impl<'o> PageWriter<'o> {
    pub(crate) fn new(out: &'o mut Out, length: Length) -> Self {
        Self { out, length, before: None }
    }

    pub(crate) fn write(&mut self, page: &Page) -> io::Result<()> {
        for slice in page.turns() {
            let turn = slice.turn();
            let id = turn.map(|turn| turn.id().to_owned());
            if self.before.is_none() || self.before != id {
                if let Some(turn) = turn {
                    self.turn(turn)?;
                }
                self.before = id;
            }
            for item in slice.items() {
                self.item(&item)?;
            }
        }
        Ok(())
    }

    fn turn(&mut self, turn: TurnRef<'_>) -> io::Result<()> {
        let paint = self.out.paint;
        let mut line = format!("  turn {}  {}", paint.bold(&one_line(turn.id())), status(paint, turn.status()));
        if let Some(error) = turn.error() {
            line.push_str(&format!("  {}", paint.alarm(&clip(&one_line(front(&error.joined())), 70))));
        }
        writeln!(self.out, "{line}")
    }

    fn item(&mut self, item: &Item<'_>) -> io::Result<()> {
        match item.kind() {
            ItemKind::Text(part) => self.part(part.role(), &part),
            ItemKind::Reasoning(part) => self.part("reasoning", &part),
            ItemKind::Activity(part) => self.labelled("activity", &activity(&part)),
            ItemKind::Tool(tool) => self.tool(&tool),
            ItemKind::Result(result) => self.result("result", &result),
            ItemKind::Interaction(asked) => self.interaction(&asked),
            ItemKind::ArtifactRef(id) => self.labelled("artifact", id),
            ItemKind::EvidenceRef(id) => self.labelled("evidence", id),
            ItemKind::Compaction { phase, detail } => self.labelled(
                "compaction",
                &format!("{phase} {}", detail.map_or_else(String::new, |detail| front(&detail.joined()).to_owned())),
            ),
            _ => self.labelled("other", "of a newer version"),
        }
    }

    fn labelled(&mut self, label: &str, text: &str) -> io::Result<()> {
        let label = clip(&one_line(label), LABEL);
        let text = clip(&one_line(front(text)), COLUMNS);
        writeln!(self.out, "    {}  {text}", self.out.paint.dim(&format!("{label:<LABEL$}")))
    }

    fn part(&mut self, label: &str, part: &PartItem<'_>) -> io::Result<()> {
        match part.text() {
            Some(text) => self.text(label, &text, MESSAGE_LINES),
            None => self.labelled(label, ""),
        }
    }

    /// A text under a label: its first line, or all that the length allows.
    fn text(&mut self, label: &str, text: &LongText<'_>, lines_max: usize) -> io::Result<()> {
        if self.length == Length::Short {
            let first = text.pieces().next().unwrap_or_default();
            return self.labelled(label, first);
        }
        let label = format!("{:<LABEL$}", clip(&one_line(label), LABEL));
        let joined = text.joined();
        let shown = lines(&joined);
        let shown = shown.trim_end().replace('\t', "    ");
        let mut all: Box<dyn Iterator<Item = String>> = match lines_max {
            MESSAGE_LINES => Box::new(wrap(&shown, COLUMNS)),
            _ => Box::new(shown.lines().map(|line| clip(line, COLUMNS))),
        };
        let mut label = self.out.paint.dim(&label);
        for line in all.by_ref().take(lines_max) {
            writeln!(self.out, "{}", format!("    {label}  {line}").trim_end())?;
            label = " ".repeat(LABEL);
        }
        if shown.is_empty() {
            writeln!(self.out, "    {label}")?;
        }
        if all.next().is_some() || text.truncated() {
            writeln!(self.out, "    {:<LABEL$}  {}", "", self.out.paint.dim(&format!("… of {}", number::bytes(text.bytes()))))?;
        }
        Ok(())
    }

    fn tool(&mut self, tool: &ToolItem<'_>) -> io::Result<()> {
        let args = tool.args();
        let args = args.pieces().next().unwrap_or_default();
        self.labelled("tool", &format!("{} {}  {}", tool.name(), clip(&one_line(front(args)), 60), tool.status()))?;
        for result in tool.results() {
            self.result("", &result)?;
        }
        if let Some(error) = tool.error() {
            self.labelled("", &format!("error: {}", front(&error.joined())))?;
        }
        Ok(())
    }

    fn result(&mut self, label: &str, result: &ResultItem<'_>) -> io::Result<()> {
        match (result.content(), result.error()) {
            (_, Some(error)) => self.labelled(label, &format!("→ error: {}", front(&error.joined()))),
            (Some(text), None) if self.length == Length::Full => self.text(if label.is_empty() { "→" } else { label }, &text, RESULT_LINES),
            (Some(text), None) => self.labelled(label, &format!("→ {}", front(text.pieces().next().unwrap_or_default()))),
            (None, None) => self.labelled(label, "→ no content"),
        }
    }

    fn interaction(&mut self, asked: &InteractionItem<'_>) -> io::Result<()> {
        let decision = asked
            .decision()
            .and_then(|decision| decision.payload())
            .map(|payload| format!(": {}", front(&payload.joined())))
            .unwrap_or_default();
        let status = status_word(asked.status());
        self.labelled("question", &format!("{} ({}) {status}{decision}  {}", asked.id(), asked.kind(), question(asked)))
    }
}

/// Writes one page.
pub(crate) fn write(page: &Page, length: Length, out: &mut Out) -> io::Result<()> {
    PageWriter::new(out, length).write(page)
}

/// The words of a request: its title, its message, or all of it.
pub(crate) fn question(asked: &InteractionItem<'_>) -> String {
    request_words(&asked.request().or(asked.interrupt()).map(|request| request.joined()).unwrap_or_default())
}

/// The words of a request in JSON.
pub(crate) fn request_words(request: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(request).unwrap_or_default();
    let words = ["title", "message", "prompt", "question"].into_iter().find_map(|key| value.get(key)?.as_str());
    one_line(front(words.unwrap_or(request)))
}

/// Where an interaction stands, in a word.
pub(crate) fn status_word(status: turnstore::InteractionStatus) -> &'static str {
    match status {
        turnstore::InteractionStatus::Pending => "pending",
        turnstore::InteractionStatus::Resolved => "resolved",
        turnstore::InteractionStatus::Withdrawn => "withdrawn",
    }
}

fn activity(part: &PartItem<'_>) -> String {
    let text = part.text();
    let text = text.as_ref().and_then(|text| text.pieces().next()).unwrap_or_default();
    format!("{} {}", part.subtype().unwrap_or_default(), front(text))
}

fn status(paint: Paint, status: &str) -> String {
    let word = one_line(status);
    match status {
        "completed" | "running" => paint.dim(&word),
        _ => paint.alarm(&word),
    }
}
