//! A bar that a measure must reach, and the report of one row of the comparison.

use serde::Serialize;

/// One bar: the ratio measured and the ratio that must be reached.
#[derive(Clone, Debug, Serialize)]
pub struct Bar {
    /// What is compared with what, and which side of the bar is good.
    pub name: String,
    /// The ratio measured.
    pub ratio: f64,
    /// The ratio to reach.
    pub bar: f64,
    /// Whether it was reached.
    pub met: bool,
}

impl Bar {
    /// A ratio that must be `bar` or more.
    #[must_use]
    pub fn at_least(name: impl Into<String>, ratio: f64, bar: f64) -> Self {
        Self { name: format!("{} (>= {bar})", name.into()), ratio, bar, met: ratio >= bar }
    }

    /// A ratio that must be `bar` or less.
    #[must_use]
    pub fn at_most(name: impl Into<String>, ratio: f64, bar: f64) -> Self {
        Self { name: format!("{} (<= {bar})", name.into()), ratio, bar, met: ratio <= bar }
    }

    /// An absolute value against its limit, as their ratio: 1 is the limit.
    #[must_use]
    pub fn within(name: &str, value: f64, limit: f64, unit: &str) -> Self {
        Self::at_most(format!("{name}: {value:.1} {unit} of {limit} {unit}"), value / limit, 1.0)
    }
}

/// What one row measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The measure.
    pub name: &'static str,
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// One line for each contender.
    pub lines: Vec<Vec<String>>,
    /// How it was measured: warm or cold, what was left out.
    pub notes: Vec<String>,
    /// The bars; none when turnstore took no part.
    #[serde(skip)]
    pub bars: Vec<Bar>,
}

/// Formats a count with thousands separated.
#[must_use]
pub fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats bytes as MiB.
#[must_use]
pub fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / 1_048_576.0)
}
