//! Adds a control and a discipline to Sojourn, and runs a scenario that names both.
//!
//! `cargo run --manifest-path examples/rust-plugin/Cargo.toml [-- dotted.key=value ...]`

mod control;
mod discipline;

use sojourn_congestion::Path;
use sojourn_core::Stream;
use sojourn_core::registry::Params;
use sojourn_queue::LinkProperties;
use sojourn_scenario::{Base, Diagnostics, Scenario};
use sojourn_sim::{Monitor, Record, Wanted, simulate};
use std::process::ExitCode;

const SCENARIO: &str = r#"
duration = "20 s"
bottleneck = { rate = "10 Mbit/s", queue = { kind = "my-queue", longest = "15 ms" } }

[[group]]
name = "mine"
control = { kind = "my-control", keep = 0.7 }
rtt = "40 ms"

[[group]]
name = "newreno"
control = "newreno"
rtt = "40 ms"
"#;

/// Once in a program, before the first scenario is read.
fn add() {
    let control = |params: &Params, path: &Path, _random: Stream| Ok(control::MyControl::new(params, path));
    sojourn_congestion::custom::add(&control::DESCRIPTOR, control).expect("no built-in control has this name");
    let queue = |params: &Params, _link: &LinkProperties, _random: Stream| Ok(discipline::MyQueue::new(params));
    sojourn_queue::custom::add(&discipline::DESCRIPTOR, queue).expect("no built-in discipline has this name");
}

fn run(overrides: &[String]) -> Result<Record, Diagnostics> {
    let scenario = Scenario::parse(SCENARIO, None, &Base::Nowhere, overrides)?.scenario;
    let outcome = simulate(&scenario, 1, &Wanted::default(), &Monitor::default());
    Ok(outcome.unwrap_or_else(|stopped| panic!("{stopped:?}")).record)
}

fn main() -> ExitCode {
    add();
    let overrides: Vec<String> = std::env::args().skip(1).collect();
    match run(&overrides) {
        Ok(record) => {
            let queue = &record.bottleneck;
            println!("queue: {:.2} packets on average, {} drops", queue.queue_packets.mean, queue.drops);
            for (name, group) in &record.groups {
                println!("{name}: {:.1} % of the link", 100.0 * group.share.unwrap_or(f64::NAN));
            }
            ExitCode::SUCCESS
        }
        Err(problems) => {
            eprintln!("{problems}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_run_in_the_simulator() {
        add();
        let share = |keep: &str| {
            let record = run(&[format!("group.mine.control.keep={keep}")]).expect("a scenario");
            assert!(record.bottleneck.utilization.is_some_and(|utilization| utilization > 0.8));
            record.groups["mine"].share.expect("both groups send")
        };
        assert_eq!(share("0.7"), share("0.7"), "the same scenario and seed");
        assert!(share("0.9") > share("0.3"), "who keeps more of the window has more of the link");

        // At 10 Mbit/s a packet takes 1.2 ms, so 15 ms are about 12 packets; a longer limit holds more of them.
        let packets = |longest: &str| {
            run(&[format!("bottleneck.queue.longest={longest}")]).expect("a scenario").bottleneck.queue_packets.mean
        };
        assert!(packets("15 ms") < 15.0 && packets("100 ms") > packets("15 ms"));

        let problem = run(&["group.mine.control.kepe=0.5".into()]).expect_err("a misspelt parameter").to_string();
        assert!(problem.contains("kepe") && problem.contains("keep"), "{problem}");
    }
}
