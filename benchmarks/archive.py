"""Columns of whole numbers in a small zip file, the same bytes for the same columns."""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, NDArray[np.int64]]

_ABOUT, _COLUMN = "about.json", ".npy"


def write(path: Path, about: Mapping[str, Any], columns: Columns) -> None:
    """Write columns, each in the narrowest type that holds it, and what is known about them."""
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        _add(archive, _ABOUT, json.dumps(about, indent=1).encode())
        for name, values in columns.items():
            buffer = io.BytesIO()
            np.save(buffer, _narrow(values))
            _add(archive, f"{name}{_COLUMN}", buffer.getvalue())


def read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[np.int64]]]:
    """Read what `write` has written."""
    with zipfile.ZipFile(path) as archive:
        about: dict[str, Any] = json.loads(archive.read(_ABOUT))
        names = [name.removesuffix(_COLUMN) for name in archive.namelist() if name.endswith(_COLUMN)]
        columns = {name: np.load(io.BytesIO(archive.read(f"{name}{_COLUMN}"))).astype(np.int64) for name in names}
    return about, columns


def steps(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return differences, which `np.cumsum` takes back."""
    return np.diff(values, prepend=0)


def _narrow(values: NDArray[np.int64]) -> NDArray[Any]:
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    return values.astype(np.promote_types(np.min_scalar_type(low), np.min_scalar_type(high)))


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    # A fixed date: the same columns are the same file.
    archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_LZMA)
