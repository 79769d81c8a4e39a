//! TLS between two ends that know each other: a raw public key (RFC 7250) that is made of the run's seed, and no certificate. So
//! either end knows it, also where they are processes of their own. It keeps nothing secret.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring as provider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme};
use std::sync::Arc;

/// A private key of Ed25519 as PKCS#8 has it, up to its 32 bytes (RFC 8410 section 7).
const PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// What a server with the key of a seed, and a client that knows this key, need.
///
/// # Errors
/// What TLS says of them.
pub fn configs(seed: u64) -> Result<(ServerConfig, ClientConfig), Box<dyn std::error::Error>> {
    let provider = Arc::new(provider::default_provider());
    let private = [&PKCS8[..], &[seed.to_be_bytes(); 4].concat()].concat();
    let key = provider::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(private))?;
    let public = key.public_key().ok_or("a key without a public half")?.into_owned();
    let known = CertificateDer::from(public.as_ref().to_vec());

    let certified = Arc::new(CertifiedKey::new(vec![known.clone()], key));
    let server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified)));
    let client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Known { key: known, provider }))
        .with_no_client_auth();
    Ok((server, client))
}

/// Accepts one key, and only from a server that can sign with it.
#[derive(Debug)]
struct Known {
    key: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Known {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if *shown == self.key {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::UnknownIssuer.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _shown: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        unreachable!("QUIC has TLS 1.3 only")
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(shown.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
