"""What a study's numbers are shown in: the same unit in text, table, figure and claim."""

from dataclasses import dataclass

from sojourn.data import metrics
from sojourn.data.statistics import wilson
from sojourn.study.numbers import Number


@dataclass(frozen=True)
class Unit:
    """How a metric is shown."""

    name: str = ""
    scale: float = 1.0
    """What a dataset's number is multiplied by."""
    digits: int = 1
    label: str = ""
    """The metric in words, for axes of figures."""
    part: bool = False
    """Whether it is a part of cases, each of which counts 0 or 1: shown with its 95 % interval."""

    def number(self, number: Number) -> str:
        """Return a number of this unit, with its deviation, or as a part with its interval (Wilson's).

        >>> Unit("%", 100, 0, part=True).number(Number(60, 49, 30))
        '60 (42 to 75)'
        """
        if not self.part:
            return number.text(self.digits)
        low, high = (self.scale * end for end in wilson(number.mean / self.scale, number.runs))
        return f"{number.mean:.{self.digits}f} ({low:.{self.digits}f} to {high:.{self.digits}f})"

    def text(self, value: float) -> str:
        """Return a value with its unit.

        >>> Unit("%", 100).text(98.25)
        '98.2 %'
        """
        return f"{value:.{self.digits}f} {self.name}".rstrip()

    @property
    def title(self) -> str:
        """Return the label of an axis."""
        return f"{self.label} [{self.name}]" if self.name else self.label


_WORDS = {
    "share": "share of the link",
    "drop_rate": "packets dropped",
    "bottleneck_utilization": "utilization",
    "bottleneck_drop_rate": "packets dropped at the bottleneck",
    "bottleneck_queue_packets_mean": "mean queue",
    "bottleneck_queue_ms_mean": "mean queueing delay",
    "jain": "Jain's index",
    "jain_all": "Jain's index of all flows",
}
"""What studies call the metrics that most of them show; others have their names."""
_INDEX_DIGITS = 3


def unit_of(metric: str) -> Unit:
    """Return what a metric is shown in, as the registry of metrics has it.

    >>> unit_of("share").name, unit_of("bottleneck_queue_ms_mean").name, unit_of("jain").digits
    ('%', 'ms', 3)
    """
    words = _WORDS.get(metric, metric.replace("_", " "))
    registered = metrics.find(metric)
    if registered is None or registered.unit in {metrics.FRACTION, metrics.COUNT}:
        shown_in_percent = registered is not None and registered.percent
        return Unit("%", 100.0, 1, words) if shown_in_percent else Unit("", 1.0, _INDEX_DIGITS, words)
    return Unit(registered.unit, 1.0, 1, words)
