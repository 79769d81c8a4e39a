//! The short ways decide as the long ones: two connections live through the same, one of them by all short ways that there are.

use super::network::options_of;
use crate::options::Options;
use crate::options::flag;
use crate::receiver::{Clock, Receiver};
use crate::segment::{Segment, SegmentKind};
use crate::sender::{Sender, Transmit};
use proptest::prelude::*;
use sojourn_congestion::AnyControl;
use sojourn_core::registry::{Params, Value};
use sojourn_core::{Span, Stream, Time};

/// What both ends of a connection have done, and what is under way to the receiver and back.
struct Connection {
    sender: Sender,
    receiver: Receiver,
    data: Vec<Segment>,
    acks: Vec<Segment>,
    short_ways: bool,
    log: Vec<String>,
}

impl Connection {
    fn new(options: &Options, control: &str, short_ways: bool) -> Connection {
        let params = Params::new(sojourn_congestion::find(control).unwrap(), None);
        let control = AnyControl::build(&params, &options.path(), Stream::new(1, "control")).unwrap();
        let mut sender = Sender::new(options, control);
        sender.has_fast_path &= short_ways;
        sender.supply_forever();
        let receiver = Receiver::new(options, Clock::default());
        Connection { sender, receiver, data: vec![], acks: vec![], short_ways, log: vec![] }
    }

    fn send(&mut self, now: Time) {
        while let Some(transmit) = self.sender.poll_transmit(now) {
            let Transmit::Data { number, .. } = transmit else { panic!("there is no handshake") };
            self.log.push(format!("{transmit:?}"));
            self.data.push(Segment::new(SegmentKind::Data, number, now));
            if self.short_ways && self.sender.is_spent(now) {
                break;
            }
        }
    }

    fn arrive(&mut self, index: usize, now: Time) {
        let segment = self.data.remove(index);
        let ack = self.receiver.on_data(&segment, false, now).ack;
        self.log.push(format!("{ack:?}"));
        self.acks.extend(ack);
    }

    fn take(&mut self, index: usize, now: Time) {
        let segment = self.acks.remove(index);
        let rtt = self.sender.on_ack(&segment, now);
        self.log.push(format!("{rtt:?}"));
        self.send(now);
    }

    /// All that they know but what the sender has found out about the next segment, which nobody may have asked for.
    fn state(&self) -> String {
        let sender = format!("{:?}", self.sender);
        let (before, after) = sender.split_once(" beyond: ").unwrap();
        let after = after.split_once(',').unwrap().1;
        format!("{before}{after}\n{:?}", self.receiver).replace("has_fast_path: false", "has_fast_path: true")
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn short_ways_decide_as_long_ones(
        control in prop::sample::select(vec!["newreno", "cubic", "bbr", "ledbat", "vegas", "dctcp"]),
        preset in prop::option::of(Just("ns2")),
        sack: bool,
        timestamps: bool,
        // What happens (data or an acknowledgement comes or is lost, the application stops or goes on, time passes), to which of
        // them, and how much later.
        steps in prop::collection::vec(
            (0u32..21, any::<prop::sample::Index>(), prop_oneof![30 => 0u64..3_000, 1 => 0u64..5_000_000]), 1..400,
        ),
    ) {
        let changes = [("sack", flag(sack)), ("timestamps", Value::Boolean(timestamps))];
        let options = options_of(preset, &changes);
        let mut both = [false, true].map(|short_ways| Connection::new(&options, control, short_ways));
        let mut now = Time::ZERO;
        both.iter_mut().for_each(|one| one.send(now));
        for (what, index, micros) in steps {
            now += Span::from_micros(micros);
            for one in &mut both {
                // Mostly in order.
                let place = |count: usize| if what % 5 == 0 { index.index(count) } else { 0 };
                match what {
                    0..9 if !one.data.is_empty() => one.arrive(place(one.data.len()), now),
                    9..17 if !one.acks.is_empty() => one.take(place(one.acks.len()), now),
                    17 if !one.data.is_empty() => _ = one.data.remove(index.index(one.data.len())),
                    18 if !one.acks.is_empty() => _ = one.acks.remove(index.index(one.acks.len())),
                    19 => {
                        if one.sender.end() == u32::MAX { one.sender.stop_supply() } else { one.sender.supply_forever() }
                        one.send(now);
                    }
                    _ => {
                        if one.sender.deadline(now) <= now {
                            one.sender.on_timer(now);
                        }
                        one.send(now);
                    }
                }
            }
            let [long, short] = &both;
            prop_assert_eq!(&long.log, &short.log);
            prop_assert_eq!(long.state(), short.state());
        }
    }
}
