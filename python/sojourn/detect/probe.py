"""Sending a probe over the path of a scenario, in the simulation or on a kernel, and what its two ends logged."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sojourn import api
from sojourn.detect.classes import code_points_count
from sojourn.detect.features import features, find_rate, lasting_rate
from sojourn.detect.log import EMPTY, FlowLog, Log, of_table
from sojourn.detect.plan import (
    CLASSES,
    GREEDY,
    L4S,
    LARGE,
    LESS,
    LONGEST_S,
    OVERLOAD,
    PROBES,
    Path,
    Stage,
    classes,
    find,
    l4s,
    load,
    overload,
    shares,
)
from sojourn.detect.waits import wait_ms

LONG_OVERLOAD_S = 14.0
Send = Callable[[Stage], Log]
"""Sends one stage and returns what both ends logged of it."""
Decided = Callable[["Probed"], bool]


class BudgetError(ValueError):
    """A probe would send more than is allowed."""


@dataclass
class Probed:
    """What a probe has seen so far."""

    rate_bps: float = float("nan")
    """The rate that the first trains tell."""
    rtt_ms: float | None = None
    """The base round-trip time, where it is known."""
    logs: dict[str, Log] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)

    @property
    def features(self) -> dict[str, float]:
        """The features; NaN for those of stages that were not sent."""
        return features(*(self.logs.get(name, {}) for name in ("find", "load", "overload")))

    @property
    def whole(self) -> bool:
        """Whether the overload was sent."""
        return "overload" in self.logs

    @property
    def carried_mbps(self) -> float | None:
        """The most that the path carried for seconds, where anything got through after the first trains."""
        rates = [lasting_rate(log) for name, log in self.logs.items() if name != "find"]
        return max((rate / 1e6 for rate in rates if rate > 0), default=None)

    @property
    def deepest_ms(self) -> float:
        """The longest wait of any packet but one in a thousand, NaN where none is known."""
        flows = [log.get(name, EMPTY) for log in self.logs.values() for name in (GREEDY, LARGE, LESS)]
        waits = [wait_ms(flow, 0.999) for flow in flows if len(flow.sent_s)]
        return max((wait for wait in waits if not np.isnan(wait)), default=float("nan"))

    @property
    def sent_bytes(self) -> int:
        """Bytes that the flows of the probe sent, as IP packets."""
        return int(sum(flow.size_bytes.sum() for log in self.logs.values() for flow in log.values()))

    @property
    def active_s(self) -> float:
        """How long packets were sent."""
        return sum(stage.active_s for stage in self.stages)

    def without(self, stage: str) -> "Probed":
        """Return what was seen before a stage, or besides it."""
        logs = {name: log for name, log in self.logs.items() if name != stage}
        return Probed(self.rate_bps, self.rtt_ms, logs, [one for one in self.stages if one.name != stage])

    def add(self, stage: Stage, log: Log) -> None:
        """Take over the log of a stage."""
        self.stages.append(stage)
        self.logs[stage.name] = {name: flow for name, flow in log.items() if name in PROBES}


def probe(
    send: Send,
    *,
    budget_bytes: float | None = None,
    decided: Decided | None = None,
    asks: Collection[str] = (),
    rtt_ms: Callable[[], float | None] = lambda: None,
) -> Probed:
    """Send the stages of a probe one after the other and return what was seen.

    It ends early where no train arrives, and after the load where `decided` says so. The overload is longer where the
    load filled no buffer: what never dropped needs a larger dose. `asks` are of `QUESTIONS`; they add stages
    wherever the load found a rate. `rtt_ms` tells the base round-trip time as it is known after a stage.

    Raises
    ------
    BudgetError
        The next stage would send more than `budget_bytes` allows. Nothing of it has been sent.
    """
    seen = Probed()

    def take(stage: Stage) -> Log:
        if budget_bytes is not None and seen.sent_bytes + stage.size_bytes > budget_bytes:
            asked, left = stage.size_bytes / 1e6, (budget_bytes - seen.sent_bytes) / 1e6
            raise BudgetError(
                f"the stage {stage.name!r} sends up to {asked:.3g} MB; {left:.3g} MB of the budget are left"
            )
        seen.add(stage, send(stage))
        seen.rtt_ms = rtt_ms()
        return seen.logs[stage.name]

    seen.rate_bps = find_rate(take(find()))
    if not seen.rate_bps > 0:
        return seen
    loaded = take(load(seen.rate_bps))
    lasting = lasting_rate(loaded)
    greedy = loaded.get(GREEDY)
    if not lasting > 0 or greedy is None:
        return seen
    answered = bool(greedy.lost.any() or greedy.marked.any())
    rate = min(lasting, seen.rate_bps) if lasting < 0.7 * seen.rate_bps else seen.rate_bps
    if decided is None or not decided(seen):
        take(overload(rate) if answered else overload(rate, LONG_OVERLOAD_S))
    if CLASSES in asks:
        take(classes(rate))
        if code_points_count(seen.logs[CLASSES], seen.rate_bps):
            take(shares(rate))
    if L4S in asks and greedy.marked.any():
        take(l4s(rate))
    assert seen.active_s <= LONGEST_S  # noqa: S101 (the plan's own promise)
    return seen


def over(path: Path, seed: int, **how: Any) -> Send:
    """Return what sends a stage over a path in a world; `how` are the options of `Scenario.run`."""

    def send(stage: Stage) -> Log:
        scenario = api.scenario(stage.scenario(path, seed))
        result = scenario.run(series=False, packets=True, jobs=1, **how)
        return of_table(result.packets)

    return send


def disturbed(send: Send, skew_ppm: float, noise_s: float, random: np.random.Generator) -> Send:
    """Return what sends as `send` does between hosts whose clocks drift apart and that see arrivals late.

    Parameters
    ----------
    skew_ppm
        How much faster the receiver's clock runs, in parts per million.
    noise_s
        Mean of the exponential delays by which a receiver sees packets late; none overtakes another.
    """

    def noisy(stage: Stage) -> Log:
        return {name: late(flow, skew_ppm, noise_s, random) for name, flow in send(stage).items()}

    return noisy


def late(flow: FlowLog, skew_ppm: float, noise_s: float, random: np.random.Generator) -> FlowLog:
    """Return a flow as a host sees it whose clock drifts and that sees arrivals late, in the order of arrival."""
    seen_s = flow.received_s + random.exponential(noise_s, len(flow.received_s)) if noise_s else flow.received_s
    order = np.flatnonzero(~np.isnan(seen_s))
    order = order[np.argsort(flow.received_s[order], kind="stable")]
    received_s = np.full(len(seen_s), np.nan)
    received_s[order] = np.maximum.accumulate(seen_s[order]) * (1 + skew_ppm * 1e-6)
    return FlowLog(flow.sent_s, received_s, flow.size_bytes, flow.marked)


def estimate(rate_bps: float, asks: Collection[str] = ()) -> Mapping[str, float]:
    """Return the seconds and the most bytes of a whole probe at a rate: `seconds`, `bytes` and the peak `bps`.

    The queues that are asked for L4S mark, so that none of them needs the long overload.
    """
    begun = [find(), load(rate_bps)]
    asked = [classes(rate_bps), shares(rate_bps)] if CLASSES in asks else []
    plans = [[*begun, overload(rate_bps, LONG_OVERLOAD_S), *asked]]
    if L4S in asks:
        plans.append([*begun, overload(rate_bps), *asked, l4s(rate_bps)])
    return {
        "seconds": max(sum(stage.active_s for stage in stages) for stages in plans),
        "bytes": max(sum(stage.size_bytes for stage in stages) for stages in plans),
        "bps": rate_bps * OVERLOAD,
    }
