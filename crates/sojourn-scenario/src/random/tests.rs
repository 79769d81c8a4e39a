//! What random scenarios are.

use super::*;

#[test]
fn enough_random_scenarios_are_valid() {
    let mut random = Stream::new(1, "random scenarios");
    let valid = |text: &str| Scenario::parse(text, None, &Base::Nowhere, &[]).is_ok();
    let count = (0..1000).filter(|_| valid(&text(&mut random))).count();
    assert!(count > 120, "{count} of 1000");
}
