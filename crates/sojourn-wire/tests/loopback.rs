//! Sockets of the kernel over loopback.
#![cfg(target_os = "linux")]

mod common;

use common::{bins, both_ends, delivered, free_port, in_bins, ms, patiently, plan, report, within_budget};
use serde_json::{Value, json};
use sojourn_wire::{Fault, now};

#[test]
fn a_transfer_arrives_whole_and_tells_how_long_it_took() {
    patiently(|stretch| {
        let traffic = json!({"kind": "bulk", "size": "1 MB"});
        let (receiver, sender) =
            both_ends(0.4 * stretch, &[json!({"kind": "tcp", "port": free_port(), "traffic": traffic})]);
        assert_eq!(delivered(&receiver, 0), 1_000_000);
        let flow = &sender["flows"][0];
        assert_eq!(flow["sent_bytes"], 1_000_000);
        let completions = flow["completions"].as_array().expect("completions");
        assert_eq!(completions.len(), 1, "{completions:?}");
        assert_eq!(completions[0][1], 1_000_000);
        let seconds = completions[0][0].as_f64().expect("a time");
        assert!(0.0 < seconds && seconds < 0.3 * stretch, "{seconds}");
        let expected = (8.0 * stretch) as usize;
        assert_eq!(bins(&receiver, 0).len(), expected);
        assert_eq!(flow["cwnd_packets"].as_array().expect("bins").len(), expected);
    });
}

/// Two controls, one of which starts late and stops early: nothing arrives outside its life, and both ends count alike.
#[test]
fn bulk_flows_live_as_planned_and_both_ends_agree() {
    patiently(|stretch| {
        let one = json!({"kind": "tcp", "port": free_port(), "control": "reno"});
        let life = json!({"start_s": 0.2 * stretch, "stop_s": 0.5 * stretch});
        let other = json!({"kind": "tcp", "port": free_port(), "control": "cubic", "start_s": life["start_s"],
            "stop_s": life["stop_s"], "dscp": 1});
        let (receiver, sender) = both_ends(1.2 * stretch, &[one, other]);
        for flow in 0..2 {
            let (sent, arrived) =
                (sender["flows"][flow]["sent_bytes"].as_u64().expect("bytes"), delivered(&receiver, flow));
            assert!(arrived > 100_000, "flow {flow}: {arrived}");
            // What was under way at the end was read, but not acknowledged any more, or the other way round.
            assert!(sent.abs_diff(arrived) < 8_000_000, "flow {flow}: {sent} sent, {arrived} arrived");
            assert!(receiver["flows"][flow]["problem"].is_null(), "{receiver}");
        }
        let bins = bins(&receiver, 1);
        let at = |bin: f64| (bin * stretch) as usize;
        assert!(bins[..at(4.0)].iter().all(|&bytes| bytes == 0), "before its start: {bins:?}");
        // The other flow fills the loopback and both processors: what was under way at the stop takes its time.
        assert!(bins[at(4.0)..at(10.0)].iter().sum::<u64>() > 0, "{bins:?}");
        assert!(bins[at(18.0)..].iter().all(|&bytes| bytes == 0), "after its stop: {bins:?}");
        // Stopped long before the end, all of it has arrived.
        assert_eq!(sender["flows"][1]["sent_bytes"], delivered(&receiver, 1));
    });
}

/// A budget of 8 Mbit/s: 1 MB in a second, and the burst. Late it may be, never early, however many flows there are and
/// however short their connections, and whether or not each has a bound of its own.
#[test]
fn all_flows_together_keep_the_budget() {
    [2_000_000, 1_000_000_000].iter().for_each(|own_bps| keeps_the_budget(*own_bps));
}

fn keeps_the_budget(own_bps: u64) {
    patiently(|stretch| {
        let size = json!({"kind": "fixed", "size": "14480 B"});
        let transfers = json!({"kind": "transfers", "interval": "1 ms", "size": size});
        let bulk = json!({"kind": "bulk"});
        let flows: Vec<Value> = [&transfers, &transfers, &bulk, &bulk]
            .iter()
            .map(|traffic| json!({"kind": "tcp", "port": free_port(), "traffic": traffic, "max_rate_bps": own_bps}))
            .collect();
        let (receiver, _) = within_budget(stretch, &flows, 8_000_000, 90_000);
        let arrived: u64 = (0..flows.len()).map(|flow| delivered(&receiver, flow)).sum();
        let allowed = stretch * 1e6;
        assert!(0.4 * allowed < arrived as f64 && (arrived as f64) < allowed + 90_000.0, "{arrived}");
        // Each has its turn: a tenth is less than half of an equal share.
        assert!((0..flows.len()).all(|flow| 10 * delivered(&receiver, flow) > arrived), "{receiver}");
    });
}

/// What a stranger says at the peer's address, who has not the token: nothing of it counts, and the flow goes on.
#[test]
fn only_what_shows_the_token_counts() {
    patiently(|stretch| {
        let tcp = json!({"kind": "tcp", "port": free_port(), "token": 7,
            "traffic": {"kind": "bulk", "size": "100 kB"}, "start_s": 0.3 * stretch});
        let datagrams = json!({"kind": "cbr", "port": free_port(), "token": 7, "start_s": 0.3 * stretch,
            "traffic": {"kind": "cbr", "rate": "80 kbit/s", "packet": "1000 B"}});
        let ports = [&tcp, &datagrams].map(|flow| flow["port"].as_u64().expect("a port") as u16);
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let stranger = std::thread::spawn({
            let stop = stop.clone();
            move || {
                let udp = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
                let (mut met, mut message) = (0, vec![0; 10_000]);
                message[..8].copy_from_slice(&u64::MAX.to_le_bytes());
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = udp.send_to(&message[..1000], ("127.0.0.1", ports[1]));
                    if let Ok(mut tcp) = std::net::TcpStream::connect(("127.0.0.1", ports[0])) {
                        met += 1;
                        let _ = std::io::Write::write_all(&mut tcp, &message);
                    }
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
                met
            }
        });
        let (receiver, sender) = both_ends(1.0 * stretch, &[tcp, datagrams]);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(stranger.join().expect("it ends") > 10);
        assert_eq!(delivered(&receiver, 0), 100_000);
        assert_eq!(sender["flows"][0]["sent_bytes"], 100_000);
        assert_eq!(sender["flows"][1]["sent_bytes"], delivered(&receiver, 1));
        assert!(delivered(&receiver, 1) > 0 && receiver["flows"][0]["problem"].is_null(), "{receiver}");
    });
}

#[test]
fn an_on_off_flow_is_silent_now_and_then() {
    patiently(|stretch| {
        let traffic = json!({"kind": "on-off", "on": ms(0.02 * stretch), "off": ms(0.1 * stretch)});
        let flow = json!({"kind": "tcp", "port": free_port(), "traffic": traffic, "seed": 3});
        let (receiver, _) = in_bins(0.01 * stretch, 0.8 * stretch, &[flow]);
        let bins = bins(&receiver, 0);
        let silent = bins.iter().filter(|&&bytes| bytes == 0).count();
        assert!(20 < silent && silent < 80, "{bins:?}");
    });
}

#[test]
fn each_of_many_transfers_has_a_connection_and_a_time() {
    patiently(|stretch| {
        let size = json!({"kind": "fixed", "size": "30 kB"});
        let traffic = json!({"kind": "transfers", "interval": ms(0.01 * stretch), "size": size});
        let flow = json!({"kind": "tcp", "port": free_port(), "traffic": traffic, "seed": 7});
        let (receiver, sender) = both_ends(0.6 * stretch, &[flow]);
        let completions = sender["flows"][0]["completions"].as_array().expect("completions").clone();
        // 60 are expected in the mean; the numbers are the seed's, so that only those near the end are in doubt.
        assert!((40..90).contains(&completions.len()), "{}", completions.len());
        assert!(completions.iter().all(|completion| completion[1] == 30_000), "{completions:?}");
        assert!(receiver["flows"][0]["problem"].is_null(), "{receiver}");
        let whole = completions.len() as u64 * 30_000;
        assert!((whole..=whole + 30_000).contains(&delivered(&receiver, 0)), "{}", delivered(&receiver, 0));
    });
}

/// Payload bytes of datagrams that were due for `life_s`: those that arrived, all that were sent, and those that a busy
/// machine kept from being sent in time, each of `payload_bytes`.
fn datagram_bytes(life_s: f64, traffic: &Value, payload_bytes: u64) -> u64 {
    let flow = json!({"kind": "cbr", "port": free_port(), "traffic": traffic, "stop_s": life_s});
    let (receiver, sender) = both_ends(2.0 * life_s, &[flow]);
    let told = &sender["flows"][0];
    assert_eq!(told["sent_bytes"], delivered(&receiver, 0), "{traffic}");
    assert!(delivered(&receiver, 0) > 0, "{traffic}");
    delivered(&receiver, 0) + told["skipped_packets"].as_u64().expect("a number") * payload_bytes
}

/// 800 kbit/s in packets of 200 bytes is 500 packets per second, of which 172 bytes are payload: what is not sent in time
/// is counted.
#[test]
fn datagrams_keep_their_rate() {
    patiently(|stretch| {
        let traffic = json!({"kind": "cbr", "rate": "800 kbit/s", "packet": "200 B"});
        assert_eq!(datagram_bytes(0.4 * stretch, &traffic, 172), (200.0 * stretch) as u64 * 172);
    });
}

/// Packets of 29 bytes have 1 byte of payload, less than the stamp of larger ones.
#[test]
fn padding_is_as_small_as_it_says_and_keeps_its_rate() {
    patiently(|stretch| {
        for (packet, payload_bytes) in [("29 B", 1), ("30 B", 2), ("200 B", 172)] {
            let traffic = json!({"kind": "padding", "rate": "250 packets/s", "packet": packet});
            let expected = (50.0 * stretch) as u64 * payload_bytes;
            assert_eq!(datagram_bytes(0.2 * stretch, &traffic, payload_bytes), expected, "{packet}");
        }
    });
}

/// Ten packets at 1000/s take 10 ms of each 200: all of a burst is in its first bin of 50 ms.
#[test]
fn bursts_of_padding_have_pauses() {
    patiently(|stretch| {
        let traffic = json!({"kind": "padding", "rate": "1000 packets/s", "burst": 10, "every": ms(0.2 * stretch)});
        let flow = json!({"kind": "cbr", "port": free_port(), "traffic": traffic,
            "start_s": 0.01 * stretch, "stop_s": 0.59 * stretch});
        let (receiver, _) = in_bins(0.05 * stretch, 0.6 * stretch, &[flow]);
        let bins = bins(&receiver, 0);
        assert_eq!(bins, [10, 0, 0, 0, 10, 0, 0, 0, 10, 0, 0, 0]);
    });
}

/// What becomes of a plan that starts after `lead_s`.
fn failure(lead_s: f64, role: &str, flow: &Value) -> (Fault, String) {
    let error =
        report(&plan(now().as_secs_f64() + lead_s, 0.1, role, std::slice::from_ref(flow))).expect_err("an error");
    (error.fault, error.message)
}

#[test]
fn what_is_wrong_is_said() {
    patiently(|stretch| {
        let failure = |role: &str, flow: &Value| failure(0.05 * stretch, role, flow);
        let port = free_port();
        let tcp = json!({"kind": "tcp", "port": port});
        let with = |key: &str, value: Value| {
            let mut flow = tcp.clone();
            flow[key] = value;
            flow
        };
        let refused = format!("flow 0: nobody receives at port {port} of 127.0.0.1 (connection refused)");
        assert_eq!(failure("send", &tcp), (Fault::Failed, refused));
        let (fault, message) = failure("send", &with("control", json!("vegaz")));
        assert_eq!(fault, Fault::Missing);
        assert!(
            message.starts_with("flow 0: this kernel has no TCP congestion control called \"vegaz\"; it has "),
            "{message}"
        );
        assert!(message.contains("reno"), "{message}");
        let (fault, message) = failure("receive", &with("local", json!("192.0.2.1")));
        assert_eq!((fault, message.as_str()), (Fault::Failed, "flow 0: no interface here has the address 192.0.2.1"));
        let taken = std::net::TcpListener::bind(("127.0.0.1", port)).expect("the port");
        let (fault, message) = failure("receive", &tcp);
        assert_eq!((fault, message), (Fault::Failed, format!("flow 0: port {port} of 127.0.0.1 is in use")));
        drop(taken);
        let (fault, message) = failure("send", &with("traffic", json!({"kind": "bulk", "size": "-1 B"})));
        assert_eq!(fault, Fault::Input);
        assert!(message.contains("traffic.size") && message.contains("-1 B"), "{message}");
        let (fault, message) = failure("send", &with("traffic", json!({"kind": "cbr", "rate": "1 Mbit/s"})));
        assert_eq!(fault, Fault::Input, "{message}");
        let padding = |traffic: Value| failure("send", &json!({"kind": "cbr", "port": port, "traffic": traffic}));
        let fixed =
            "allowed over sockets are datagrams that nobody answers, up to the receiver (the world sim has the rest)";
        let near = json!({"kind": "padding", "rate": "9 packets/s", "reach": "bottleneck"});
        let refused = format!("flow 0: padding that reaches the bottleneck only; {fixed}");
        assert_eq!(padding(near), (Fault::Input, refused));
        let adaptive = json!({"kind": "adaptive-padding"});
        assert_eq!(padding(adaptive), (Fault::Input, format!("flow 0: adaptive-padding; {fixed}")));
        let messages = json!({"kind": "messages", "size": "100 B", "every": "1 ms"});
        let (fault, message) = failure("send", &with("traffic", messages));
        assert_eq!(fault, Fault::Input, "{message}");
        assert!(message.starts_with("flow 0: messages; allowed over sockets is "), "{message}");
        let (fault, message) = failure("send", &with("dscp", json!(64)));
        assert_eq!((fault, message.as_str()), (Fault::Input, "flow 0: dscp is 64; allowed is 0 to 63"));
        let (fault, message) = failure("send", &with("ecn", json!(true)));
        assert_eq!(fault, Fault::Missing);
        assert!(message.contains("net.ipv4.tcp_ecn"), "{message}");
        let (fault, message) = failure("send", &with("speed", json!(1)));
        assert_eq!(fault, Fault::Input);
        assert!(message.contains("unknown field `speed`"), "{message}");
    });
}

#[test]
fn a_run_that_is_over_is_refused() {
    let error = report(&plan(1.0, 0.1, "send", &[])).expect_err("an error");
    assert_eq!(error.message, "start_at_s is 1: the run lies in the past");
}

/// The receiver is gone after 0.2 s: the sender says so and ends when it was to end.
#[test]
fn a_dead_peer_is_told_and_delays_nobody() {
    patiently(|stretch| {
        let flow = json!({"kind": "tcp", "port": free_port()});
        let start = now().as_secs_f64() + 0.1;
        let receiver = plan(start, 0.2 * stretch, "receive", std::slice::from_ref(&flow));
        let receiver = std::thread::spawn(move || report(&receiver).expect("a report"));
        let sender = report(&plan(start, 0.5 * stretch, "send", &[flow])).expect("a report");
        receiver.join().expect("the receiver ends");
        let took = now().as_secs_f64() - start;
        assert!((0.5..0.8).contains(&(took / stretch)), "{took}");
        let problem = sender["flows"][0]["problem"].as_str().expect("a problem");
        assert!(problem.starts_with("flow 0: the connection ended early: "), "{problem}");
    });
}

/// Each packet of a log is a packet of the other end's: nothing is lost on loopback, so both have the same ones.
#[test]
fn both_ends_log_the_same_packets() {
    patiently(|stretch| {
        let train = json!({"kind": "train", "count": 6, "packet": "1500 B", "every": "50 ms", "repeat": 4});
        let bulk = json!({"kind": "bulk", "size": "100 kB"});
        let control = json!({"kind": "newreno"});
        let flows = [
            json!({"kind": "cbr", "port": free_port(), "traffic": train, "token": 7, "logged_packets": 100}),
            json!({"kind": "udp", "port": free_port(), "traffic": bulk, "control": control, "token": 8,
                "transport": {"preset": "linux"}, "logged_packets": 1000}),
        ];
        let (receiver, sender) = both_ends(0.6 * stretch, &flows);
        for (flow, size) in [(0, 1500), (1, 1500)] {
            let [sent, came] = [&sender, &receiver].map(|report| report["flows"][flow]["packets"].clone());
            let column = |log: &Value, name: &str| log[name].as_array().expect("a list").clone();
            for name in ["stamp_ns", "number", "size_bytes"] {
                assert_eq!(column(&sent, name), column(&came, name), "flow {flow}: {name}");
            }
            assert!(column(&sent, "size_bytes")[0] == size && column(&sent, "arrived_ns").is_empty());
            let pairs = column(&came, "arrived_ns").into_iter().zip(column(&came, "stamp_ns"));
            // The kernel's own stamp: not before it was sent, but for the difference of its two clocks, nor long after.
            let delays = pairs.map(|(to, from)| to.as_i64().expect("ns") - from.as_i64().expect("ns"));
            let worst = delays.fold(0, |worst: i64, delay| worst.max(delay.abs()));
            assert!(worst < (100_000_000.0 * stretch) as i64, "{worst} ns");
        }
        assert_eq!(sender["flows"][0]["packets"]["number"].as_array().map(Vec::len), Some(24));
    });
}

/// What a log has no room for is counted.
#[test]
fn a_log_has_the_room_that_it_was_given() {
    patiently(|stretch| {
        let train = json!({"kind": "train", "count": 6, "packet": "100 B", "every": "20 ms", "repeat": 2});
        let flow = json!({"kind": "cbr", "port": free_port(), "traffic": train, "logged_packets": 5});
        let (receiver, sender) = both_ends(0.3 * stretch, &[flow]);
        for log in [&sender, &receiver].map(|report| &report["flows"][0]["packets"]) {
            assert_eq!(log["number"].as_array().map(Vec::len), Some(5));
            assert_eq!(log["unlogged"], 7);
        }
    });
    let flow = json!({"kind": "tcp", "port": free_port(), "logged_packets": 5});
    let plan = plan(now().as_secs_f64() + 0.05, 0.1, "receive", &[flow]);
    let message = "flow 0: logged_packets is 5; allowed is 0 with tcp: a socket does not see the kernel's packets";
    assert_eq!(report(&plan).map_err(|error| error.message), Err(message.to_owned()));
}
