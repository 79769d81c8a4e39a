use super::*;
use crate::AnyControl;
use crate::script::params;
use alloc::collections::VecDeque;
use decision::Mode;

const MSS: f64 = 1000.0;

fn built(initial_window: f64) -> Box<ProteusS> {
    let path = Path { mss_bytes: 1000, header_bytes: 52, smallest_packet_bytes: 52, initial_window, sack: true };
    let control = AnyControl::build(&params(&DESCRIPTOR, "uspace", &[]), &path, Stream::new(1, "control")).unwrap();
    let AnyControl::ProteusS(control) = control else { unreachable!("a Proteus was built") };
    control
}

fn at(millis: f64) -> Time {
    Time::from_nanos((millis * 1e6) as u64)
}

/// A packet on its way.
#[derive(Clone, Copy)]
struct Packet {
    sent: Time,
    delivered: u64,
    lost: u64,
    tx_in_flight: u32,
    /// When it is acknowledged; none where it was dropped.
    back: Option<Time>,
}

/// A link with a DropTail queue and a paced sender on it, every packet of which is acknowledged.
struct Link {
    control: Box<ProteusS>,
    bits_per_second: f64,
    rtt: Span,
    limit: Span,
    now: Time,
    next: Time,
    free: Time,
    flight: VecDeque<Packet>,
    delivered: u64,
    lost: u64,
    smoothed: Span,
    /// Nothing is sent from here on.
    until: Time,
}

impl Link {
    fn new(mbps: f64) -> Link {
        let rtt = Span::from_millis(40);
        let mut control = built(10.0);
        control.on_connected(Time::ZERO, rtt);
        Link {
            control,
            bits_per_second: mbps * 1e6,
            rtt,
            limit: Span::from_millis(100),
            now: Time::ZERO,
            next: Time::ZERO,
            free: Time::ZERO,
            flight: VecDeque::new(),
            delivered: 0,
            lost: 0,
            smoothed: rtt,
            until: at(1e9),
        }
    }

    fn send(&mut self) {
        let service = Span::from_secs_f64(MSS * 8.0 / self.bits_per_second);
        self.free = self.free.max(self.now);
        let fits = self.free.since(self.now) <= self.limit;
        if fits {
            self.free += service;
        }
        self.flight.push_back(Packet {
            sent: self.now,
            delivered: self.delivered,
            lost: self.lost,
            tx_in_flight: self.flight.len() as u32 + 1,
            back: fits.then(|| self.free + self.rtt),
        });
        let rate = self.control.pacing_rate().unwrap().bits_per_second() as f64;
        self.next = self.now + Span::from_secs_f64(MSS * 8.0 / rate);
    }

    /// Losses are judged with the next packet that arrives.
    fn receive(&mut self) {
        let place = self.flight.iter().position(|packet| packet.back.is_some()).unwrap();
        for _ in 0..place {
            let packet = self.flight.pop_front().unwrap();
            self.lost += 1;
            self.control.on_lost(&Lost {
                now: self.now,
                tx_in_flight: packet.tx_in_flight,
                lost: self.lost - packet.lost,
                prior_delivered: packet.delivered,
                total_delivered: self.delivered,
                new_range: true,
                app_limited: false,
            });
        }
        let packet = self.flight.pop_front().unwrap();
        self.delivered += 1;
        let rtt = self.now.since(packet.sent);
        self.smoothed = self.smoothed.mul_f64(0.875) + rtt.mul_f64(0.125);
        let sample = RateSample {
            delivered: (self.delivered - packet.delivered) as u32,
            interval: rtt,
            prior_delivered: packet.delivered,
            total_delivered: self.delivered,
            newly_delivered: 1,
            lost: self.lost - packet.lost,
            tx_in_flight: packet.tx_in_flight,
            in_flight: self.flight.len() as u32,
            ..RateSample::default()
        };
        let ack = crate::script::ack(self.now, self.control.window(), Span::ZERO);
        let smoothed_rtt = self.smoothed;
        self.control.on_ack(&Ack { rtt: Some(rtt), smoothed_rtt, sent: packet.sent, rate: Some(sample), ..ack });
    }

    /// Leads it on for some seconds; the rate that was delivered, in Mbit/s.
    fn run(&mut self, seconds: f64) -> f64 {
        let end = self.now + Span::from_secs_f64(seconds);
        let before = self.delivered;
        loop {
            let may = (self.flight.len() as f64) < self.control.window() && self.next < self.until;
            let send = may.then(|| self.next.max(self.now));
            let back = self.flight.iter().find_map(|packet| packet.back);
            let Some(now) = [send, back].into_iter().flatten().min().filter(|now| *now <= end) else { break };
            self.now = now;
            if back == Some(now) { self.receive() } else { self.send() }
        }
        self.now = end;
        (self.delivered - before) as f64 * MSS * 8.0 / seconds / 1e6
    }
}

/// The first rate spreads the initial window over the first round trip, or over 100 ms where that is longer.
#[test]
fn the_first_rate() {
    for (millis, mbps) in [(40, 2.0), (100, 0.8), (400, 0.8)] {
        let mut control = built(10.0);
        control.on_connected(Time::ZERO, Span::from_millis(millis));
        assert_eq!(control.rate / 1e6, mbps, "{millis} ms");
    }
    // 10 segments are the least that may be in flight.
    assert_eq!(built(10.0).window(), 10.0);
}

/// Alone it finds the link and keeps its queue short, at rates that differ by fifty times.
#[test]
fn alone_it_fills_the_link() {
    // 500 kbit/s, the least change, are a quarter of the slowest link.
    for (mbps, rtt) in [(2.0, 80), (20.0, 50), (100.0, 50)] {
        let mut link = Link::new(mbps);
        link.run(20.0);
        let delivered = link.run(40.0);
        assert!(delivered > 0.85 * mbps, "{delivered} of {mbps} Mbit/s");
        assert!(link.smoothed < Span::from_millis(rtt), "{} at {mbps} Mbit/s", link.smoothed);
    }
}

/// STARTING doubles from interval to interval, and is over within a second; the rate is then less than the link's twice.
#[test]
fn starting_ends() {
    let mut link = Link::new(20.0);
    link.run(0.1);
    assert_eq!(link.control.control.mode, Mode::Starting);
    let early = link.control.rate;
    link.run(0.1);
    assert!(link.control.rate >= 1.99 * early);
    link.run(1.0);
    assert_ne!(link.control.control.mode, Mode::Starting);
    assert!(link.control.rate < 40e6);
}

/// A sawtooth of others, from no queue to 40 ms within 0.4 s, takes half the rate and more.
#[test]
fn it_yields_to_a_queue_that_varies() {
    let mut link = Link::new(20.0);
    let alone = link.run(20.0);
    let mut beside = 0.0;
    for round in 0..1600 {
        link.free = link.free.max(link.now + Span::from_secs_f64(0.04 * f64::from(round % 16) / 16.0));
        let delivered = link.run(0.025);
        if round >= 800 {
            beside += delivered / 800.0;
        }
    }
    assert!(beside < 0.5 * alone, "{beside} Mbit/s after {alone} Mbit/s");
}

/// A flow that stops keeps its rate; an interval that a pause cut is judged by the rate at which it was really sent.
#[test]
fn a_pause_within_an_interval() {
    let mut link = Link::new(20.0);
    link.run(20.0);
    link.until = link.now;
    link.run(1.0);
    let rate = link.control.rate;
    assert!(link.flight.is_empty());
    let idle = Span::from_secs(1);
    let unused = crate::Unused::Restart { window: 10.0 };
    link.control.on_start(&Start { now: link.now, idle, timeout: idle, app_limited: true, unused });
    assert_eq!(link.control.rate, rate);
    link.until = at(1e9);
    assert!(link.run(10.0) > 10.0, "it goes on as before");
}

/// Nothing arrives for a second, and then all goes on.
#[test]
fn the_loss_of_whole_intervals() {
    let mut link = Link::new(20.0);
    link.run(20.0);
    let bound = 1.2 * link.control.window();
    let limit = std::mem::replace(&mut link.limit, Span::ZERO);
    link.free = link.now + Span::from_secs(10);
    link.run(1.0);
    let sent = link.flight.len();
    assert!(sent as f64 <= bound, "what a dead path is sent has a bound: {sent}");
    link.control.on_congestion(&Congestion {
        now: link.now,
        signal: Signal::Timeout { repeated: false },
        flight: sent as f64,
        pipe: sent as f64,
        smoothed_rtt: link.smoothed,
        stage: crate::Stage::New,
    });
    assert_eq!(link.control.window(), 1.0);
    link.limit = limit;
    link.free = link.now;
    for packet in std::mem::take(&mut link.flight) {
        link.lost += 1;
        link.control.on_lost(&Lost {
            now: link.now,
            tx_in_flight: packet.tx_in_flight,
            lost: link.lost - packet.lost,
            prior_delivered: packet.delivered,
            total_delivered: link.delivered,
            new_range: true,
            app_limited: false,
        });
    }
    link.next = link.now;
    assert!(link.run(10.0) > 8.0);
}

fn arrival(newest: u64, segments: u64, millis: f64) -> Arrival {
    Arrival { newest, segments, sent: at(millis), rtt: Some(0.04), average: 0.04, gap: 0.001 }
}

/// Transmissions 11 to 20: what lies beside them does not count, and all is known when each has arrived or is lost.
#[test]
fn bookkeeping_of_an_interval() {
    let mut interval = Interval::new(8e6, false, at(10.0), 10, 0.04);
    assert_eq!([10, 11, 99].map(|number| interval.contains(number)), [false, true, true]);
    interval.take(&arrival(10, 5, 9.0));
    interval.take(&arrival(12, 4, 11.0));
    for number in 13..=16 {
        interval.take(&arrival(number, 1, f64::from(number as u32) - 1.0));
        interval.sample(&arrival(number, 1, 0.0), true);
    }
    assert!(interval.has_enough());
    // Of 16 sent all have arrived, of 20 not.
    assert!(interval.is_known(16, 16, true) && !interval.is_known(20, 16, true));
    interval.end(20);
    interval.end(30);
    assert_eq!([11, 20, 21].map(|number| interval.contains(number)), [true, true, false]);
    interval.lost += 2;
    interval.take(&arrival(22, 4, 21.0));
    assert!(interval.is_known(40, 22, false), "two lost, two of the last four");
    let seen = interval.statistics(8000.0, 40);
    assert_eq!((seen.loss, seen.rate_mbps), (0.2, 8.0));
    assert!((seen.duration - 0.01).abs() < 1e-12);
}

/// Losses without acknowledgements say nothing: an interval ends with the first samples after them. Where the losses cannot be
/// told one by one, it is over when nothing is missing any more.
#[test]
fn an_interval_without_samples_is_not_known() {
    let mut interval = Interval::new(8e6, false, at(0.0), 0, 0.04);
    interval.lost = 10;
    assert!(!interval.is_known(10, 10, true) && !interval.is_valid());
    for number in 11..=14 {
        interval.take(&arrival(number, 1, f64::from(number as u32)));
        interval.sample(&arrival(number, 1, 0.0), true);
    }
    interval.end(20);
    assert!(!interval.is_known(30, 25, false) && !interval.is_known(30, 20, true));
    assert!(interval.is_known(30, 21, true));
    assert_eq!(interval.statistics(8000.0, 30).loss, 0.5);
}

/// What was sent at one instant has no rate.
#[test]
fn an_interval_sent_at_once_is_not_valid() {
    let mut interval = Interval::new(8e6, false, at(0.0), 0, 0.04);
    for number in 1..=5 {
        interval.take(&arrival(number, 1, 0.0));
    }
    assert!(!interval.is_valid());
    interval.take(&arrival(6, 1, 1.0));
    assert!(interval.is_valid());
}

/// Round-trip times of 40 ms that rise by 0.1 ms with each packet of 1 ms: a gradient of 0.1, which explains all.
#[test]
fn gradient_and_deviation() {
    let mut interval = Interval::new(8e6, false, at(0.0), 0, 0.04);
    for number in 1..=5 {
        let millis = f64::from(number as u32);
        interval.take(&arrival(number, 1, millis));
        interval.sample(&Arrival { rtt: Some(0.04 + 1e-4 * millis), ..arrival(number, 1, millis) }, true);
        interval.sample(&Arrival { rtt: Some(9.0), ..arrival(number, 1, millis) }, false);
    }
    assert_eq!(interval.reliable_part(), 0.5);
    let seen = interval.statistics(8000.0, 5);
    let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-9, "{found}, {expected}");
    near(seen.gradient, 0.1);
    near(seen.mean, 0.0403);
    near(seen.deviation, 1e-4 * f64::sqrt(2.0));
    // About a line that rises by 0.1 us with each packet: 99.9 % of the slope remain.
    near(seen.error, 0.999 * 1e-4 * f64::sqrt(2.0) / 0.0403);
}

/// A pause of more than fifty times the usual proportion begins a burst, which ends when round-trip times rise again and
/// the last one was below the average.
#[test]
fn bursts_of_acknowledgements_are_left_out() {
    let mut arrivals = Arrivals::default();
    arrivals.on_rtt(0.04, at(0.0));
    let of = |gap: f64, rtt: f64| Arrival { gap, rtt: Some(rtt), average: 0.04, ..arrival(1, 1, 0.0) };
    let [usual, pause] = [of(0.001, 0.04), of(0.1, 0.08)];
    assert!(arrivals.judge(&usual, &usual) && arrivals.judge(&usual, &usual));
    assert!(!arrivals.judge(&usual, &pause), "begins");
    assert!(!arrivals.judge(&usual, &usual), "round-trip times do not rise");
    arrivals.latest = 0.039;
    assert!(!arrivals.judge(&of(0.001, 0.038), &usual), "ends");
    assert!(arrivals.judge(&of(0.001, 0.039), &usual));
    // A gap that is not known, or none, says nothing.
    assert!(!arrivals.judge(&of(0.0, 0.04), &usual) && !arrivals.judge(&usual, &of(0.0, 0.04)));
    assert!(!arrivals.judge(&Arrival { rtt: None, ..usual }, &usual));
}
