"""Plug-ins that repeat a built-in algorithm of each kind: they must send the same packets."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sojourn
from benchmarks.answers.case import Case, Topic
from benchmarks.common import ROOT
from sojourn import plugins

_FOLDER = ROOT / "tests" / "plugins"


@dataclass(frozen=True)
class Twin:
    """A plug-in and what it repeats."""

    file: Path
    kind: str
    key: str
    mine: Mapping[str, Any]
    built_in: Mapping[str, Any]


TWINS = (
    Twin(
        _FOLDER / "newreno.py",
        "control",
        "group.tcp.control",
        {"kind": "py-newreno"},
        {"kind": "newreno", "preset": "rfc"},
    ),
    Twin(
        _FOLDER / "ledbat.py",
        "control",
        "group.ledbat.control",
        {"kind": "py-ledbat", "target": "25 ms"},
        {"kind": "ledbat", "preset": "rfc", "target": "25 ms"},
    ),
    Twin(
        _FOLDER / "codel.py",
        "discipline",
        "bottleneck.queue",
        {"kind": "py-codel", "limit": 300},
        {"kind": "codel", "preset": "rfc", "limit": "300 packets"},
    ),
    Twin(
        _FOLDER / "on_off.py",
        "traffic",
        "group.tcp.traffic",
        {"kind": "py-on-off", "on": "700 ms", "off": "300 ms"},
        {"kind": "on-off", "on": "700 ms", "off": "300 ms"},
    ),
    Twin(
        _FOLDER / "transfers.py",
        "traffic",
        "group.tcp.traffic",
        {"kind": "py-transfers", "interval": "200 ms", "size_bytes": 50_000, "connections": 3},
        {"kind": "transfers", "interval": "200 ms", "size": "50 kB", "connections": 3},
    ),
)

_MIXED: Mapping[str, Any] = {
    "duration": "20 s",
    "bottleneck": {"rate": "10 Mbit/s", "queue": {"kind": "droptail", "limit": "100 packets"}},
    "group": [
        {"name": "tcp", "control": "newreno", "flows": 2, "rtt": "40 ms", "start": ["3 ms", "51.234567 ms"]},
        {"name": "ledbat", "control": "ledbat", "flows": 2, "rtt": "40 ms", "start": "3 s"},
    ],
}


def rows(key: str, value: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Return one row for each event of a packet and for each transfer that ended."""
    run = sojourn.scenario(_MIXED).with_({key: dict(value)}).run(packets=True, transfers=True, series=False)
    return [
        tuple(row.values()) for table in (run.packets, run.transfers) for row in table.to_pylist(maps_as_pydicts=None)
    ]


def differing(twin: Twin) -> float:
    """Return how many rows one of the two has and the other has not at this place."""
    plugins.load(twin.file)
    try:
        mine, built_in = rows(twin.key, twin.mine), rows(twin.key, twin.built_in)
    finally:
        plugins.unload(str(twin.mine["kind"]))
    apart = sum(one != other for one, other in zip(mine, built_in, strict=False))
    return apart + abs(len(mine) - len(built_in))


SAME = Topic(
    "Plug-ins beside the built-in algorithms that they repeat",
    "The same rules once more in Python (`tests/plugins`). Every packet that is sent, arrives, leaves, is dropped or "
    "received, and every transfer that ends, must be the same to the nanosecond. The answer is the number of rows "
    "that differ.",
    tuple(
        Case(
            f"{twin.kind}: {twin.mine['kind']} beside {twin.built_in['kind']}",
            lambda: 0.0,
            lambda twin=twin: differing(twin),  # type: ignore[misc]
            0.0,
            "rows",
            absolute=True,
        )
        for twin in TWINS
    ),
)

TOPICS = (SAME,)
