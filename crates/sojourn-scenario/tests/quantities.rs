//! Quantities of any dimension, for those who put them into tables.

use sojourn_scenario::read_quantity;

#[test]
fn quantities_come_in_basic_units() {
    let cases = [
        ("50 ms", Some((0.05, "s"))),
        ("-2 s", Some((-2.0, "s"))),
        ("4 Mbit/s", Some((4e6, "bit/s"))),
        ("64 kB", Some((64e3, "B"))),
        ("0.5 packets", Some((0.5, "packets"))),
        ("red", None),
        ("5", None),
        ("5 apples", None),
    ];
    for (text, expected) in cases {
        assert_eq!(read_quantity(text), expected, "{text}");
    }
}
