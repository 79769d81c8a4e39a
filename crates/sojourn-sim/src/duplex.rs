//! Data in both directions of one connection: two flows whose acknowledgements travel with each other's data.
//!
//! A packet is too small for all that both say: what an acknowledgement says stays here while it travels, and the data names its
//! place.

use crate::Packet;
use crate::flow::Flow;
use sojourn_core::Time;
use sojourn_queue::Ecn;
use sojourn_scenario::Scenario;
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
    fn with(other: usize) -> Duplex {
        Duplex { other, under_way: HashMap::new(), next: 0, owed: None }
    }

    /// What the data of `packet` acknowledges, which is no longer under way; nothing where it is no data.
    pub fn take(&mut self, packet: &Packet) -> Option<Segment> {
        let is_data = packet.body.kind == SegmentKind::DataAck;
        is_data.then(|| self.under_way.remove(&packet.body.sack[0].start))?
    }
}

/// Both flows of a connection, in whose numbers `index` comes first.
fn both(flows: &mut [Flow], index: usize) -> Option<[&mut Flow; 2]> {
    let other = flows[index].duplex.as_ref()?.other;
    flows.get_disjoint_mut([index, other]).ok()
}

/// Makes one connection of two flows where a group's data travels on connections of another.
pub fn join_all(scenario: &Scenario, flows: &mut [Flow]) {
    let first = |group: usize| flows.iter().position(|flow| flow.group as usize == group);
    let ways: Vec<_> = scenario
        .groups
        .iter()
        .enumerate()
        .filter_map(|(answers, group)| Some((first(group.connections_of?)?, first(answers)?, group.flows as usize)))
        .collect();
    for (opens, answers, count) in ways {
        (0..count).for_each(|index| join(flows, opens + index, answers + index));
    }
}

/// Makes `first` and `second` the two ways of one connection, which the first opens.
fn join(flows: &mut [Flow], first: usize, second: usize) {
    flows[second].key = flows[first].key.reversed();
    flows[first].duplex = Some(Box::new(Duplex::with(second)));
    flows[second].duplex = Some(Box::new(Duplex::with(first)));
}

/// The data that the flow `index` sends `now` takes along what there is to acknowledge.
#[cold]
pub fn attach(flows: &mut [Flow], index: usize, packet: &mut Packet, now: Time) {
    let Some([flow, other]) = both(flows, index).filter(|_| packet.body.kind == SegmentKind::Data) else { return };
    let owed = other.duplex.as_mut().and_then(|duplex| duplex.owed.take());
    let rtt = flow.sender().rtt().smoothed();
    let receiver = other.receiver();
    receiver.set_rtt_here(rtt);
    let ack = match owed {
        Some(ack) => {
            receiver.note_data_sent(now);
            ack
        }
        None => receiver.on_data_sent(now),
    };
    let Some(duplex) = &mut flow.duplex else { return };
    packet.body.carry(duplex.next, &ack);
    packet.bytes += packet.body.option_bytes();
    duplex.under_way.insert(duplex.next, ack);
    duplex.next = duplex.next.wrapping_add(1);
}

/// The end that was connected to has got the first data of the flow `index`: the connection is open for it as well.
pub fn open(flows: &mut [Flow], index: usize, now: Time) {
    let Some([flow, other]) = both(flows, index) else { return };
    if other.sender().is_connecting() {
        if flow.ecn == Ecn::NotEct {
            other.ecn = Ecn::NotEct;
        }
        let answered = other.sender().first_syn();
        other.sender().on_syn_ack(now, answered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
