//! What a frame takes in the air: standards, rates, preambles, symbols.
//!
//! IEEE 802.11-2016: clauses 16 (11b), 17 (11a), 18 (11g), 19 (11n) and 21 (11ac).

use super::errors::Coding;
use sojourn_core::choices;
use sojourn_core::{Rate, Span};

choices! {
    /// A generation of WiFi, in the band in which it is mostly found.
    pub enum Standard {
        /// 802.11b, 2.4 GHz, direct sequence.
        B = "802.11b",
        /// 802.11a, 5 GHz, OFDM.
        A = "802.11a",
        /// 802.11g, 2.4 GHz, OFDM; no stations of 802.11b are near.
        G = "802.11g",
        /// 802.11n, 5 GHz, mixed format.
        N = "802.11n",
        /// 802.11ac, 5 GHz.
        Ac = "802.11ac",
    }
}

impl Standard {
    /// Whether frames for one receiver can be sent as one (A-MPDU).
    pub fn aggregates(self) -> bool {
        matches!(self, Standard::N | Standard::Ac)
    }
}

/// A rate that may be selected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub mode: Mode,
    pub coding: Coding,
    /// Spatial streams; 1 for the older standards.
    pub streams: u32,
}

/// All that the stations of a network have in common in the air.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Air {
    /// The standard.
    pub standard: Standard,
    /// Width of the channel in MHz: 20, 40 or 80.
    pub width_mhz: u32,
    /// Whether symbols of 802.11n and ac have the short guard interval of 400 ns.
    pub short_guard: bool,
    /// Whether frames of 802.11b have the short preamble.
    pub short_preamble: bool,
    /// Whether slots of 802.11g have 20 us, as beside stations of 802.11b.
    pub long_slot: bool,
}

/// Data bits per symbol of OFDM with 20 MHz, by rate in Mbit/s.
const OFDM: [(u64, u32); 8] = [(6, 24), (9, 36), (12, 48), (18, 72), (24, 96), (36, 144), (48, 192), (54, 216)];
/// Rates of 802.11b in units of 100 kbit/s.
const DSSS: [u64; 4] = [10, 20, 55, 110];
/// Coded bits per subcarrier and coding rate of each MCS.
const MCS: [(u32, u32, u32); 10] =
    [(1, 1, 2), (2, 1, 2), (2, 3, 4), (4, 1, 2), (4, 3, 4), (6, 2, 3), (6, 3, 4), (6, 5, 6), (8, 3, 4), (8, 5, 6)];
/// The same of the rates of 802.11a and g.
const OFDM_MCS: [(u32, u32, u32); 8] =
    [(1, 1, 2), (1, 3, 4), (2, 1, 2), (2, 3, 4), (4, 1, 2), (4, 3, 4), (6, 2, 3), (6, 3, 4)];
/// Most spatial streams.
pub const MAX_STREAMS: u32 = 4;

/// Service and tail bits around the bytes of an OFDM frame.
const OFDM_EXTRA_BITS: u64 = 16 + 6;
/// Preamble and SIGNAL field of OFDM.
const OFDM_PREAMBLE: Span = Span::from_micros(20);
/// Time without signal that ends an OFDM frame in the 2.4 GHz band (clause 18.3.2.4).
const SIGNAL_EXTENSION: Span = Span::from_micros(6);

/// Bytes of an acknowledgement, and of one for a block.
const ACK_BYTES: u32 = 14;
const BLOCK_ACK_BYTES: u32 = 32;
/// Bytes of a request to send, and of what clears it.
const RTS_BYTES: u32 = 20;
const CTS_BYTES: u32 = 14;

impl Air {
    /// A 20 MHz channel of `standard` with the long guard interval, the long preamble and the short slot.
    pub const fn plain(standard: Standard) -> Air {
        Air { standard, width_mhz: 20, short_guard: false, short_preamble: false, long_slot: false }
    }

    /// The unit of back-off.
    pub fn slot(&self) -> Span {
        let long = self.standard == Standard::B || (self.standard == Standard::G && self.long_slot);
        Span::from_micros(if long { 20 } else { 9 })
    }

    /// Between a frame and what answers it.
    pub fn sifs(&self) -> Span {
        Span::from_micros(if matches!(self.standard, Standard::B | Standard::G) { 10 } else { 16 })
    }

    /// The smallest and the largest contention window.
    pub fn windows(&self) -> (u32, u32) {
        (if self.standard == Standard::B { 31 } else { 15 }, 1023)
    }

    /// From the end of a frame until its sender knows that no answer comes: SIFS, a slot, and what a receiver needs to
    /// recognise a frame (aRxPHYStartDelay).
    pub fn answer_timeout(&self) -> Span {
        let recognised = match self.standard {
            Standard::B => self.dsss_preamble(),
            _ => OFDM_PREAMBLE,
        };
        self.sifs() + self.slot() + recognised
    }

    /// What stations wait in addition after a frame that they could not read (EIFS): SIFS and an acknowledgement at the
    /// lowest rate.
    pub fn unreadable_penalty(&self) -> Span {
        self.sifs() + self.control(self.lowest_control(), ACK_BYTES)
    }

    /// The names of the rates that a station may have.
    pub fn rates(&self) -> Vec<String> {
        match self.standard {
            Standard::B => DSSS.iter().map(|&rate| megabits(rate * 100_000)).collect(),
            Standard::A | Standard::G => OFDM.iter().map(|&(rate, _)| megabits(rate * 1_000_000)).collect(),
            Standard::N => (0..8 * MAX_STREAMS).map(|mcs| format!("mcs{mcs}")).collect(),
            Standard::Ac => (0..MCS.len()).map(|mcs| format!("mcs{mcs}")).collect(),
        }
    }

    /// The rate called `name` with `streams` spatial streams, which only 802.11ac asks for; `None` where there is no such.
    pub fn mode(&self, name: &str, streams: u32) -> Option<Mode> {
        let index = self.rates().iter().position(|known| known == name)?;
        match self.standard {
            Standard::B => {
                let control = if DSSS[index] == DSSS[0] { Control::Dsss(10) } else { Control::Dsss(20) };
                let symbols = Symbols::Dsss { rate: DSSS[index] };
                Some(Mode { streams: 0, preamble: self.dsss_preamble(), symbols, extension: Span::ZERO, control })
            }
            Standard::A | Standard::G => {
                let (rate, bits) = OFDM[index];
                let symbols = Symbols::Ofdm { bits, nanos: 4_000 };
                let control = ofdm_control(rate);
                Some(Mode { streams: 0, preamble: OFDM_PREAMBLE, symbols, extension: self.extension(), control })
            }
            Standard::N => self.wide(index as u32 % 8, index as u32 / 8 + 1),
            Standard::Ac => (1..=MAX_STREAMS).contains(&streams).then(|| self.wide(index as u32, streams)).flatten(),
        }
    }

    /// The MCS `mcs` of 802.11n or ac with `streams` spatial streams, where the standard has it at this width.
    fn wide(&self, mcs: u32, streams: u32) -> Option<Mode> {
        let subcarriers = match self.width_mhz {
            20 => 52,
            40 => 108,
            _ => 234,
        };
        let (bits, part, whole) = MCS[mcs as usize];
        let coded = subcarriers * bits * streams * part;
        // Table 21-30: what does not come out even with the encoders is left out.
        let left_out = self.width_mhz == 80 && mcs == 6 && streams == 3;
        if !coded.is_multiple_of(whole) || left_out {
            return None;
        }
        // HT-mixed: legacy preamble, HT-SIG, HT-STF, a training field for each stream (four for three); VHT: SIG-B too.
        let training = u64::from(if streams == 3 { 4 } else { streams });
        let signal = if self.standard == Standard::Ac { 4 } else { 0 };
        Some(Mode {
            streams,
            preamble: Span::from_micros(20 + 8 + 4 + 4 * training + signal),
            symbols: Symbols::Ofdm { bits: coded / whole, nanos: if self.short_guard { 3_600 } else { 4_000 } },
            extension: Span::ZERO,
            control: match mcs {
                0 => Control::Ofdm(24),
                1 | 2 => Control::Ofdm(48),
                _ => Control::Ofdm(96),
            },
        })
    }

    /// The rates that may be selected with up to `streams` spatial streams, in order: by streams, then from the slowest.
    pub(super) fn candidates(&self, streams: u32) -> Vec<Candidate> {
        let coding = |(bits, part, whole): (u32, u32, u32)| Coding { bits, rate: (part, whole) };
        match self.standard {
            Standard::B => Vec::new(),
            Standard::A | Standard::G => {
                let modes = self.rates().into_iter().filter_map(|name| self.mode(&name, 1));
                modes.zip(OFDM_MCS).map(|(mode, mcs)| Candidate { mode, coding: coding(mcs), streams: 1 }).collect()
            }
            Standard::N | Standard::Ac => {
                let most = if self.standard == Standard::N { 8 } else { MCS.len() };
                let all = (1..=streams).flat_map(|streams| (0..most).map(move |mcs| (streams, mcs)));
                let one = |(streams, mcs): (u32, usize)| {
                    let mode = self.wide(mcs as u32, streams)?;
                    Some(Candidate { mode, coding: coding(MCS[mcs]), streams })
                };
                all.filter_map(one).collect()
            }
        }
    }

    fn dsss_preamble(&self) -> Span {
        Span::from_micros(if self.short_preamble { 96 } else { 192 })
    }

    fn extension(&self) -> Span {
        if self.standard == Standard::G { SIGNAL_EXTENSION } else { Span::ZERO }
    }

    fn lowest_control(&self) -> Control {
        if self.standard == Standard::B { Control::Dsss(10) } else { Control::Ofdm(24) }
    }

    /// A control frame of `bytes`.
    fn control(&self, control: Control, bytes: u32) -> Span {
        match control {
            // An acknowledgement at 1 Mbit/s has the long preamble.
            Control::Dsss(10) => Span::from_micros(192) + Symbols::Dsss { rate: 10 }.time(bytes),
            Control::Dsss(rate) => self.dsss_preamble() + Symbols::Dsss { rate }.time(bytes),
            Control::Ofdm(bits) => OFDM_PREAMBLE + Symbols::Ofdm { bits, nanos: 4_000 }.time(bytes) + self.extension(),
        }
    }

    /// A request to send (RTS) for a frame of `mode`.
    pub fn request(&self, mode: &Mode) -> Span {
        self.control(mode.control, RTS_BYTES)
    }

    /// From the start of a request to send until the frame that it is for: the request, and what clears it (CTS).
    pub fn reservation(&self, mode: &Mode) -> Span {
        self.request(mode) + self.sifs() + self.control(mode.control, CTS_BYTES) + self.sifs()
    }

    /// What answers a frame, or an aggregate, of `mode`.
    pub fn response(&self, mode: &Mode, to_aggregate: bool) -> Span {
        self.control(mode.control, if to_aggregate { BLOCK_ACK_BYTES } else { ACK_BYTES })
    }
}

/// The rate of `bits` per second as a scenario file names it.
fn megabits(bits: u64) -> String {
    Rate::from_bits_per_second(bits).expect("no rate is zero").to_string()
}

/// The highest mandatory rate that is not above `rate` in Mbit/s.
fn ofdm_control(rate: u64) -> Control {
    match rate {
        ..12 => Control::Ofdm(24),
        12..24 => Control::Ofdm(48),
        24.. => Control::Ofdm(96),
    }
}

/// At which rate a frame is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Control {
    /// In units of 100 kbit/s.
    Dsss(u64),
    /// Data bits per symbol.
    Ofdm(u32),
}

/// How a station's frames are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode {
    /// Spatial streams of 802.11n and ac; 0 for the older standards.
    streams: u32,
    preamble: Span,
    symbols: Symbols,
    extension: Span,
    control: Control,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Symbols {
    /// `rate` in units of 100 kbit/s.
    Dsss { rate: u64 },
    /// `bits` of data in a symbol of `nanos` nanoseconds.
    Ofdm { bits: u32, nanos: u64 },
}

impl Symbols {
    fn time(self, bytes: u32) -> Span {
        let bits = u64::from(bytes) * 8;
        match self {
            Symbols::Dsss { rate } => Span::from_micros((bits * 10).div_ceil(rate)),
            Symbols::Ofdm { bits: per_symbol, nanos } => {
                let symbols = (bits + OFDM_EXTRA_BITS).div_ceil(u64::from(per_symbol));
                // With the short guard interval a frame ends at the end of a long symbol all the same.
                Span::from_micros((symbols * nanos).div_ceil(4_000) * 4)
            }
        }
    }

    /// The most bytes with a [`time`](Symbols::time) of at most `longest`.
    fn bytes_within(self, longest: Span) -> u32 {
        let micros = longest.as_nanos() / 1_000;
        let bits = match self {
            Symbols::Dsss { rate } => micros * rate / 10,
            Symbols::Ofdm { bits: per_symbol, nanos } => {
                let symbols = micros / 4 * 4_000 / nanos;
                (symbols * u64::from(per_symbol)).saturating_sub(OFDM_EXTRA_BITS)
            }
        };
        u32::try_from(bits / 8).unwrap_or(u32::MAX)
    }
}

impl Mode {
    /// Air time of `bytes` bytes of one MPDU or of an aggregate.
    pub fn time(&self, bytes: u32) -> Span {
        self.preamble + self.symbols.time(bytes) + self.extension
    }

    /// The most bytes that take no longer than `longest`; none where not even one does.
    pub fn bytes_within(&self, longest: Span) -> u32 {
        self.symbols.bytes_within(longest.saturating_sub(self.preamble + self.extension))
    }

    /// What Linux expects a packet to take beside its bits, where so many share it: two to the power of `shift`. Of the older
    /// standards it is the preamble and SIFS, and nobody shares it.
    pub(super) fn expected_overhead(&self, shift: u32) -> Span {
        match self.symbols {
            Symbols::Dsss { .. } => self.preamble + Span::from_micros(10),
            Symbols::Ofdm { .. } if self.streams == 0 => self.preamble + Span::from_micros(16),
            Symbols::Ofdm { .. } => Span::from_micros(u64::from((36 + 4 * self.streams) >> shift)),
        }
    }

    /// What rate selection reckons for a frame of `bytes`: with aggregates the symbols of its data, else all of the frame and
    /// SIFS.
    pub(super) fn reckoned(&self, bytes: u32) -> Span {
        match self.symbols {
            Symbols::Ofdm { bits, nanos } if self.streams > 0 => {
                Span::from_nanos((u64::from(bytes) * 8).div_ceil(u64::from(bits)) * nanos)
            }
            _ => Span::from_micros(10) + self.time(bytes + 4),
        }
    }

    /// The rate of the bits of a frame behind its preamble.
    pub fn rate(&self) -> Rate {
        let bits = match self.symbols {
            Symbols::Dsss { rate } => rate * 100_000,
            Symbols::Ofdm { bits, nanos } => u64::from(bits) * 1_000_000_000 / nanos,
        };
        Rate::from_bits_per_second(bits).expect("no rate is zero")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(air: Air, name: &str) -> Mode {
        air.mode(name, 1).unwrap_or_else(|| panic!("{name} of {air:?}"))
    }

    /// Durations worked out by hand from the clauses.
    #[test]
    fn frames_take_the_time_of_the_standard() {
        let micros = Span::from_micros;
        let b = Air::plain(Standard::B);
        assert_eq!(mode(b, "11 Mbit/s").time(1536), micros(192 + 1118));
        assert_eq!(b.response(&mode(b, "11 Mbit/s"), false), micros(192 + 56));
        assert_eq!(b.response(&mode(b, "1 Mbit/s"), false), micros(192 + 112));
        let g = Air::plain(Standard::G);
        assert_eq!(mode(g, "54 Mbit/s").time(1536), micros(20 + 228 + 6));
        assert_eq!(g.response(&mode(g, "54 Mbit/s"), false), micros(20 + 8 + 6));
        assert_eq!(g.unreadable_penalty(), micros(10 + 20 + 24 + 6));
        let n = Air::plain(Standard::N);
        assert_eq!(mode(n, "mcs7").time(1538), micros(36 + 192));
        assert_eq!(mode(n, "mcs7").time(28 * 1544), micros(5360));
        assert_eq!(n.response(&mode(n, "mcs7"), true), micros(32));
        let short = Air { short_guard: true, ..n };
        assert_eq!(mode(short, "mcs0").time(3 * 1544), micros(5176));
        let ac = Air { width_mhz: 80, short_guard: true, ..Air::plain(Standard::Ac) };
        assert_eq!(ac.mode("mcs9", 2).unwrap().time(64 * 1544), micros(44 + 916));
    }

    #[test]
    fn rates_are_those_of_the_tables() {
        let rate = |air: Air, name: &str, streams| air.mode(name, streams).map(|mode| mode.rate().bits_per_second());
        let n = Air { width_mhz: 40, short_guard: true, ..Air::plain(Standard::N) };
        assert_eq!(rate(n, "mcs15", 1), Some(300_000_000));
        assert_eq!(rate(Air::plain(Standard::N), "mcs15", 1), Some(130_000_000));
        let ac = Air { width_mhz: 80, short_guard: true, ..Air::plain(Standard::Ac) };
        assert_eq!(rate(ac, "mcs9", 2), Some(866_666_666));
        // 256-QAM 5/6 at 20 MHz comes out even with three streams only.
        assert_eq!(rate(Air::plain(Standard::Ac), "mcs9", 1), None);
        assert_eq!(rate(Air::plain(Standard::Ac), "mcs9", 3), Some(260_000_000));
        assert_eq!(rate(ac, "mcs6", 3), None);
        assert_eq!(rate(Air::plain(Standard::G), "11 Mbit/s", 1), None);
        assert_eq!(rate(Air::plain(Standard::B), "5.5 Mbit/s", 1), Some(5_500_000));
    }

    #[test]
    fn as_many_bytes_fit_as_take_no_longer() {
        let short = Air { short_guard: true, ..Air::plain(Standard::N) };
        let air = [Air::plain(Standard::B), Air::plain(Standard::G), Air::plain(Standard::N), short];
        for (air, name) in air.iter().flat_map(|air| air.rates().into_iter().map(move |name| (air, name))) {
            let mode = mode(*air, &name);
            for micros in 100..5_484 {
                let longest = Span::from_micros(micros);
                let most = mode.bytes_within(longest);
                assert!(most == 0 || mode.time(most) <= longest, "{name} of {air:?}: {most} B in {longest}");
                assert!(mode.time(most + 1) > longest, "{name} of {air:?}: {most} B in {longest}");
            }
        }
        assert_eq!(mode(Air::plain(Standard::B), "1 Mbit/s").bytes_within(Span::from_micros(100)), 0);
    }
}
