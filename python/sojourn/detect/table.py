"""The table of a queue as a probe found it: its name, the parameters that were read, and what has to be guessed."""

from collections.abc import Mapping
from typing import Any

from sojourn.detect.draw import SAME
from sojourn.detect.model import Reading
from sojourn.detect.plan import FULL_BYTES

NO_QUEUE = ("policer", "shaper")
"""Names that are no queue: how large a token bucket is cannot be read from a probe."""
_UNITS = {"ms": "ms", "packets": "packets", "bytes": "B"}
_WHOLE = ("packets", "B")
# SFQ of Linux has no room for more.
_MOST = {"sfq": 127}
_LEAST = 2
_RED_APART_BYTES = 3 * FULL_BYTES


def queue_table(
    name: str, parameters: Mapping[str, Reading], deepest_ms: float | None, rate_mbps: float | None
) -> dict[str, Any] | None:
    """Return the table of a queue; None for what is no queue.

    Parameters
    ----------
    name
        The name that was found.
    parameters
        What was read, with the units in the names.
    deepest_ms, rate_mbps
        The longest wait and the rate of the line, from which a limit follows that was not read.
    """
    if name in NO_QUEUE:
        return None
    table: dict[str, Any] = {"kind": name, **SAME.get(name, {})}
    for key, read in parameters.items():
        word, _, suffix = key.rpartition("_")
        unit = _UNITS.get(suffix)
        if unit is None:
            table[key] = read.value
        else:
            table[word] = _amount(read.value, unit, _MOST.get(name))
    if "limit" not in table and name in ("droptail", "red") and deepest_ms and rate_mbps:
        # What was seen to wait is the least that there is room for.
        table["limit"] = _amount(deepest_ms * 1e3 * rate_mbps / 8 / FULL_BYTES, "packets", None)
    if name == "red" and "min_bytes" in parameters and "max_bytes" in parameters:
        # Each is read for itself, and tc makes a burst of both that must be longer than min.
        most = max(parameters["max_bytes"].value, 2 * _RED_APART_BYTES)
        least = min(parameters["min_bytes"].value, 0.9 * most, most - _RED_APART_BYTES)
        table |= {"min": _amount(least, "B", None), "max": _amount(most, "B", None)}
    return table


def _amount(value: float, unit: str, most: int | None) -> str:
    if unit not in _WHOLE:
        return f"{value:.6g} {unit}"
    whole = max(_LEAST, round(value))
    return f"{whole if most is None else min(whole, most)} {unit}"
