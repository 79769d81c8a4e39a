//! What every control does with idle time, at the end of a repair, and when a reduction is taken back: one table, for the tests.
//!
//! A law holds for each preset of each control of the registry, also of one that is added tomorrow. Where a source says
//! something else, an exception names the source and states what holds instead. An exception that the law would do without is
//! a fault of the table.

use crate::script::{Round, Script, params};
use crate::{AppLimited, Control, DESCRIPTORS, Repair, Signal, Unused};
use sojourn_core::Span;
use sojourn_core::registry::Params;

/// What holds for a control with these parameters, or what was found instead.
type Check = fn(&Params) -> Result<(), String>;

/// What holds for every control.
struct Law {
    /// What it says, and who says it.
    says: &'static str,
    holds: Check,
    exceptions: &'static [Exception],
}

/// A control that follows another source.
struct Exception {
    control: &'static str,
    /// All where there are none.
    presets: &'static [&'static str],
    source: &'static str,
    holds: Check,
}

impl Exception {
    fn covers(&self, control: &str, preset: &str) -> bool {
        self.control == control && (self.presets.is_empty() || self.presets.contains(&preset))
    }

    /// The presets that it covers.
    fn subjects(&self) -> impl Iterator<Item = Params> {
        let all =
            DESCRIPTORS.iter().flat_map(|descriptor| descriptor.presets.iter().map(|preset| (*descriptor, preset)));
        all.filter(|(descriptor, preset)| self.covers(descriptor.name, preset.name))
            .map(|(descriptor, preset)| params(descriptor, preset.name, &[]))
    }
}

impl Law {
    /// Asserts it of the whole registry.
    #[track_caller]
    fn assert(&self) {
        let mut faults = Vec::new();
        for exception in self.exceptions {
            let known = DESCRIPTORS.iter().any(|descriptor| {
                descriptor.name == exception.control
                    && exception.presets.iter().all(|preset| descriptor.preset(preset).is_some())
            });
            assert!(known, "{}: {} {:?} is not registered", self.says, exception.control, exception.presets);
            let needed = exception.subjects().any(|params| (self.holds)(&params).is_err());
            assert!(needed, "{}: {} {:?} needs no exception", self.says, exception.control, exception.presets);
        }
        for descriptor in DESCRIPTORS {
            for preset in descriptor.presets {
                let whose = format!("{} {}", descriptor.name, preset.name);
                let params = params(descriptor, preset.name, &[]);
                let exception = self.exceptions.iter().find(|exception| exception.covers(descriptor.name, preset.name));
                let Some(exception) = exception else {
                    faults.extend((self.holds)(&params).err().map(|fault| format!("{whose}: {fault}")));
                    continue;
                };
                let fault = (exception.holds)(&params).err();
                faults.extend(fault.map(|fault| format!("{whose} (exception of {}): {fault}", exception.source)));
            }
        }
        assert!(faults.is_empty(), "{}\n{}", self.says, faults.join("\n"));
    }
}

/// A flow in congestion avoidance whose threshold is known, with a window that can be told from the least ones.
fn used(params: &Params) -> Script {
    let mut script = Script::new(params);
    for _ in 0..100 {
        if script.window() >= 32.0 {
            break;
        }
        script.round(Round::Queue(0));
    }
    script.table(&[Round::Loss(0), Round::Queue(0)]);
    script
}

/// A flow in its first slow start.
fn young(params: &Params) -> Script {
    let mut script = Script::new(params);
    script.table(&[Round::Queue(0); 4]);
    script
}

fn state(script: &Script) -> (f64, f64) {
    (script.window(), script.control.slow_start_threshold())
}

fn shown(script: &Script) -> Vec<(&'static str, f64)> {
    let mut shown = Vec::new();
    script.control.probe(&mut |name, value| shown.push((name, value)));
    shown
}

/// `found` is `expected`, or that rounded down where a control counts whole segments.
fn same(found: f64, expected: f64) -> bool {
    found == expected || found == expected.floor()
}

fn expect(holds: bool, found: impl std::fmt::Debug, instead_of: impl std::fmt::Debug) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{found:?} instead of {instead_of:?}")) }
}

/// Why a threshold is not above the window where delay leads that.
const NO_THRESHOLD: &str =
    "RFC 6817 section 2.4 and those after it: no ssthresh, slow start only where a preset has one";

const PAUSE: Span = Span::from_secs(5);

const RESTARTS: [Unused; 4] = [
    Unused::Keep,
    Unused::Restart { window: 2.0 },
    Unused::Restart { window: 1000.0 },
    Unused::Halve { window: 2.0, times: 2 },
];

/// Window and threshold before a pause, what the transport leaves of them, and what the control then has; for each rule.
fn paused(params: &Params) -> Vec<[(f64, f64); 3]> {
    let pause = |unused: Unused| {
        let mut script = used(params);
        let before = state(&script);
        script.now += PAUSE;
        script.start(PAUSE, unused);
        [before, unused.left(before.0, before.1), state(&script)]
    };
    RESTARTS.into_iter().map(pause).collect()
}

/// The same where the application has used a part of the window for a while.
fn used_in_part(params: &Params) -> [(f64, f64); 3] {
    let mut script = used(params);
    let before = state(&script);
    let unused = Unused::Average { used: 2.0 };
    script.now += PAUSE;
    script.control.on_app_limited(&AppLimited { now: script.now, unused });
    [before, unused.left(before.0, before.1), state(&script)]
}

fn as_left([_, left, after]: &[(f64, f64); 3]) -> Result<(), String> {
    expect(same(after.0, left.0) && same(after.1, left.1), after, left)
}

fn as_before([before, _, after]: &[(f64, f64); 3]) -> Result<(), String> {
    expect(after == before, after, before)
}

/// Delay leads the window, and what is shown as the threshold is never above it.
fn window_as_left([_, left, after]: &[(f64, f64); 3]) -> Result<(), String> {
    expect(same(after.0, left.0) && after.1 <= after.0, after, left)
}

fn nothing_after_a_pause(params: &Params) -> Result<(), String> {
    paused(params).iter().try_for_each(as_before)
}

/// B1: RFC 5681 section 4.1 has cwnd = min(RW, cwnd) and says nothing of ssthresh; Linux (`tcp_cwnd_restart`) halves, and
/// raises ssthresh to 3/4 of the window. So a pause never raises the window, and what was learnt stays.
#[test]
fn a_pause_leaves_what_the_transport_says() {
    Law {
        says: "idle time leaves of window and threshold what the transport's rule leaves (RFC 5681 4.1, RFC 2861)",
        holds: |params| paused(params).iter().try_for_each(as_left),
        exceptions: &[
            Exception {
                control: "proteus_s",
                presets: &[],
                source: "PCC-Uspace: a rate, and no window; idle time, a part used and a repair change nothing",
                holds: nothing_after_a_pause,
            },
            Exception {
                control: "nimbus",
                presets: &[],
                source: "ccp-project/nimbus: a rate; idle time, a part used and a repair change nothing",
                holds: nothing_after_a_pause,
            },
            Exception {
                control: "scream",
                presets: &[],
                source: "draft-ietf-ccwg-rfc8298bis-screamv2: the window follows what was in flight; idle time and a repair change nothing",
                holds: nothing_after_a_pause,
            },
            Exception {
                control: "bbr",
                presets: &[],
                source: "Linux tcp_slow_start_after_idle_check, which leaves out modules with cong_control",
                holds: nothing_after_a_pause,
            },
            Exception {
                control: "bbr3",
                presets: &[],
                source: "draft-ietf-ccwg-bbr, HandleRestartFromIdle: paces, and keeps C.cwnd",
                holds: nothing_after_a_pause,
            },
            Exception {
                control: "ledbat",
                presets: &[],
                source: NO_THRESHOLD,
                holds: |params| {
                    // RFC 6817 section 2.4.2: INIT_CWND of the presets is 2.
                    paused(params).iter().try_for_each(|[before, left, after]| {
                        let restarted = after.0 == left.0.min(2.0) && left.0 < before.0;
                        expect(same(after.0, left.0) || restarted, after, left)
                    })
                },
            },
            Exception {
                control: "fledbat",
                presets: &[],
                source: NO_THRESHOLD,
                holds: |params| paused(params).iter().try_for_each(window_as_left),
            },
            Exception {
                control: "libutp",
                presets: &[],
                source: "libutp UTPSocket::check_timeouts: a third less each time the timer goes off, 1 s and 2 s after",
                holds: |params| {
                    paused(params).iter().try_for_each(|[before, _, after]| {
                        let bytes = (before.0 * 1460.0 * 2.0 / 3.0).floor();
                        expect(after.0 * 1460.0 == (bytes * 2.0 / 3.0).floor(), after, before)
                    })
                },
            },
        ],
    }
    .assert();
}

/// RFC 2861 section 3.2 (`tcp_cwnd_application_limited`).
#[test]
fn a_window_used_in_part_becomes_what_the_transport_says() {
    Law {
        says: "a window that was used in part becomes what the transport's rule makes of it (RFC 2861 3.2)",
        holds: |params| as_left(&used_in_part(params)),
        exceptions: &[
            Exception {
                control: "proteus_s",
                presets: &[],
                source: "PCC-Uspace: a rate, and no window; idle time, a part used and a repair change nothing",
                holds: |params| as_before(&used_in_part(params)),
            },
            Exception {
                control: "nimbus",
                presets: &[],
                source: "ccp-project/nimbus: a rate; idle time, a part used and a repair change nothing",
                holds: |params| as_before(&used_in_part(params)),
            },
            Exception {
                control: "scream",
                presets: &[],
                source: "draft-ietf-ccwg-rfc8298bis-screamv2: the window follows what was in flight; idle time and a repair change nothing",
                holds: |params| as_before(&used_in_part(params)),
            },
            Exception {
                control: "bbr",
                presets: &[],
                source: "Linux tcp_cwnd_validate, which leaves out modules with cong_control",
                holds: |params| as_before(&used_in_part(params)),
            },
            Exception {
                control: "bbr3",
                presets: &[],
                source: "draft-ietf-ccwg-bbr: C.cwnd follows from the model",
                holds: |params| as_before(&used_in_part(params)),
            },
            Exception {
                control: "libutp",
                presets: &[],
                source: "libutp apply_ccontrol: a window that is not full does not grow, and stays",
                holds: |params| as_before(&used_in_part(params)),
            },
            Exception {
                control: "ledbat",
                presets: &[],
                source: NO_THRESHOLD,
                holds: |params| window_as_left(&used_in_part(params)),
            },
            Exception {
                control: "fledbat",
                presets: &[],
                source: NO_THRESHOLD,
                holds: |params| window_as_left(&used_in_part(params)),
            },
            Exception {
                control: "ledbatpp",
                presets: &[],
                source: NO_THRESHOLD,
                holds: |params| window_as_left(&used_in_part(params)),
            },
        ],
    }
    .assert();
}

const ROUND: &str = "round_least_rtt_ms";
const BACKLOG: &str = "backlog_segments";

/// What is shown before and after a pause that leaves the window.
fn around_a_pause(params: &Params) -> [Vec<(&'static str, f64)>; 2] {
    let mut script = used(params);
    let before = shown(&script);
    script.now += PAUSE;
    script.start(PAUSE, Unused::Keep);
    [before, shown(&script)]
}

/// A pause changes `names`, and nothing else.
fn forgets(params: &Params, names: &[&str]) -> Result<(), String> {
    let [before, after] = around_a_pause(params).map(|mut shown| {
        shown.retain(|(name, _)| !names.contains(name));
        format!("{shown:?}")
    });
    expect(before == after, &after, &before)
}

/// B1: DCTCP's and Prague's alpha, base delays, bandwidths, gains: a pause that leaves the window leaves them as well.
#[test]
fn a_pause_forgets_nothing() {
    Law {
        says: "idle time changes nothing that a control shows of itself",
        holds: |params| forgets(params, &[]),
        exceptions: &[
            Exception {
                control: "vegas",
                presets: &["linux", "linux-2.6.22"],
                source: "Linux tcp_vegas_cwnd_event: the base RTT is measured anew after CA_EVENT_TX_START",
                holds: |params| forgets(params, &["base_rtt_ms", ROUND, BACKLOG]),
            },
            Exception {
                control: "vegas",
                presets: &["ns2", "ns3"],
                source: "none: a round that a pause cut in two is measured anew",
                holds: |params| forgets(params, &[ROUND, BACKLOG]),
            },
            Exception {
                control: "veno",
                presets: &["linux"],
                source: "Linux tcp_veno_cwnd_event: the base RTT is measured anew after CA_EVENT_TX_START",
                holds: |params| forgets(params, &["base_rtt_ms"]),
            },
            Exception {
                control: "libutp",
                presets: &[],
                source: "libutp UTPSocket::check_timeouts: the window decays",
                holds: |params| forgets(params, &["window_bytes"]),
            },
        ],
    }
    .assert();
}

/// The windows of some rounds after a pause of so long.
fn windows_after(params: &Params, pause: Span) -> Vec<f64> {
    let mut script = used(params);
    script.now += pause;
    script.start(pause, Unused::Keep);
    (0..12)
        .map(|_| {
            script.round(Round::Queue(0));
            script.window()
        })
        .collect()
}

/// The same without a pause and with one of a minute.
fn around_a_minute(params: &Params) -> [Vec<f64>; 2] {
    [Span::ZERO, Span::from_secs(60)].map(|pause| windows_after(params, pause))
}

/// B2: RFC 9438 section 4.2, Linux `cubictcp_cwnd_event`; for all others time that passes without acknowledgements is none.
#[test]
fn time_without_sending_opens_no_window() {
    Law {
        says: "windows after a pause are no larger than without it (RFC 9438 4.2)",
        holds: |params| {
            let [without, after] = around_a_minute(params);
            let larger = after.iter().zip(&without).any(|(after, without)| *after > without + 1.0);
            expect(!larger, &after, &without)
        },
        exceptions: &[
            Exception {
                control: "scream",
                presets: &[],
                source: "draft-ietf-ccwg-rfc8298bis-screamv2: what opens the window in proportion comes back with the time since congestion",
                holds: |params| {
                    let [_, after] = around_a_minute(params);
                    // Three reference windows are acknowledged in a round trip here: each opens it by a segment and 2 %, and
                    // the window is three of them.
                    let slow = after.windows(2).all(|pair| pair[1] <= pair[0] + 9.0 + 0.07 * pair[0]);
                    expect(slow, &after, "9 segments and 7 % a round")
                },
            },
            Exception {
                control: "cubic",
                presets: &["ns3"],
                source: "ns-3.37 TcpCubic, which hears nothing of idle time",
                holds: |params| {
                    let [without, after] = around_a_minute(params);
                    // Half a window more in each round trip, the most that the cubic function opens.
                    expect(after[0] >= (without[0] * 1.4).floor(), &after, &without)
                },
            },
            Exception {
                control: "htcp",
                presets: &[],
                source: "Linux tcp_htcp, which hears nothing of idle time: growth follows the time since the last repair",
                holds: |params| {
                    let [without, after] = around_a_minute(params);
                    // Half a window more in each round trip, the most that its steps open.
                    expect(after[0] >= (without[0] * 1.4).floor(), &after, &without)
                },
            },
            Exception {
                control: "ledbatpp",
                presets: &[],
                source: "draft-irtf-iccrg-ledbat-plus-plus section 4.4: slowdowns are due by the clock",
                holds: |params| {
                    // One is due, and ends at the window before it.
                    let [_, after] = around_a_minute(params);
                    let before = used(params).window();
                    let largest = after.iter().copied().fold(0.0, f64::max);
                    expect(after[..2].contains(&2.0) && largest <= before + 1.0, &after, before)
                },
            },
        ],
    }
    .assert();
}

/// Window and threshold when a loss has been noticed, and when its repair has ended, in `repair` and with so much in flight.
fn repaired(params: &Params, repair: Repair, flight: f64) -> [(f64, f64); 2] {
    let mut script = used(params);
    let signal = if repair == Repair::Timeout { Signal::Timeout { repeated: false } } else { Signal::Loss };
    script.now += Span::from_millis(200);
    script.congestion(signal);
    let during = state(&script);
    script.now += Span::from_millis(50);
    script.recovered(repair, flight);
    [during, state(&script)]
}

/// Why a window stays after partial acknowledgements.
const OPTION: &str = "RFC 6582 section 3.2 step 3 (2): cwnd = ssthresh; no source has the bound of (1)";

fn repair_ends_as_it_was(params: &Params) -> Result<(), String> {
    for repair in [Repair::Partial, Repair::Selective, Repair::Timeout] {
        let [during, after] = repaired(params, repair, 3.0);
        expect(after == during, after, during)?;
    }
    Ok(())
}

/// B4: RFC 6582 section 3.2 step 3 and RFC 6675 section 5 step A.
#[test]
fn the_end_of_a_repair() {
    Law {
        says: "full acknowledgement leaves min(ssthresh, FlightSize + 1) after partial ones, and the window as it is with a \
               scoreboard and after a timeout (RFC 6582 3.2, RFC 6675 5)",
        holds: |params| {
            for flight in [0.0, 3.0, 1000.0] {
                let [(_, threshold), after] = repaired(params, Repair::Partial, flight);
                let expected = threshold.min(flight.max(1.0) + 1.0);
                expect(same(after.0, expected) && after.1 == threshold, after, (expected, threshold))?;
                for repair in [Repair::Selective, Repair::Timeout] {
                    let [during, after] = repaired(params, repair, flight);
                    expect(after == during, after, during)?;
                }
            }
            Ok(())
        },
        exceptions: &[
            Exception {
                control: "proteus_s",
                presets: &[],
                source: "PCC-Uspace: a rate, and no window; idle time, a part used and a repair change nothing",
                holds: repair_ends_as_it_was,
            },
            Exception {
                control: "nimbus",
                presets: &[],
                source: "ccp-project/nimbus: a rate; idle time, a part used and a repair change nothing",
                holds: repair_ends_as_it_was,
            },
            Exception {
                control: "scream",
                presets: &[],
                source: "draft-ietf-ccwg-rfc8298bis-screamv2: the window follows what was in flight; idle time and a repair change nothing",
                holds: repair_ends_as_it_was,
            },
            Exception {
                control: "westwood",
                presets: &[],
                source: "Linux tcp_westwood_event, CA_EVENT_COMPLETE_CWR, and ns-3 TcpWestwoodPlus: the estimate is threshold and window",
                holds: |params| {
                    let [_, after] = repaired(params, Repair::Selective, 3.0);
                    expect(after.0 == after.1, after, "window and threshold alike")?;
                    let [_, after] = repaired(params, Repair::Partial, 3.0);
                    expect(same(after.0, after.1.min(4.0)), after, "4 at most")?;
                    let [during, after] = repaired(params, Repair::Timeout, 3.0);
                    expect(after == during, after, during)
                },
            },
            Exception {
                control: "prague",
                presets: &[],
                source: OPTION,
                holds: repair_ends_as_it_was,
            },
            Exception {
                control: "ledbat",
                presets: &[],
                source: OPTION,
                holds: repair_ends_as_it_was,
            },
            Exception {
                control: "fledbat",
                presets: &[],
                source: OPTION,
                holds: repair_ends_as_it_was,
            },
            Exception {
                control: "ledbatpp",
                presets: &[],
                source: OPTION,
                holds: repair_ends_as_it_was,
            },
            Exception {
                control: "libutp",
                presets: &[],
                source: OPTION,
                holds: repair_ends_as_it_was,
            },
            Exception {
                control: "bbr",
                presets: &[],
                source: "Linux tcp_bbr.c bbr_set_cwnd_to_recover_or_restore: the window comes back with the next acknowledgement",
                holds: repair_ends_as_it_was,
            },
            Exception {
                control: "bbr3",
                presets: &[],
                source: "draft-ietf-ccwg-bbr, RestoreCwnd: the window comes back with the next acknowledgement",
                holds: repair_ends_as_it_was,
            },
            Exception {
                control: "scout",
                presets: &[],
                source: "docs/controls/scout.md: a drain follows on a repair",
                holds: |params| {
                    let [during, after] = repaired(params, Repair::Partial, 3.0);
                    expect(after.0 <= during.0, after, during)
                },
            },
        ],
    }
    .assert();
}

fn comes_back_with_an_acknowledgement(params: &Params) -> Result<(), String> {
    for signal in [Signal::Loss, Signal::Timeout { repeated: false }] {
        let mut script = used(params);
        let before = state(&script);
        script.congestion(signal);
        script.undo(before.0, before.1);
        script.round(Round::Queue(0));
        expect(script.window() >= before.0, script.window(), before)?;
    }
    Ok(())
}

/// RFC 4015 section 3.2 and Linux (`tcp_undo_cwnd_reduction`).
#[test]
fn a_needless_reduction_is_taken_back() {
    Law {
        says: "what turns out to be needless leaves no lower window and threshold than before (RFC 4015)",
        holds: |params| {
            for begin in [young, used] {
                for signals in [
                    &[Signal::Loss][..],
                    &[Signal::Timeout { repeated: false }],
                    &[Signal::Timeout { repeated: false }, Signal::Timeout { repeated: true }],
                    &[Signal::Loss, Signal::Timeout { repeated: true }],
                ] {
                    let mut script = begin(params);
                    let before = state(&script);
                    for signal in signals {
                        script.now += Span::from_millis(200);
                        script.congestion(*signal);
                    }
                    script.undo(before.0, before.1);
                    let after = state(&script);
                    let whole = same(after.0, before.0) && same(after.1, before.1);
                    expect(whole || (after.0 >= before.0 && after.1 >= before.1), after, before)?;
                }
            }
            Ok(())
        },
        exceptions: &[
            Exception {
                control: "bbr",
                presets: &[],
                source: "Linux bbr_undo_cwnd: the window comes back as the repair ends",
                holds: comes_back_with_an_acknowledgement,
            },
            Exception {
                control: "bbr3",
                presets: &[],
                source: "draft-ietf-ccwg-bbr, HandleSpuriousLossDetection: the window comes back as the repair ends",
                holds: comes_back_with_an_acknowledgement,
            },
            Exception {
                control: "libutp",
                presets: &[],
                source: "libutp: nothing is ever taken back, and slow start is over",
                holds: |params| {
                    let mut script = young(params);
                    let before = state(&script);
                    script.congestion(Signal::Loss);
                    script.undo(before.0, before.1);
                    expect(same(script.window(), before.0), script.window(), before)
                },
            },
            Exception {
                control: "scout",
                presets: &[],
                source: "docs/controls/scout.md: a repair that was needless ends, and what was sent is drained",
                holds: |params| {
                    let mut script = young(params);
                    let before = state(&script);
                    script.congestion(Signal::Timeout { repeated: false });
                    script.undo(before.0, before.1);
                    expect(
                        script.window() <= before.0 && script.control.slow_start_threshold() == before.1,
                        state(&script),
                        before,
                    )
                },
            },
        ],
    }
    .assert();
}

/// RFC 5681 section 3.1.
#[test]
fn timeouts() {
    Law {
        says: "a timeout leaves one segment, and the second one for the same segment the threshold (RFC 5681 3.1)",
        holds: |params| {
            let mut script = used(params);
            script.congestion(Signal::Timeout { repeated: false });
            let first = state(&script);
            script.now += Span::from_secs(1);
            script.congestion(Signal::Timeout { repeated: true });
            expect(first.0 == 1.0 && state(&script) == first, state(&script), (1.0, first))
        },
        exceptions: &[
            Exception {
                control: "scream",
                presets: &[],
                source: "draft-ietf-ccwg-rfc8298bis-screamv2: never less than 3000 B, of which three may be in flight",
                holds: |params| {
                    let mut script = used(params);
                    script.congestion(Signal::Timeout { repeated: false });
                    let first = state(&script);
                    script.now += Span::from_secs(1);
                    script.congestion(Signal::Timeout { repeated: true });
                    expect(first.0 == 3000.0 / 1460.0 * 3.0 && state(&script) == first, state(&script), first)
                },
            },
            Exception {
                control: "nice",
                presets: &["linux"],
                source: "the authors' prototype: never less than two segments",
                holds: |params| {
                    let mut script = used(params);
                    script.congestion(Signal::Timeout { repeated: false });
                    let first = state(&script);
                    script.congestion(Signal::Timeout { repeated: true });
                    expect(first.0 == 2.0 && state(&script) == first, state(&script), first)
                },
            },
        ],
    }
    .assert();
}

/// Who answers a loss besides a mark of the same window of data: the transport asks this only.
#[test]
fn who_answers_both() {
    let both: Vec<&str> = DESCRIPTORS
        .iter()
        .filter(|descriptor| {
            descriptor
                .presets
                .iter()
                .any(|preset| Script::new(&params(descriptor, preset.name, &[])).control.answers_both())
        })
        .map(|descriptor| descriptor.name)
        .collect();
    // Linux dctcp_state, ns-3; Linux prague_state, with its credit; the draft of SCReAM, which has a time between reactions.
    assert_eq!(both, ["dctcp", "prague", "scream"]);
}
