//! Counts of marks as feedback (RFC 9768), over a whole path.

use crate::common::{outcome, scenario};
use sojourn_queue::Ecn;
use sojourn_sim::{PacketEvent, PacketRow, Wanted};
use sojourn_transport::{EcnFlags, SegmentKind};

/// Rows of a Prague flow over 5 Mbit/s with DualPI2. It uploads, so that its acknowledgements cross the bottleneck, which is logged.
fn rows(transport: &str) -> Vec<PacketRow> {
    let text = format!(
        "duration = \"3 s\"\nbottleneck = {{ rate = \"1 Mbit/s\" }}\nreverse = {{ rate = \"5 Mbit/s\", queue = \"dualpi2\" }}\n\
         [[group]]\nname = \"a\"\nrtt = \"20 ms\"\ncontrol = \"prague\"\ndirection = \"reverse\"\n\
         transport = {{ ecn = {transport} }}"
    );
    let outcome = outcome(&scenario(&text), &Wanted { packets: true, ..Wanted::default() });
    outcome.packets.expect("packets were wanted").rows
}

fn arrived(rows: &[PacketRow], kind: SegmentKind) -> impl Iterator<Item = &PacketRow> {
    let event = if kind.travels_back() { PacketEvent::Departure } else { PacketEvent::Receive };
    rows.iter().filter(move |row| row.event == event && row.packet.body.kind == kind)
}

/// The handshake's flags, and what data carry.
fn agreed(rows: &[PacketRow]) -> (EcnFlags, EcnFlags, Vec<Ecn>) {
    let flags = |kind| arrived(rows, kind).next().unwrap().packet.body.ecn;
    let mut data: Vec<Ecn> = Vec::new();
    for row in arrived(rows, SegmentKind::Data) {
        if !data.contains(&row.packet.ecn) {
            data.push(row.packet.ecn);
        }
    }
    (flags(SegmentKind::Syn), flags(SegmentKind::SynAck), data)
}

#[test]
fn each_acknowledgement_carries_the_count() {
    let rows = rows("\"accecn\"");
    let (asks, answers, data) = agreed(&rows);
    assert_eq!((asks, answers), (EcnFlags::ALL, EcnFlags::CWR));
    assert!(data.contains(&Ecn::Ect1) && data.contains(&Ecn::Ce) && !data.contains(&Ecn::Ect0), "{data:?}");
    let marks = arrived(&rows, SegmentKind::Data).filter(|row| row.packet.ecn == Ecn::Ce).count();
    let told = usize::from(arrived(&rows, SegmentKind::Ack).last().unwrap().packet.body.ecn.ace());
    // At the end one or two marks are still to be told.
    assert!(marks > 100 && (5 + marks - told) % 8 <= 2, "{marks} {told}");
    let acks: Vec<_> = arrived(&rows, SegmentKind::Ack).collect();
    assert!(acks.iter().all(|row| row.packet.bytes == 60), "52 B and 8 of the option");
}

#[test]
fn the_option_can_be_left_out() {
    let rows = rows("\"accecn-without-option\"");
    assert!(arrived(&rows, SegmentKind::Ack).all(|row| row.packet.bytes == 52));
}

/// RFC 9331 section 4.2: ECT(1) says that both ends have accurate feedback.
#[test]
fn data_carries_what_both_ends_can_do() {
    let (_, answers, data) = agreed(&rows("\"accecn-to-classic\""));
    assert_eq!(answers, EcnFlags::ECE);
    assert!(data.contains(&Ecn::Ect0) && !data.contains(&Ecn::Ect1), "{data:?}");
    let (_, answers, data) = agreed(&rows("\"accecn-to-none\""));
    assert_eq!((answers, data), (EcnFlags::NONE, vec![Ecn::NotEct]));
    // Without a handshake both ends know beforehand.
    let rows = rows("\"accecn-to-classic\", handshake = false");
    assert!(arrived(&rows, SegmentKind::Data).all(|row| row.packet.ecn != Ecn::Ect1));
}
