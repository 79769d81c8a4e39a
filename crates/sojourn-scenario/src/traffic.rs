//! What applications send. Each kind is one table, from whose declaration its keys, its reader and its writer follow.

mod connections;
mod datagrams;
mod padding;
mod sizes;
mod voip;

pub use connections::{AfterOff, Bulk, Messages, OnOff, Times, Transfers, Video, Web};
pub(crate) use connections::{Arrivals, INTERVAL};
use connections::{BULK, MESSAGES, ON_OFF, TRANSFERS, VIDEO, WEB};
use datagrams::{CBR, PING, PROGRAM, TRAIN};
pub use datagrams::{Cbr, Ping, Program, Train};
use padding::{ADAPTIVE_PADDING, PADDING};
pub use padding::{AdaptivePadding, Padding, Reach, SteadyPadding};
pub use sizes::Sizes;
pub(crate) use voip::Call;
use voip::VOIP;
pub use voip::{Codec, Echo, Voip};

use crate::declare::Table;
use crate::fields::Fields;
use crate::form::{Presence, Select};
use crate::outside::{self, CustomTraffic};
use sojourn_core::plugin::NameTaken;
use sojourn_core::registry::Descriptor;
use sojourn_queue::Ecn;

/// Kinds of traffic that have no control of the simulation: what does not respond to congestion, and programs, which have
/// their own.
pub(crate) static UNRESPONSIVE: &[&str] = &["cbr", "ping", "train", "voip", "padding", "adaptive-padding", "program"];

pub(crate) static TRAFFIC: Select = Select {
    kinds: &[
        &BULK,
        &ON_OFF,
        &CBR,
        &PING,
        &TRAIN,
        &VOIP,
        &VIDEO,
        &TRANSFERS,
        &WEB,
        &MESSAGES,
        &PADDING,
        &ADAPTIVE_PADDING,
        &PROGRAM,
    ],
    added: outside::SECTIONS,
    short: None,
};

/// Lets scenarios name a kind of traffic. One that was added under the same name before gives way to it.
/// `sojourn_traffic::custom::add` is what adds one that also does something.
///
/// # Errors
/// [`NameTaken`] where a built-in kind has the name.
pub fn add_traffic(descriptor: &'static Descriptor) -> Result<(), NameTaken> {
    if TRAFFIC.kinds.iter().any(|kind| kind.name == descriptor.name) {
        return Err(NameTaken);
    }
    outside::add(descriptor)
}

/// How many connections a flow with traffic of this kind may have at once where a file does not say so.
pub(crate) fn default_connections(kind: &str) -> u32 {
    let key = TRAFFIC.kind(kind).and_then(|section| section.key("connections"));
    match key.map(|key| &key.presence) {
        Some(Presence::Default(number)) => number.parse().unwrap_or(1),
        _ => 1,
    }
}

/// What the application at the sender does.
#[derive(Clone, PartialEq, Debug)]
pub enum Traffic {
    /// Always has data; or so many payload bytes, whose completion time is then recorded.
    Bulk(Bulk),
    /// On and off times; sends as `Bulk` while on.
    OnOff(OnOff),
    /// Packets of one size at a constant rate, whatever happens to them.
    Cbr(Cbr),
    /// Packets at a constant interval that the receiver sends back, for their round-trip times.
    Ping(Ping),
    /// Trains of packets at exact times, whatever happens to them.
    Train(Train),
    /// One direction of a call.
    Voip(Voip),
    /// Adaptive streaming.
    Video(Video),
    /// Transfers that come at random times, each over a connection of its own.
    Transfers(Transfers),
    /// Pages of a browser.
    Web(Web),
    /// Messages at a constant interval over one connection.
    Messages(Messages),
    /// Small datagrams that shorten a queue limited in packets.
    Padding(Padding),
    /// Packets of a program, which come from outside.
    Program(Program),
    /// A kind from outside, over connections of the flow's transport.
    Custom(CustomTraffic),
}

impl Traffic {
    /// The table that a file would have for it.
    pub(crate) fn fields(&self) -> Fields {
        match self {
            Traffic::Bulk(bulk) => bulk.fields(),
            Traffic::OnOff(on_off) => on_off.fields(),
            Traffic::Cbr(cbr) => cbr.fields(),
            Traffic::Ping(ping) => ping.fields(),
            Traffic::Train(train) => train.fields(),
            Traffic::Voip(voip) => Call::from(voip).fields(),
            Traffic::Video(video) => video.fields(),
            Traffic::Transfers(transfers) => transfers.arrivals().fields(),
            Traffic::Web(web) => web.fields(),
            Traffic::Messages(messages) => messages.fields(),
            Traffic::Padding(Padding::Steady(steady)) => steady.fields(),
            Traffic::Padding(Padding::Adaptive(adaptive)) => adaptive.fields(),
            Traffic::Program(program) => program.fields(),
            Traffic::Custom(params) => outside::fields(params),
        }
    }

    /// Bytes on the wire of its packets, where it sends datagrams, whatever becomes of them, and not over connections.
    pub fn datagram_bytes(&self) -> Option<u32> {
        Some(match self {
            Traffic::Cbr(cbr) => cbr.packet_bytes,
            Traffic::Ping(ping) => ping.packet_bytes,
            Traffic::Train(train) => train.packet_bytes,
            Traffic::Voip(voip) => voip.packet_bytes(),
            Traffic::Padding(padding) => padding.packet_bytes(),
            Traffic::Bulk(_)
            | Traffic::OnOff(_)
            | Traffic::Video(_)
            | Traffic::Transfers(_)
            | Traffic::Web(_)
            | Traffic::Messages(_)
            | Traffic::Program(_)
            | Traffic::Custom(_) => return None,
        })
    }

    /// The ECN code point of datagrams, which nothing answers for; that of a connection follows its transport and control.
    pub fn datagram_ecn(&self) -> Ecn {
        match self {
            Traffic::Cbr(Cbr { ecn, .. }) | Traffic::Train(Train { ecn, .. }) => *ecn,
            _ => Ecn::NotEct,
        }
    }

    /// How many connections a flow may have at once.
    pub fn connections(&self) -> u32 {
        match self {
            Traffic::Transfers(transfers) => transfers.connections,
            Traffic::Web(web) => web.connections,
            Traffic::Custom(params) => outside::connections(params),
            Traffic::Bulk(_)
            | Traffic::OnOff(_)
            | Traffic::Cbr(_)
            | Traffic::Ping(_)
            | Traffic::Train(_)
            | Traffic::Voip(_)
            | Traffic::Video(_)
            | Traffic::Messages(_)
            | Traffic::Program(_)
            | Traffic::Padding(_) => 1,
        }
    }
}
