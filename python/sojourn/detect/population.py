"""Paths of the lines that people have (`sojourn list lines`), and which of them the detector may learn from.

Half of the lines, by a hash of the name, take part in training. What is said of the others tells how well it works on
lines that it never learnt from.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any

from sojourn import _native, api
from sojourn.detect.plan import FULL_BYTES, Path
from sojourn.registry import catalogue

SIDES = ("up", "down")
# Rates that differ by less are one rate: a queue of the second link fills by framing and jitter alone.
_ALIKE = 1.005
_OWN = {"name": "own", "traffic": {"kind": "cbr", "rate": "8 kbit/s", "packet": "100 B"}, "rtt": "20 ms"}


@dataclass(frozen=True)
class Crossed:
    """A line in one direction, with what its home does."""

    line: str
    side: str
    path: Path
    rate_mbps: float
    """What the slowest link lets pass of full packets, as IP packets, in the long run."""
    name: str
    """What holds the packets, in the detector's names: of links with the least rate the first one's queue, or policer.

    So it is the modem's FIFO where CAKE behind it has a rate that is no smaller."""

    @property
    def queue(self) -> dict[str, Any]:
        """The table of the queue at the bottleneck."""
        table: dict[str, Any] = self.path.links["bottleneck"]["queue"]
        return table


def is_held_out(line: str) -> bool:
    """Tell whether a line takes no part in training.

    >>> [is_held_out(name) for name in ("cable-100-10-film", "geo-25-3-wifi")]
    [False, True]
    """
    return hashlib.sha256(line.encode()).digest()[0] % 2 == 1


@cache
def crossed(line: str, side: str) -> Crossed:
    """Return a line's path in a direction; what varies with time on it stays as it is at first."""
    tables = {"duration": "20 s", "access": {"line": line, "bottleneck": side}, "group": [_OWN]}
    resolved = api.scenario(tables).to_dict()
    whole = Path.of(resolved)
    others = [one for one in resolved["group"] if one["name"] != _OWN["name"]]
    hops = [hop for hop in resolved.get("hop", []) if hop.get("direction", "forward") == "forward"]
    before, after = ([hop for hop in hops if (hop["at"] == "before") == first] for first in (True, False))
    links = [*before, resolved["bottleneck"], *after]
    rate = min(map(_passes_mbps, links))
    holds = next(link for link in links if _passes_mbps(link) <= _ALIKE * rate)
    name = "policer" if holds.get("policer") else str(holds["queue"]["kind"])
    return Crossed(line, side, Path(whole.links, whole.rtt, others), rate, name)


@cache
def learnt_from(fastest_mbps: float) -> tuple[Crossed, ...]:
    """Return the lines and directions that training draws from."""
    names = [str(line["name"]) for line in catalogue()["lines"]]
    found = [crossed(name, side) for name in names if not is_held_out(name) for side in SIDES]
    own = [one for one in found if one.name == str(one.queue["kind"])]
    return tuple(one for one in own if one.rate_mbps <= fastest_mbps)


def _passes_mbps(link: dict[str, Any]) -> float:
    rates = [link["rate"], *([link["policer"]["rate"]] if link.get("policer") else [])]
    # RED's bandwidth only ages its average.
    shaper = link["queue"].get("bandwidth", "auto") if link["queue"]["kind"] == "cake" else "auto"
    rates += [shaper] if shaper != "auto" else []
    passes = min((_native.quantity(rate) or (0.0, ""))[0] for rate in rates)
    framing = link.get("framing") or {"overhead": 0, "cells": "none"}
    wire: float = FULL_BYTES + framing["overhead"]
    wire = {"atm": -(-wire // 48) * 53, "ptm": wire + -(-wire // 64), "none": wire}[framing["cells"]]
    return passes * FULL_BYTES / wire / 1e6
