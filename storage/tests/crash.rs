//! Thousands of power cuts, and the n-th operation failing for every n.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, its helpers too"
)]

#[allow(dead_code, unreachable_pub, reason = "a test's support is a module of that test")]
mod support;

use std::collections::BTreeSet;
use std::io::Write;
use support::disk::{Kind, Lie};
use support::sim::{Crossed, Sim, Step, Stop};
use turnstore_storage::*;

const CRASHES_PER_LIFE: u64 = 12;

/// The ordinary run has so many at least.
const CRASHES_MIN: u64 = 2_000;

fn crashes_wanted() -> u64 {
    let asked = std::env::var("TURNSTORE_CRASHES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(CRASHES_MIN + 500)
}

/// Lives of stores, one seed each, until so many crashes were survived.
fn survive(crashes: u64, first_seed: u64) -> Crossed {
    let mut crossed = Crossed::new();
    let mut survived = 0;
    for seed in first_seed.. {
        if survived >= crashes {
            break;
        }
        let mut sim = Sim::new(seed, Lie::None);
        if let Err(what) = sim.live(CRASHES_PER_LIFE) {
            panic!("seed {seed}, crash {}: {what}", sim.crashes);
        }
        survived += sim.crashes;
        for (step, count) in sim.crossed {
            *crossed.entry(step).or_default() += count;
        }
    }
    crossed
}

#[test]
fn a_store_survives_power_cuts_at_random() {
    let wanted = crashes_wanted();
    let crossed = survive(wanted, 1);
    let crashes = crossed.values().sum::<u64>();
    // Past the harness, which keeps what a test that succeeds prints to itself.
    let _ = writeln!(std::io::stderr(), "the store survived {crashes} power cuts at {} kinds of places", crossed.len());
    assert!(crashes >= wanted, "only {crashes} power cuts of {wanted}");
}

/// One short life, cut at every single change; what survives of the unsynced differs by round.
fn sweep(rounds: u64) -> Crossed {
    let mut crossed = Crossed::new();
    for round in 0..rounds {
        for n in 1.. {
            let mut sim = Sim::new(1_000_000 + round, Lie::None);
            match sim.cut_at(n) {
                Err(what) => panic!("round {round}, change {n}: {what}"),
                Ok(false) => break,
                Ok(true) => {}
            }
            for (step, count) in sim.crossed {
                *crossed.entry(step).or_default() += count;
            }
        }
    }
    crossed
}

#[test]
fn a_store_survives_a_power_cut_at_every_change_of_its_life() {
    let crossed = sweep(4);
    let cut = |step: Step, kind: Kind, which: Option<Which>| crossed.get(&(step, kind, which)).copied().unwrap_or(0);
    let (main, tail, draft) = (Some(Which::Main), Some(Which::Tail), Some(Which::Draft));
    let steps = [
        // create: the draft, its publishing, the tail, the directory, main's note of its tail
        (Step::Create, Kind::Create, draft),
        (Step::Create, Kind::Write, draft),
        (Step::Create, Kind::Sync, draft),
        (Step::Create, Kind::Publish, draft),
        (Step::Create, Kind::SyncDir, None),
        (Step::Create, Kind::Create, tail),
        (Step::Create, Kind::WriteHeader, tail),
        (Step::Create, Kind::SyncHeader, tail),
        (Step::Create, Kind::Sync, main),
        // open: recovery of both files, a fresh tail after a close, the epoch
        (Step::Open, Kind::Write, main),
        (Step::Open, Kind::Sync, main),
        (Step::Open, Kind::Create, tail),
        (Step::Open, Kind::Write, tail),
        (Step::Open, Kind::WriteHeader, tail),
        (Step::Open, Kind::SyncHeader, tail),
        (Step::Open, Kind::SyncDir, None),
        // append, growth ahead, going back to the front: the copy, then the header
        (Step::Append, Kind::Write, tail),
        (Step::Append, Kind::Sync, tail),
        (Step::Append, Kind::SetLen, tail),
        (Step::Append, Kind::WriteCopy, tail),
        (Step::Append, Kind::SyncCopy, tail),
        (Step::Append, Kind::WriteHeader, tail),
        (Step::Append, Kind::SyncHeader, tail),
        (Step::Sync, Kind::Sync, tail),
        // main commit
        (Step::Checkpoint, Kind::Write, main),
        (Step::Checkpoint, Kind::SetLen, main),
        (Step::Checkpoint, Kind::Sync, main),
        (Step::RebuildFlush, Kind::Sync, main),
        (Step::RebuildSwitch, Kind::Write, main),
        (Step::RebuildSwitch, Kind::Sync, main),
        // close: main's note, the tail's removal, the directory, main's own end
        (Step::Close, Kind::Write, main),
        (Step::Close, Kind::Sync, main),
        (Step::Close, Kind::Remove, tail),
        (Step::Close, Kind::SyncDir, None),
        // a handle dropped without closing
        (Step::Drop, Kind::Write, main),
    ];
    let missed: Vec<_> = steps.iter().filter(|(step, kind, which)| cut(*step, *kind, *which) == 0).collect();
    println!("{} crashes; {crossed:?}", crossed.values().sum::<u64>());
    assert!(missed.is_empty(), "never cut at {missed:?}");
}

/// How many of so many lives break their promise on a disk that lies.
fn broken(lie: Lie, lives: u64) -> u64 {
    let seeds = 1..=lives;
    seeds.filter(|seed| Sim::new(*seed, lie).live(CRASHES_PER_LIFE).is_err()).count() as u64
}

#[test]
fn the_simulator_catches_frames_cut_from_the_tail_before_main_is_synced() {
    // Main's sync is skipped: so the tail begins again without frames that main may not hold.
    assert!(broken(Lie::MainSync, 10) > 0);
}

#[test]
fn the_simulator_catches_an_acknowledgement_before_the_tail_is_synced() {
    assert!(broken(Lie::TailSync, 10) > 0);
}

#[test]
fn the_simulator_catches_a_header_switched_before_the_copy_is_synced() {
    let cut = |seed| Sim::new(seed, Lie::CopySync).cut_rotation(Kind::SyncHeader);
    assert!((1..=60).any(|seed| cut(seed).is_err()));
}

#[test]
fn a_tail_survives_a_power_cut_at_every_step_of_its_way_back_to_the_front() {
    for seed in 1..=60 {
        for kind in [Kind::WriteCopy, Kind::SyncCopy, Kind::WriteHeader, Kind::SyncHeader] {
            let cut = Sim::new(seed, Lie::None).cut_rotation(kind);
            assert!(cut.is_ok(), "seed {seed}, {kind:?}: {cut:?}");
        }
    }
}

#[test]
fn the_simulator_catches_a_tail_whose_directory_entry_was_not_synced() {
    assert!(broken(Lie::DirSync, 10) > 0);
}

/// A fixed small workload: appends, checkpoints, a tail that goes back to its front.
fn small_workload(sim: &mut Sim) -> Result<Storage, Stop> {
    let storage = sim.open()?;
    for _ in 0..3 {
        sim.append(&storage, Durability::Durable)?;
    }
    sim.checkpoint(&storage)?;
    sim.append(&storage, Durability::Buffered)?;
    sim.append(&storage, Durability::Durable)?;
    sim.checkpoint(&storage)?;
    sim.append(&storage, Durability::Durable)?;
    sim.rotate(&storage)?;
    Ok(storage)
}

#[test]
fn whichever_operation_fails_nothing_acknowledged_is_lost() {
    let mut kinds = BTreeSet::new();
    let mut failed = 0;
    for n in 1.. {
        let mut sim = Sim::new(77, Lie::None);
        sim.disk.fail_in(n);
        let end = small_workload(&mut sim);
        let Some(failure) = sim.disk.failed() else { break };
        kinds.insert(failure.kind);
        failed += 1;
        sim.disk.fail_never();
        // The handle is gone with its error, as a host drops it. A store that still opens must
        // hold what was acknowledged, and take the next append.
        drop(end);
        let storage = match sim.open() {
            Ok(storage) => storage,
            Err(Stop::Broken(what)) => panic!("operation {n} ({failure:?}): {what}"),
            Err(Stop::Crash) => unreachable!(),
        };
        assert!(sim.append(&storage, Durability::Durable).is_ok(), "operation {n}");
    }
    assert!(failed > 100, "only {failed} operations");
    let tail = [Kind::WriteHeader, Kind::SyncHeader, Kind::WriteCopy, Kind::SyncCopy];
    for kind in [Kind::Read, Kind::Write, Kind::SetLen, Kind::Sync, Kind::SyncDir, Kind::Create].into_iter().chain(tail) {
        assert!(kinds.contains(&kind), "no {kind:?} failed");
    }
}

/// Each operation of `work` fails once, after the small workload; returns how often one did.
fn refusals(work: impl Fn(&mut Sim, &Storage) -> Result<(), Stop>) -> u64 {
    for n in 1.. {
        let mut sim = Sim::new(77, Lie::None);
        let storage = small_workload(&mut sim).unwrap_or_else(|_| panic!("without a fault"));
        sim.disk.fail_in(n);
        let result = work(&mut sim, &storage);
        let failed = sim.disk.failed().is_some();
        sim.disk.fail_never();
        assert_eq!(result.is_err(), failed, "operation {n}: an error without a fault, or a fault that nobody was told");
        if !failed {
            return n - 1;
        }
        let again = sim.append(&storage, Durability::Durable);
        assert!(again.is_err(), "operation {n}: an append after a failure");
        assert!(storage.begin_checkpoint(storage.head().unwrap()).is_err(), "operation {n}");
        assert!(storage.sync().is_err(), "operation {n}");
        assert!(storage.close().is_err(), "operation {n}");
    }
    0
}

#[test]
fn after_a_failed_append_or_checkpoint_the_handle_refuses_all_writes() {
    let append = refusals(|sim, storage| sim.append(storage, Durability::Durable));
    assert!(append >= 2, "only {append} failures of an append");
    let checkpoint = refusals(Sim::checkpoint);
    assert!(checkpoint > 10, "only {checkpoint} failures of a checkpoint");
    let rotation = refusals(Sim::rotate);
    assert!(rotation > checkpoint + 8, "only {rotation} failures of a rotation");
}

#[test]
fn a_full_disk_says_so_and_loses_nothing() {
    let mut sim = Sim::new(5, Lie::None);
    let storage = small_workload(&mut sim).unwrap_or_else(|_| panic!("without a fault"));
    let before = storage.head();
    sim.disk.fill_up();
    let mut full = None;
    for _ in 0..400 {
        let mut frame = storage.begin_frame();
        let stream = frame.next_position();
        let (number, name) = (storage.next_stream(), format!("filler {stream}"));
        frame.declare(number, &name).unwrap();
        frame.push(number, Seq::FIRST, &[1; 500]).unwrap();
        frame.end_batch(None);
        if let Err(error) = storage.append(frame, Durability::Durable) {
            full = Some(error);
            break;
        }
    }
    // Space may run out before the commit, which then left nothing, or within it.
    let unknown = match full.unwrap() {
        Error::Full(_) => 0,
        Error::OutcomeUnknown(source) => {
            assert!(format!("{source:?}").contains("StorageFull"), "{source:?}");
            1
        }
        other => panic!("{other:?}"),
    };
    let acknowledged = storage.head().unwrap().get();
    assert!(Position::new(acknowledged) > before);
    assert!(storage.sync().is_err());
    drop(storage);
    sim.disk.space_again();
    let options = sim.options();
    let opened = Storage::open(std::path::Path::new("simulated"), &options).unwrap();
    let head = opened.storage.head().unwrap().get();
    assert!((acknowledged..=acknowledged + unknown).contains(&head));
}
