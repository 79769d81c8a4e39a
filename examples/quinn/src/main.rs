//! A congestion control of Sojourn drives a QUIC connection of quinn, over loopback and through a discipline of Sojourn.
//!
//! `cargo run [-- NAME]` sends 2 MB with the control `NAME` (`newreno`) over a link of 20 Mbit/s with room for 20 packets, and
//! prints how long that took, what the queue dropped, and what the control made of it.

mod driven;
mod keys;
mod link;
mod peer;

use driven::{Driven, Factory};
use link::Link;
use peer::Peer;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{ClientConfig, ServerConfig, TransportConfig};
use std::error::Error;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

const PAYLOAD_BYTES: usize = 2_000_000;
/// How far the clock goes where nothing can be done.
const TICK: Duration = Duration::from_micros(100);
/// When all is over, whatever happened.
const PATIENCE: Duration = Duration::from_secs(60);

/// What became of a transfer.
#[derive(Debug)]
struct Outcome {
    took: Duration,
    drops: u32,
    reductions: u32,
    window_bytes: u64,
    intact: bool,
}

/// Sends `payload` with the control called `name`.
fn transfer(name: &str, payload: Vec<u8>) -> Result<Outcome, Box<dyn Error>> {
    let (server_tls, client_tls) = keys::configs()?;
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(Factory::new(name, 1)?));
    let mut client_config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(client_tls)?));
    client_config.transport_config(Arc::new(transport));

    let started = Instant::now();
    let server_config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(server_tls)?));
    let mut server = Peer::server(server_config)?;
    let mut link = Link::new(server.address()?, started)?;
    let mut client = Peer::client(client_config, link.address()?, payload.clone(), started)?;
    // The clock goes on only while there is nothing to do, so that a busy machine does not make another path.
    let mut now = started;
    while server.arrived().is_none() {
        if now - started > PATIENCE {
            return Err(format!("{name}: not all has arrived after {PATIENCE:?}").into());
        }
        let moved = [client.step(now)?, link.step(now)?, server.step(now)?];
        if !moved.contains(&true) {
            sleep(TICK);
            now += TICK;
        }
    }
    let connection = client.connection().ok_or("the client has no connection")?;
    let control = connection.congestion_state().clone_box().into_any();
    let control = control.downcast::<Driven>().map_err(|_| "another control than ours")?;
    Ok(Outcome {
        took: now - started,
        drops: link.drops(),
        reductions: control.reductions(),
        window_bytes: connection.congestion_state().window(),
        intact: server.arrived() == Some(&payload),
    })
}

/// Bytes that differ, so that none can be taken for another.
fn payload(bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|number| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or("newreno".into());
    let done = transfer(&name, payload(PAYLOAD_BYTES))?;
    println!(
        "{name}: {PAYLOAD_BYTES} bytes in {:.2} s, {}; the queue dropped {} packets, and {} times the control was told; its \
         window ends at {} bytes",
        done.took.as_secs_f64(),
        if done.intact { "intact" } else { "damaged" },
        done.drops,
        done.reductions,
        done.window_bytes,
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full queue drops, the control is told, and the transfer still ends.
    #[test]
    fn controls_that_fill_the_queue_hear_of_their_losses() {
        for name in ["newreno", "cubic"] {
            let done = transfer(name, payload(1_000_000)).unwrap();
            assert!(done.intact, "{name}");
            assert!(done.drops > 0 && done.reductions > 0, "{name}: {done:?}");
        }
    }

    #[test]
    fn controls_of_low_priority_work_with_round_trip_times() {
        for name in ["ledbat", "vegas"] {
            assert!(transfer(name, payload(300_000)).unwrap().intact, "{name}");
        }
    }
}
