//! Applications: starts, stops, on and off times, transfers, clocks.

use crate::common::{close, dumbbell, group, run, series, text};
use sojourn_core::Span;

const CBR: &str = "name = \"a\"\nrtt = \"20 ms\"\ntraffic = { kind = \"cbr\", rate = \"1.2 Mbit/s\" }";

/// One packet each 10 ms from 0.5 s on and not after 1.5 s.
#[test]
fn start_and_stop() {
    let record =
        run(&dumbbell("3 s", "rate = \"10 Mbit/s\"", &[&format!("{CBR}\nstart = \"0.5 s\"\nstop = \"1.5 s\"")]));
    assert_eq!(record.bottleneck.arrivals, 100);
    let bulk = "name = \"a\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"\nstart = \"0.5 s\"\nstop = \"1.5 s\"";
    let series = series(&dumbbell("3 s", "rate = \"10 Mbit/s\"", &[bulk]), 100).queues;
    for (time, sent) in series.time_s.iter().zip(&series.sent_bytes) {
        // What was out at the stop is still sent: up to a second of queue.
        assert_eq!(*sent > 0, (0.45..1.45).contains(time) || (*time < 2.6 && *sent > 0), "{time}");
    }
}

/// Without warm-up one second is half of two; with it only the second half counts.
#[test]
fn warmup_forgets() {
    let mut scenario = dumbbell("2 s", "rate = \"2.4 Mbit/s\"", &[&format!("{CBR}\nstop = \"1 s\"")]);
    let whole = run(&scenario);
    close(whole.bottleneck.utilization.unwrap(), 0.25, 1e-9);
    scenario.keys.warmup = Span::from_secs(1);
    let second = run(&scenario);
    assert_eq!((second.bottleneck.arrivals, second.measured_from_s), (0, 1.0));
    // A packet in flight when measuring began.
    assert!(second.flows[0].delivered_bytes <= 2 * 1472);
    assert_eq!(second.bottleneck.drop_rate, None);
    assert_eq!(second.bottleneck.queue_ms.mean, None);
    scenario.keys.warmup = Span::from_millis(500);
    close(run(&scenario).bottleneck.utilization.unwrap(), 0.5 / 1.5 / 2.0, 0.003);
}

/// Starts drawn from a range lie in it and differ; a list gives each flow its own.
#[test]
fn random_starts() {
    let text = format!("{CBR}\nflows = 4\nstart = {{ uniform = [\"1 s\", \"2 s\"] }}");
    let scenario = dumbbell("3 s", "rate = \"100 Mbit/s\"", &[&text]);
    let flows = series(&scenario, 10).flows;
    let first = |flow: u32| {
        let rows = flows.time_s.iter().zip(&flows.index).zip(&flows.delivered_bytes);
        rows.filter(|((_, index), bytes)| **index == flow && **bytes > 0).map(|((time, _), _)| *time).next().unwrap()
    };
    let starts: Vec<f64> = (0..4).map(first).collect();
    assert!(starts.iter().all(|start| (1.0..2.05).contains(start)), "{starts:?}");
    assert!(starts.windows(2).all(|pair| pair[0] != pair[1]), "{starts:?}");
}

/// Exponential times of 1 s and 3 s: sending a quarter of the time.
#[test]
fn on_off_duty_cycle() {
    let scenario = dumbbell(
        "400 s",
        "rate = \"10 Mbit/s\"",
        &["name = \"a\"\ncontrol = \"newreno\"\nflows = 8\nrtt = \"20 ms\"\naccess_rate = \"200 kbit/s\"\n\
           transport = { receive_window = \"4 packets\" }\ntraffic = { kind = \"on-off\", on = \"1 s\", off = \"3 s\" }"],
    );
    let record = run(&scenario);
    // 8 flows for 400 s are some 800 cycles: 10 % is more than three standard deviations. What is out at the
    // end of an on time, 4 packets or 240 ms, is still sent.
    let busy = record.bottleneck.utilization.unwrap() * 10e6 / (8.0 * 200e3);
    close(busy, 0.25 + 0.03, 0.05);
    assert_eq!(group(&record, "a").timeouts, Some(0));
}

/// After an off time a flow goes on over the connection it had, with what the transport leaves of its window, or over a
/// fresh one. A connection keeps its window where the off time is shorter than the timeout of 1 s; a fresh one has 10 segments.
#[test]
fn an_off_time_ends_a_connection_or_not() {
    let flow = |off: &str, connection: &str| {
        let text = format!(
            "name = \"a\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"\ntransport = {{ receive_window = \"30 packets\" }}\n\
             traffic = {{ kind = \"on-off\", on = \"1 s\", off = \"{off}\", connection = \"{connection}\" }}"
        );
        let record = series(&dumbbell("60 s", "rate = \"100 Mbit/s\"", &[&text]), 10);
        let rows = record.flows.time_s.iter().zip(&record.flows.cwnd_packets).filter(|(time, _)| **time > 10.0);
        rows.map(|(_, window)| *window).fold(f64::INFINITY, f64::min)
    };
    assert!(flow("0.05 s", "kept") >= 30.0);
    assert_eq!(flow("0.05 s", "fresh"), 10.0);
}

/// One slow start is enough to learn how much the path holds. A connection that sends again after a pause does not forget
/// it, where a fresh one overflows the queue each time.
#[test]
fn a_kept_connection_does_not_overflow_the_queue_again() {
    let drops = |connection: &str, control: &str| {
        let group = format!(
            "name = \"a\"\ncontrol = {control}\nrtt = \"50 ms\"\n\
             traffic = {{ kind = \"on-off\", on = \"3 s\", off = \"6 s\", connection = \"{connection}\" }}"
        );
        run(&dumbbell("200 s", "rate = \"20 Mbit/s\"", &[&group])).bottleneck.drops
    };
    for control in ["'newreno'", "{ kind = 'cubic', hystart = 'off' }"] {
        let (kept, fresh) = (drops("kept", control), drops("fresh", control));
        assert!(5 * kept < 2 * fresh, "{control}: {kept} drops on one connection, {fresh} on fresh ones");
    }
}

/// Transfers that end are counted, and only whole ones.
#[test]
fn completion_times() {
    let transfer = |extra: &str| {
        let group = format!(
            "name = \"a\"\ncontrol = \"newreno\"\nflows = 3\nrtt = \"20 ms\"\n{extra}\n\
             traffic = {{ kind = \"bulk\", size = \"1 MB\" }}"
        );
        run(&dumbbell("10 s", "rate = \"10 Mbit/s\"", &[&group]))
    };
    let whole = transfer("");
    let fct = group(&whole, "a").fct_ms.unwrap();
    assert_eq!(fct.count, 3);
    assert!(whole.flows.iter().all(|flow| flow.delivered_bytes == 1_000_000));
    // 3 MB at 10 Mbit/s with 3.6 % headers.
    assert!(fct.mean.unwrap() > 1000.0 && fct.p99.unwrap() < 4000.0, "{fct:?}");
    let stopped = transfer("stop = \"0.5 s\"");
    assert_eq!(group(&stopped, "a").fct_ms.unwrap().count, 0);
    assert!(stopped.flows.iter().all(|flow| flow.delivered_bytes < 1_000_000));
}

/// A clock that is apart and drifts changes nothing for a control that ignores one-way delays.
#[test]
fn clocks_do_not_matter_to_newreno() {
    let run = |clock: &str| {
        let group = format!("name = \"a\"\ncontrol = \"newreno\"\nflows = 3\nrtt = \"20 ms\"\n{clock}");
        text(&run(&dumbbell("10 s", "rate = \"10 Mbit/s\"\nqueue = { kind = \"red\" }", &[&group])))
    };
    assert_eq!(run(""), run("clock_offset = \"-2 s\"\nclock_skew_ppm = 100"));
}

/// Two groups of a direction share it; two directions do not.
#[test]
fn shares_are_of_a_direction() {
    let record = run(&crate::common::scenario(
        "duration = \"5 s\"
        bottleneck = { rate = \"10 Mbit/s\" }
        reverse = { rate = \"10 Mbit/s\" }
        [[group]]\nname = \"a\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"
        [[group]]\nname = \"b\"\ncontrol = \"newreno\"\nrtt = \"40 ms\"
        [[group]]\nname = \"c\"\ncontrol = \"newreno\"\nrtt = \"40 ms\"\ndirection = \"reverse\"",
    ));
    let share = |name: &str| record.groups[name].share.unwrap();
    close(share("a") + share("b"), 1.0, 1e-12);
    close(share("c"), 1.0, 0.0);
}

/// A queue that marks ECT(1) only marks a scalable control's data, and not that of another that needs marks too, unless
/// the group says what its data carry.
#[test]
fn scalable_controls_and_those_who_say_so_send_ect1() {
    let queue = "rate = \"10 Mbit/s\"\nqueue = { kind = \"codel\", ecn = false, ce_threshold = \"1 ms\", ce_threshold_for = \"ect1\" }";
    for (control, ect, marked) in [
        ("prague", "control", true),
        ("prague", "ect0", false),
        ("dctcp", "control", false),
        ("newreno", "control", false),
        ("newreno", "ect0", false),
        ("newreno", "ect1", true),
    ] {
        let transport = format!("transport = {{ ecn = \"accurate\", ect = \"{ect}\" }}");
        let flow = format!("name = \"a\"\ncontrol = \"{control}\"\nrtt = \"20 ms\"\n{transport}");
        let record = run(&dumbbell("5 s", queue, &[&flow]));
        assert_eq!(record.bottleneck.marks > 0, marked, "{control}, {ect}");
    }
}
