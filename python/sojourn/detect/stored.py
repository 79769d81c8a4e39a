"""Model files: the same model gives the same bytes, and any bytes are a model or refused."""

import io
import json
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from sojourn.detect import causes, download, features
from sojourn.detect.causes import CAUSES
from sojourn.detect.draw import FAMILIES, PARAMETERS
from sojourn.detect.model import CAUSE, DOWNLOAD, READ, STAGES, Array, Forest, Model, TwinScale, cause_at
from sojourn.detect.twin import COMPONENTS
from sojourn.reading import input_error, read_bytes

FORMAT = 5
MAX_FILE_BYTES = 64 << 20
"""The model that comes with the package has 7.4 MB."""
MAX_BYTES = 128 << 20
"""Of all arrays together; those of the package have 13 MB."""
MAX_PROBES = 100_000
"""Training probes, each of which a probe is compared with."""
_MOST = {"T": 10_000, "M": MAX_PROBES}
_MAX_DEPTH = 1000
_MAX_ABOUT_BYTES = 1 << 20
_FEATURES = {"probe": list(features.NAMES), CAUSE: list(causes.NAMES), DOWNLOAD: list(download.NAMES)}
_TWIN = "twin"
_ABOUT = "about"
_BIG = 1e9
# The header of an array as numpy writes it: the type of its numbers, the order of its axes, and its shape.
_HEADER = re.compile(
    rb"\{'descr': '([<|>](?:[iu][1248]|f[248]))', 'fortran_order': (True|False), "
    rb"'shape': \((\d{,12}(?:, ?\d{1,12})*),?\), \} *\n"
)
# What zipfile raises for archives that are none.
_DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, LookupError, OSError, RuntimeError, ValueError)
_MAGIC, _HEADER_AT = b"\x93NUMPY\x01\x00", 10

# Of each array the kind of its numbers (i any whole one, f any fraction), its dimensions and its bounds. A letter is a
# length: T trees, N nodes, L leaves, F features, C classes, M training probes, Q quantiles, K parts of a distance.
_TREES = {
    "roots": ("i", "T", 0, math.inf),
    "feature": ("i", "N", -1, math.inf),
    "threshold": ("f", "N", -_BIG, _BIG),
    "left": ("i", "N", 0, math.inf),
    "right": ("i", "N", 0, math.inf),
}
_VOTES = {**_TREES, "shares": ("i", "LC", 0, 255), "calibration": ("f", "2", 1e-9, 10)}
_NAMES = {
    **_VOTES,
    "scale": ("f", "3F", -_BIG, _BIG),
    "reference": ("f", "MF", -_BIG, _BIG),
    "labels": ("i", "M", 0, math.inf),
    "usual": ("f", "C", 1e-9, _BIG),
    "quantiles": ("f", "2Q", 0, _BIG),
    "usual_oddness": ("f", "C", 1e-9, _BIG),
    "limits": ("f", "2", 0, 1),
}
# Logarithms of parameters: from 2e-9 to 5e8 of their units.
_READERS = {**_TREES, "values": ("f", "L", -20, 20), "residuals": ("f", "2", -20, 20)}
_TWINS = {"usual": ("f", "K", 1e-9, _BIG), "limits": ("f", "3", 1e-9, math.inf)}
_KINDS = {"i": "iu", "f": "f"}
_Wanted = Mapping[str, tuple[str, str, float, float]]
_PLACES = re.compile(
    rf"{READ}:({'|'.join(STAGES)}):("
    + "|".join(f"{name}:({'|'.join(keys)})" for name, keys in PARAMETERS.items())
    + ")(_ms|_packets|_bytes)?"
)

_CAUSES = re.compile(rf"{CAUSE}:({'|'.join(STAGES)}):({'|'.join(CAUSES)})")
_NO_YES = ["no", "yes"]
_WANTED = {*STAGES, DOWNLOAD, *(cause_at(stage, cause) for stage in STAGES for cause in CAUSES)}


def save(path: Path, model: Model) -> None:
    """Write a model file: the same model always gives the same bytes."""
    forests = model.forests
    arrays = {f"{stage}.{name}": array for stage, forest in forests.items() for name, array in forest.arrays.items()}
    scales = {f"{_TWIN}:{stage}.{name}": array for stage, of in model.twins.items() for name, array in vars(of).items()}
    classes = {stage: list(forest.classes) for stage, forest in forests.items()}
    about = {"format": FORMAT, "classes": classes, "features": _FEATURES, **model.provenance}
    text = np.frombuffer(json.dumps(about, sort_keys=True).encode(), dtype=np.uint8)
    content: dict[str, Any] = {_ABOUT: text, **arrays, **scales}
    np.savez_compressed(path, **content)


def load_model(path: Path | None = None) -> Model:
    """Read a model file, or the one that comes with the package.

    Raises InputError for anything else than a model of this version, before more than `MAX_BYTES` were unpacked. The
    model can judge any features: all its trees end, and no number is missing or out of its bounds.
    """
    if path is None:
        return _File("model.npz", (resources.files("sojourn.detect") / "model.npz").read_bytes()).model()
    return _File(str(path), read_bytes(path, "a model", MAX_FILE_BYTES)).model()


class _File:
    """A model file that is checked while it is read."""

    def __init__(self, name: str, data: bytes) -> None:
        self._name = name
        self._content = dict(self._unpacked(data))

    def model(self) -> Model:
        """Return the model; raises InputError where it is none."""
        about = self._about()
        forests = {stage: self._forest(stage, classes) for stage, classes in about["classes"].items()}
        size = {"K": len(COMPONENTS)}
        scales = {stage: TwinScale(**self._arrays(f"{_TWIN}:{stage}", _TWINS, size)) for stage in STAGES}
        return Model(forests, scales, about)

    def _refuse(self, why: str) -> NoReturn:
        message = f"{why}, so it is no model of this version; `sojourn detect train` makes one"
        raise input_error(message, file=self._name) from None

    def _unpacked(self, data: bytes) -> Iterator[tuple[str, Array]]:
        left = MAX_BYTES
        for entry, packed in self._entries(data):
            left -= entry.file_size
            if left < 0:
                self._refuse(f"its arrays have more than {MAX_BYTES >> 20} MiB")
            try:
                raw = packed.read(entry)
            except _DAMAGED:
                self._refuse("it is a damaged archive")
            name = entry.filename.removesuffix(".npy")
            yield name, self._array(name, raw)

    def _entries(self, data: bytes) -> Iterator[tuple[zipfile.ZipInfo, zipfile.ZipFile]]:
        try:
            packed = zipfile.ZipFile(io.BytesIO(data))
        except _DAMAGED:
            self._refuse("it is no archive of arrays")
        with packed:
            for entry in packed.infolist():
                # Of the other methods nothing bounds what they unpack to.
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    self._refuse("its arrays are packed by another method than deflate")
                yield entry, packed

    def _array(self, name: str, raw: bytes) -> Array:
        header = _HEADER.fullmatch(raw, _HEADER_AT, _HEADER_AT + int.from_bytes(raw[8:_HEADER_AT], "little"))
        if not raw.startswith(_MAGIC) or header is None:
            self._refuse(f"{name!r} is no array of numbers")
        kind, is_fortran, shape = header.groups()
        dtype = np.dtype(kind.decode())
        sizes = [int(one) for one in shape.split(b",") if one.strip()]
        if len(raw) - header.end() != dtype.itemsize * math.prod(sizes):
            self._refuse(f"{name!r} has another size than it says")
        numbers = np.frombuffer(raw, dtype, offset=header.end())
        return numbers.reshape(tuple(sizes), order="F" if is_fortran == b"True" else "C")

    def _about(self) -> dict[str, Any]:
        """Return what the file says of itself, with the classes of each forest."""
        text = self._content.get(_ABOUT, np.empty(0, np.uint8))
        if text.dtype != np.uint8 or not 0 < text.nbytes <= _MAX_ABOUT_BYTES:
            self._refuse("it does not say what it is")
        try:
            about = json.loads(text.tobytes())
        except (ValueError, RecursionError):
            self._refuse("it does not say what it is")
        if not isinstance(about, dict) or about.get("format") != FORMAT or about.get("features") != _FEATURES:
            self._refuse("it has other features")
        classes = about.get("classes")
        if not isinstance(classes, dict) or not set(classes) >= _WANTED:
            self._refuse("it lacks forests")
        return about

    def _forest(self, place: str, classes: Any) -> Forest:
        if place in (*STAGES, DOWNLOAD):
            names = list(FAMILIES)
            if not isinstance(classes, list) or not all(one in names for one in classes) or not classes:
                self._refuse(f"{place!r} has names of queues that nobody knows")
            if len(set(classes)) != len(classes):
                self._refuse(f"{place!r} has a name twice")
            size = {"C": len(classes), "F": len(_FEATURES.get(place, _FEATURES["probe"]))}
            arrays = self._arrays(place, _NAMES, size)
            self._check_names(place, arrays, len(classes))
        elif _CAUSES.fullmatch(place):
            if classes != _NO_YES:
                self._refuse(f"{place!r} answers neither no nor yes")
            size = {"C": len(_NO_YES), "F": len(_FEATURES["probe"]) + len(_FEATURES[CAUSE])}
            arrays = self._arrays(place, _VOTES, size)
            self._check_shares(place, arrays)
        else:
            if not _PLACES.fullmatch(place) or classes != []:
                self._refuse(f"{place!r} reads no parameter of a queue")
            size = {"F": len(_FEATURES["probe"])}
            arrays = self._arrays(place, _READERS, size)
            low, high = arrays["residuals"]
            if low > high:
                self._refuse(f"{place!r} has bounds of which the lower is the higher")
        self._check_trees(place, arrays, size)
        return Forest(classes, arrays)

    def _arrays(self, place: str, wanted: _Wanted, size: dict[str, int]) -> dict[str, Array]:
        """Return the arrays of a place; `size` holds lengths that are known, and those that the first arrays have."""
        found = {}
        for name, (kind, axes, low, high) in wanted.items():
            array = self._content.get(f"{place}.{name}")
            what = f"the array {f'{place}.{name}'!r}"
            if array is None:
                self._refuse(f"{what} is missing")
            if array.dtype.kind not in _KINDS[kind]:
                self._refuse(f"{what} has numbers of another kind")
            if array.ndim != len(axes) or not all(
                length == (int(axis) if axis.isdigit() else size.setdefault(axis, length))
                for axis, length in zip(axes, array.shape, strict=True)
            ):
                self._refuse(f"{what} has another shape")
            if not array.size or any(length > _MOST.get(axis, length) for axis, length in size.items()):
                self._refuse(f"{what} is empty or too large")
            # What is no number is within no bounds.
            if not (low <= float(array.min()) and float(array.max()) <= high):
                self._refuse(f"{what} has numbers that cannot be")
            found[name] = array
        return found

    def _check_names(self, place: str, arrays: Mapping[str, Array], classes: int) -> None:
        labels, (_, spread, weight) = arrays["labels"].astype(np.int64), arrays["scale"]
        if labels.max() >= classes or np.bincount(labels, minlength=classes).min() == 0:
            self._refuse(f"{place!r} has names without a training probe, or probes without a name")
        if spread.min() < 1 / _BIG or weight.min() < 0 or arrays["quantiles"][1, -1] < 1 / _BIG:
            self._refuse(f"{place!r} has a scale that cannot be")
        if np.diff(arrays["quantiles"], axis=1).min(initial=0) < 0:
            self._refuse(f"{place!r} has quantiles that fall")
        self._check_shares(place, arrays)

    def _check_shares(self, place: str, arrays: Mapping[str, Array]) -> None:
        if arrays["shares"].max(axis=1).min() == 0:
            self._refuse(f"{place!r} has leaves without a share")

    def _check_trees(self, place: str, arrays: Mapping[str, Array], size: Mapping[str, int]) -> None:
        """Refuse trees that do not end: a node has one parent, and is at most `_MAX_DEPTH` below a root."""
        roots, feature, left, right = (arrays[name].astype(np.int64) for name in ("roots", "feature", "left", "right"))
        inner = feature >= 0
        below = np.concatenate([roots, left[inner], right[inner]])
        if feature.max() >= size["F"] or below.max() >= size["N"] or left[~inner].max(initial=0) >= size["L"]:
            self._refuse(f"a tree of {place!r} leads out of its arrays")
        if np.bincount(below).max() > 1:
            self._refuse(f"a tree of {place!r} leads to a node twice")
        level = roots
        for _ in range(_MAX_DEPTH):
            level = level[inner[level]]
            if not level.size:
                return
            level = np.concatenate([left[level], right[level]])
        self._refuse(f"a tree of {place!r} is too deep")
