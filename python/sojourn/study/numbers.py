"""A number of a study: a mean over runs with its spread."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sojourn.data.statistics import CONFIDENCE, statistic, student_quantile


@dataclass(frozen=True)
class Number:
    """A mean over runs, their standard deviation, and how many there were."""

    mean: float
    sd: float
    runs: int
    values: tuple[float, ...] = ()
    """What each run gave, in the order of the seeds, where the sweep keeps that."""

    @classmethod
    def of(cls, values: Sequence[float | None]) -> "Number":
        """Return the number of some runs; where one of them has no value it is not a number.

        >>> Number.of([1.0, 3.0]).mean, Number.of([1.0, None]).runs
        (2.0, 1)
        """
        found = statistic(values)
        return cls(math.nan if found["mean"] is None else found["mean"], found["sd"] or 0.0, found["n"])

    @classmethod
    def by_run(cls, values: Sequence[float | None]) -> "Number":
        """Return the same with what each run gave, which can be compared with another's, seed by seed.

        >>> Number.by_run([1.0, 3.0]).values
        (1.0, 3.0)
        """
        known = [None if value is None or math.isnan(value) else value for value in values]
        return replace(cls.of(known), values=tuple(math.nan if value is None else value for value in known))

    def times(self, factor: float) -> "Number":
        """Return it in another unit.

        >>> Number(0.5, 0.1, 3).times(100)
        Number(mean=50.0, sd=10.0, runs=3, values=())
        """
        if factor == 1.0:
            return self
        return Number(factor * self.mean, factor * self.sd, self.runs, tuple(factor * one for one in self.values))

    def text(self, digits: int = 1, scale: float = 1.0) -> str:
        """Return mean and standard deviation.

        >>> Number(0.4321, 0.01, 10).text(1, 100)
        '43.2 ± 1.0'
        """
        return f"{scale * self.mean:.{digits}f} ± {scale * self.sd:.{digits}f}"

    def above(self, other: "Number") -> bool:
        """Return whether it is larger by more than chance: by two standard errors of the difference.

        >>> Number(2.0, 0.1, 10).above(Number(1.0, 0.1, 10)), Number(2.0, 3.0, 10).above(Number(1.0, 3.0, 10))
        (True, False)
        """
        return self.mean - other.mean > 2 * self.error(other)

    def interval(self) -> tuple[float, float]:
        """Return Student's 95 % interval of the mean; where nothing varied, or there is one run, it has no width.

        >>> tuple(round(end, 2) for end in Number(2.0, 0.1, 5).interval())
        (1.88, 2.12)
        """
        return self.minus(Number(0.0, 0.0, 1))

    @property
    def half(self) -> float:
        """Return half of that interval.

        >>> round(Number(2.0, 1.0, 30).half, 3)
        0.373
        """
        low, high = self.interval()
        return (high - low) / 2

    def minus(self, other: "Number") -> tuple[float, float]:
        """Return Welch's 95 % interval of the difference of means.

        >>> tuple(round(end, 2) for end in Number(2.0, 0.1, 5).minus(Number(1.0, 0.2, 5)))
        (0.75, 1.25)
        """
        squares = [(one.sd**2 / max(one.runs, 1), max(one.runs - 1, 1)) for one in (self, other)]
        error = self.error(other)
        if error == 0.0:
            return self.mean - other.mean, self.mean - other.mean
        freedom = error**4 / sum(square**2 / degrees for square, degrees in squares)
        half = student_quantile(0.5 + CONFIDENCE / 2, freedom) * error
        return self.mean - other.mean - half, self.mean - other.mean + half

    def surely_above(self, other: "Number") -> bool:
        """Return whether the whole 95 % interval of the difference lies above zero.

        >>> Number(2.0, 0.1, 3).surely_above(Number(1.0, 0.1, 3)), Number(2.0, 0.5, 3).surely_above(Number(1.0, 0.5, 3))
        (True, False)
        """
        return self.minus(other)[0] > 0.0

    def error(self, other: "Number") -> float:
        """Return the standard error of the difference."""
        return math.sqrt(self.sd**2 / max(self.runs, 1) + other.sd**2 / max(other.runs, 1))
