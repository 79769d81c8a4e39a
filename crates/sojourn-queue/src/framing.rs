//! What a link layer makes of a packet: how many bytes it occupies on the wire.
//!
//! Packets here are sized as IP sees them. A link that is framed sends each of them with what its layers add, in whole
//! cells where it has cells. CAKE reckons with the same arithmetic and the same words (`cake_calc_overhead`, `tc`).

use sojourn_core::registry::declare::{choice, integer};
use sojourn_core::registry::{Descriptor, Params, Preset, Value};
use sojourn_core::{Rate, choices, parameters};

choices! {
    /// How a frame is cut.
    pub enum Cells {
        /// It is not.
        None = "none",
        /// Into cells of 53 bytes with 48 bytes of the frame each, the last of them padded.
        Atm = "atm",
        /// A byte for each 64 bytes or part of them.
        Ptm = "ptm",
    }
}

parameters! {
    /// What the link layer makes of a packet.
    pub struct Framing {
        /// bytes added to each packet: headers, trailers, and what else it keeps the wire from sending
        overhead: u32 = integer(0, 0..=256),
        /// least bytes of a packet with its overhead
        mpu: u32 = integer(0, 0..=256),
        /// atm: cells of 53 bytes for each 48 or part of them; ptm: a byte more for each 64 or part of them
        cells: Cells = choice(Cells::None.value()),
    }
}

/// What a framing is and what can be set.
pub static DESCRIPTOR: Descriptor = Descriptor {
    name: "framing",
    summary: "what a packet occupies on the wire: bytes of the layers below IP, a least size, and cells",
    sources: &[
        "iproute2 tc-cake(8), whose words these are",
        "ITU-T I.363.5 (AAL5) and I.432.1 (cells)",
        "RFC 2684, RFC 2364, RFC 2516 (encapsulations)",
        "ITU-T G.992.3 annex N (PTM)",
        "IEEE 802.3",
    ],
    parameters: &Framing::LIST,
    presets: PRESETS,
    ..Descriptor::PLAIN
};

const fn preset(name: &'static str, summary: &'static str, values: &'static [(&'static str, Value)]) -> Preset {
    Preset { name, summary, values }
}

macro_rules! values {
    ($overhead:literal, $mpu:literal, $cells:ident) => {
        &[("overhead", Value::Integer($overhead)), ("mpu", Value::Integer($mpu)), ("cells", Cells::$cells.value())]
    };
}

const PRESETS: &[Preset] = &[
    preset("raw", "the packet alone", &[]),
    preset("conservative", "more than any ADSL adds", values!(48, 0, Atm)),
    preset("ethernet", "header, FCS, preamble and gap of Ethernet, and its least frame", values!(38, 84, None)),
    preset("docsis", "Ethernet's header and FCS, as DOCSIS reckons rates, and its least frame", values!(18, 64, None)),
    preset("pppoe-ptm", "PPPoE in Ethernet over PTM (VDSL2)", values!(30, 0, Ptm)),
    preset("bridged-ptm", "Ethernet over PTM (VDSL2)", values!(22, 0, Ptm)),
    preset("ipoa-vcmux", "IP over ATM (ADSL), a channel of its own", values!(8, 0, Atm)),
    preset("ipoa-llcsnap", "IP over ATM (ADSL), with LLC/SNAP", values!(16, 0, Atm)),
    preset("bridged-vcmux", "Ethernet over ATM (ADSL), a channel of its own", values!(24, 0, Atm)),
    preset("bridged-llcsnap", "Ethernet over ATM (ADSL), with LLC/SNAP", values!(32, 0, Atm)),
    preset("pppoa-vcmux", "PPP over ATM (ADSL), a channel of its own", values!(10, 0, Atm)),
    preset("pppoa-llc", "PPP over ATM (ADSL), with LLC", values!(14, 0, Atm)),
    preset("pppoe-vcmux", "PPPoE over ATM (ADSL), a channel of its own", values!(32, 0, Atm)),
    preset("pppoe-llcsnap", "PPPoE over ATM (ADSL), with LLC/SNAP", values!(40, 0, Atm)),
];

/// The names of the presets, where only their words are wanted.
pub(crate) const WORDS: [&str; PRESETS.len()] = {
    let mut words = [""; PRESETS.len()];
    let mut index = 0;
    while index < words.len() {
        words[index] = PRESETS[index].name;
        index += 1;
    }
    words
};

impl Framing {
    /// The framing that a word of `tc` means.
    pub(crate) fn named(word: &str) -> Framing {
        let preset = DESCRIPTOR.preset(word).unwrap_or_else(|| panic!("no framing is called {word}"));
        Framing::of(&Params::new(&DESCRIPTOR, Some(preset)))
    }

    /// What a packet of `bytes` bytes is on the wire.
    #[inline]
    pub fn bytes(self, bytes: u32) -> u32 {
        let framed = (bytes + self.overhead).max(self.mpu);
        match self.cells {
            Cells::None => framed,
            Cells::Atm => framed.div_ceil(48) * 53,
            Cells::Ptm => framed + framed.div_ceil(64),
        }
    }

    /// The rate of IP's bytes in packets of `bytes` bytes on a wire of `rate`; at least one bit per second.
    pub fn packet_rate(self, rate: Rate, bytes: u32) -> Rate {
        let bits = u128::from(rate.bits_per_second()) * u128::from(bytes) / u128::from(self.bytes(bytes).max(1));
        Rate::from_bits_per_second(bits.max(1) as u64).expect("at least one")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_full_packet_over_pppoe_is_32_cells() {
        // 1500 and 40 bytes are 32.08 cells, of which the last is nearly empty.
        assert_eq!(Framing::named("pppoe-llcsnap").bytes(1500), 33 * 53);
        assert_eq!(Framing::named("pppoe-llcsnap").bytes(1492), 32 * 53);
        assert_eq!(Framing::named("pppoa-vcmux").bytes(1500), 32 * 53);
        assert_eq!(Framing::named("ethernet").bytes(29), 84);
        assert_eq!(Framing::named("raw").bytes(1500), 1500);
    }

    #[test]
    fn a_rate_of_cells_is_a_lower_rate_of_packets() {
        let rate = |bits| Rate::from_bits_per_second(bits).unwrap();
        assert_eq!(Framing::named("pppoa-vcmux").packet_rate(rate(1_696_000), 1500), rate(1_500_000));
        assert_eq!(Framing::named("raw").packet_rate(rate(1), 1500), rate(1));
        assert_eq!(Framing::named("ethernet").packet_rate(rate(1), 40), rate(1));
    }

    proptest! {
        #[test]
        fn framing_never_shrinks_a_packet_nor_their_order(word in prop::sample::select(&WORDS[..]), bytes in 1u32..9000) {
            let framing = Framing::named(word);
            prop_assert!(framing.bytes(bytes) >= bytes);
            prop_assert!(framing.bytes(bytes + 1) >= framing.bytes(bytes));
        }
    }
}
