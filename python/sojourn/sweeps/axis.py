"""What an axis may hold: a list of values, or a range of numbers or of quantities with a unit."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.reading import shown

_NUMBER = re.compile(r"\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*(.*)", flags=re.S)
_END = r"([-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"
_TEXT = re.compile(rf"\s*([^=]+?)\s*=\s*{_END}\s*([A-Za-z/]*)\s*\.\.\s*{_END}\s*([A-Za-z/]*)\s*")
_TEXT_FORM = "KEY=FROM..TO with a unit, such as bottleneck.rate=8..10 Mbit/s"
_RANGE_KEYS = ("from", "to", "count", "step", "scale", "whole")
_SCALES = ("linear", "log")
_WHOLE = ("packets", "packet", "B")
_RANGE = '{ from = "1 Mbit/s", to = "16 Mbit/s", count = 5, scale = "log" }'
MAX_VALUES = 1_000_000


class AxisError(Exception):
    """An axis is wrong: what was found, and what is allowed."""

    def __init__(self, found: str, allowed: str) -> None:
        super().__init__(f"{found}; allowed: {allowed}")
        self.found = found
        self.allowed = allowed


@dataclass(frozen=True)
class Range:
    """Numbers from one end to the other, in one unit; a sample takes any, an axis evenly spaced ones."""

    low: float
    high: float
    unit: str
    logarithmic: bool
    whole: bool

    def at(self, part: float, digits: int = 12) -> int | float | str:
        """Return the value at a part, 0 to 1, of the range.

        Twelve digits hide what binary fractions add to 0.1 + 0.2 and keep all that anyone means.

        >>> Range(1, 100, "Mbit/s", logarithmic=True, whole=False).at(0.5)
        '10 Mbit/s'
        """
        if self.logarithmic:
            number = self.low * (self.high / self.low) ** part
        else:
            number = self.low + (self.high - self.low) * part
        if self.whole:
            number = round(number)
        text = format(number, f".{digits}g")
        if self.unit:
            return f"{text} {self.unit}"
        # A large whole number is written with an exponent.
        return int(float(text)) if self.whole else float(text)


def values(given: Any) -> list[Any]:
    """Return the values of an axis that lists them or gives a range.

    >>> values([1, 2]), values({"from": "50 ms", "to": "150 ms", "step": "50 ms"})
    ([1, 2], ['50 ms', '100 ms', '150 ms'])
    >>> values({"from": 1, "to": 8, "count": 4, "scale": "log"})
    [1, 2, 4, 8]
    """
    if isinstance(given, list):
        if not given:
            raise AxisError("an empty list", "at least one value")
        return given
    if not isinstance(given, Mapping):
        raise AxisError(shown(given), f"a list of values, or a range such as {_RANGE}")
    span = read_range(given)
    return [span.at(part) for part in _parts(span, given)]


def read_range(given: Mapping[str, Any]) -> Range:
    """Return the range that a table describes."""
    for key in given:
        if key not in _RANGE_KEYS:
            raise AxisError(f"the unknown key {key!r}", f"{', '.join(_RANGE_KEYS)}, such as {_RANGE}")
    for key in ("from", "to"):
        if key not in given:
            raise AxisError(f"a range without {key!r}", _RANGE)
    (low, unit), (high, other) = _number(given["from"]), _number(given["to"])
    scale = given.get("scale", "linear")
    if scale not in _SCALES:
        raise AxisError(f"the scale {shown(scale)}", '"linear" or "log"')
    _check_ends(f"from {shown(given['from'])} to {shown(given['to'])}", (low, high), (unit, other), scale)
    whole = given.get("whole", all(isinstance(given[key], int) for key in ("from", "to")))
    if not isinstance(whole, bool):
        raise AxisError(f"whole = {shown(whole)}", "true or false")
    return Range(low, high, unit, scale == "log", whole)


def of_text(text: str) -> tuple[tuple[str, ...], Range]:
    """Return the keys that take a value of a range together, and the range, of a text such as an option has.

    Between ends above zero it is logarithmic: such keys are rates, times and sizes. Raises AxisError.

    >>> keys, span = of_text("bottleneck.rate=4..16 Mbit/s")
    >>> keys, span.at(0.5)
    (('bottleneck.rate',), '8 Mbit/s')
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise AxisError(shown(text), _TEXT_FORM)
    keys, low, first, high, unit = match.groups()
    if first and first != unit:
        raise AxisError(shown(text), f"both ends in the same unit: {_TEXT_FORM}")
    ends = (float(low), float(high))
    whole = unit in ("", *_WHOLE) and all(one.isdecimal() for one in (low, high))
    logarithmic = ends[0] > 0
    _check_ends(shown(text), ends, (unit, unit), "log" if logarithmic else "linear")
    return tuple(key.strip() for key in keys.split(",")), Range(*ends, unit, logarithmic, whole)


def _check_ends(found: str, ends: tuple[float, float], units: tuple[str, str], scale: str) -> None:
    low, high = ends
    if units[0] != units[1]:
        raise AxisError(found, "both ends in the same unit")
    if low > high:
        raise AxisError(found, "the lower end first")
    if scale == "log" and low <= 0:
        raise AxisError(f"a logarithmic range {found}", "ends above zero")
    if not math.isfinite(high / low if scale == "log" else high - low):
        raise AxisError(found, "ends that are not so far apart")


def _parts(span: Range, given: Mapping[str, Any]) -> list[float]:
    if ("count" in given) == ("step" in given):
        raise AxisError("a range with both or neither of 'count' and 'step'", _RANGE)
    if "count" in given:
        count = given["count"]
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MAX_VALUES:
            raise AxisError(f"a count of {shown(count)}", f"a whole number from 1 to {MAX_VALUES}")
        return [0.0] if count == 1 else [index / (count - 1) for index in range(count)]
    if span.logarithmic:
        raise AxisError("a logarithmic range with a step", "a count")
    step, unit = _number(given["step"])
    if unit != span.unit or step <= 0:
        raise AxisError(f"a step of {shown(given['step'])}", f"a step above zero in {span.unit or 'plain numbers'}")
    width = span.high - span.low
    if not width / step < MAX_VALUES:
        raise AxisError(f"a step of {shown(given['step'])}, which makes too many values", f"at most {MAX_VALUES}")
    # The last step may miss the end by a rounding error.
    steps = math.floor(width / step + 1e-9)
    return [step * index / width if width else 0.0 for index in range(steps + 1)]


def _number(given: Any) -> tuple[float, str]:
    if isinstance(given, int | float) and not isinstance(given, bool):
        return float(given), ""
    match = _NUMBER.fullmatch(given) if isinstance(given, str) else None
    if match is None or not math.isfinite(float(match[1])):
        raise AxisError(shown(given), 'a number, or a quantity such as "4 Mbit/s"')
    return float(match[1]), match[2].strip()
