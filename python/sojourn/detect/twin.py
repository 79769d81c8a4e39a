"""The twin: the queue that an answer names is simulated under the same probe, and what both ends see is compared.

The twin has the rate and the round-trip time that were measured, the stages as they were sent, the parameters that were
read, and other traffic where some of the rate was missing. What was read is not exact, and what else crosses the path
is not known, so several twins are tried, and the nearest counts.

Waits are compared by the Wasserstein distance (`scipy.stats`) of their logarithms, and so are the times between losses.
How far a twin of the right name usually is was learnt on simulated probes that no forest had seen
(`sojourn.detect.training`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from sojourn.detect.draw import FAMILIES, WITH_ECN
from sojourn.detect.log import EMPTY, FlowLog, Log, Times
from sojourn.detect.model import Array, Reading, TwinScale
from sojourn.detect.plan import FULL, FULL_BYTES, FULL_COUNT, GREEDY, LARGE, LESS, PROBES, THIN, Path
from sojourn.detect.probe import Probed, over
from sojourn.detect.table import NO_QUEUE, queue_table
from sojourn.detect.waits import FEW, quantile, waiting

COMPARED: dict[str, tuple[str, str, float, float]] = {
    "greedy flow, first third": ("load", GREEDY, 0.0, 0.35),
    "greedy flow, later": ("load", GREEDY, 0.35, 1.0),
    "thin flow beside it": ("load", THIN, 0.35, 1.0),
    "larger flow of the overload, first third": ("overload", LARGE, 0.0, 0.35),
    "larger flow of the overload, later": ("overload", LARGE, 0.35, 1.0),
    "smaller flow of the overload, first third": ("overload", LESS, 0.0, 0.35),
    "smaller flow of the overload, later": ("overload", LESS, 0.35, 1.0),
    "thin flow beside the overload": ("overload", THIN, 0.35, 1.0),
}
"""Flows that are compared, and in which part of their lives: stage, flow, begin and end."""
KINDS = ("waits", "losses", "marks", "times between losses")
COMPONENTS = tuple(f"{kind} of the {words}" for kind in KINDS for words in COMPARED)
# Differences of less than this are none: of logarithms, and of shares.
_LEAST = {"waits": 0.05, "losses": 0.01, "marks": 0.01, "times between losses": 0.1}
LEAST_APART = np.repeat([_LEAST[kind] for kind in KINDS], len(COMPARED))
ANY_TWIN = TwinScale(5 * LEAST_APART, np.full(3, np.inf))
"""A scale under which every twin fits, for as long as none has been learnt."""
Others = Sequence[Mapping[str, Any]]
_STAGES = ("load", "overload")
_SEED = 1
# So many packets are simulated at most, about a second's work, but one twin in any case.
_MOST_PACKETS = 150_000
# Less of the rate than this that is missing is no other traffic, and more is none that a twin can have.
_LEAST_SHARE, _MOST_SHARE = 0.03, 0.5
# A quarter of the gaps within trains are not shorter than this part of the mean where arrivals are not noisy.
_NOISY = 0.6
# What differs between queues of a name and is not read: a kernel's timer counts ticks, so that PIE updates late.
_UNREAD = {"pie": ({"update": "30 ms"}, {"update": "20 ms"})}
# How long the thin flow of the load is alone, in s: what it waits then is noise of the path.
_QUIET_S = 0.95
# Fewer times between losses are not compared.
_FEW_GAPS = 20


@dataclass(frozen=True)
class Twin:
    """A queue as it was simulated, and how unlike it is to what was seen."""

    name: str
    queue: Mapping[str, Any]
    """The table of the queue."""
    raw: Array
    """How far each of `COMPONENTS` is from what was seen; NaN for what cannot be compared."""
    scale: TwinScale
    logs: Mapping[str, Log]
    """What the two ends of the twin logged."""

    @property
    def apart(self) -> dict[str, float]:
        """The same over what is usual, the farthest first: nine of ten twins of the right name do not exceed 1."""
        weighed = zip(COMPONENTS, self.scale.weighed(self.raw), strict=True)
        return dict(sorted(((words, float(one)) for words, one in weighed if one >= 0), key=lambda item: -item[1]))

    @property
    def distance(self) -> float:
        """The mean of these."""
        return float(np.nanmean(self.scale.weighed(self.raw)))

    @property
    def limit(self) -> float:
        """From where on it does not fit."""
        return self.scale.limit

    @property
    def fits(self) -> bool:
        """Whether the queue may be the one that was probed."""
        return self.distance <= self.limit

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        keys = ("name", "fits", "distance", "limit", "apart")
        return {**{key: getattr(self, key) for key in keys}, "queue": dict(self.queue)}


def line_bps(seen: Probed) -> float:
    """Return the rate of the link: of most gaps within trains, in which no packet of other traffic left.

    The rate that the trains tell as a whole is that of the link less what other traffic took meanwhile. Where arrivals
    are so noisy that gaps tell nothing, it stands for the link's.
    """
    full = seen.logs["find"].get(FULL, EMPTY)
    trains = full.received_s[: len(full.sent_s) // FULL_COUNT * FULL_COUNT].reshape(-1, FULL_COUNT)
    gap_s = quantile(np.diff(trains, axis=1).ravel(), 0.25)
    whole_s = FULL_BYTES * 8 / seen.rate_bps
    return FULL_BYTES * 8 / gap_s if gap_s > _NOISY * whole_s else seen.rate_bps


def missing(seen: Probed, name: str) -> float:
    """Return the rate that other traffic offers, as a share of the line's; 0 where it is too little to be told."""
    assert seen.carried_mbps is not None  # noqa: S101 (an answer has been given)
    line, carried = line_bps(seen), seen.carried_mbps * 1e6
    offered = max((stage.overload_bps for stage in seen.stages if stage.name == "overload"), default=0.0)
    # Where flows share one queue an overload takes from other traffic, and each gets as much as it offers.
    is_shared = FAMILIES[name].startswith("FIFO") and offered > 0
    share = offered * (1 / carried - 1 / line) if is_shared else 1 - carried / line
    return float(min(share, _MOST_SHARE)) if share > _LEAST_SHARE else 0.0


def twin(seen: Probed, name: str, read: Mapping[str, Reading], scale: TwinScale) -> Twin | None:
    """Return the nearest twin that a queue with this name has.

    None for a name that is no queue, and for a path whose base round-trip time is not known.

    Parameters
    ----------
    seen
        The probe, of which an answer could be given.
    name
        The name of the queue.
    read
        The parameters of the queue, as they were read from it.
    scale
        What is usual, and from where on a twin does not fit.
    """
    if name in NO_QUEUE or seen.rtt_ms is None:
        return None
    search = _Search(seen, name, scale)
    for others in search.crossing:
        search.attempt(read, others, {})
    for extra in _UNREAD.get(name, ()):
        search.attempt(read, search.others, extra)
    for key, one in read.items():
        for value in (one.low, one.high):
            search.attempt({**search.read, key: replace(one, value=value)}, search.others, search.extra)
    return search.best


class _Search:
    """Tries twins until as many packets were simulated as may be, and keeps the nearest."""

    def __init__(self, seen: Probed, name: str, scale: TwinScale) -> None:
        self._seen, self._name, self._scale = seen, name, scale
        self._stages = [stage for stage in seen.stages if stage.name in _STAGES]
        self._line_bps = line_bps(seen)
        self._packet_s = FULL_BYTES * 8 / self._line_bps
        self._observed = samples(seen.logs, self._packet_s)
        load = seen.logs["load"]
        self._noise = waiting(load.get(THIN, EMPTY).between(0.0, _QUIET_S))
        self._has_ecn = bool(load.get(GREEDY, EMPTY).marked.any())
        self._missing = missing(seen, name)
        packets = sum(stage.size_bytes for stage in self._stages) / FULL_BYTES
        self._left = max(1, int(_MOST_PACKETS / packets))
        self.best: Twin | None = None
        self.read: Mapping[str, Reading] = {}
        self.others: Others = ()
        self.extra: Mapping[str, str] = {}

    @property
    def crossing(self) -> Iterator[Others]:
        """What else may cross the path: nothing, or what takes the rate that was missing, at a steady rate or not."""
        yield ()
        if self._missing:
            rate = f"{self._missing * self._line_bps:.0f} bit/s"
            yield ({"name": "others", "traffic": {"kind": "cbr", "rate": rate, "packet": "1000 B"}},)
            size = {"kind": "pareto", "min": "5 kB", "max": "2 MB", "shape": 1.2}
            transfers = {"kind": "transfers", "load": round(self._missing, 4), "size": size}
            yield ({"name": "others", "flows": 2, "control": "cubic", "traffic": transfers},)

    def attempt(self, read: Mapping[str, Reading], others: Others, extra: Mapping[str, str]) -> None:
        """Try a twin; parameters, other traffic and what cannot be read of the nearest so far are kept."""
        seen = self._seen
        table = queue_table(self._name, read, seen.deepest_ms, seen.carried_mbps)
        if self._left == 0 or table is None:
            return
        self._left -= 1
        table |= extra
        if self._name in WITH_ECN:
            table["ecn"] = self._has_ecn
        rtt = f"{seen.rtt_ms:.6f} ms"
        link = {"rate": f"{self._line_bps:.0f} bit/s", "queue": table}
        send = over(Path({"bottleneck": link}, rtt, [{**one, "rtt": rtt} for one in others]), _SEED)
        logs = {stage.name: {k: v for k, v in send(stage).items() if k in PROBES} for stage in self._stages}
        raw = distances(self._observed, samples(logs, self._packet_s, self._noise))
        found = Twin(self._name, table, raw, self._scale, logs)
        if self.best is None or found.distance < self.best.distance:
            self.best, self.read, self.others, self.extra = found, read, others, extra


Samples = Mapping[str, tuple[Times, float, float, Times]]
"""Of a part of a flow: waits and times between losses, both as logarithms, and shares of lost and of marked packets."""


def samples(logs: Mapping[str, Log], packet_s: float, noise: Times | None = None) -> Samples:
    """Return what is compared; `noise` is what packets wait besides, of which each gets one at random."""
    random = np.random.default_rng(_SEED)
    found = {}
    for words, (stage, name, begin, end) in COMPARED.items():
        flow = logs.get(stage, {}).get(name, EMPTY)
        if len(flow.sent_s) < FEW or flow.lost.all():
            continue
        wait = waiting(flow)
        if noise is not None and len(noise := noise[~np.isnan(noise)]):
            wait = wait + random.choice(noise, len(wait))
        own = _part(flow, begin, end)
        lost = flow.lost & own
        gaps = np.log(np.diff(flow.sent_s[lost]) + packet_s)
        shares = float(flow.lost[own].mean()), float(flow.marked[own].mean())
        found[words] = np.log(wait[own & ~lost] / packet_s + 1), *shares, gaps
    return found


def waits_ms(logs: Mapping[str, Log], words: str) -> Times:
    """Return what the packets of a part of a flow waited that arrived, in ms; `words` is a key of `COMPARED`."""
    stage, name, begin, end = COMPARED[words]
    flow = logs.get(stage, {}).get(name, EMPTY)
    if not len(flow.sent_s):
        return flow.delay_s
    wait = waiting(flow)[_part(flow, begin, end) & ~flow.lost]
    return wait * 1e3


def _part(flow: FlowLog, begin: float, end: float) -> NDArray[np.bool_]:
    """Return which packets were sent between two parts of a flow's life, from 0 to 1."""
    first_s, length_s = float(flow.sent_s[0]), float(np.ptp(flow.sent_s))
    own: NDArray[np.bool_] = (flow.sent_s >= first_s + begin * length_s) & (flow.sent_s <= first_s + end * length_s)
    return own


def distances(one: Samples, other: Samples) -> Array:
    """Return how far two probes are apart in each of `COMPONENTS`; NaN for what one of them does not have."""
    rows = [
        _apart(one[words], other[words]) if words in one and words in other else (np.nan,) * len(KINDS)
        for words in COMPARED
    ]
    return np.array(rows, dtype=np.float64).T.ravel()


def _apart(one: tuple[Times, float, float, Times], other: tuple[Times, float, float, Times]) -> tuple[float, ...]:
    (waits, lost, marked, gaps), (waits_, lost_, marked_, gaps_) = one, other
    return (
        _wasserstein(waits, waits_, FEW),
        abs(lost - lost_),
        abs(marked - marked_),
        _wasserstein(gaps, gaps_, _FEW_GAPS),
    )


def _wasserstein(one: Times, other: Times, few: int) -> float:
    return float(wasserstein_distance(one, other)) if min(len(one), len(other)) >= few else float("nan")
