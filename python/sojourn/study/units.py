"""What a study's numbers are shown in: the same unit in text, table, figure and claim."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """How a metric is shown."""

    name: str = ""
    scale: float = 1.0
    """What a dataset's number is multiplied by."""
    digits: int = 1
    label: str = ""
    """The metric in words, for axes of figures."""

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


_PERCENT = {
    "share": "share of the link",
    "drop_rate": "packets dropped",
    "bottleneck_utilization": "utilization",
    "bottleneck_drop_rate": "packets dropped at the bottleneck",
}
_SUFFIXES = {"_ms": ("ms", 1), "_mbps": ("Mbit/s", 2), "_packets": ("packets", 1), "_bytes": ("B", 0), "_s": ("s", 2)}
_WORDS = {
    "bottleneck_queue_packets_mean": "mean queue",
    "bottleneck_queue_ms_mean": "mean queueing delay",
    "jain": "Jain's index",
    "jain_all": "Jain's index of all flows",
}


def unit_of(metric: str) -> Unit:
    """Return what a metric of a dataset is shown in.

    >>> unit_of("share").name, unit_of("bottleneck_queue_ms_mean").name, unit_of("jain").digits
    ('%', 'ms', 3)
    """
    if metric in _PERCENT:
        return Unit("%", 100.0, 1, _PERCENT[metric])
    words = _WORDS.get(metric, metric.replace("_", " "))
    for suffix, (name, digits) in _SUFFIXES.items():
        if metric.endswith(suffix) or f"{suffix}_" in metric:
            return Unit(name, 1.0, digits, words)
    return Unit("", 1.0, 3, words)
