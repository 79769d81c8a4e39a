"""How the page on the detector writes shares and tables."""

from collections.abc import Mapping, Sequence

import numpy as np


def share(values: Sequence[bool]) -> str:
    """Return how many of some flags hold."""
    return f"{sum(values)} of {len(values)} ({np.mean(values):.0%})" if values else "none"


def in_best(shares: Mapping[str, float], name: str, count: int) -> bool:
    """Return whether a name is among so many of the most probable ones."""
    return name in sorted(shares, key=lambda one: -shares[one])[:count]


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def calibration_error(said: Sequence[float], right: Sequence[bool]) -> float:
    """Return the mean difference between probability and share of right answers, in ten equal bins of probability."""
    if not said:
        return float("nan")
    places = np.minimum((np.array(said) * 10).astype(int), 9)
    apart = np.array(said) - np.array(right, dtype=float)
    return float(sum(abs(apart[places == place].sum()) for place in range(10)) / len(said))


def luck(said: Sequence[float], draws: int = 2000) -> tuple[float, float]:
    """Return the calibration error that probabilities show that are exactly right: the mean, and what 95 % keep."""
    random = np.random.default_rng(1)
    errors = [calibration_error(said, list(random.random(len(said)) < np.array(said))) for _ in range(draws)]
    return float(np.mean(errors)), float(np.quantile(errors, 0.95))
