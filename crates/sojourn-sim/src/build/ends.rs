//! What the flows of a group are at their ends: sender and receiver, addresses, headers and code points.

use super::FlowPlace;
use crate::dialer::Dialer;
use crate::flow::{Endpoints, FIRST_PORT};
use sojourn_congestion::{Control, EcnUse};
use sojourn_core::Serializer;
use sojourn_queue::{Ecn, FlowKey, Host, Protocol};
use sojourn_scenario::{Cbr, Group, Traffic, Train, Voip};
use sojourn_traffic::{Datagrams, Padding, Spacing, Trains};
use sojourn_transport::{Ect, Options};

/// The ends of flow `index` of `group`.
pub(super) fn endpoints(group: &Group, index: u32, options: &Options, seed: u64) -> Endpoints {
    if group.is_outside() {
        return Endpoints::Outside(Box::default());
    }
    match &group.traffic {
        Traffic::Cbr(cbr) => {
            return Endpoints::Datagrams(Datagrams::new(Spacing::Rate(Serializer::new(cbr.rate)), cbr.packet_bytes));
        }
        Traffic::Ping(ping) => return Endpoints::Datagrams(Datagrams::pings(ping.every, ping.packet_bytes)),
        Traffic::Train(train) => {
            let trains = Spacing::Trains(Trains::new(train));
            return Endpoints::Datagrams(Datagrams::new(trains, train.packet_bytes));
        }
        Traffic::Program(_) => unreachable!("its packets come from outside"),
        Traffic::Padding(padding) => return Endpoints::Padding(Box::new(Padding::new(padding))),
        Traffic::Voip(voip) => {
            return Endpoints::Datagrams(Datagrams::new(Spacing::Every(voip.frame), voip.packet_bytes()));
        }
        Traffic::Bulk(_)
        | Traffic::OnOff(_)
        | Traffic::Video(_)
        | Traffic::Transfers(_)
        | Traffic::Web(_)
        | Traffic::Messages(_)
        | Traffic::Custom(_) => {}
    }
    let (sender, receiver) = Dialer::new(group, options, seed).dial(index, 0);
    Endpoints::Transport(sender, receiver)
}

/// Flow `number`, the `index`th of its group, has two hosts of its own, or those of the flow whose turn it repeats. Each
/// flow of a sending host has another port there.
pub(super) fn flow_key(group: &Group, &FlowPlace { index, number, .. }: &FlowPlace, endpoints: &Endpoints) -> FlowKey {
    let first = number - index;
    let host = |hosts: Option<u32>| Host::new(first + index % hosts.unwrap_or(group.flows));
    let protocol = match endpoints {
        Endpoints::Transport(..) => Protocol::Tcp,
        Endpoints::Datagrams(_) | Endpoints::Padding(_) | Endpoints::Outside(_) => Protocol::Udp,
    };
    FlowKey {
        source: host(group.hosts),
        destination: host(group.receiver_hosts),
        source_port: 40_000u16.wrapping_add((index / group.hosts.unwrap_or(group.flows)) as u16),
        destination_port: FIRST_PORT,
        protocol,
    }
}

/// The station that flow `index` of a group goes to or comes from; the first for those that cross no medium.
pub(super) fn station(group: &Group, index: u32) -> usize {
    group.route(index as usize).station.unwrap_or(0)
}

/// What its data packets carry.
pub(super) fn codepoint(group: &Group, options: &Options, endpoints: &Endpoints) -> Ecn {
    match endpoints {
        Endpoints::Transport(sender, _) if sender.uses_ecn() => match (options.ect, sender.control().ecn()) {
            (Ect::Zero, _) | (Ect::OfControl, EcnUse::Optional | EcnUse::Exact) => Ecn::Ect0,
            (Ect::One, _) | (Ect::OfControl, EcnUse::Scalable) => Ecn::Ect1,
        },
        Endpoints::Transport(..) | Endpoints::Padding(_) | Endpoints::Outside(_) => Ecn::NotEct,
        Endpoints::Datagrams(_) => group.traffic.datagram_ecn(),
    }
}

/// IP and UDP headers of a datagram (RFC 791, RFC 768).
const DATAGRAM_HEADER_BYTES: u32 = 28;

/// Header bytes of every packet of `group`.
pub fn header_bytes(group: &Group, options: &Options) -> u32 {
    match &group.traffic {
        _ if group.is_outside() => DATAGRAM_HEADER_BYTES,
        Traffic::Cbr(Cbr { packet_bytes, .. }) | Traffic::Train(Train { packet_bytes, .. }) => {
            DATAGRAM_HEADER_BYTES.min(*packet_bytes)
        }
        Traffic::Voip(_) => Voip::HEADER_BYTES,
        Traffic::Ping { .. } | Traffic::Padding(_) | Traffic::Program(_) => DATAGRAM_HEADER_BYTES,
        Traffic::Bulk { .. }
        | Traffic::OnOff { .. }
        | Traffic::Video(_)
        | Traffic::Transfers { .. }
        | Traffic::Web(_)
        | Traffic::Messages(_)
        | Traffic::Custom(_) => options.header_bytes,
    }
}
