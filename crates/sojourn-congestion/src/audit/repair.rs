//! The end of a repair, reductions that are taken back, timeouts.

use super::*;

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
