use super::*;
use crate::Application;
use sojourn_core::Span;
use sojourn_core::plugin::take_failure;
use sojourn_core::registry::{Kind, Parameter, Value};
use sojourn_scenario::{Base, Scenario, Traffic};

/// What an application wishes at some time.
type Step = fn(&mut Wishes, Time);

/// Does at its start what it is made with, and then at each of its times.
#[derive(Clone, Debug)]
struct Script {
    steps: Vec<(u64, Step)>,
    next: usize,
}

impl Plugged for Script {
    fn start(&mut self, now: Time, wishes: &mut Wishes) {
        self.on_timer(now, wishes);
    }

    fn on_timer(&mut self, now: Time, wishes: &mut Wishes) {
        self.steps[self.next].1(wishes, now);
        self.next += 1;
    }

    fn timer(&self) -> Option<Time> {
        self.steps.get(self.next).map(|&(at, _)| Time::from_nanos(at))
    }
}

static CONNECTIONS: Parameter = Parameter {
    name: "connections",
    kind: Kind::Integer { min: 1, max: 4 },
    default: Value::Integer(3),
    description: "how many at once",
};

/// An application of a kind of its own, which a scenario names.
fn application(name: &'static str, steps: Vec<(u64, Step)>) -> Application {
    let parameters = std::slice::from_ref(&CONNECTIONS);
    let descriptor = Box::leak(Box::new(Descriptor { name, parameters, ..Descriptor::PLAIN }));
    let script = Script { steps, next: 0 };
    add(descriptor, move |_: &Params, _: Surroundings, _: &dyn Fn(&str) -> Stream| Ok(script.clone()))
        .expect("no built-in kind is called so");
    let text = format!(
        "duration = \"1 s\"\nbottleneck.rate = \"1 Mbit/s\"\n\
         group = [{{ name = \"a\", control = \"newreno\", rtt = \"1 ms\", traffic = \"{name}\" }}]"
    );
    let scenario = Scenario::parse(&text, None, &Base::Nowhere, &[]).expect("a scenario").scenario;
    let traffic = &scenario.groups[0].traffic;
    assert!(matches!(traffic, Traffic::Custom(_)));
    assert_eq!(traffic.connections(), 3);
    let about = Surroundings { payload_bytes: 1460, request: Span::ZERO };
    let mut application = Application::new(traffic, about, (Time::ZERO, Time::NEVER), |name| Stream::new(1, name));
    application.belongs_to(|| "flow 7 of a".to_owned());
    application
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn wishes_are_asked_for_one_at_a_time_and_in_order() {
    let mut application = application(
        "in-order",
        vec![
            (0, |wishes, now| {
                wishes.send(1000, now);
                wishes.send(2000, now);
                wishes.connect(2, Some(500), now);
                wishes.pause();
            }),
            (SECOND, |wishes, now| wishes.send(1, now)),
        ],
    );
    let now = Time::ZERO;
    assert_eq!(application.act(now), Action::Supply { bytes: 3000 });
    assert_eq!(application.next, now);
    assert_eq!(application.act(now), Action::Connect { connection: 2, bytes: Some(500) });
    assert_eq!(application.act(now), Action::Pause);
    assert_eq!(application.next, Time::from_nanos(SECOND));
    assert_eq!(application.act(application.next), Action::Supply { bytes: 3001 });
    assert_eq!(application.next, Time::NEVER);
    assert_eq!(take_failure(), None);
}

/// A transfer's time counts from when the application had its bytes; one that a pause cut is no transfer, and a
/// connection that was replaced begins anew.
#[test]
fn books_are_kept_of_every_transfer() {
    let mut application = application(
        "books",
        vec![
            (0, |wishes, now| wishes.send(1000, now)),
            (3 * SECOND, |wishes, _| wishes.connect(0, Some(600), Time::from_nanos(SECOND))),
            (5 * SECOND, |wishes, _| wishes.pause()),
        ],
    );
    let at = |seconds| Time::from_nanos(seconds * SECOND);
    let arrive = |application: &mut Application, seconds| {
        let arrived = Arrived { connection: 0, delivered_bytes: 0 };
        application.on_arrived(at(seconds), arrived).expect("it always answers").completed
    };
    application.act(at(0));
    let first = arrive(&mut application, 2).expect("a transfer is whole");
    assert_eq!((first.time, first.bytes, first.waited), (Span::from_secs(2), 1000, Span::ZERO));
    application.act(at(3));
    let second = arrive(&mut application, 4).expect("a transfer is whole");
    assert_eq!((second.time, second.bytes, second.waited), (Span::from_secs(3), 600, Span::from_secs(2)));
    application.act(at(5));
    assert!(arrive(&mut application, 6).is_none());
}

#[test]
fn what_is_out_of_bounds_is_a_sentence_and_the_flow_pauses() {
    let sins: [(&'static str, Step, &str); 4] = [
        ("nothing", |wishes, now| wishes.send(0, now), "0 bytes to send over a connection; allowed: 1 to"),
        ("too-much", |wishes, now| wishes.send(u64::MAX, now), "allowed: 1 to 1000000000000000"),
        ("elsewhere", |wishes, now| wishes.connect(3, None, now), "connection 3; allowed: 0 to 2"),
        (
            "endless",
            |wishes, now| {
                wishes.send_forever();
                wishes.send(1, now);
            },
            "sends without end; allowed: a fresh one",
        ),
    ];
    for (name, sin, text) in sins {
        let mut application = application(name, vec![(0, |wishes, now| wishes.send(5, now)), (SECOND, sin)]);
        application.act(Time::ZERO);
        assert_eq!(application.act(Time::from_nanos(SECOND)), Action::Pause);
        assert_eq!(application.next, Time::NEVER);
        let failure = take_failure().unwrap_or_else(|| panic!("{name}: nothing was said")).to_string();
        assert!(failure.starts_with(&format!("plug-in {name}, on_timer, at 1.000000 s, flow 7 of a: ")), "{failure}");
        assert!(failure.contains(text), "{failure}");
    }
}

#[test]
fn nobody_takes_the_name_of_a_built_in_kind() {
    static WEB: Descriptor = Descriptor { name: "web", ..Descriptor::PLAIN };
    let make = |_: &Params, _: Surroundings, _: &dyn Fn(&str) -> Stream| Ok(Script { steps: Vec::new(), next: 0 });
    assert_eq!(add(&WEB, make), Err(NameTaken));
}
