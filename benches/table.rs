//! Reports and bars as aligned text.

use std::fmt::Write as _;

use crate::bar::{Bar, Report};

/// One report: its heading, aligned columns, notes.
#[must_use]
pub fn report(report: &Report) -> String {
    let mut rows = vec![report.columns.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()];
    rows.extend(report.lines.iter().cloned());
    let mut out = format!("{}\n", report.name);
    if report.lines.is_empty() {
        rows.clear();
    }
    out.push_str(&aligned(&rows));
    for note in &report.notes {
        let _ = writeln!(out, "  ({note})");
    }
    out
}

/// All bars of a run.
#[must_use]
pub fn bars(bars: &[Bar]) -> String {
    let mut rows = vec![vec!["bar".to_owned(), "ratio".to_owned(), "must be".to_owned(), String::new()]];
    for bar in bars {
        let verdict = if bar.met { "met" } else { "MISSED" };
        rows.push(vec![bar.name.clone(), format!("{:.2}", bar.ratio), format!("{}", bar.bar), verdict.to_owned()]);
    }
    aligned(&rows)
}

/// Columns padded to their widest cell: the first to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            let width = cell.chars().count();
            match widths.get_mut(column) {
                Some(widest) => *widest = (*widest).max(width),
                None => widths.push(width),
            }
        }
    }
    let mut out = String::new();
    for row in rows {
        out.push(' ');
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = if column == 0 { write!(out, " {cell:<width$}") } else { write!(out, "  {cell:>width$}") };
        }
        out.push('\n');
    }
    out
}
