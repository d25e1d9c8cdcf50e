//! One version for each catalog that a consumer needs, so that every consumer is satisfied.
//!
//! A search that tries newer versions first. When a catalog has no version left it goes back to one of those that left it none, and skips
//! what has no part in that; what it does is counted in steps, and steps have a limit.
//!
//! **Invariant:** a [`Graph`] is complete: each dependency of each catalog in it is in it, in a version that was asked for; it has no cycle,
//! and nothing that nobody asked for. When there is one and the steps suffice, one is found; the same input always gives the same one.

use std::collections::{BTreeMap, BTreeSet};

use semver::{Version, VersionReq};

use super::{Catalogs, Manifest};
use crate::limits::CATALOG_STEPS_MAX;

/// The version of each catalog that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph(BTreeMap<String, Version>);

impl Graph {
    /// The version of a catalog; `None` when nobody needs it.
    pub fn version(&self, id: &str) -> Option<&Version> {
        self.0.get(id)
    }

    /// Every catalog by its id, with its version.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Version)> {
        self.0.iter().map(|(id, version)| (id.as_str(), version))
    }
}

/// Who asks for a catalog, and for which versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    /// The catalog that asks, with its version; `None` for the caller.
    pub catalog: Option<(String, Version)>,
    /// What it asks for.
    pub asks: VersionReq,
}

impl std::fmt::Display for Consumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.catalog {
            Some((id, version)) => write!(f, "{id} {version} asks for {}", self.asks),
            None => write!(f, "the caller asks for {}", self.asks),
        }
    }
}

fn listed(consumers: &[Consumer]) -> String {
    consumers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Why there is no such graph: what was met first, on the newest versions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unresolved {
    /// Nobody registered the catalog. Register it.
    #[error("catalog {id:?} is not registered: {}", listed(consumers))]
    Missing {
        /// Catalog id.
        id: String,
        /// Who asks for it.
        consumers: Vec<Consumer>,
    },
    /// No registered version satisfies every consumer. Register one that does, or change a consumer.
    #[error("no version of catalog {id:?} satisfies all: {}", listed(consumers))]
    Conflict {
        /// Catalog id.
        id: String,
        /// Who asks for it.
        consumers: Vec<Consumer>,
    },
    /// Catalogs depend on each other. Take one of the dependencies away.
    #[error("catalogs depend on each other: {}", catalogs.join(", "))]
    Cycle {
        /// The catalogs of the cycle, each depending on the next and the last on the first.
        catalogs: Vec<String>,
    },
    /// The search was given up. Register fewer versions, or ask for narrower ones.
    #[error("no graph was found in catalog_steps_max = {CATALOG_STEPS_MAX} steps")]
    TooHard,
}

/// A failure, and the catalogs whose choice has a part in it.
type Failed<'c> = (Unresolved, BTreeSet<&'c str>);

/// A catalog whose version is chosen, or about to be.
struct Choice<'c> {
    id: &'c str,
    /// Versions not yet tried, the oldest first.
    left: Vec<&'c Manifest>,
    /// Catalogs whose choice has a part in that the tried ones failed.
    blamed: BTreeSet<&'c str>,
}

/// A wish for a catalog: the catalog that asks, `None` for the caller, and what it asks for.
type Wish<'c> = (Option<&'c Manifest>, &'c VersionReq);

struct Search<'c> {
    catalogs: &'c Catalogs,
    wishes: BTreeMap<&'c str, Vec<Wish<'c>>>,
    chosen: BTreeMap<&'c str, &'c Manifest>,
    /// Asked for, and not chosen.
    open: BTreeSet<&'c str>,
    /// Steps that are left.
    steps: u64,
}

impl Catalogs {
    /// The versions of the catalogs that the caller asks for, and of all that these need: one version for each.
    ///
    /// Cost: at most [`CATALOG_STEPS_MAX`] steps.
    ///
    /// # Errors
    /// See [`Unresolved`].
    pub fn resolve(&self, asked: &[(&str, VersionReq)]) -> Result<Graph, Unresolved> {
        let mut search =
            Search { catalogs: self, wishes: BTreeMap::new(), chosen: BTreeMap::new(), open: BTreeSet::new(), steps: CATALOG_STEPS_MAX };
        for (id, asks) in asked {
            search.wishes.entry(id).or_default().push((None, asks));
            search.open.insert(id);
        }
        let chosen = search.run()?;
        Ok(Graph(chosen.into_iter().map(|(id, manifest)| (id.to_owned(), manifest.version().clone())).collect()))
    }
}

impl<'c> Search<'c> {
    fn run(mut self) -> Result<BTreeMap<&'c str, &'c Manifest>, Unresolved> {
        let mut choices: Vec<Choice<'c>> = Vec::new();
        let mut first: Option<Unresolved> = None;
        loop {
            let failed = match self.open.first().copied() {
                None => return Ok(self.chosen),
                Some(id) => match self.candidates(id) {
                    Ok(left) => {
                        self.open.remove(id);
                        choices.push(Choice { id, left, blamed: self.askers(id) });
                        None
                    }
                    Err(why) => Some((why, self.askers(id))),
                },
            };
            if let Some((why, blamed)) = failed {
                first.get_or_insert(why);
                self.go_back(&mut choices, blamed);
            }
            if !self.advance(&mut choices, &mut first)? {
                return Err(first.unwrap_or(Unresolved::TooHard));
            }
        }
    }

    /// Chooses the next version of the last choice, going back where there is none left. False when nothing is left at all.
    fn advance(&mut self, choices: &mut Vec<Choice<'c>>, first: &mut Option<Unresolved>) -> Result<bool, Unresolved> {
        while let Some(choice) = choices.last_mut() {
            if self.steps == 0 {
                return Err(Unresolved::TooHard);
            }
            let Some(manifest) = choice.left.pop() else {
                let mut blamed = std::mem::take(&mut choice.blamed);
                let id = choice.id;
                blamed.remove(id);
                choices.pop();
                // What is asked for stays asked for.
                self.open.insert(id);
                self.go_back(choices, blamed);
                continue;
            };
            match self.choose(manifest) {
                Ok(()) => return Ok(true),
                Err((why, blamed)) => {
                    self.take_back(manifest);
                    choice.blamed.extend(blamed);
                    first.get_or_insert(why);
                }
            }
        }
        Ok(false)
    }

    fn spend(&mut self, steps: usize) {
        self.steps = self.steps.saturating_sub(steps as u64);
    }

    /// Takes choices back up to the last that is blamed, which tries another version.
    fn go_back(&mut self, choices: &mut Vec<Choice<'c>>, blamed: BTreeSet<&'c str>) {
        while let Some(choice) = choices.last_mut() {
            self.spend(1);
            if let Some(manifest) = self.chosen.get(choice.id).copied() {
                self.take_back(manifest);
            }
            if blamed.contains(choice.id) {
                // The smaller goes into the larger: a long chain that fails hands its blame up whole.
                let mut less = blamed;
                if less.len() > choice.blamed.len() {
                    std::mem::swap(&mut less, &mut choice.blamed);
                }
                let moved = less.len();
                choice.blamed.extend(less);
                self.spend(moved);
                return;
            }
            let id = choice.id;
            choices.pop();
            if self.wishes.contains_key(id) {
                self.open.insert(id);
            }
        }
    }

    /// Versions that everyone who asks would take, the oldest first.
    fn candidates(&mut self, id: &'c str) -> Result<Vec<&'c Manifest>, Unresolved> {
        let versions = self.catalogs.by_id.get(id);
        self.spend(versions.map_or(1, BTreeMap::len).saturating_mul(self.wished(id).len().max(1)));
        let wishes = self.wished(id);
        let Some(versions) = versions else { return Err(Unresolved::Missing { id: id.to_owned(), consumers: consumers(wishes) }) };
        let fits = |manifest: &&Manifest| wishes.iter().all(|(_, asks)| asks.matches(manifest.version()));
        let found: Vec<_> = versions.values().filter(fits).collect();
        if found.is_empty() { Err(Unresolved::Conflict { id: id.to_owned(), consumers: consumers(wishes) }) } else { Ok(found) }
    }

    fn wished(&self, id: &str) -> &[Wish<'c>] {
        self.wishes.get(id).map(Vec::as_slice).unwrap_or_default()
    }

    /// Those that ask for a catalog.
    fn askers(&self, id: &str) -> BTreeSet<&'c str> {
        self.wished(id).iter().filter_map(|(asker, _)| asker.map(Manifest::id)).collect()
    }

    /// Chooses a version and asks for what it needs. On failure everything stands as if it were chosen.
    fn choose(&mut self, manifest: &'c Manifest) -> Result<(), Failed<'c>> {
        self.chosen.insert(manifest.id(), manifest);
        for (id, asks) in manifest.dependencies() {
            self.wishes.entry(id).or_default().push((Some(manifest), asks));
            if !self.chosen.contains_key(id.as_str()) {
                self.open.insert(id);
            }
        }
        for (id, asks) in manifest.dependencies() {
            self.spend(1);
            let fits = match self.chosen.get(id.as_str()) {
                Some(chosen) if asks.matches(chosen.version()) => Ok(()),
                Some(_) => Err(Unresolved::Conflict { id: id.clone(), consumers: consumers(self.wished(id)) }),
                None => self.candidates(id).map(|_| ()),
            };
            if let Err(why) = fits {
                // To name a consumer costs more than to ask it.
                self.spend(self.wished(id).len().saturating_mul(8));
                let mut blamed = self.askers(id);
                blamed.insert(id);
                return Err((why, blamed));
            }
        }
        self.no_cycle(manifest)
    }

    /// Whether a path of chosen catalogs leads from a catalog back to it.
    fn no_cycle(&mut self, from: &'c Manifest) -> Result<(), Failed<'c>> {
        let mut parents: BTreeMap<&'c str, &'c str> = BTreeMap::new();
        let mut open = vec![from];
        while let Some(manifest) = open.pop() {
            for id in manifest.dependencies().keys() {
                self.spend(1);
                if id == from.id() {
                    let mut path = vec![manifest.id()];
                    while let Some(parent) = path.last().filter(|id| **id != from.id()).and_then(|id| parents.get(id)) {
                        path.push(parent);
                    }
                    path.reverse();
                    let catalogs = path.iter().map(|id| (*id).to_owned()).collect();
                    return Err((Unresolved::Cycle { catalogs }, path.into_iter().collect()));
                }
                if let Some(next) = self.chosen.get(id.as_str())
                    && !parents.contains_key(id.as_str())
                {
                    parents.insert(id, manifest.id());
                    open.push(next);
                }
            }
        }
        Ok(())
    }

    /// Takes a choice back, and what it asked for. Nothing chosen later is left.
    fn take_back(&mut self, manifest: &'c Manifest) {
        self.chosen.remove(manifest.id());
        for id in manifest.dependencies().keys() {
            let Some(wishes) = self.wishes.get_mut(id.as_str()) else { continue };
            // What was asked for last is taken back first.
            wishes.pop();
            if wishes.is_empty() {
                self.wishes.remove(id.as_str());
                self.open.remove(id.as_str());
            }
        }
    }
}

fn consumers(wishes: &[Wish<'_>]) -> Vec<Consumer> {
    let of = |(asker, asks): &Wish<'_>| Consumer {
        catalog: asker.map(|asker| (asker.id().to_owned(), asker.version().clone())),
        asks: (*asks).clone(),
    };
    wishes.iter().map(of).collect()
}
