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

/// A scenario's duration.
pub fn ms(duration_s: f64) -> String {
    format!("{} ms", duration_s * 1e3)
}

/// The bytes of each bin.
pub fn bins(report: &Value, flow: usize) -> Vec<u64> {
    report["flows"][flow]["delivered_bytes"].as_array().expect("bins").iter().filter_map(Value::as_u64).collect()
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
    in_bins(0.05, duration_s, flows)
}

/// The same with bins of `bin_s`.
pub fn in_bins(bin_s: f64, duration_s: f64, flows: &[Value]) -> (Value, Value) {
    let start = now().as_secs_f64() + 0.1;
    let [receiver, sender] = ["receive", "send"].map(|role| {
        let mut plan = plan(start, duration_s, role, flows);
        plan["bin_s"] = json!(bin_s);
        plan
    });
    let receiver = std::thread::spawn(move || report(&receiver));
    // The receiver listens well before the start.
    let sender = report(&sender).expect("the sender's report");
    (receiver.join().expect("the receiver ends").expect("the receiver's report"), sender)
}

/// Runs both ends of `flows`, the sending one within a budget; the reports of receiver and sender.
pub fn within_budget(duration_s: f64, flows: &[Value], rate_bps: u64, burst_bytes: u64) -> (Value, Value) {
    let file = std::env::temp_dir().join(format!("sojourn-wire-budget-{}-{}", std::process::id(), free_port()));
    std::fs::write(&file, [0; 8]).expect("a file");
    let start = now().as_secs_f64() + 0.1;
    let receiver = plan(start, duration_s, "receive", flows);
    let receiver = std::thread::spawn(move || report(&receiver));
    let mut sender = plan(start, duration_s, "send", flows);
    sender["budget"] = json!({"rate_bps": rate_bps, "burst_bytes": burst_bytes, "file": file});
    let sender = report(&sender);
    std::fs::remove_file(&file).expect("it is there");
    (receiver.join().expect("the receiver ends").expect("the receiver's report"), sender.expect("the sender's report"))
}

/// Bytes of all bins.
pub fn delivered(report: &Value, flow: usize) -> u64 {
    bins(report, flow).iter().sum()
}

/// Runs a test in real time, and where it fails twice more, each time with all of its times four times as long. A busy
/// machine stops a process for longer than a short test lasts; what a stall takes of a long one is little. What is right
/// at no length is wrong.
pub fn patiently(test: impl Fn(f64)) {
    for stretch in [1.0, 4.0] {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(stretch))).is_ok() {
            return;
        }
    }
    test(16.0);
}
