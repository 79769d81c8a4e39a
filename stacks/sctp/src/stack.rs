//! One end of an SCTP association of sctp-proto as an endpoint of Sojourn: one stream, ordered and reliable, in UDP (RFC 6951).
//!
//! Sctp-proto draws tags, first TSNs and cookies from the thread's generator, which nobody can seed: these numbers differ from
//! run to run, but no length and no time follows from them, and so the record does not differ. It has neither ECN nor
//! heartbeats of its own, and one congestion control (RFC 9260, section 7.2). Its timers are those of RFC 4960: a T3-rtx of 3 s
//! at first and 1 s at least; SACKs for every second packet, or after 200 ms.

use bytes::Bytes;
use sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event, Payload,
    PayloadProtocolIdentifier, ServerConfig, StreamEvent, StreamId, TransportConfig,
};
use sojourn_endpoint::{Ecn, Span, Time};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// RFC 6951, section 5.1.
const PORT: u16 = 9_899;
const STREAM: StreamId = 0;
/// What fills an IP packet of 1500 B beside the headers of IPv4, UDP and SCTP and that of the chunk: 20 + 8 + 12 + 16 B.
const CHUNK_BYTES: usize = 1_444;
/// About 16 KiB, and chunks that are full: the last one of a message shares no packet with the next message.
static MESSAGE: [u8; 11 * CHUNK_BYTES] = [0; 11 * CHUNK_BYTES];
/// More than a path of 20 Mbit/s, 40 ms and 100 packets holds, so that nothing but the congestion window is to hold a sender back.
const RECEIVE_BUFFER_BYTES: u32 = 1 << 20;
/// More than the peer ever allows in flight: the congestion window grows only while something waits.
const SEND_BUFFER_BYTES: usize = 2 << 20;
/// Sctp-proto's default, which is to be known here.
const FIRST_TIMEOUT: Duration = Duration::from_secs(3);

/// One end.
pub struct Sctp {
    /// Sctp-proto takes `Instant`s, of which only differences count: this is Sojourn's time zero.
    zero: Instant,
    endpoint: Endpoint,
    association: Option<(AssociationHandle, Association)>,
    connected: bool,
    /// What is left to send; nothing of a server.
    left: Option<u64>,
    delivered_bytes: u64,
    leaving: VecDeque<Bytes>,
    due: Time,
}

impl Sctp {
    fn new(left: Option<u64>, transport: Option<Arc<TransportConfig>>) -> Sctp {
        let mut config = EndpointConfig::new();
        config.max_payload_size(CHUNK_BYTES as u32);
        let server = transport.map(|transport| {
            let mut server = ServerConfig::new();
            server.transport = transport;
            Arc::new(server)
        });
        Sctp {
            zero: Instant::now(),
            endpoint: Endpoint::new(Arc::new(config), server),
            association: None,
            connected: false,
            left,
            delivered_bytes: 0,
            leaving: VecDeque::new(),
            due: Time::NEVER,
        }
    }

    /// A server that counts what it is sent.
    pub fn server() -> Sctp {
        Sctp::new(Some(0), Some(transport()))
    }

    /// A client that sends so many bytes, or without end.
    pub fn client(bytes: Option<u64>) -> Sctp {
        let mut client = Sctp::new(bytes, None);
        let mut config = ClientConfig::new();
        config.transport = transport();
        let (handle, association) = client.endpoint.connect(config, peer()).expect("ports that are not zero");
        // `connect` reads the clock of the machine for the first timeout. Where that is counted from is time zero: otherwise a
        // lost INIT would be repeated at another time in every run.
        client.zero = association.poll_timeout().expect("an INIT under way") - FIRST_TIMEOUT;
        client.association = Some((handle, association));
        client.due = Time::ZERO;
        client
    }

    fn instant(&self, now: Time) -> Instant {
        self.zero + Duration::from_nanos(now.as_nanos())
    }

    /// Deals with what has happened, and lets the application read and write.
    fn settle(&mut self) {
        let Some((handle, association)) = &mut self.association else { return };
        while let Some(event) = association.poll_endpoint_event() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                association.handle_event(answer);
            }
        }
        while let Some(event) = association.poll() {
            match event {
                Event::Connected => self.connected = true,
                Event::Stream(StreamEvent::Readable { id }) => self.delivered_bytes += read(association, id),
                // Nobody closes an association here: a record of one that ended would be taken for one of a slow path.
                Event::HandshakeFailed { reason } | Event::AssociationLost { reason } => {
                    panic!("the association is lost: {reason}")
                }
                _ => {}
            }
        }
        if self.connected && self.left != Some(0) {
            write(association, &mut self.left);
        }
    }
}

impl sojourn_endpoint::Endpoint for Sctp {
    fn receive(&mut self, now: Time, _: Ecn, datagram: &[u8]) {
        let now = self.instant(now);
        match self.endpoint.handle(now, peer(), None, None, Bytes::copy_from_slice(datagram)) {
            Some((_, DatagramEvent::AssociationEvent(event))) => {
                if let Some((_, association)) = &mut self.association {
                    association.handle_event(event);
                }
            }
            Some((handle, DatagramEvent::NewAssociation(new))) => self.association = Some((handle, new)),
            None => {}
        }
        self.settle();
    }

    fn write(&mut self, _: Time, bytes: u64) {
        self.left = self.left.map(|left| left + bytes);
        self.settle();
    }

    fn wake(&mut self, now: Time) {
        let now = self.instant(now);
        if let Some((_, association)) = &mut self.association {
            association.handle_timeout(now);
        }
        self.settle();
    }

    fn next_wake(&self) -> Time {
        self.due
    }

    fn transmit(&mut self, now: Time, room: &mut Vec<u8>) -> Option<Ecn> {
        let (instant, zero) = (self.instant(now), self.zero);
        let (_, association) = self.association.as_mut()?;
        while self.leaving.is_empty() {
            let Some(sent) = association.poll_transmit(instant) else {
                let due =
                    |at: Instant| Time::ZERO + Span::from_nanos(at.saturating_duration_since(zero).as_nanos() as u64);
                self.due = association.poll_timeout().map_or(Time::NEVER, due);
                return None;
            };
            if let Payload::RawEncode(datagrams) = sent.payload {
                self.leaving.extend(datagrams);
            }
        }
        room.extend_from_slice(&self.leaving.pop_front()?);
        Some(Ecn::NotEct)
    }

    fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }
}

fn peer() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))
}

fn transport() -> Arc<TransportConfig> {
    let config = TransportConfig::default().with_max_receive_buffer_size(RECEIVE_BUFFER_BYTES);
    Arc::new(config.with_rto_initial_ms(FIRST_TIMEOUT.as_millis() as u64))
}

/// Writes messages until enough is under way or waits.
fn write(association: &mut Association, left: &mut Option<u64>) {
    let opened = association.stream_ids().contains(&STREAM);
    let stream = if opened {
        association.stream(STREAM)
    } else {
        association.open_stream(STREAM, PayloadProtocolIdentifier::Binary)
    };
    let mut stream = stream.expect("an association that is established");
    while *left != Some(0) && stream.buffered_amount().is_ok_and(|bytes| bytes < SEND_BUFFER_BYTES) {
        let most = left.map_or(MESSAGE.len(), |left| MESSAGE.len().min(left as usize));
        let taken = stream.write(&MESSAGE[..most]).expect("a message that is not too long");
        *left = left.map(|left| left - taken as u64);
    }
}

/// Reads the messages that are complete and in order; says how many bytes these are.
fn read(association: &mut Association, id: StreamId) -> u64 {
    let mut bytes = 0;
    if let Ok(mut stream) = association.stream(id) {
        while let Ok(Some(message)) = stream.read() {
            bytes += message.len() as u64;
        }
    }
    bytes
}
