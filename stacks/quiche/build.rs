//! Has the linker send BoringSSL's and quiche's calls of `RAND_bytes` to src/machine.rs.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg=-Wl,--wrap=RAND_bytes");
}
