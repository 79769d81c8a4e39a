"""Numbers of `tc` with their units, as a scenario says them (tc(8))."""

import re
from collections.abc import Mapping
from typing import Any

from sojourn.reading import input_error, shown

NUMBER = re.compile(r"([0-9]{1,15}(?:\.[0-9]{0,15})?(?:e-[0-9]{1,3})?)([A-Za-z%]*)")
TIMES_S = {"us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0}
RATES_BPS = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "tbit": 1e12, "bps": 8.0, "kbps": 8e3, "mbps": 8e6}
SIZES_B = {"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30}
_PARTS = {"percent": 100, "sixteenths": 16}


def quantity(text: str, unit: str, where: str) -> Any:
    """Return a number as a scenario says it; without a suffix it has the word's own unit. Raises InputError.

    >>> quantity("5mbit", "rate", "line 1: rate"), quantity("100us", "ms", "line 1: target")
    ('5 Mbit/s', '100 us')
    """
    match = NUMBER.fullmatch(text)
    if match is None:
        raise input_error(f"{where}: found {shown(text)}; allowed: a number with its unit", found=text)
    number, suffix = float(match[1]), match[2].lower()
    if unit in ("us", "ms", "s"):
        return _time(number * _scaled(TIMES_S, suffix or unit, f"{where}: found {shown(text)}"))
    if unit in _PARTS:
        return number / _PARTS[unit]
    if unit == "number":
        number *= SIZES_B.get(suffix, 1)
        return int(number) if number.is_integer() else number
    return _sized(number, suffix, unit, f"{where}: found {shown(text)}")


def _sized(number: float, suffix: str, unit: str, where: str) -> str:
    if unit == "rate":
        return f"{number * _scaled(RATES_BPS, suffix or 'bit', where) / 1e6:.12g} Mbit/s"
    if unit in ("packets", "full packets"):
        return f"{number:.12g} packets"
    return f"{number * _scaled(SIZES_B, suffix, where):.12g} B"


def _scaled(units: Mapping[str, float], suffix: str, where: str) -> float:
    if suffix not in units:
        raise input_error(f"{where}; allowed: a number with {', '.join(filter(None, units))}", found=suffix)
    return units[suffix]


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.12g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.12g} us"  # noqa: PLR2004
