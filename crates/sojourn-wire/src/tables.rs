//! A scenario's tables in a plan: read by the code that reads scenarios, so that they mean the same and are checked as
//! well.

use crate::error::WireError;
use crate::plan::{BudgetPlan, FlowPlan, Kind, Role};
use serde_json::{Value, json};
use sojourn_core::{Span, Stream, Time};
use sojourn_scenario::{Base, Group, Padding, Reach, Scenario, Traffic, Transfers};
use sojourn_traffic::{Application, Surroundings};

/// Least mean time between transfers of a flow in a session: each has a connection of its own.
const MIN_INTERVAL: Span = Span::from_millis(1);

/// The group of one flow whose tables are those of `flow`.
pub fn group(flow: &FlowPlan) -> Result<Group, WireError> {
    let mut group = json!({"name": format!("flow{}", flow.id), "rtt": "1 ms"});
    let mut put = |key: &str, value: &Value| {
        if !value.is_null() {
            group[key] = value.clone();
        }
    };
    let any_control = json!("newreno");
    put("traffic", &flow.traffic);
    match flow.kind {
        Kind::Udp => {
            // A receiver acts the same whatever the sender's control is, which may be one that this host does not have.
            put("control", if flow.role == Role::Send { &flow.control } else { &any_control });
            put("transport", &flow.transport);
        }
        // A scenario wants one of the project's own; the kernel's is chosen on the socket.
        Kind::Tcp => put("control", &any_control),
        Kind::Cbr => {}
    }
    // The path is not there to be described; one that marks lets every control have its way.
    let bottleneck = json!({"rate": "1 Mbit/s", "queue": {"kind": "red", "ecn": true}});
    let scenario = json!({"duration": "1 s", "bottleneck": bottleneck, "group": [group]});
    let loaded = Scenario::parse_json(&scenario.to_string(), Some("plan"), &Base::Nowhere, &[])
        .map_err(|problems| WireError::input(problems.to_string()))?;
    let group = loaded.scenario.groups.into_iter().next().expect("the scenario has one group");
    if group.traffic.datagram_bytes().is_some() != (flow.kind == Kind::Cbr) {
        let FlowPlan { id, kind, traffic, .. } = flow;
        let kinds = "allowed is cbr, train, voip or padding over cbr, any other traffic over tcp or udp";
        return Err(WireError::input(format!("flow {id}: {traffic} cannot go over {kind:?}; {kinds}")));
    }
    one_connection(flow, &group.traffic)?;
    one_way(flow, &group.traffic)?;
    no_messages(flow, &group.traffic)?;
    Ok(group)
}

/// Refuses what has several connections at once, or requests: a flow on sockets has one connection at a time.
fn one_connection(flow: &FlowPlan, traffic: &Traffic) -> Result<(), WireError> {
    let found = match traffic {
        Traffic::Web(_) => "web pages".to_owned(),
        several if several.connections() > 1 => format!("{} connections at once", several.connections()),
        _ => return Ok(()),
    };
    let id = flow.id;
    Err(WireError::input(format!(
        "flow {id}: {found}; allowed over sockets is one connection at a time (the world sim has web pages and more)"
    )))
}

/// Refuses messages: nobody here would tell which of them are whole.
fn no_messages(flow: &FlowPlan, traffic: &Traffic) -> Result<(), WireError> {
    if !matches!(traffic, Traffic::Messages(_)) {
        return Ok(());
    }
    let id = flow.id;
    Err(WireError::input(format!(
        "flow {id}: messages; allowed over sockets is traffic that is not told message by message (the world sim has them)"
    )))
}

/// Refuses what needs an answer of the receiver, and padding that dies on its way: no probe is answered here, and the path has no
/// hop of its own.
fn one_way(flow: &FlowPlan, traffic: &Traffic) -> Result<(), WireError> {
    let found = match traffic {
        Traffic::Ping { .. } => "pings",
        Traffic::Padding(Padding::Adaptive(_)) => "adaptive-padding",
        Traffic::Padding(padding) if padding.reach() == Reach::Bottleneck => "padding that reaches the bottleneck only",
        _ => return Ok(()),
    };
    let id = flow.id;
    Err(WireError::input(format!(
        "flow {id}: {found}; allowed over sockets are datagrams that nobody answers, up to the receiver (the world sim has the rest)"
    )))
}

/// Refuses what asks for so much, so often, that nearly all of it would be thrown away: in a session with a budget another
/// host says what the application is.
pub fn check_pace(flow: &FlowPlan, budget: &BudgetPlan) -> Result<(), WireError> {
    let (found, allowed) = match group(flow)?.traffic {
        Traffic::Transfers(Transfers { interval, .. }) if interval < MIN_INTERVAL => {
            (format!("transfers every {interval} in the mean"), format!("{MIN_INTERVAL} and more"))
        }
        ref traffic if datagram_rate(traffic) > budget.rate_bps as f64 => {
            let [found, allowed] = [datagram_rate(traffic), budget.rate_bps as f64].map(|rate| rate / 1e6);
            (format!("datagrams that make {found:.6} Mbit/s"), format!("{allowed} Mbit/s, the rate of the session"))
        }
        _ => return Ok(()),
    };
    Err(WireError::input(format!("flow {}: {found}; allowed between hosts is {allowed}", flow.id)))
}

/// Bits a second that unresponsive traffic makes in the mean while it is on; 0 of any other.
fn datagram_rate(traffic: &Traffic) -> f64 {
    let (packets_per_s, bytes) = match traffic {
        Traffic::Cbr(cbr) => return cbr.rate.bits_per_second() as f64,
        Traffic::Ping(ping) => (1.0 / ping.every.as_secs_f64(), ping.packet_bytes),
        Traffic::Voip(voip) => (1.0 / voip.frame.as_secs_f64(), voip.packet_bytes()),
        Traffic::Train(train) => {
            (train.every.map_or(0.0, |every| train.mean_packets() / every.as_secs_f64()), train.packet_bytes)
        }
        Traffic::Padding(Padding::Steady(padding)) => {
            let in_bursts = padding.bursts().map(|(packets, every)| f64::from(packets) / every.as_secs_f64());
            (in_bursts.unwrap_or(padding.rate), padding.packet_bytes)
        }
        Traffic::Bulk { .. }
        | Traffic::OnOff { .. }
        | Traffic::Video(_)
        | Traffic::Transfers { .. }
        | Traffic::Web(_)
        | Traffic::Messages(_)
        | Traffic::Padding(Padding::Adaptive(_))
        | Traffic::Program(_)
        | Traffic::Custom(_) => {
            return 0.0;
        }
    };
    packets_per_s * f64::from(bytes) * 8.0
}

/// The application of `flow`, which lives for `life`.
pub fn application(flow: &FlowPlan, traffic: &Traffic, payload_bytes: u32, life: (Time, Time)) -> Application {
    // A request for video takes no time here: what delays it in the network is not known before.
    let about = Surroundings { payload_bytes, request: Span::ZERO };
    let stream = |name: &str| Stream::new(flow.seed, &format!("flow.{}.{name}", flow.id));
    let mut application = Application::new(traffic, about, life, stream);
    application.belongs_to(|| format!("flow {}", flow.id));
    application
}
