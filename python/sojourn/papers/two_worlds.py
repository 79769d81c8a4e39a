"""The same cases on the Linux kernel and simulated."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.papers.lab import Lab
from sojourn.papers.measures import Key, Number, Results, measure

KERNEL, SIM = "kernel", "simulated"
WORLDS = (KERNEL, SIM)


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
    return Both({KERNEL: real, SIM: measure(lab, f"{name}-sim", scenario, cases, seeds=runs[SIM])})
