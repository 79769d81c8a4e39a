//! One declaration, read and written.

use super::*;
use sojourn_core::choices;

choices! {
    /// How a gate opens.
    enum Gate {
        Slowly = "slowly",
        AtOnce = "at-once",
    }
}

held! { Gate: |this| this.value() }

table! {
    /// some of each kind,
    /// in two lines
    struct Toy = TOY, "toy", one_of &["rate", "every"] => {
        /// a size
        size_bytes as "size": u32 = bytes(1..=1000).or("10 B", "20 B"),
        /// a rate
        rate: Option<Rate> = rate().unless("follows from `every`", "1 Mbit/s"),
        /// a time
        every: Option<Span> = span(Span::ZERO..=Span::from_secs(1)).unless("follows from `rate`", "1 ms"),
        /// a word
        gate: Gate = word().required("slowly"),
        /// what others say
        other: Elsewhere = elsewhere(Form::Text).absent("nothing", "x"),
    }
}

#[test]
fn a_field_is_a_key_with_its_description() {
    assert_eq!(
        (TOY.name, TOY.description, TOY.one_of),
        ("toy", "some of each kind, in two lines", ["rate", "every"].as_slice())
    );
    let key = TOY.key("size").expect("it has an alias");
    assert_eq!((key.description, key.example), ("a size", "20 B"));
    assert!(matches!(key.presence, Presence::Default("10 B")));
    assert!(matches!(key.form, Form::Bytes { min: 1, max: 1000 }));
    assert!(matches!(&TOY.key("gate").expect("a key").form, Form::Value(Kind::Choice(["slowly", "at-once"]))));
}

#[test]
fn what_is_written_is_read_again() {
    let toy =
        Toy { size_bytes: 7, rate: None, every: Some(Span::from_millis(2)), gate: Gate::AtOnce, other: Elsewhere };
    let fields = toy.fields();
    assert!(matches!(fields.item("size"), Some(Item::Bytes(7))));
    assert!(fields.item("rate").is_none() && fields.item("other").is_none());
    assert_eq!(Table::read(&fields), Some(toy));
}

/// A value that was refused is not there, and a table without it is none.
#[test]
fn a_table_without_a_value_is_not_read() {
    let mut fields = Fields::new(&TOY, Origin::Unknown);
    fields.put("size", Item::Bytes(7));
    assert_eq!(<Toy as Table>::read(&fields), None);
    fields.put("gate", Item::Value(Gate::Slowly.value()));
    assert!(<Toy as Table>::read(&fields).is_some());
    fields.put("every", Item::Text("soon".to_owned()));
    assert_eq!(<Toy as Table>::read(&fields), None);
}
