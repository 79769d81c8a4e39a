//! TCP connections of smoltcp behind a scenario's path, in virtual time; prints the run's record as JSON.
//!
//! `sojourn-stack-smoltcp SCENARIO [CONTROL [SEED [BYTES]]]`, as for all stacks of Sojourn. The control is smoltcp's `cubic` (the
//! default here), `reno` or `none`.

mod stack;

use smoltcp::socket::tcp::CongestionControl;
use sojourn_endpoint::{Asked, Connection, command};
use stack::Smoltcp;
use std::error::Error;

/// Both ends of a connection.
fn connect(asked: &Asked) -> Result<Connection, Box<dyn Error>> {
    let control = match asked.control.as_deref().unwrap_or("cubic") {
        "cubic" => CongestionControl::Cubic,
        "reno" => CongestionControl::Reno,
        "none" => CongestionControl::None,
        other => return Err(format!("found the control {other:?}; allowed: cubic, reno, none").into()),
    };
    let seed = asked.seed.wrapping_mul(1 << 20).wrapping_add(asked.number as u64);
    Ok(Connection {
        sender: Box::new(Smoltcp::client(control, asked.bytes, seed)),
        receiver: Box::new(Smoltcp::server(seed)),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    command(&connect)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_endpoint::simulate;
    use sojourn_scenario::{Base, Scenario};
    use sojourn_sim::Record;

    const PATH: &str = "duration = \"20 s\"\n\
        bottleneck = { rate = \"20 Mbit/s\", queue = { kind = \"droptail\", limit = \"60 packets\" } }\n\
        [[group]]\nname = \"tcp\"\ntraffic = \"program\"\nrtt = \"40 ms\"\n\
        [[group]]\nname = \"back\"\ntraffic = \"program\"\ndirection = \"reverse\"\nrtt = \"40 ms\"\n";

    fn run(control: &str, bytes: Option<u64>) -> Record {
        let scenario = Scenario::parse(PATH, None, &Base::Nowhere, &[]).expect("a scenario").scenario;
        let asked = Asked { control: Some(control.to_owned()), seed: 1, number: 0, bytes };
        simulate(scenario, &asked, &connect).expect("it runs")
    }

    #[test]
    fn transfers_end_with_all_their_bytes_whatever_the_control() {
        for control in ["cubic", "reno", "none"] {
            assert_eq!(run(control, Some(60_000)).flows[0].delivered_bytes, 60_000, "{control}");
        }
    }

    /// A fault of smoltcp 0.13.1, not of the path: docs/validation/stacks.md. Where it is repaired the page is to say so.
    #[test]
    fn the_congestion_window_does_not_bound_what_is_in_flight() {
        let drops = |control| run(control, None).bottleneck.drops;
        assert_eq!(drops("cubic"), drops("none"));
    }

    #[test]
    fn the_same_seed_gives_the_same_record() {
        let [one, two] = [(); 2].map(|()| {
            let mut record = run("cubic", None);
            record.wall_s = 0.0;
            serde_json::to_string(&record).expect("a record")
        });
        assert_eq!(one, two);
    }
}
