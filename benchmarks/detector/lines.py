"""Probes of lines that people have and that training never saw, and of what else happens to a line.

What is said of them is what `sojourn detect` prints: a probe ends where the answer is clear, and twins count.
"""

import itertools
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from sojourn.detect.answer import answer, decided
from sojourn.detect.causes import BULK, LOSS
from sojourn.detect.draw import FAMILIES
from sojourn.detect.plan import Path
from sojourn.detect.population import SIDES, crossed, is_held_out
from sojourn.detect.probe import over, probe
from sojourn.detect.stored import load_model
from sojourn.registry import catalogue

FASTEST_MBPS = 300.0
LINES, DEEP, LOSSY, SHARED, BUCKETS = (
    "lines that people have, held out",
    "deep FIFOs",
    "packets lost at random",
    "others' greedy flows",
    "token buckets",
)
_QUEUES: dict[str, dict[str, Any]] = {
    "droptail": {"limit": "120 packets"},
    "codel": {"preset": "linux"},
    "pie": {"preset": "linux"},
    "fq_codel": {"preset": "linux"},
    "cake": {},
}


@dataclass(frozen=True)
class Probe:
    """What is probed, and what is true of it."""

    set: str
    case: str
    """What it is called on the page."""
    name: str
    """The queue's name, or the token bucket's."""
    path: Path
    cause: str = ""
    """What else there is, of `CAUSES`."""


@dataclass(frozen=True)
class Told:
    """What was said of a probe."""

    set: str
    case: str
    name: str
    cause: str
    verdict: str
    best: str | None
    """The most probable name; None where nothing can be said."""
    share: float
    is_new: bool
    causes: Mapping[str, float]
    megabytes: float
    rate_mbps: float

    @property
    def right(self) -> bool:
        """Whether the most probable name is right."""
        return self.best == self.name

    @property
    def right_family(self) -> bool:
        """Whether its family is."""
        return self.best is not None and FAMILIES[self.best] == FAMILIES[self.name]


def probes() -> Iterator[Probe]:
    """Return what is probed."""
    yield from _held_out()
    for rate, limit in itertools.product((1.5, 3, 6, 10, 20, 40), (300, 500, 1000)):
        yield _on(DEEP, "droptail", {"limit": f"{limit} packets"}, rate, 40)
    for name, queue in _QUEUES.items():
        for loss in (0.0005, 0.003, 0.01, 0.03):
            yield _on(LOSSY, name, queue, 15, 30, cause=LOSS, link={"loss": loss})
        for flows in (1, 2, 5):
            others = {"name": "others", "rtt": "30 ms", "flows": flows, "control": "cubic", "transport": "linux"}
            yield _on(SHARED, name, queue, 15, 30, cause=BULK, others=others)
    for kind, rate, burst in itertools.product(("policer", "shaper"), (4, 20, 60), ("16 kB", "100 kB", "1 MB")):
        bucket = {kind: {"rate": f"{rate} Mbit/s", "burst": burst}, "rate": "1 Gbit/s"}
        yield _on(BUCKETS, kind, {"limit": "300 packets"}, rate, 25, link=bucket)


def _held_out() -> Iterator[Probe]:
    for line in catalogue()["lines"]:
        for of in (crossed(line["name"], side) for side in SIDES):
            if is_held_out(of.line) and of.rate_mbps <= FASTEST_MBPS:
                yield Probe(LINES, f"{of.line} {of.side}", of.name, of.path, LOSS if of.path.loss > 0 else "")


def _on(
    set_: str,
    name: str,
    queue: Mapping[str, Any],
    rate: float,
    rtt_ms: float,
    *,
    cause: str = "",
    link: Mapping[str, Any] | None = None,
    others: Mapping[str, Any] | None = None,
) -> Probe:
    kind = name if name in _QUEUES else "droptail"
    table = {"rate": f"{rate} Mbit/s", "queue": {"kind": kind, **queue}, **(link or {})}
    extra = {key: value for key, value in (link or {}).items() if key != "rate"} | (
        {"flows": others["flows"]} if others else {}
    )
    words = ", ".join(f"{key} {value}" for key, value in {**queue, **extra}.items() if key != "preset")
    case = f"{name} at {rate:g} Mbit/s" + (f": {words}" if words else "")
    return Probe(set_, case, name, Path({"bottleneck": table}, f"{rtt_ms} ms", [others] if others else []), cause)


def told(probe_: Probe) -> Told:
    """Return what `sojourn detect` says of a probe, with the model of the package."""
    model = load_model()
    seen = probe(over(probe_.path, 1), decided=decided(model), rtt_ms=lambda: probe_.path.rtt_ms)
    said = answer(seen, model)
    judged = said.judgement
    best = None if judged is None else judged.best
    return Told(
        probe_.set,
        probe_.case,
        probe_.name,
        probe_.cause,
        said.verdict,
        best,
        0.0 if judged is None or best is None else judged.names[best],
        said.is_new,
        said.causes,
        said.sent_bytes / 1e6,
        seen.rate_bps / 1e6,
    )


def collect(jobs: int) -> list[Told]:
    """Probe them all."""
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(told, probes(), chunksize=4))
