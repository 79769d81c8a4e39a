//! Calls and streams of video.

use crate::common::{close, dumbbell, group, run, scenario, series, text};
use sojourn_scenario::Echo;
use sojourn_sim::{Record, VideoRecord, VoipRecord};
use sojourn_traffic::e_model;

const FAST: &str = "rate = \"100 Mbit/s\"";

fn voip(record: &Record, name: &str) -> VoipRecord {
    group(record, name).voip.unwrap()
}

fn video(record: &Record, name: &str) -> VideoRecord {
    group(record, name).video.unwrap()
}

/// R of G.711 with the mean delay of `heard` and no loss.
fn undisturbed(heard: VoipRecord) -> f64 {
    e_model::rating((0.0, 25.1), Echo::default(), heard.mouth_to_ear_ms.unwrap(), 0.0)
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
    close(heard.r_factor.unwrap(), undisturbed(heard), 1e-9);
    close(heard.r_factor.unwrap(), 91.83, 0.02);
    close(heard.mos.unwrap(), 4.38, 0.005);
    close(voip(&record, "low").r_factor.unwrap(), undisturbed(voip(&record, "low")) - 11.0, 1e-9);
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
    close(heard.r_factor.unwrap(), undisturbed(heard) - 95.0 * percent / (percent + 25.1), 1e-9);
}

/// The echo losses of a call are its own: without cancellers (25 dB) 47 ms from mouth to ear are no call any more.
#[test]
fn an_echo_that_is_heard() {
    let calls =
        [call(""), call(", telr_db = 25").replace("call", "echo"), call(", wepl_db = 20").replace("call", "twice")];
    let record = run(&dumbbell("60 s", FAST, &[&calls[0], &calls[1], &calls[2]]));
    let r = |name: &str| voip(&record, name).r_factor.unwrap();
    assert!(r("echo") < 50.0 && r("twice") < 80.0 && r("call") > 91.0, "{record:?}");
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
    let spurts = call(", talk = \"1 s\", pause = \"1 s\"") + "\nstart = \"0 s\"";
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
    late.keys.warmup = sojourn_core::Span::from_secs(2);
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
    half.keys.warmup = sojourn_core::Span::from_secs(101);
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

/// A segment of 518 packets and then 4.8 s of silence: each begins with ten packets and every acknowledgement of two lets
/// three go, so that a third of the segment waits at the end. With the window of the one before all would come at once.
#[test]
fn the_window_starts_anew_after_a_pause() {
    let steady = film(", ladder = [\"1 Mbit/s\"], buffer = \"12 s\"");
    let mut scenario = dumbbell("100 s", "rate = \"5 Mbit/s\"", &[&steady]);
    scenario.keys.warmup = sojourn_core::Span::from_secs(30);
    let record = run(&scenario);
    assert_eq!(group(&record, "film").drop_rate, Some(0.0));
    close(record.bottleneck.queue_packets.max as f64, 518.0 / 3.0, 30.0);
    assert_eq!(text(&record), text(&run(&scenario)));
}

/// A request crosses the constant delays of the way back, as do the handshake and all acknowledgements: five times 100 ms
/// beside the 200 ms of the first segment on a fast link.
#[test]
fn requests_take_the_way_back() {
    let record = run(&scenario(&format!(
        "duration = \"30 s\"\nbottleneck = {{ rate = \"100 Mbit/s\" }}\n\
         reverse = {{ rate = \"100 Mbit/s\", delay = \"100 ms\" }}\n[[group]]\n{}",
        film("")
    )));
    close(video(&record, "film").startup_ms.unwrap(), 700.0, 5.0);
}

/// What was lost before the warm-up ended does not count.
#[test]
fn losses_of_the_warm_up() {
    let flood = "name = \"flood\"\nrtt = \"40 ms\"\ntraffic = { kind = \"cbr\", rate = \"5 Mbit/s\" }\nstop = \"2 s\"";
    let mut scenario = dumbbell(
        "30 s",
        "rate = \"1 Mbit/s\"\nqueue = { kind = \"droptail\", limit = \"20 packets\" }",
        &[&call(""), flood],
    );
    assert!(voip(&run(&scenario), "call").loss.unwrap() > 0.02);
    scenario.keys.warmup = sojourn_core::Span::from_secs(5);
    let heard = voip(&run(&scenario), "call");
    assert_eq!(heard.loss, Some(0.0));
    close(heard.delay_ms.max.unwrap(), 21.6, 0.1);
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

fn web(traffic: &str, more: &str) -> String {
    format!(
        "name = \"web\"\ncontrol = \"newreno\"\nrtt = \"40 ms\"\n{more}\ntraffic = {{ kind = \"transfers\", {traffic} }}"
    )
}

/// Ten packets are one flight after the handshake, 40 + 20 ms; an eleventh waits for an acknowledgement. The five for the
/// first flight let 15 go, so that the 26th waits again. Every transfer begins afresh, however many there were before.
#[test]
fn every_transfer_is_a_fresh_connection() {
    for (packets, round_trips) in [(10, 1.5), (11, 2.5), (25, 2.5), (26, 3.5)] {
        let size = format!("interval = \"2 s\", size = \"{} B\"", packets * 1448);
        let record = run(&dumbbell("400 s", "rate = \"1 Gbit/s\"", &[&web(&size, "flows = 4")]));
        let fct = group(&record, "web").fct_ms.unwrap();
        // 800 arrivals, give or take four times their root.
        close(fct.count as f64, 800.0, 113.0);
        close(fct.p50.unwrap(), round_trips * 40.0, 0.6);
        let delivered: u64 = record.flows.iter().map(|flow| flow.delivered_bytes).sum();
        let whole = delivered / (packets * 1448);
        assert!(whole == fct.count || whole <= fct.count + 4, "{whole} {}", fct.count);
    }
}

/// 10 transfers of 62.5 kB in a second are half of 10 Mbit/s.
#[test]
fn transfers_make_their_load() {
    let traffic = "interval = \"20 s\", size = \"62500 B\"";
    let record = run(&dumbbell("300 s", "rate = \"10 Mbit/s\"", &[&web(traffic, "flows = 200")]));
    close(group(&record, "web").goodput_mbps, 5.0, 0.4);
    let by_size = &group(&record, "web").fct_by_size_ms;
    assert_eq!(by_size.keys().collect::<Vec<_>>(), ["10kB"]);
    assert_eq!(by_size["10kB"].count, group(&record, "web").fct_ms.unwrap().count);
    close(by_size["10kB"].mean.unwrap(), group(&record, "web").fct_ms.unwrap().mean.unwrap(), 1e-6);
}

/// Larger transfers take longer, and all sizes are told apart.
#[test]
fn completion_times_by_size() {
    let traffic = "interval = \"20 s\", size = { kind = \"pareto\", min = \"1 kB\", max = \"1 MB\", shape = 1 }";
    let record = run(&dumbbell("300 s", "rate = \"10 Mbit/s\"", &[&web(traffic, "flows = 200")]));
    let by_size = &group(&record, "web").fct_by_size_ms;
    let [small, middle, large] = ["1kB", "10kB", "100kB"].map(|class| by_size[class]);
    assert!(small.mean < middle.mean && middle.mean < large.mean, "{by_size:?}");
    assert!(small.count > 5 * middle.count && middle.count > 5 * large.count, "{by_size:?}");
}

/// One flow sends one transfer after the other: 250 kB at 1 Mbit/s take over 2 s, and arrivals each second pile up.
#[test]
fn what_arrives_meanwhile_waits() {
    let waits = web("interval = \"1 s\", size = \"250 kB\"", "");
    let record = run(&dumbbell("100 s", "rate = \"1 Mbit/s\"", &[&waits]));
    let fct = group(&record, "web").fct_ms.unwrap();
    close(fct.count as f64, 100.0 / 2.15, 3.0);
    // The last of them have waited for half of the run.
    assert!(fct.p99.unwrap() > 30e3 && fct.p99.unwrap() < 100e3, "{fct:?}");
    let stopped = web("interval = \"1 s\", size = \"250 kB\"", "stop = \"50 s\"");
    let record = run(&dumbbell("100 s", "rate = \"1 Mbit/s\"", &[&stopped]));
    let count = group(&record, "web").fct_ms.unwrap().count;
    assert_eq!(count, record.flows[0].delivered_bytes / 250_000);
    assert!(!record.flows[0].delivered_bytes.is_multiple_of(250_000), "the one that was cut off arrives in part");
}

/// Loss, reordering and duplicates of one connection never reach the next; retransmissions of all are counted.
#[test]
fn connections_do_not_mix() {
    let bottleneck = "rate = \"5 Mbit/s\"\nloss = 0.03\n\
                      jitter = { kind = \"uniform\", max = \"30 ms\", reorder = true }";
    let lossy = web("interval = \"2 s\", size = \"20000 B\"", "flows = 10");
    let scenario = dumbbell("300 s", bottleneck, &[&lossy]);
    let record = run(&scenario);
    let web = group(&record, "web");
    let count = web.fct_ms.unwrap().count;
    close(count as f64, 1500.0, 160.0);
    let delivered: u64 = record.flows.iter().map(|flow| flow.delivered_bytes).sum();
    assert!((count * 20_000..=(count + 10) * 20_000).contains(&delivered), "{count} {delivered}");
    // 14 packets each, of which 3 % are lost and sent again, and some for nothing.
    assert!(web.retransmissions.unwrap() as f64 > 0.03 * 14.0 * count as f64 * 0.8, "{web:?}");
    assert_eq!(text(&record), text(&run(&scenario)));
}

/// Sizes and arrivals have their own streams: other sizes leave the arrivals as they were.
#[test]
fn arrivals_do_not_depend_on_sizes() {
    let count = |size: &str| {
        let traffic = web(&format!("interval = \"10 s\", size = {size}"), "flows = 5");
        let record = run(&dumbbell("200 s", FAST, &[&traffic]));
        group(&record, "web").fct_ms.unwrap().count
    };
    assert_eq!(count("\"1 kB\""), count("{ kind = \"zipf\", most = 20, exponent = 1.7 }"));
}

/// One transfer right after the other, so that copies and acknowledgements of each arrive during the next.
#[test]
fn the_past_of_a_flow_stays_past() {
    let bottleneck = "rate = \"5 Mbit/s\"\njitter = { kind = \"uniform\", max = \"100 ms\", reorder = true }";
    let busy = web("interval = \"20 ms\", size = \"20000 B\"", "flows = 4");
    let record = run(&dumbbell("100 s", bottleneck, &[&busy]));
    let count = group(&record, "web").fct_ms.unwrap().count;
    let delivered: u64 = record.flows.iter().map(|flow| flow.delivered_bytes).sum();
    assert!((count * 20_000..=(count + 4) * 20_000).contains(&delivered), "{count} {delivered}");
    assert!(count > 500, "{count}");
}
