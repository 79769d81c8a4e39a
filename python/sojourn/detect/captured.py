"""Where a download is read from: a capture, the folder of a result, or a table of packets."""

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn.detect.capture import HEADERS_BYTES, MAGICS, SUFFIXES, read_capture
from sojourn.detect.log import of_table
from sojourn.detect.streams import MAX_CONNECTIONS, Stream, of_capture, of_logs
from sojourn.faults import input_error
from sojourn.parquet import read_parquet

if TYPE_CHECKING:
    import pyarrow as pa

RECORD, PACKETS = "record.json", "packets.parquet"
_PARQUET = b"PAR1"
_TEXTS, _NUMBERS = ("event", "group", "kind", "ecn"), ("seed", "time_ns", "size_bytes", "sojourn_ns", "index", "seq")


def is_download(path: Path) -> bool:
    """Tell whether a path is something that a download can be read from, by its name or its first bytes."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return (path / RECORD).is_file()
        if path.suffix.lower() in (*SUFFIXES, ".parquet"):
            return True
        if not stat.S_ISREG(mode):
            return False
        with path.open("rb") as file:
            return file.read(4) in (*MAGICS, _PARQUET)
    except (OSError, ValueError):
        return path.suffix.lower() in SUFFIXES


def read_streams(path: Path) -> tuple[list[Stream], list[str]]:
    """Return the streams of a download, the largest first, and what was wrong with the file.

    Raises
    ------
    InputError
        There is no packet in it that can be used.
    """
    if path.is_dir():
        if not (path / PACKETS).is_file():
            message = f"holds no {PACKETS}; `sojourn run` writes it with --out and --packets"
            raise input_error(message, file=str(path), allowed="the folder of a result with packets, or a capture")
        path /= PACKETS
    if path.suffix.lower() == ".parquet":
        return _of_table(path)
    capture = read_capture(path)
    streams = of_capture(capture)
    if not streams:
        raise input_error("none of its packets carries data", file=str(path), allowed="a capture of a download")
    notes = [f"Only a part of the capture was read: {capture.damage}."] if capture.damage else []
    if capture.snapped_bytes is not None:
        notes.append(
            f"Packets were cut to {capture.snapped_bytes} bytes, which may cut off TCP's options, by which waits are "
            f"known: capture at least {HEADERS_BYTES} (tcpdump -s 128)."
        )
    if capture.total > MAX_CONNECTIONS:
        notes.append(f"Only the {MAX_CONNECTIONS} connections with the most bytes were looked at.")
    if capture.other:
        notes.append(f"{capture.other} packets are neither TCP nor UDP, or cut too short.")
    return streams, notes


def _of_table(path: Path) -> tuple[list[Stream], list[str]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    table = read_parquet([path], needs=(*_TEXTS, *_NUMBERS))
    for name in _NUMBERS:
        if not pa.types.is_integer(table.schema.field(name).type) or table[name].null_count:
            found = str(table.schema.field(name).type)
            message = f"its column {name!r} is of type {found}; allowed: whole numbers"
            raise input_error(message, file=str(path), key=name, found=found, allowed="whole numbers")
    if not len(table):
        raise input_error("holds no packets", file=str(path), found="0 packets", allowed="a table of packets")
    seed = table["seed"][0]
    kept = table.filter(pc.equal(table["seed"], seed))
    streams = of_logs(of_table(_coded(kept, path)))
    if not streams:
        message = "no packet of it was both sent and received"
        raise input_error(message, file=str(path), allowed="a table of packets of both ends")
    notes = [f"Only the run with seed {seed} was read."] if len(kept) < len(table) else []
    return streams, notes


def _coded(table: "pa.Table", path: Path) -> "pa.Table":
    """Return the table with its texts as codes and names."""
    import pyarrow as pa

    for name in _TEXTS:
        kind = table.schema.field(name).type
        text = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not pa.types.is_string(text) or table[name].null_count:
            message = f"its column {name!r} is of type {kind}; allowed: texts"
            raise input_error(message, file=str(path), key=name, found=str(kind), allowed="texts")
        if not pa.types.is_dictionary(kind):
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, table[name].dictionary_encode())
    return table
