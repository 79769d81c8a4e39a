//! What the checked values of a file say of the air and its stations.

use crate::fields::{Fields, Item};
use crate::node::{Node, Origin};
use crate::types::is_shared;
use crate::value;
use sojourn_core::Rate;
use sojourn_core::registry::{Kind, Value};
use sojourn_media::wifi::{self, Mode, Setup};

/// Bytes of the packets by which the rate of a shared medium is reckoned.
const NOMINAL_BYTES: u32 = 1500;

/// Whether the bottleneck is an access point.
pub(crate) fn has_air(scenario: &Fields) -> bool {
    scenario.table("bottleneck").and_then(|link| link.chosen("medium")).is_some_and(|medium| is_shared(&medium.params))
}

/// The air of the bottleneck, where it has one and its parameters fit together.
pub(crate) fn air(scenario: &Fields) -> Option<Setup> {
    let medium = scenario.table("bottleneck")?.chosen("medium").filter(|medium| is_shared(&medium.params))?;
    Setup::new(&medium.params).ok()
}

/// The names of the stations of one table.
pub(crate) fn names(station: &Fields) -> Vec<String> {
    let Some(name) = station.text("name") else { return Vec::new() };
    match station.integer("count") {
        Some(count @ 2..) => (0..count).map(|index| format!("{name}-{index}")).collect(),
        _ => vec![name.to_owned()],
    }
}

/// The name of a station's rate as the standard's list has it, if it is there.
pub(crate) fn rate_name(station: &Fields) -> Option<String> {
    let text = station.text("rate")?;
    match value::read(&Kind::Rate, &Node::text(text, Origin::Unknown)) {
        Ok(Value::Rate(rate)) => Some(rate.to_string()),
        _ => Some(text.to_owned()),
    }
}

/// How frames to and from a station are sent, where the standard has such a rate.
pub(crate) fn mode(station: &Fields, air: &Setup) -> Option<Mode> {
    air.air.mode(&rate_name(station)?, station.integer("streams")? as u32)
}

/// What a station has of the air where nobody else sends.
pub(crate) fn nominal(station: &Fields, scenario: &Fields) -> Option<Rate> {
    let air = air(scenario)?;
    let medium = scenario.table("bottleneck")?.chosen("medium")?;
    match medium.params.get("nominal") {
        Value::Rate(rate) => Some(rate),
        _ => Some(air.nominal_rate(&mode(station, &air)?, NOMINAL_BYTES)),
    }
}

/// The same of the access point: that of the first station.
pub(crate) fn nominal_of_all(scenario: &Fields) -> Option<Rate> {
    nominal(scenario.tables("station").first()?, scenario)
}

/// What a station is in the air.
pub(crate) fn in_air(station: &Fields, air: &Setup) -> Option<wifi::Station> {
    Some(wifi::Station { mode: mode(station, air)?, loss: station.number("loss")?, weight: station.number("weight")? })
}

/// The places among all stations of those that a group names; a name that nobody has is left out.
pub(crate) fn of_group(group: &Fields, scenario: &Fields) -> Vec<usize> {
    let mut places = Vec::new();
    for wanted in named(group) {
        let mut place = 0;
        for station in scenario.tables("station") {
            let is_all = station.text("name") == Some(wanted);
            for name in names(station) {
                if is_all || name == wanted {
                    places.push(place);
                }
                place += 1;
            }
        }
    }
    places
}

/// The names that a group gives for its stations.
pub(crate) fn named(group: &Fields) -> impl Iterator<Item = &str> {
    let items = match group.item("station") {
        Some(Item::List(items)) => items.as_slice(),
        _ => &[],
    };
    items.iter().filter_map(|item| if let Item::Text(text) = item { Some(text.as_str()) } else { None })
}
