"""Parquet files that others wrote, read within bounds of time and memory."""

import contextlib
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn.faults import MAX_SHOWN, input_error, printable, shown
from sojourn.reading import check_regular

if TYPE_CHECKING:
    import pyarrow as pa

MAX_FILE_CELLS = 250_000_000
"""Rows times columns that are read from one Parquet file: 2 GB of numbers."""
MAX_TABLE_CELLS = 1_000_000_000
MAX_TEXT_BYTES = 1 << 30
"""What the texts of one column of a Parquet file unpack to."""
_MAX_FOOTER_BYTES = 1 << 26
# What a file that is sound may need at most: for each cell, and for texts and decoding besides.
_CELL_BYTES = 16
_SPARE_BYTES = 3 << 30
_READING = threading.Lock()


def read_parquet(
    files: Sequence[Path],
    columns: Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    *,
    needs: Sequence[str] = (),
    lists: Sequence[str] = (),
    max_rows: int | None = None,
) -> "pa.Table":
    """Return the rows of some Parquet files, one after the other.

    Only the `columns` named are read, and only rows that hold certain values are kept; those in `lists` may hold lists
    of single values. Raises InputError for a file
    that is none, has more than `max_rows`, lacks a column of these or of `needs`, or unpacks to more than memory can be
    expected to hold:
    `MAX_FILE_CELLS` in a file, `MAX_TABLE_CELLS` in all where every row is kept, `MAX_TEXT_BYTES` in a column of texts.
    """
    import pyarrow as pa

    cells, tables = 0, []
    for file in files:
        table, read = _parquet_table(file, columns, where, needs, lists, max_rows)
        cells = read if where else cells + read
        _check_cells(file, cells, MAX_TABLE_CELLS)
        tables.append(table)
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException:
        raise input_error("its columns are not those of the files beside it", file=str(files[-1])) from None


def _parquet_table(
    file: Path,
    columns: Sequence[str] | None,
    where: Mapping[str, Any] | None,
    needs: Sequence[str],
    lists: Sequence[str],
    max_rows: int | None,
) -> "tuple[pa.Table, int]":
    """Return what is wanted of one file, and how many cells were unpacked for it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_regular(file, "a Parquet")
    filters = [(column, "=", value) for column, value in (where or {}).items()] or None
    try:
        with _bounded_memory(), pq.ParquetFile(file, thrift_string_size_limit=_MAX_FOOTER_BYTES) as opened:
            schema, rows = opened.schema_arrow, opened.metadata.num_rows
        if max_rows is not None and rows > max_rows:
            found, allowed = f"{rows:,} rows", f"at most {max_rows:,}"
            raise input_error(f"found {found}; allowed: {allowed}", file=str(file), found=found, allowed=allowed)
        wanted = schema.names if columns is None else list(dict.fromkeys([*columns, *(where or ())]))
        _check_columns(file, schema, dict.fromkeys([*needs, *wanted]), lists)
        _check_cells(file, rows * len(wanted), MAX_FILE_CELLS)
        # As dictionaries, however often a long text occurs it is in memory once, until its length is known.
        texts = [name for name in wanted if pa.types.is_string(schema.field(name).type)]
        kept = None if columns is None else list(columns)
        with _bounded_memory(rows * len(wanted)):
            table = pq.read_table(file, columns=kept, filters=filters, read_dictionary=texts)
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        reason = printable(str(error)).partition("\n")[0][:MAX_SHOWN]
        raise input_error(f"cannot be read as Parquet ({reason}); is it whole?", file=str(file)) from None
    for name in texts:
        table = _with_plain_texts(file, table, name)
    return table, rows * len(wanted)


def _used_bytes() -> int | None:
    """Return the address space that this process has, where the system says so (Linux)."""
    if sys.platform != "linux":
        return None
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def _bounded_memory(cells: int = 0) -> Iterator[None]:
    """Bound what this process may take while a file is unpacked: one damaged byte may ask for all there is.

    The bound is of the whole process, so files are read one at a time. Where there is no such bound, nothing is done.
    """
    used = _used_bytes()
    if used is None or sys.platform == "win32":
        yield
        return
    import resource

    with _READING:
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        bound = used + _SPARE_BYTES + _CELL_BYTES * cells
        if soft != resource.RLIM_INFINITY:
            bound = min(bound, soft)
        resource.setrlimit(resource.RLIMIT_AS, (bound, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _check_columns(file: Path, schema: "pa.Schema", wanted: Iterable[str], lists: Sequence[str]) -> None:
    import pyarrow as pa

    for name in wanted:
        if schema.names.count(name) != 1:
            message = f"has no column {name!r}" if name not in schema.names else f"has several columns {name!r}"
            raise input_error(message, file=str(file), found=name)
        kind = schema.field(name).type
        plain = kind.value_type if name in lists and pa.types.is_list(kind) else kind
        if pa.types.is_nested(plain):
            raise input_error(f"has lists or tables in column {shown(name)}; allowed: single values", file=str(file))


def _check_cells(file: Path, cells: int, bound: int) -> None:
    if cells > bound:
        message = f"unpacks to {cells:,} cells (rows times columns); allowed: at most {bound:,}"
        raise input_error(message, file=str(file), found=f"{cells:,} cells", allowed=f"at most {bound:,}")


def _with_plain_texts(file: Path, table: "pa.Table", name: str) -> "pa.Table":
    """Return a table with a column of texts in the place of the dictionary that it was read as."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if name not in table.column_names or not pa.types.is_dictionary(table[name].type):
        return table
    sizes = (pc.sum(pc.binary_length(one.dictionary).take(one.indices)).as_py() for one in table[name].chunks)
    if sum(size or 0 for size in sizes) > MAX_TEXT_BYTES:
        message = f"unpacks to too much text in column {shown(name)}; allowed: at most {MAX_TEXT_BYTES >> 20} MiB"
        raise input_error(message, file=str(file), allowed=f"at most {MAX_TEXT_BYTES >> 20} MiB")
    return table.set_column(table.column_names.index(name), name, table[name].cast(pa.string()))
