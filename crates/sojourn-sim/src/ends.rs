//! What is seen at both ends of the flows' ways, where somebody wants to know.

#[cfg(feature = "delays")]
mod delays;

use crate::Packet;
use crate::packets::PacketLog;
use crate::runs::Wanted;
use sojourn_core::Time;

/// Rows of packets, and one-way delays, as they are wanted.
#[derive(Debug)]
pub struct Ends {
    rows: Option<PacketLog>,
    #[cfg(feature = "delays")]
    delays: Option<delays::Delays>,
}

impl Ends {
    /// What `wanted` asks for of `connections` connections; nothing where it asks for none of it.
    pub fn new(wanted: &Wanted, _connections: usize) -> Option<Ends> {
        let ends = Ends {
            rows: wanted.packets.then(PacketLog::default),
            #[cfg(feature = "delays")]
            delays: wanted.delays.then(|| delays::Delays::new(_connections)),
        };
        #[cfg(feature = "delays")]
        let wants_delays = wanted.delays;
        #[cfg(not(feature = "delays"))]
        let wants_delays = false;
        (wanted.packets || wants_delays).then_some(ends)
    }

    /// The warm-up is over.
    pub fn begin_measuring(&mut self) {
        #[cfg(feature = "delays")]
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
        #[cfg(feature = "delays")]
        if let Some(delays) = &mut self.delays {
            delays.on_sent(packet, now);
        }
    }

    /// The receiver of `connection`, which is one to `port`, asks for data.
    #[cold]
    pub fn add_request(&mut self, _connection: usize, _port: u16, _now: Time) {
        #[cfg(feature = "delays")]
        if let Some(delays) = &mut self.delays {
            delays.on_request(_connection, _port, _now);
        }
    }

    /// A receiver gets a packet. What travels from receiver to sender is left out.
    #[cold]
    pub fn add_received(&mut self, packet: &Packet, now: Time) {
        if let Some(rows) = &mut self.rows {
            rows.add_received(packet, now);
        }
        #[cfg(feature = "delays")]
        if let Some(delays) = &mut self.delays {
            delays.on_received(packet, now);
        }
    }

    /// One-way delays, where they were wanted.
    #[cfg(feature = "delays")]
    pub fn delays(&self) -> Option<&delays::Delays> {
        self.delays.as_ref()
    }

    /// The rows of packets, where they were wanted.
    pub fn into_rows(self) -> Option<PacketLog> {
        self.rows
    }
}
