//! One end of a WebRTC session of str0m as an endpoint of Sojourn: a video that is sent at the rate which str0m estimates.
//!
//! Str0m takes `Instant`s, of which only differences count: `zero` is the instant of Sojourn's time zero.

use crate::machine::at_work;
use sojourn_endpoint::{Ecn, Endpoint, Span, Time};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use str0m::bwe::{Bitrate, BweKind};
use str0m::crypto::dtls::DtlsCert;
use str0m::format::Codec;
use str0m::media::{MediaKind, Mid, Pt};
use str0m::net::{Protocol, Receive};
use str0m::rtp::{RtpWrite, Ssrc};
use str0m::{Candidate, Event, Input, Output, Rtc, RtcError};

/// The certificate of both ends, signed with its own key, which is no secret. Str0m would make one with AWS-LC, whose numbers no
/// seed decides.
static CERTIFICATE: &[u8] = include_bytes!("../../picoquic/certificate.der");
/// What precedes a key of P-256 in its structure of ASN.1 (RFC 5915 section 3).
const KEY_HEADER: [u8; 7] = [0x30, 0x25, 2, 1, 1, 4, 32];
const KEY: [u8; 32] = [
    0x00, 0x05, 0x7f, 0x65, 0xc9, 0xa5, 0xe2, 0x09, 0x0b, 0x4e, 0xf8, 0x56, 0x92, 0x5e, 0xf7, 0xf0, 0x16, 0x99, 0x96,
    0xf7, 0x71, 0x9c, 0xf4, 0x82, 0x41, 0x08, 0x3e, 0x8b, 0x97, 0x73, 0xd1, 0xa7,
];
/// What a packet of video carries: so much that with all headers it fits into str0m's own limit of a datagram.
const PAYLOAD_BYTES: u64 = 1_100;
/// RTP's header with the extensions that str0m sends, and SRTP's tag: what the estimate counts beside the payload.
const HEADER_BYTES: u64 = 48;
/// Where the estimate begins, as in the examples of str0m.
const FIRST: Bitrate = Bitrate::mbps(1);
/// What the video would take at most: more than the paths of the laws and of the comparison have, so that only the estimate holds
/// it back there. Str0m probes for it: where it is far more than a path has, probes fill the buffer again and again.
const WANTED: Bitrate = Bitrate::mbps(30);
/// The clock of RTP's timestamps for video (RFC 3551 section 4.4).
const CLOCK_HZ: u64 = 90_000;
const NANOS_PER_S: u64 = 1_000_000_000;

/// One end.
pub struct Str0m {
    zero: Instant,
    rtc: Rtc,
    /// Where this end is, and the other one.
    places: [SocketAddr; 2],
    video: Option<Video>,
    delivered_bytes: u64,
    leaving: VecDeque<Vec<u8>>,
    due: Time,
}

/// What a sender sends.
struct Video {
    ssrc: Ssrc,
    payload_type: Pt,
    /// What is left of it; `None` without end.
    left: Option<u64>,
    number: u64,
    rate: Bitrate,
    /// When its next packet is there; none before the session is up.
    next: Time,
    payload: Arc<[u8]>,
}

impl Video {
    /// How long a packet takes at the rate that is estimated.
    fn interval(&self) -> Span {
        let bits = 8 * (PAYLOAD_BYTES + HEADER_BYTES);
        Span::from_nanos(bits * NANOS_PER_S / self.rate.as_u64().max(1))
    }
}

/// Both ends of a session: what signalling would have told each of the other is known.
pub fn session(bytes: Option<u64>, zero: Instant) -> Result<[Str0m; 2], RtcError> {
    let place = |host: u8| SocketAddr::from((Ipv4Addr::new(10, 0, 0, host), 5_000));
    let builders = [Rtc::builder().enable_bwe(Some(FIRST)), Rtc::builder()];
    let mut ends = builders.map(|builder| {
        let certificate = DtlsCert { certificate: CERTIFICATE.into(), private_key: [&KEY_HEADER[..], &KEY].concat() };
        builder.set_dtls_cert(certificate).set_rtp_mode(true).set_stats_interval(None).build(zero)
    });
    let ice = ends.each_mut().map(|end| end.direct_api().local_ice_credentials());
    let prints = ends.each_mut().map(|end| end.direct_api().local_dtls_fingerprint().clone());
    for (this, other) in [(0, 1), (1, 0)] {
        let end = &mut ends[this];
        let candidate =
            |index: usize| Candidate::host(place(index as u8 + 1), "udp").expect("an address that is valid");
        end.add_local_candidate(candidate(this));
        end.add_remote_candidate(candidate(other));
        let mut direct = end.direct_api();
        direct.set_remote_fingerprint(prints[other].clone());
        direct.set_remote_ice_credentials(ice[other].clone());
        direct.set_ice_controlling(this == 0);
        direct.start_dtls(this == 0)?;
    }
    let (video, ssrc, again): (Mid, Ssrc, Ssrc) = ("vid".into(), 42.into(), 44.into());
    let [mut sender, mut receiver] = ends;
    sender.bwe().set_desired_bitrate(WANTED);
    sender.direct_api().declare_media(video, MediaKind::Video);
    sender.direct_api().declare_stream_tx(ssrc, Some(again), video, None);
    receiver.direct_api().declare_media(video, MediaKind::Video);
    receiver.direct_api().expect_stream_rx(ssrc, Some(again), video, None);
    receiver.direct_api().enable_twcc_feedback();
    let payload_type =
        sender.codec_config().find(|one| one.spec().codec == Codec::Vp8).expect("a codec that is on by default").pt();
    let payload = vec![0; PAYLOAD_BYTES as usize].into();
    let video = Video { ssrc, payload_type, left: bytes, number: 0, rate: FIRST, next: Time::NEVER, payload };
    let end = |rtc, this, other, video| Str0m {
        zero,
        rtc,
        places: [place(this), place(other)],
        video,
        delivered_bytes: 0,
        leaving: VecDeque::new(),
        due: Time::ZERO,
    };
    Ok([end(sender, 1, 2, Some(video)), end(receiver, 2, 1, None)])
}

impl Str0m {
    fn instant(&self, now: Time) -> Instant {
        self.zero + Duration::from_nanos(now.as_nanos())
    }

    /// Gives str0m something, and deals with all that follows from it.
    fn handle(&mut self, now: Time, input: Input<'_>) {
        at_work(|| self.work(now, input));
    }

    fn work(&mut self, now: Time, input: Input<'_>) {
        self.rtc.handle_input(input).expect("input of the other end");
        self.settle(now);
        while self.video.as_ref().is_some_and(|video| video.next <= now && video.left != Some(0)) {
            self.write(now);
            self.rtc.handle_input(Input::Timeout(self.instant(now))).expect("a time that has come");
            self.settle(now);
        }
    }

    fn settle(&mut self, now: Time) {
        loop {
            match self.rtc.poll_output().expect("a session that goes on") {
                Output::Timeout(at) => {
                    let nanos = at.saturating_duration_since(self.zero).as_nanos();
                    self.due = Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
                    return;
                }
                Output::Transmit(sent) => self.leaving.push_back(sent.contents.to_vec()),
                Output::Event(Event::RtpPacket(packet)) => self.delivered_bytes += packet.payload.len() as u64,
                Output::Event(event) => {
                    if let Some(video) = &mut self.video {
                        video.on_event(now, &event);
                    }
                }
            }
        }
    }

    /// Hands str0m the next packet of the video.
    fn write(&mut self, now: Time) {
        let wallclock = self.instant(now);
        let Some(video) = &mut self.video else { return };
        let bytes = video.left.unwrap_or(PAYLOAD_BYTES).min(PAYLOAD_BYTES);
        let timestamp = now.as_nanos() / 1_000 * CLOCK_HZ / 1_000_000;
        let packet = RtpWrite::new(
            video.payload_type,
            video.number.into(),
            timestamp as u32,
            wallclock,
            video.payload[..bytes as usize].to_vec(),
        );
        video.number += 1;
        video.left = video.left.map(|left| left - bytes);
        video.next += video.interval();
        let ssrc = video.ssrc;
        self.rtc.direct_api().stream_tx(&ssrc).expect("the stream of the video").write_rtp(packet.nackable(true));
    }
}

impl Video {
    fn on_event(&mut self, now: Time, event: &Event) {
        match event {
            Event::Connected => self.next = now,
            Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. }) => self.rate = *estimate,
            _ => {}
        }
    }
}

impl Endpoint for Str0m {
    fn receive(&mut self, now: Time, _: Ecn, datagram: &[u8]) {
        let [destination, source] = self.places;
        let Ok(contents) = datagram.try_into() else { return };
        let received = Receive { proto: Protocol::Udp, source, destination, contents };
        self.handle(now, Input::Receive(self.instant(now), received));
    }

    fn write(&mut self, now: Time, bytes: u64) {
        if let Some(video) = &mut self.video {
            if video.left == Some(0) && video.next != Time::NEVER {
                video.next = now;
            }
            video.left = video.left.map(|left| left + bytes);
        }
    }

    fn wake(&mut self, now: Time) {
        self.handle(now, Input::Timeout(self.instant(now)));
    }

    fn next_wake(&self) -> Time {
        let next = self.video.as_ref().filter(|video| video.left != Some(0)).map_or(Time::NEVER, |video| video.next);
        self.due.min(next)
    }

    fn transmit(&mut self, _: Time, room: &mut Vec<u8>) -> Option<Ecn> {
        *room = self.leaving.pop_front()?;
        Some(Ecn::NotEct)
    }

    fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }
}
