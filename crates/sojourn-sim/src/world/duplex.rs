//! Makes one connection of two flows, and lets the data of each take along what the other has to acknowledge.

use crate::Packet;
use crate::duplex::Duplex;
use crate::flow::Flow;
use sojourn_core::Time;
use sojourn_queue::Ecn;
use sojourn_scenario::Scenario;
use sojourn_transport::SegmentKind;

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
    duplex.put(packet, ack);
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
