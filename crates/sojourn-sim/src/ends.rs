//! What is seen at both ends of the flows' ways, where somebody wants to know.

mod delays;

use crate::Packet;
use crate::decisions::{DecisionLog, Watch};
use crate::flow::Flow;
use crate::packets::PacketLog;
use crate::wanted::Wanted;
use sojourn_core::Time;

/// Rows of packets, one-way delays and what senders decide, as they are wanted.
#[derive(Debug)]
pub struct Ends {
    rows: Option<PacketLog>,
    delays: Option<delays::Delays>,
    decisions: Option<Box<Watch>>,
}

impl Ends {
    /// What `wanted` asks for of `connections` connections; nothing where it asks for none of it.
    pub fn new(wanted: &Wanted, connections: usize) -> Option<Ends> {
        let ends = Ends {
            rows: wanted.packets.then(PacketLog::default),
            delays: wanted.delays.then(|| delays::Delays::new(connections)),
            decisions: wanted.decisions.then(Box::default),
        };
        (wanted.packets || wanted.delays || wanted.decisions).then_some(ends)
    }

    /// The warm-up is over.
    pub fn begin_measuring(&mut self) {
        if let Some(delays) = &mut self.delays {
            delays.begin_measuring();
        }
    }

    /// The sender of `flow` may have heard something, and sends next.
    #[cold]
    pub fn look(&mut self, index: usize, flow: &Flow, now: Time) {
        if let Some(watch) = &mut self.decisions {
            watch.look(index, flow, now);
        }
    }

    /// The sender of `flow` sends a packet.
    #[cold]
    pub fn add_sent(&mut self, flow: &Flow, packet: &Packet, now: Time) {
        if let Some(rows) = &mut self.rows {
            rows.add_sent(packet, now);
        }
        if let Some(delays) = &mut self.delays {
            delays.on_sent(packet, now);
        }
        if let Some(watch) = &mut self.decisions {
            watch.on_sent(flow, packet, now);
        }
    }

    /// The receiver of `connection`, which is one to `port`, asks for data.
    #[cold]
    pub fn add_request(&mut self, connection: usize, port: u16, now: Time) {
        if let Some(delays) = &mut self.delays {
            delays.on_request(connection, port, now);
        }
    }

    /// A receiver gets a packet. What travels from receiver to sender is left out.
    #[cold]
    pub fn add_received(&mut self, packet: &Packet, now: Time) {
        if let Some(rows) = &mut self.rows {
            rows.add_received(packet, now);
        }
        if let Some(delays) = &mut self.delays {
            delays.on_received(packet, now);
        }
    }

    /// One-way delays, where they were wanted.
    pub fn delays(&self) -> Option<&delays::Delays> {
        self.delays.as_ref()
    }

    /// What senders decided, where it was wanted.
    pub fn take_decisions(&mut self) -> Option<DecisionLog> {
        self.decisions.take().map(|watch| watch.log)
    }

    /// The rows of packets, where they were wanted.
    pub fn into_rows(self) -> Option<PacketLog> {
        self.rows
    }
}
