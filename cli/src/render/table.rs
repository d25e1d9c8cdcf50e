//! Aligned columns.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::paint::Paint;

/// On which side the text of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows under a heading; every column is as wide as its widest cell.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn write(&self, out: &mut dyn Write, paint: Paint) -> io::Result<()> {
        let widths: Vec<usize> = self.columns.iter().enumerate().map(|(at, (name, _))| self.width(at).max(name.width())).collect();
        let heading: Vec<String> = self.columns.iter().map(|(name, _)| (*name).to_owned()).collect();
        if heading.iter().any(|name| !name.is_empty()) {
            writeln!(out, "{}", paint.dim(&self.line(&heading, &widths)))?;
        }
        for row in &self.rows {
            writeln!(out, "{}", self.line(row, &widths))?;
        }
        Ok(())
    }

    fn width(&self, column: usize) -> usize {
        self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (cell, ((_, align), width)) in cells.iter().zip(self.columns.iter().zip(widths)) {
            let space = " ".repeat(width.saturating_sub(cell.width()));
            if !line.is_empty() {
                line.push_str("  ");
            }
            match align {
                Align::Left => line.extend([cell.as_str(), &space]),
                Align::Right => line.extend([space.as_str(), cell]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_in_any_script() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right)]);
        table.row(["日本".to_owned(), "1".to_owned()]);
        table.row(["a".to_owned(), "10".to_owned()]);
        let mut out = Vec::new();
        table.write(&mut out, Paint::Plain).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "name   n\n日本   1\na     10\n");
    }
}
