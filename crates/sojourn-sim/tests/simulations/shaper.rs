//! A controller of a gateway's shapers in a run: what it sees, what it sets, and what that does.

use crate::common::{close, outcome, run, scenario, text};
use sojourn_core::registry::{Descriptor, Params};
use sojourn_core::{Rate, Span, Time, plugin};
use sojourn_scenario::{Scenario, ready};
use sojourn_shaper::custom::{self, Plugged};
use sojourn_shaper::{BothWays, Gateway, Seen};
use sojourn_sim::{Monitor, Session, Wanted};
use std::sync::{Arc, Mutex};

/// A gateway of 10 Mbit/s each way before a line of 50 Mbit/s whose delay is 5 ms each way, with 1000-byte packets of 20 Mbit/s up
/// and pings of two reflectors that are 20 and 30 ms away. `queue` is that of the shaper up.
fn gateway(control: &str, queue: &str) -> Scenario {
    scenario(&format!(
        r#"
        duration = "10 s"
        bottleneck = {{ rate = "10 Mbit/s", queue = {queue} }}
        reverse = {{ rate = "10 Mbit/s" }}
        hop = [
            {{ name = "modem", at = "after", rate = "50 Mbit/s", delay = "5 ms" }},
            {{ name = "isp", at = "before", direction = "reverse", rate = "50 Mbit/s", delay = "5 ms" }},
        ]
        shaper = {{ controller = "{control}", pings = "pings", interval = "100 ms" }}
        group = [
            {{ name = "other", rtt = "1 ms", start = "9990 ms", traffic = "ping" }},
            {{ name = "pings", rtt = ["10 ms", "20 ms"], flows = 2, start = ["0 s", "50 ms"],
               traffic = {{ kind = "ping", every = "100 ms", packet = "125 B" }} }},
            {{ name = "up", rtt = "10 ms", start = "1 s", dscp = "cs1",
               traffic = {{ kind = "cbr", rate = "20 Mbit/s", packet = "1000 B" }} }},
        ]
        phase = [{{ name = "slow", from = "6 s", to = "8 s" }}]
        "#
    ))
}

type Told = Arc<Mutex<Vec<String>>>;

/// Writes down what it sees, and halves the rate up at 5 s.
#[derive(Debug)]
struct Watcher {
    told: Told,
    base: BothWays<Rate>,
}

impl Plugged for Watcher {
    fn step(&mut self, seen: &Seen<'_>) -> Result<BothWays<Rate>, String> {
        self.told.lock().unwrap().push(format!("{seen:?}"));
        let half = Rate::from_bits_per_second(self.base[0].bits_per_second() / 2).unwrap();
        let late = seen.now >= Time::ZERO + Span::from_secs(5);
        Ok([if late { half } else { self.base[0] }, self.base[1]])
    }
}

/// Adds a watcher under this name. What it is told, and what it is told at first.
fn watch(descriptor: &'static Descriptor) -> (Told, Arc<Mutex<Option<Gateway>>>) {
    let (told, about) = (Told::default(), Arc::default());
    let (mine, before): (Told, Arc<Mutex<Option<Gateway>>>) = (told.clone(), Arc::clone(&about));
    custom::add(descriptor, move |_: &Params, gateway: &Gateway| {
        *before.lock().unwrap() = Some(*gateway);
        mine.lock().unwrap().clear();
        Ok(Watcher { told: mine.clone(), base: gateway.base })
    })
    .unwrap();
    (told, about)
}

/// With CAKE and without, the link and what shapes it send at the new rate, which utilization goes by.
#[test]
fn the_shaper_sends_at_the_rate_that_the_controller_sets() {
    static WATCHER: Descriptor = Descriptor { name: "halves-at-5-s", ..Descriptor::PLAIN };
    watch(&WATCHER);
    for queue in [r#""droptail""#, r#"{ kind = "cake", bandwidth = "10 Mbit/s" }"#] {
        let found = outcome(
            &gateway(WATCHER.name, queue),
            &Wanted { bin: Some(Span::from_secs(1)), probes: true, ..Wanted::default() },
        );
        // From 1 s to 5 s 10 Mbit/s, then 5: 65 Mbit of 75. Pings have sent 0.02 Mbit more in the first second.
        close(found.record.bottleneck.utilization.unwrap(), 65.02 / 75.0, 1e-4);
        close(found.record.phases["slow"].bottleneck.utilization.unwrap(), 1.0, 1e-4);
        let series = found.series.expect("a series was wanted");
        let up = series.queues.link.iter().zip(&series.queues.sent_bytes).filter(|(link, _)| **link == 0);
        let mbps: Vec<f64> = up.map(|(_, &bytes)| (bytes as f64 * 8.0 / 1e6 * 10.0).round() / 10.0).collect();
        assert_eq!(mbps[1..], [10.0, 10.0, 10.0, 10.0, 5.0, 5.0, 5.0, 5.0, 5.0], "{queue}");
        let probes = &series.queue_probes.probes;
        let code = probes.names.iter().position(|name| name == "shaper_mbps").expect("shown") as u32;
        let shown = |place| {
            let rows = probes.name.iter().zip(&series.queue_probes.link).zip(&probes.value);
            rows.filter(|((name, link), _)| **name == code && **link == place)
                .map(|(_, &value)| value)
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(0), [10.0, 10.0, 10.0, 10.0, 10.0, 5.0, 5.0, 5.0, 5.0, 5.0]);
        assert_eq!((shown(1), shown(2)), (vec![10.0; 10], vec![]));
    }
    custom::remove(WATCHER.name);
}

#[test]
fn the_controller_sees_answers_with_both_delays_and_what_was_sent() {
    static WATCHER: Descriptor = Descriptor { name: "watches", ..Descriptor::PLAIN };
    let (told, about) = watch(&WATCHER);
    run(&gateway(WATCHER.name, r#""droptail""#));
    let rate = |bits| Rate::from_bits_per_second(bits).unwrap();
    let expected = Gateway { base: [rate(10_000_000); 2], packet_bytes: [1000; 2] };
    assert_eq!(*about.lock().unwrap(), Some(expected));
    let told = told.lock().unwrap();
    // At 100 ms the first ping and its answer have passed, and the second ping. Each takes 100 us on the shaper and 20 us on the
    // line, beside 5 ms of the line and half of the path's own delay: 10.12 ms each way; the second 15.12 ms.
    let reply = |at_us: u64, reflector, delay_us| sojourn_shaper::Reply {
        at: Time::ZERO + Span::from_micros(at_us),
        reflector,
        delays: [Span::from_micros(delay_us); 2],
    };
    let seen = |at_ms, replies: &[_], sent_bytes| {
        format!("{:?}", Seen { now: Time::ZERO + Span::from_millis(at_ms), replies, sent_bytes })
    };
    assert_eq!(told[0], seen(100, &[reply(20_240, 0, 10_120), reply(80_240, 1, 15_120)], [250, 250]));
    assert_eq!(told[1], seen(200, &[reply(120_240, 0, 10_120), reply(180_240, 1, 15_120)], [500, 500]));
    // Asked at each interval, the last time at the end.
    assert_eq!(told.len(), 100);
    custom::remove(WATCHER.name);
}

/// A run in steps, with nothing between two controls but what the controller does, leaves what one at once does.
#[test]
fn steps_leave_no_trace() {
    for name in ["leo-gateway", "lte-gateway"] {
        let text_of = ready().iter().find(|one| one.name == name).expect("a ready scenario").text;
        let short = ["duration=12 s".to_owned(), "warmup=2 s".to_owned()];
        let scenario = Scenario::parse(text_of, None, &sojourn_scenario::Base::Nowhere, &short).unwrap().scenario;
        let monitor = Monitor::default();
        let mut session = Session::new(&scenario, 1, &Wanted::default());
        while session.now() < session.end() {
            let next = session.next_event();
            let until = (session.now() + Span::from_nanos(7_777_777)).max(next);
            session.advance(until, &monitor).expect("nobody interrupts");
        }
        let stepped = text(&session.finish(&monitor).expect("nobody interrupts").record);
        assert_eq!(stepped, text(&run(&scenario)), "{name}");
        assert_eq!(stepped, text(&run(&scenario)), "{name}");
    }
}

/// Even on an idle line it is asked in time, so that whoever drives a session by its events does not pass it by.
#[test]
fn the_next_event_is_at_the_next_step_at_the_latest() {
    let scenario = gateway("autorate", r#""droptail""#);
    let mut session = Session::new(&scenario, 1, &Wanted::default());
    session.advance(Time::ZERO + Span::from_millis(81), &Monitor::default()).expect("nobody interrupts");
    assert_eq!(session.next_event(), Time::ZERO + Span::from_millis(100));
}

/// The rule on a line whose rate falls to less than the shaper's: it cuts until the line's buffer is empty, and stays below.
#[test]
fn autorate_follows_a_line_that_becomes_slower_and_faster() {
    let scenario = scenario(
        r#"
        duration = "90 s"
        bottleneck = { rate = "20 Mbit/s", queue = { kind = "cake", bandwidth = "20 Mbit/s" } }
        reverse = { rate = "20 Mbit/s", queue = { kind = "cake", bandwidth = "20 Mbit/s" } }
        hop = [
            { name = "modem", at = "after", rate = "25 Mbit/s", queue = { kind = "droptail", limit = "500 ms" } },
            { name = "isp", at = "before", direction = "reverse", rate = "25 Mbit/s" },
        ]
        change = [
            { at = "30 s", hop = [{ name = "modem", rate = "10 Mbit/s" }] },
            { at = "60 s", hop = [{ name = "modem", rate = "40 Mbit/s" }] },
        ]
        shaper = { controller = { kind = "autorate", delays = "one-way" }, pings = "pings" }
        group = [
            { name = "pings", rtt = "30 ms", flows = 6, traffic = { kind = "ping", every = "300 ms" },
              start = ["0 ms", "50 ms", "100 ms", "150 ms", "200 ms", "250 ms"] },
            { name = "up", rtt = "30 ms", control = "cubic", flows = 2 },
        ]
        phase = [
            { name = "as-contracted", from = "10 s", to = "30 s" },
            { name = "slow", from = "35 s", to = "60 s" },
            { name = "fast", from = "70 s", to = "90 s" },
        ]
        "#,
    );
    let phases = run(&scenario).phases;
    let goodput = |phase: &str| phases[phase].groups["up"].goodput_mbps;
    assert!((18.0..25.0).contains(&goodput("as-contracted")), "{}", goodput("as-contracted"));
    assert!((7.0..10.0).contains(&goodput("slow")), "{}", goodput("slow"));
    assert!((28.0..40.0).contains(&goodput("fast")), "{}", goodput("fast"));
    let queue = phases["slow"].hops["modem"].queue_ms.mean.expect("packets crossed the modem");
    assert!(queue < 30.0, "{queue} ms in the modem, whose buffer holds 500");
}

/// An answer that is no rate ends the run with the time and whose fault it was.
#[test]
fn a_controller_that_fails_ends_the_run() {
    #[derive(Debug)]
    struct Fails;
    impl Plugged for Fails {
        fn step(&mut self, _: &Seen<'_>) -> Result<BothWays<Rate>, String> {
            Err("a rate of nan".to_owned())
        }
    }
    static FAILS: Descriptor = Descriptor { name: "fails", ..Descriptor::PLAIN };
    custom::add(&FAILS, |_: &Params, _: &Gateway| Ok(Fails)).unwrap();
    let scenario = gateway(FAILS.name, r#""droptail""#);
    let stopped = sojourn_sim::simulate(&scenario, 1, &Wanted::default(), &Monitor::default()).unwrap_err();
    let sojourn_sim::Stopped::Failed(plugin::Failure { plugin, method, now, what, .. }) = stopped else {
        panic!("{stopped:?}")
    };
    assert_eq!((plugin, method, now.as_nanos(), what.as_str()), ("fails", "step", 100_000_000, "a rate of nan"));
    custom::remove(FAILS.name);
}
