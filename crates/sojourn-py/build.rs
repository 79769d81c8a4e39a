//! Gives the engine a name that changes whenever its sources do: datasets keep it, so that results of another engine are
//! told from those of this one.

use std::fs;
use std::path::{Path, PathBuf};

/// FNV-1a, 64 bit: no safeguard against malice, but sources do not collide by chance.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = vec![crates.join("../Cargo.lock")];
    for entry in fs::read_dir(&crates).expect("the crates lie beside this one").flatten() {
        let source = entry.path().join("src");
        if source.is_dir() {
            println!("cargo:rerun-if-changed={}", source.display());
            collect(&source, &mut files);
        }
    }
    println!("cargo:rerun-if-changed={}", files[0].display());
    files.sort();
    let hash = files.iter().filter_map(|file| Some((file, fs::read(file).ok()?))).fold(OFFSET, |hash, (file, text)| {
        let name = file.strip_prefix(&crates).unwrap_or(file).to_string_lossy().into_owned();
        [name.as_bytes(), &[0], &text, &[0]]
            .concat()
            .iter()
            .fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
    });
    println!("cargo:rustc-env=SOJOURN_BUILD={hash:016x}");
}

/// Adds all Rust files below `folder`.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).expect("a folder of sources can be read").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|suffix| suffix == "rs") {
            files.push(path);
        }
    }
}
