//! TLS between two ends that do not check each other.
//!
//! The key is no secret, and of Ed25519: its signatures have always the same length, those of ECDSA do not, and bytes are what a
//! link carries. The certificate is of this key, valid until 2126: `openssl req -new -x509 -key KEY -subj /CN=sojourn
//! -days 36500 -outform DER`.

use boring::error::ErrorStack;
use boring::pkey::PKey;
use boring::ssl::{SslContextBuilder, SslMethod, SslSignatureAlgorithm};
use boring::x509::X509;

/// What is before a private key of Ed25519 in PKCS #8 (RFC 8410 section 7).
const HEADER: [u8; 16] = [0x30, 0x2E, 2, 1, 0, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22, 4, 0x20];
const SEED: [u8; 32] = [7; 32];

/// A context for either end.
///
/// # Errors
/// Those of BoringSSL.
pub fn context() -> Result<SslContextBuilder, ErrorStack> {
    let mut context = SslContextBuilder::new(SslMethod::tls())?;
    context.set_certificate(&*X509::from_der(include_bytes!("../certificate.der"))?)?;
    context.set_private_key(&*PKey::private_key_from_der(&[&HEADER[..], &SEED].concat())?)?;
    // BoringSSL's clients do not offer it by themselves.
    context.set_verify_algorithm_prefs(&[SslSignatureAlgorithm::ED25519])?;
    Ok(context)
}
