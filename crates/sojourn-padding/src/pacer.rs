//! When padding packets go.

use sojourn_core::{Span, Time};

/// Packets in bursts with pauses between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bursts {
    /// Packets of a burst, at least one.
    pub packets: u32,
    /// From the start of one burst to that of the next.
    pub every: Span,
}

/// Packets at a rate, continuous or in bursts.
#[derive(Clone, Debug)]
pub struct Pacer {
    /// Packets per second within a burst; none where zero.
    rate: f64,
    bursts: Option<Bursts>,
    next: Time,
    /// When the burst began, and how many of its packets went.
    burst: (Time, u32),
}

impl Pacer {
    /// A pacer of `rate` packets per second that is silent as yet.
    pub fn new(rate: f64, bursts: Option<Bursts>) -> Pacer {
        Pacer { rate, bursts, next: Time::NEVER, burst: (Time::NEVER, 0) }
    }

    /// Begins, with a packet at once.
    pub fn start(&mut self, now: Time) {
        self.burst = (now, 0);
        self.next = if self.rate > 0.0 { now } else { Time::NEVER };
    }

    /// Ends.
    pub fn stop(&mut self) {
        self.next = Time::NEVER;
    }

    /// Goes on at another rate; a packet that was due within the new gap is still due then.
    pub fn change(&mut self, rate: f64, bursts: Option<Bursts>, now: Time) {
        if rate == self.rate && bursts == self.bursts {
            return;
        }
        let silent = self.next == Time::NEVER;
        (self.rate, self.bursts) = (rate, bursts);
        if rate <= 0.0 {
            self.next = Time::NEVER;
        } else if silent {
            self.burst = (now, 0);
            self.next = now + self.gap();
        } else {
            self.next = self.next.min(now + self.gap());
        }
    }

    /// When the next packet goes.
    pub fn next(&self) -> Time {
        self.next
    }

    /// Whether a packet goes now; then the next one is set.
    pub fn due(&mut self, now: Time) -> bool {
        if self.next > now {
            return false;
        }
        let (began, sent) = &mut self.burst;
        *sent += 1;
        self.next = match self.bursts {
            Some(bursts) if *sent >= bursts.packets => {
                *began = (*began + bursts.every).max(now);
                *sent = 0;
                *began
            }
            _ => now + self.gap(),
        };
        true
    }

    fn gap(&self) -> Span {
        Span::from_secs_f64(1.0 / self.rate).max(Span::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(mut pacer: Pacer, until_ms: u64) -> Vec<f64> {
        let mut times = vec![];
        pacer.start(Time::ZERO);
        while pacer.next() < Time::ZERO + Span::from_millis(until_ms) {
            let now = pacer.next();
            assert!(pacer.due(now) && !pacer.due(now));
            times.push(now.as_secs_f64() * 1e3);
        }
        times
    }

    #[test]
    fn continuous() {
        assert_eq!(times(Pacer::new(125.0, None), 30), [0.0, 8.0, 16.0, 24.0]);
        assert_eq!(times(Pacer::new(0.0, None), 30), []);
    }

    /// The paper's bursts: 100 packets at 250/s every second take 0.4 s of it.
    #[test]
    fn bursts() {
        let pacer = Pacer::new(250.0, Some(Bursts { packets: 100, every: Span::from_secs(1) }));
        let times = times(pacer, 2000);
        assert_eq!(times.len(), 200);
        assert_eq!((times[99], times[100], times[199]), (396.0, 1000.0, 1396.0));
    }

    #[test]
    fn a_change_of_rate_is_prompt() {
        let mut pacer = Pacer::new(1.0, None);
        pacer.start(Time::ZERO);
        assert!(pacer.due(Time::ZERO));
        let now = Time::ZERO + Span::from_millis(100);
        pacer.change(100.0, None, now);
        assert_eq!(pacer.next(), now + Span::from_millis(10));
        pacer.change(0.0, None, now);
        assert_eq!(pacer.next(), Time::NEVER);
        pacer.change(10.0, None, now);
        assert_eq!(pacer.next(), now + Span::from_millis(100));
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn every_second(packets: u32) -> Option<Bursts> {
        Some(Bursts { packets, every: Span::from_secs(1) })
    }

    #[test]
    fn a_change_keeps_what_was_due_before() {
        let mut pacer = Pacer::new(1.0, None);
        pacer.start(at(0));
        assert!(pacer.due(at(0)));
        pacer.change(2.0, None, at(900));
        assert_eq!(pacer.next(), at(1000));
        // The same rate in bursts: this packet is one too many for its burst.
        pacer.change(2.0, every_second(1), at(950));
        assert!(pacer.due(at(1000)));
        assert_eq!(pacer.next(), at(1000), "the burst of the second that begins");
    }

    #[test]
    fn a_burst_after_silence_is_a_whole_one() {
        let mut pacer = Pacer::new(10.0, every_second(2));
        pacer.start(at(0));
        assert!(pacer.due(at(0)));
        pacer.change(0.0, None, at(50));
        pacer.change(10.0, every_second(2), at(5000));
        assert!(pacer.due(at(5100)) && pacer.due(at(5200)));
        assert_eq!(pacer.next(), at(6000));
    }

    #[test]
    fn bursts_that_were_missed_are_not_made_up_for() {
        let mut pacer = Pacer::new(10.0, every_second(1));
        pacer.start(at(0));
        assert!(pacer.due(at(10_000)));
        assert_eq!(pacer.next(), at(10_000));
        assert!(pacer.due(at(10_000)));
        assert_eq!(pacer.next(), at(11_000));
    }

    #[test]
    fn time_goes_on_between_packets() {
        let mut pacer = Pacer::new(1e12, None);
        pacer.start(at(0));
        assert!(pacer.due(at(0)) && !pacer.due(at(0)));
    }
}
