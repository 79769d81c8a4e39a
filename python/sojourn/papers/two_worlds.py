"""The same cases on the Linux kernel and simulated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.papers.measures import Key, Results, measure
from sojourn.study.lab import Lab
from sojourn.study.numbers import Number

KERNEL, SIM = "kernel", "simulated"
WORLDS = (KERNEL, SIM)
# PIE's 15 ms on user-mode Linux: two ticks of 10 ms, and the one more that a kernel's timer waits so as not to be early
# (docs/validation/kernel-conformance.md).
_PIE_UPDATE = "30 ms"
# PIE leaves alone what is less than two of the device's largest frames. Here its bytes are counted without the 14 of
# Ethernet, so that two full packets are less.
_LARGEST_FRAME = 1514
_QUEUE = "bottleneck.queue"


@dataclass(frozen=True)
class Both:
    """What the same cases measured in both worlds."""

    found: Mapping[str, Results]

    def number(self, world: str, key: Key, metric: str, group: str, scale: float = 1.0) -> Number:
        """Return a metric of a case over its runs, times `scale`."""
        number = self.found[world].number(key, metric, group)
        return Number(scale * number.mean, scale * number.sd, number.runs)


def measure_both(
    lab: Lab,
    name: str,
    scenario: Mapping[str, Any],
    cases: Mapping[Key, Mapping[str, Any]],
    runs: Mapping[str, int],
) -> Both:
    """Run every case in both worlds, in each as many times as `runs` says."""
    real = measure(lab, f"{name}-kernel", scenario, cases, seeds=runs[KERNEL], backend="linux")
    told = {key: _simulated(changes) for key, changes in cases.items()}
    return Both({KERNEL: real, SIM: measure(lab, f"{name}-sim", scenario, told, seeds=runs[SIM])})


def _simulated(changes: Mapping[str, Any]) -> Mapping[str, Any]:
    queue = changes.get(_QUEUE)
    return changes if queue is None else {**changes, _QUEUE: pie_as_on_the_kernel(queue)}


def pie_as_on_the_kernel(queue: Mapping[str, Any]) -> dict[str, Any]:
    """Return a discipline for a simulation, PIE with the timer and the frames that user-mode Linux has."""
    if queue["kind"] != "pie":
        return dict(queue)
    return {**queue, "update": _PIE_UPDATE, "mean_packet": _LARGEST_FRAME}
