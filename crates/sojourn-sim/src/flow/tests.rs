//! How large a flow is.

use super::Flow;

/// There may be very many, and each touches as many cache lines with every packet as it is spread over.
#[test]
fn a_flow_is_small() {
    assert!(size_of::<Flow>() <= 880, "{} bytes", size_of::<Flow>());
}
