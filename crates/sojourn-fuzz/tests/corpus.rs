//! Every body on its seeds, on damaged seeds, and on random bytes.
#![cfg(target_os = "linux")]

use sojourn_core::Stream;
use sojourn_fuzz::TARGETS;
use std::fs;
use std::path::{Path, PathBuf};

/// Random inputs for each body: a second for all together where nothing is fuzzed in earnest.
const RANDOM_INPUTS: u64 = 60;
const LONGEST: f64 = 600.0;
const DAMAGED_PER_SEED: u64 = 2;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).expect("a file that can be read")).collect()
}

/// The corpus of `target`, and for what reads files that are in the package, some of those.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let mut seeds = files(&root().join("fuzz/corpus").join(target));
    if target == "trace" {
        seeds.extend(files(&root().join("crates/sojourn-scenario/tests/traces")));
    }
    seeds
}

/// A few bytes changed, one taken out, and cut somewhere.
fn damaged(seed: &[u8], random: &mut Stream) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    if bytes.is_empty() {
        return bytes;
    }
    for _ in 0..3 {
        let at = random.bits() as usize % bytes.len();
        bytes[at] ^= 1 << (random.bits() % 8);
    }
    bytes.remove(random.bits() as usize % bytes.len());
    bytes.truncate(1 + random.bits() as usize % seed.len());
    bytes
}

#[test]
fn every_target_has_seeds() {
    for (target, _) in TARGETS {
        assert!(!seeds(target).is_empty(), "{target}: no file in fuzz/corpus/{target}");
    }
}

#[test]
fn every_target_has_a_program() {
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("a manifest");
    for (target, _) in TARGETS {
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} is not in fuzz/Cargo.toml");
        let program = root().join("fuzz/fuzz_targets").join(format!("{target}.rs"));
        let program = fs::read_to_string(&program).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        assert!(program.contains(&format!("body(\"{target}\")")), "{target}.rs runs something else");
    }
}

#[test]
fn seeds_and_random_bytes_find_no_fault() {
    for (target, body) in TARGETS {
        let mut random = Stream::new(1, target);
        for seed in seeds(target) {
            body(&seed);
            (0..DAMAGED_PER_SEED).for_each(|_| body(&damaged(&seed, &mut random)));
        }
        for _ in 0..RANDOM_INPUTS {
            let length = (LONGEST * random.uniform()) as usize;
            let bytes: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
            body(&bytes);
        }
    }
}
