//! Slots, resource blocks and the transport blocks that they carry.

use super::tbs;
use sojourn_core::Span;

/// Subcarriers of a resource block.
const SUBCARRIERS: u64 = 12;
/// OFDM symbols of a slot of 5G; a subframe of LTE has as many.
const SYMBOLS: u32 = 14;
/// Symbols of a slot of 5G without data: two of control, one of reference signals.
const SYMBOLS_WITHOUT_DATA: u32 = 3;
/// The symbols of a special slot that carry data down: ten, four are the gap and for uplink control.
const SPECIAL_SYMBOLS: u32 = 10;
/// The highest channel quality indicator.
pub const BEST_CQI: u8 = 15;

/// How a cell uses the channel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Phy {
    /// Which standard's transport blocks.
    pub radio: Radio,
    /// Transmission time interval: a subframe of LTE, a slot of 5G.
    pub slot: Span,
    /// Resource blocks.
    pub blocks: u32,
    /// How many of them are allocated together.
    pub group: u32,
    /// Which slots carry what.
    pub duplex: Duplex,
}

/// Which standard's transport blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Radio {
    /// 3GPP TS 36.213.
    Lte,
    /// 3GPP TS 38.214, with the table of CQIs up to 64QAM or 256QAM.
    Nr {
        /// Whether up to 256QAM.
        qam256: bool,
    },
}

/// Which slots carry what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duplex {
    /// Each carries both, on two frequencies.
    Fdd,
    /// By this pattern of D (down), U (up) and S (down, then a gap).
    Tdd(&'static str),
}

/// One of a cell's two directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// To the stations.
    Down,
    /// From them.
    Up,
}

/// Bits of a symbol, and 1024 times the code rate, for each CQI from 1 (TS 38.214, tables 5.2.2.1-2 and 5.2.2.1-3). LTE has
/// the first one too (TS 36.213, table 7.2.3-1).
const QAM64: [(u32, u32); 15] = [
    (2, 78),
    (2, 120),
    (2, 193),
    (2, 308),
    (2, 449),
    (2, 602),
    (4, 378),
    (4, 490),
    (4, 616),
    (6, 466),
    (6, 567),
    (6, 666),
    (6, 772),
    (6, 873),
    (6, 948),
];
const QAM256: [(u32, u32); 15] = [
    (2, 78),
    (2, 193),
    (2, 449),
    (4, 378),
    (4, 490),
    (4, 616),
    (6, 466),
    (6, 567),
    (6, 666),
    (6, 772),
    (6, 873),
    (8, 711),
    (8, 797),
    (8, 885),
    (8, 948),
];

/// Small transport blocks in bits (TS 38.214, table 5.1.3.2-1): steps of 8 to 192, then these.
#[rustfmt::skip]
const SMALL_BLOCKS: [u16; 71] = [
    208, 224, 240, 256, 272, 288, 304, 320, 336, 352, 368, 384, 408, 432, 456, 480, 504, 528, 552, 576, 608, 640, 672, 704,
    736, 768, 808, 848, 888, 928, 984, 1032, 1064, 1128, 1160, 1192, 1224, 1256, 1288, 1320, 1352, 1416, 1480, 1544, 1608,
    1672, 1736, 1800, 1864, 1928, 2024, 2088, 2152, 2216, 2280, 2408, 2472, 2536, 2600, 2664, 2728, 2792, 2856, 2976, 3104,
    3240, 3368, 3496, 3624, 3752, 3824,
];

/// The gap to capacity of the model by which an SNR becomes a CQI (Piro et al., An LTE module for the ns-3 network simulator,
/// 2011): an efficiency of log2(1 + SNR / 5.53) bit/s/Hz.
const SNR_GAP: f64 = 5.53;

impl Duplex {
    /// The symbols of `slot` that carry `way`.
    pub(super) fn symbols(self, slot: u64, way: Way) -> u32 {
        let Duplex::Tdd(pattern) = self else { return SYMBOLS };
        match (pattern.as_bytes()[(slot % pattern.len() as u64) as usize], way) {
            (b'D', Way::Down) | (b'U', Way::Up) => SYMBOLS,
            (b'S', Way::Down) => SPECIAL_SYMBOLS,
            _ => 0,
        }
    }

    /// The first slot from `from` on that carries `way`.
    pub(super) fn next(self, from: u64, way: Way) -> u64 {
        let Duplex::Tdd(pattern) = self else { return from };
        let period = pattern.len() as u64;
        (from..from.saturating_add(period)).find(|&slot| self.symbols(slot, way) > 0).unwrap_or(u64::MAX)
    }

    /// How many slots there are for each one that carries `way`.
    pub(super) fn slots_per_own(self, way: Way) -> f64 {
        let Duplex::Tdd(pattern) = self else { return 1.0 };
        let slots = 0..pattern.len() as u64;
        pattern.len() as f64 / slots.filter(|&slot| self.symbols(slot, way) > 0).count().max(1) as f64
    }

    /// The symbols that carry `way`, slot by slot until the pattern repeats.
    pub(super) fn period(self, way: Way) -> impl Iterator<Item = u32> {
        let period = if let Duplex::Tdd(pattern) = self { pattern.len() as u64 } else { 1 };
        (0..period).map(move |slot| self.symbols(slot, way))
    }
}

impl Radio {
    /// Bits for each symbol at `cqi`, code rate included.
    fn efficiency(self, cqi: u8) -> f64 {
        let (bits, rate) = self.modulation(cqi);
        f64::from(bits * rate) / 1024.0
    }

    fn modulation(self, cqi: u8) -> (u32, u32) {
        let table = if self == (Radio::Nr { qam256: true }) { &QAM256 } else { &QAM64 };
        table[usize::from(cqi.clamp(1, BEST_CQI)) - 1]
    }

    /// The SNR, as a ratio, from which on `cqi` is reported.
    pub(super) fn snr_for(self, cqi: u8) -> f64 {
        SNR_GAP * (libm::exp2(self.efficiency(cqi)) - 1.0)
    }

    /// The lowest SNR, as a ratio, at which anything can be sent.
    pub fn lowest_snr(self) -> f64 {
        self.snr_for(1)
    }

    /// The CQI that is reported at an SNR, as a ratio; 0 where none is possible.
    pub fn cqi(self, snr: f64) -> u8 {
        let possible = libm::log2(1.0 + snr / SNR_GAP);
        (1..=BEST_CQI).rev().find(|&cqi| self.efficiency(cqi) <= possible).unwrap_or(0)
    }
}

impl Phy {
    /// Bytes of the transport blocks that `blocks` resource blocks carry in `symbols` symbols, at `cqi` and with so many
    /// layers; none at CQI 0.
    pub fn bytes(&self, cqi: u8, blocks: u32, layers: u32, symbols: u32) -> u32 {
        if cqi == 0 || blocks == 0 || symbols <= SYMBOLS_WITHOUT_DATA {
            return 0;
        }
        match self.radio {
            Radio::Lte => {
                let row = &tbs::BYTES[usize::from(cqi.min(BEST_CQI)) - 1];
                u32::from(row[(blocks as usize).min(row.len()) - 1]) * layers
            }
            Radio::Nr { .. } => {
                let (bits, rate) = self.radio.modulation(cqi);
                let elements = SUBCARRIERS * u64::from(symbols - SYMBOLS_WITHOUT_DATA) * u64::from(blocks);
                nr_bits(elements * u64::from(bits * layers) * u64::from(rate) / 1024, rate) / 8
            }
        }
    }

    /// The fewest resource blocks, in whole groups but for the last one, that carry `bytes`; at most `most`.
    pub(super) fn blocks_for(&self, bytes: u32, most: u32, cqi: u8, layers: u32, symbols: u32) -> u32 {
        let (mut low, mut high) = (1, most.div_ceil(self.group).max(1));
        while low < high {
            let middle = low.midpoint(high);
            if self.bytes(cqi, middle * self.group, layers, symbols) >= bytes {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        (low * self.group).min(most)
    }
}

/// Bits of a transport block for so many bits of information at 1024 times a code rate (TS 38.214, clause 5.1.3.2).
fn nr_bits(information: u64, rate: u32) -> u32 {
    /// Up to here a table says it.
    const SMALL: u64 = 3824;
    /// Parity bits, and the largest code blocks of both base graphs.
    const PARITY: u64 = 24;
    const CODE_BLOCKS: [u64; 2] = [3816, 8424];
    if information <= SMALL {
        let step = information.max(1).ilog2().saturating_sub(6).max(3);
        let wanted = (information >> step << step).max(24);
        if wanted <= 192 {
            return wanted.next_multiple_of(8) as u32;
        }
        let place = SMALL_BLOCKS.partition_point(|&bits| u64::from(bits) < wanted);
        return u32::from(SMALL_BLOCKS[place.min(SMALL_BLOCKS.len() - 1)]);
    }
    let rest = information - PARITY;
    let step = rest.ilog2() - 5;
    let wanted = (((rest >> (step - 1)) + 1) >> 1 << step).max(3840);
    let parts = if rate <= 256 {
        (wanted + PARITY).div_ceil(CODE_BLOCKS[0])
    } else if wanted > CODE_BLOCKS[1] {
        (wanted + PARITY).div_ceil(CODE_BLOCKS[1])
    } else {
        1
    };
    (8 * parts * (wanted + PARITY).div_ceil(8 * parts) - PARITY) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the standard's tables, as other implementations have them.
    #[test]
    fn transport_blocks_of_lte_are_those_of_the_table() {
        let phy = Phy { radio: Radio::Lte, slot: Span::from_millis(1), blocks: 50, group: 3, duplex: Duplex::Fdd };
        let bits = |cqi, blocks| phy.bytes(cqi, blocks, 1, 14) * 8;
        for (cqi, expected) in [
            (1, [680, 1384, 2792]),
            (5, [3496, 6968, 14112]),
            (7, [4968, 9912, 19848]),
            (11, [9912, 19848, 39232]),
            (15, [18336, 36696, 75376]),
        ] {
            assert_eq!([25, 50, 100].map(|blocks| bits(cqi, blocks)), expected, "CQI {cqi}");
        }
        assert_eq!((bits(4, 1), bits(4, 2), bits(1, 1), bits(0, 50)), (328, 176, 16, 0));
    }

    /// Steps of the rule by hand: 10 MHz at 15 kHz, all 52 blocks, CQI 15: 52 * 132 * 5.5547 = 38127 bits; and small ones.
    #[test]
    fn transport_blocks_of_5g_follow_the_rule() {
        assert_eq!(nr_bits(38_127, 948), 37_896);
        assert_eq!(
            [24, 31, 100, 192, 200, 3_800, 3_824].map(|bits| nr_bits(bits, 500)),
            [24, 24, 96, 192, 208, 3_824, 3_824]
        );
        assert_eq!((nr_bits(3_825, 500), nr_bits(3_825, 200)), (3_840, 3_848));
        let mut last = 0;
        for bits in (0..200_000).step_by(7) {
            let block = nr_bits(bits, 948);
            assert!(block >= last && block.is_multiple_of(8), "{bits}: {block} after {last}");
            assert!(bits < 400 || (f64::from(block) / bits as f64 - 1.0).abs() < 0.05, "{bits}: {block}");
            last = block;
        }
    }

    #[test]
    fn an_snr_is_a_cqi() {
        let snr = |db: f64| libm::pow(10.0, db / 10.0);
        let cqis = [-3.0, -2.0, 2.3, 6.8, 10.1, 13.9, 17.1, 20.9, 24.1].map(|db| Radio::Lte.cqi(snr(db)));
        assert_eq!(cqis, [0, 1, 3, 5, 7, 9, 11, 13, 15]);
    }

    #[test]
    fn a_pattern_says_which_slots_carry_what() {
        let duplex = Duplex::Tdd("DDDSU");
        let symbols = |way| (0..5).map(|slot| duplex.symbols(slot, way)).collect::<Vec<_>>();
        assert_eq!((symbols(Way::Down), symbols(Way::Up)), (vec![14, 14, 14, 10, 0], vec![0, 0, 0, 0, 14]));
        assert_eq!((duplex.next(4, Way::Down), duplex.next(5, Way::Up)), (5, 9));
        assert!((duplex.slots_per_own(Way::Down) - 1.25).abs() < 1e-9);
    }
}
