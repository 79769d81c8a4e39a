"""Recorded links: a time in ms per line, each a chance to send a full packet, as Mahimahi and Sojourn have them."""

import re

from sojourn.imported.line import DOWN, FULL_BYTES, UP, Imported, Way
from sojourn.imported.registry import Kind, Source
from sojourn.reading import input_error, shown

_NUMBERS = re.compile(r"\s*(\d+\s*\n\s*){3,}\d*\s*")


def _read(source: Source) -> Imported:
    times: list[int] = []
    for number, line in enumerate(source.text.split("\n"), 1):
        text = line.strip()
        if not text:
            continue
        if not text.isdecimal():
            found = shown(text[:40])
            allowed = "a whole number of ms"
            raise input_error(f"found {found}; allowed: {allowed}", file=source.name, line=number, found=found)
        if times and int(text) < times[-1]:
            raise input_error("a time before the one above it", file=source.name, line=number, found=text)
        times.append(int(text))
    if not times or times[-1] == 0:
        raise input_error("holds no link: the last time must be later than 0 ms", file=source.name)
    mean = len(times) * FULL_BYTES * 8 / times[-1] / 1e3
    name = DOWN if "down" in source.name.lower() else UP
    way = Way(trace=times, trace_source=f"{name}: the file itself, {mean:.3g} Mbit/s in the mean")
    remarks = (
        f"The file does not say of which direction it is: taken as {name} (--way).",
        "Its packets waited in a buffer that the file does not show.",
    )
    return Imported("mahimahi", source.name, {name: way}, remarks=remarks)


KIND = Kind(
    "mahimahi",
    "a recorded link: a time in ms per line",
    lambda one: _NUMBERS.match(one.sample[:4096]) is not None,
    _read,
)
