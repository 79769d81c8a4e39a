"""Logs of cake-autorate: what a line with a varying rate carried and how long packets waited, a few times a second.

The columns are those that the log's own header names, since versions differ.
"""

from collections.abc import Mapping

import numpy as np

from sojourn.imported.line import DOWN, UP, Estimate, Imported, Way
from sojourn.imported.recorded import opportunities
from sojourn.imported.registry import Kind, Source
from sojourn.reading import input_error

_HEADER, _DATA = "DATA_HEADER", "DATA"
_TIME, _BASE = "LOG_TIMESTAMP", {UP: "UL_OWD_BASELINE", DOWN: "DL_OWD_BASELINE"}
_DELTA = {UP: "UL_OWD_DELTA_US", DOWN: "DL_OWD_DELTA_US"}
_CARRIED = {UP: "UL_ACHIEVED_RATE_KBPS", DOWN: "DL_ACHIEVED_RATE_KBPS"}
_SHAPED = {UP: "CAKE_UL_RATE_KBPS", DOWN: "CAKE_DL_RATE_KBPS"}
_LEAST_ROWS = 20
# A line that carries so much of what the shaper lets pass is full; what it carries is the shaper's rate or its own.
_FULL = 0.75
_LONGEST_S = 600.0
# Clocks that are set while the log is written jump.
_JUMP_S = 60.0
_STEADY = 1.1
_MOST = 1e15


def _rows(source: Source) -> tuple[Mapping[str, int], list[list[str]], int]:
    columns: dict[str, int] = {}
    rows, spoilt = [], 0
    for line in source.text.splitlines():
        cells = [one.strip() for one in line.split(";")]
        if cells[0] == _HEADER:
            columns = {name: place for place, name in enumerate(cells)}
        elif cells[0] == _DATA and columns:
            if len(cells) == len(columns):
                rows.append(cells)
            else:
                spoilt += 1
    if not columns:
        raise input_error(f"has no line {_HEADER}: set output_processing_stats=1", file=source.name)
    needed = (_TIME, *_CARRIED.values(), *_SHAPED.values())
    missing = [name for name in needed if name not in columns]
    if missing:
        raise input_error(f"its header has no {', '.join(missing)}", file=source.name, found="a header without it")
    if len(rows) < _LEAST_ROWS:
        message = f"holds {len(rows)} lines of data; at least {_LEAST_ROWS} are needed"
        raise input_error(message, file=source.name, found=str(len(rows)))
    return columns, rows, spoilt


def _column(columns: Mapping[str, int], rows: list[list[str]], name: str) -> np.ndarray:
    if name not in columns:
        return np.full(len(rows), np.nan)
    values = []
    for cells in rows:
        try:
            value = float(cells[columns[name]])
        except ValueError:
            value = float("nan")
        values.append(value if 0 <= value < _MOST else float("nan"))
    return np.array(values)


def _read(source: Source) -> Imported:
    columns, rows, spoilt = _rows(source)
    timed = ~np.isnan(_column(columns, rows, _TIME))
    spoilt += int((~timed).sum())
    rows = [one for one, has_time in zip(rows, timed, strict=True) if has_time]
    if len(rows) < _LEAST_ROWS:
        message = f"holds {len(rows)} lines with a time; at least {_LEAST_ROWS} are needed"
        raise input_error(message, file=source.name, found=str(len(rows)))
    times = _column(columns, rows, _TIME)
    remarks = ["What the line could carry is known only while it was full: a shaper before it hides the rest."]
    if spoilt:
        remarks.append(f"{spoilt} lines are cut short or spoilt, and were left out.")
    steps = np.diff(times)
    jumps = np.flatnonzero((steps < 0) | (steps > _JUMP_S))
    if len(jumps):
        place = int(jumps[0])
        remarks.append(f"The clock jumps {steps[place]:.3g} s after line {place + 1} of the data: read to there.")
        rows, times = rows[: place + 1], times[: place + 1]
        if len(rows) < _LEAST_ROWS:
            message = f"its clock jumps after {len(rows)} lines; at least {_LEAST_ROWS} are needed"
            raise input_error(message, file=source.name, found=str(len(rows)))
    if times[-1] - times[0] > _LONGEST_S:
        keep = times - times[0] <= _LONGEST_S
        rows = [one for one, kept in zip(rows, keep, strict=True) if kept]
        times = times[keep]
        remarks.append(f"The first {_LONGEST_S:g} s of the log were read.")
    ways = {name: _way(name, columns, rows, times) for name in (UP, DOWN)}
    known = {name: way for name, way in ways.items() if way is not None}
    # A scenario has one recorded link: that which varies more.
    recorded = [name for name, way in known.items() if way.trace is not None]
    if len(recorded) > 1:
        rates = {name: _column(columns, rows, _SHAPED[name]) for name in recorded}
        kept = max(recorded, key=lambda name: float(np.nanstd(rates[name]) / np.nanmean(rates[name])))
        for name in recorded:
            if name != kept:
                known[name] = _steady(name, rates[name])
                remarks.append(f"The rate {name} varies as well, and is taken as its median.")
    bases = {name: _column(columns, rows, _BASE[name]) for name in (UP, DOWN)}
    least = sum(float(np.nanmin(one)) for one in bases.values() if not np.isnan(one).all()) / 1e3
    rtt = Estimate(least, "the least baselines of the reflectors, both ways together") if least > 0 else None
    return Imported("autorate", source.name, known, rtt, remarks=tuple(remarks))


def _steady(name: str, rates_kbps: np.ndarray) -> Way:
    rate = float(np.nanmedian(rates_kbps)) / 1e3
    low, high = (float(np.nanpercentile(rates_kbps, part)) / 1e3 for part in (5, 95))
    return Way(Estimate(rate, f"the median of CAKE's rate {name}", low, high), has_traffic=False)


def _way(name: str, columns: Mapping[str, int], rows: list[list[str]], times: np.ndarray) -> Way | None:
    shaped, carried = _column(columns, rows, _SHAPED[name]), _column(columns, rows, _CARRIED[name])
    full = carried >= _FULL * shaped
    if np.isnan(shaped).all() or np.nanmax(shaped) <= 0:
        return None
    low, high = (float(np.nanpercentile(shaped, part)) for part in (5, 95))
    if high <= _STEADY * low:
        return _steady(name, shaped)
    delta = _column(columns, rows, _DELTA[name])
    deepest = float(np.nanpercentile(delta, 99)) / 1e3 if not np.isnan(delta).all() else 0.0
    buffer = None
    if deepest > 1:
        buffer = Estimate(deepest, f"99 % of packets waited up to {deepest:.3g} ms", 0.9 * deepest, 3 * deepest)
    rates = np.where(full, carried, shaped)
    source = (
        f"{name}: CAKE's rate, and what was carried where that was at least {100 * _FULL:.0f} % of it; "
        f"{low / 1e3:.3g} to {high / 1e3:.3g} Mbit/s"
    )
    return Way(trace=opportunities(times, rates), trace_source=source, buffer_ms=buffer, has_traffic=False)


KIND = Kind(
    "autorate",
    "a log of cake-autorate",
    lambda one: f"{_HEADER};" in one.sample,
    _read,
)
