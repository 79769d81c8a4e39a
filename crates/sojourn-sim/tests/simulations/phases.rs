//! Results of parts of a run, against the log of packets and against runs that are measured for as long.

use crate::common::{close, outcome, run, scenario, text};
use sojourn_scenario::Scenario;
use sojourn_sim::{PacketEvent, PhaseRecord, Session, Wanted};
use sojourn_transport::SegmentKind;

/// Three flows and datagrams over a link that is slow for two seconds out of four, with these phases.
fn changing(warmup: &str, phases: &str) -> Scenario {
    scenario(&format!(
        "duration = \"11 s\"\nwarmup = \"{warmup}\"\n\
         [bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {{ kind = \"codel\", ecn = true, limit = \"60 packets\" }}\n\
         [[group]]\nname = \"tcp\"\ncontrol = \"newreno\"\nflows = 3\nrtt = \"30 ms\"\n\
         [[group]]\nname = \"ecn\"\ncontrol = \"cubic\"\nrtt = \"30 ms\"\ntransport.ecn = true\n\
         [[group]]\nname = \"cbr\"\nrtt = \"20 ms\"\ntraffic = {{ kind = \"cbr\", rate = \"500 kbit/s\", packet = \"300 B\" }}\n\
         [[change]]\nat = \"2 s\"\nevery = \"4 s\"\nbottleneck.rate = \"2 Mbit/s\"\n\
         [[change]]\nat = \"4 s\"\nevery = \"4 s\"\nbottleneck.rate = \"10 Mbit/s\"\n{phases}"
    ))
}

const SLOW_AND_FAST: &str = "[[phase]]\nname = \"slow\"\nfrom = \"2 s\"\nto = \"4 s\"\nevery = \"4 s\"\n\
                             [[phase]]\nname = \"fast\"\nfrom = \"4 s\"\nto = \"6 s\"\nevery = \"4 s\"\n";

/// Counts, mean and percentiles of each phase, recomputed from the rows; the last window ends with the run.
#[test]
fn a_phase_is_what_the_packets_did_in_its_windows() {
    let scenario = changing("1 s", SLOW_AND_FAST);
    let found = outcome(&scenario, &Wanted { packets: true, ..Wanted::default() });
    let rows = found.packets.unwrap().rows;
    for (name, windows, seconds) in
        [("slow", vec![(2.0, 4.0), (6.0, 8.0), (10.0, 11.0)], 5.0), ("fast", vec![(4.0, 6.0), (8.0, 10.0)], 4.0)]
    {
        let phase = &found.record.phases[name];
        close(phase.time_s, seconds, 1e-9);
        let inside = |at: f64| windows.iter().any(|&(from, to)| from <= at && at < to);
        let rows: Vec<_> = rows.iter().filter(|row| inside(row.time.as_nanos() as f64 / 1e9)).collect();
        let count = |event| rows.iter().filter(|row| row.event == event).count() as u64;
        let link = &phase.bottleneck;
        assert_eq!(link.arrivals, count(PacketEvent::Arrival));
        assert_eq!(link.departures, count(PacketEvent::Departure));
        assert_eq!(link.drops, count(PacketEvent::Drop));
        assert_eq!(link.marks, count(PacketEvent::Mark));
        assert!(link.drops > 0 && link.marks > 0, "something was dropped and marked: {link:?}");
        let departed = rows.iter().filter(|row| row.event == PacketEvent::Departure);
        let mut sojourns: Vec<f64> = departed.map(|row| row.sojourn.as_millis_f64()).collect();
        sojourns.sort_unstable_by(f64::total_cmp);
        let quantile = |part: f64| sojourns[(sojourns.len() as f64 * part).ceil() as usize - 1];
        close(link.queue_ms.mean.unwrap(), sojourns.iter().sum::<f64>() / sojourns.len() as f64, 1e-6);
        for (found, part) in [(link.queue_ms.p50, 0.5), (link.queue_ms.p95, 0.95), (link.queue_ms.p99, 0.99)] {
            close(found.unwrap(), quantile(part), quantile(part) / 1000.0);
        }
        for (number, group) in ["tcp", "ecn", "cbr"].into_iter().enumerate() {
            let of_group = |flow: u32| [0, 0, 0, 1, 2][flow as usize] == number;
            let is_data = |kind| matches!(kind, SegmentKind::Data | SegmentKind::Datagram);
            let own = |event| {
                let data = rows.iter().filter(|row| row.event == event && is_data(row.packet.body.kind));
                data.filter(|row| of_group(row.packet.flow)).count() as f64
            };
            let measured = &phase.groups[group];
            close(measured.drop_rate.unwrap(), own(PacketEvent::Drop) / own(PacketEvent::Send), 1e-9);
            close(measured.mark_rate.unwrap(), own(PacketEvent::Mark) / own(PacketEvent::Send), 1e-9);
            if group == "cbr" {
                let payload = own(PacketEvent::Receive) * (300.0 - 28.0);
                close(measured.goodput_mbps, payload * 8.0 / seconds / 1e6, 1e-9);
            }
        }
        let shares: f64 = phase.groups.values().map(|group| group.share.unwrap()).sum();
        close(shares, 1.0, 1e-9);
    }
    // Against the rates that were in force: 10 and 2 Mbit/s.
    assert!(found.record.phases["slow"].bottleneck.utilization.unwrap() > 0.95);
    let tcp = |name: &str| found.record.phases[name].groups.values().map(|group| group.goodput_mbps).sum::<f64>();
    assert!(tcp("slow") < 2.0 && tcp("fast") > 5.0);
}

/// One window from the end of the warm-up to the end of the run is the run, at the warm-up's end and at time 0.
#[test]
fn a_phase_as_long_as_the_measured_part_has_its_results() {
    for warmup in ["0 s", "1 s", "3 s"] {
        let phases = format!("[[phase]]\nname = \"all\"\nfrom = \"{warmup}\"\nto = \"11 s\"\n");
        let record = run(&changing(warmup, &phases));
        let (phase, whole) = (&record.phases["all"], &record.bottleneck);
        let link = &phase.bottleneck;
        assert_eq!([link.arrivals, link.departures], [whole.arrivals, whole.departures]);
        assert_eq!([link.drops, link.marks], [whole.drops, whole.marks]);
        close(link.utilization.unwrap(), whole.utilization.unwrap(), 1e-12);
        close(link.queue_packets.mean, whole.queue_packets.mean, 1e-12);
        assert_eq!([link.queue_ms.mean, link.queue_ms.p99], [whole.queue_ms.mean, whole.queue_ms.p99]);
        for (name, group) in &record.groups {
            let own = &phase.groups[name];
            close(own.goodput_mbps, group.goodput_mbps, 1e-12);
            assert_eq!([own.share, own.drop_rate, own.mark_rate], [group.share, group.drop_rate, group.mark_rate]);
        }
    }
}

/// What a scenario says of phases changes nothing of the run; without any, the record has no such part.
#[test]
fn phases_change_nothing_of_the_run() {
    let plain = run(&changing("1 s", ""));
    assert!(!text(&plain).contains("phases"));
    let mut with = run(&changing("1 s", SLOW_AND_FAST));
    with.phases.clear();
    assert_eq!(text(&with), text(&plain));
}

/// However a session is advanced, also to the edges of phases and past the warm-up at once.
#[test]
fn phases_are_the_same_in_any_steps() {
    let scenario = changing("1 s", SLOW_AND_FAST);
    let whole = run(&scenario);
    for steps in [vec![2_000], vec![1_000, 2_000, 4_000], vec![500, 5_000, 5_001, 11_000]] {
        let mut session = Session::new(&scenario, scenario.seed, &Wanted::default());
        for millis in steps {
            let until = sojourn_core::Time::ZERO + sojourn_core::Span::from_millis(millis);
            session.advance(until, &sojourn_sim::Monitor::default()).unwrap();
        }
        let stepped = session.finish(&sojourn_sim::Monitor::default()).unwrap().record;
        assert_eq!(text(&stepped), text(&whole));
    }
}

/// Phases that overlap, and adjacent ones, add up.
#[test]
fn halves_add_up_to_the_whole() {
    let phases = "[[phase]]\nname = \"whole\"\nfrom = \"1 s\"\nto = \"11 s\"\n\
                  [[phase]]\nname = \"first\"\nfrom = \"1 s\"\nto = \"5 s\"\n\
                  [[phase]]\nname = \"second\"\nfrom = \"5 s\"\nto = \"11 s\"\n";
    let record = run(&changing("1 s", phases));
    let [whole, first, second] = ["whole", "first", "second"].map(|name| &record.phases[name]);
    let sum = |of: fn(&PhaseRecord) -> u64| assert_eq!(of(whole), of(first) + of(second));
    sum(|phase| phase.bottleneck.arrivals);
    sum(|phase| phase.bottleneck.departures);
    sum(|phase| phase.bottleneck.drops);
    let bits = |phase: &PhaseRecord| phase.groups["tcp"].goodput_mbps * phase.time_s;
    close(bits(whole), bits(first) + bits(second), 1e-9);
}

/// The air's use and the stations' queues are told as well.
#[test]
fn a_medium_that_stations_share_has_phases() {
    let scenario = scenario(
        "duration = \"4 s\"\n[bottleneck]\nmedium = { kind = \"wifi\", standard = \"802.11g\" }\n\
         [[station]]\nname = \"near\"\nrate = \"54 Mbit/s\"\n\
         [[group]]\nname = \"up\"\ncontrol = \"cubic\"\nrtt = \"20 ms\"\ndirection = \"reverse\"\nstation = \"near\"\nstart = \"2 s\"\n\
         [[phase]]\nname = \"idle\"\nfrom = \"0 s\"\nto = \"2 s\"\n\
         [[phase]]\nname = \"busy\"\nfrom = \"3 s\"\nto = \"4 s\"\n",
    );
    let record = run(&scenario);
    let [idle, busy] = ["idle", "busy"].map(|name| &record.phases[name]);
    assert_eq!(idle.bottleneck.utilization, Some(0.0));
    assert!(busy.bottleneck.utilization.unwrap() > 0.5);
    assert_eq!(idle.stations["near"].departures, 0);
    assert!(busy.stations["near"].departures > 1000 && busy.stations["near"].queue_ms.p95.unwrap() > 1.0);
    close(busy.groups["up"].goodput_mbps, record.stations["near"].goodput_up_mbps * 2.0, 6.0);
}
