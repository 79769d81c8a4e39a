//! Rules of what applications send.

use super::element_path;
use crate::build::voip;
use crate::check::join;
use crate::diagnostic::{Fault, Reporter};
use crate::fields::Fields;
use sojourn_core::Span;

/// Packets at a constant rate.
pub(super) struct Steady {
    /// Bytes of each.
    pub packet_bytes: f64,
    /// How many there are in a second.
    pub per_second: f64,
}

/// What a flow of the group sends whatever happens to it; nothing where it responds to congestion.
pub(super) fn steady(group: &Fields) -> Option<Steady> {
    let traffic = group.table("traffic")?;
    match traffic.section.name {
        "cbr" => {
            let packet_bytes = traffic.bytes("packet")? as f64;
            Some(Steady { packet_bytes, per_second: traffic.rate("rate")?.bytes_per_second() / packet_bytes })
        }
        "voip" => {
            let voip = voip(traffic)?;
            Some(Steady { packet_bytes: f64::from(voip.packet_bytes()), per_second: 1.0 / voip.frame.as_secs_f64() })
        }
        _ => None,
    }
}

/// Checks the traffic of all groups.
pub(super) fn check(scenario: &Fields, reporter: &mut Reporter<'_>) {
    for (index, group) in scenario.tables("group").iter().enumerate() {
        let Some(traffic) = group.table("traffic") else { continue };
        let path = join(&element_path("group", index, group), "traffic");
        match traffic.section.name {
            "voip" => {
                together(traffic, "talk", "pause", "talk spurts need silences between them", &path, reporter);
                if traffic.choice("codec") == Some("opus") {
                    let why = "ITU-T G.113 has neither for opus, and the E-model needs both";
                    together(traffic, "ie", "bpl", why, &path, reporter);
                }
            }
            "video" => buffer(traffic, &path, reporter),
            _ => {}
        }
    }
}

/// Two keys of which neither says anything without the other.
fn together(
    traffic: &Fields,
    one: &'static str,
    other: &'static str,
    why: &str,
    path: &str,
    reporter: &mut Reporter<'_>,
) {
    let (given, missing) = match (traffic.slot(one), traffic.slot(other)) {
        (Some(_), None) => (one, other),
        (None, Some(_)) => (other, one),
        _ => return,
    };
    let found = Fault::new(format!("{given} without {missing}"));
    reporter.error(traffic.origin_of(given), &join(path, given), found, format!("both or neither: {why}"));
}

/// While one segment plays the next must have room.
fn buffer(video: &Fields, path: &str, reporter: &mut Reporter<'_>) {
    let (Some(buffer), Some(segment)) = (video.span("buffer"), video.span("segment")) else { return };
    let least = Span::from_nanos(2 * segment.as_nanos());
    if buffer < least {
        let found = Fault::new(format!("\"{buffer}\" with segments of {segment}"));
        let allowed = format!("at least {least}: room for the segment that plays and the one that is on its way");
        reporter.error(video.origin_of("buffer"), &join(path, "buffer"), found, allowed);
    }
}
