//! A WiFi network.

use super::life;
use crate::tape::Tape;
use sojourn_core::Span;
use sojourn_core::registry::Choice as _;
use sojourn_media::wifi::{AfterCollision, Air, MAX_STREAMS, Quality, Scheduler, Setup, Standard, Station};
use sojourn_media::{self as media, MAX_STATIONS};

fn setup(tape: &mut Tape<'_>) -> Setup {
    let standard = tape.one_of(Standard::ALL);
    let widths: &[u32] = match standard {
        Standard::Ac => &[20, 40, 80],
        Standard::N => &[20, 40],
        _ => &[20],
    };
    Setup {
        air: Air {
            standard,
            width_mhz: tape.one_of(widths),
            short_guard: tape.flag(),
            short_preamble: tape.flag(),
            long_slot: tape.flag(),
        },
        longest: Span::from_micros(100 + u64::from(tape.word()) % 5_385),
        aggregate: 1 + u32::from(tape.byte()) % 64,
        aggregate_bytes: 4_096 + u32::from(tape.word()),
        tries: 1 + u32::from(tape.byte()) % 30,
        scheduler: match tape.below(3) {
            0 => Scheduler::Airtime,
            1 => Scheduler::Aql,
            _ => Scheduler::Fifo { driver: 1 + u32::from(tape.byte()) },
        },
        ahead: 1 + tape.below(16),
        edca: tape.flag(),
        bursts: tape.flag(),
        rts: tape.flag().then(|| u32::from(tape.word())),
        after_collision: tape.one_of(&[AfterCollision::Standard, AfterCollision::Difs, AfterCollision::Eifs]),
    }
}

fn stations(tape: &mut Tape<'_>, air: &Air) -> Vec<Station> {
    let count = if tape.byte() == 255 { MAX_STATIONS } else { 1 + tape.below(9) };
    let rates = air.rates();
    let station = |_| {
        let name = &rates[tape.below(rates.len())];
        let streams = 1 + tape.below(MAX_STREAMS as usize) as u32;
        let mode = air.mode(name, streams).or_else(|| air.mode(&rates[0], 1)).expect("the first rate is always there");
        // Those of 802.11b are not selected.
        let is_selected = air.standard != Standard::B && tape.flag();
        let quality = is_selected.then(|| Quality {
            mean_db: 60.0 * tape.share(),
            speed_kmh: 500.0 * tape.share(),
            shadowing_db: 20.0 * tape.share(),
            streams,
        });
        Station { mode, quality, loss: tape.share(), weight: 0.01 + 99.99 * tape.share() }
    };
    (0..count).map(station).collect()
}

/// Any network.
pub(crate) fn medium(bytes: &[u8]) {
    let mut tape = Tape(bytes);
    let setup = setup(&mut tape);
    let stations: Vec<_> = stations(&mut tape, &setup.air).into_iter().map(media::Station::Wifi).collect();
    life(&mut tape, media::Setup::Wifi(setup), &stations, u32::MAX);
}
