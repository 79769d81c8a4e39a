"""`sojourn pad` beside an upload on real Linux."""

from typing import Any

import pytest

from sojourn.pad.lab import Case, outcome, run
from sojourn.worlds.linux.errors import NotInstalledError
from sojourn.worlds.linux.kernels import Kernel, kernels

pytestmark = [pytest.mark.real_time, pytest.mark.testbed]

# What TCP's headers leave of 800 kbit/s.
GOODPUT_BPS = 800e3 * 1448 / 1500


def there(name: str) -> Kernel:
    found = kernels()[name]
    if found.missing():
        pytest.skip(str(NotInstalledError(f"the kernel {found.name}", found.missing())))
    return found


@pytest.fixture
def virtual() -> Kernel:
    return there("uml-virtual")


def said(report: dict[str, Any]) -> str:
    return " ".join(report["said"].split())


@pytest.mark.parametrize("name", ["uml-virtual", "host"])
def test_a_buffer_in_packets_holds_less_than_half_for_a_few_percent(name: str) -> None:
    report = run(Case("pfifo limit 30", duration_s=240 if name == "uml-virtual" else 100), there(name))
    found = outcome(report)
    assert report["code"] == 0
    assert report["session"]["ttl"] == 2
    # Half a sawtooth below a full buffer of 30 packets.
    assert 0.25 < found.delay_before_s < 0.45
    assert found.delay_after_s < found.delay_before_s / 2
    assert found.goodput_before_bps == pytest.approx(GOODPUT_BPS, rel=0.03)
    # 129 packets/s of 29 B, a tenth of the uplink as Ethernet counts, are 3.7 %.
    assert 0.92 < found.goodput_after_bps / found.goodput_before_bps < 0.985


def test_fq_codel_is_left_alone(virtual: Kernel) -> None:
    report = run(Case("fq_codel", duration_s=120), virtual)
    found = outcome(report)
    assert found.padding_packets == 0
    assert found.goodput_after_bps == pytest.approx(found.goodput_before_bps, rel=0.01)


def test_a_buffer_in_bytes_is_given_up(virtual: Kernel) -> None:
    report = run(Case("bfifo limit 45000", duration_s=110), virtual)
    assert report["session"]["rests"] == 1
    assert "padding does not help here" in said(report)
    # Nothing more until the rest of a minute is over.
    assert report["session"]["rates"][-1][1] == 0


def test_a_time_to_live_that_ends_at_the_modem_is_told(virtual: Kernel) -> None:
    report = run(Case("pfifo limit 30", duration_s=80, arguments=("--ttl", "1")), virtual)
    assert report["code"] == 1
    assert "a time to live of 1 never reaches the bottleneck: hop 1 answers within" in said(report)


def test_a_killed_tool_sends_nothing_more(virtual: Kernel) -> None:
    report = run(Case("pfifo limit 30", duration_s=100, kill_after_s=70.0), virtual)
    before, after = report["datagrams"]
    assert before > 1000
    assert after == 0
    assert report["code"] == -9
