"""Sending a probe over the path of a scenario, in the simulation or on a kernel, and what its two ends logged."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sojourn import api
from sojourn.detect.causes import signs
from sojourn.detect.classes import code_points_count
from sojourn.detect.features import features, find_rate, lasting_rate
from sojourn.detect.log import EMPTY, FlowLog, Log, of_table
from sojourn.detect.plan import (
    CLASSES,
    FULL,
    FULL_BYTES,
    GREEDY,
    L4S,
    LARGE,
    LESS,
    LONG_OVERLOAD_S,
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
from sojourn.detect.waits import mean, quantile, wait_ms, waiting

# A path is full where so many packets wait in the median, or, at a policer, where trains lose such a share.
_FULL_PACKETS, _FULL_LOSS = 3.0, 0.05
# What may be sent bounds a probe where it is less than this part of the rate found.
_BOUNDED = 0.8
# What lasts is so far below what the trains told that the load was planned for another line, and was too short for it.
_OTHER_LINE, _SHORT = 0.25, 0.7
_SLOWEST_BPS = 2e5
Send = Callable[[Stage], Log]
"""Sends one stage and returns what both ends logged of it."""
Decided = Callable[["Probed"], bool]


class BudgetError(ValueError):
    """A probe would send more than is allowed."""


@dataclass
class Probed:
    """What a probe has seen so far."""

    rate_bps: float = float("nan")
    """The rate that the first trains tell, or what the load got where that is more."""
    rtt_ms: float | None = None
    """The base round-trip time, where it is known."""
    logs: dict[str, Log] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)
    most_bps: float = float("inf")
    """The most that may be sent."""
    again_bytes: int = 0
    """Bytes of a stage that was sent once more; of its first time nothing else is kept."""

    @property
    def features(self) -> dict[str, float]:
        """The features; NaN for those of stages that were not sent."""
        return features(*(self.logs.get(name, {}) for name in ("find", "load", "overload")))

    @property
    def signs(self) -> dict[str, float]:
        """The signs of other causes than the queue; NaN for those of stages that were not sent."""
        return signs(*(self.logs.get(name, {}) for name in ("find", "load", "overload")))

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
        return self.again_bytes + sum(map(_bytes_of, self.logs.values()))

    @property
    def active_s(self) -> float:
        """How long packets were sent."""
        return sum(stage.active_s for stage in self.stages)

    @property
    def is_bounded(self) -> bool:
        """Whether the path carried as much as may be sent, or seemed to, so that no bottleneck of it was met."""
        load = self.logs.get("load", {})
        greedy = load.get(GREEDY, EMPTY)
        if self.most_bps >= _BOUNDED * self.rate_bps or not load:
            return False
        answered = bool(greedy.lost.any() or greedy.marked.any())
        return not answered or lasting_rate(load) > _BOUNDED * self.most_bps

    def without(self, stage: str) -> "Probed":
        """Return what was seen before a stage, or besides it."""
        logs = {name: log for name, log in self.logs.items() if name != stage}
        stages = [one for one in self.stages if one.name != stage]
        return replace(self, logs=logs, stages=stages)

    def add(self, stage: Stage, log: Log) -> None:
        """Take over the log of a stage."""
        self.stages.append(stage)
        self.again_bytes += _bytes_of(self.logs.get(stage.name, {}))
        self.logs[stage.name] = {name: flow for name, flow in log.items() if name in PROBES}


def probe(
    send: Send,
    *,
    budget_bytes: float | None = None,
    decided: Decided | None = None,
    asks: Collection[str] = (),
    most_bps: float = float("inf"),
    rtt_ms: Callable[[], float | None] = lambda: None,
) -> Probed:
    """Send the stages of a probe one after the other and return what was seen.

    It ends early where no train arrives, and after the load where `decided` says so. The load is sent again where what
    lasts is far below what the trains told, and the overload is longer where the load filled no buffer: what never
    dropped needs a larger dose. `asks` are of `QUESTIONS`; they add stages
    wherever the load found a rate. The load is planned for `most_bps` at most, and the probe ends after it where no
    bottleneck below that was met. `rtt_ms` tells the base round-trip time as it is known after a stage.

    Raises
    ------
    BudgetError
        The next stage would send more than `budget_bytes` allows. Nothing of it has been sent.
    """
    seen = Probed(most_bps=most_bps)

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
    loaded = _loaded(take, min(seen.rate_bps, most_bps))
    lasting = lasting_rate(loaded)
    # Where delays vary trains arrive stretched, and tell less than the path carries.
    seen.rate_bps = max(seen.rate_bps, lasting)
    greedy = loaded.get(GREEDY)
    if not lasting > 0 or greedy is None or seen.is_bounded:
        return seen
    answered = bool(greedy.lost.any() or greedy.marked.any())
    rate = min(lasting, seen.rate_bps) if lasting < 0.7 * seen.rate_bps else seen.rate_bps
    rate = min(rate, most_bps)
    if decided is None or not decided(seen):
        take(overload(rate) if answered else overload(rate, LONG_OVERLOAD_S))
    if asks and not was_full(loaded, seen.rate_bps):
        # The greedy flow had no time to take all there is, so what it got is no rate of the path.
        rate = min(seen.rate_bps, most_bps)
    if CLASSES in asks:
        take(classes(rate))
        if code_points_count(seen.logs[CLASSES], seen.rate_bps):
            take(shares(rate))
    if L4S in asks and greedy.marked.any():
        take(l4s(rate))
    assert seen.active_s <= LONGEST_S  # noqa: S101 (the plan's own promise)
    return seen


def _loaded(take: Callable[[Stage], Log], planned_bps: float) -> Log:
    """Send the load, and once more where it was planned for another line."""
    loaded = take(load(planned_bps))
    lasting = lasting_rate(loaded)
    if 0 < lasting < _OTHER_LINE * planned_bps and load(planned_bps).active_s < _SHORT * load(lasting).active_s:
        return take(load(max(lasting, _SLOWEST_BPS)))
    return loaded


def _bytes_of(log: Log) -> int:
    return int(sum(flow.size_bytes.sum() for flow in log.values()))


def was_full(load: Log, rate_bps: float) -> bool:
    """Return whether the path was full in the second half of the load: packets waited, or trains lost some.

    Parameters
    ----------
    load
        The log of the load.
    rate_bps
        The rate that the first trains told.
    """
    greedy, full = (load.get(name, EMPTY) for name in (GREEDY, FULL))
    wait, lost = waiting(greedy), full.lost
    wait, lost = wait[len(wait) // 2 :], lost[len(lost) // 2 :]
    packets = quantile(wait, 0.5) * rate_bps / (8 * FULL_BYTES)
    return bool(packets > _FULL_PACKETS or mean(lost) > _FULL_LOSS)


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

    `least_bytes` may be sent by a probe that ends as soon as it can, after the load.

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
        "least_bytes": sum(stage.size_bytes for stage in begun),
        "bps": rate_bps * OVERLOAD,
    }
