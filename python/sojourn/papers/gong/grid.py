"""The grid of Table 1: over 3,000 runs, once for each reading of the default round-trip time.

Table 1 and section 4.3 say 6 ms, section 3.2 and the workshop version 50 ms.
"""

from collections.abc import Mapping
from typing import Any

from sojourn.papers.gong.world import AQMS, PACKETS, QUEUES, base, both, queue, rate
from sojourn.papers.measures import (
    BACKGROUND,
    QUEUE_MS,
    QUEUE_PACKETS,
    SEEDS,
    SHARE,
    UTILIZATION,
    Key,
    Number,
    Results,
    check,
    measure,
    shown,
    span,
)
from sojourn.study.lab import Lab
from sojourn.study.model import Findings, Item, Table

READINGS: dict[str, float] = {"6 ms": 6.0, "50 ms": 50.0}
RATES_MBPS = (0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
BUFFERS = (100, 200, 300, 400)
DUTY_PERCENT = tuple(range(10, 101, 10))
# Of the default: 2, 4, 6, 8, 10 ms of 6 ms.
RTTS = (1 / 3, 2 / 3, 1.0, 4 / 3, 5 / 3)
FLOWS = (1, 2, 3, 4, 5)
# Exceptions to a claim that its check names.
SHOWN = 6
# The paper prints the part of the time that a flow is on, but not how long an on and an off time take together.
CYCLE_S = 10.0
SHORT_CYCLES_S = (2.0, 1.0, 0.5)
# Why DropTail keeps no priority at one place of the grid.
FULL_BUT_SHORT = (
    "100 packets at 10 Mbit/s are 120 ms: a full DropTail buffer hardly exceeds LEDBAT's target of 100 ms, and LEDBAT "
    "yields to TCP no more than under an AQM. It is the paper's remark on short buffers, inside its own grid."
)
CAPACITY, DUTY, RTT, MIXED, FLOW = "capacity", "duty", "rtt", "mixed", "flows"
SETTING = (
    f"5 NewReno and 5 LEDBAT flows, 4 Mbit/s, {PACKETS} packets, 60 s, {SEEDS} runs where nothing else is said; both "
    "readings of the default round-trip time; presets ns2"
)


def grid(lab: Lab, reading: str) -> Results:
    """Return the runs of a reading."""
    return measure(lab, f"grid-{reading.replace(' ', '-')}", base(), cases(READINGS[reading]))


def cases(rtt_ms: float) -> dict[Key, Mapping[str, Any]]:
    """Return all cases of a reading: what varies, the discipline, and the values."""
    default = both("rtt", _ms(rtt_ms))
    found: dict[Key, Mapping[str, Any]] = {}
    for name in QUEUES:
        usual = {"bottleneck.queue": queue(name), **default}
        for mbps in RATES_MBPS:
            for packets in BUFFERS:
                changes = {"bottleneck.rate": rate(mbps), "bottleneck.queue": queue(name, packets, mbps)}
                found[CAPACITY, name, mbps, packets] = default | changes
        for percent in DUTY_PERCENT:
            found[DUTY, name, percent] = usual | both("traffic", on_off(percent, CYCLE_S))
        for part in RTTS:
            found[RTT, name, round(part, 2)] = usual | both("rtt", _ms(part * rtt_ms))
        found[MIXED, name] = usual | both("rtt", [_ms(part * rtt_ms) for part in RTTS])
        for flows in FLOWS:
            found[FLOW, name, flows] = usual | both("flows", flows)
    return found


def on_off(percent: int, cycle_s: float) -> dict[str, Any]:
    """Return traffic that is on for a part of the time; always on is bulk."""
    if percent == DUTY_PERCENT[-1]:
        return {"kind": "bulk"}
    on_s = cycle_s * percent / 100
    return {"kind": "on-off", "on": f"{1000 * on_s:.0f} ms", "off": f"{1000 * (cycle_s - on_s):.0f} ms"}


def _ms(value: float) -> str:
    return f"{value:.3f} ms"


def table1(lab: Lab) -> Findings:
    """Return what is the same at every point of the grid."""
    found = Findings()
    runs = {}
    rows = []
    worst = {}
    for reading, rtt_ms in READINGS.items():
        results = grid(lab, reading)
        points = cases(rtt_ms)
        runs[reading] = len(results.column(SHARE)) // 2
        for key in points:
            numbers = [results.number(key, metric) for metric in (SHARE, QUEUE_PACKETS, QUEUE_MS, UTILIZATION)]
            low = results.number(key, SHARE, BACKGROUND)
            text = ", ".join(map(str, key[2:])) or "-"
            rows.append(
                (reading, key[0], key[1], text, *(part for one in numbers for part in (one.mean, one.sd)), low.mean)
            )
        found.checks += _everywhere(reading, results, points)
        shares = [results.number(key, SHARE).mean for key in points if key[0] == CAPACITY and key[1] in AQMS]
        worst[reading] = span(shares, 0, 100)
    found.checks.insert(
        0, shown("simulations", "over 3,000", ", ".join(f"{count} at {reading}" for reading, count in runs.items()))
    )
    columns = (
        *("reading", "varied", "discipline", "values", "tcp_share", "sd_share", "queue_packets", "sd_packets"),
        *("queue_ms", "sd_ms", "utilization", "sd_utilization", "background_share"),
    )
    found.tables.append(Table("grid", "All points of the grid", columns, tuple(rows)))
    found.verdict = (
        "TCP's share under AQMs, capacity by buffer: "
        + "; ".join(f"{text} % at {reading}" for reading, text in worst.items())
        + "."
    )
    return found


def _everywhere(reading: str, results: Results, points: Mapping[Key, Any]) -> list[Any]:
    below, above = 0, 0
    most: tuple[float, Key] = (0.0, ())
    exceptions: list[Key] = []
    for key in points:
        if key[0] == DUTY or key[1] not in AQMS:
            continue
        tail = results.number((key[0], "DropTail", *key[2:]), SHARE)
        share = results.number(key, SHARE)
        if tail.above(share):
            below += 1
        else:
            above += 1
            exceptions.append(key)
        most = max(most, (share.mean, key))
    few = exceptions[:SHOWN]
    return [
        check(
            f"{reading}: TCP has less under an AQM than under DropTail, at any capacity, buffer, RTT, number of flows",
            "everywhere",
            f"at {below} of {below + above} points; at most {100 * most[0]:.0f} % ({_place(most[1])})",
            agrees=above == 0,
            why=f"Not, beyond chance: {'; '.join(map(_place, few))}{' ...' if len(exceptions) > len(few) else ''}. "
            + _why(exceptions),
        ),
    ]


def _place(key: Key) -> str:
    """Return a point of the grid in words."""
    if key[0] == CAPACITY:
        return f"{key[1]}, {key[2]:g} Mbit/s, {key[3]} packets"
    return ", ".join(map(str, (key[1], key[0], *key[2:])))


def _why(exceptions: list[Key]) -> str:
    if all(key[0] == CAPACITY and key[2:] == (RATES_MBPS[-1], BUFFERS[0]) for key in exceptions):
        return FULL_BUT_SHORT
    return "Open."


def by(
    results: Results, varied: str, metric: str, group: str, values: tuple[float, ...]
) -> dict[str, dict[float, Number]]:
    """Return a metric for each discipline and value of what varies."""
    return {name: {value: results.number((varied, name, value), metric, group) for value in values} for name in QUEUES}


ITEMS = (Item("table1", "Table 1: the grid of the sensitivity analysis", SETTING, table1),)
