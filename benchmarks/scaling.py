"""How the cost of a packet grows with the number of flows, and what a flow that does nothing costs."""

from statistics import median
from typing import Any

from benchmarks import child
from benchmarks.common import say

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


def scenario(flows: int, *, own_rtt: bool, duration_s: float, start_s: float = START_WITHIN_S) -> dict[str, Any]:
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
                "transport": "ns2",
                "flows": min(flows - first, PER_GROUP),
                "rtt": rtts[first : first + PER_GROUP] if own_rtt else f"{RTT_MS:g} ms",
                "start": {"uniform": ["0 s", f"{start_s:g} s"]},
            }
            for first in range(0, flows, PER_GROUP)
        ],
    }


def cost_per_packet(repeats: int) -> list[dict[str, Any]]:
    """Return one row for each number of flows, with equal RTTs and with one for each flow."""
    cases = [(flows, own_rtt) for own_rtt in (False, True) for flows in FLOWS]
    taken: dict[tuple[int, bool], list[dict[str, Any]]] = {case: [] for case in cases}
    for turn in range(repeats):
        for flows, own_rtt in cases:
            say(f"{flows} flows{', each with its own RTT' if own_rtt else ''} ({turn + 1} of {repeats})")
            packets_per_s = flows * RATE_PER_FLOW_BPS / PACKET_BITS
            duration_s = max(SHORTEST_S, MIN_PACKETS / packets_per_s)
            taken[flows, own_rtt].append(child.engine(scenario(flows, own_rtt=own_rtt, duration_s=duration_s)))
    rows = [_row(flows, own_rtt, taken[flows, own_rtt]) for flows, own_rtt in cases]
    say(f"{MAX_FLOWS:,} flows, each with its own RTT, for {MAX_S:g} s")
    order = scenario(MAX_FLOWS, own_rtt=True, duration_s=MAX_S, start_s=MAX_START_S)
    return [*rows, _row(MAX_FLOWS, True, [child.engine(order)])]


def large() -> list[dict[str, Any]]:
    """Return what one run of each of the largest scenarios costs; their buffers hold one bandwidth-delay product."""
    rows = []
    for case in LARGE:
        say(f"{case['flows']:,.0f} flows on {case['rate_bps'] / 1e9:g} Gbit/s")
        times = {"duration_s": case["duration_s"], "start_s": case["start_s"]}
        order = scenario(int(case["flows"]), own_rtt=False, **times)
        buffer = round(case["rate_bps"] * RTT_MS / 1000 / PACKET_BITS)
        order["bottleneck"]["rate"] = f"{case['rate_bps']:.0f} bit/s"
        order["bottleneck"]["queue"]["limit"] = f"{buffer} packets"
        rows.append({**case, **child.engine(order)})
    return rows


def _row(flows: int, own_rtt: bool, costs: list[dict[str, Any]]) -> dict[str, Any]:
    each = [1e9 * cost["cpu_s"] / cost["packets"] for cost in costs]
    return {
        "flows": flows,
        "own_rtt": own_rtt,
        "packets": costs[0]["packets"],
        "packet_ns": median(each),
        "packet_ns_least": min(each),
        "packet_ns_most": max(each),
        "event_ns": median(1e9 * cost["cpu_s"] / cost["events"] for cost in costs),
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
