//! The machine a run was made on, and the trace it was made with, each in one line.

use std::path::Path;

use serde::Serialize;

use crate::step::Step;
use crate::trace::Trace;

/// Cores, processor, memory, kernel and the file system under the stores.
#[must_use]
pub fn line(dir: &Path) -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let found = text.lines().find(|line| line.starts_with(name));
        found.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let memory: f64 = field(&read("/proc/meminfo"), "MemTotal").trim_end_matches(" kB").parse().unwrap_or(0.0);
    format!(
        "{cores} x {}, {:.0} GiB, Linux {}, stores on {}",
        field(&read("/proc/cpuinfo"), "model name"),
        memory / 1_048_576.0,
        read("/proc/sys/kernel/osrelease").trim(),
        file_system(dir, &read("/proc/mounts")),
    )
}

/// The kind of file system that holds `dir`: the mount with the longest matching path.
fn file_system(dir: &Path, mounts: &str) -> String {
    let mut best = (0, "an unknown file system");
    for mount in mounts.lines() {
        let mut fields = mount.split(' ').skip(1);
        let (Some(path), Some(kind)) = (fields.next(), fields.next()) else { continue };
        if dir.starts_with(path) && path.len() >= best.0 {
            best = (path.len(), kind);
        }
    }
    best.1.to_owned()
}

/// Sizes of the trace's JSON lines, in bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sizes {
    /// Of all events.
    pub mean: f64,
    /// Half are smaller.
    pub p50: usize,
    /// One in a hundred is larger.
    pub p99: usize,
    /// The largest.
    pub largest: usize,
}

/// Measures the first `count` events of the trace.
#[must_use]
pub fn sizes(count: usize) -> Sizes {
    let mut line = Vec::new();
    let mut measure = |step: Step| {
        line.clear();
        step.write_line(&mut line);
        line.len() + 1
    };
    let mut sizes: Vec<usize> = Trace::seeded(1).take(count).map(&mut measure).collect();
    sizes.sort_unstable();
    let at = |percent: usize| sizes.get(sizes.len() * percent / 100).copied().unwrap_or_default();
    let mean = sizes.iter().sum::<usize>() as f64 / sizes.len().max(1) as f64;
    Sizes { mean, p50: at(50), p99: at(99), largest: sizes.last().copied().unwrap_or_default() }
}
