//! Two plans over loopback, each in a thread of its own.

#![allow(dead_code, reason = "each test file uses what it needs")]

use serde_json::{Value, json};
use sojourn_wire::{Plan, WireError, now, run};
use std::net::{TcpListener, UdpSocket};

/// A port that nobody uses; TCP's and UDP's are chosen alike.
pub fn free_port() -> u16 {
    loop {
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = tcp.local_addr().expect("its address").port();
        if UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A plan that starts in a moment with `flows`, all of them `role`.
pub fn plan(start_at_s: f64, duration_s: f64, role: &str, flows: &[Value]) -> Value {
    let flows: Vec<Value> = flows
        .iter()
        .enumerate()
        .map(|(id, flow)| {
            let mut own = json!({"id": id, "role": role, "local": "127.0.0.1", "peer": "127.0.0.1"});
            for (key, value) in flow.as_object().expect("a table") {
                own[key] = value.clone();
            }
            own
        })
        .collect();
    json!({"start_at_s": start_at_s, "duration_s": duration_s, "bin_s": 0.05, "flows": flows})
}

/// Runs `plan`; the report as anyone would read it.
pub fn report(plan: &Value) -> Result<Value, WireError> {
    let report = run(&Plan::read(&plan.to_string())?, &mut || true)?;
    Ok(serde_json::to_value(report).expect("a report is JSON"))
}

/// Runs both ends of `flows` for `duration_s`; the reports of receiver and sender.
pub fn both_ends(duration_s: f64, flows: &[Value]) -> (Value, Value) {
    let start = now().as_secs_f64() + 0.1;
    let receiver = plan(start, duration_s, "receive", flows);
    let sender = plan(start, duration_s, "send", flows);
    let receiver = std::thread::spawn(move || report(&receiver));
    // The receiver listens well before the start.
    let sender = report(&sender).expect("the sender's report");
    (receiver.join().expect("the receiver ends").expect("the receiver's report"), sender)
}

/// Bytes of all bins.
pub fn delivered(report: &Value, flow: usize) -> u64 {
    report["flows"][flow]["delivered_bytes"].as_array().expect("bins").iter().filter_map(Value::as_u64).sum()
}

/// Runs a test in real time, and twice more where it fails: on a busy machine a process may be stopped for longer than
/// such a test lasts. What fails three times is no accident.
pub fn patiently(test: impl Fn()) {
    for _ in 0..2 {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(&test)).is_ok() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    test();
}
