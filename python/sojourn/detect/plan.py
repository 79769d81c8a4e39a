"""The probe: what is sent when, how many bytes that makes, and the scenario that sends it.

A probe has three stages, each a scenario of its own, since each needs what the one before has found:

- `find`: a few trains on the path as it is. Their dispersion tells the rate.
- `load`: a thin stream and trains beside one greedy flow (CUBIC with ECN). It tells the delay under load, whether flows
  are isolated from each other, and the rate that lasts. Where that is far below what the trains told, as behind a token
  bucket with a burst, it was too short, and is sent once more for the rate that lasts.
- `overload`: two flows of datagrams, together `OVERLOAD` times that rate, and the thin stream. They do not answer to
  drops, so that what drops is seen by itself.
- `classes`, where it is asked for: two flows of datagrams with nearly the same rate, of which one has a code point. It
  tells whether that counts.
- `shares`, where it does: the flow without a code point alone is more than the path can carry. It tells what is left
  for the other one: nothing under strict priority, else its class's share.
- `l4s`, where it is asked for and the queue marks: two greedy flows, of which one has ECT(1). It tells whether that has
  a queue of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn import networks
from sojourn.resolved import amount

OVERLOAD = 1.2
"""The most that a probe sends, in parts of the rate found."""
LARGE_SHARE, SMALL_SHARE = 0.75, 0.45
"""What the two flows of the overload send, in parts of the rate found."""
PLAIN_SHARE, LOW_SHARE = 0.63, 0.57
"""The same of the two flows that ask for classes. With equal rates one would come first each time, and the other be
dropped."""
MOST_SHARE, LEFT_SHARE = 1.08, 0.12
"""The same of the two flows that ask for the shares of classes: one alone is more than the rate."""
LONGEST_S = 36.0
"""The longest that the packets of a probe may take, with all questions and a load that was sent twice."""
LOAD_S, OVERLOAD_S, LONG_OVERLOAD_S = 9.0, 8.0, 14.0
# The load and the overload together send at most 18 MB on lines up to 20 Mbit/s, and in proportion above up to 50 MB.
_SLOW_BYTES, _SLOW_BPS, _MOST_BYTES = 18e6, 20e6, 50e6
FULL_BYTES, SMALL_BYTES, THIN_BYTES = 1500, 150, 64
FULL_COUNT, SMALL_COUNT = 6, 8
THIN_EVERY_S = 0.02
THIN, FULL, SMALL, GREEDY, LARGE, LESS, PLAIN, LOW, SCALABLE = (
    f"probe-{name}" for name in ("thin", "full", "small", "greedy", "large", "less", "plain", "low", "scalable")
)
PROBES = (THIN, FULL, SMALL, GREEDY, LARGE, LESS, PLAIN, LOW, SCALABLE)
CLASSES, L4S = "classes", "l4s"
QUESTIONS = (CLASSES, L4S)
"""What a probe may be asked besides: whether code points count, and whether ECT(1) does."""
LOW_DSCP = "le"
"""The code point of what may wait (RFC 8622); a queue without classes does not look at it."""
_TAIL_S = 1.0
# Trains take at most this share of the rate.
_TRAIN_SHARE = 0.05
_TRAIN_EVERY_S = 0.25
_QUIET_S = 1.0
_MIN_BPS = 1e4


@dataclass(frozen=True)
class Stage:
    """A part of the probe that is sent in one piece."""

    name: str
    active_s: float
    """How long packets are sent."""
    settle_s: float
    """How long after that packets may still arrive."""
    groups: list[dict[str, Any]] = field(repr=False)
    payload: Mapping[str, float] = field(repr=False)
    """Bytes that each flow sends, or may send."""
    overload_bps: float = 0.0
    """What the flows of the overload send together, bit/s; 0 where there are none."""

    @property
    def duration_s(self) -> float:
        """Length of the scenario."""
        return self.active_s + self.settle_s

    @property
    def size_bytes(self) -> float:
        """Most bytes that the stage sends."""
        return sum(self.payload.values())

    def scenario(self, path: "Path", seed: int) -> dict[str, Any]:
        """Return the tables of a scenario that sends this over a path."""
        return {
            "name": f"detect-{self.name}",
            "duration": f"{self.duration_s:.6f} s",
            "seed": seed,
            **path.links,
            "group": [*(self._own(group, path) for group in self.groups), *path.others],
        }

    @staticmethod
    def _own(group: Mapping[str, Any], path: "Path") -> dict[str, Any]:
        control = {"control": path.control} if "control" in group else {}
        return {**group, "rtt": path.rtt, "direction": path.direction, **control}


@dataclass(frozen=True)
class Path:
    """What the probe crosses: links with their queues, a base round-trip time, and other traffic."""

    links: Mapping[str, Any]
    """The tables `bottleneck`, and where they are there `reverse` and `hop`."""
    rtt: str
    others: Sequence[Mapping[str, Any]] = ()
    control: str | Mapping[str, Any] = "cubic"
    """The congestion control of the greedy flow."""
    direction: str = "forward"
    """Which way the probe goes; `reverse` needs a link of that name."""

    @property
    def rtt_ms(self) -> float:
        """The base round-trip time."""
        return amount(self.rtt, "s") * 1e3

    @property
    def loss(self) -> float:
        """The share of packets that links lose at random on the way of the probe."""
        hops = [one for one in self.links.get("hop", []) if one.get("direction", "forward") == self.direction]
        links = [self.links["bottleneck"] if self.direction == "forward" else self.links["reverse"], *hops]
        kept = 1.0
        for link in links:
            kept *= 1 - float(link.get("loss", 0.0))
        return 1 - kept

    @classmethod
    def of(cls, resolved: Mapping[str, Any]) -> "Path":
        """Return the path of a resolved scenario: its groups are other traffic, the first of them has the base RTT."""
        networks.check_chain(resolved, "detect")
        rtt = resolved["group"][0]["rtt"]
        links = {key: resolved[key] for key in ("bottleneck", "reverse", "hop") if resolved.get(key)}
        return cls(links, rtt if isinstance(rtt, str) else rtt[0], resolved["group"])


def find() -> Stage:
    """Return the stage that finds the rate: four trains within a second."""
    groups = [_train(FULL, FULL_COUNT, FULL_BYTES, 0.05, _TRAIN_EVERY_S, 4)]
    return Stage("find", 1.0, 1.0, groups, {FULL: 4 * FULL_COUNT * FULL_BYTES})


def _within(rate_bps: float, sent_bps: float, active_s: float) -> float:
    """Return how long a stage lasts that sends at a rate after a quiet second: less where it would send too much."""
    allowed = min(_SLOW_BYTES * max(1.0, rate_bps / _SLOW_BPS), _MOST_BYTES)
    return min(active_s, _QUIET_S + allowed / 2 * 8 / sent_bps)


def load(rate_bps: float) -> Stage:
    """Return the stage with one greedy flow on a path of this rate; the first second is quiet but for trains."""
    rate = max(rate_bps, _MIN_BPS)
    active_s = _within(rate, rate, LOAD_S)
    often_s = _TRAIN_EVERY_S * active_s / LOAD_S
    every_s = max(often_s, (FULL_COUNT * FULL_BYTES + SMALL_COUNT * SMALL_BYTES) * 8 / rate / _TRAIN_SHARE)
    trains = max(2, int((active_s - 0.2) / every_s))
    groups = [
        _thin(active_s),
        _train(FULL, FULL_COUNT, FULL_BYTES, 0.1, every_s, trains),
        _train(SMALL, SMALL_COUNT, SMALL_BYTES, 0.1 + every_s / 2, every_s, trains),
        {
            "name": GREEDY,
            "control": "cubic",
            "transport": {"preset": "linux", "ecn": True},
            # The trains may have told less than the path carries.
            "traffic": {"kind": "bulk", "size": f"{_MOST_BYTES / 2:.0f} B"},
            "start": f"{_QUIET_S} s",
            "stop": f"{active_s} s",
        },
    ]
    sizes = {
        THIN: active_s / THIN_EVERY_S * THIN_BYTES,
        FULL: float(trains * FULL_COUNT * FULL_BYTES),
        SMALL: float(trains * SMALL_COUNT * SMALL_BYTES),
        GREEDY: rate / 8 * (active_s - _QUIET_S),
    }
    return Stage("load", active_s, _TAIL_S, groups, sizes)


def overload(rate_bps: float, longest_s: float = OVERLOAD_S) -> Stage:
    """Return the stage with more than a path of this rate can carry, after a quiet second; the dose is its length."""
    rate = max(rate_bps, _MIN_BPS)
    active_s = _within(rate, OVERLOAD * rate, longest_s)
    sending_s = active_s - _QUIET_S
    groups = [_thin(active_s)]
    for name, share in ((LARGE, LARGE_SHARE), (LESS, SMALL_SHARE)):
        traffic = {"kind": "cbr", "rate": f"{round(rate * share)} bit/s", "packet": f"{FULL_BYTES} B"}
        groups.append({"name": name, "traffic": traffic, "start": f"{_QUIET_S} s", "stop": f"{active_s} s"})
    sizes = {
        THIN: active_s / THIN_EVERY_S * THIN_BYTES,
        LARGE: rate * LARGE_SHARE / 8 * sending_s,
        LESS: rate * SMALL_SHARE / 8 * sending_s,
    }
    return Stage("overload", active_s, _TAIL_S, groups, sizes, rate * OVERLOAD)


def classes(rate_bps: float, active_s: float = 4.0) -> Stage:
    """Return the stage with two flows of which one may wait, together as much more than the rate as in the overload."""
    return _two_classes(CLASSES, rate_bps, active_s, PLAIN_SHARE, LOW_SHARE)


def shares(rate_bps: float, active_s: float = 2.0) -> Stage:
    """Return the stage with one flow that may wait beside one that takes all there is."""
    return _two_classes("shares", rate_bps, active_s, MOST_SHARE, LEFT_SHARE)


def _two_classes(stage: str, rate_bps: float, active_s: float, plain_share: float, low_share: float) -> Stage:
    rate = max(rate_bps, _MIN_BPS)
    groups = []
    sizes = {}
    for name, share, extra in ((PLAIN, plain_share, {}), (LOW, low_share, {"dscp": LOW_DSCP})):
        traffic = {"kind": "cbr", "rate": f"{round(rate * share)} bit/s", "packet": f"{FULL_BYTES} B"}
        groups.append({"name": name, "traffic": traffic, "stop": f"{active_s} s", **extra})
        sizes[name] = rate * share / 8 * active_s
    return Stage(stage, active_s, _TAIL_S, groups, sizes, rate * OVERLOAD)


def l4s(rate_bps: float, active_s: float = 6.0) -> Stage:
    """Return the stage with two greedy flows whose packets say that they can be marked, one of them with ECT(1)."""
    rate = max(rate_bps, _MIN_BPS)
    ends = {"stop": f"{active_s} s", "control": "cubic"}
    groups = [
        {"name": name, "transport": {"preset": "linux", "ecn": True, "ect": ect}, **ends}
        for name, ect in ((GREEDY, "ect0"), (SCALABLE, "ect1"))
    ]
    return Stage(L4S, active_s, _TAIL_S, groups, dict.fromkeys((GREEDY, SCALABLE), rate / 8 * active_s / 2))


def _thin(active_s: float) -> dict[str, Any]:
    traffic = {"kind": "train", "count": 1, "packet": f"{THIN_BYTES} B", "every": f"{THIN_EVERY_S} s"}
    return {"name": THIN, "traffic": traffic, "stop": f"{active_s} s"}


def _train(name: str, count: int, size: int, start_s: float, every_s: float, repeat: int) -> dict[str, Any]:
    traffic = {
        "kind": "train",
        "count": count,
        "packet": f"{size} B",
        "every": f"{every_s:.9f} s",
        "repeat": repeat,
    }
    return {"name": name, "traffic": traffic, "start": f"{start_s:.9f} s"}
