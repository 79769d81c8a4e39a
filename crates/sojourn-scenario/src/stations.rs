//! What the checked values of a file say of the air and its stations.

use crate::fields::{Fields, Item};
use crate::link::is_shared;
use crate::node::{Node, Origin};
use crate::value;
use sojourn_core::Rate;
use sojourn_core::registry::{Kind, Value};
use sojourn_media::cell;
use sojourn_media::wifi::{self, Mode};
use sojourn_media::{Setup, Station};

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

/// The table of the station at a place among all stations.
pub(crate) fn table(place: usize, scenario: &Fields) -> Option<&Fields> {
    let mut tables = scenario.tables("station").iter().flat_map(|table| names(table).into_iter().map(move |_| table));
    tables.nth(place)
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
pub(crate) fn mode(station: &Fields, wifi: &wifi::Setup) -> Option<Mode> {
    wifi.air.mode(&rate_name(station)?, station.integer("streams")? as u32)
}

/// The channel of a station without a rate, by which one is selected.
pub(crate) fn quality(station: &Fields) -> Option<wifi::Quality> {
    if station.slot("rate").is_some() {
        return None;
    }
    Some(wifi::Quality {
        mean_db: station.number("snr_db")?,
        speed_kmh: station.number("speed_kmh").unwrap_or(0.0),
        shadowing_db: station.number("shadowing_db").unwrap_or(0.0),
        streams: station.integer("streams")? as u32,
    })
}

/// What a station has of the air where nobody else sends.
pub(crate) fn nominal(station: &Fields, scenario: &Fields) -> Option<Rate> {
    let air = air(scenario)?;
    let medium = scenario.table("bottleneck")?.chosen("medium")?;
    match medium.params.get("nominal") {
        Value::Rate(rate) => Some(rate),
        _ => air.nominal_rate(&in_air(station, &air)?, NOMINAL_BYTES),
    }
}

/// The same of the access point: that of the first station.
pub(crate) fn nominal_of_all(scenario: &Fields) -> Option<Rate> {
    nominal(scenario.tables("station").first()?, scenario)
}

/// What a station is in the air.
pub(crate) fn in_air(station: &Fields, air: &Setup) -> Option<Station> {
    match air {
        Setup::Wifi(wifi) => Some(Station::Wifi(wifi::Station {
            mode: mode(station, wifi).or_else(|| quality(station)?.best_mode(&wifi.air))?,
            quality: quality(station),
            loss: station.number("loss").unwrap_or(0.0),
            weight: station.number("weight").unwrap_or(1.0),
        })),
        Setup::Cell(cell) => in_cell(station, cell).map(Station::Cell),
    }
}

/// What a station is in a cell that reaches it.
pub(crate) fn in_cell(station: &Fields, cell: &cell::Setup) -> Option<cell::Station> {
    let quality = match station.integer("cqi") {
        Some(cqi) => cell::Quality::Cqi(cqi as u8),
        None => cell::Quality::Snr {
            mean_db: station.number("snr_db")?,
            speed_kmh: station.number("speed_kmh").unwrap_or(0.0),
            shadowing_db: station.number("shadowing_db").unwrap_or(0.0),
        },
    };
    let layers = station.integer("streams")? as u32;
    (quality.cqi(&cell.phy) > 0).then_some(cell::Station { quality, layers })
}

/// The places among all stations of those that a group names, or the only one where it names none; a name that nobody has is
/// left out.
pub(crate) fn of_group(group: &Fields, scenario: &Fields) -> Vec<usize> {
    let mut places = Vec::new();
    if group.slot("station").is_none() && has_one(scenario) {
        places.push(0);
    }
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

/// Whether there is exactly one station, which nobody needs to name.
pub(crate) fn has_one(scenario: &Fields) -> bool {
    matches!(scenario.tables("station"), [only] if names(only).len() == 1)
}

/// The names that a group gives for its stations.
pub(crate) fn named(group: &Fields) -> impl Iterator<Item = &str> {
    let items = match group.item("station") {
        Some(Item::List(items)) => items.as_slice(),
        _ => &[],
    };
    items.iter().filter_map(|item| if let Item::Text(text) = item { Some(text.as_str()) } else { None })
}
