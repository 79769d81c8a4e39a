//! A cell of LTE or 5G.

use super::life;
use crate::tape::Tape;
use sojourn_core::Span;
use sojourn_media::cell::{BEST_CQI, Duplex, Phy, Quality, Radio, Recovery, Scheduler, Setup, Station, Uplink};
use sojourn_media::{self as media, MAX_STATIONS};

/// A slow cell takes a slot and more for each of its few bytes.
const MAX_BYTES: u32 = 1_500;

fn setup(tape: &mut Tape<'_>) -> Setup {
    let is_lte = tape.flag();
    let most_blocks = if is_lte { 100 } else { 273 };
    let slots = |tape: &mut Tape<'_>, most: usize| 1 + tape.below(most) as u64;
    Setup {
        phy: Phy {
            radio: if is_lte { Radio::Lte } else { Radio::Nr { qam256: tape.flag() } },
            slot: Span::from_micros(if tape.flag() { 1_000 } else { 500 }),
            blocks: 6 + tape.below(most_blocks - 5) as u32,
            group: 1 + tape.below(16) as u32,
            duplex: tape.one_of(&[Duplex::Fdd, Duplex::Tdd("DDDSU"), Duplex::Tdd("DDSU"), Duplex::Tdd("DDDDDDDSUU")]),
        },
        antennas: 1 + tape.below(8) as u32,
        carrier_hz: 1e9 * (0.1 + 99.9 * tape.share()),
        scheduler: if tape.flag() {
            Scheduler::RoundRobin
        } else {
            Scheduler::ProportionalFair { window: 2.0 + 1e4 * tape.share() }
        },
        bler: 0.5 * tape.share(),
        harq: slots(tape, 40),
        tries: 1 + tape.below(16) as u32,
        processes: 1 + tape.below(64),
        recovery: tape.one_of(&[Recovery::Nothing, Recovery::Again]),
        reordering: slots(tape, 100),
        processing: tape.below(10) as u64,
        uplink: if tape.flag() {
            Uplink::Prescheduled
        } else {
            Uplink::Requested {
                period: slots(tape, 40),
                grant: slots(tape, 40),
                first_bytes: 10 + u64::from(tape.word()),
            }
        },
        report: slots(tape, 100),
        report_delay: tape.below(20) as u64,
    }
}

fn stations(tape: &mut Tape<'_>) -> Vec<Station> {
    let count = if tape.byte() == 255 { MAX_STATIONS } else { 1 + tape.below(9) };
    let station = |_| {
        let quality = if tape.flag() {
            Quality::Cqi(1 + tape.below(usize::from(BEST_CQI)) as u8)
        } else {
            // Far above what the lowest CQI needs, lest the shadow of a hill never end.
            Quality::Snr {
                mean_db: 20.0 + 40.0 * tape.share(),
                speed_kmh: 500.0 * tape.share(),
                shadowing_db: 5.0 * tape.share(),
            }
        };
        Station { quality, layers: 1 + tape.below(8) as u32 }
    };
    (0..count).map(station).collect()
}

/// Any cell.
pub(crate) fn cell(bytes: &[u8]) {
    let mut tape = Tape(bytes);
    let setup = setup(&mut tape);
    let stations: Vec<_> = stations(&mut tape).into_iter().map(media::Station::Cell).collect();
    life(&mut tape, media::Setup::Cell(setup), &stations, MAX_BYTES);
}
