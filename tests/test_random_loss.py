"""NewReno under heavy random loss, beside the formula of Padhye, Firoiu, Towsley and Kurose (PFTK)."""

import math
from typing import Any

import numpy as np
import pytest

import sojourn

LOSS, RTT_S = 0.1, 0.1


def formula_mbps(timeout_s: float) -> float:
    """Return goodput by equation 30 of PFTK (SIGCOMM 1998), one segment acknowledged for each step of the window."""
    halving_s = RTT_S * math.sqrt(2 * LOSS / 3)
    waiting_s = timeout_s * min(1.0, 3 * math.sqrt(3 * LOSS / 8)) * LOSS * (1 + 32 * LOSS**2)
    return 1448 * 8 / 1e6 / (halving_s + waiting_s)


def measured(preset: str, **transport: Any) -> tuple[float, float]:
    """Return goodput in Mbit/s and timeouts, each the mean of five runs."""
    group = {
        "name": "tcp",
        "control": {"kind": "newreno", "preset": preset},
        "transport": {"preset": preset, **transport},
        "rtt": "100 ms",
    }
    link = {"rate": "100 Mbit/s", "loss": LOSS, "queue": {"kind": "droptail", "limit": "1000 packets"}}
    given = sojourn.scenario({"name": "loss", "duration": "300 s", "bottleneck": link, "group": [group]})
    runs = given.run(runs=5, series=False).runs
    return (
        float(np.mean([run.groups.tcp.goodput_mbps for run in runs])),
        float(np.mean([run.groups.tcp.timeouts for run in runs])),
    )


def test_the_sender_of_the_formula_has_the_goodput_of_the_formula() -> None:
    goodput_mbps, _ = measured("rfc", sack=False, disorder="none")
    assert goodput_mbps == pytest.approx(formula_mbps(1.0), rel=0.15)


def test_detection_by_time_avoids_the_timeouts_of_the_formula() -> None:
    without = {"loss_detection": "count", "undo": "timestamps"}
    (with_rack, few), (by_count, many) = measured("linux"), measured("linux", **without)
    expected = formula_mbps(0.3)
    assert 1.35 < with_rack / expected < 1.6
    assert 1.1 < by_count / expected < 1.3
    assert many > 4 * few
