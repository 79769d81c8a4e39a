//! What routers on the way write into headers, and code points of datagrams.

use crate::common::{outcome, scenario};
use sojourn_queue::{Dscp, Ecn};
use sojourn_sim::{PacketEvent, PacketRow, Wanted};
use std::collections::BTreeSet;

/// Rows of a flow over 5 Mbit/s with CoDel that marks, with more links, and of other traffic beside it.
fn rows(hop: &str, flow: &str) -> Vec<PacketRow> {
    let text = format!(
        "duration = \"3 s\"\nbottleneck = {{ rate = \"5 Mbit/s\", queue = {{ kind = \"codel\", ecn = true }} }}\n{hop}\n\
         [[group]]\nname = \"a\"\nrtt = \"20 ms\"\ndscp = \"le\"\n{flow}"
    );
    let outcome = outcome(&scenario(&text), &Wanted { packets: true, ..Wanted::default() });
    outcome.packets.expect("packets were wanted").rows
}

const ECN_FLOW: &str = "control = \"newreno\"\ntransport = { ecn = true }";

fn hop(at: &str, remark: &str) -> String {
    format!("[[hop]]\nname = \"router\"\nat = \"{at}\"\nrate = \"100 Mbit/s\"\nremark = {{ {remark} }}")
}

/// How many packets were marked and dropped, and which code points the receiver saw in data.
fn seen(rows: &[PacketRow]) -> (usize, usize, Vec<Ecn>) {
    let count = |event| rows.iter().filter(|row| row.event == event).count();
    let data = rows.iter().filter(|row| row.event == PacketEvent::Receive && !row.packet.body.kind.travels_back());
    let received: BTreeSet<_> = data.map(|row| row.packet.ecn as u8).collect();
    let all = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
    let received = all.into_iter().filter(|ecn| received.contains(&(*ecn as u8))).collect();
    (count(PacketEvent::Mark), count(PacketEvent::Drop), received)
}

#[test]
fn where_the_field_is_cleared_the_queue_behind_drops() {
    let (marks, _, received) = seen(&rows("", ECN_FLOW));
    assert!(marks > 0 && received.contains(&Ecn::Ce), "{marks} {received:?}");
    let (marks, drops, received) = seen(&rows(&hop("before", "ecn = \"bleached\""), ECN_FLOW));
    assert_eq!((marks, received), (0, vec![Ecn::NotEct]));
    assert!(drops > 0);
}

#[test]
fn marks_are_lost_where_they_are_taken_away() {
    let (marks, _, received) = seen(&rows(&hop("after", "ecn = \"unmarked\""), ECN_FLOW));
    assert!(marks > 0);
    // Retransmissions and what begins a connection are not ECN-capable.
    assert!(received.contains(&Ecn::Ect0) && !received.contains(&Ecn::Ce), "{received:?}");
}

#[test]
fn a_scalable_sender_may_be_made_one_like_others() {
    let scalable = "control = \"prague\"\ntransport = { ecn = \"accurate\" }";
    let (_, _, before) = seen(&rows("", scalable));
    let (_, _, after) = seen(&rows(&hop("before", "ecn = \"ect0\""), scalable));
    assert!(before.contains(&Ecn::Ect1) && !before.contains(&Ecn::Ect0), "{before:?}");
    assert!(after.contains(&Ecn::Ect0) && !after.contains(&Ecn::Ect1), "{after:?}");
}

#[test]
fn the_code_point_of_a_class_may_change_on_the_way() {
    let rows = rows(&hop("after", "dscp = \"cs1\""), ECN_FLOW);
    let of = |event| -> BTreeSet<u8> {
        let forward = rows.iter().filter(|row| row.event == event && !row.packet.body.kind.travels_back());
        forward.map(|row| row.packet.dscp.number()).collect()
    };
    let (before, after) = (Dscp::from_name("le").unwrap().number(), Dscp::from_name("cs1").unwrap().number());
    assert_eq!(of(PacketEvent::Departure), BTreeSet::from([before]), "at the bottleneck");
    assert_eq!(of(PacketEvent::Receive), BTreeSet::from([after]));
}

/// 6 Mbit/s over 5: CoDel marks what is capable, and drops what is not.
#[test]
fn datagrams_may_carry_a_code_point() {
    for (ect, received) in [("", Ecn::NotEct), (", ect = \"ect0\"", Ecn::Ect0), (", ect = \"ect1\"", Ecn::Ect1)] {
        for kind in ["cbr\", rate = \"6 Mbit/s\"", "train\", count = 5, every = \"10 ms\""] {
            let rows = rows("", &format!("traffic = {{ kind = \"{kind}{ect} }}"));
            let (marks, drops, seen) = seen(&rows);
            assert!(seen.contains(&received), "{kind} {seen:?}");
            assert_eq!((marks > 0, drops > 0), (received != Ecn::NotEct, received == Ecn::NotEct), "{kind} {ect}");
        }
    }
}
