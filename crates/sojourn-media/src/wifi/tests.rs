//! Closed forms: what one sender gets, Bianchi's model of several, the performance anomaly; and laws.

use super::*;
use sojourn_queue::{Backlog, FlowKey, Host, Packet};

/// Bytes of a packet with 1472 bytes of UDP payload.
const FULL: u32 = 1500;
const PAYLOAD: f64 = 1472.0;

/// Queues that never run dry, and counters of what left them.
struct Saturated {
    packet_bytes: u32,
    /// Which devices have something to send.
    sends: Vec<bool>,
    /// Whether each station has queues of its own at the access point.
    each: bool,
    /// Packets taken from the access point's queues.
    taken: u32,
    delivered: Vec<u64>,
    /// What the access point delivered to each station.
    to: Vec<u64>,
    given_up: u64,
    last: Vec<u32>,
}

impl Above<u32> for Saturated {
    fn take(&mut self, device: Device, queue: usize, _now: Time) -> Option<Packet<u32>> {
        self.sends[device].then(|| {
            let stations = self.sends.len() - 1;
            let station = if device == ACCESS_POINT { self.taken as usize % stations } else { device - 1 };
            let mut packet = Packet::new(device as u32, self.packet_bytes, self.taken);
            self.taken += 1;
            let station = if self.each && device == ACCESS_POINT { queue % stations } else { station };
            packet.key = FlowKey { destination: Host::new(station as u32), ..FlowKey::default() };
            packet
        })
    }

    fn backlog(&self, _device: Device, _queue: usize) -> Backlog {
        unreachable!("WiFi reports nothing")
    }

    fn station(&self, packet: &Packet<u32>) -> usize {
        packet.key.destination.number() as usize
    }

    fn delivered(&mut self, device: Device, packet: Packet<u32>, _taken: Time) {
        self.delivered[device] += 1;
        let station = self.station(&packet);
        if device == ACCESS_POINT {
            self.to[station] += 1;
        }
        let way = device * self.sends.len() + station;
        assert!(self.last[way] <= packet.body, "packets of a way come in order");
        self.last[way] = packet.body;
    }

    fn given_up(&mut self, _device: Device, _packet: Packet<u32>) {
        self.given_up += 1;
    }
}

struct Ran {
    wifi: Wifi<u32>,
    above: Saturated,
    seconds: f64,
}

impl Ran {
    /// Mbit/s of payload that `device` has sent.
    fn goodput(&self, device: Device) -> f64 {
        self.above.delivered[device] as f64 * PAYLOAD * 8.0 / self.seconds / 1e6
    }

    fn all(&self) -> f64 {
        (0..self.above.sends.len()).map(|device| self.goodput(device)).sum()
    }

    /// The part of exchanges that met another one, among those that could: who draws zero after an answer sends before all
    /// others, whose counters stand still until then.
    fn collision_probability(&self, window: f64) -> f64 {
        let sum = |of: fn(&Tally) -> u64| {
            (0..self.above.sends.len()).map(|device| of(self.wifi.tally(device))).sum::<u64>() as f64
        };
        let (collisions, exchanges) = (sum(|tally| tally.collisions), sum(|tally| tally.exchanges));
        collisions / (exchanges - (exchanges - collisions) / window)
    }
}

/// Lets all `senders` send packets of `packet_bytes` without end.
fn saturated(setup: Setup, stations: Vec<Station>, senders: &[Device], packet_bytes: u32, seconds: u64) -> Ran {
    let devices = stations.len() + 1;
    let mut wifi = Wifi::new(setup, stations, |device, name| Stream::new(1, &format!("{device}.{name}")));
    let sends = (0..devices).map(|device| senders.contains(&device)).collect();
    let (delivered, to) = (vec![0; devices], vec![0; devices - 1]);
    let last = vec![0; devices * devices];
    let each = setup.scheduler.queues(devices - 1) > 1;
    let mut above = Saturated { packet_bytes, sends, each, taken: 0, delivered, to, given_up: 0, last };
    for &device in senders {
        for queue in 0..wifi.queues(device) {
            wifi.offer(device, queue, Time::ZERO, &mut above);
        }
    }
    run(wifi, above, seconds)
}

/// Goes on to the end.
fn run(mut wifi: Wifi<u32>, mut above: Saturated, seconds: u64) -> Ran {
    let end = Time::ZERO + Span::from_secs(seconds);
    while wifi.next() < end {
        let now = wifi.next();
        wifi.act(now, &mut above);
        assert!(wifi.next() > now, "time goes on");
    }
    assert!(wifi.busy() <= end.since(Time::ZERO));
    Ran { wifi, above, seconds: seconds as f64 }
}

fn setup(air: Air) -> Setup {
    Setup {
        air,
        longest: Span::from_micros(5_484),
        aggregate: 1,
        aggregate_bytes: 1_048_575,
        tries: 7,
        scheduler: Scheduler::Fifo { driver: 500 },
        ahead: 1,
        edca: false,
        bursts: false,
        rts: None,
        after_collision: AfterCollision::Standard,
    }
}

fn station(air: &Air, rate: &str, streams: u32) -> Station {
    Station { mode: air.mode(rate, streams).expect("the standard has it"), quality: None, loss: 0.0, weight: 1.0 }
}

/// Alike stations that all send upwards.
fn uplink(setup: Setup, rate: &str, stations: usize, packet_bytes: u32, seconds: u64) -> Ran {
    let senders: Vec<_> = (1..=stations).collect();
    saturated(setup, vec![station(&setup.air, rate, 1); stations], &senders, packet_bytes, seconds)
}

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "found {found}, expected {expected} within {tolerance}");
}

const B: Air = Air::plain(Standard::B);
const A: Air = Air::plain(Standard::A);
const G: Air = Air::plain(Standard::G);
const N: Air = Air::plain(Standard::N);

/// Goodput of one saturated sender: the interframe space, half a window, the frame and its answer.
#[test]
fn one_sender_gets_what_is_left_of_the_air() {
    for (air, rate, expected) in [
        (B, "1 Mbit/s", 0.895),
        (B, "11 Mbit/s", 6.11),
        (G, "6 Mbit/s", 5.27),
        (G, "24 Mbit/s", 17.28),
        (G, "54 Mbit/s", 29.93),
        (N, "mcs0", 5.59),
        (N, "mcs7", 30.8),
    ] {
        near(uplink(setup(air), rate, 1, FULL, 20).all(), expected, 0.01);
    }
}

/// The same with aggregates.
#[test]
fn aggregates_share_the_overhead() {
    let short = Air { short_guard: true, ..N };
    let wide = Air { width_mhz: 40, ..short };
    let ac = Air { width_mhz: 80, short_guard: true, ..Air::plain(Standard::Ac) };
    for (air, rate, streams, bytes, frames, expected) in [
        (N, "mcs0", 1, 65_535, 2, 5.84),
        (short, "mcs0", 1, 65_535, 64, 6.58),
        (N, "mcs7", 1, 65_535, 64, 59.75),
        (short, "mcs15", 1, 65_535, 1, 41.7),
        (short, "mcs15", 1, 65_535, 64, 130.3),
        (wide, "mcs15", 1, 65_535, 64, 256.2),
        (ac, "mcs9", 2, 65_535, 64, 613.0),
        (ac, "mcs9", 2, 1_048_575, 64, 674.0),
    ] {
        let setup = Setup { aggregate: frames, aggregate_bytes: bytes, ..setup(air) };
        let one = vec![station(&air, rate, streams)];
        near(saturated(setup, one.clone(), &[1], FULL, 10).all(), expected, 0.01);
        let nominal = setup.nominal_rate(&one[0].mode, FULL).bits_per_second() as f64 / 1e6;
        near(nominal * PAYLOAD / f64::from(FULL), expected, 0.01);
    }
}

/// Classical Bianchi: the probability that a sent frame collides, where n stations are saturated. That model lets counters
/// run on while the medium is busy, which matters with few stations: it is compared from ten on.
#[test]
fn collisions_are_those_of_bianchi() {
    for (stations, expected) in [(10, 0.3892), (20, 0.4959), (50, 0.6343)] {
        let setup = Setup { after_collision: AfterCollision::Difs, ..setup(A) };
        near(uplink(setup, "54 Mbit/s", stations, FULL, 60).collision_probability(16.0), expected, 0.03);
    }
}

/// Throughput with 1500 bytes above the MAC, where freezing lets the winner of an exchange that draws zero send again at
/// once.
#[test]
fn throughput_of_several_is_that_of_the_model_with_freezing() {
    for (rate, of_n) in [
        ("6 Mbit/s", [(5, 4.709, 4.690), (10, 4.345, 4.319), (20, 3.991, 3.960), (50, 3.505, 3.469)]),
        ("24 Mbit/s", [(5, 16.25, 16.09), (10, 15.14, 14.92), (20, 14.01, 13.74), (50, 12.41, 12.08)]),
        ("54 Mbit/s", [(5, 29.83, 29.30), (10, 28.15, 27.38), (20, 26.30, 25.35), (50, 23.55, 22.41)]),
    ] {
        for (stations, difs, eifs) in of_n {
            for (after_collision, expected) in [(AfterCollision::Difs, difs), (AfterCollision::Eifs, eifs)] {
                // The model never gives up.
                let setup = Setup { after_collision, tries: 1_000_000, ..setup(A) };
                let ran = uplink(setup, rate, stations, FULL, 20);
                let mbps = ran.all() * f64::from(FULL) / PAYLOAD;
                near(mbps, expected, 0.02);
            }
        }
    }
}

/// Every station has the same chance, so that all get the rate of the slowest one.
#[test]
fn a_slow_station_slows_all() {
    let rates = |rates: &[&str]| {
        let stations: Vec<_> = rates.iter().map(|rate| station(&B, rate, 1)).collect();
        let senders: Vec<_> = (1..=rates.len()).collect();
        saturated(setup(B), stations, &senders, FULL, 120)
    };
    for (slow, expected) in [("11 Mbit/s", 3.36), ("5.5 Mbit/s", 2.51), ("2 Mbit/s", 1.33), ("1 Mbit/s", 0.76)] {
        let ran = rates(&["11 Mbit/s", slow]);
        near(ran.goodput(1), expected, 0.07);
        near(ran.goodput(2), expected, 0.07);
    }
    for (slow, expected) in [("11 Mbit/s", 2.21), ("5.5 Mbit/s", 1.79), ("2 Mbit/s", 1.07), ("1 Mbit/s", 0.66)] {
        let ran = rates(&["11 Mbit/s", "11 Mbit/s", slow]);
        (1..=3).for_each(|device| near(ran.goodput(device), expected, 0.07));
    }
    let share = |ran: &Ran, station: usize| {
        let up = |index: usize| ran.wifi.air_time(index).up.as_secs_f64();
        up(station) / (0..ran.above.sends.len() - 1).map(up).sum::<f64>()
    };
    near(share(&rates(&["11 Mbit/s", "1 Mbit/s"]), 1), 0.85, 0.07);
    near(share(&rates(&["11 Mbit/s", "11 Mbit/s", "1 Mbit/s"]), 2), 0.76, 0.07);
}

/// 802.11g in both directions of a slotted Monte Carlo of the same rules, with EIFS at 6 Mbit/s.
#[test]
fn stations_of_802_11g_lose_to_collisions() {
    for (stations, expected) in [(2, 30.1), (5, 28.4), (10, 26.5)] {
        near(uplink(setup(G), "54 Mbit/s", stations, FULL, 30).all(), expected, 0.02);
    }
}

/// Goodput of a station alone whose exchanges of `frames` frames take turns with nobody: `n` exchanges in a row for each
/// access, each after SIFS.
fn in_a_row(air: &Air, mode: &Mode, aifs: u64, window: f64, header: u32, n: u32) -> f64 {
    let exchange = mode.time(FULL + header) + air.sifs() + air.response(mode, false);
    let nanos = |span: Span| span.as_nanos() as f64;
    let access = nanos(air.sifs() + air.slot() * aifs) + window / 2.0 * nanos(air.slot());
    let time = access + f64::from(n) * nanos(exchange) + f64::from(n - 1) * nanos(air.sifs());
    f64::from(n) * PAYLOAD * 8.0 / time * 1e3
}

/// As many exchanges follow each other as the limit of the category allows: of voice 1.504 ms, of video 3.008 ms.
#[test]
fn a_transmission_opportunity_holds_several_exchanges() {
    let mode = G.mode("54 Mbit/s", 1).unwrap();
    // A frame of 1538 bytes takes 254 us, its answer 34 us, and three times SIFS 10 us: 308 us for each but the last.
    for (queue, window, expected) in [(3, 3.0, 4), (2, 7.0, 9)] {
        for (bursts, n) in [(false, 1), (true, expected)] {
            let setup = Setup { edca: true, bursts, tries: 1_000_000, ..setup(G) };
            let ran = of_queue(setup, station(&G, "54 Mbit/s", 1), queue, 20);
            near(ran.all(), in_a_row(&G, &mode, 2, window, 38, n), 0.005);
        }
    }
    // Best effort has no opportunity of its own.
    let of = |bursts| of_queue(Setup { edca: true, bursts, ..setup(G) }, station(&G, "54 Mbit/s", 1), 1, 5).all();
    assert_eq!(of(true).to_bits(), of(false).to_bits());
}

/// A lost frame ends the opportunity, and nothing is lost but that.
#[test]
fn a_loss_ends_the_opportunity() {
    let setup = Setup { edca: true, bursts: true, tries: 1_000_000, ..setup(G) };
    let lossy = Station { loss: 0.2, ..station(&G, "54 Mbit/s", 1) };
    let ran = of_queue(setup, lossy, 3, 20);
    let tally = ran.wifi.tally(1);
    near(tally.retries as f64 / tally.exchanges as f64, 0.2, 0.05);
    let mode = G.mode("54 Mbit/s", 1).unwrap();
    let whole = in_a_row(&G, &mode, 2, 3.0, 38, 4);
    assert!(ran.all() < 0.8 * whole && ran.all() > 0.6 * whole, "{} of {whole}", ran.all());
}

/// One station that sends from one of its queues only.
fn of_queue(setup: Setup, station: Station, queue: usize, seconds: u64) -> Ran {
    let mut wifi = Wifi::new(setup, vec![station], |device, name| Stream::new(1, &format!("{device}.{name}")));
    let mut above = Saturated {
        packet_bytes: FULL,
        sends: vec![false, true],
        each: false,
        taken: 0,
        delivered: vec![0; 2],
        to: vec![0],
        given_up: 0,
        last: vec![0; 4],
    };
    wifi.offer(1, queue, Time::ZERO, &mut above);
    run(wifi, above, seconds)
}

/// Bianchi's throughput of `n` saturated stations in Mbit/s of 1500 bytes above the MAC, with freezing: who draws zero after an
/// answer sends again at once. `success` and `collision` are what the medium is busy with, interframe spaces included.
fn model(air: &Air, n: u32, success: Span, collision: Span) -> f64 {
    let (window, stages) = (16.0, 6);
    let tau = |p: f64| 2.0 / (1.0 + window + p * window * (0..stages).map(|i| (2.0 * p).powi(i)).sum::<f64>());
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let p = f64::midpoint(low, high);
        if 1.0 - (1.0 - tau(p)).powi(n as i32 - 1) > p { low = p } else { high = p }
    }
    let tau = tau(low);
    let any = 1.0 - (1.0 - tau).powi(n as i32);
    let one = f64::from(n) * tau * (1.0 - tau).powi(n as i32 - 1);
    let seconds = |span: Span| span.as_secs_f64();
    let again = 1.0 / (1.0 - 1.0 / window);
    let busy = one * (seconds(success) * again + seconds(air.slot())) + (any - one) * seconds(collision);
    one * again * f64::from(FULL) * 8.0 / ((1.0 - any) * seconds(air.slot()) + busy) / 1e6
}

/// With RTS only requests collide, so that many stations lose hardly more than few.
#[test]
fn requests_to_send_make_collisions_short() {
    let mode = A.mode("54 Mbit/s", 1).unwrap();
    let difs = A.sifs() + A.slot() * 2;
    let exchange = mode.time(FULL + 36) + A.sifs() + A.response(&mode, false) + difs;
    // The model itself gives the reference values for frames without RTS.
    near(model(&A, 10, exchange, mode.time(FULL + 36) + difs), 28.15, 0.001);
    for stations in [5, 10, 20, 50] {
        let setup = Setup { rts: Some(0), after_collision: AfterCollision::Difs, tries: 1_000_000, ..setup(A) };
        let ran = uplink(setup, "54 Mbit/s", stations, FULL, 20);
        let expected = model(&A, stations as u32, A.reservation(&mode) + exchange, A.request(&mode) + difs);
        near(ran.all() * f64::from(FULL) / PAYLOAD, expected, 0.02);
    }
}

/// Frames below the threshold go without, at the threshold with RTS.
#[test]
fn the_threshold_counts_bytes_of_frames() {
    let of = |rts| uplink(Setup { rts, ..setup(A) }, "54 Mbit/s", 1, FULL, 10).all();
    assert_eq!(of(Some(1537)).to_bits(), of(None).to_bits());
    assert!(of(Some(1536)) < 0.85 * of(None));
    let with = Setup { rts: Some(0), ..setup(A) };
    let nominal = with.nominal_rate(&A.mode("54 Mbit/s", 1).unwrap(), FULL).bits_per_second() as f64 / 1e6;
    near(of(Some(0)) * f64::from(FULL) / PAYLOAD, nominal, 0.01);
}

/// As preset `mac80211-aql` has it.
fn with_firmware(air: Air) -> Setup {
    Setup {
        scheduler: Scheduler::Aql,
        aggregate: 32,
        aggregate_bytes: 65_535,
        longest: Span::from_millis(4),
        ahead: 2,
        ..setup(air)
    }
}

/// The firmware holds what the limits allow: 12 ms of one station's packets, and 24 ms of all of them, but 5 ms of each.
#[test]
fn airtime_queue_limits_bound_the_firmware() {
    let short = Air { short_guard: true, ..N };
    let setup = with_firmware(short);
    // At 72.2 Mbit/s a packet counts for 170 us and a sixteenth of 40 us, in nanoseconds:
    let each = 1538 * 8 * 1_000_000_000 / 72_222_222 + 2_000;
    for (stations, most) in [(1, 12_000), (2, 24_000), (3, 24_000 + 5_000), (8, 40_000 + 7_000)] {
        let stations = vec![station(&short, "mcs7", 1); stations];
        let count = stations.len() as u64;
        let ran = saturated(setup, stations, &[0], FULL, 10);
        let held = ran.wifi.packets(ACCESS_POINT) as u64;
        // Each station may be over its limit by one packet.
        assert!(held * each <= most * 1_000 + count * each, "{held} packets with {count} stations");
        assert!(held * each >= count.min(2) * 5_000_000, "{held} packets with {count} stations");
        assert_eq!(ran.wifi.pending[ACCESS_POINT].as_nanos(), held * each);
    }
}

/// Behind the limits stations share the air as they do where aggregates come from their queues.
#[test]
fn airtime_is_shared_above_a_firmware_too() {
    let short = Air { short_guard: true, ..N };
    let setup = with_firmware(short);
    let stations = vec![station(&short, "mcs15", 1), station(&short, "mcs15", 1), station(&short, "mcs0", 1)];
    let ran = saturated(setup, stations, &[0], FULL, 30);
    let down = |index: usize| ran.wifi.air_time(index).down.as_secs_f64();
    let all: f64 = (0..3).map(down).sum();
    (0..3).for_each(|index| near(down(index) / all, 1.0 / 3.0, 0.02));
}

/// A station at `snr_db` with the rates of 802.11n that Minstrel-HT selects, and what it gets of the air alone.
fn selected_goodput(snr_db: f64, streams: u32) -> (f64, Ran) {
    let setup = Setup { aggregate: 32, ..setup(N) };
    let quality = Quality { mean_db: snr_db, speed_kmh: 0.0, shadowing_db: 0.0, streams };
    let mode = quality.best_mode(&N).expect("something arrives");
    let station = Station { mode, quality: Some(quality), loss: 0.0, weight: 1.0 };
    let ran = saturated(setup, vec![station], &[ACCESS_POINT], FULL, 10);
    (ran.goodput(ACCESS_POINT), ran)
}

/// A selected rate gives nearly as much as the best fixed one, and what is sent to find it costs a few per cent.
#[test]
fn a_selected_rate_is_nearly_the_best() {
    let fixed = |rate: &str| {
        let setup = Setup { aggregate: 32, ..setup(N) };
        saturated(setup, vec![station(&N, rate, 1)], &[ACCESS_POINT], FULL, 10).goodput(ACCESS_POINT)
    };
    // Above what each rate needs, and below what the next one needs.
    for (snr_db, streams, rate) in [(5.0, 1, "mcs0"), (15.0, 1, "mcs3"), (30.0, 1, "mcs7"), (30.0, 2, "mcs15")] {
        let (found, best) = (selected_goodput(snr_db, streams).0, fixed(rate));
        assert!(found > 0.93 * best && found < 1.01 * best, "{snr_db} dB: {found} and {best}");
    }
}

/// What is lost while another rate is sampled is sent again, and nothing is given up.
#[test]
fn samples_lose_no_packets() {
    let (_, ran) = selected_goodput(15.0, 1);
    assert!(ran.wifi.tally(ACCESS_POINT).retries > 50, "{:?}", ran.wifi.tally(ACCESS_POINT));
    assert_eq!(ran.above.given_up, 0);
}
