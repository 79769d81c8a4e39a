//! What is counted for controls that want rate samples.

use super::network::{first, network_of};
use sojourn_core::registry::Value;

/// Every segment is one delivery, lost before or not, told by SACK or by duplicate acknowledgements.
#[test]
fn every_segment_is_delivered_once() {
    for sack in [true, false] {
        let mut path = network_of("bbr", &[("sack", Value::Boolean(sack))], &[]);
        path.drops = first(&[3, 5, 20, 60, 61, 120]);
        path.send_segments(200).run(100_000);
        path.assert_complete(200);
        let delivered = path.sender.rate.as_ref().map(|sampler| sampler.delivered());
        assert_eq!(delivered, Some(200), "sack {sack}\n{}", path.table());
    }
}
