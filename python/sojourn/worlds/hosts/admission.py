"""What an agent lets a peer ask of it: from a request to a plan for the agent's endpoints, or a refusal.

Of a request only what is named here reaches the plan. Addresses and ports are not among it: flows run between the two
addresses of the control connection, and flow number i is received at the port `first_port` + i.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sojourn import _native
from sojourn.worlds.hosts import protocol
from sojourn.worlds.hosts.protocol import Message, ProtocolError

KINDS = ("tcp", "udp", "cbr", "utp")
MAX_START_S = 60.0
"""How far ahead a run may be asked for."""
# A report has up to three values for each flow and bin, of twenty letters or so: far below REPORT_BYTES.
_MAX_VALUES = 200_000
_MIN_DATAGRAM_BYTES = 64
MAX_LOGGED = 500_000
"""Packets that the flows of a run log together: their report stays below REPORT_BYTES."""
_MAX_DSCP = 63
_SEED_BITS = 63


@dataclass(frozen=True)
class Limits:
    """What an agent allows."""

    rate_bps: int = 100_000_000
    """Most that the agent sends in all, as IP packets (see `budget`)."""
    duration_s: float = 300.0
    flows: int = 16

    def document(self) -> Message:
        """Return them as a message has them."""
        return asdict(self)


class RefusedError(Exception):
    """A request goes beyond the limits; the text says which, what is allowed, and the option that says so."""


@dataclass(frozen=True)
class Ends:
    """The two addresses of the control connection, and where flows are received."""

    local: str
    peer: str
    first_port: int


def plan(request: Message, limits: Limits, ends: Ends, now_s: float) -> dict[str, Any]:
    """Return the agent's part of a run; raises ProtocolError or RefusedError."""
    start_at_s, duration_s, bin_s = (protocol.number(request, key) for key in ("start_at_s", "duration_s", "bin_s"))
    if not now_s <= start_at_s <= now_s + MAX_START_S:
        raise RefusedError(f"the run starts in {start_at_s - now_s:.1f} s; allowed is 0 to {MAX_START_S:g} s")
    if not 0 < duration_s <= limits.duration_s:
        raise RefusedError(
            f"duration is {duration_s:g} s; the agent allows {limits.duration_s:g} s (its option --max-duration)"
        )
    asked = protocol.entries(request, "flows")
    if not 1 <= len(asked) <= limits.flows:
        raise RefusedError(f"the run has {len(asked)} flows; the agent allows {limits.flows} (its option --max-flows)")
    if not 0 < bin_s <= duration_s or duration_s / bin_s * len(asked) > _MAX_VALUES:
        raise RefusedError(
            f"bins of {bin_s:g} s for {len(asked)} flows make too long a report; take wider bins (--bin)"
        )
    flows = [_flow(entry, place, duration_s, ends) for place, entry in enumerate(asked)]
    logged = sum(flow["logged_packets"] for flow in flows)
    if logged > MAX_LOGGED:
        raise RefusedError(f"the run logs {logged} packets; the agent allows {MAX_LOGGED}")
    bound(flows, limits)
    return {"start_at_s": start_at_s, "duration_s": duration_s, "bin_s": bin_s, "common_clock": False, "flows": flows}


def bound(flows: Sequence[dict[str, Any]], limits: Limits) -> None:
    """Give each sender its part of the rate, so that none starves; raises RefusedError where that is not enough.

    That no more is sent in all is the budget's to see to.
    """
    sending = [flow for flow in flows if flow["role"] == "send"]
    fixed_bps = sum(_fixed_bps(flow) for flow in sending if flow["kind"] == "cbr")
    paced = [flow for flow in sending if flow["kind"] != "cbr"]
    left_bps = int((limits.rate_bps - fixed_bps) // max(1, len(paced)))
    if left_bps < 0 or (paced and left_bps < 1):
        raise RefusedError(
            f"datagrams at a rate make {fixed_bps / 1e6:g} Mbit/s; "
            f"the agent sends {limits.rate_bps / 1e6:g} Mbit/s in all (its option --max-rate)"
        )
    for flow in paced:
        flow["max_rate_bps"] = left_bps


def _fixed_bps(flow: dict[str, Any]) -> float:
    """Return the rate that datagrams have whatever happens; of calls and padding only the budget knows."""
    traffic = flow["traffic"]
    if traffic.get("kind") != "cbr":
        return 0.0
    rate = _native.quantity(str(traffic.get("rate")))
    size = _native.quantity(str(traffic.get("packet", "1500 B")))
    if rate is None or rate[1] != "bit/s" or size is None or size[1] != "B" or not 0 < rate[0] < math.inf:
        raise ProtocolError(f"run: flow {flow['id']}: traffic has no rate")
    # A datagram carries its number and time, whatever its size is said to be.
    if size[0] < _MIN_DATAGRAM_BYTES:
        raise RefusedError(
            f"flow {flow['id']}: datagrams of {size[0]:g} B; the agent sends {_MIN_DATAGRAM_BYTES} B or more"
        )
    return rate[0]


def _flow(entry: Message, place: int, duration_s: float, ends: Ends) -> dict[str, Any]:
    """Return the agent's end of one flow."""
    what = entry["type"]
    kind, direction = protocol.text(entry, "kind"), protocol.text(entry, "direction")
    if kind not in KINDS or direction not in ("forward", "reverse"):
        raise ProtocolError(f"{what}: kind or direction is unknown")
    start_s = protocol.number(entry, "start_s")
    stop_s = None if entry.get("stop_s") is None else protocol.number(entry, "stop_s")
    if not 0 <= start_s <= duration_s or (stop_s is not None and stop_s < start_s):
        raise ProtocolError(f"{what}: it starts or stops at no time of the run")
    if not isinstance(entry.get("ecn"), bool):
        raise ProtocolError(f"{what}: ecn is neither true nor false")
    return {
        "id": place,
        "role": "receive" if direction == "forward" else "send",
        "kind": kind,
        "local": ends.local,
        "peer": ends.peer,
        "port": ends.first_port + place,
        "control": _control(entry, kind),
        "transport": protocol.table(entry, "transport") if kind == "udp" else None,
        "traffic": protocol.table(entry, "traffic"),
        "start_s": start_s,
        "stop_s": stop_s,
        "dscp": protocol.whole(entry, "dscp", _MAX_DSCP),
        "ecn": entry["ecn"],
        "seed": protocol.whole(entry, "seed", (1 << _SEED_BITS) - 1),
        "token": protocol.whole(entry, "token", (1 << _SEED_BITS) - 1),
        "logged_packets": protocol.whole(entry, "logged_packets", MAX_LOGGED),
    }


def _control(entry: Message, kind: str) -> Any:
    if entry.get("control") is None:
        return None
    return protocol.text(entry, "control") if kind == "tcp" else protocol.table(entry, "control")
