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
