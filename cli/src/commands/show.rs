//! `show`: a window or page of a session.

use std::io::Write;
use std::path::Path;

use serde_json::Value;
use turnstore::{Cursor, Page, View, Window};

use crate::args::Show;
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use crate::render::page::{Length, PageWriter};
use crate::render::{json_page, text};

use super::{at_session, open_reading};

/// Items that one page of `--all` holds.
const ALL_PAGE_ITEMS: usize = 200;

pub(crate) fn run(store: &Path, args: &Show, out: &mut Out) -> Result<Outcome, Failure> {
    let reading = open_reading(store)?;
    let view = &reading.view;
    if args.all {
        return all(view, args, out).map_err(|failure| at_session(failure, &args.session));
    }
    let page = one(view, args).map_err(|failure| at_session(failure, &args.session))?;
    if args.json {
        let mut window = json_page::window(&page);
        json_page::set(&mut window, "stale", Some(reading.stale));
        out.json_pretty(&window)?;
        return Ok(Outcome::Done);
    }
    let paint = out.paint;
    writeln!(out, "session {}  seq {}", paint.bold(&text::one_line(page.session())), json_page::seq(page.as_of_seq()))?;
    PageWriter::new(out, Length::Full).write(&page)?;
    if let Some(cursor) = page.cursor() {
        writeln!(out, "{}", paint.dim(&format!("older: --cursor {cursor}")))?;
    }
    if page.has_newer() {
        writeln!(out, "{}", paint.dim(&format!("newer: --cursor {}", page.newer_cursor())))?;
    }
    Ok(Outcome::Done)
}

fn one(view: &View, args: &Show) -> Result<Page, Failure> {
    let window = Window::items(args.last);
    match &args.cursor {
        None => Ok(view.window(&args.session, window)?),
        Some(token) => {
            let cursor: Cursor = token.parse().map_err(turnstore::Error::Cursor)?;
            Ok(view.page(&args.session, &cursor, window)?)
        }
    }
}

/// Every item, oldest first, a page at a time.
fn all(view: &View, args: &Show, out: &mut Out) -> Result<Outcome, Failure> {
    let window = Window::items(ALL_PAGE_ITEMS);
    let mut page = view.oldest(&args.session, window)?;
    if !args.json {
        let paint = out.paint;
        writeln!(out, "session {}  seq {}", paint.bold(&text::one_line(page.session())), json_page::seq(page.as_of_seq()))?;
        let mut writer = PageWriter::new(out, Length::Full);
        writer.write(&page)?;
        while page.has_newer() {
            page = view.page(&args.session, &page.newer_cursor(), window)?;
            writer.write(&page)?;
        }
        return Ok(Outcome::Done);
    }
    writeln!(out, "{{\"session\":{},\"seq\":{},\"turns\":[", Value::from(page.session()), json_page::seq(page.as_of_seq()))?;
    let mut between = "";
    loop {
        for turn in json_page::turns(&page) {
            write!(out, "{between}{turn}")?;
            between = ",\n";
        }
        if !page.has_newer() {
            break;
        }
        page = view.page(&args.session, &page.newer_cursor(), window)?;
    }
    writeln!(out, "\n]}}")?;
    Ok(Outcome::Done)
}
