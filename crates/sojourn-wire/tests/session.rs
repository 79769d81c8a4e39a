//! What a session lets another host ask for, and when it says that it is there.
#![cfg(target_os = "linux")]

mod common;

use common::{free_port, plan, report};
use serde_json::{Value, json};
use sojourn_wire::{Fault, now};

/// What becomes of an end of a flow in a session of 1 Mbit/s.
fn asked(kind: &str, role: &str, traffic: &Value) -> Result<Value, (Fault, String)> {
    let file = std::env::temp_dir().join(format!("sojourn-wire-session-{}-{}", std::process::id(), free_port()));
    std::fs::write(&file, [0; 8]).expect("a file");
    let flow = json!({"kind": kind, "port": free_port(), "traffic": traffic, "start_s": 0.1});
    let mut plan = plan(now().as_secs_f64() + 0.05, 0.1, role, &[flow]);
    plan["budget"] = json!({"rate_bps": 1_000_000, "burst_bytes": 60_000, "file": file});
    let outcome = report(&plan);
    std::fs::remove_file(&file).expect("it is there");
    outcome.map_err(|error| (error.fault, error.message))
}

#[test]
fn what_nobody_could_send_is_refused_at_once() {
    let size = json!({"kind": "fixed", "size": "100 B"});
    let transfers = |interval: &str| json!({"kind": "transfers", "interval": interval, "size": size});
    let most = "1 Mbit/s, the rate of the session";
    for (kind, traffic, found, allowed) in [
        ("tcp", transfers("1 us"), "transfers every 1 us in the mean", "1 ms and more"),
        ("tcp", transfers("999 us"), "transfers every 999 us in the mean", "1 ms and more"),
        ("cbr", json!({"kind": "cbr", "rate": "2 Mbit/s"}), "datagrams that make 2.000000 Mbit/s", most),
        (
            "cbr",
            json!({"kind": "train", "count": 1_000_000, "packet": "40 B", "every": "1 ms"}),
            "datagrams that make 320000.000000 Mbit/s",
            most,
        ),
        ("cbr", json!({"kind": "padding", "rate": "1000000 packets/s"}), "datagrams that make 232.000000 Mbit/s", most),
        (
            "cbr",
            json!({"kind": "padding", "rate": "1000000 packets/s", "burst": 500_000, "every": "1 s"}),
            "datagrams that make 116.000000 Mbit/s",
            most,
        ),
        (
            "cbr",
            json!({"kind": "voip", "frame": "2500 us", "payload": "65000 B"}),
            "datagrams that make 208.128000 Mbit/s",
            most,
        ),
    ] {
        let message = format!("flow 0: {found}; allowed between hosts is {allowed}");
        assert_eq!(asked(kind, "send", &traffic), Err((Fault::Input, message)));
        // Who only receives it sends nothing of it.
        assert!(asked(kind, "receive", &traffic).is_ok(), "{traffic}");
    }
    for (kind, traffic) in [
        ("tcp", transfers("1 ms")),
        ("cbr", json!({"kind": "cbr", "rate": "1 Mbit/s"})),
        ("cbr", json!({"kind": "train", "count": 1_000_000})),
        ("cbr", json!({"kind": "padding", "rate": "4000 packets/s"})),
    ] {
        assert!(asked(kind, "send", &traffic).is_ok(), "{traffic}");
    }
}

/// A file says that the sockets are there, before the run begins.
#[test]
fn who_listens_says_so() {
    let file = std::env::temp_dir().join(format!("sojourn-wire-ready-{}-{}", std::process::id(), free_port()));
    let port = free_port();
    let flow = json!({"kind": "tcp", "port": port});
    let mut plan = plan(now().as_secs_f64() + 1000.0, 0.1, "receive", &[flow]);
    plan["ready"] = json!(file);
    // It waits for its start until the test is over.
    std::thread::spawn(move || report(&plan));
    while !file.exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    std::fs::remove_file(file).expect("it is there");
}

/// What cannot be opened is never said to be there.
#[test]
fn who_cannot_listen_says_nothing() {
    let file = std::env::temp_dir().join(format!("sojourn-wire-never-{}-{}", std::process::id(), free_port()));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let mut plan = plan(now().as_secs_f64() + 0.1, 0.1, "receive", &[json!({"kind": "tcp", "port": port})]);
    plan["ready"] = json!(file);
    assert!(report(&plan).is_err() && !file.exists());
}
