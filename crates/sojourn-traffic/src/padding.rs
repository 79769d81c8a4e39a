//! Padding: small datagrams at a fixed rate, or at one that follows the delay of probes.

use super::Action;
use sojourn_core::{Span, Time};
use sojourn_padding::{Bursts, Config, Controller, Pacer};
use sojourn_scenario::Padding as Spec;
use sojourn_transport::SegmentKind;

/// A source of padding.
#[derive(Debug)]
pub struct Padding {
    pacer: Pacer,
    packet_bytes: u32,
    number: u32,
    adaptive: Option<Adaptive>,
    is_on: bool,
}

/// What makes the rate follow the delay.
#[derive(Debug)]
struct Adaptive {
    config: Config,
    /// From the start of the flow on.
    controller: Option<Controller>,
    every: Span,
    next_probe: Time,
}

impl Padding {
    /// A source as in `spec` that is silent as yet.
    pub fn new(spec: &Spec) -> Padding {
        let (pacer, adaptive) = match spec {
            Spec::Steady(steady) => {
                let bursts = steady.bursts().map(|(packets, every)| Bursts { packets, every });
                (Pacer::new(steady.rate, bursts), None)
            }
            Spec::Adaptive(adaptive) => {
                let config = Config { target: adaptive.target, most: adaptive.most, duty: adaptive.duty };
                let adaptive = Adaptive { config, controller: None, every: adaptive.probe, next_probe: Time::NEVER };
                (Pacer::new(0.0, None), Some(adaptive))
            }
        };
        Padding { pacer, packet_bytes: spec.packet_bytes(), number: 0, adaptive, is_on: false }
    }

    /// Bytes of each packet on the wire.
    pub fn packet_bytes(&self) -> u32 {
        self.packet_bytes
    }

    /// Does what the application asks.
    pub fn perform(&mut self, action: Action, now: Time) {
        self.is_on = action == Action::Endless;
        if !self.is_on {
            return self.pacer.stop();
        }
        self.pacer.start(now);
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.next_probe = now;
            adaptive.controller = Some(Controller::new(adaptive.config, now));
        }
    }

    fn controller(&self) -> Option<&Controller> {
        self.adaptive.as_ref()?.controller.as_ref()
    }

    /// When it wants to be asked what is due.
    pub fn next(&self) -> Time {
        let next = match &self.adaptive {
            Some(Adaptive { controller: Some(controller), next_probe, .. }) => controller.deadline().min(*next_probe),
            _ => Time::NEVER,
        };
        if self.is_on { next.min(self.pacer.next()) } else { Time::NEVER }
    }

    /// The packet that is due, if one is, and its number.
    pub fn due(&mut self, now: Time) -> Option<(SegmentKind, u32)> {
        if !self.is_on {
            return None;
        }
        let mut kind = None;
        if let Some(Adaptive { controller: Some(controller), every, next_probe, .. }) = &mut self.adaptive {
            controller.on_time(now);
            self.pacer.change(controller.rate(), controller.bursts(), now);
            if *next_probe <= now {
                *next_probe = now + *every;
                kind = Some(SegmentKind::Probe);
            }
        }
        let kind = kind.or_else(|| self.pacer.due(now).then_some(SegmentKind::Datagram))?;
        self.number = self.number.wrapping_add(1);
        Some((kind, self.number))
    }

    /// A probe was answered after `rtt`.
    pub fn on_echo(&mut self, rtt: Span) {
        if let Some(controller) = self.adaptive.as_mut().and_then(|adaptive| adaptive.controller.as_mut()) {
            controller.on_answer(rtt);
        }
    }

    /// The rate at which packets are sent, of a controller that has begun.
    pub fn rate(&self) -> Option<f64> {
        self.controller().map(Controller::rate)
    }

    /// How often padding was given up since the start of the flow.
    pub fn rests(&self) -> u64 {
        self.controller().map_or(0, Controller::rests)
    }
}
