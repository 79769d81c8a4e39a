//! Both ends of connections.

use sojourn_congestion::AnyControl;
use sojourn_core::Stream;
use sojourn_core::registry::Params;
use sojourn_scenario::{self as scenario, Group, ReceiverControl, Traffic};
use sojourn_transport::{Clock, Options, Receiver, Sender};

/// Segments that receive offload takes as one at most: 64 KiB of 1448 B.
const MAX_GATHERED: u32 = 45;

/// Makes connections of the flows of a group that responds to congestion.
#[derive(Debug)]
pub struct Dialer {
    options: Options,
    control: Option<Params>,
    receiver_control: Option<ReceiverControl>,
    host: Option<scenario::Host>,
    /// Whether the application writes messages.
    messages: bool,
    /// Whether the other end opens its connections.
    is_connected_to: bool,
    clock: Clock,
    group: String,
    seed: u64,
}

impl Dialer {
    /// For the flows of `group`.
    pub fn new(group: &Group, options: &Options, seed: u64) -> Dialer {
        // Who is connected to asks for nothing: what both can do the other end finds out.
        let is_answer = group.connections_of.is_some();
        Dialer {
            options: if is_answer { options.clone().without_handshake() } else { options.clone() },
            is_connected_to: options.handshake.is_wanted() && is_answer,
            control: group.control.clone(),
            receiver_control: group.steering(),
            host: group.host,
            messages: matches!(group.traffic, Traffic::Messages(_)),
            clock: Clock { offset_nanos: group.clock_offset_nanos, skew_ppm: group.clock_skew_ppm },
            group: group.name.clone(),
            seed,
        }
    }

    /// Connections from now on have the control `control`.
    pub fn retune(&mut self, control: &Params) {
        self.control = Some(control.clone());
    }

    /// Both ends of connection `number` of the flow `index`.
    pub fn dial(&self, index: u32, number: u64) -> (Sender, Receiver) {
        let options = &self.options;
        let control = self.control.as_ref().expect("responsive traffic has a control");
        let connection = if number > 0 { format!(".{number}") } else { String::new() };
        let stream = |name: &str| Stream::new(self.seed, &format!("group.{}.{index}.{name}{connection}", self.group));
        let control = AnyControl::build(control, &options.path(), stream("control"));
        let mut control = control.expect("the scenario's parameters were checked");
        if let AnyControl::Custom(custom) = &mut control {
            custom.belongs_to(format!("flow {index} of {}", self.group));
        }
        let mut sender = Sender::new(options, control);
        if self.is_connected_to {
            sender = sender.listening();
        }
        if self.messages {
            sender = sender.with_short_segments();
        }
        if !options.send_jitter.is_zero() {
            sender = sender.with_jitter(options.send_jitter, stream("send-jitter"));
        }
        let mut receiver = Receiver::new(options, self.clock);
        if let Some(host) = self.host {
            sender = host.bursting(sender);
            if !host.receive_offload.is_zero() {
                receiver = receiver.with_offload(host.receive_offload, host.burst.max(MAX_GATHERED));
            }
        }
        if let Some(ReceiverControl { control, window_scale }) = &self.receiver_control {
            let control = AnyControl::build(control, &options.path(), stream("receiver-control"));
            let control = control.expect("the scenario's parameters were checked");
            return receiver.steering(sender, options, control, *window_scale);
        }
        (sender, receiver)
    }
}
