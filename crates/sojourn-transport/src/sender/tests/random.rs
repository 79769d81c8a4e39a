//! Random losses, delays and lies.

use super::network::{Network, network, preset};
use crate::options::flag;
use crate::segment::{Block, EcnFlags, MAX_BLOCKS, Segment, SegmentKind};
use crate::sender::BurstLimits;
use crate::sender::recovery::State;
use proptest::prelude::*;
use sojourn_core::registry::Value;
use sojourn_core::{Amount, Span, Stream, Time};

/// Longer than 150 segments can take: with 40 % loss, a timeout of a minute may be needed for each of them many times.
const PATIENCE_MS: u64 = 1_000_000_000;

#[derive(Clone, Debug)]
struct Setup {
    sack: bool,
    timestamps: bool,
    ecn: bool,
    handshake: bool,
    limited_transmit: bool,
    ack_every: u64,
    window: u64,
    receive_window: u64,
    pacing: bool,
    linux: Option<&'static str>,
    bursts: Option<BurstLimits>,
    segments: u32,
    /// The control of a receiver that steers, and the scale of its window.
    steering: Option<(&'static str, u8)>,
    loss: f64,
    ack_loss: f64,
    mark: f64,
    disorder: f64,
    seed: u64,
}

fn setup() -> impl Strategy<Value = Setup> {
    let switches = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop::bool::weighted(0.2),
        prop::sample::select(vec![None, Some("linux"), Some("linux-2.6")]),
        prop::option::weighted(0.3, (1u32..50, 1u32..5, 0u64..20, any::<bool>())),
        // Without Linux's probes: what one finds lost lowers the window, and what was sent after it and is lost does so again.
        prop::option::weighted(0.3, (prop::sample::select(vec!["ledbat", "ledbatpp"]), 0u8..=14)),
    );
    let sizes = (1u64..4, 1u64..30, prop_oneof![Just(10_000u64), 1u64..40], 1u32..150);
    let rates = (
        prop_oneof![Just(0.0), 0.0..0.4],
        prop_oneof![Just(0.0), 0.0..0.5],
        prop_oneof![Just(0.0), 0.0..0.3],
        prop_oneof![Just(0.0), 0.0..0.5],
    );
    (switches, sizes, rates, any::<u64>()).prop_map(|(switches, sizes, rates, seed)| Setup {
        sack: switches.0,
        timestamps: switches.1,
        ecn: switches.2,
        handshake: switches.3,
        limited_transmit: switches.4,
        pacing: switches.5,
        linux: switches.6,
        bursts: switches.7.map(|(most, least, millis, paced)| BurstLimits {
            most,
            least,
            time: Span::from_millis(millis),
            paced,
        }),
        steering: switches.8,
        ack_every: sizes.0,
        window: sizes.1,
        receive_window: sizes.2,
        segments: sizes.3,
        loss: rates.0,
        ack_loss: rates.1,
        mark: rates.2,
        disorder: rates.3,
        seed,
    })
}

fn build(setup: &Setup) -> Network {
    let mut options = vec![
        ("ecn", flag(setup.ecn)),
        ("handshake", flag(setup.handshake)),
        ("ack_every", Value::Integer(setup.ack_every)),
        ("initial_window", Value::Integer(setup.window)),
        ("receive_window", Value::Amount(Amount::Packets(setup.receive_window as f64))),
        ("max_rto", Value::Span(Span::from_secs(4))),
    ];
    if setup.pacing {
        options.push(("pacing", Value::Number(1.25)));
    }
    let mut path = if let Some(name) = setup.linux {
        preset(name, &options)
    } else {
        options.extend([
            ("sack", flag(setup.sack)),
            ("timestamps", Value::Boolean(setup.timestamps)),
            ("disorder", Value::Choice(if setup.limited_transmit { "limited-transmit" } else { "none" })),
        ]);
        network(&options, &[])
    };
    if let Some((name, scale)) = setup.steering.filter(|_| setup.timestamps && setup.linux.is_none()) {
        path = path.steered(name, scale, &super::network::options(&options));
    }
    if let Some(limits) = setup.bursts {
        path.sender = path.sender.with_bursts(limits);
        path.receiver = path.receiver.with_offload(limits.time, limits.most);
    }
    let stream = |name: &str| Stream::new(setup.seed, name);
    let (mut drops, mut acks, mut marks, mut holds) = (stream("drop"), stream("ack"), stream("mark"), stream("hold"));
    let Setup { loss, ack_loss, mark, disorder, .. } = *setup;
    // No transmission is lost more than eight times, so that every transfer can end.
    path.drops = Box::new(move |_, nth| drops.chance(loss) && nth < 8);
    path.ack_drops = Box::new(move |_| acks.chance(ack_loss));
    path.marks = Box::new(move |_, _| marks.chance(mark));
    path.holds = Box::new(move |_, _| if holds.chance(disorder) { (holds.uniform() * 40.0) as u64 } else { 0 });
    path
}

/// A lie about what was received, around what is out.
#[derive(Clone, Copy, Debug)]
struct Lie {
    number: i64,
    ece: bool,
    blocks: [(i64, i64); MAX_BLOCKS],
    count: u8,
    stamp: u64,
    timer: bool,
}

fn lie() -> impl Strategy<Value = Lie> {
    let offset = prop_oneof![8 => -3i64..30, 1 => Just(i64::from(u32::MAX)), 1 => Just(-i64::from(u32::MAX))];
    let block = (offset.clone(), offset.clone());
    let blocks = [block.clone(), block.clone(), block];
    (offset, any::<bool>(), blocks, 0u8..=3, any::<u64>(), prop::bool::weighted(0.1))
        .prop_map(|(number, ece, blocks, count, stamp, timer)| Lie { number, ece, blocks, count, stamp, timer })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// Every transfer ends, each segment is delivered once, and the checks of the path hold at every step.
    #[test]
    fn every_transfer_completes(setup in setup()) {
        let mut path = build(&setup);
        path.send_segments(u64::from(setup.segments)).run(PATIENCE_MS);
        path.assert_complete(setup.segments);
        let counts = path.sender.counts;
        let sent: u32 = path.times_sent.values().sum();
        prop_assert_eq!(u64::from(sent), u64::from(setup.segments) + counts.retransmissions);
        // A probe may come before a delayed acknowledgement.
        if setup.loss == 0.0 && setup.disorder == 0.0 && setup.ack_loss == 0.0 && setup.linux.is_none() {
            prop_assert_eq!((counts.retransmissions, counts.timeouts), (0, 0));
        }
    }

    /// The fast path decides as the general one does.
    #[test]
    fn the_short_way_is_the_general_way(setup in setup()) {
        let [short, general] = [true, false].map(|short| {
            let mut path = build(&setup);
            path.sender.has_fast_path &= short;
            path.send_segments(u64::from(setup.segments)).run(PATIENCE_MS);
            (path.log, path.times_sent, path.rtts)
        });
        prop_assert_eq!(short, general);
    }

    /// Without disorder, SACK never sends what was received, except for rescues and after timeouts.
    #[test]
    fn sack_repeats_nothing_in_vain(mut setup in setup()) {
        setup = Setup { sack: true, linux: None, disorder: 0.0, ack_loss: 0.0, ..setup };
        let mut path = build(&setup);
        path.send_segments(u64::from(setup.segments)).run(PATIENCE_MS);
        path.assert_complete(setup.segments);
        if path.sender.counts.timeouts == 0 && setup.loss == 0.0 {
            prop_assert_eq!(path.sender.counts.retransmissions, 0);
        }
    }

    /// Whatever an acknowledgement says, at whatever time, the sender's books balance and nothing panics.
    #[test]
    fn lies_do_no_harm(setup in setup(), lies in prop::collection::vec(lie(), 1..60)) {
        let mut path = build(&setup);
        path.sender.supply_forever();
        path.transmit("start");
        if setup.handshake {
            path.sender.on_syn_ack(path.now, path.now);
            path.transmit("accepted");
        }
        for lie in lies {
            path.now += Span::from_millis(10);
            if lie.timer && path.sender.deadline(path.now) != Time::NEVER {
                path.now = path.now.max(path.sender.deadline(path.now));
                path.sender.on_timer(path.now);
            }
            let first = i64::from(path.sender.board.first());
            let near = |offset: i64| (first + offset).clamp(0, i64::from(u32::MAX)) as u32;
            let mut ack = Segment::new(SegmentKind::Ack, near(lie.number), Time::from_nanos(lie.stamp));
            ack.ecn = EcnFlags::when(lie.ece, EcnFlags::ECE);
            ack.blocks = lie.count;
            for (place, (start, end)) in ack.sack.iter_mut().zip(lie.blocks) {
                *place = Block { start: near(start), end: near(end) };
            }
            path.sender.on_ack(&ack, path.now);
            // Sending may come late; the books must balance before and after.
            path.sender.board.check();
            let mut sent = 0;
            while path.sender.poll_transmit(path.now).is_some() {
                sent += 1;
                prop_assert!(sent < 20_000);
            }
            path.sender.board.check();
            prop_assert!(path.sender.recovery.state() != State::Handshake || !setup.handshake);
            prop_assert_eq!(path.sender.timer.at() != Time::NEVER, path.sender.board.outstanding() > 0);
        }
    }
}
