//! What senders decide: what they send, what they take for delivered or lost, and where that leaves their window.
//!
//! A sender is looked at before it sends, which is after everything that it hears, and where sending itself changes its window,
//! as after an idle time. It is compared with what it was at the last look: nothing in a sender knows that somebody watches.

use crate::Packet;
use crate::flow::{Endpoints, Flow};
use sojourn_core::{Span, Time};
use sojourn_transport::{Phase, SegmentKind, Sender, View};

/// What a sender did or found out. Packets are numbered anew with each transmission, as QUIC's are.
#[derive(Clone, PartialEq, Debug)]
pub enum Decision {
    /// It sent the packet `number`.
    Sent {
        /// The packet's number.
        number: u64,
        /// The segment in it; none for a SYN.
        segment: Option<u32>,
        /// Its bytes on the wire.
        bytes: u32,
        /// Whether the segment was sent before.
        again: bool,
    },
    /// Packets were acknowledged for the first time: first and last number of each range, in rising order. Of a segment that was
    /// sent several times it is the last transmission.
    Acknowledged(Vec<[u64; 2]>),
    /// It takes the packet `number` for lost.
    Lost {
        /// The packet's number.
        number: u64,
        /// Whether the timer said so.
        timeout: bool,
    },
    /// It entered another phase.
    Phase(Phase),
    /// What it measures and allows itself has changed.
    Metrics {
        /// What it believes now.
        view: View,
        /// The last round-trip time, where there was one since.
        latest_rtt: Option<Span>,
    },
}

/// A decision of the sender of a connection.
#[derive(Clone, PartialEq, Debug)]
pub struct DecisionRow {
    /// When.
    pub time: Time,
    /// The connection's number among those of all flows.
    pub connection: u32,
    /// Which of its connections in turn, where a flow makes fresh ones: the receiver's port.
    pub port: u16,
    /// What.
    pub decision: Decision,
}

/// The decisions of all senders of a run, in the order of time.
#[derive(Default, Debug)]
pub struct DecisionLog {
    /// The decisions.
    pub rows: Vec<DecisionRow>,
}

/// Looks at senders.
#[derive(Default, Debug)]
pub struct Watch {
    pub log: DecisionLog,
    connections: Vec<Watched>,
}

/// What was known of a sender when it was last looked at.
#[derive(Debug, Default)]
struct Watched {
    port: u16,
    view: Option<View>,
    /// Round-trip samples so far: their sum in ns and their number.
    rtts: (u128, u64),
    packets: u64,
    /// Of each segment sent.
    segments: Vec<Transmission>,
}

/// The last transmission of a segment.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    packet: u64,
    acknowledged: bool,
    lost: bool,
}

impl Watch {
    /// The sender of `flow` sends a packet. A window that this changed, because the sender was idle, comes first.
    pub fn on_sent(&mut self, flow: &Flow, packet: &Packet, now: Time) {
        let segment = match packet.body.kind {
            SegmentKind::Data | SegmentKind::DataAck => Some(packet.body.number),
            SegmentKind::Syn => None,
            _ => return,
        };
        let index = packet.flow as usize;
        if self.connections.get(index).is_some_and(|watched| watched.has_other_window(flow)) {
            self.look(index, flow, now);
        }
        let Some(watched) = self.connections.get_mut(index) else { return };
        let decision = watched.send(segment, packet.bytes);
        let port = watched.port;
        self.log.rows.push(DecisionRow { time: now, connection: packet.flow, port, decision });
    }

    /// What the sender of the connection `index` has come to since the last look.
    pub fn look(&mut self, index: usize, flow: &Flow, now: Time) {
        let Endpoints::Transport(sender, _) = &flow.endpoints else { return };
        if index >= self.connections.len() {
            self.connections.resize_with(index + 1, Watched::default);
        }
        let watched = &mut self.connections[index];
        let port = flow.key.destination_port;
        if port != watched.port {
            *watched = Watched { port, ..Watched::default() };
        }
        let rtts = (flow.counts.rtt_nanos, flow.counts.rtt_samples);
        let found = watched.compare(sender, rtts).into_iter();
        self.log.rows.extend(found.map(|decision| DecisionRow { time: now, connection: index as u32, port, decision }));
    }
}

impl Watched {
    /// Whether the sender's window is another one than when it was last looked at.
    fn has_other_window(&self, flow: &Flow) -> bool {
        let Endpoints::Transport(sender, _) = &flow.endpoints else { return false };
        self.view.is_some_and(|view| view.window_bytes != sender.view().window_bytes)
    }

    fn send(&mut self, segment: Option<u32>, bytes: u32) -> Decision {
        let number = self.packets;
        self.packets += 1;
        let mut again = false;
        if let Some(segment) = segment {
            let fresh = Transmission { packet: number, acknowledged: false, lost: false };
            match self.segments.get_mut(segment as usize) {
                Some(before) => {
                    again = true;
                    *before = Transmission { acknowledged: before.acknowledged, ..fresh };
                }
                None => self.segments.push(fresh),
            }
        }
        Decision::Sent { number, segment, bytes, again }
    }

    /// What has changed of the sender, in the order in which a sender deals with an acknowledgement: delivered, lost, phase, metrics.
    fn compare(&mut self, sender: &Sender, rtts: (u128, u64)) -> Vec<Decision> {
        let (view, before) = (sender.view(), self.view);
        if before == Some(view) && rtts == self.rtts {
            return Vec::new();
        }
        let first = before.map_or(0, |before| before.first);
        let mut found = Vec::new();
        if view.first > first || before.is_some_and(|before| view.sacked != before.sacked) {
            found.extend(self.delivered(sender, first, &view));
        }
        if before.is_some_and(|before| view.judgements != before.judgements) {
            let timeout = before.is_some_and(|before| view.timeouts > before.timeouts);
            found.extend(self.lost(sender, &view, timeout));
        }
        if before.map(|before| before.phase) != Some(view.phase) {
            found.push(Decision::Phase(view.phase));
        }
        let samples = rtts.1 - self.rtts.1;
        let mean_nanos = (rtts.0 - self.rtts.0).checked_div(u128::from(samples));
        found.push(Decision::Metrics { view, latest_rtt: mean_nanos.map(|nanos| Span::from_nanos(nanos as u64)) });
        (self.view, self.rtts) = (Some(view), rtts);
        found
    }

    /// What is acknowledged for the first time.
    fn delivered(&mut self, sender: &Sender, first: u32, view: &View) -> Option<Decision> {
        let in_order = first..view.first;
        let behind_holes = (view.first..view.next).filter(|&number| view.sacked > 0 && sender.fate(number).0);
        let mut packets = Vec::new();
        for segment in in_order.chain(behind_holes) {
            let Some(sent) = self.segments.get_mut(segment as usize) else { continue };
            if !std::mem::replace(&mut sent.acknowledged, true) {
                packets.push(sent.packet);
            }
        }
        packets.sort_unstable();
        let ranges: Vec<_> =
            packets.chunk_by(|one, next| one + 1 == *next).map(|range| [range[0], range[range.len() - 1]]).collect();
        (!ranges.is_empty()).then_some(Decision::Acknowledged(ranges))
    }

    /// What is taken for lost and was not when the sender was last looked at.
    fn lost(&mut self, sender: &Sender, view: &View, timeout: bool) -> Vec<Decision> {
        let mut lost = Vec::new();
        for segment in view.first..view.next {
            let Some(sent) = self.segments.get_mut(segment as usize) else { continue };
            let is_lost = sender.fate(segment).1;
            if !std::mem::replace(&mut sent.lost, is_lost) && is_lost {
                lost.push(Decision::Lost { number: sent.packet, timeout });
            }
        }
        lost
    }
}
