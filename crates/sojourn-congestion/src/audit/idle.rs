//! What idle time leaves, and windows that are used in part.

use super::*;

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
