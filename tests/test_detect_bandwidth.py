"""What a line carries, for a shaper before it: within bounds of the true rate, or nothing, on cases and on lines."""

from collections.abc import Callable
from typing import Any

import pytest
from benchmarks.detector.rates import LineAndSide, captured, holds, is_captured, is_probed, lines, probed, told

from sojourn.detect.bandwidth import Carries
from sojourn.detect.plan import Path
from sojourn.detect.population import crossed

OTHERS: dict[str, dict[str, Any]] = {
    "3 CUBIC": {"control": "cubic", "flows": 3, "transport": "linux"},
    "BBR": {"control": "bbr3", "transport": "linux"},
    "a film": {"control": "cubic", "transport": "linux", "traffic": "video"},
    "30 % of datagrams": {"traffic": {"kind": "cbr", "rate": "3 Mbit/s", "packet": "1200 B"}},
}
QUEUES = ("droptail", "codel", "pie", "fq_codel", "cake")


@pytest.mark.parametrize("queue", QUEUES)
def test_an_idle_line_is_told_exactly(queue: str) -> None:
    found = told(Path({"bottleneck": {"rate": "10 Mbit/s", "queue": queue}}, "40 ms"))
    assert found.low_mbps == pytest.approx(10, rel=0.05)
    assert found.high_mbps == pytest.approx(10, rel=0.05)
    assert found.why_not == ""


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("loss", [0.005, 0.02])
def test_what_a_flow_got_that_answers_to_losses_is_no_rate(queue: str, loss: float) -> None:
    """12 Mbit/s with 2 % loss was advised as 2.15 Mbit/s."""
    link = {"rate": "12 Mbit/s", "queue": queue, "loss": loss}
    assert holds(told(Path({"bottleneck": link}, "40 ms")), 12)


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("others", OTHERS)
def test_others_on_the_line_are_not_taken_for_a_slower_one(queue: str, others: str) -> None:
    """10 Mbit/s with three flows of CUBIC was advised as 1.9, 90 Mbit/s with one of BBR as 6.3."""
    crossing = [{"name": "others", "rtt": "20 ms", **OTHERS[others]}]
    found = told(Path({"bottleneck": {"rate": "10 Mbit/s", "queue": queue}}, "20 ms", crossing))
    assert holds(found, 10)
    assert found.low_mbps is not None or found.why_not


@pytest.mark.parametrize("burst", ["3 kB", "20 kB", "200 kB"])
def test_a_shaper_that_lets_bursts_pass_is_told_by_what_lasts(burst: str) -> None:
    link = {"rate": "1 Gbit/s", "queue": "droptail", "shaper": {"rate": "20 Mbit/s", "burst": burst}}
    found = told(Path({"bottleneck": link}, "20 ms"))
    assert found.low_mbps == pytest.approx(20, rel=0.03)


def test_no_advice_is_wrong_on_lines_that_people_have() -> None:
    _check(probed, [one for one in lines()[::23] if is_probed(one)], 7)


@pytest.mark.long
def test_no_advice_is_wrong_on_more_lines() -> None:
    _check(probed, [one for one in lines()[::3] if is_probed(one)], 5)


@pytest.mark.long
def test_no_advice_from_a_capture_is_wrong_on_lines_that_people_have() -> None:
    _check(captured, [one for one in lines()[::41] if is_captured(one)], 4)


@pytest.mark.long
def test_no_advice_from_a_capture_is_wrong_on_any_line() -> None:
    _check(captured, [one for one in lines() if is_captured(one)], 3)


def _check(tells: Callable[[LineAndSide], Carries], chosen: list[LineAndSide], often: int) -> None:
    """A rate is given on one line of so many at least; on others delays or what the home does vary."""
    found = [(one, tells(one)) for one in chosen]
    assert [(one, said) for one, said in found if not holds(said, crossed(*one).rate_mbps)] == []
    assert sum(said.low_mbps is not None for _, said in found) >= len(found) // often
