"""The fluid world beside an integration of the paper's equations by scipy's solver."""

import bisect
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import sojourn
from benchmarks.answers.case import Case, Topic

_PACKET_BITS = 12_000
_BIN_S = 0.1
_SECONDS = 30.0
_MIN, _MAX, _MAX_P, _WEIGHT = 10.0, 100.0, 0.1, 0.002
_TARGET_S, _LIMIT = 0.1, 300.0


class _Setting:
    """A link of so many Mbit/s under RED, and flows of NewReno and LEDBAT with one base round-trip time."""

    def __init__(self, mbps: float, tcp: int, ledbat: int, rtt_s: float) -> None:
        self.capacity = mbps * 1e6 / _PACKET_BITS
        self.mbps, self.flows, self.base_s = mbps, (tcp, ledbat), rtt_s

    def solve(self) -> "tuple[Sequence[float], Sequence[Any]]":
        """Integrate from an empty queue. Within one base round-trip time all that is looked back at is known."""
        starts: list[float] = []
        pieces: list[Any] = []
        state = np.array([1.0, 1.0, 0.0, 0.0])
        first = state

        def past(time: float) -> Any:
            return first if time <= 0 else pieces[bisect.bisect_right(starts, time) - 1](time)

        def slope(time: float, now: Any) -> list[float]:
            tcp, ledbat, queue, average = now
            delay = queue / self.capacity
            rtt = self.base_s + delay
            then = past(time - rtt)
            then_rtt = self.base_s + then[2] / self.capacity
            lost = _red(then[3]) / then_rtt / 2
            arriving = (self.flows[0] * tcp + self.flows[1] * ledbat) / rtt
            growth = arriving * (1 - _red(average)) - self.capacity
            if (queue <= 0 and growth < 0) or (queue >= _LIMIT and growth > 0):
                growth = 0.0
            gained = (_TARGET_S - delay) / _TARGET_S
            follow = -math.log(1 - _WEIGHT) * self.capacity
            return [
                1 / rtt - tcp * then[0] * lost,
                gained / rtt - ledbat * then[1] * lost,
                growth,
                follow * (queue - average),
            ]

        for step in range(math.ceil(_SECONDS / self.base_s)):
            begin, end = step * self.base_s, (step + 1) * self.base_s
            found = solve_ivp(
                slope, (begin, end), state, rtol=1e-7, atol=1e-7, dense_output=True, max_step=self.base_s / 4
            )
            starts.append(begin)
            pieces.append(found.sol)
            state = np.maximum(found.y[:, -1], 0.0)
        return starts, pieces


def _red(average: float) -> float:
    if average < _MIN:
        return 0.0
    return _MAX_P * (average - _MIN) / (_MAX - _MIN) if average < _MAX else 1.0


_SETTINGS = {"4 Mbit/s, 5 + 5 flows, 50 ms": (4.0, 5, 5, 0.05), "10 Mbit/s, 2 + 6 flows, 100 ms": (10.0, 2, 6, 0.1)}


@functools.cache
def _apart(name: str) -> tuple[Sequence[float], Sequence[Any]]:
    return _Setting(*_SETTINGS[name]).solve()


@functools.cache
def _engine(name: str) -> sojourn.Result:
    mbps, tcp, ledbat, rtt_s = _SETTINGS[name]
    red = {"min": f"{_MIN} packets", "max": f"{_MAX} packets", "max_p": _MAX_P, "weight": _WEIGHT, "gentle": False}
    link = {"rate": f"{mbps} Mbit/s", "queue": {"kind": "red", "limit": f"{_LIMIT} packets", **red}}
    control = {"kind": "ledbat", "target": f"{_TARGET_S} s", "gain": 1.0}
    groups = [
        {"name": "tcp", "control": "newreno", "flows": tcp, "rtt": f"{rtt_s} s"},
        {"name": "ledbat", "control": control, "flows": ledbat, "rtt": f"{rtt_s} s"},
    ]
    tables = {"duration": f"{_SECONDS} s", "bottleneck": link, "group": groups}
    return sojourn.scenario(tables).run(world="fluid", bin_s=_BIN_S)


def _right(name: str, what: int, time_s: float) -> float:
    starts, pieces = _apart(name)
    return float(pieces[bisect.bisect_right(starts, time_s) - 1](time_s)[what])


def _found(name: str, what: int, time_s: float) -> float:
    """Return a state in the middle of the bin that this time is the middle of."""
    result = _engine(name)
    place = round((time_s - _BIN_S / 2) / _BIN_S)
    if what == 2:  # noqa: PLR2004
        return float(result.queue["queue_packets"].to_pylist()[place])
    flows = result.flows.to_pydict()
    group = ("tcp", "ledbat")[what]
    rows = zip(flows["group"], flows["index"], flows["cwnd_packets"], strict=True)
    return float([value for name, index, value in rows if (name, index) == (group, 0)][place])


_STATES = ("window of NewReno", "window of LEDBAT", "queue")
_TIMES_S = (2.05, 10.05, 29.95)

FLUID = Topic(
    "The fluid world's trajectory",
    "The equations of Gong, Rossi and Leonardi (ITC 2013), integrated by scipy's solve_ivp (Runge-Kutta 5(4) with an "
    "error below 1e-7 in each step), one base round-trip time after the other, with its dense output as the past. "
    "The world's own integrator has a fixed step of a tenth of that time.",
    tuple(
        Case(
            f"{name}: {state} at {time:g} s",
            functools.partial(_right, name, what, time),
            functools.partial(_found, name, what, time),
            0.005,
            "packets",
        )
        for name in _SETTINGS
        for what, state in enumerate(_STATES)
        for time in _TIMES_S
    ),
)

TOPICS = (FLUID,)
