//! Colour, where it is wanted.

use std::io::IsTerminal;

/// Whether text is painted, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Paint {
    /// Escape sequences for a terminal.
    Ansi,
    /// Nothing.
    Plain,
}

impl Paint {
    /// Paint for stdout: only for a terminal, and never against `NO_COLOR`.
    pub(crate) fn of_stdout() -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if !unwanted && std::io::stdout().is_terminal() { Self::Ansi } else { Self::Plain }
    }

    fn with(self, code: &str, text: &str) -> String {
        match self {
            Self::Ansi => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Self::Plain => text.to_owned(),
        }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn alarm(self, text: &str) -> String {
        self.with("33", text)
    }
}
