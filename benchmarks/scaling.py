"""How the cost of a packet grows with the number of flows, and what a flow that does nothing costs."""

import json
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks import child
from benchmarks.common import say
from benchmarks.peers.points import Point
from benchmarks.peers.runs import htsim_command

FLOWS = (10, 100, 1_000, 10_000)
# So many, each with its own RTT, for a short time and once: simulated seconds, and those in which they start.
MAX_FLOWS, MAX_S, MAX_START_S = 100_000, 12.0, 2.0
# A group has at most 60,000 flows.
PER_GROUP = 50_000
RATE_PER_FLOW_BPS = 400_000
BUFFER_PER_FLOW = 40
PACKET_BITS = 1500 * 8
MIN_PACKETS = 2_000_000
SHORTEST_S = 60.0
START_WITHIN_S = 10.0
IDLE_FLOWS = 60_000
RTT_MS = 50.0
# Scatters the RTTs over the flows.
PRIME = 7919
LARGE = (
    {"flows": 1_000, "rate_bps": 100_000_000_000, "duration_s": 1.0, "start_s": 0.1},
    {"flows": 100_000, "rate_bps": 10_000_000_000, "duration_s": 10.0, "start_s": 5.0},
)


def scenario(
    flows: int, *, own_rtt: bool, duration_s: float, start_s: float = START_WITHIN_S, transport: str = "ns2"
) -> dict[str, Any]:
    """Return a bottleneck that gives each NewReno flow the same rate and the same share of the buffer.

    With `own_rtt` each flow has an RTT of its own, evenly spread around the common one.
    """
    places = (index * PRIME % flows for index in range(flows))
    rtts = [f"{RTT_MS * (0.5 + (place + 0.5) / flows):.6f} ms" for place in places]
    return {
        "name": f"{flows}-flows",
        "duration": f"{duration_s:g} s",
        "bottleneck": {
            "rate": f"{flows * RATE_PER_FLOW_BPS} bit/s",
            "queue": {"kind": "droptail", "preset": "ns2", "limit": f"{flows * BUFFER_PER_FLOW} packets"},
        },
        "group": [
            {
                "name": f"tcp-{first}",
                "control": "newreno",
                "transport": transport,
                "flows": min(flows - first, PER_GROUP),
                "rtt": rtts[first : first + PER_GROUP] if own_rtt else f"{RTT_MS:g} ms",
                "start": {"uniform": ["0 s", f"{start_s:g} s"]},
            }
            for first in range(0, flows, PER_GROUP)
        ],
    }


def cost_per_packet(repeats: int, have: set[str]) -> list[dict[str, Any]]:
    """Return one row for each simulator and number of flows, with equal RTTs and with one for each flow.

    The largest number runs once, each flow with its own RTT.
    """
    who = {name: run for name, run in SIMULATORS.items() if name != "htsim" or name in have}
    cases = [(name, flows, own_rtt) for name in who for own_rtt in (False, True) for flows in FLOWS]
    taken: dict[tuple[str, int, bool], list[dict[str, Any]]] = {case: [] for case in cases}
    for turn in range(repeats):
        # Simulators alternate, so that a disturbance hits all alike.
        for name, flows, own_rtt in sorted(cases, key=lambda case: case[1:]):
            say(f"{flows} flows{', each with its own RTT' if own_rtt else ''} in {name} ({turn + 1} of {repeats})")
            duration_s = max(SHORTEST_S, MIN_PACKETS / (flows * RATE_PER_FLOW_BPS / PACKET_BITS))
            taken[name, flows, own_rtt].append(who[name](flows, own_rtt, duration_s, START_WITHIN_S))
    for name, run in who.items():
        say(f"{MAX_FLOWS:,} flows, each with its own RTT, for {MAX_S:g} s in {name}")
        taken[name, MAX_FLOWS, True] = [run(MAX_FLOWS, True, MAX_S, MAX_START_S)]
    return [_row(*case, costs) for case, costs in sorted(taken.items(), key=lambda item: list(who).index(item[0][0]))]


def _sojourn(transport: str) -> Callable[[int, bool, float, float], dict[str, Any]]:
    def run(flows: int, own_rtt: bool, duration_s: float, start_s: float) -> dict[str, Any]:
        order = scenario(flows, own_rtt=own_rtt, duration_s=duration_s, start_s=start_s, transport=transport)
        return child.engine(order)

    return run


def _htsim(flows: int, own_rtt: bool, duration_s: float, start_s: float) -> dict[str, Any]:
    """Return what a run costs in htsim, the building of its flows included."""
    shape = (flows * RATE_PER_FLOW_BPS, flows * BUFFER_PER_FLOW, RTT_MS / 1e3, flows, 0)
    point = Point(*shape, duration_s=duration_s, warmup_s=0.0)
    rtts = flows if own_rtt else 1
    done = child.run(htsim_command(point, 1, rtts=rtts, start_within_s=start_s, monitor=False))
    found = json.loads(done.text)
    drop_rate = found["drops"] / (found["packets"] + found["drops"])
    return {**found, "cpu_s": done.cpu_s, "drop_rate": drop_rate}


DEFAULT, AS_NS2 = "Sojourn, `rfc`", "Sojourn, `ns2`"
SIMULATORS = {DEFAULT: _sojourn("rfc"), AS_NS2: _sojourn("ns2"), "htsim": _htsim}
"""All as functions of the number of flows, whether each has its own RTT, the duration and the starts in seconds."""


def large() -> list[dict[str, Any]]:
    """Return what one run of each of the largest scenarios costs; their buffers hold one bandwidth-delay product."""
    rows = []
    for case in LARGE:
        say(f"{case['flows']:,.0f} flows on {case['rate_bps'] / 1e9:g} Gbit/s")
        order = scenario(int(case["flows"]), own_rtt=False, duration_s=case["duration_s"], start_s=case["start_s"])
        buffer = round(case["rate_bps"] * RTT_MS / 1000 / PACKET_BITS)
        order["bottleneck"]["rate"] = f"{case['rate_bps']:.0f} bit/s"
        order["bottleneck"]["queue"]["limit"] = f"{buffer} packets"
        rows.append({**case, **child.engine(order)})
    return rows


def _row(simulator: str, flows: int, own_rtt: bool, costs: list[dict[str, Any]]) -> dict[str, Any]:
    each = [1e9 * cost["cpu_s"] / cost["packets"] for cost in costs]
    return {
        "simulator": simulator,
        "flows": flows,
        "own_rtt": own_rtt,
        "packets": costs[0]["packets"],
        "packet_ns": median(each),
        "packet_ns_least": min(each),
        "packet_ns_most": max(each),
        "drop_rate": costs[0]["drop_rate"],
        "peak_bytes": costs[0]["peak_bytes"],
    }


def memory_of_an_idle_flow() -> dict[str, Any]:
    """Compare the memory of a run with 10 flows that never start with that of many."""
    say(f"memory of {IDLE_FLOWS} flows that do nothing")
    peaks = []
    for flows in (10, IDLE_FLOWS):
        idle = scenario(flows, own_rtt=False, duration_s=1.0)
        # They start in the last microsecond, before a buffer in which their first packets find no room.
        for group in idle["group"]:
            group["start"] = "0.999999 s"
        idle["bottleneck"]["queue"]["limit"] = "2 packets"
        peaks.append(child.engine(idle)["peak_bytes"])
    few, many = peaks
    each = None if few is None or many is None else (many - few) / (IDLE_FLOWS - 10)
    return {"flows": IDLE_FLOWS, "bytes_each": each}
