"""The time series of one run as arrays, in bins wide enough to draw."""

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sojourn import networks

if TYPE_CHECKING:
    import pyarrow as pa

    from sojourn.measured import Measured

Array = npt.NDArray[np.float64]

BOTTLENECK = "bottleneck"
_NICE = (1, 2, 5)


class Series:
    """Queue and flows of one run of a result, binned for drawing."""

    def __init__(self, result: "Measured", run: int, drawn_bins: int) -> None:
        if result.bin_s is None:
            raise ValueError("these runs kept no time series: see `series` of `Scenario.run`")
        self.result = result
        self.bin_s = result.bin_s
        self.record = result.runs[run]
        self.groups = result.groups
        self.crossing = networks.crossing(result.native)
        """Groups whose data crosses the bottleneck."""
        self.duration_s = float(self.record.duration_s)
        self.merged = _nice_factor(self.duration_s / result.bin_s / drawn_bins)
        self.step_s = result.bin_s * self.merged
        self._fine = math.ceil(round(self.duration_s / result.bin_s, 6))

    @property
    def edges_s(self) -> Array:
        """Times at which the bins begin, and the end of the run."""
        begins = np.arange(math.ceil(self._fine / self.merged)) * self.step_s
        return np.append(begins, self.duration_s)

    @property
    def times_s(self) -> Array:
        """Where the values of the bins are drawn: in their middle, the first and the last at the ends of the run."""
        edges = self.edges_s
        middle = (edges[:-1] + edges[1:]) / 2
        return np.concatenate(([0.0], middle[1:-1], [self.duration_s])) if len(middle) > 1 else middle

    @property
    def links(self) -> list[str]:
        """Names of the links whose queues were watched; the bottleneck is one of them."""
        return _categories(self.result.queue, "link")

    def queue_ms(self, link: str = BOTTLENECK) -> Array:
        """Mean time that packets which left in each bin had spent in a link's queue, in ms."""
        queue_ms, departures = self._queue("queue_ms", link), self._queue("departures", link)
        # Where nobody counted packets the delay is that of pings, each as good as the other.
        departures = np.where(np.isnan(departures), ~np.isnan(queue_ms), departures)
        waited = self._merge(np.nan_to_num(queue_ms) * departures)
        total = self._merge(departures)
        return np.divide(waited, total, out=np.full_like(total, np.nan), where=total > 0)

    def queue_probes(self) -> dict[str, Array]:
        """Return what the bottleneck's discipline showed at the end of each bin, by name."""
        table = _of_seed(self.result.queue_probes, self.record.seed)
        table = table.filter(_codes(table, "link") == _categories(table, "link").index(BOTTLENECK))
        codes, bins, values = _codes(table, "name"), self._bin_of(table), table["value"].to_numpy()
        found = {}
        for code, name in enumerate(_categories(table, "name")):
            chosen = codes == code
            if chosen.any():
                fine = np.full(self._fine, np.nan)
                fine[bins[chosen]] = values[chosen]
                found[name] = fine[self._last]
        return found

    def sent_mbps(self) -> Array:
        """Rate at which the bottleneck sent, in Mbit/s."""
        return self._per_second(self._queue("sent_bytes")) * 8 / 1e6

    def capacity_mbps(self) -> Array:
        """Rate at which the bottleneck could have sent, in Mbit/s."""
        megabits = np.asarray(self.result.capacity_mbps(self.bin_s)) * self._fine_widths_s
        return self._per_second(megabits)

    def delivered_mbps(self, group: str) -> Array:
        """Rate at which payload reached each receiver of a group, in Mbit/s: one row for each flow."""
        rows = self._of_group(group, "delivered_bytes")
        return np.array([self._per_second(row) for row in rows]) * 8 / 1e6

    def window_packets(self, group: str) -> Array:
        """Congestion window of each flow of a group at the end of each bin, in segments: one row for each flow."""
        rows = self._of_group(group, "cwnd_packets")
        return rows[:, self._last]

    def one_way_delay_ms(self, group: str) -> Array:
        """Mean one-way delay of each flow of a group at the end of each bin, nan without arrivals: one row for each."""
        rows = self._of_group(group, "one_way_delay_ms")
        return rows[:, self._last]

    def rtt_ms(self, group: str) -> Array:
        """Mean round-trip time of each flow of a group in each bin, nan without any: one row for each flow."""
        fine = self._of_group(group, "rtt_ms")
        return np.array([self._mean_of_known(row) for row in fine])

    def _mean_of_known(self, fine: Array) -> Array:
        count = self._merge((~np.isnan(fine)).astype(np.float64))
        total = self._merge(np.nan_to_num(fine))
        return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)

    @property
    def _last(self) -> npt.NDArray[np.int64]:
        """The last fine bin of each bin that is drawn."""
        return np.append(np.arange(self.merged, self._fine, self.merged), self._fine) - 1

    def _of_group(self, group: str, column: str) -> Array:
        table = self._flows
        chosen = _codes(table, "group") == _categories(table, "group").index(group)
        flow = table["index"].to_numpy()[chosen].astype(int)
        values = np.zeros((flow.max() + 1, self._fine))
        values[flow, self._bin_of(table)[chosen]] = table[column].to_numpy()[chosen]
        return values

    @functools.cached_property
    def _flows(self) -> "pa.Table":
        return _of_seed(self.result.flows, self.record.seed)

    @functools.cached_property
    def _fine_widths_s(self) -> Array:
        begins = np.arange(self._fine) * self.bin_s
        return np.asarray(np.minimum(self.bin_s, self.duration_s - begins), dtype=np.float64)

    def _queue(self, column: str, link: str = BOTTLENECK) -> Array:
        table = _of_seed(self.result.queue, self.record.seed)
        table = table.filter(_codes(table, "link") == _categories(table, "link").index(link))
        values = np.zeros(self._fine)
        values[self._bin_of(table)] = table[column].to_numpy()
        return values

    def _bin_of(self, table: "pa.Table") -> npt.NDArray[np.int64]:
        return np.asarray(np.rint(table["time_s"].to_numpy() / self.bin_s), dtype=np.int64)

    def _merge(self, fine: Array) -> Array:
        return np.asarray(np.add.reduceat(fine, np.arange(0, self._fine, self.merged)), dtype=np.float64)

    def _per_second(self, fine: Array) -> Array:
        return self._merge(fine) / self._merge(self._fine_widths_s)


def _of_seed(table: "pa.Table", seed: int) -> "pa.Table":
    return table.filter(table["seed"].to_numpy() == seed)


def _codes(table: "pa.Table", column: str) -> npt.NDArray[Any]:
    codes: npt.NDArray[Any] = table[column].combine_chunks().indices.to_numpy()
    return codes


def _categories(table: "pa.Table", column: str) -> list[str]:
    names: list[str] = table[column].combine_chunks().dictionary.to_pylist()
    return names


def _nice_factor(wanted: float) -> int:
    """Return the smallest of 1, 2, 5, 10, 20 ... that is at least `wanted`.

    >>> [_nice_factor(wanted) for wanted in (0.1, 1.5, 5, 7, 120)]
    [1, 2, 5, 10, 200]
    """
    power = 1
    while True:
        for digit in _NICE:
            if digit * power >= wanted:
                return digit * power
        power *= 10
