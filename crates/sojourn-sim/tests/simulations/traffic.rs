//! Calls and streams of video.

use crate::common::{close, dumbbell, group, run, scenario, series, text};
use sojourn_sim::{Record, VideoRecord, VoipRecord};

const FAST: &str = "rate = \"100 Mbit/s\"";

fn voip(record: &Record, name: &str) -> VoipRecord {
    group(record, name).voip.unwrap()
}

fn video(record: &Record, name: &str) -> VideoRecord {
    group(record, name).video.unwrap()
}

fn call(traffic: &str) -> String {
    format!("name = \"call\"\nrtt = \"40 ms\"\ntraffic = {{ kind = \"voip\"{traffic} }}")
}

/// G.711: 160 B of speech and 40 B of headers each 20 ms, which is 80 kbit/s on the wire and 64 kbit/s of speech.
#[test]
fn packets_of_the_codecs() {
    for (codec, bytes, goodput) in
        [("", 200, 64.0), (", codec = \"g729\"", 60, 8.0), (", codec = \"opus\", frame = \"60 ms\"", 220, 24.0)]
    {
        let scenario = dumbbell("12 s", FAST, &[&call(codec)]);
        let record = run(&scenario);
        let sent: u64 = series(&scenario, 1000).queues.sent_bytes.iter().sum();
        assert_eq!(sent, record.bottleneck.departures * bytes, "{codec}");
        close(group(&record, "call").goodput_mbps * 1e3, goodput, 0.2);
    }
}

/// Alone on a fast link nothing varies: half the round trip and 16 us on the wire; R is that of the codec.
#[test]
fn an_undisturbed_call() {
    let record = run(&dumbbell(
        "60 s",
        FAST,
        &[
            &call(""),
            &call(", codec = \"g729\"").replace("call", "low"),
            &call(", codec = \"opus\"").replace("call", "other"),
        ],
    ));
    let heard = voip(&record, "call");
    close(heard.delay_ms.mean.unwrap(), 20.016, 0.03);
    close(heard.delay_ms.max.unwrap(), heard.delay_ms.min.unwrap(), 0.05);
    assert!(heard.jitter_ms.unwrap() < 0.001, "{heard:?}");
    assert_eq!((heard.loss, heard.late), (Some(0.0), Some(0.0)));
    // A frame, the delay, and what is left of the first guess of its deviation, 4 x 10 ms that fall by e every 10 s.
    let playout = 20.0 + 20.016 + 4.0 * 10.0 * (10.0 / 60.0) * (1.0 - (-6.0f64).exp());
    close(heard.mouth_to_ear_ms.unwrap(), playout, 0.2);
    close(heard.r_factor.unwrap(), 93.2, 1e-9);
    close(heard.mos.unwrap(), 4.41, 0.005);
    close(voip(&record, "low").r_factor.unwrap(), 93.2 - 11.0, 1e-9);
    close(voip(&record, "low").mouth_to_ear_ms.unwrap(), playout + 5.0, 0.2);
    let other = voip(&record, "other");
    assert_eq!((other.r_factor, other.mos, other.loss), (None, None, Some(0.0)));
}

/// 2 % random loss: Ie,eff = 95 x 2 / (2 + 25.1) = 7.0.
#[test]
fn loss_costs_what_the_model_says() {
    let record = run(&dumbbell("600 s", &format!("{FAST}\nloss = 0.02"), &[&call("")]));
    let heard = voip(&record, "call");
    close(heard.loss.unwrap(), 0.02, 0.004);
    let percent = 100.0 * (heard.loss.unwrap() + heard.late.unwrap());
    close(heard.r_factor.unwrap(), 93.2 - 95.0 * percent / (percent + 25.1), 1e-9);
}

/// Talk spurts of 1.004 s and silences of 1.587 s: packets for 38.7 % of the time; each flow has its own.
#[test]
fn talk_spurts() {
    let spurts = call(", talk = \"1.004 s\", pause = \"1.587 s\"") + "\nflows = 20";
    let record = run(&dumbbell("200 s", FAST, &[&spurts]));
    // 20 flows for 200 s are some 1500 cycles.
    close(group(&record, "call").goodput_mbps / (20.0 * 0.064), 1.004 / 2.591, 0.03);
    assert!(group(&record, "call").jain.unwrap() < 1.0);
}

/// What happens to a call does not depend on what is measured, nor on a call beside it that shares no queue.
#[test]
fn a_call_keeps_its_random_numbers() {
    let spurts = call(", talk = \"1 s\", pause = \"1 s\"");
    let alone = run(&dumbbell("20 s", FAST, &[&spurts]));
    let other = "name = \"other\"\nrtt = \"40 ms\"\ntraffic = { kind = \"on-off\" }\ncontrol = \"newreno\"\n\
                 transport = { receive_window = \"2 packets\" }";
    let beside = run(&dumbbell("20 s", FAST, &[&spurts, other]));
    assert_eq!(alone.flows[0].delivered_bytes, beside.flows[0].delivered_bytes);
}

/// Nothing sent in the measured part is no number, not zero.
#[test]
fn nothing_measured_is_null() {
    let mut late = dumbbell("3 s", FAST, &[&format!("{}\nstop = \"1 s\"", call(""))]);
    late.warmup = sojourn_core::Span::from_secs(2);
    let heard = voip(&run(&late), "call");
    assert_eq!((heard.delay_ms.mean, heard.delay_ms.p99, heard.jitter_ms), (None, None, None));
    assert_eq!((heard.loss, heard.late, heard.r_factor, heard.mos), (None, None, None, None));
}

fn ready(name: &str, overrides: &[&str]) -> Record {
    let ready = sojourn_scenario::ready().iter().find(|ready| ready.name == name).unwrap();
    let mut text = ready.text.to_owned();
    for (before, after) in overrides.iter().map(|change| change.split_once(" => ").unwrap()) {
        assert!(text.contains(before), "{before}");
        text = text.replace(before, after);
    }
    run(&scenario(&text))
}

/// The ready scenario keeps its promise: DropTail ruins the call, a queue for each flow saves it.
#[test]
fn a_call_under_load() {
    let droptail = ready("voip-under-load", &[]);
    let fair = ready("voip-under-load", &["kind = \"droptail\", limit = \"100 packets\" => kind = \"fq_codel\""]);
    let (ruined, saved) = (voip(&droptail, "speaks"), voip(&fair, "speaks"));
    assert!(ruined.mos.unwrap() < 2.6, "{ruined:?}");
    assert!(saved.mos.unwrap() > 4.0, "{saved:?}");
    assert!(saved.delay_ms.p99.unwrap() < 60.0 && ruined.delay_ms.p50.unwrap() > 300.0, "{saved:?} {ruined:?}");
    for record in [&droptail, &fair] {
        assert!(voip(record, "hears").mos.unwrap() > 4.3);
    }
}

fn film(traffic: &str) -> String {
    format!("name = \"film\"\ncontrol = \"newreno\"\nrtt = \"40 ms\"\ntraffic = {{ kind = \"video\"{traffic} }}")
}

/// A link far faster than the ladder. The first segment, 6 s at 145 kbit/s, is 76 packets: a request of 20 ms, a
/// handshake of 40 ms, 20 ms to the player and three more round trips for 10, 20 and 40 packets and the rest, 0.2 s.
/// That is 4.4 Mbit/s, and 0.7 of it with one segment in the buffer allows 3 Mbit/s; from then on all is allowed.
#[test]
fn a_fast_link_plays_the_highest_rate() {
    let record = run(&dumbbell("120 s", FAST, &[&film("")]));
    let seen = video(&record, "film");
    assert_eq!((seen.switches, seen.stalls, seen.stall_s), (2, 0, 0.0));
    close(seen.startup_ms.unwrap(), 200.0, 5.0);
    // The segment n is asked for when there is room: 6 (n - 1) s are there and less than 24 s of them are left.
    let segments = 24.0;
    close(seen.rate_mbps.unwrap(), (0.145 + 3.0 + (segments - 2.0) * 7.8) / segments, 1e-9);
    // Each fills whole packets of 1448 B.
    let bytes = |rate: f64| (rate * 6.0 / 8.0 / 1448.0).ceil() as u64 * 1448;
    assert_eq!(record.flows[0].delivered_bytes, bytes(145e3) + bytes(3e6) + 22 * bytes(7.8e6));
}

/// 2 Mbit/s carry 1.93 Mbit/s of payload, of which 0.9 are 1.74: the rung below is 1.1 Mbit/s, and nothing stalls.
#[test]
fn the_rate_fits_the_link() {
    let record = run(&dumbbell(
        "300 s",
        "rate = \"2 Mbit/s\"\nqueue = { kind = \"droptail\", limit = \"20 packets\" }",
        &[&film("")],
    ));
    let seen = video(&record, "film");
    assert_eq!((seen.stalls, seen.stall_s), (0, 0.0));
    assert!((1.0..=1.1).contains(&seen.rate_mbps.unwrap()), "{seen:?}");
    let bold = ", safety = 1.0, low_buffer_safety = 1.0, ladder = [\"1.1 Mbit/s\", \"1.8 Mbit/s\"]";
    let record = run(&dumbbell(
        "300 s",
        "rate = \"2 Mbit/s\"\nqueue = { kind = \"droptail\", limit = \"20 packets\" }",
        &[&film(bold)],
    ));
    assert!(video(&record, "film").rate_mbps.unwrap() > 1.5, "{:?}", video(&record, "film"));
}

/// A ladder of one rung of twice the link's rate: after the first segment it plays half of the time.
#[test]
fn too_slow_a_link_stalls() {
    let only = film(", ladder = [\"2 Mbit/s\"], segment = \"2 s\", buffer = \"10 s\"");
    let scenario = dumbbell("201 s", "rate = \"1 Mbit/s\"", &[&only]);
    let seen = video(&run(&scenario), "film");
    assert_eq!(seen.switches, 0);
    // 500 kB and 3.6 % of headers at 1 Mbit/s take 4.14 s, and a little more with the request.
    close(seen.startup_ms.unwrap(), 4144.0 + 100.0, 100.0);
    close(seen.stall_s, (201.0 - 4.2) * (1.0 - 2.0 / 4.2), 3.0);
    close(seen.stalls as f64, 201.0 / 4.2 - 1.0, 1.5);
    // Of the time before the warm-up's end nothing is counted.
    let mut half = scenario.clone();
    half.warmup = sojourn_core::Span::from_secs(101);
    let second = video(&run(&half), "film");
    close(second.stall_s, 100.0 * (1.0 - 2.0 / 4.2), 3.0);
    assert_eq!(second.startup_ms, None);
}

/// A stream that stops neither stalls nor asks again; before its start it is not late either.
#[test]
fn a_stream_that_stops() {
    let record = run(&dumbbell("100 s", FAST, &[&format!("{}\nstart = \"10 s\"\nstop = \"30 s\"", film(""))]));
    let seen = video(&record, "film");
    assert_eq!((seen.stalls, seen.stall_s), (0, 0.0));
    assert!(seen.startup_ms.unwrap() < 300.0);
    // 20 s played and 30 s in the buffer are 8 or 9 segments.
    assert!(record.flows[0].delivered_bytes < 9 * 5_860_000);
}

/// A pause of more than a timeout ends the window: every segment begins with ten packets at most at once.
#[test]
fn the_window_starts_anew_after_a_pause() {
    let steady = film(", ladder = [\"1 Mbit/s\"], buffer = \"12 s\"");
    let record = run(&dumbbell("100 s", "rate = \"5 Mbit/s\"", &[&steady]));
    assert_eq!(group(&record, "film").drop_rate, Some(0.0));
    // Slow start from ten packets over 40 ms: a queue of a few tens; an old window of 500 packets would be there at once.
    assert!(record.bottleneck.queue_packets.max > 10, "{:?}", record.bottleneck.queue_packets);
    assert_eq!(text(&record), text(&run(&dumbbell("100 s", "rate = \"5 Mbit/s\"", &[&steady]))));
}

/// All of RFC 7928's mix gets something, and its parts say what they should.
#[test]
fn the_mix() {
    let record = ready("traffic-mix", &[]);
    assert_eq!(group(&record, "web").fct_ms.unwrap().count, 6);
    assert!(voip(&record, "speaks").r_factor.unwrap() < voip(&record, "hears").r_factor.unwrap());
    assert!(video(&record, "video").rate_mbps.unwrap() >= 0.145);
    close(group(&record, "cbr").goodput_mbps, 0.5 * 972.0 / 1000.0, 0.05);
    assert!(record.bottleneck.utilization.unwrap() > 0.95);
}
