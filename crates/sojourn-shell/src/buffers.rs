//! The bytes of the packets that are under way.

/// Most bytes of an IP packet.
const MOST_BYTES: usize = 65_535;

/// Packets under way by their tokens, and room for the next. Buffers are used again, so that nothing is allocated for a packet
/// once there are as many as are under way at most.
#[derive(Default, Debug)]
pub struct Buffers {
    packets: Vec<Vec<u8>>,
    free: Vec<u32>,
    /// Where the next packet is read to.
    incoming: Vec<u8>,
}

impl Buffers {
    /// Room for the next packet.
    pub fn incoming(&mut self) -> &mut [u8] {
        self.incoming.resize(MOST_BYTES, 0);
        &mut self.incoming
    }

    /// Keeps the first `bytes` of what came in; its token.
    pub fn keep(&mut self, bytes: usize) -> u32 {
        let token = self.free.pop().unwrap_or_else(|| {
            self.packets.push(Vec::new());
            self.packets.len() as u32 - 1
        });
        let packet = &mut self.packets[token as usize];
        packet.clear();
        packet.extend_from_slice(&self.incoming[..bytes]);
        token
    }

    /// A packet that is under way.
    pub fn packet(&mut self, token: u32) -> &mut [u8] {
        &mut self.packets[token as usize]
    }

    /// A packet has left.
    pub fn release(&mut self, token: u32) {
        self.free.push(token);
    }

    /// How many packets are under way.
    pub fn under_way(&self) -> u64 {
        (self.packets.len() - self.free.len()) as u64
    }
}
