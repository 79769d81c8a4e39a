//! Compiles picoquic, picotls and what they need of cifra and micro-ecc, and the glue. `sojourn stacks build picoquic` says where
//! their sources are.

use std::path::{Path, PathBuf};

/// The folder of the package that has all sources.
const SOURCE: &str = "SOJOURN_STACK_SOURCE";
/// Files of picoquic that are a program, a log or a system of their own.
const LEFT_OUT: [&str; 3] = ["memory_log", "picoqmux", "winsockloop"];
/// All of picotls and its cryptography but `cifra/random.c`: src/glue.c has its function.
const PICOTLS: [&str; 24] = [
    "lib/hpke",
    "lib/picotls",
    "lib/pembase64",
    "lib/cifra",
    "lib/cifra/x25519",
    "lib/cifra/chacha20",
    "lib/cifra/aes128",
    "lib/cifra/aes256",
    "lib/minicrypto-pem",
    "lib/uecc",
    "lib/asn1",
    "lib/ffx",
    "deps/micro-ecc/uECC",
    "deps/cifra/src/aes",
    "deps/cifra/src/blockwise",
    "deps/cifra/src/chacha20",
    "deps/cifra/src/chash",
    "deps/cifra/src/curve25519",
    "deps/cifra/src/drbg",
    "deps/cifra/src/hmac",
    "deps/cifra/src/gcm",
    "deps/cifra/src/gf128",
    "deps/cifra/src/modes",
    "deps/cifra/src/poly1305",
];
const HASHES: [&str; 2] = ["deps/cifra/src/sha256", "deps/cifra/src/sha512"];

fn main() {
    println!("cargo:rerun-if-env-changed={SOURCE}");
    println!("cargo:rerun-if-changed=src/glue.c");
    println!("cargo:rerun-if-changed=certificate.der");
    println!("cargo:rerun-if-changed=../../crates/sojourn-endpoint-c/include/sojourn_endpoint.h");
    let Some(source) = std::env::var_os(SOURCE) else {
        // Enough for cargo clippy; a program lacks its main.
        println!("cargo:warning=no {SOURCE}, which `sojourn stacks build picoquic` sets: picoquic is left out");
        return;
    };
    let source = PathBuf::from(source).join("third_party");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says it"));
    let (quic, tls) = (source.join("picoquic/picoquic"), source.join("picotls"));
    let has_aes = std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64");
    let build = || {
        let mut build = cc::Build::new();
        build.warnings(false).opt_level(2).define("PTLS_WITHOUT_OPENSSL", None).define("DISABLE_DEBUG_PRINTF", None);
        build
            .includes(["include", "deps/cifra/src/ext", "deps/cifra/src", "deps/micro-ecc"].map(|part| tls.join(part)));
        build.include(&quic).include("../../crates/sojourn-endpoint-c/include");
        if !has_aes {
            build.define("PTLS_WITHOUT_FUSION", None);
        }
        build
    };
    let certificate = std::fs::read("certificate.der").expect("a certificate");
    let bytes = certificate.iter().map(|byte| format!("{byte},")).collect::<String>();
    let text = format!("static const uint8_t CERTIFICATE[] = {{{bytes}}};\n");
    std::fs::write(out.join("certificate.h"), text).expect("a folder of its own");
    build().include(out).file("src/glue.c").files(of_picoquic(&quic)).compile("sojourn_picoquic");
    let of_picotls = |name: &&str| tls.join(name).with_extension("c");
    build().files(PICOTLS.iter().chain(&HASHES).map(of_picotls)).compile("sojourn_picotls");
    if has_aes {
        // The processor is asked before any of it runs.
        let flags = ["-mavx2", "-maes", "-mpclmul", "-mvaes", "-mvpclmulqdq"];
        build().flags(flags).file(tls.join("lib/fusion.c")).compile("sojourn_fusion");
    }
}

fn of_picoquic(folder: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).expect("the sources of picoquic").map(|entry| entry.expect("a file").path());
    let is_wanted = |file: &PathBuf| {
        let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        file.extension().is_some_and(|kind| kind == "c") && !LEFT_OUT.contains(&name)
    };
    let mut files: Vec<_> = entries.filter(is_wanted).collect();
    files.sort();
    files
}
