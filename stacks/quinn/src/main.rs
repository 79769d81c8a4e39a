//! Connections of quinn behind a scenario's path, in virtual time; prints the run's record as JSON.
//!
//! `sojourn-stack-quinn SCENARIO [CONTROL [SEED [BYTES]]]`: the scenario has groups with `traffic = "program"` and as many flows in
//! each direction; each flow forward is a connection. The control is quinn's own `cubic` (the default), `newreno` or
//! `bbr`, or one of Sojourn's as `sojourn:NAME`. A connection sends without end, or so many bytes.

mod driven;
mod keys;
mod stack;

use driven::Factory;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{ClientConfig, ServerConfig, TransportConfig, VarInt};
use sojourn_endpoint::{Connection, Time, run};
use sojourn_scenario::{Base, Direction, Scenario};
use sojourn_sim::{Monitor, Record, Session, Wanted};
use stack::Quinn;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// Room for what is under way on any path of the ready scenarios: nothing but the congestion window is to hold a sender back.
const WINDOW_BYTES: u32 = 64_000_000;

/// The controls that are asked for, by name.
fn controller(name: &str, seed: u64) -> Result<Arc<dyn ControllerFactory + Send + Sync>, Box<dyn Error>> {
    Ok(match name {
        "cubic" => Arc::new(CubicConfig::default()),
        "newreno" => Arc::new(NewRenoConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        _ => match name.strip_prefix("sojourn:") {
            Some(own) => Arc::new(Factory::new(own, seed)?),
            None => {
                return Err(format!("found the control {name:?}; allowed: cubic, newreno, bbr, sojourn:NAME").into());
            }
        },
    })
}

/// Both ends of connection `number`.
fn connection(control: &str, seed: u64, number: usize, bytes: Option<u64>) -> Result<Connection, Box<dyn Error>> {
    let (server_tls, client_tls) = keys::configs()?;
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(controller(control, seed + number as u64)?);
    transport.send_window(u64::from(WINDOW_BYTES));
    let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(client_tls)?));
    client.transport_config(Arc::new(transport));
    let mut server = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(server_tls)?));
    let mut transport = TransportConfig::default();
    transport.receive_window(VarInt::from_u32(WINDOW_BYTES)).stream_receive_window(VarInt::from_u32(WINDOW_BYTES));
    server.transport_config(Arc::new(transport));
    let seeds = [1u8, 2].map(|side| {
        let mut seeds = [side; 32];
        seeds[..8].copy_from_slice(&seed.to_le_bytes());
        seeds[8..16].copy_from_slice(&(number as u64).to_le_bytes());
        seeds
    });
    Ok(Connection {
        sender: Box::new(Quinn::client(client, bytes, Time::ZERO, seeds[0])),
        receiver: Box::new(Quinn::server(Arc::new(server), seeds[1])),
    })
}

/// Runs a scenario with quinn's connections on its flows of programs.
fn record(scenario: Scenario, control: &str, seed: u64, bytes: Option<u64>) -> Result<Record, Box<dyn Error>> {
    let mut session = Session::new(scenario, seed, &Wanted::default());
    let flows = session.outside().into_iter().filter(|(_, direction, _)| *direction == Direction::Forward).count();
    let connections: Vec<_> =
        (0..flows).map(|number| connection(control, seed, number, bytes)).collect::<Result<_, _>>()?;
    run(&mut session, connections, &Monitor::default()).map_err(|failure| format!("quinn, {control}: {failure}"))?;
    Ok(session.finish(&Monitor::default()).map_err(|why| format!("{why:?}"))?.record)
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, rest @ ..] = &words[..] else { return Err("a scenario is needed".into()) };
    let text = std::fs::read_to_string(file)?;
    let folder = Path::new(file).parent().unwrap_or(Path::new("."));
    let loaded = Scenario::parse(&text, Some(file), &Base::Folder(folder.to_owned()), &[]);
    let scenario = loaded.map_err(|problems| problems.to_string())?.scenario;
    let control = rest.first().map_or("cubic", String::as_str);
    let seed = rest.get(1).map_or(Ok(1), |seed| seed.parse())?;
    let bytes = rest.get(2).map(|bytes| bytes.parse()).transpose()?;
    println!("{}", serde_json::to_string(&record(scenario, control, seed, bytes)?)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "duration = \"20 s\"\n\
        bottleneck = { rate = \"20 Mbit/s\", queue = { kind = \"droptail\", limit = \"60 packets\" } }\n\
        [[group]]\nname = \"quic\"\ntraffic = \"program\"\nrtt = \"40 ms\"\nflows = 2\n\
        [[group]]\nname = \"back\"\ntraffic = \"program\"\ndirection = \"reverse\"\nrtt = \"40 ms\"\nflows = 2\n";

    fn run(control: &str, bytes: Option<u64>) -> Record {
        let scenario = Scenario::parse(PATH, None, &Base::Nowhere, &[]).expect("a scenario").scenario;
        record(scenario, control, 1, bytes).expect("it runs")
    }

    #[test]
    fn transfers_end_with_all_their_bytes_whatever_the_control() {
        for control in
            ["cubic", "newreno", "bbr", "sojourn:newreno", "sojourn:cubic", "sojourn:ledbat", "sojourn:vegas"]
        {
            let found = run(control, Some(2_000_000));
            let bytes: Vec<u64> =
                found.flows.iter().filter(|flow| &*flow.group == "quic").map(|flow| flow.delivered_bytes).collect();
            assert_eq!(bytes, [2_000_000; 2], "{control}");
        }
    }

    #[test]
    fn a_full_queue_drops_and_the_link_is_used() {
        for control in ["cubic", "newreno", "sojourn:cubic"] {
            let found = run(control, None);
            assert!(found.bottleneck.drops > 0, "{control}");
            assert!(found.groups["quic"].goodput_mbps > 15.0, "{control}: {}", found.groups["quic"].goodput_mbps);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_record() {
        let [one, two] = [(); 2].map(|()| {
            let mut record = run("bbr", None);
            record.wall_s = 0.0;
            serde_json::to_string(&record).expect("a record")
        });
        assert_eq!(one, two);
    }
}
