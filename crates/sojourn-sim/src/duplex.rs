//! Data in both directions of one connection: two flows whose acknowledgements travel with each other's data.
//!
//! A packet is too small for all that both say: what an acknowledgement says stays here while it travels, and the data names its
//! place.

use crate::Packet;
use sojourn_transport::{Segment, SegmentKind};
use std::collections::HashMap;

/// What a flow has whose connection carries data the other way as well.
#[derive(Debug)]
pub struct Duplex {
    /// The flow of the other way.
    pub other: usize,
    /// What is acknowledged by its data under way, by the number of the packet.
    under_way: HashMap<u32, Segment>,
    /// The number of its next packet.
    next: u32,
    /// The acknowledgement of what its receiver has just got, which goes with the other flow's data if that sends any now.
    pub owed: Option<Segment>,
}

impl Duplex {
    /// What a flow has beside the flow `other`.
    pub fn with(other: usize) -> Duplex {
        Duplex { other, under_way: HashMap::new(), next: 0, owed: None }
    }

    /// Keeps what the data of `packet` acknowledges, and names its place there.
    pub fn put(&mut self, packet: &mut Packet, ack: Segment) {
        packet.body.carry(self.next, &ack);
        packet.bytes += packet.body.option_bytes();
        self.under_way.insert(self.next, ack);
        self.next = self.next.wrapping_add(1);
    }

    /// What the data of `packet` acknowledges, which is no longer under way; nothing where it is no data.
    pub fn take(&mut self, packet: &Packet) -> Option<Segment> {
        let is_data = packet.body.kind == SegmentKind::DataAck;
        is_data.then(|| self.under_way.remove(&packet.body.sack[0].start))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Time;
    use sojourn_transport::Block;

    /// An acknowledgement whose first block begins at the number of a packet says nothing of that packet.
    #[test]
    fn what_data_acknowledges_is_lost_with_that_data_only() {
        let mut duplex = Duplex::with(1);
        duplex.under_way.insert(5, Segment::new(SegmentKind::Ack, 9, Time::ZERO));
        let mut ack = Packet::new(0, 64, Segment::new(SegmentKind::Ack, 3, Time::ZERO));
        ack.body.sack[0] = Block { start: 5, end: 6 };
        assert!(duplex.take(&ack).is_none());
        let mut data = Packet::new(0, 1500, Segment::new(SegmentKind::Data, 0, Time::ZERO));
        data.body.carry(5, &ack.body);
        assert_eq!(duplex.take(&data).map(|ack| ack.number), Some(9));
        assert!(duplex.take(&data).is_none());
    }
}
