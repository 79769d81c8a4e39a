//! The padding controller and its pacer under any answers.

use crate::tape::Tape;
use sojourn_core::{Span, Time};
use sojourn_padding::{Config, Controller, Pacer};

/// Any round-trip times at any times: the rate stays within what is allowed, bursts have packets, the deadline moves on,
/// and the pacer sends no faster than it is told.
pub(crate) fn padding(bytes: &[u8]) {
    let mut tape = Tape(bytes);
    let mut most = f64::from(tape.word()) + 1.0;
    let duty = (f64::from(tape.byte()) + 1.0) / 256.0;
    let target = Span::from_micros(u64::from(tape.word()) * 100 + 1);
    let mut now = Time::ZERO;
    let mut controller = Controller::new(Config { target, most, duty }, now);
    let mut pacer = Pacer::new(0.0, None);
    pacer.start(now);
    let mut rests = 0;
    while !tape.is_over() {
        match tape.byte() {
            0..=149 => controller.on_answer(Span::from_micros(u64::from(tape.word()) * 100)),
            150..=159 => controller.know_base(Span::from_micros(u64::from(tape.word()) * 100)),
            160..=169 => {
                most = f64::from(tape.word()) + 1.0;
                controller.bound(most);
            }
            170..=219 => {
                now = now.max(controller.deadline());
                let before = controller.deadline();
                controller.on_time(now);
                assert!(controller.deadline() > before, "an epoch has a length");
            }
            step => {
                now += Span::from_millis(u64::from(step) * u64::from(tape.byte()));
                controller.on_time(now);
            }
        }
        let rate = controller.rate();
        assert!(rate.is_finite() && (0.0..=most).contains(&rate), "{rate} of {most}");
        assert!(controller.bursts().is_none_or(|bursts| bursts.packets > 0 && duty < 1.0));
        assert!(controller.rests() >= rests);
        rests = controller.rests();
        pacer.change(rate, controller.bursts(), now);
        assert_eq!(pacer.next() == Time::NEVER, rate == 0.0, "silent where nothing is to be sent, and only there");
        // One that was due before, one at each end of the tenth of a second.
        let (end, most_sent) = (now + Span::from_millis(100), 3 + (rate / 10.0) as u32);
        let mut sent = 0;
        while pacer.next() <= end {
            assert!(pacer.due(pacer.next().max(now)));
            sent += 1;
            assert!(sent <= most_sent, "{sent} packets in 100 ms at {rate} per second");
        }
    }
}
