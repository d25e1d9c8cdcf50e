//! The official AG-UI client, run by Node: what a front end does with the same events.
//!
//! It is fetched by npm into the directory of the run, or found where it is installed already. Where there is no Node, or no way to
//! fetch it, the row says so and has no such bars.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::failure::{Failure, Outcome};

/// The version that the bars are about.
const PACKAGE: &str = "@ag-ui/client@1.0.0";

/// The script that folds with it.
const SCRIPT: &str = include_str!("client.mjs");

/// A directory in which Node finds the client.
#[derive(Clone, Debug)]
pub struct Client {
    dir: PathBuf,
    script: PathBuf,
}

/// What folding a recording came to.
#[derive(Clone, Debug, Deserialize)]
pub struct Folded {
    /// Version of the client.
    pub version: String,
    /// Events folded.
    pub events: u64,
    /// Messages that they gave.
    pub messages: u64,
    /// Wall time of each repetition.
    pub seconds: Vec<f64>,
}

impl Client {
    /// The client in `installed`, else fetched into `dir`; the reason when there is none.
    pub fn find(installed: Option<&Path>, dir: &Path) -> Outcome<Result<Self, String>> {
        if !runs("node") {
            return Ok(Err("there is no node".to_owned()));
        }
        let home = match installed {
            Some(installed) => installed.to_owned(),
            None => match fetched(dir)? {
                Ok(home) => home,
                Err(reason) => return Ok(Err(reason)),
            },
        };
        let script = dir.join("client.mjs");
        std::fs::write(&script, SCRIPT)?;
        Ok(Ok(Self { dir: home, script }))
    }

    /// Folds the JSON lines of a file so many times.
    pub fn fold(&self, file: &Path, repeats: usize) -> Outcome<Folded> {
        let mut node = Command::new("node");
        let out = node.arg(&self.script).arg(&self.dir).arg(file).arg(repeats.to_string()).stdin(Stdio::null()).output()?;
        if !out.status.success() {
            let reason = String::from_utf8_lossy(&out.stderr).trim().to_owned();
            return Err(Failure::Child { role: "the official client".to_owned(), reason });
        }
        Ok(serde_json::from_slice(&out.stdout)?)
    }
}

fn runs(program: &str) -> bool {
    let run = Command::new(program).arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    run.is_ok_and(|status| status.success())
}

fn fetched(dir: &Path) -> Outcome<Result<PathBuf, String>> {
    if !runs("npm") {
        return Ok(Err("there is no npm to fetch it".to_owned()));
    }
    let home = dir.join("client");
    std::fs::create_dir_all(&home)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(&home).arg(PACKAGE);
    let out = npm.stdin(Stdio::null()).output()?;
    if out.status.success() {
        return Ok(Ok(home));
    }
    let reason = String::from_utf8_lossy(&out.stderr);
    Ok(Err(format!("npm could not fetch {PACKAGE}: {}", reason.lines().next().unwrap_or_default())))
}
