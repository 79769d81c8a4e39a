//! Groups of flows.

use crate::declare::{
    Elsewhere, algorithm, dscp, elsewhere, integer, name, number, offset, rate, select, table, text, texts, word,
};
use crate::families::{CONTROLS, RECEIVER_CONTROLS, TRANSPORTS};
use crate::form::{Form, Key, LONGEST, MAX_FLOWS, MOMENT, PATH_DELAY, Presence, Section, time};
use crate::host::{HOST, Host};
use crate::link::{Direction, Route};
use crate::traffic::{TRAFFIC, Traffic, UNRESPONSIVE};
use sojourn_core::registry::Params;
use sojourn_core::{Rate, Span};
use sojourn_queue::Dscp;
use sojourn_transport::Options;
use std::ops::Deref;

table! {
    /// A group of flows that differ only in their round-trip and start times.
    pub struct GroupKeys = GROUP, "group" => {
        /// what the group is called in records and overrides; its random streams follow the name
        name: String = name(&["all", "total"]).required("tcp"),
        /// what tables and figures call the group; changes no number
        title: Option<String> = text().unless("the name", "Backups"),
        /// how many flows; at most 150000 in all groups together
        flows: u32 = integer(1..=MAX_FLOWS).or("1", "5"),
        /// base round-trip time, without the links' own delays; a list gives each flow its own
        rtt: Elsewhere = elsewhere(Form::PerFlow { kind: time(PATH_DELAY), table: None })
            .required("[\"20 ms\", \"50 ms\"]"),
        /// the congestion control, or a table with `kind`, `preset` and parameters; without a preset it takes the one
        /// named as the transport's preset where it has such a one, otherwise its own defaults; with `stack` the control as
        /// the stack names it, and the stack's own choice where there is none
        control: Option<Elsewhere> = elsewhere(Form::Algorithm(&CONTROLS)).required_unless(
            "traffic",
            UNRESPONSIVE,
            "such traffic sends at its rate whatever happens",
            "{ kind = \"newreno\", preset = \"linux\" }",
        ),
        /// whose connections its flows are, where they are not the simulation's own: a stack of Sojourn's sources, such as
        /// `quinn`, or a program that runs a scenario with its stack. Each flow is a connection; its `traffic` is `bulk` or
        /// `messages`, and what comes back belongs to the same flow. Its senders and receivers are its own: keys that describe
        /// those of the simulation, such as `transport`, are an error beside it
        stack: Option<Elsewhere> = elsewhere(Form::Text).unless("senders and receivers of the simulation", "quinn"),
        /// the control by whose window the receiver steers the sender (rLEDBAT, RFC 9840): `ledbat` or `ledbatpp`, or a
        /// table with `kind`, `preset` and parameters; presets as for `control`. The sender keeps its own control, and
        /// the smaller of both windows counts
        receiver_control: Option<Params> = algorithm(&RECEIVER_CONTROLS).beside(
            "control",
            "the receive window is the buffer of the transport",
            "it steers a sender that has a window",
            "ledbatpp",
        ),
        /// acknowledgements tell the window in units of two to the power of this, in bytes (RFC 7323): units larger than
        /// a segment leave the receiver little to steer with
        window_scale: Option<u8> = integer(0..=14).beside(
            "receiver_control",
            "7, as Linux has with a buffer of up to 6 MiB",
            "otherwise the window is told as it is",
            "10",
        ),
        /// the preset of sender and receiver, or a table with `preset` and options
        transport: Params = algorithm(&TRANSPORTS).or("rfc", "{ preset = \"ns2\", sack = true }"),
        /// what the application sends: a kind, or a table with `kind` and its keys
        traffic: Elsewhere = elsewhere(Form::Select(&TRAFFIC))
            .or("bulk", "{ kind = \"on-off\", on = \"2 s\", off = \"1 s\" }"),
        /// when the flows start; a list gives each flow its own time, a table draws random times
        start: Elsewhere = elsewhere(Form::PerFlow { kind: time(MOMENT), table: Some(&RANDOM_TIMES) }).absent(
            "0 s for a flow alone; where several flows have none, each starts at a random time of the \
             first 0.1 s, or of the first hundredth of a run shorter than 10 s, and before half of the \
             time to its `stop`",
            "{ uniform = [\"0 s\", \"0.1 s\"] }",
        ),
        /// when the flows stop sending new data; one time, a list, or a table as for `start`
        stop: Elsewhere = elsewhere(Form::PerFlow { kind: time(MOMENT), table: Some(&RANDOM_TIMES) })
            .absent("at the end of the run", "30 s"),
        /// which way data travels: over the bottleneck, or over the return link
        direction: Direction = word().or("forward", "reverse"),
        /// the group on whose connections its data travels, the other way; acknowledgements of either go with data of the
        /// other. Both groups have the same `flows`, `rtt`, `transport` and `station`, opposite directions, and traffic
        /// that keeps its connection
        connections_of: Elsewhere = elsewhere(Form::Text).absent("connections of its own", "upload"),
        /// the link at which its data enters the network: the name of a hop of its direction, `bottleneck` or `reverse`;
        /// it crosses none of those before. Its acknowledgements cross all links of the way back
        enters: Option<String> = text().unless("the first link of its direction", "second"),
        /// the node at which its data enters, where links form a network; `*` stands for the number of the flow, and deals nodes
        /// that are numbered out in turn where there are more flows
        from: Option<String> = text().unless("the links form a chain, or `path` says it", "core"),
        /// the node that its data goes to
        to: Option<String> = text().unless("the links form a chain, or `path` says it", "home-*"),
        /// the links that its data crosses, by their names and in this order
        path: Vec<String> = texts().absent("the fewest links; of several such ways the first in the file", "[\"first\", \"second\"]"),
        /// the links by which its acknowledgements return
        back: Vec<String> = texts().absent(
            "the fewest links; where no link of the network leads back to any node they return without limit or loss",
            "[\"third\"]",
        ),
        /// the station that its flows go to or come from; a list, or a name of several, is dealt out to the flows
        station: Elsewhere = elsewhere(Form::OneOrMore(&Form::Text))
            .absent("there are no stations; required where there are some", "near"),
        /// differentiated services code point of its packets, a name or a number from 0 to 63; class-aware disciplines
        /// act on it
        dscp: Dscp = dscp().or("default", "le"),
        /// how many hosts send the group's data: its flows are dealt out to them in turn, and to no other group's;
        /// disciplines that share among hosts act on it
        hosts: Option<u32> = integer(1..=MAX_FLOWS).unless("one for each flow", "2"),
        /// how many hosts receive the group's data, dealt out likewise; what matters behind a home gateway for downloads
        receiver_hosts: Option<u32> = integer(1..=MAX_FLOWS).unless("one for each flow", "2"),
        /// rate of each flow's own access link before the first shared link
        access_rate: Option<Rate> = rate().unless("unlimited", "100 Mbit/s"),
        /// what the sending host does between a connection and its access link; a connection that it holds back does not
        /// count its window as used
        host: Option<Host> = select(&HOST).beside(
            "access_rate",
            "the access link has an endless buffer, which a connection fills with all of its window",
            "without an access link nothing waits in a host",
            "linux",
        ),
        /// receiver's clock minus sender's clock at the start of the run
        clock_offset_nanos as "clock_offset": i64 = offset(LONGEST).or("0 s", "-5 s"),
        /// how much faster the receiver's clock runs than the sender's, in parts per million
        clock_skew_ppm: f64 = number(-10_000.0..=10_000.0).or("0", "100"),
    }
}

/// The keys that say what only senders and receivers of the simulation do.
pub(crate) const OF_OWN_ENDS: [&str; 7] =
    ["transport", "stop", "connections_of", "receiver_control", "host", "clock_offset", "clock_skew_ppm"];

static RANDOM_TIMES: Section = Section {
    name: "times",
    description: "A table in place of a time draws one for each flow",
    own: &[Key {
        name: "uniform",
        form: Form::Range(time(MOMENT)),
        presence: Presence::Required,
        description: "each flow draws its own time between these two",
        example: "[\"0 s\", \"0.1 s\"]",
    }],
    ..Section::PLAIN
};

/// A group of flows that differ only in their round-trip and start times: what a file says of it, and what that means beside
/// the rest of the file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Group {
    /// The keys of its table, which are the group's own fields as well.
    pub keys: GroupKeys,
    /// The congestion control; none where traffic does not respond to congestion, or is a stack's.
    pub control: Option<Params>,
    /// Whose connections its flows are; the simulation's own where absent.
    pub stack: Option<Stack>,
    /// What the application sends.
    pub traffic: Traffic,
    /// Base round-trip time of each flow, `flows` values; without the links' own delays.
    pub rtt: Vec<Span>,
    /// When its flows start.
    pub start: Moments,
    /// When its flows stop sending new data; at the end of the run where absent.
    pub stop: Option<Moments>,
    /// The group, by index, on whose connections its data travels, the other way; connections of its own where absent.
    pub connections_of: Option<usize>,
    /// The links that its flows cross: one route for all of them, or one for each.
    pub routes: Vec<Route>,
}

/// A transport stack that is not the simulation's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stack {
    /// Its name, or a program that has it.
    pub name: String,
    /// The congestion control, as the stack names it; its own choice where absent.
    pub control: Option<String>,
}

impl Deref for Group {
    type Target = GroupKeys;

    fn deref(&self) -> &GroupKeys {
        &self.keys
    }
}

/// When the flows of a group start or stop.
#[derive(Clone, PartialEq, Debug)]
pub enum Moments {
    /// Each at its own time, `flows` values.
    At(Vec<Span>),
    /// Each at a random time, uniform in the range.
    Uniform(Span, Span),
}

/// What a receiver steers its sender by (RFC 9840).
#[derive(Clone, Debug)]
pub struct ReceiverControl {
    /// The control whose window it grants.
    pub control: Params,
    /// It is told in units of 2 to the power of this, in bytes (RFC 7323 section 2).
    pub window_scale: u8,
}

/// Linux scales the window for the largest buffer that it may come to have, 6 MiB (`tcp_rmem`, `tcp_select_initial_window`).
const LINUX_WINDOW_SCALE: u8 = 7;

impl GroupKeys {
    /// With values for what is left out and follows from other keys.
    pub(crate) fn resolved(mut self) -> GroupKeys {
        self.host = self.host.map(Host::resolved);
        if self.receiver_control.is_some() {
            self.window_scale.get_or_insert(LINUX_WINDOW_SCALE);
        }
        self
    }

    /// What the receiver steers the sender by; nothing where it does not.
    pub fn steering(&self) -> Option<ReceiverControl> {
        let window_scale = self.window_scale.unwrap_or(LINUX_WINDOW_SCALE);
        self.receiver_control.clone().map(|control| ReceiverControl { control, window_scale })
    }
}

impl Group {
    /// The route of its flow `index`.
    pub fn route(&self, index: usize) -> &Route {
        &self.routes[index % self.routes.len()]
    }

    /// Whether its packets come from outside the simulation: of a stack, or of programs.
    pub fn is_outside(&self) -> bool {
        self.stack.is_some() || matches!(self.traffic, Traffic::Program(_))
    }

    /// Bytes on the wire of its full-size packets.
    pub fn packet_bytes(&self) -> u32 {
        self.traffic.datagram_bytes().unwrap_or_else(|| {
            let options = Options::new(&self.keys.transport).expect("the scenario's options were checked");
            options.payload_bytes + options.header_bytes
        })
    }
}
