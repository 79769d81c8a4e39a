//! Connections of quinn behind a scenario's path, in virtual time. The control is quinn's own `cubic` (the default), `newreno` or
//! `bbr`, one of Sojourn's as `sojourn:NAME`, or one of yours: [`connection`].

mod driven;
mod keys;
mod stack;

use driven::Factory;
pub use quinn_proto;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{ClientConfig, QlogConfig, ServerConfig, TransportConfig, VarInt};
use sojourn_endpoint::{Asked, Connection};
use stack::Quinn;
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;
use std::time::Instant;

/// Room for what is under way on any path of the ready scenarios: nothing but the congestion window is to hold a sender back.
const WINDOW_BYTES: u32 = 64_000_000;

/// Quinn's own controls.
const CONTROLS: [&str; 3] = ["cubic", "newreno", "bbr"];
/// What comes before the name of one of Sojourn's.
const OWN: &str = "sojourn:";

/// The names of all controls that [`connect`] has.
pub fn controls() -> Vec<String> {
    let own = sojourn_congestion::DESCRIPTORS.iter().map(|control| format!("{OWN}{}", control.name));
    CONTROLS.map(str::to_owned).into_iter().chain(own).collect()
}

/// The controls that are asked for, by name.
fn controller(name: &str, seed: u64) -> Result<Arc<dyn ControllerFactory + Send + Sync>, Box<dyn Error>> {
    Ok(match name {
        "cubic" => Arc::new(CubicConfig::default()),
        "newreno" => Arc::new(NewRenoConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        _ => match name.strip_prefix(OWN) {
            Some(own) => Arc::new(Factory::new(own, seed)?),
            None => {
                return Err(format!("found the control {name:?}; allowed: {}, {OWN}NAME", CONTROLS.join(", ")).into());
            }
        },
    })
}

/// Both ends of a connection, with the control that is asked for.
///
/// # Errors
/// Where there is no such control; as [`connection`].
pub fn connect(asked: &Asked) -> Result<Connection, Box<dyn Error>> {
    let control = asked.control.as_deref().unwrap_or("cubic");
    connection(asked, controller(control, asked.seed + asked.number as u64)?)
}

/// Both ends of a connection, with a control of yours whatever is asked for.
///
/// # Errors
/// What quinn says of its configuration, and the system of the file of the log.
pub fn connection(
    asked: &Asked,
    control: Arc<dyn ControllerFactory + Send + Sync>,
) -> Result<Connection, Box<dyn Error>> {
    let (server_tls, client_tls) = keys::configs(asked.seed)?;
    let zero = Instant::now();
    let mut transport = TransportConfig::default();
    if let Some(file) = &asked.qlog {
        let mut log = QlogConfig::default();
        log.writer(Box::new(BufWriter::new(File::create(file)?))).start_time(zero);
        transport.qlog_stream(log.into_stream());
    }
    transport.congestion_controller_factory(control);
    transport.send_window(u64::from(WINDOW_BYTES)).max_idle_timeout(None);
    let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(client_tls)?));
    client.transport_config(Arc::new(transport));
    let mut server = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(server_tls)?));
    let mut transport = TransportConfig::default();
    transport.receive_window(VarInt::from_u32(WINDOW_BYTES)).stream_receive_window(VarInt::from_u32(WINDOW_BYTES));
    transport.max_idle_timeout(None);
    server.transport_config(Arc::new(transport));
    let seeds = [1u8, 2].map(|side| {
        let mut seeds = [side; 32];
        seeds[..8].copy_from_slice(&asked.seed.to_le_bytes());
        seeds[8..16].copy_from_slice(&(asked.number as u64).to_le_bytes());
        seeds
    });
    Ok(Connection {
        sender: Box::new(Quinn::client(client, asked.bytes, zero, seeds[0])),
        receiver: Box::new(Quinn::server(Arc::new(server), zero, seeds[1])),
    })
}
