//! Traffic that sends whatever happens to its packets: at a constant rate, as pings, in trains; and packets from outside.

use crate::addresses::Addresses;
use crate::declare::{Declared, Held, addresses, bytes, dscp, integer, rate, span, table, word_of};
use crate::fields::Item;
use crate::form::{Form, LONGEST, MOMENT};
use core::net::IpAddr;
use sojourn_core::registry::Value;
use sojourn_core::{Rate, Span};
use sojourn_queue::{Dscp, Ecn};

/// The ECN code point of datagrams: where a file says none they are not ECN-capable.
const DATAGRAM_ECT: Declared<Ecn> = word_of::<Ecn>(&["ect0", "ect1"]).absent("its packets are not ECN-capable", "ect1");

impl Held for Ecn {
    fn from_item(item: Option<&Item>) -> Option<Ecn> {
        Some(match item {
            None => Ecn::NotEct,
            Some(Item::Value(Value::Choice("ect0"))) => Ecn::Ect0,
            Some(_) => Ecn::Ect1,
        })
    }

    fn to_item(&self, _: &Form) -> Option<Item> {
        let word = match self {
            Ecn::Ect0 => "ect0",
            Ecn::Ect1 => "ect1",
            Ecn::NotEct | Ecn::Ce => return None,
        };
        Some(Item::Value(Value::Choice(word)))
    }
}

table! {
    /// packets of one size at a constant rate, whatever happens to them; has no congestion control
    pub struct Cbr = CBR, "cbr" => {
        /// rate on the wire
        rate: Rate = rate().required("64 kbit/s"),
        /// size of a packet on the wire
        packet_bytes as "packet": u32 = bytes(40..=65_535).or("1500 B", "200 B"),
        /// the ECN code point that its packets carry although nothing heeds their marks
        ecn as "ect": Ecn = DATAGRAM_ECT,
    }
}

table! {
    /// small packets at a constant interval that the receiver sends back: their round-trip times, and how many round
    /// trips fit into a minute, are in the record. Has no congestion control
    pub struct Ping = PING, "ping" => {
        /// from one packet to the next
        every: Span = span(Span::from_millis(1)..=LONGEST).or("200 ms", "100 ms"),
        /// size of a packet on the wire, both ways; the default is that of the command ping
        packet_bytes as "packet": u32 = bytes(40..=65_535).or("84 B", "64 B"),
    }
}

table! {
    /// packets of a program that runs behind the scenario's path in real time (`sojourn shell`), of either direction as
    /// its group says; its congestion control is its own. A packet is counted in the first group that names something and
    /// has all that it names, else in the group that names nothing. Other worlds than `shell` do not run it
    pub struct Program = PROGRAM, "program" => {
        /// the port, at either end, of the packets that are counted here
        port: Option<u32> = integer(1..=65_535).unless("any port", "5201"),
        /// the address, or the network, of either end of the packets that are counted here
        address: Option<Addresses> = addresses().unless("any address", "192.0.2.0/24"),
        /// the code point of the packets that are counted here, as they enter the path
        dscp: Option<Dscp> = dscp().unless("any code point", "ef"),
    }
}

impl Program {
    /// Whether it names something of its packets. A group that names nothing takes what no other one does.
    pub fn names(&self) -> bool {
        *self != Program { port: None, address: None, dscp: None }
    }

    /// Whether a packet between these ports and addresses, with this code point, has all that is named.
    pub fn takes(&self, ports: [u16; 2], addresses: [IpAddr; 2], dscp: Dscp) -> bool {
        self.port.is_none_or(|port| ports.iter().any(|&one| u32::from(one) == port))
            && self.address.is_none_or(|these| addresses.iter().any(|&one| these.contain(one)))
            && self.dscp.is_none_or(|one| one == dscp)
    }
}

table! {
    /// trains of packets of one size at exact times, whatever happens to them, as probes of a path or video frame
    /// by frame send them; the record tells how long each train takes as a whole, and how many are not whole. Has no
    /// congestion control
    pub struct Train = TRAIN, "train" => {
        /// packets of a train
        count: u32 = integer(1..=1_000_000).required("6"),
        /// size of a packet on the wire
        packet_bytes as "packet": u32 = bytes(40..=65_535).or("1500 B", "150 B"),
        /// the ECN code point that its packets carry although nothing heeds their marks
        ecn as "ect": Ecn = DATAGRAM_ECT,
        /// from one packet of a train to the next; with zero they are sent back to back
        spacing: Span = span(MOMENT).or("0 s", "1 ms"),
        /// from the start of a train to that of the next
        every: Option<Span> = span(Span::from_micros(1)..=LONGEST).unless("one train alone", "250 ms"),
        /// how many trains there are
        repeat: Option<u32> = integer(1..=1_000_000_000)
            .beside("every", "trains until the flow stops", "a train is repeated at an interval", "8"),
        /// packets of the first of every `large_every` trains, as of the frames of video that need no other
        large: Option<u32> = integer(1..=1_000_000)
            .beside("large_every", "all have `count`", "it is what some of the trains have", "60"),
        /// from one large train to the next, in trains
        large_every: Option<u32> = integer(2..=1_000_000)
            .beside("large", "all have `count`", "it says which trains are large", "30"),
    }
}

impl Train {
    /// Packets of the large trains, and from one of them to the next in trains, where there are any; the first one is large.
    pub fn large(&self) -> Option<(u32, u32)> {
        self.large.zip(self.large_every)
    }

    /// Packets of train `index`.
    pub fn packets(&self, index: u32) -> u32 {
        match self.large() {
            Some((packets, every)) if index.is_multiple_of(every) => packets,
            _ => self.count,
        }
    }

    /// The train of packet `number`, and its place in it.
    pub fn place(&self, number: u32) -> (u32, u32) {
        let Some((large, every)) = self.large() else { return (number / self.count, number % self.count) };
        let (number, count, large) = (u64::from(number), u64::from(self.count), u64::from(large));
        let round = large + count * u64::from(every - 1);
        let first = (number / round) as u32 * every;
        match (number % round).checked_sub(large) {
            None => (first, (number % round) as u32),
            Some(after) => (first + 1 + (after / count) as u32, (after % count) as u32),
        }
    }

    /// Packets of a train in the mean.
    pub fn mean_packets(&self) -> f64 {
        let count = f64::from(self.count);
        self.large().map_or(count, |(packets, every)| count + (f64::from(packets) - count) / f64::from(every))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORTS: [u16; 2] = [40_000, 443];

    fn program(port: Option<u32>, address: Option<&str>, dscp: Option<Dscp>) -> Program {
        Program { port, address: address.map(|text| text.parse().expect("addresses")), dscp }
    }

    #[test]
    fn a_program_s_packet_has_all_that_its_group_names() {
        let addresses = ["10.77.0.2", "192.0.2.7"].map(|text| text.parse().expect("an address"));
        let takes = |one: &Program| one.takes(PORTS, addresses, Dscp::LE);
        for (one, expected) in [
            (program(None, None, None), true),
            (program(Some(443), None, None), true),
            (program(Some(80), None, None), false),
            (program(None, Some("192.0.2.0/24"), None), true),
            (program(None, Some("10.77.0.2"), None), true),
            (program(None, Some("192.0.3.0/24"), None), false),
            (program(None, Some("::/0"), None), false),
            (program(None, None, Some(Dscp::LE)), true),
            (program(None, None, Some(Dscp::default())), false),
            (program(Some(443), Some("192.0.2.7"), Some(Dscp::LE)), true),
            (program(Some(443), Some("192.0.2.7"), Some(Dscp::default())), false),
            (program(Some(80), Some("192.0.2.7"), Some(Dscp::LE)), false),
        ] {
            assert_eq!(takes(&one), expected, "{one:?}");
            assert_eq!(one.names(), one != program(None, None, None), "{one:?}");
        }
    }
}
