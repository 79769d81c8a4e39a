//! Fairness.

use super::jain;

#[test]
fn jain_is_one_for_equals_and_one_over_n_for_a_monopoly() {
    assert_eq!(jain([3.0; 4].into_iter()), Some(1.0));
    assert_eq!(jain([1.0, 0.0, 0.0, 0.0].into_iter()), Some(0.25));
    assert_eq!(jain([0.0, 0.0].into_iter()), None);
}
