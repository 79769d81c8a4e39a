//! Numbers of connections, in the order in which they are seen.

use std::collections::HashMap;

/// An address, of 4 or of 16 bytes, and a port.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct End {
    address: [u8; 16],
    length: u8,
    port: u16,
}

impl End {
    pub(super) fn new(address: &[u8], port: u16) -> End {
        let mut bytes = [0; 16];
        bytes[..address.len()].copy_from_slice(address);
        End { address: bytes, length: address.len() as u8, port }
    }

    /// The address and the port, in network order.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        [&self.address[..usize::from(self.length)], &self.port.to_be_bytes()].concat()
    }
}

/// A protocol, and both ends; the first one sent the first packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Connection {
    /// As IP calls it.
    pub protocol: u8,
    /// The two ends.
    pub ends: [End; 2],
}

/// Connections whose ends are remembered while a file is read.
const MAX_CONNECTIONS: usize = 1 << 16;

/// Gives connections their numbers.
#[derive(Default)]
pub(super) struct Connections {
    numbers: HashMap<Connection, u32>,
    /// How many packets each has, by number.
    packets: Vec<u32>,
}

impl Connections {
    /// The number of the connection of a packet, and whether it runs from the first end to the second.
    pub fn number(&mut self, connection: &Connection) -> (u32, bool) {
        let [one, other] = connection.ends;
        let back = Connection { ends: [other, one], ..*connection };
        let (number, forth) = match (self.numbers.get(connection), self.numbers.get(&back)) {
            (Some(&number), _) => (number, true),
            (None, Some(&number)) => (number, false),
            (None, None) => (self.add(*connection), true),
        };
        self.packets[number as usize] += 1;
        (number, forth)
    }

    fn add(&mut self, connection: Connection) -> u32 {
        if self.numbers.len() >= MAX_CONNECTIONS {
            self.forget();
        }
        let number = self.packets.len() as u32;
        self.numbers.insert(connection, number);
        self.packets.push(0);
        number
    }

    /// Forgets the half of the connections with the fewest packets; one that goes on afterwards has another number.
    fn forget(&mut self) {
        let mut known: Vec<_> = self.numbers.drain().collect();
        known.sort_by_key(|&(_, number)| (std::cmp::Reverse(self.packets[number as usize]), number));
        known.truncate(MAX_CONNECTIONS / 2);
        self.numbers.extend(known);
    }

    /// Those that are remembered, by their numbers.
    pub fn known(self) -> Vec<(u32, Connection)> {
        let mut known: Vec<_> = self.numbers.into_iter().map(|(connection, number)| (number, connection)).collect();
        known.sort_unstable_by_key(|&(number, _)| number);
        known
    }
}
