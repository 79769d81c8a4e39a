use super::*;
use crate::testing::{Recorder, link, packet};
use sojourn_core::plugin::take_failure;

/// A first-in first-out queue that misbehaves as told.
#[derive(Debug)]
struct Fifo {
    waiting: Vec<Handle>,
    sin: &'static str,
    last: Option<Handle>,
}

impl Plugged for Fifo {
    fn enqueue(&mut self, packet: &Waiting, _now: Time, decisions: &mut Decisions) {
        if self.waiting.len() == 3 {
            decisions.drop(packet.handle, DropReason::Overflow);
            if self.sin == "drops twice" {
                decisions.drop(packet.handle, DropReason::Overflow);
            }
            return;
        }
        if self.sin == "marks what cannot be marked" {
            decisions.mark(packet.handle);
        }
        self.waiting.push(packet.handle);
    }

    fn dequeue(&mut self, _now: Time, decisions: &mut Decisions) -> Option<Handle> {
        match self.sin {
            "keeps for ever" => return None,
            "sends twice" if self.last.is_some() => return self.last,
            "sends what it drops" => decisions.drop(self.waiting[0], DropReason::Early),
            _ => {}
        }
        self.last = Some(self.waiting.remove(0));
        self.last
    }

    fn take_error(&mut self) -> Option<String> {
        (self.sin == "raises").then(|| "ValueError: no".to_owned())
    }
}

fn custom(sin: &'static str) -> Custom<u32> {
    static DESCRIPTOR: Descriptor = Descriptor { name: "fifo-of-tests", ..Descriptor::PLAIN };
    let make = move |_: &Params, _: &LinkProperties, _: Stream| Ok(Fifo { waiting: Vec::new(), sin, last: None });
    let descriptor = Box::leak(Box::new(Descriptor { ..DESCRIPTOR }));
    add(descriptor, make).unwrap();
    Custom::build(&Params::new(descriptor, None), &link(10_000), Stream::new(1, "queue")).unwrap().unwrap()
}

#[test]
fn packets_come_out_as_the_plug_in_says_and_none_is_lost() {
    let mut queue = custom("");
    let mut sink = Recorder::default();
    for number in 0..5 {
        queue.enqueue(packet(1000 + number, number), Time::from_nanos(u64::from(number)), &mut sink);
    }
    assert_eq!((queue.packets(), queue.bytes()), (3, 3003));
    let out: Vec<_> = std::iter::from_fn(|| queue.dequeue(Time::from_nanos(9), &mut sink)).collect();
    assert_eq!(out.iter().map(|packet| packet.body).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(out[2].enqueued, Time::from_nanos(2));
    assert_eq!(sink.drops.len(), 2);
    assert_eq!((queue.packets(), queue.bytes(), take_failure()), (0, 0, None));
}

#[test]
fn every_sin_is_named_and_leaves_no_packet_unaccounted() {
    for (sin, method, text) in [
        ("drops twice", "enqueue", "dropped a packet that does not wait here"),
        ("marks what cannot be marked", "enqueue", "not ECN-capable"),
        ("keeps for ever", "dequeue", "no packet leaves while 3 wait"),
        ("sends twice", "dequeue", "leaves that does not wait here"),
        ("sends what it drops", "dequeue", "leaves that does not wait here"),
        ("raises", "enqueue", "ValueError: no"),
    ] {
        let mut queue = custom(sin);
        let mut sink = Recorder::default();
        for number in 0..4 {
            queue.enqueue(packet(1000, number), Time::ZERO, &mut sink);
        }
        let sent = (0..4).filter(|_| queue.dequeue(Time::from_nanos(5), &mut sink).is_some()).count();
        let failure = take_failure().unwrap_or_else(|| panic!("{sin}: nothing was said"));
        assert_eq!(failure.method, method, "{sin}");
        assert!(failure.what.contains(text), "{sin}: {failure}");
        assert_eq!(sent + sink.drops.len(), 4, "{sin}");
        assert_eq!((queue.packets(), queue.bytes(), queue.ready_at(Time::ZERO)), (0, 0, None), "{sin}");
    }
}

#[test]
fn a_built_in_name_is_refused() {
    let make = |_: &Params, _: &LinkProperties, _: Stream| Ok(Fifo { waiting: Vec::new(), sin: "", last: None });
    assert_eq!(add(&crate::droptail::DESCRIPTOR, make), Err(NameTaken));
}
