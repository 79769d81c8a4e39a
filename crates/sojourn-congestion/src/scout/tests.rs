//! Laws of scout: its states step by step on a path that is written down, and hostile input.

use super::DESCRIPTOR;
use crate::script::params;
use crate::{Ack, AnyControl, Congestion, Control, Path, Recovered, Repair, Signal};
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Span, Stream, Time};

const MSS: u32 = 1448;
const BASE: Span = Span::from_millis(50);
/// By how much the receiver's clock is behind, in ns.
const CLOCKS_APART: i64 = 7_000_000_123;

/// A path of `mbps` with a base round-trip time of 50 ms, `others` backlogged flows in a fair queue, and `queue` before all.
struct Lab {
    control: AnyControl,
    smallest_packet_bytes: u32,
    now: Time,
    mbps: f64,
    others: u64,
    /// The fair queue's quantum, and the bytes that it counts for each packet beside the packet's own.
    quantum_bytes: i64,
    uncounted_bytes: u32,
    queue: Span,
    /// Segments that the receiver acknowledges at once, and after which time it does not wait for more of them.
    acks: (u32, Span),
    /// How many of the next segments it acknowledges one by one before.
    quick: u32,
    /// Longest delay at random behind the link, in order.
    jitter: Span,
    random: Stream,
    /// Every train or knock: packets, and payload bytes of each.
    sent: Vec<(u32, u32)>,
    /// Most packets that were sent at once, unpaced, and payload bytes of each.
    burst: (u32, u32),
}

fn control(mss_bytes: u32, seed: u64) -> AnyControl {
    let path = Path { mss_bytes, header_bytes: 52, smallest_packet_bytes: 52, initial_window: 10.0, sack: true };
    AnyControl::build(&params(&DESCRIPTOR, "default", &[]), &path, Stream::new(seed, "scout")).unwrap()
}

fn state(control: &AnyControl, wanted: &str) -> f64 {
    let mut found = f64::NAN;
    control.probe(&mut |name, value| {
        if name == wanted {
            found = value;
        }
    });
    found
}

fn ack(now: Time, sent: Time, newly_acked: u32, flight: f64) -> Ack {
    let rtt = now.since(sent);
    Ack {
        now,
        newly_acked,
        delivered: newly_acked,
        advanced: newly_acked,
        outstanding: flight as u32,
        selective: false,
        flight,
        window_limited: true,
        in_recovery: false,
        orderly: true,
        rtt: Some(rtt),
        smoothed_rtt: rtt,
        min_rtt: rtt,
        max_rtt: rtt,
        one_way_delay_nanos: None,
        sent,
        echoed: sent,
        marked: false,
        unmarked: 0,
        rate: None,
    }
}

impl Lab {
    fn new(mbps: f64) -> Lab {
        Lab::of(52, mbps)
    }

    /// A path whose packets have at least so many bytes.
    fn of(smallest_packet_bytes: u32, mbps: f64) -> Lab {
        let path = Path { mss_bytes: MSS, header_bytes: 52, smallest_packet_bytes, initial_window: 10.0, sack: true };
        let control = AnyControl::build(&params(&DESCRIPTOR, "default", &[]), &path, Stream::new(1, "scout")).unwrap();
        let (now, queue, sent) = (Time::ZERO, Span::ZERO, Vec::new());
        let (quantum_bytes, uncounted_bytes) = (1514, 0);
        let (acks, jitter) = ((2, Span::ZERO), Span::ZERO);
        let random = Stream::new(2, "lab");
        let (others, burst) = (0, (0, 0));
        Lab {
            control,
            smallest_packet_bytes,
            now,
            mbps,
            others,
            quantum_bytes,
            uncounted_bytes,
            queue,
            acks,
            quick: 0,
            jitter,
            random,
            sent,
            burst,
        }
    }

    fn time_of(&self, bytes: u32) -> Span {
        Span::from_secs_f64(8.0 * f64::from(bytes) / (self.mbps * 1e6))
    }

    /// Whether the capacity is the link's, up to half a microsecond of a stamp in the time of 72 bytes.
    fn knows_its_rate(&self) -> bool {
        let error = state(&self.control, "capacity_mbps") / self.mbps - 1.0;
        error.abs() < 0.001 + 0.5 * self.mbps / (8.0 * 72.0)
    }

    fn is_going(&self) -> bool {
        state(&self.control, "going") == 1.0
    }

    /// What the control lets out now is sent and acknowledged: a train, or a knock and its pause.
    fn exchange(&mut self) {
        let payload = self.control.segment_bytes().unwrap_or(MSS).min(MSS);
        let pacing = self.control.pacing_rate();
        let gap = pacing.map_or(Span::ZERO, |rate| rate.transmission(u64::from(MSS)));
        let packets = self.control.window().floor().max(1.0) as u32;
        self.sent.push((packets, payload));
        if gap.is_zero() && packets * payload > self.burst.0 * self.burst.1 {
            self.burst = (packets, payload);
        }
        let start = self.now;
        let arrivals = self.cross(start, packets, payload, gap);
        let mut unacknowledged = 0;
        for (number, &(sent, arrival)) in arrivals.iter().enumerate() {
            unacknowledged += 1;
            let next = arrivals.get(number + 1).map(|(_, arrival)| *arrival);
            let first = arrivals[number + 1 - unacknowledged as usize].1;
            let timer = first + self.acks.1;
            let full = self.quick > 0 || unacknowledged == self.acks.0;
            self.quick = self.quick.saturating_sub(1);
            if full || next.is_none_or(|next| next > timer) {
                self.now = if full { arrival } else { timer.max(arrival) };
                let flight = f64::from(packets - number as u32 - 1 + unacknowledged);
                let one_way_delay_nanos = Some(arrival.since(sent).as_nanos() as i64 - CLOCKS_APART);
                self.control.on_ack(&Ack { one_way_delay_nanos, ..ack(self.now, sent, unacknowledged, flight) });
                unacknowledged = 0;
            }
        }
        if packets == 1 {
            self.now = self.now.max(start + gap);
        }
    }

    /// When packets are sent and when they have come, and the half of the base round-trip time that acknowledgements take.
    fn cross(&mut self, start: Time, packets: u32, payload: u32, gap: Span) -> Vec<(Time, Time)> {
        let packet_bytes = self.smallest_packet_bytes.max(payload + 52);
        let own = self.time_of(packet_bytes);
        let (mut free, mut quantum, mut last) = (start, 1514, start);
        let mut arrivals = Vec::new();
        for number in 0..packets {
            let sent = start + gap * u64::from(number);
            free = free.max(sent);
            // A fair queue of one quantum for each flow in turn.
            quantum -= i64::from(packet_bytes + self.uncounted_bytes);
            free += own;
            if quantum <= 0 {
                quantum += self.quantum_bytes;
                free += self.time_of(1500) * self.others;
            }
            let noise = self.jitter.mul_f64(self.random.uniform_between(0.0, 1.0));
            last = last.max(free + BASE + self.queue + noise);
            arrivals.push((sent, last));
        }
        arrivals
    }

    /// Exchanges until it goes, at most `most`.
    fn until_it_goes(&mut self, most: usize) -> bool {
        (0..most).any(|_| {
            self.exchange();
            self.is_going()
        })
    }
}

/// Alone: three small trains, two full ones of which the second is twice as long, knocks between them. Then a turn.
#[test]
fn alone_it_goes_after_two_clean_trains() {
    let mut lab = Lab::new(100.0);
    assert!(lab.until_it_goes(10), "{:?}", lab.sent);
    let small = [(10, 20), (1, 20), (10, 20), (1, 20), (10, 20)];
    assert_eq!(lab.sent, [&small[..], &[(8, MSS), (1, 20), (16, MSS)]].concat());
    assert!(lab.knows_its_rate());
    assert_eq!((lab.control.window(), lab.control.segment_bytes()), (10.0, None));
    // Two wait for an acknowledgement.
    let full = state(&lab.control, "capacity_mbps") * 1e6 * 0.05 / (8.0 * 1500.0) + 2.0;
    assert!((lab.control.slow_start_threshold() - full).abs() < 2.0, "{}", lab.control.slow_start_threshold());
}

/// Where small packets are filled up, fewer of them fit into a quantum, and their payload costs nothing: others do not go
/// between them, and the link's rate is what it is.
#[test]
fn a_small_train_fits_a_quantum_whatever_a_packet_has_at_least() {
    for others in [0, 1, 5] {
        let mut lab = Lab { others, ..Lab::of(92, 20.0) };
        let goes = lab.until_it_goes(8);
        assert_eq!((lab.sent[0], goes), ((8, 40), others == 0), "{others}");
        assert!(lab.knows_its_rate(), "{others}");
    }
    assert_eq!(Lab::of(600, 20.0).control.window(), 4.0);
}

/// A queue may count bytes that no sender knows of (14 of Ethernet, 60 of a tunnel), and its quantum may be smaller than a full
/// packet: a small train still leaves undivided, and shows the link's rate.
#[test]
fn a_small_train_fits_a_quantum_with_bytes_that_it_does_not_know_of() {
    for (quantum_bytes, uncounted_bytes) in [(1514, 14), (1514, 74), (1268, 14), (1000, 14)] {
        for smallest in [52, 92] {
            let mut lab = Lab { others: 5, quantum_bytes, uncounted_bytes, ..Lab::of(smallest, 20.0) };
            assert!(!lab.until_it_goes(40), "{quantum_bytes} {uncounted_bytes} {smallest}");
            assert!(lab.knows_its_rate(), "{quantum_bytes} {uncounted_bytes} {smallest}");
        }
    }
}

/// Beside a backlog in a fair queue the small train still shows the link's rate, and the full one disperses.
#[test]
fn beside_a_backlog_in_a_fair_queue_it_rests() {
    for others in [1, 2, 5, 20] {
        let mut lab = Lab::new(20.0);
        lab.others = others;
        assert!(!lab.until_it_goes(40), "{others}: {:?}", lab.sent);
        assert!(lab.knows_its_rate(), "{others}");
        lab.others = 0;
        assert!(lab.until_it_goes(10), "the others have gone");
    }
}

/// Behind a standing queue that is longer than half the target it sends no full train.
#[test]
fn behind_a_queue_it_sends_small_trains_only() {
    let mut lab = Lab::new(20.0);
    lab.exchange();
    lab.queue = Span::from_millis(2);
    lab.exchange();
    lab.sent.clear();
    assert!(!lab.until_it_goes(40));
    assert!(lab.sent.iter().all(|(_, payload)| *payload == 20), "{:?}", lab.sent);
}

/// A receiver that ceases to acknowledge each segment, as Linux's does after the first 16, leaves the last one of a train for its
/// timer: that is no noise, wherever it happens.
#[test]
fn a_receiver_that_begins_to_wait_adds_no_noise() {
    for (smallest, quick) in [52, 66, 92, 120].into_iter().flat_map(|bytes| (0..40).map(move |quick| (bytes, quick))) {
        let mut lab = Lab { acks: (2, Span::from_millis(40)), quick, ..Lab::of(smallest, 20.0) };
        lab.exchange();
        lab.queue = Span::from_millis(4);
        lab.exchange();
        assert!(!lab.until_it_goes(40), "{smallest} {quick}");
        let small = smallest.max(72) - 52;
        assert!(lab.sent.iter().all(|(_, payload)| *payload == small), "{smallest} {quick}: {:?}", lab.sent);
        assert!(state(&lab.control, "noise_ms") < 1.0, "{smallest} {quick}");
    }
}

/// Pauses double up to the longest, and are random between half of that and all.
#[test]
fn pauses_double_up_to_the_longest() {
    let mut lab = Lab::new(20.0);
    lab.others = 5;
    let mut pauses = Vec::new();
    for _ in 0..60 {
        let before = lab.now;
        lab.exchange();
        if lab.sent.last() == Some(&(1, 20)) {
            pauses.push(lab.now.since(before).as_millis_f64());
        }
    }
    let pauses = &pauses[2..];
    assert!(pauses[0] >= 125.0 && pauses[0] <= 310.0, "{pauses:?}");
    assert!(pauses.iter().all(|pause| *pause <= 4060.0), "{pauses:?}");
    assert!(pauses[8..].iter().all(|pause| *pause >= 2000.0), "{pauses:?}");
}

const RARE: [(u32, Span); 2] = [(8, Span::from_millis(10)), (32, Span::from_millis(20))];

/// Where the receiver acknowledges 8 or 32 segments at once, trains grow until they give enough acknowledgements, and no burst is
/// longer than 1250 bytes of small segments or ten full ones.
#[test]
fn alone_it_goes_where_acknowledgements_are_rare() {
    for acks in RARE {
        for mbps in [4.0, 20.0, 100.0] {
            let mut lab = Lab { acks, ..Lab::new(mbps) };
            assert!(lab.until_it_goes(120), "{acks:?} {mbps}: {:?}", lab.sent);
            let capacity = state(&lab.control, "capacity_mbps");
            assert!(
                lab.knows_its_rate() || (0.95 * mbps..1.05 * mbps).contains(&capacity),
                "{acks:?} {mbps}: {capacity}"
            );
            assert_eq!(lab.sent.iter().filter(|(packets, _)| *packets > 64).count(), 0);
            assert!(lab.sent.iter().all(|(packets, payload)| *payload == MSS || packets * (payload + 52) <= 1250));
            assert!(lab.burst.0 * lab.burst.1 <= 10 * MSS, "{:?}", lab.burst);
            // 17 small segments give two acknowledgements of eight, and none of 32.
            assert!(lab.sent.contains(&(17, 20)));
            assert_eq!(lab.sent.contains(&(1, MSS)), acks.0 == 32);
        }
    }
}

#[test]
fn beside_a_backlog_it_rests_where_acknowledgements_are_rare() {
    for acks in RARE {
        for others in [1, 5] {
            let mut lab = Lab { acks, others, ..Lab::new(20.0) };
            assert!(!lab.until_it_goes(300), "{acks:?} {others}: {:?}", lab.sent);
            let capacity = state(&lab.control, "capacity_mbps");
            // Where each acknowledgement waits for a timer, a tenth of a millisecond may be the clocks' or the link's.
            assert!((16.0..21.0).contains(&capacity), "{acks:?} {others}: {capacity}");
        }
    }
}

/// Random delays ten times as long as a small train: segments that are alone tell what the link has at least, and trains of full
/// ones what it gives.
#[test]
fn beside_a_backlog_it_rests_where_delays_vary() {
    let jitter = Span::from_millis(3);
    let mut turns = 0;
    for seed in 0..20 {
        let random = Stream::new(seed, "lab");
        let mut lab = Lab { jitter, others: 5, random, ..Lab::new(20.0) };
        turns += u32::from(lab.until_it_goes(300));
        lab.others = 0;
        assert!(lab.until_it_goes(300), "{seed}: the others have gone");
    }
    assert!(turns <= 2, "{turns}");
}

#[test]
fn alone_it_goes_where_delays_vary() {
    for (seed, mbps) in (0..20).flat_map(|seed| [4.0, 20.0, 100.0].map(|mbps| (seed, mbps))) {
        let mut lab = Lab { jitter: Span::from_millis(3), random: Stream::new(seed, "lab"), ..Lab::new(mbps) };
        assert!(lab.until_it_goes(300), "{seed}, {mbps} Mbit/s");
        let capacity = state(&lab.control, "capacity_mbps");
        assert!((0.5 * mbps..1.6 * mbps).contains(&capacity), "{seed}, {mbps} Mbit/s: {capacity}");
    }
}

/// A link whose acknowledgements come all at once tells nothing, and every rest still ends.
#[test]
fn where_acknowledgements_tell_nothing_it_asks_again() {
    let mut lab = Lab { acks: (1000, Span::from_millis(200)), ..Lab::new(1000.0) };
    assert!(!lab.until_it_goes(400));
    assert!(lab.sent.iter().rev().take(20).any(|(packets, _)| *packets > 1), "{:?}", lab.sent);
    assert!(lab.sent.iter().all(|(packets, _)| *packets <= 64));
}

fn going() -> Lab {
    let mut lab = Lab::new(20.0);
    assert!(lab.until_it_goes(10));
    lab
}

/// Rounds of a turn in which every packet waits `queue`; how many until it leaves, at most `most`.
fn rounds(lab: &mut Lab, queue: Span, rate_mbps: f64, most: usize) -> Option<usize> {
    for round in 1..=most {
        let sent = lab.now;
        let rtt = BASE + queue + lab.time_of(1500);
        let packets = (rate_mbps * 1e6 * rtt.as_secs_f64() / 12_000.0) as u64;
        for number in 1..=packets {
            lab.now = sent + rtt + rtt * number / packets;
            let flight = packets as f64;
            let one_way_delay_nanos = Some(rtt.as_nanos() as i64 - CLOCKS_APART);
            lab.control.on_ack(&Ack { one_way_delay_nanos, ..ack(lab.now, lab.now - rtt, 1, flight) });
            if !lab.is_going() {
                return Some(round);
            }
        }
    }
    None
}

#[test]
fn a_turn_goes_on_while_the_link_is_its_own() {
    let mut lab = going();
    assert_eq!(rounds(&mut lab, Span::from_micros(300), 19.9, 100), None);
    assert_eq!(state(&lab.control, "score"), 0.0);
}

/// Delays that vary by more than the target do not end slow start, and an own queue does.
#[test]
fn noise_does_not_end_slow_start() {
    let mut lab = Lab { jitter: Span::from_millis(3), ..Lab::new(100.0) };
    assert!(lab.until_it_goes(300));
    let full = lab.control.slow_start_threshold();
    let noise = Span::from_secs_f64(state(&lab.control, "noise_ms") / 1e3);
    assert!(noise > Span::from_millis(1), "{noise}");
    rounds(&mut lab, noise + Span::from_millis(1), 95.0, 3);
    assert!(lab.is_going());
    assert!(lab.control.window() >= 0.99 * full, "{} of {full}", lab.control.window());
    rounds(&mut lab, noise * 2 + Span::from_millis(4), 100.0, 1);
    assert!(lab.control.slow_start_threshold() < 0.99 * full);
}

/// At most 26 of evidence, 2 a round, and two rounds for one that began before.
#[test]
fn a_turn_yields_to_a_queue_and_to_a_small_share() {
    for (queue, rate) in [(Span::from_millis(15), 5.0), (Span::from_micros(1500), 20.0 / 6.0)] {
        let mut lab = going();
        assert_eq!(rounds(&mut lab, Span::from_micros(300), 19.9, 50), None, "it is old and patient");
        let left = rounds(&mut lab, queue, rate, 20).expect("it leaves");
        assert!((2..=15).contains(&left), "{left}");
        assert!(lab.control.window() < 1.0);
    }
}

/// No turn lasts longer than one and a half times its mean length.
#[test]
fn a_turn_ends() {
    let mut lab = going();
    let began = lab.now;
    assert!(rounds(&mut lab, Span::from_micros(300), 19.9, 2000).is_some());
    let lasted = lab.now.since(began).as_secs_f64();
    assert!((15.0..45.2).contains(&lasted), "{lasted} s");
}

#[test]
fn a_timeout_is_repaired_and_then_it_rests() {
    let mut lab = going();
    let now = lab.now;
    let signal = Signal::Timeout { repeated: false };
    lab.control.on_congestion(&Congestion {
        now,
        signal,
        flight: 30.0,
        pipe: 30.0,
        smoothed_rtt: BASE,
        stage: crate::Stage::New,
    });
    assert_eq!((lab.control.window(), lab.control.slow_start_threshold()), (1.0, 15.0));
    assert!(!lab.is_going());
    lab.control.on_recovered(&Recovered { now, repair: Repair::Timeout, flight: 0.0 });
    assert!(lab.control.window() < 1.0);
    // The next acknowledgement ends the drain, the one after is the knock's.
    lab.now += BASE;
    lab.control.on_ack(&ack(lab.now, now, 1, 1.0));
    lab.exchange();
    assert_eq!(lab.sent.last(), Some(&(1, 20)));
    assert!(lab.until_it_goes(12), "{:?}", lab.sent);
}

/// A small MSS: the small segment is never larger, and nothing is divided by zero.
#[test]
fn segments_as_small_as_a_header() {
    for mss in [1, 10, 20, 200] {
        let mut control = control(mss, 1);
        assert_eq!(control.segment_bytes(), Some(mss.min(20)));
        let mut now = Time::from_nanos(1);
        for _ in 0..500 {
            now += Span::from_micros(500);
            control.on_ack(&ack(now, now - Span::from_micros(400), 2, 20.0));
            assert!(control.window().is_finite() && control.window() >= 0.0);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Hostile {
    /// Milliseconds that the clock moves, also backwards; segments; microseconds of a round trip, none where 0; one-way delay.
    Ack(i64, u32, u64, Option<i64>, f64, [bool; 2]),
    Signal(u8, f64),
    Recovered,
    Set(f64),
}

fn hostile() -> impl Strategy<Value = Vec<Hostile>> {
    let event = prop_oneof![
        40 => (-40i64..400, 0u32..70, 0u64..300_000, any::<Option<i64>>(), 0.0..2000.0, any::<[bool; 2]>())
            .prop_map(|(step, acked, rtt, one_way, flight, flags)| Hostile::Ack(step, acked, rtt, one_way, flight, flags)),
        2 => (0u8..4, 0.0..2000.0).prop_map(|(signal, flight)| Hostile::Signal(signal, flight)),
        2 => Just(Hostile::Recovered),
        1 => (0.0..5000.0).prop_map(Hostile::Set),
    ];
    prop::collection::vec(event, 1..600)
}

proptest! {
    /// Any acknowledgements in any order of time: windows and rates stay numbers, and bursts within their bound.
    #[test]
    fn hostile_paths_give_no_infinite_window(events in hostile(), mss in 1u32..9000, seed in 0u64..100) {
        let mut control = control(mss, seed);
        let mut now = 1_000_000_000_i64;
        // A repair goes on with the window of a turn, or begins with half of what was in flight.
        let mut most = 1000.0 + 70.0;
        for event in events {
            match event {
                Hostile::Ack(step, acked, rtt, one_way_delay_nanos, flight, [window_limited, in_recovery]) => {
                    now = (now + step * 1_000_000).max(1);
                    let at = Time::from_nanos(now as u64);
                    let sent = Time::from_nanos((now as u64).saturating_sub(rtt * 1000));
                    let rtt = (rtt > 0).then(|| Span::from_micros(rtt));
                    let plain = ack(at, sent, acked, flight);
                    control.on_ack(&Ack { rtt, one_way_delay_nanos, window_limited, in_recovery, ..plain });
                }
                Hostile::Signal(signal, flight) => {
                    let signal = match signal {
                        0 => Signal::Loss,
                        1 => Signal::Ecn,
                        other => Signal::Timeout { repeated: other == 3 },
                    };
                    let now = Time::from_nanos(now as u64);
                    control.on_congestion(&Congestion { now, signal, flight, pipe: flight, smoothed_rtt: BASE, stage: crate::Stage::New });
                }
                Hostile::Recovered => {
                    let now = Time::from_nanos(now as u64);
                    control.on_recovered(&Recovered { now, repair: Repair::Selective, flight: 1.0 });
                }
                Hostile::Set(window) => control.set_window(window, window),
            }
            let window = control.window();
            prop_assert!(window.is_finite() && window >= 0.0, "{event:?}: {window}");
            if control.segment_bytes().is_none() {
                most = window.max(most);
            }
            prop_assert!(window <= most + 70.0, "{event:?}: {window}");
            prop_assert!(!control.slow_start_threshold().is_nan());
            if let Some(rate) = control.pacing_rate() {
                prop_assert!(rate.bytes_per_second() > 0.0);
            }
        }
    }
}

/// The rest is never infinite: the slowest pacing, whole bits a second, lets a knock out within about the longest pause.
#[test]
fn no_rest_is_longer_than_the_longest_pause() {
    for seconds in [1, 4, 60] {
        let path =
            Path { mss_bytes: 200, header_bytes: 52, smallest_packet_bytes: 52, initial_window: 10.0, sack: true };
        let params = params(&DESCRIPTOR, "default", &[("pause", Value::Span(Span::from_secs(seconds)))]);
        let mut control = AnyControl::build(&params, &path, Stream::new(3, "scout")).unwrap();
        let mut now = Time::from_nanos(1);
        for _ in 0..2000 {
            now += Span::from_millis(300);
            // A round trip of 300 ms that grows: always somebody else.
            control.on_ack(&ack(now, now - Span::from_millis(250), 20, 20.0));
            if let (Some(rate), Some(_)) = (control.pacing_rate(), control.segment_bytes()) {
                let gap = rate.transmission(200);
                assert!(gap.as_secs_f64() <= seconds as f64 * 1.03, "{gap}");
            }
        }
    }
}
