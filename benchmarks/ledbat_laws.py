"""LEDBAT's own laws (RFC 6817), each from a simulation that can break it."""

import math
from collections.abc import Mapping
from typing import Any

import sojourn
from benchmarks.common import say

MBPS = 1e6
WITHIN = 0.10
TARGET_MS = 100.0

BIN_S = 0.05
RAMP_S = 20.0
PAYLOAD_BYTES = 1460

RISE_MBPS = 10.0
RISE_S = 30.0
SETTLE_S = 400.0
WINDOW_S = 10.0
# Part of the link that LEDBAT keeps while it yields.
YIELDS_BELOW = 0.10
# Receive windows in kB and minutes of history; 10 minutes is the RFC's default.
RISES = ((200, 10), (250, 10), (400, 10), (250, 5), (250, 2))


def measure() -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the four tables."""
    return {
        "alone": [
            alone(rate, rtt, target)
            for rate, rtt, target in (
                (1.0, 50.0, 100.0),
                (4.0, 10.0, 100.0),
                (4.0, 50.0, 25.0),
                (4.0, 50.0, 60.0),
                (4.0, 50.0, 100.0),
                (10.0, 100.0, 100.0),
                (50.0, 20.0, 100.0),
            )
        ],
        "latecomer": [latecomer(late) for late in (5.0, 30.0, 60.0)],
        "ramp": [ramp(slow_start, rtt) for slow_start in ("off", "until-delay", "until-loss") for rtt in (20.0, 100.0)],
        "base_rise": [base_rise(window_kb, minutes) for window_kb, minutes in RISES],
    }


def alone(rate_mbps: float, rtt_ms: float, target_ms: float) -> dict[str, Any]:
    """One flow alone in a deep buffer: the queueing delay settles at the target."""
    say(f"LEDBAT alone: {rate_mbps:g} Mbit/s, RTT {rtt_ms:g} ms, target {target_ms:g} ms")
    control = {"kind": "ledbat", "target": f"{target_ms:g} ms"}
    scenario = _scenario(rate_mbps, [_group("ledbat", control, rtt_ms)], duration_s=180.0, warmup_s=120.0)
    record = scenario.run(series=False).runs[0]
    # A one-way delay holds the queueing of the packet itself, without its transmission.
    queue_ms = record["bottleneck"]["queue_ms"]["mean"]
    return {
        "rate_mbps": rate_mbps,
        "rtt_ms": rtt_ms,
        "target_ms": target_ms,
        "queue_ms": queue_ms,
        "utilization": record["bottleneck"]["utilization"],
        "holds": abs(queue_ms - target_ms) <= WITHIN * target_ms,
    }


def latecomer(late_s: float) -> dict[str, Any]:
    """A second flow takes the first one's queue for a part of the base delay, and most of the link with it."""
    say(f"LEDBAT: latecomer after {late_s:g} s")
    groups = [_group("first", "ledbat"), {**_group("second", "ledbat"), "start": f"{late_s:g} s"}]
    record = _scenario(4.0, groups, duration_s=late_s + 180.0, warmup_s=late_s + 120.0).run(series=False).runs[0]
    share = record["groups"]["second"]["share"]
    queue_ms = record["bottleneck"]["queue_ms"]["mean"]
    return {"late_s": late_s, "share": share, "queue_ms": queue_ms, "holds": share > 1 / 2 and queue_ms > TARGET_MS}


def ramp(slow_start: str, rtt_ms: float) -> dict[str, Any]:
    """Alone on the same link, LEDBAT has never delivered more than NewReno, at any time since its start."""
    say(f"LEDBAT's ramp: slow start {slow_start}, RTT {rtt_ms:g} ms")
    ledbat = _delivered({"kind": "ledbat", "slow_start": slow_start}, rtt_ms)
    newreno = _delivered("newreno", rtt_ms)
    ahead = max(mine - other for mine, other in zip(ledbat, newreno, strict=True))
    half = newreno[-1] / 2
    return {
        "slow_start": slow_start,
        "rtt_ms": rtt_ms,
        "ahead_bytes": ahead,
        "ledbat_half_s": BIN_S * next(index for index, done in enumerate(ledbat) if done >= half),
        "newreno_half_s": BIN_S * next(index for index, done in enumerate(newreno) if done >= half),
        "holds": ahead <= PAYLOAD_BYTES,
    }


def _delivered(control: str | Mapping[str, Any], rtt_ms: float) -> list[int]:
    """Return bytes delivered up to the end of each bin."""
    group = {**_group("flow", control, rtt_ms), "transport": {"preset": "rfc", "initial_window": 2}}
    # A buffer that NewReno does not overflow within this time.
    result = _scenario(10.0, [group], duration_s=RAMP_S, limit="100000 packets").run(bin_s=BIN_S)
    total, sums = 0, []
    for delivered in result.flows["delivered_bytes"].to_pylist():
        total += delivered
        sums.append(total)
    return sums


def base_rise(window_kb: int, history_minutes: int) -> dict[str, Any]:
    """A standing queue that does not go away: LEDBAT yields to it, until the delay before it is forgotten.

    The queue is that of a NewReno flow whose receive window holds more than the path does. When no minute
    without it is remembered, it is taken for a part of the path, and LEDBAT adds its target to it. Where the history
    is shorter than SETTLE_S, LEDBAT's own queue is all that it holds one history later, and the next target is added.
    """
    say(f"LEDBAT: the base delay rises by the queue of {window_kb} kB, {history_minutes} minutes of history")
    forgotten_s = 60.0 * history_minutes
    settled_s = forgotten_s + min(SETTLE_S, forgotten_s)
    climbs = forgotten_s < SETTLE_S
    end_s = settled_s + (forgotten_s if climbs else 0.0)
    window = {"preset": "rfc", "receive_window": f"{window_kb} kB"}
    standing = {**_group("standing", "newreno"), "start": f"{RISE_S:g} s", "transport": window}
    groups = [_group("ledbat", {"kind": "ledbat", "base_history": history_minutes}), standing]
    result = _scenario(RISE_MBPS, groups, duration_s=end_s, limit="1000 packets").run(bin_s=1.0)
    flows = result.flows.to_pydict()
    delivered = [done for done, name in zip(flows["delivered_bytes"], flows["group"], strict=True) if name == "ledbat"]
    queue_ms = result.queue["queue_ms"].to_pylist()

    def last_seconds(series: list[float], before_s: float) -> float:
        return math.fsum(series[int(before_s - WINDOW_S) : int(before_s)]) / WINDOW_S

    before, yielding, after = (8 * last_seconds(delivered, at) / MBPS for at in (RISE_S, forgotten_s, settled_s))
    standing_ms = last_seconds(queue_ms, forgotten_s)
    added_ms = last_seconds(queue_ms, settled_s) - standing_ms
    again_ms = last_seconds(queue_ms, end_s) - standing_ms if climbs else None
    return {
        "window_kb": window_kb,
        "history_minutes": history_minutes,
        "before_mbps": before,
        "yielding_mbps": yielding,
        "after_mbps": after,
        "standing_ms": standing_ms,
        "added_ms": added_ms,
        "again_ms": again_ms,
        "holds": yielding < YIELDS_BELOW * RISE_MBPS
        and after > yielding
        and abs(added_ms - TARGET_MS) <= WITHIN * TARGET_MS
        and (again_ms is None or abs(again_ms - 2 * TARGET_MS) <= WITHIN * 2 * TARGET_MS),
    }


def _group(name: str, control: str | Mapping[str, Any], rtt_ms: float = 50.0) -> dict[str, Any]:
    return {"name": name, "control": control, "flows": 1, "rtt": f"{rtt_ms:g} ms"}


def _scenario(
    rate_mbps: float,
    groups: list[dict[str, Any]],
    *,
    duration_s: float,
    warmup_s: float = 0.0,
    limit: str = "2 s",
) -> sojourn.Scenario:
    queue = {"kind": "droptail", "limit": limit}
    return sojourn.scenario(
        name="ledbat",
        duration=f"{duration_s:g} s",
        warmup=f"{warmup_s:g} s",
        bottleneck={"rate": f"{rate_mbps:g} Mbit/s", "queue": queue},
        group=groups,
    )
