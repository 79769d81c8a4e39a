//! Packets of real programs: they come from outside, cross the scenario's links as all others do, and leave again.

use crate::Packet;
use sojourn_core::Time;
use sojourn_queue::{Dscp, Ecn, FlowKey};

/// What the network sees of a packet from outside.
#[derive(Clone, Copy, Debug)]
pub struct OutsidePacket {
    /// The caller's number of it, which comes back with its fate. Small numbers that are used again cost the least memory.
    pub token: u32,
    /// Bytes on the wire.
    pub bytes: u32,
    /// Those of them that are payload.
    pub payload_bytes: u32,
    /// What a router would hash.
    pub key: FlowKey,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its code point.
    pub dscp: Dscp,
    /// Whether it travels from its flow's receiver to the sender.
    pub travels_back: bool,
}

/// What became of a packet from outside.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// The caller's number.
    pub token: u32,
    /// Whether it has travelled from its flow's receiver to the sender.
    pub travels_back: bool,
    /// When.
    pub at: Time,
    /// What its header says now, where it has arrived; nothing where it was lost.
    pub arrived: Option<(Ecn, Dscp)>,
}

/// What has happened to a flow up to an instant; everything only grows.
#[derive(Clone, Copy, Debug)]
pub struct Glimpse {
    /// Payload bytes that have arrived.
    pub delivered_bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// The sum of the times in the queue of the direction's main link, in ns, and their number.
    pub waited: (u128, u64),
}

/// The endpoint of packets from outside.
#[derive(Default, Debug)]
pub struct Outside {
    payload_bytes: Vec<u32>,
    departures: Vec<Departure>,
    /// What the application has written.
    pub supplied_bytes: u64,
}

impl Outside {
    /// A packet enters.
    pub fn enter(&mut self, packet: &OutsidePacket) {
        let place = packet.token as usize;
        if place >= self.payload_bytes.len() {
            self.payload_bytes.resize(place + 1, 0);
        }
        self.payload_bytes[place] = packet.payload_bytes;
    }

    /// A packet has reached the end of its way at `at`. Its payload bytes.
    pub fn on_arrival(&mut self, packet: &Packet, at: Time) -> u32 {
        self.leave(packet, at, Some((packet.ecn, packet.dscp)));
        self.payload_bytes[packet.body.number as usize]
    }

    /// A packet was lost.
    pub fn on_drop(&mut self, packet: &Packet) {
        self.leave(packet, Time::NEVER, None);
    }

    fn leave(&mut self, packet: &Packet, at: Time, arrived: Option<(Ecn, Dscp)>) {
        let (token, travels_back) = (packet.body.number, packet.body.kind.travels_back());
        self.departures.push(Departure { token, travels_back, at, arrived });
    }

    /// What has become of packets since this was asked before, in order, added to `all`.
    pub fn take(&mut self, all: &mut Vec<Departure>) {
        all.append(&mut self.departures);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Monitor;
    use crate::session::Session;
    use crate::wanted::Wanted;
    use sojourn_core::Span;
    use sojourn_queue::Protocol;
    use sojourn_scenario::{Base, Direction, Scenario};

    /// 1 us for each byte on the way forward, and 10 ms each way.
    const PATH: &str = "duration = \"10 s\"\n\
        bottleneck = { rate = \"8 Mbit/s\", queue = { kind = \"droptail\", limit = \"3 packets\" } }\n\
        [[group]]\nname = \"sent\"\ntraffic = \"program\"\nrtt = \"20 ms\"\n\
        [[group]]\nname = \"received\"\ntraffic = \"program\"\ndirection = \"reverse\"\nrtt = \"20 ms\"\n";

    fn session(more: &str) -> Session<Scenario> {
        let text = format!("{PATH}{more}");
        let scenario = Scenario::parse(&text, None, &Base::Nowhere, &[]).expect("a scenario").scenario;
        Session::new(scenario, 1, &Wanted::default())
    }

    fn packet(token: u32, bytes: u32) -> OutsidePacket {
        let key = FlowKey { source_port: 0, destination_port: 0, protocol: Protocol::Udp, ..FlowKey::default() };
        OutsidePacket {
            token,
            bytes,
            payload_bytes: bytes - 28,
            key,
            ecn: Ecn::Ect0,
            dscp: Dscp::LE,
            travels_back: false,
        }
    }

    fn departures(session: &mut Session<Scenario>, flow: usize) -> Vec<(u32, Option<Span>)> {
        let mut all = Vec::new();
        session.take_departures(flow, &mut all);
        all.iter().map(|one| (one.token, one.arrived.map(|_| one.at.since(Time::ZERO)))).collect()
    }

    #[test]
    fn a_packet_takes_its_time_and_keeps_its_header() {
        let mut session = session("");
        let [(sent, Direction::Forward, _), (received, Direction::Reverse, _)] = session.outside()[..] else {
            panic!("{:?}", session.outside())
        };
        session.enter(sent, &packet(0, 1000));
        session.enter(received, &packet(1, 1000));
        // 1000 bytes at 8 Mbit/s are 1 ms; the way back has no limit.
        assert_eq!(session.next_event(), Time::from_nanos(1_000_000));
        session.advance(Time::from_nanos(20_000_000), &Monitor::default()).expect("no plug-in fails");
        assert_eq!(departures(&mut session, sent), [(0, Some(Span::from_millis(11)))]);
        assert_eq!(departures(&mut session, received), [(1, Some(Span::from_millis(10)))]);
        let mut all = Vec::new();
        session.enter(sent, &packet(7, 100));
        session.advance(Time::from_nanos(40_000_000), &Monitor::default()).expect("no plug-in fails");
        session.take_departures(sent, &mut all);
        assert_eq!(all[0].arrived, Some((Ecn::Ect0, Dscp::LE)));
    }

    #[test]
    fn what_comes_back_is_of_the_same_flow_and_no_data() {
        let mut session = session("[[group]]\nname = \"quic\"\nstack = \"toy\"\nrtt = \"20 ms\"\nstart = \"5 ms\"\n");
        let [(flow, group, start)] = session.stacks()[..] else { panic!("{:?}", session.stacks()) };
        assert_eq!((group.name.as_str(), start), ("quic", Time::from_nanos(5_000_000)));
        session.enter(flow, &packet(0, 1000));
        session.enter(flow, &OutsidePacket { travels_back: true, ..packet(1, 1000) });
        session.advance(Time::from_nanos(20_000_000), &Monitor::default()).expect("no plug-in fails");
        let mut all = Vec::new();
        session.take_departures(flow, &mut all);
        let seen: Vec<_> = all.iter().map(|one| (one.token, one.travels_back, one.at.as_nanos())).collect();
        // The way back has no limit.
        assert_eq!(seen, [(1, true, 10_000_000), (0, false, 11_000_000)]);
        assert_eq!(session.glimpse(flow).delivered_bytes, 972);
    }

    #[test]
    fn a_full_queue_loses_what_comes_last() {
        let mut session = session("");
        let (sent, ..) = session.outside()[0];
        (0..5).for_each(|token| session.enter(sent, &packet(token, 1000)));
        // One is on the wire and three wait.
        assert_eq!(departures(&mut session, sent), [(4, None)]);
        session.advance(Time::from_nanos(30_000_000), &Monitor::default()).expect("no plug-in fails");
        let arrived: Vec<u32> = departures(&mut session, sent).iter().map(|&(token, _)| token).collect();
        assert_eq!(arrived, [0, 1, 2, 3]);
        assert_eq!(session.glimpse(sent).delivered_bytes, 4 * 972);
    }

    #[test]
    fn a_session_ends_when_it_is_told_and_has_counted_everything() {
        let mut session = session("[[group]]\nname = \"tcp\"\ncontrol = \"newreno\"\nrtt = \"20 ms\"\n");
        let (sent, ..) = session.outside()[0];
        for millis in 0..1000 {
            session.advance(Time::from_nanos(millis * 1_000_000), &Monitor::default()).expect("no plug-in fails");
            session.enter(sent, &packet(millis as u32, 500));
        }
        session.end_now();
        let record = session.finish(&Monitor::default()).expect("no plug-in fails").record;
        assert!((record.duration_s - 0.999).abs() < 1e-9);
        let [tcp, program] = ["tcp", "sent"].map(|name| record.groups[name].goodput_mbps);
        assert!(tcp > 1.0 && program > 1.0, "they share the link: {tcp} and {program}");
        assert!(record.groups["sent"].drop_rate > Some(0.0), "a queue of three packets is often full");
    }
}
