//! The counters of both ends.

use crate::segment::{Counters, EcnFlags, Segment};
use sojourn_queue::Ecn;

/// First value of the packet counters r.cep and s.cep (section 3.2.1).
const FIRST_PACKETS: u32 = 5;
/// First value of r.e0b and r.e1b; r.ceb begins at zero (section 3.2.1).
const FIRST_BYTES: u32 = 1;
/// CE marks since the last acknowledgement that bring about one (section 3.2.2.5.1).
const MARKS_PER_ACK: u32 = 2;
/// Values of the ACE field (DIVACE).
const CYCLE: u32 = 8;
/// Segments per acknowledgement, smoothed, beyond which acknowledgements are taken for thinned rather than lost
/// (Linux: ACK_COMP_THRESH).
const THINNED: f64 = 4.0;
/// Weight of an acknowledgement in that (Linux: PKTS_ACKED_WEIGHT).
const THINNED_GAIN: f64 = 1.0 / 64.0;
/// Bits of a byte counter of the option.
const BYTE_MASK: u32 = (1 << 24) - 1;

/// The receiver's counters.
#[derive(Debug)]
pub(crate) struct Counts {
    /// r.cep.
    packets: u32,
    /// r.ceb.
    ce_bytes: u32,
    /// r.e0b and r.e1b.
    ect_bytes: [u32; 2],
    /// Which of them grew last.
    ect1: bool,
    since_ack: u32,
    /// Whether the option goes with acknowledgements.
    option: bool,
    /// Whether a byte counter has grown since the last acknowledgement.
    grown: bool,
}

impl Counts {
    /// Of a connection that begins; acknowledgements carry the option where `option` says so.
    pub(crate) fn start(option: bool) -> Option<Box<Counts>> {
        Some(Box::new(Counts::new(option)))
    }

    fn new(option: bool) -> Counts {
        Counts {
            packets: FIRST_PACKETS,
            ce_bytes: 0,
            ect_bytes: [FIRST_BYTES; 2],
            ect1: false,
            since_ack: 0,
            option,
            grown: false,
        }
    }

    /// A data packet came; whether it must be acknowledged at once. `before` says whether the last one was marked.
    pub(crate) fn on_packet(&mut self, marked: bool, before: bool) -> bool {
        if !marked {
            return false;
        }
        self.packets = self.packets.wrapping_add(1);
        self.since_ack += 1;
        !before || self.since_ack >= MARKS_PER_ACK
    }

    /// What it carried.
    pub(crate) fn on_bytes(&mut self, ecn: Ecn, bytes: u32) {
        let counter = match ecn {
            Ecn::NotEct => return,
            Ecn::Ce => &mut self.ce_bytes,
            Ecn::Ect0 | Ecn::Ect1 => {
                self.ect1 = ecn == Ecn::Ect1;
                &mut self.ect_bytes[usize::from(self.ect1)]
            }
        };
        *counter = counter.wrapping_add(bytes);
        self.grown = true;
    }

    /// Enters them into an acknowledgement.
    #[inline(never)]
    pub(crate) fn write(&mut self, ack: &mut Segment) {
        ack.ecn = EcnFlags::of_ace(self.packets);
        self.since_ack = 0;
        if self.option && std::mem::take(&mut self.grown) {
            ack.set_counters(&Counters {
                ect1: self.ect1,
                ect_bytes: self.ect_bytes[usize::from(self.ect1)] & BYTE_MASK,
                ce_bytes: self.ce_bytes & BYTE_MASK,
            });
        }
    }
}

/// What the sender knows of the receiver's counters.
#[derive(Debug)]
pub(crate) struct Decoder {
    /// s.cep.
    packets: u32,
    /// s.ceb.
    ce_bytes: u32,
    /// Segments per acknowledgement, smoothed.
    per_ack: f64,
    payload_bytes: u32,
}

impl Decoder {
    /// Of a connection that begins, with segments of so many bytes.
    pub(crate) fn start(payload_bytes: u32) -> Option<Box<Decoder>> {
        Some(Box::new(Decoder::new(payload_bytes)))
    }

    fn new(payload_bytes: u32) -> Decoder {
        Decoder { packets: FIRST_PACKETS, ce_bytes: 0, per_ack: 0.0, payload_bytes }
    }

    /// How many more packets were marked, as `ack` says, which is the first to cover `newly` segments. One that covers none
    /// waits for the next, since it may have been overtaken.
    pub(crate) fn decode(&mut self, ack: &Segment, newly: u32) -> u32 {
        if newly == 0 {
            return 0;
        }
        let ce_bytes = ack.counters().map(|counters| {
            let more = counters.ce_bytes.wrapping_sub(self.ce_bytes) & BYTE_MASK;
            self.ce_bytes = counters.ce_bytes;
            more
        });
        let first = self.per_ack == 0.0;
        self.per_ack += (f64::from(newly) - self.per_ack) * if first { 1.0 } else { THINNED_GAIN };
        let least = (CYCLE + u32::from(ack.ecn.ace()) - self.packets % CYCLE) % CYCLE;
        let more = self.likely(least, newly, ce_bytes);
        self.packets = self.packets.wrapping_add(more);
        more
    }

    /// Appendix A.2: `least` (d.cep), or the most that `newly` segments allow with as much in the field (dSafer.cep).
    fn likely(&self, least: u32, newly: u32, ce_bytes: Option<u32>) -> u32 {
        if newly < CYCLE {
            return least;
        }
        let most = newly - (newly - least) % CYCLE;
        let Some(ce_bytes) = ce_bytes else {
            return if self.per_ack > THINNED { least } else { most };
        };
        // Whole segments of this sender are as long as an MSS, but the last one: what was marked follows from the bytes.
        let marked = ce_bytes.div_ceil(self.payload_bytes);
        let cycles = marked.saturating_sub(least).div_ceil(CYCLE);
        most.min(least + cycles * CYCLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accecn::Ability;
    use crate::segment::{Block, MAX_BLOCKS, SegmentKind};
    use proptest::prelude::*;
    use sojourn_core::Time;

    fn ack(counts: &mut Counts) -> Segment {
        let mut ack = Segment::new(SegmentKind::Ack, 0, Time::ZERO);
        counts.write(&mut ack);
        ack
    }

    fn arrive(counts: &mut Counts, marked: bool) {
        counts.on_packet(marked, true);
        counts.on_bytes(if marked { Ecn::Ce } else { Ecn::Ect1 }, 1460);
    }

    /// Sections 3.2.1 and 3.2.3: r.cep begins at 5, ECEB at 0 and EE1B at 1.
    #[test]
    fn counters_begin_as_the_standard_says() {
        let mut counts = Counts::new(true);
        assert_eq!((ack(&mut counts).ecn.ace(), ack(&mut counts).counters()), (5, None));
        for marked in [false, true, true, true] {
            arrive(&mut counts, marked);
        }
        let told = ack(&mut counts);
        assert_eq!(told.ecn.ace(), 0, "5 + 3 modulo 8");
        assert_eq!(told.counters(), Some(Counters { ect1: true, ect_bytes: 1461, ce_bytes: 4380 }));
        assert_eq!(ack(&mut counts).counters(), None, "nothing has grown");
    }

    /// Appendix A.2.1: 9 segments with 2 more in the field are 2 marks; 10 are 10.
    #[test]
    fn without_the_option_the_safest_likely_case_counts() {
        let safe = |newly, least| Decoder::new(1460).likely(least, newly, None);
        assert_eq!((safe(9, 2), safe(10, 2)), (2, 10));
        assert_eq!((safe(7, 0), safe(8, 0), safe(7, 7)), (0, 8, 7));
        let thinned = Decoder { per_ack: 10.0, ..Decoder::new(1460) };
        assert_eq!(thinned.likely(2, 10, None), 2, "long stretches are usual");
    }

    /// Appendix A.2.2, its three examples with an MSS of 1460 B; and 9 of 30 marks, where the safest case is 25.
    #[test]
    fn the_option_tells_how_often_the_field_went_round() {
        let told = |newly, least, bytes| Decoder::new(1460).likely(least, newly, Some(bytes));
        assert_eq!(told(8, 0, 1460), 8);
        assert_eq!(told(10, 2, 1460), 2);
        assert_eq!(told(15, 7, 10_200), 7);
        assert_eq!(told(30, 1, 9 * 1460), 9);
        assert_eq!(told(30, 1, 1460), 1);
    }

    /// Section 3.1.2, table 2: what a SYN/ACK says to a SYN with all three flags.
    #[test]
    fn the_handshake_falls_back() {
        let answered = |ability: Ability| ability.answer(EcnFlags::ALL);
        assert_eq!(answered(Ability::Counts).ace(), 0b010);
        assert_eq!(answered(Ability::Classic).ace(), 0b001);
        assert_eq!(answered(Ability::Nothing).ace(), 0b000);
        for ability in [Ability::Counts, Ability::Classic, Ability::Nothing] {
            assert_eq!(Ability::agreed(answered(ability)), ability);
        }
        let agreed = [0b011, 0b100, 0b110, 0b101, 0b111].map(|flags| Ability::agreed(EcnFlags::of_ace(flags)));
        use Ability::{Classic, Counts, Nothing};
        assert_eq!(agreed, [Counts, Counts, Counts, Classic, Nothing]);
        assert_eq!(Counts.answer(EcnFlags::of_ace(0b011)), EcnFlags::ECE, "a classic SYN");
        assert_eq!(Counts.answer(EcnFlags::NONE), EcnFlags::NONE);
    }

    #[test]
    fn the_option_and_two_blocks_fill_a_header() {
        let mut ack = Segment::new(SegmentKind::Ack, 0, Time::ZERO);
        ack.blocks = MAX_BLOCKS as u8;
        ack.sack = [Block { start: 3, end: 4 }, Block { start: 6, end: 7 }, Block { start: 9, end: 10 }];
        let counters = Counters { ect1: false, ect_bytes: 0xff_ffff, ce_bytes: 7 };
        ack.set_counters(&counters);
        assert_eq!((ack.counters(), ack.option_bytes()), (Some(counters), 28));
        assert_eq!(ack.sack_blocks(), [Block { start: 3, end: 4 }, Block { start: 6, end: 7 }]);
    }

    proptest! {
        /// Every mark is counted, however many acknowledgements are lost, where the option comes along; without it where less
        /// than 8 segments are covered at once. The field agrees always.
        #[test]
        fn what_the_sender_counts(
            marks in prop::collection::vec(any::<bool>(), 1..400),
            lost in prop::collection::vec(0usize..40, 1..100),
            option in any::<bool>(),
        ) {
            let mut counts = Counts::new(option);
            let mut decoder = Decoder::new(1460);
            let (mut covered, mut total, mut truth, mut widest) = (0, 0, 0, 0);
            let mut wait = lost.iter().cycle();
            let mut next = 0;
            for (number, &marked) in marks.iter().enumerate() {
                arrive(&mut counts, marked);
                truth += u32::from(marked);
                let told = ack(&mut counts);
                if number >= next || number + 1 == marks.len() {
                    let newly = (number + 1 - covered) as u32;
                    widest = widest.max(newly);
                    let found = decoder.decode(&told, newly);
                    prop_assert!(found <= newly);
                    total += found;
                    covered = number + 1;
                    next = number + 1 + wait.next().unwrap();
                }
            }
            prop_assert_eq!(total % 8, truth % 8);
            if option || widest < 8 {
                prop_assert_eq!(total, truth);
            }
        }
    }
}
