//! One-way delays, their variation, and the times until data begins to come.

use crate::Packet;
use crate::flow::{Flow, by_flow, is_data};
use crate::record::{DelayMs, Fct, Known, QueueMs};
use crate::times::Times;
use sojourn_core::{Span, Time};
use sojourn_transport::SegmentKind;

/// The one-way delays of all connections.
#[derive(Debug)]
pub struct Delays {
    ways: Vec<OneWay>,
    /// Whether the warm-up is over.
    measuring: bool,
}

/// What a connection's packets took.
#[derive(Clone, Default, Debug)]
struct OneWay {
    /// From where they were sent to where they are received.
    delay: Times,
    /// Their sum, in ns.
    nanos: u128,
    min: Option<Span>,
    max: Span,
    /// The receiver's port in the present connection; 0 before the first one.
    port: u16,
    /// When somebody began to wait for data that has not begun to come.
    asked: Option<Time>,
    /// From then to the first byte.
    startup: Times,
    /// Their sum, in ns.
    startup_nanos: u128,
}

/// What a group's packets took.
#[derive(Debug)]
pub struct OfGroup {
    /// One-way delays.
    pub delay_ms: DelayMs,
    /// How much longer than the shortest of their flow they are.
    pub pdv_ms: QueueMs,
    /// From the first packet of a connection, or a request, to the first byte; nothing where none came.
    pub startup_ms: Option<Fct>,
}

impl Delays {
    /// Those of so many connections.
    pub fn new(connections: usize) -> Delays {
        Delays { ways: vec![OneWay::default(); connections], measuring: false }
    }

    /// The warm-up is over.
    pub fn begin_measuring(&mut self) {
        self.measuring = true;
    }

    /// A sender sends a packet. With the first one of a connection somebody begins to wait, unless there was a request.
    pub fn on_sent(&mut self, packet: &Packet, now: Time) {
        let (way, port) = (&mut self.ways[packet.flow as usize], packet.key.destination_port);
        if way.port != port {
            (way.port, way.asked) = (port, Some(now));
        }
    }

    /// The receiver of `connection`, which is one to `port`, asks for data.
    pub fn on_request(&mut self, connection: usize, port: u16, now: Time) {
        let way = &mut self.ways[connection];
        (way.port, way.asked) = (port, Some(now));
    }

    /// A receiver gets a packet.
    pub fn on_received(&mut self, packet: &Packet, now: Time) {
        let way = &mut self.ways[packet.flow as usize];
        if !is_data(&packet.body) {
            return;
        }
        let of_transport = !matches!(packet.body.kind, SegmentKind::Datagram | SegmentKind::Ping);
        let is_awaited = of_transport && packet.key.destination_port == way.port;
        let asked = way.asked.take_if(|_| is_awaited);
        if self.measuring {
            way.record(now.since(packet.body.stamp), asked.map(|asked| now.since(asked)));
        }
    }

    /// What was measured of the group whose connections are `flows`.
    pub fn of_group(&self, flows: &[Flow]) -> OfGroup {
        let (mut sum, mut variation, mut nanos) = (OneWay::default(), Times::default(), 0);
        for connections in by_flow(flows) {
            let lead = connections[0].lead as usize;
            let ways = &self.ways[lead..lead + connections.len()];
            // All connections of a flow take the same way.
            let min = ways.iter().filter_map(|way| way.min).min().unwrap_or_default();
            for way in ways {
                sum.add(way);
                variation.add_less(&way.delay, min);
                nanos += way.nanos - u128::from(min.as_nanos()) * u128::from(way.delay.count());
            }
        }
        let [max] = variation.quantiles([1.0]);
        OfGroup {
            delay_ms: Known::new(&sum.delay, sum.nanos).within(sum.min, Some(sum.max)).into(),
            pdv_ms: Known::new(&variation, nanos).within(None, max).into(),
            startup_ms: (sum.startup.count() > 0).then(|| Known::new(&sum.startup, sum.startup_nanos).into()),
        }
    }
}

impl OneWay {
    /// A data packet took `delay`, and with it data began to come after `startup`.
    fn record(&mut self, delay: Span, startup: Option<Span>) {
        self.delay.record(delay);
        self.nanos += u128::from(delay.as_nanos());
        self.min = Some(self.min.map_or(delay, |min| min.min(delay)));
        self.max = self.max.max(delay);
        if let Some(startup) = startup {
            self.startup.record(startup);
            self.startup_nanos += u128::from(startup.as_nanos());
        }
    }

    /// Adds what another connection's packets took.
    fn add(&mut self, other: &OneWay) {
        self.delay.add_less(&other.delay, Span::ZERO);
        self.nanos += other.nanos;
        self.min = [self.min, other.min].into_iter().flatten().min();
        self.max = self.max.max(other.max);
        self.startup.add_less(&other.startup, Span::ZERO);
        self.startup_nanos += other.startup_nanos;
    }
}
