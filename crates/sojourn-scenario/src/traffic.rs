//! What applications send.

use sojourn_core::{Rate, Span};

/// What the application at the sender does.
#[derive(Clone, PartialEq, Debug)]
pub enum Traffic {
    /// Always has data; or so many payload bytes, whose completion time is then recorded.
    Bulk {
        /// Payload bytes to send; unlimited where absent.
        size_bytes: Option<u64>,
    },
    /// Exponential on and off times; sends as `Bulk` while on and restarts its window after an off time.
    OnOff {
        /// Mean of the on times.
        on: Span,
        /// Mean of the off times.
        off: Span,
    },
    /// Packets of one size at a constant rate, whatever happens to them.
    Cbr {
        /// Rate on the wire.
        rate: Rate,
        /// Bytes of a packet on the wire.
        packet_bytes: u32,
    },
    /// One direction of a call.
    Voip(Voip),
    /// Adaptive streaming.
    Video(Video),
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
pub(crate) static CODEC_NAMES: &[&str] = &["g711", "g729", "opus"];

/// Most rates of a ladder.
pub(crate) const MOST_RUNGS: usize = 100;

impl Codec {
    /// The codec called `name`.
    pub fn named(name: &str) -> Option<&'static Codec> {
        CODECS.iter().find(|codec| codec.name == name)
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
    /// Means of talk spurts and silences; speaks without pause where absent.
    pub spurts: Option<(Span, Span)>,
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

/// Adaptive streaming: segments of equal play time.
#[derive(Clone, PartialEq, Debug)]
pub struct Video {
    /// Rates of the video, ascending.
    pub ladder: Vec<Rate>,
    /// Play time of a segment.
    pub segment: Span,
    /// Play time that the buffer holds.
    pub buffer: Span,
    /// Segments whose throughputs are averaged.
    pub samples: usize,
    /// Share of the throughput which the rate may take.
    pub safety: f64,
    /// Share of the throughput, times the segments in the buffer, which the rate may take.
    pub low_buffer_safety: f64,
}
