//! What hosts do between connections and their access links.

use crate::common::{close, dumbbell, group, run};
use sojourn_sim::Record;

/// A flow whose access link of 10 Mbit/s is its bottleneck: a full packet takes 1.2 ms on it and 0.12 ms on the shared link, its
/// acknowledgement none.
fn through(host: &str, size: &str) -> Record {
    let group = format!(
        "name = \"a\"\nrtt = \"20 ms\"\naccess_rate = \"10 Mbit/s\"\n{host}\n\
         control = {{ kind = \"newreno\", preset = \"linux\" }}\n\
         transport = {{ preset = \"linux\", ack_every = 1, handshake = false, receive_window = \"400 packets\" }}\n\
         traffic = {{ kind = \"bulk\"{size} }}"
    );
    run(&dumbbell("10 s", "rate = \"100 Mbit/s\"", &[&group]))
}

/// Without a host's care the whole receive window of 400 packets ends up in the access link's buffer: 480 ms. With small queues
/// of two packets there are three at most, of which one is being sent: 3 x 1.2 + 0.12 + 20 ms. What is delivered is the same.
#[test]
fn small_queues_keep_the_window_out_of_the_host() {
    let [plain, small] = ["", "host = { kind = \"linux\", small_queue = \"0 s\" }"].map(|host| through(host, ""));
    let rtt = |record: &Record| group(record, "a").rtt_ms.p99.unwrap();
    assert!(rtt(&plain) > 400.0, "{}", rtt(&plain));
    close(rtt(&small), 3.0 * 1.2 + 0.12 + 20.0, 0.05);
    let rate = |record: &Record| group(record, "a").goodput_mbps;
    close(rate(&small) / rate(&plain), 1.0, 0.01);
}

/// A time lets more wait than two packets: 5 ms at two windows per round trip, of which the host holds back what it may.
#[test]
fn a_time_lets_more_wait_than_two_packets() {
    let most = |host: &str| group(&through(host, ""), "a").rtt_ms.p99.unwrap() - 20.12;
    let [none, five, plain] = ["small_queue = \"0 s\"", "small_queue = \"5 ms\""]
        .map(|time| most(&format!("host = {{ kind = \"linux\", {time} }}")))
        .into_iter()
        .chain([most("")])
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    assert!(none + 5.0 < five && five < plain / 4.0, "{none} {five} {plain}");
}

/// A transfer of one packet waits for nobody, and one of ten leaves at the access link's rate: 10 x 1.2 + 0.12 + 20 ms.
#[test]
fn what_is_held_back_goes_as_soon_as_there_is_room() {
    for (packets, expected) in [(1, 1.2 + 0.12 + 10.0), (10, 12.0 + 0.12 + 10.0)] {
        let size = format!(", size = \"{} B\"", packets * 1448);
        for host in
            ["", "host = \"linux\"", "host = { kind = \"linux\", small_queue = \"0 s\", small_queue_packets = 1 }"]
        {
            let record = through(host, &size);
            close(group(&record, "a").fct_ms.unwrap().mean.unwrap(), expected, 1e-9);
        }
    }
}

/// Receive offload acknowledges once what arrives within 1 ms, which are eight packets at 100 Mbit/s; without it each second
/// packet is acknowledged. What is delivered stays the same within 3 %.
#[test]
fn offload_acknowledges_bursts_once() {
    let flow = |host: &str| {
        let group = format!(
            "name = \"a\"\nrtt = \"20 ms\"\naccess_rate = \"100 Mbit/s\"\nhost = {{ kind = \"linux\"{host} }}\n\
             control = {{ kind = \"newreno\", preset = \"linux\" }}\ntransport = {{ preset = \"linux\", receive_window = \"300 packets\" }}\n\
             traffic = \"bulk\""
        );
        run(&dumbbell("10 s", "rate = \"100 Mbit/s\"\n[reverse]\nrate = \"100 Mbit/s\"", &[&group]))
    };
    let [plain, bursts] = ["", ", burst = 45, receive_offload = \"1 ms\""].map(flow);
    let rate = |record: &Record| group(record, "a").goodput_mbps;
    close(rate(&bursts) / rate(&plain), 1.0, 0.03);
    let acks = |record: &Record| record.reverse.as_ref().unwrap().arrivals;
    assert!(acks(&bursts) * 3 < acks(&plain) * 2, "{} {}", acks(&bursts), acks(&plain));
}

/// The host's fq paces every connection: a window of 50 packets in 100 ms goes evenly, where it would come as a burst.
#[test]
fn fq_paces_every_connection() {
    let queue = |host: &str| {
        let group = format!(
            "name = \"a\"\nrtt = \"100 ms\"\naccess_rate = \"1 Gbit/s\"\nhost = {{ kind = \"linux\"{host} }}\n\
             control = \"newreno\"\ntransport = {{ receive_window = \"50 packets\" }}\n\
             traffic = {{ kind = \"on-off\", on = \"1 s\", off = \"3 s\" }}"
        );
        run(&dumbbell("20 s", "rate = \"10 Mbit/s\"", &[&group]))
    };
    let [plain, paced] = ["", ", pacing = \"fq\""].map(|host| group(&queue(host), "a").queue_ms.p99.unwrap());
    assert!(paced * 3.0 < plain, "{paced} {plain}");
}

/// The same bytes twice.
#[test]
fn it_is_deterministic() {
    let host = "host = { kind = \"linux\", burst = 20, receive_offload = \"1 ms\", pacing = \"fq\" }";
    let events = || through(host, "").events;
    assert_eq!(events(), events());
}

/// An endless write through pfifo_fast without small queues: the window of 400 packets waits in the host, 480 ms. CoDel in the host
/// keeps it near its target of 5 ms and drops for that; so does fq_codel. Nothing is lost by pfifo_fast, whose 1000 packets suffice.
#[test]
fn an_aqm_in_the_host_keeps_its_queue_short() {
    let with = |qdisc: &str| {
        through(
            &format!(
                "host = {{ kind = \"linux\", small_queue_packets = 10000, small_queue = \"1 s\", qdisc = \"{qdisc}\" }}"
            ),
            "",
        )
    };
    let [plain, codel, fair] = ["pfifo_fast", "codel", "fq_codel"].map(with);
    let rtt = |record: &Record| group(record, "a").rtt_ms.p50.unwrap();
    close(rtt(&plain), 400.0 * 1.2 + 0.12, 0.05);
    for record in [&codel, &fair] {
        assert!(rtt(record) > 20.0 && rtt(record) < 40.0, "{}", rtt(record));
        assert!(group(record, "a").drop_rate.unwrap() > 0.0);
    }
    assert_eq!(group(&plain, "a").drop_rate, Some(0.0));
}

/// TCP small queues count what waits in the qdisc and in the card: three packets at most, with any of them, and each is lost to
/// nobody.
#[test]
fn small_queues_count_what_the_card_has() {
    for qdisc in ["pfifo_fast", "codel", "fq_codel"] {
        let record = through(&format!("host = {{ kind = \"linux\", small_queue = \"0 s\", qdisc = \"{qdisc}\" }}"), "");
        close(group(&record, "a").rtt_ms.p99.unwrap(), 3.0 * 1.2 + 0.12 + 20.0, 0.05);
        assert_eq!(group(&record, "a").drop_rate, Some(0.0));
    }
}

/// Byte queue limits keep packets out of the card's ring, where the qdisc cannot drop them any more: a ring of 256 packets hides the
/// queue from CoDel until the window has filled it, which is 307 ms, and the median round trip is more than 100 ms.
#[test]
fn byte_limits_leave_the_queue_to_the_qdisc() {
    let rtt = |limits: bool| {
        let host = format!(
            "host = {{ kind = \"linux\", small_queue_packets = 10000, small_queue = \"1 s\", qdisc = \"codel\", byte_limits = {limits} }}"
        );
        group(&through(&host, ""), "a").rtt_ms.p50.unwrap()
    };
    let [with, without] = [true, false].map(rtt);
    assert!(with < 40.0 && without > 100.0, "{with} {without}");
}

/// A card that reports late keeps a connection with small queues waiting: 2 packets in each 10 ms and what a report lets go.
/// One that reports at once sends at its link's rate. All of a finite transfer arrives either way.
#[test]
fn a_late_report_holds_the_connection_back() {
    let host = |completions: &str| {
        format!(
            "host = {{ kind = \"linux\", small_queue = \"0 s\", qdisc = \"pfifo_fast\", completions = \"{completions}\" }}"
        )
    };
    let goodput = |completions: &str| group(&through(&host(completions), ""), "a").goodput_mbps;
    let [prompt, late] = ["0 s", "20 ms"].map(goodput);
    assert!(late < prompt / 2.0, "{late} {prompt}");
    let record = through(&host("20 ms"), ", size = \"100 kB\"");
    assert!(group(&record, "a").fct_ms.unwrap().mean.is_some());
}
