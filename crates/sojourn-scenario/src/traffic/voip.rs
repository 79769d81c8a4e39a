//! Calls: one direction of a call as packets of speech.

use crate::declare::{Held, bytes, number, span, table, word_of};
use crate::fields::Item;
use crate::form::Form;
use sojourn_core::Span;
use sojourn_core::registry::Value;
use std::ops::RangeInclusive;

const SPEECH: RangeInclusive<Span> = Span::from_millis(1)..=Span::from_secs(3600);

table! {
    /// one direction of a call: a packet of speech (RTP over UDP over IPv4, 40 B of headers) for every frame,
    /// whatever happens to it; the record tells delay, jitter, loss and the quality of the call. A whole call is two groups, one in each direction
    pub(crate) struct Call = VOIP, "voip" => {
        /// the codec: g711 (64 kbit/s, with packet loss concealment), g729 (G.729A at 8 kbit/s with voice activity detection),
        /// opus (24 kbit/s)
        codec: &'static Codec = word_of(CODEC_NAMES).or("g711", "g729"),
        /// speech in a packet
        frame: Option<Span> = span(Span::from_micros(2500)..=Span::from_millis(120)).unless("20 ms", "30 ms"),
        /// coded speech in a packet, without headers
        payload_bytes as "payload": Option<u32> = bytes(1..=65_000)
            .unless("what the codec makes of a frame at its rate", "60 B"),
        /// equipment impairment factor Ie of the E-model
        ie: Option<f64> = number(0.0..=95.0).unless("the codec's in ITU-T G.113; opus has none there", "11"),
        /// packet-loss robustness factor Bpl of the E-model
        bpl: Option<f64> = number(1.0..=100.0).unless("the codec's in ITU-T G.113; opus has none there", "19"),
        /// talker echo loudness rating TELR of the E-model in dB: how much quieter than the voice its echo is
        /// (the default is that of ITU-T G.107, with an echo canceller)
        telr_db: f64 = number(5.0..=65.0).or("65", "45"),
        /// weighted echo path loss WEPL of the E-model in dB: how much quieter the voice is when it comes a second
        /// time (the default is that of ITU-T G.107)
        wepl_db: f64 = number(5.0..=110.0).or("110", "50"),
        /// mean of the exponential talk spurts; silence is not sent (ITU-T P.59: 1.004 s)
        talk: Option<Span> = span(SPEECH).unless("speaks without pause", "1.004 s"),
        /// mean of the exponential silences between talk spurts (ITU-T P.59: 1.587 s)
        pause: Option<Span> = span(SPEECH).unless("speaks without pause", "1.587 s"),
    }
}

/// A speech codec.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Codec {
    /// What the scenario file calls it.
    pub name: &'static str,
    /// Bits of coded speech per second.
    pub rate: u64,
    /// How far it looks ahead of the frame that it codes.
    pub lookahead: Span,
    /// Equipment impairment factor Ie and packet-loss robustness factor Bpl (ITU-T G.113 Appendix I), where known.
    pub quality: Option<(f64, f64)>,
}

/// All codecs.
static CODECS: [Codec; 3] = [
    // G.113 Appendix I: G.711 with the packet loss concealment of its own Appendix I.
    Codec { name: "g711", rate: 64_000, lookahead: Span::ZERO, quality: Some((0.0, 25.1)) },
    // G.729 section 3: 5 ms look-ahead. G.113 Appendix I: G.729A with voice activity detection.
    Codec { name: "g729", rate: 8_000, lookahead: Span::from_millis(5), quality: Some((11.0, 19.0)) },
    // RFC 6716 section 2: 5 ms look-ahead of SILK and 1.5 ms of resampling. G.113 has no values for it.
    Codec { name: "opus", rate: 24_000, lookahead: Span::from_micros(6500), quality: None },
];

/// Names of all codecs.
static CODEC_NAMES: &[&str] = &["g711", "g729", "opus"];

impl Codec {
    /// The codec called `name`.
    pub fn named(name: &str) -> Option<&'static Codec> {
        CODECS.iter().find(|codec| codec.name == name)
    }
}

impl Held for &'static Codec {
    fn from_item(item: Option<&Item>) -> Option<&'static Codec> {
        let Item::Value(Value::Choice(name)) = item? else { return None };
        Codec::named(name)
    }

    fn to_item(&self, _: &Form) -> Option<Item> {
        Some(Item::Value(Value::Choice(self.name)))
    }
}

/// How much of a voice comes back as an echo, for the E-model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Echo {
    /// Talker echo loudness rating TELR in dB: how much quieter than his voice a talker's own echo is.
    pub telr_db: f64,
    /// Weighted echo path loss WEPL in dB: how much quieter than the voice a listener hears it a second time.
    pub wepl_db: f64,
}

impl Default for Echo {
    /// The defaults of ITU-T G.107: echo cancellers at both ends.
    fn default() -> Echo {
        Echo { telr_db: 65.0, wepl_db: 110.0 }
    }
}

/// One direction of a call: a packet for every frame of speech.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Voip {
    /// The codec.
    pub codec: &'static Codec,
    /// Speech in a packet.
    pub frame: Span,
    /// Coded speech in a packet.
    pub payload_bytes: u32,
    /// Ie and Bpl of the E-model, where known.
    pub quality: Option<(f64, f64)>,
    /// Echo losses of the E-model.
    pub echo: Echo,
    /// Means of talk spurts and silences; speaks without pause where absent.
    pub spurts: Option<(Span, Span)>,
}

impl From<Call> for Voip {
    /// What a file leaves out follows from the codec.
    fn from(call: Call) -> Voip {
        let Call { codec, telr_db, wepl_db, .. } = call;
        let frame = call.frame.unwrap_or(Voip::FRAME);
        let coded_bytes = (codec.rate * frame.as_nanos()).div_ceil(8_000_000_000) as u32;
        let (ie, bpl) = codec.quality.unzip();
        Voip {
            codec,
            frame,
            payload_bytes: call.payload_bytes.unwrap_or(coded_bytes),
            quality: call.ie.or(ie).zip(call.bpl.or(bpl)),
            echo: Echo { telr_db, wepl_db },
            spurts: call.talk.zip(call.pause),
        }
    }
}

impl From<&Voip> for Call {
    fn from(voip: &Voip) -> Call {
        let ((ie, bpl), (talk, pause)) = (voip.quality.unzip(), voip.spurts.unzip());
        let Echo { telr_db, wepl_db } = voip.echo;
        let (frame, payload_bytes) = (Some(voip.frame), Some(voip.payload_bytes));
        Call { codec: voip.codec, frame, payload_bytes, ie, bpl, telr_db, wepl_db, talk, pause }
    }
}

impl Voip {
    /// IPv4, UDP and RTP headers (RFC 791, RFC 768, RFC 3550).
    pub const HEADER_BYTES: u32 = 20 + 8 + 12;
    /// Speech in a packet where nothing else is said (RFC 3551 section 4.2).
    pub const FRAME: Span = Span::from_millis(20);

    /// Bytes of a packet on the wire.
    pub fn packet_bytes(&self) -> u32 {
        self.payload_bytes + Voip::HEADER_BYTES
    }

    /// How long it takes from the mouth to the network: a frame is filled, then the codec looks ahead.
    pub fn codec_delay(&self) -> Span {
        self.frame + self.codec.lookahead
    }
}
