//! The bytes of the packets that are under way.

use crate::bundle::{Bundle, PREFIX_BYTES};

/// Most bytes that one read gives: an IP packet and what stands before it.
pub const MOST_BYTES: usize = PREFIX_BYTES + 65_535;

/// Packets under way by their tokens. Buffers are used again, so that nothing is allocated for a packet
/// once there are as many as are under way at most.
#[derive(Default, Debug)]
pub struct Buffers {
    packets: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl Buffers {
    /// Keeps packet `index` of what came in; its token.
    pub fn keep(&mut self, bundle: &Bundle<'_>, index: usize) -> u32 {
        let token = self.free.pop().unwrap_or_else(|| {
            self.packets.push(Vec::new());
            self.packets.len() as u32 - 1
        });
        bundle.write(index, &mut self.packets[token as usize]);
        token
    }

    /// A packet that is under way, behind its prefix.
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
