//! What is seen at both ends of the flows' ways, where somebody wants to know.

mod delays;

use crate::Packet;
use crate::packets::PacketLog;
use crate::wanted::Wanted;
use sojourn_core::Time;

/// Rows of packets, and one-way delays, as they are wanted.
#[derive(Debug)]
pub struct Ends {
    rows: Option<PacketLog>,
    delays: Option<delays::Delays>,
}

impl Ends {
    /// What `wanted` asks for of `connections` connections; nothing where it asks for none of it.
    pub fn new(wanted: &Wanted, connections: usize) -> Option<Ends> {
        let ends = Ends {
            rows: wanted.packets.then(PacketLog::default),
            delays: wanted.delays.then(|| delays::Delays::new(connections)),
        };
        (wanted.packets || wanted.delays).then_some(ends)
    }

    /// The warm-up is over.
    pub fn begin_measuring(&mut self) {
        if let Some(delays) = &mut self.delays {
            delays.begin_measuring();
        }
    }

    /// A sender sends a packet.
    #[cold]
    pub fn add_sent(&mut self, packet: &Packet, now: Time) {
        if let Some(rows) = &mut self.rows {
            rows.add_sent(packet, now);
        }
        if let Some(delays) = &mut self.delays {
            delays.on_sent(packet, now);
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

    /// The rows of packets, where they were wanted.
    pub fn into_rows(self) -> Option<PacketLog> {
        self.rows
    }
}
