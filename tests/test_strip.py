"""The ideal strip: worked numbers, edges, and what happens when nothing is sent."""

import dataclasses
import json

import pytest

import sojourn
from sojourn.data import strip
from sojourn.data.strip import BOUNDS, CONDITIONS, Bounds, Classes, Delivered, Place, judge, newcomer_share, reclaim_s

GOOD = Place(delay_ms=5.0, delay_ms_p99=30.0, share=0.95, utilization=0.99, alone=0.93)


def record(utilization: float | None, **goodputs: float | None) -> dict[str, object]:
    groups = {name: {"goodput_mbps": goodput} for name, goodput in goodputs.items()}
    return {"bottleneck": {"utilization": utilization}, "groups": groups}


def test_the_bounds_are_those_of_the_issue() -> None:
    assert Bounds(delay_ms=20.0, share=0.90, utilization=0.95, alone=0.90) == BOUNDS


@pytest.mark.parametrize(
    ("condition", "just_inside", "on_the_edge"),
    [("delay_ms", 19.99, 20.0), ("share", 0.9001, 0.90), ("utilization", 0.9501, 0.95), ("alone", 0.9001, 0.90)],
)
def test_each_condition_alone_decides(condition: str, just_inside: float, on_the_edge: float) -> None:
    assert judge([dataclasses.replace(GOOD, **{condition: just_inside})]).inside
    outside = judge([dataclasses.replace(GOOD, **{condition: on_the_edge})])
    assert outside.failed == [condition]
    assert not outside.inside


def test_the_tail_is_shown_and_not_judged() -> None:
    verdict = judge([dataclasses.replace(GOOD, delay_ms_p99=900.0)])
    assert verdict.inside
    assert verdict.places["delay_ms_p99"]["mean"] == 900.0


@pytest.mark.parametrize("condition", CONDITIONS)
def test_what_one_run_did_not_measure_is_not_met(condition: str) -> None:
    verdict = judge([GOOD, dataclasses.replace(GOOD, **{condition: None})])
    assert verdict.failed == [condition]
    assert verdict.margin(condition) is None
    assert verdict.surely is False


def test_utilization_is_measured_by_what_best_effort_alone_reaches() -> None:
    both = record(0.88, tcp=8.0, background=0.5)
    found = strip.place(both, record(0.90), record(0.95))
    assert found.utilization == pytest.approx(0.88 / 0.90)
    assert found.share == pytest.approx(8.0 / 8.5)
    assert (found.delay_ms, found.delay_ms_p99) == (None, None)  # there is no sparse flow
    assert judge([found]).failed == ["delay_ms"]


def test_where_nothing_is_sent_nothing_is_met() -> None:
    silent = strip.place(record(0.0, tcp=0.0, background=0.0), record(0.0), record(0.0))
    assert silent == Place(None, None, None, None, 0.0)
    assert judge([silent]).failed == list(CONDITIONS)


def test_a_scavenger_that_never_sends_is_not_in_the_strip() -> None:
    starved = dataclasses.replace(GOOD, share=1.0, alone=0.0)
    assert judge([starved] * 5).failed == ["alone"]


def test_groups_have_the_names_that_are_asked_for() -> None:
    both = {
        "bottleneck": {"utilization": 1.0},
        "groups": {"web": {"goodput_mbps": 9.0}, "sync": {"goodput_mbps": 1.0}, "call": {"queue_ms": {"mean": 1.0}}},
    }
    found = strip.place(both, record(1.0), record(1.0), Classes("web", "sync", "call"))
    assert (found.share, found.delay_ms, found.delay_ms_p99) == (0.9, 1.0, None)
    with pytest.raises(KeyError, match="tcp"):
        strip.place(both, record(1.0), record(1.0))


def test_intervals_decide_where_they_can() -> None:
    spread = [dataclasses.replace(GOOD, share=share) for share in (0.80, 1.0, 0.93)]
    verdict = judge(spread)
    assert verdict.inside
    assert verdict.surely is None  # the interval of the share holds 0.90
    assert judge([GOOD] * 3).surely is True
    assert judge([GOOD]).surely is None  # one run has no interval
    assert judge([dataclasses.replace(GOOD, share=share) for share in (0.60, 0.61, 0.62)]).surely is False


def test_no_runs_are_no_verdict() -> None:
    with pytest.raises(ValueError, match="no runs"):
        judge([])


def test_a_newcomer_that_nobody_disturbs_has_everything() -> None:
    assert newcomer_share(Delivered(0.5, [0, 0, 7, 9]), Delivered(0.5, [5, 5, 0, 0]), 1.0, 1.0) == 1.0


def test_a_time_in_which_nothing_is_delivered_has_no_share() -> None:
    silence = Delivered(0.5, [0, 0, 0, 0])
    assert newcomer_share(silence, silence, 1.0, 1.0) is None
    assert newcomer_share(Delivered(0.5, [1]), Delivered(0.5, [1]), 10.0, 1.0) is None


def test_a_link_that_is_never_reclaimed_has_no_time() -> None:
    assert reclaim_s(Delivered(0.5, [62_500, 62_500, 0, 0]), 1.0, 1.0) is None
    assert reclaim_s(Delivered(0.5, [0, 0, 62_500]), 1.0, 1.0) == 0.5
    assert reclaim_s(Delivered(0.5, []), 1.0, 1.0) is None


def test_a_marked_flow_in_a_real_run_is_in_the_strip() -> None:
    """CUBIC beside LEDBAT that is marked LE, under CAKE: the sheet's solved case, small."""
    group = {"transport": "linux", "rtt": "20 ms"}
    tcp = {"name": "tcp", "control": {"kind": "cubic", "preset": "linux"}, **group}
    background = {"name": "background", "control": {"kind": "ledbat", "preset": "linux"}, "dscp": "le", **group}
    sparse = {"name": "sparse", "rtt": "20 ms", "traffic": {"kind": "cbr", "rate": "16 kbit/s", "packet": "100 B"}}
    link = {"rate": "10 Mbit/s", "queue": {"kind": "cake", "preset": "linux", "bandwidth": "10 Mbit/s"}}

    def run(*groups: dict[str, object]) -> dict[str, object]:
        made = sojourn.scenario(duration="8 s", warmup="3 s", bottleneck=link, group=list(groups)).run(series=False)
        return json.loads(json.dumps(made.runs[0]))

    found = strip.place(run(tcp, background, sparse), run(tcp, sparse), run(background, sparse))
    assert judge([found]).inside, found
