"""A scenario's path for other emulators: nested shells of Mahimahi, or netem on a host's device.

Mahimahi (Netravali et al., USENIX ATC 2015) has a delay, a loss, a recorded link each way, and few queues. netem has
delay, jitter and loss, and no queue of interest: the queue is set up where `sojourn export --as tc` says.
"""

import math
import shlex
from collections.abc import Mapping
from typing import Any

from sojourn import networks
from sojourn.api import Scenario
from sojourn.faults import input_error
from sojourn.worlds.linux.plan import express, shaping
from sojourn.worlds.linux.plan.flows import seconds

_FULL_BITS = 12_000
_PERIOD_MS = 1000
_UNLIMITED = "infinite"
_WIDE_MBPS = 1000.0
_REFUSED = ("hop", "change", "station")
_QUEUES = {
    "droptail": {"limit": "packets"},
    "codel": {"limit": "packets", "target": "target", "interval": "interval"},
}
"""Queues of mm-link, and how it calls their parameters; times are whole ms."""


def mahimahi(scenario: Scenario) -> list[str]:
    """Return the lines of a shell script that opens Mahimahi's shells; raises InputError for what they cannot have.

    The bottleneck is the way up, out of the innermost shell. A rate becomes a recorded link of a second.
    """
    tables = scenario.to_dict()
    _check(tables, "Mahimahi")
    up, down = tables["bottleneck"], tables.get("reverse", {"rate": f"{_WIDE_MBPS:g} Mbit/s", "queue": None})
    lines = ["#!/bin/sh", f"# The path of {scenario.name} for Mahimahi. The innermost shell is where senders are."]
    # Its delays are whole ms.
    words = ["mm-delay", str(round(_one_way_s(tables) * 1e3))]
    for name, link in (("uplink", up), ("downlink", down)):
        if link.get("loss"):
            words += ["mm-loss", name, f"{link['loss']:g}"]
    traces, queues = [], []
    for name, link in (("uplink", up), ("downlink", down)):
        path = f"{name}.trace"
        traces.append(path)
        lines.append(_trace(link, path))
        queues += _queue(link["queue"], name, "bottleneck" if name == "uplink" else "reverse")
    return [*lines, shlex.join([*words, "mm-link", *traces, *queues])]


def netem(scenario: Scenario, device: str) -> list[str]:
    """Return commands that give both hosts of a path their part of a scenario's delay, jitter and loss.

    Half of the base RTT is on each, with what the link of its direction adds; neither has a rate or a queue.
    """
    tables = scenario.to_dict()
    _check(tables, "netem", links=False)
    sending, other = (_netem(tables, link, device) for link in ("bottleneck", "reverse"))
    return [f"# The path of {scenario.name}: on the host that sends", sending, "# and on the other host", f"# {other}"]


def _netem(tables: Mapping[str, Any], name: str, device: str) -> str:
    link = {"jitter": None, "loss": 0.0, **tables.get(name, {}), "delay": f"{_one_way_s(tables) * 1e9:.0f} ns"}
    (said,) = shaping.delays(device, link, [], None, far=True)
    return f"tc {said.replace('qdisc add', 'qdisc replace')}"


def _check(tables: Mapping[str, Any], who: str, *, links: bool = True) -> None:
    networks.check_chain(tables, who)
    for key in _REFUSED:
        if tables.get(key):
            raise input_error(f"{key}: {who} cannot have it; allowed: one link each way that does not change", key=key)
    rtts = sorted({str(one["rtt"]) for one in tables["group"]})
    if len(rtts) > 1:
        message = f"group.rtt: found {', '.join(rtts)}; {who} has one path: allowed: the same for all groups"
        raise input_error(message, key="group.rtt", found=", ".join(rtts))
    for link in ("bottleneck", "reverse") if links else ():
        for key in ("jitter", "medium", "noise", "policer", "shaper", "framing"):
            if tables.get(link, {}).get(key):
                raise input_error(f"{link}.{key}: {who} cannot have it; allowed: a link without", key=f"{link}.{key}")


def _one_way_s(tables: Mapping[str, Any]) -> float:
    """Return half of the base RTT, that of the groups and what both links add."""
    links = [tables.get(link, {}).get("delay", "0 s") for link in ("bottleneck", "reverse")]
    return sum(map(seconds, [tables["group"][0]["rtt"], *links])) / 2


def _trace(link: Mapping[str, Any], path: str) -> str:
    """Return the line that writes a recorded link."""
    if "trace" in link:
        return f"cp {shlex.quote(str(link['trace']))} {path}"
    count = max(1, round(express.rate_bps(link["rate"]) * _PERIOD_MS / 1e3 / _FULL_BITS))
    each = f"for (i = 1; i <= {count}; i++) print int((i * {_PERIOD_MS} + {count} - 1) / {count})"
    return f"awk 'BEGIN {{ {each} }}' > {path}"


def _queue(table: Mapping[str, Any] | None, name: str, link: str) -> list[str]:
    if table is None:
        return [f"--{name}-queue={_UNLIMITED}"]
    known = _QUEUES.get(table["kind"])
    if known is None:
        allowed = ", ".join(_QUEUES)
        message = f"{link}.queue.kind: Mahimahi cannot have {table['kind']}; allowed: {allowed}"
        raise input_error(message, key=f"{link}.queue.kind", found=table["kind"], allowed=allowed)
    said = [f"{word}={_amount(table[key], f'{link}.queue.{key}')}" for key, word in known.items()]
    return [f"--{name}-queue={table['kind']}", f"--{name}-queue-args={','.join(said)}"]


def _amount(value: str, key: str) -> str:
    number, unit = value.split()
    if unit in ("packets", "packet"):
        return str(math.floor(float(number)))
    try:
        return str(max(1, round(seconds(value) * 1e3)))
    except (TypeError, ValueError):
        allowed = "packets, or a time"
        raise input_error(f"{key}: found {value}; allowed: {allowed}", key=key, found=value, allowed=allowed) from None
