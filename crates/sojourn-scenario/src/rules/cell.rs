//! Rules of stations in a cell.

use super::report::is_faulty;
use crate::check::join;
use crate::diagnostic::{Fault, Reporter};
use crate::fields::Fields;
use crate::stations::in_cell;
use sojourn_media::cell::Setup;

/// A station has a CQI, or an SNR that reaches the lowest one.
pub(super) fn quality(cell: &Setup, station: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    match (station.integer("cqi"), station.number("snr_db")) {
        (None, None) if !is_faulty(&["cqi", "snr_db"], path, reporter) => {
            let found = Fault::new("neither cqi nor snr_db");
            reporter.error(station.origin, path, found, "one of cqi, snr_db");
        }
        (Some(_), Some(_)) => {
            let found = Fault::new("both cqi and snr_db");
            reporter.error(station.origin_of("snr_db"), path, found, "one of cqi, snr_db");
        }
        (None, Some(snr)) if in_cell(station, cell).is_none() => {
            let lowest = 10.0 * libm::log10(cell.phy.radio.lowest_snr());
            let found = Fault::new(format!("{snr} dB, at which nothing can be sent"));
            let allowed = format!("at least {:.1} dB, that of CQI 1", (lowest * 10.0).ceil() / 10.0);
            reporter.error(station.origin_of("snr_db"), &join(path, "snr_db"), found, allowed);
        }
        _ => {}
    }
    fading(station, path, "a cqi never changes", reporter);
}

/// A channel fades where the station moves; `why` it does not without an SNR.
pub(super) fn fading(station: &Fields, path: &str, why: &str, reporter: &mut Reporter<'_>) {
    for (key, other, why) in [
        ("speed_kmh", "snr_db", why),
        ("shadowing_db", "speed_kmh", "who stands still stays in the same shadow, which snr_db has"),
    ] {
        if station.slot(key).is_some() && station.slot(other).is_none() {
            let found = Fault::new(format!("{key} without {other}"));
            reporter.error(station.origin_of(key), &join(path, key), found, format!("no {key}: {why}"));
        }
    }
}
