"""Which kinds of files can be read as a line. This is the only place that lists them; packages may add some."""

import dataclasses
import functools
import importlib
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from sojourn.imported.line import Imported
from sojourn.reading import check_regular, input_error, read_bytes, shown, unknown_name

GROUP = "sojourn.imports"
"""Entry points of packages: each is a `Kind`."""
MAX_BYTES = 512 << 20
_SAMPLE_BYTES = 1 << 16


@dataclass(frozen=True)
class Source:
    """A file, or what came through a pipe, unpacked where it was packed with gzip."""

    name: str
    data: bytes
    """The content; of a capture in a file only its begin, since it is read piece by piece."""
    path: Path | None = None

    @functools.cached_property
    def text(self) -> str:
        """The content as text; raises InputError where it is none."""
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            found = f"byte 0x{self.data[error.start]:02x}"
            raise input_error(f"not UTF-8 text: {found}", file=self.name, found=found, allowed="UTF-8 text") from None

    @property
    def sample(self) -> str:
        """The begin of it as text, whatever it is."""
        return self.data[:_SAMPLE_BYTES].decode("utf-8", errors="replace")


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    name: str
    summary: str
    """What writes such a file, in a few words."""
    is_it: Callable[[Source], bool]
    """Whether a file looks like one."""
    read: Callable[[Source], Imported]
    """Raises InputError for a file that says nothing of a line."""


_OWN = {
    "capture": "sojourn.imported.capture:KIND",
    "flent": "sojourn.imported.speedtests:FLENT",
    "iperf3": "sojourn.imported.speedtests:IPERF3",
    "ndt7": "sojourn.imported.speedtests:NDT7",
    "autorate": "sojourn.imported.autorate:KIND",
    "tc": "sojourn.imported.tc:KIND",
    "sqm": "sojourn.imported.sqm:KIND",
    "mahimahi": "sojourn.imported.mahimahi:KIND",
}


@functools.cache
def kinds() -> Mapping[str, Kind]:
    """Return all kinds by name, in the order in which files are tried."""
    found: dict[str, Kind] = {}
    for name, place in _OWN.items():
        module, _, attribute = place.partition(":")
        found[name] = getattr(importlib.import_module(module), attribute)
    for entry in entry_points(group=GROUP):
        found.setdefault(entry.name, entry.load())
    return found


def read(source: str, kind: str | None = None, way: str | None = None) -> Imported:
    """Read a measurement or settings of a router as a line.

    Parameters
    ----------
    source
        A file, or "-" for standard input.
    kind
        One of `kinds()`; None finds out.
    way
        "up" or "down", where the file shows one direction and does not say which; None for what is likely.

    Raises
    ------
    InputError
        The file is of no known kind, is damaged, or says nothing of a line.
    """
    known = kinds()
    if kind is not None and kind not in known:
        raise unknown_name("no kind of measurement is called", kind, list(known))
    given = _opened(source)
    if not given.data.strip():
        raise input_error("is empty", file=given.name, found="0 bytes")
    chosen = known[kind] if kind is not None else _found_out(given, known)
    found = chosen.read(given)
    if way is None:
        return found
    if len(found.ways) > 1:
        raise input_error("shows both directions; allowed: no way", file=given.name, key="way", found=way)
    (only,) = found.ways.values()
    return dataclasses.replace(found, ways={way: only})


def _found_out(given: Source, known: Mapping[str, Kind]) -> Kind:
    """Return the kind of a file by what it holds; raises InputError."""
    for one in known.values():
        if one.is_it(given):
            return one
    allowed = "; ".join(f"{name} ({one.summary})" for name, one in known.items())
    begin = shown(given.sample.lstrip()[:40])
    message = f"begins with {begin}, which is none of the kinds that are known: {allowed}. --kind names one"
    raise input_error(message, file=given.name, found=begin, allowed=allowed)


def _opened(source: str) -> Source:
    if source == "-":
        data, name = sys.stdin.buffer.read(MAX_BYTES + 1), "standard input"
        if len(data) > MAX_BYTES:
            raise input_error(f"too large: more than {MAX_BYTES} bytes", file=name, allowed=f"at most {MAX_BYTES}")
    else:
        path, name = Path(source), source
        check_regular(path, "a measurement")
        with path.open("rb") as file:
            begin = file.read(_SAMPLE_BYTES)
        if kinds()["capture"].is_it(Source(name, begin)):
            return Source(name, begin, path)
        data = read_bytes(path, "a measurement", MAX_BYTES)
    if data[:2] == b"\x1f\x8b":
        unpacking = zlib.decompressobj(wbits=31)
        try:
            unpacked = unpacking.decompress(data, MAX_BYTES + 1)
        except zlib.error as error:
            raise input_error(f"cannot be unpacked: {error}", file=name) from None
        if not unpacking.eof and len(unpacked) <= MAX_BYTES:
            raise input_error("is cut short: not all of it can be unpacked", file=name)
        if len(unpacked) > MAX_BYTES:
            raise input_error(f"too large: more than {MAX_BYTES} bytes", file=name, allowed=f"at most {MAX_BYTES}")
        return Source(name, unpacked)
    return Source(name, data)
