//! Connections of s2n-quic behind a scenario's path, in virtual time. The control is s2n-quic's `cubic` (the default) or `bbr`,
//! its BBRv2, or one of yours: [`connection`].
//!
//! The same seed gives the same record: which packet numbers s2n-quic leaves out and when its controls probe are of the seed.
//! Names of connections and what TLS draws are not: they have always the same length, and change what is in a datagram only.

mod engine;
mod stack;

use engine::{Engine, Handover, Seeded};
pub use s2n_quic;
use s2n_quic::provider::congestion_controller::{self, Bbr, Cubic};
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls;
use s2n_quic::{Client, Server};
use sojourn_core::Stream;
use sojourn_endpoint::{Asked, Connection};
use stack::S2n;
use std::error::Error;
use std::time::Duration;

type Failure = Box<dyn Error + Send + Sync>;

/// The names of s2n-quic's own controls.
pub const CONTROLS: [&str; 2] = ["cubic", "bbr"];
/// Room for what is under way on any path of the ready scenarios: nothing but the congestion window is to hold a sender back.
const WINDOW_BYTES: u32 = 64_000_000;
/// Longer than any scenario. Without an idle timeout, connections have nothing to wait for at times, which s2n-quic asserts
/// against.
const LONG: Duration = Duration::from_secs(1_000_000);
const PROTOCOL: [&str; 1] = ["sojourn"];
/// For localhost, valid from 2020 to 2126, no CA's, and signed with its own key, which is no secret. Signatures of Ed25519 have
/// always the same length, those of ECDSA do not, and bytes are what a link carries.
static CERTIFICATE: &[u8] = include_bytes!("../certificate.der");
/// What is before a private key of Ed25519 in PKCS #8 (RFC 8410 section 7).
const KEY_HEADER: [u8; 16] = [0x30, 0x2E, 2, 1, 0, 0x30, 5, 6, 3, 0x2B, 0x65, 0x70, 4, 0x22, 4, 0x20];
const KEY: [u8; 32] = [7; 32];

fn limits() -> Result<Limits, Failure> {
    Ok(Limits::new()
        .with_max_idle_timeout(LONG)?
        .with_max_handshake_duration(LONG)?
        .with_data_window(u64::from(WINDOW_BYTES))?
        .with_unidirectional_data_window(u64::from(WINDOW_BYTES))?
        .with_max_send_buffer_size(WINDOW_BYTES)?)
}

/// A client with this control, and its endpoint.
fn client(control: impl congestion_controller::Provider, random: Seeded) -> Result<(Box<dyn Engine>, Client), Failure> {
    let tls = rustls::Client::builder().with_certificate(CERTIFICATE)?.with_application_protocols(PROTOCOL.iter())?;
    let handover = Handover::default();
    let client = Client::builder()
        .with_tls(tls.build()?)?
        .with_limits(limits()?)?
        .with_random(random)?
        .with_congestion_controller(control)?
        .with_io(handover.clone())?
        .start()?;
    Ok((handover.take(), client))
}

fn server(random: Seeded) -> Result<(Box<dyn Engine>, Server), Failure> {
    let key = [&KEY_HEADER[..], &KEY].concat();
    let tls =
        rustls::Server::builder().with_certificate(CERTIFICATE, key)?.with_application_protocols(PROTOCOL.iter())?;
    let handover = Handover::default();
    let server = Server::builder()
        .with_tls(tls.build()?)?
        .with_limits(limits()?)?
        .with_random(random)?
        .with_io(handover.clone())?
        .start()?;
    Ok((handover.take(), server))
}

/// Both ends of a connection, with the control that is asked for.
///
/// # Errors
/// Where there is no such control; as [`connection`].
pub fn connect(asked: &Asked) -> Result<Connection, Box<dyn Error>> {
    match asked.control.as_deref().unwrap_or("cubic") {
        "cubic" => connection(asked, Cubic::default()),
        "bbr" => connection(asked, Bbr::default()),
        other => Err(format!("found the control {other:?}; allowed: {}", CONTROLS.join(", ")).into()),
    }
}

/// Both ends of a connection, with a control of yours whatever is asked for.
///
/// # Errors
/// What s2n-quic says of its configuration.
pub fn connection(asked: &Asked, control: impl congestion_controller::Provider) -> Result<Connection, Box<dyn Error>> {
    ends(asked, control).map_err(|why| why as Box<dyn Error>)
}

fn ends(asked: &Asked, control: impl congestion_controller::Provider) -> Result<Connection, Failure> {
    let random = |end: &str| Seeded(Stream::new(asked.seed, &format!("{end} {}", asked.number)));
    let (engine, sender) = client(control, random("client"))?;
    let sender = Box::new(S2n::client(engine, sender, asked.bytes));
    let (engine, receiver) = server(random("server"))?;
    Ok(Connection { sender, receiver: Box::new(S2n::server(engine, receiver)) })
}
