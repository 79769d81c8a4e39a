//! What is counted for controls that want rate samples.

use super::network::{Network, first, network_of, network_with};
use crate::options::flag;
use sojourn_core::registry::{Params, Value};

/// Every segment is one delivery, lost before or not, told by SACK or by duplicate acknowledgements.
#[test]
fn every_segment_is_delivered_once() {
    for sack in [true, false] {
        let mut path = network_of("bbr", &[("sack", flag(sack))], &[]);
        path.drops = first(&[3, 5, 20, 60, 61, 120]);
        path.send_segments(200).run(100_000);
        path.assert_complete(200);
        let delivered = path.sender.rate.as_ref().map(|sampler| sampler.delivered());
        assert_eq!(delivered, Some(200), "sack {sack}\n{}", path.table());
    }
}

/// Linux (`tcp_rate_check_app_limited`): what the application limits is known when it writes again; the draft says at once.
#[test]
fn the_application_limits_rates_from_its_next_write_on() {
    let limited = |rule| {
        let mut path = network_of("bbr", &[("app_limited", Value::Choice(rule))], &[]);
        let mut seen = Vec::new();
        let mut look = |path: &Network| seen.push(path.sender.rate.as_ref().unwrap().is_app_limited());
        path.send_segments(3).run(20);
        look(&path);
        path.run(1000);
        look(&path);
        path.send_segments(6);
        look(&path);
        path.run(2000);
        look(&path);
        seen
    };
    // The first write finds nothing under way, and what it sends is delivered by the second look.
    assert_eq!(limited("linux"), [true, false, true, false]);
    assert_eq!(limited("rfc"), [true, true, true, true]);
}

/// A window that is full when the application writes says that the network limits.
#[test]
fn a_full_window_is_not_the_applications_limit() {
    let mut path = network_of("bbr", &[("app_limited", Value::Choice("linux"))], &[]);
    path.send_segments(10).run(0);
    path.sender.rate.as_mut().unwrap().forget_limit();
    path.send_segments(20);
    assert!(!path.sender.rate.as_ref().unwrap().is_app_limited());
}

/// Linux paces what BBR sends again like all else: the first retransmission leaves a gap after what went before it.
#[test]
fn a_repair_is_paced() {
    let mut path = network_with(&bbr(), "linux", &[]);
    path.drops = first(&[40]);
    path.send_segments(300).run(100_000);
    path.assert_complete(300);
    let table = path.table();
    let line = table.lines().find(|line| line.contains("40again")).unwrap();
    assert!(line.contains("timer:"), "{table}");
}

fn bbr() -> Params {
    Params::new(sojourn_congestion::find("bbr").unwrap(), None)
}
