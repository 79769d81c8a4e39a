"""Sending a probe over the path of a scenario, in the simulation or on a kernel, and what its two ends logged."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sojourn import api
from sojourn.detect.features import features, find_rate, lasting_rate
from sojourn.detect.log import FlowLog, Log, of_table
from sojourn.detect.plan import GREEDY, LONGEST_S, PROBES, Path, Stage, classes, find, load, overload

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
    logs: dict[str, Log] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)

    @property
    def features(self) -> dict[str, float]:
        """The features; NaN for those of stages that were not sent."""
        return features(*(self.logs.get(name, {}) for name in ("find", "load", "overload")))

    @property
    def sent_bytes(self) -> int:
        """Bytes that the flows of the probe sent, as IP packets."""
        return int(sum(flow.size_bytes.sum() for log in self.logs.values() for flow in log.values()))

    @property
    def active_s(self) -> float:
        """How long packets were sent."""
        return sum(stage.active_s for stage in self.stages)

    def add(self, stage: Stage, log: Log) -> None:
        """Take over the log of a stage."""
        self.stages.append(stage)
        self.logs[stage.name] = {name: flow for name, flow in log.items() if name in PROBES}


def probe(
    send: Send, *, budget_bytes: float | None = None, decided: Decided | None = None, with_classes: bool = False
) -> Probed:
    """Send the stages of a probe one after the other and return what was seen.

    It ends early where no train arrives, and after the load where `decided` says so. The overload is longer where the
    load filled no buffer: what never dropped needs a larger dose. `with_classes` adds a last stage, in any case where
    the load found a rate.

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
    if with_classes:
        take(classes(rate))
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


def estimate(rate_bps: float, *, with_classes: bool = False) -> Mapping[str, float]:
    """Return the seconds and the most bytes of a whole probe at a rate: `seconds`, `bytes` and the peak `bps`."""
    stages = [
        find(),
        load(rate_bps),
        overload(rate_bps, LONG_OVERLOAD_S),
        *([classes(rate_bps)] if with_classes else []),
    ]
    return {
        "seconds": sum(stage.active_s for stage in stages),
        "bytes": sum(stage.size_bytes for stage in stages),
        "bps": max(rate_bps, stages[-1].overload_bps),
    }
