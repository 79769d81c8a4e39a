"""A small model of a detector, and what somebody could make of it to do harm."""

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.detect import stored
from sojourn.detect.causes import CAUSES
from sojourn.detect.download import NAMES as DOWNLOAD_NAMES
from sojourn.detect.features import NAMES
from sojourn.detect.model import DOWNLOAD, STAGES, Forest, Model, TwinScale, cause_at, place_of
from sojourn.detect.twin import COMPONENTS

Arrays = dict[str, NDArray[Any]]
CLASSES = ["codel", "droptail"]
READER = place_of("full", "codel", "target_ms")


_CAUSES = [cause_at(stage, cause) for stage in STAGES for cause in CAUSES]
_ALL: dict[str, list[str]] = {**dict.fromkeys((*STAGES, DOWNLOAD), CLASSES), **{key: ["no", "yes"] for key in _CAUSES}}


def _tree() -> Arrays:
    """Return one tree: a root, a leaf on the left, and a node with two leaves on the right."""
    return {
        "roots": np.array([0], np.int32),
        "feature": np.array([0, -1, 1, -1, -1], np.int16),
        "threshold": np.array([1.0, 0.0, 2.0, 0.0, 0.0]),
        "left": np.array([1, 0, 3, 1, 2], np.int32),
        "right": np.array([2, 0, 4, 0, 0], np.int32),
    }


def _names(features: int) -> Forest:
    arrays = {
        **_tree(),
        "shares": np.array([[255, 0], [128, 127], [0, 255]], np.uint8),
        "calibration": np.array([2.0, 0.01]),
        "scale": np.array([np.zeros(features), np.ones(features), np.ones(features)]),
        "reference": np.arange(4 * features, dtype=np.float16).reshape(4, features) / 100,
        "labels": np.array([0, 0, 1, 1], np.uint8),
        "usual": np.ones(2),
        "quantiles": np.array([[0.0, 0.5], [0.0, 2.0]]),
        "usual_oddness": np.ones(2),
        "limits": np.array([0.8, 0.9]),
    }
    return Forest(CLASSES, arrays)


def small() -> Model:
    """Return a sound model with one tree in each forest."""
    reader = {**_tree(), "values": np.array([1.0, 2.0, 3.0], np.float32), "residuals": np.array([-0.5, 0.5])}
    forests = {stage: _names(len(NAMES)) for stage in STAGES}
    forests |= {DOWNLOAD: _names(len(DOWNLOAD_NAMES)), READER: Forest([], reader)}
    said = Forest(["no", "yes"], {name: _names(1).arrays[name] for name in (*_tree(), "shares", "calibration")})
    forests |= dict.fromkeys(_CAUSES, said)
    twin = TwinScale(np.ones(len(COMPONENTS)), np.full(3, 2.0))
    return Model(forests, dict.fromkeys(STAGES, twin), {"probes": 4})


def packed(change: Callable[[Arrays], None] = lambda _: None) -> bytes:
    """Return the bytes of the small model's file after a change of its arrays."""
    file = io.BytesIO()
    stored.save(file, small())  # type: ignore[arg-type]  # numpy writes into a file as well
    with np.load(io.BytesIO(file.getvalue())) as found:
        arrays = dict(found)
    change(arrays)
    again = io.BytesIO()
    np.savez_compressed(again, **arrays)  # type: ignore[arg-type]  # the keywords are names of arrays
    return again.getvalue()


def _without(name: str) -> bytes:
    return packed(lambda arrays: arrays.__delitem__(name))


def _with(name: str, value: Any) -> bytes:
    return packed(lambda arrays: arrays.update({name: np.asarray(value)}))


def _at(name: str, place: Any, value: Any) -> bytes:
    def change(arrays: Arrays) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value

    return packed(change)


def _saying(**changed: Any) -> bytes:
    def change(arrays: Arrays) -> None:
        about = json.loads(arrays["about"].tobytes()) | changed
        arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)

    return packed(change)


def _members(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def _header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def _claiming(shape: str) -> bytes:
    return _members(about=_header(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n"))


def _chain(nodes: int) -> bytes:
    """Return a model with a tree that is one long branch."""
    node = np.arange(nodes)
    inner = node % 2 == 0
    inner[-1] = False
    left = np.where(inner, node + 1, 0)

    def change(arrays: Arrays) -> None:
        arrays["full.feature"] = np.where(inner, 0, -1).astype(np.int16)
        arrays["full.threshold"] = np.zeros(nodes)
        arrays["full.left"], arrays["full.right"] = left, np.where(inner, node + 2, 0)

    return packed(change)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "nothing": (lambda: b"", "it is no archive of arrays"),
    "text": (lambda: b"model", "it is no archive of arrays"),
    "cut": (lambda: packed()[:-200], "it is no archive of arrays"),
    "empty-archive": (_members, "it does not say what it is"),
    "objects": (lambda: _with("full.roots", np.array([{}], dtype=object)), "'full.roots' is no array of numbers"),
    "gigantic-shape": (lambda: _claiming("(1000000, 1000000)"), "'about' has another size than it says"),
    "negative-shape": (lambda: _claiming("(-1, -1)"), "'about' is no array of numbers"),
    "digits-5000": (lambda: _claiming(f"({'9' * 5000},)"), "'about' is no array of numbers"),
    "code-in-a-header": (lambda: _members(about=_header("__import__('os').abort()\n")), "'about' is no array"),
    "unpacks-to-200-MB": (lambda: _members(a=bytes(200_000_000)), "its arrays have more than 128 MiB"),
    "about-deep": (lambda: _with("about", np.frombuffer(b"[" * 100_000, np.uint8)), "it does not say what it is"),
    "about-a-list": (lambda: _with("about", np.frombuffer(b"[]", np.uint8)), "it has other features"),
    "other-format": (lambda: _saying(format=2), "it has other features"),
    "classes-a-list": (lambda: _saying(classes=["full"]), "it lacks forests"),
    "classes-without-a-forest": (lambda: _saying(classes={"full": CLASSES}), "it lacks forests"),
    "unknown-names": (
        lambda: _saying(classes={**_ALL, "full": ["codel", "\x1b[2J"]}),
        "'full' has names of queues that nobody knows",
    ),
    "a-name-twice": (
        lambda: _saying(classes={**_ALL, "full": ["codel"] * 2}),
        "'full' has a name twice",
    ),
    "a-cause-that-answers-otherwise": (
        lambda: _saying(classes={**_ALL, _CAUSES[0]: ["no", "perhaps"]}),
        "answers neither no nor yes",
    ),
    "a-cause-without-a-share": (
        lambda: _with(f"{_CAUSES[0]}.shares", np.zeros((3, 2), np.uint8)),
        "has leaves without a share",
    ),
    "another-place": (
        lambda: _saying(classes={**_ALL, "read:full:codel:colour": []}),
        "reads no parameter of a queue",
    ),
    "missing-array": (lambda: _without("full.left"), "the array 'full.left' is missing"),
    "missing-twin": (lambda: _without("twin:load.usual"), "the array 'twin:load.usual' is missing"),
    "wrong-kind": (lambda: _with("full.feature", np.zeros(5)), "'full.feature' has numbers of another kind"),
    "texts": (lambda: _with("full.usual", ["a", "b"]), "'full.usual' is no array of numbers"),
    "wrong-length": (lambda: _with("full.left", np.zeros(4, np.int32)), "'full.left' has another shape"),
    "wrong-axes": (lambda: _with("load.scale", np.ones((3, 2, 2))), "'load.scale' has another shape"),
    "empty-array": (lambda: _with("full.roots", np.empty(0, np.int32)), "'full.roots' is empty or too large"),
    "many-trees": (lambda: _with("full.roots", np.zeros(20_000, np.int32)), "'full.roots' is empty or too large"),
    "nan": (lambda: _at("full.threshold", 0, np.nan), "'full.threshold' has numbers that cannot be"),
    "infinite": (lambda: _at("download.usual", 0, np.inf), "'download.usual' has numbers that cannot be"),
    "exponent-0": (lambda: _at("full.calibration", 0, 0.0), "'full.calibration' has numbers that cannot be"),
    "spread-0": (lambda: _at("full.scale", (1, 0), 0.0), "'full' has a scale that cannot be"),
    "no-shares": (lambda: _at("full.shares", 1, 0), "'full' has leaves without a share"),
    "no-probe-of-a-name": (lambda: _with("full.labels", np.zeros(4, np.uint8)), "without a training probe"),
    "huge-reading": (lambda: _at(f"{READER}.values", 0, 700.0), f"'{READER}.values' has numbers that cannot be"),
    "residuals-the-wrong-way": (lambda: _with(f"{READER}.residuals", [1.0, -1.0]), "the lower is the higher"),
    "falling-quantiles": (lambda: _at("full.quantiles", (0, 0), 0.9), "'full' has quantiles that fall"),
    "cyclic": (lambda: _at("full.right", 2, 0), "a tree of 'full' leads to a node twice"),
    "its-own-child": (lambda: _at("full.left", 2, 2), "a tree of 'full' leads to a node twice"),
    "child-out-of-range": (lambda: _at("full.left", 0, 99), "a tree of 'full' leads out of its arrays"),
    "child-before-the-first": (lambda: _at("full.left", 0, -1), "'full.left' has numbers that cannot be"),
    "leaf-out-of-range": (lambda: _at("full.left", 4, 3), "a tree of 'full' leads out of its arrays"),
    "root-out-of-range": (lambda: _at("full.roots", 0, 5), "a tree of 'full' leads out of its arrays"),
    "feature-out-of-range": (lambda: _at("full.feature", 0, 9999), "a tree of 'full' leads out of its arrays"),
    "a-cycle-apart": (lambda: _with(f"{READER}.right", [2, 0, 2, 0, 0]), f"a tree of '{READER}' leads to a node twice"),
    "a-long-branch": (lambda: _chain(4001), "a tree of 'full' is too deep"),
}
"""Files that are no model, by what is wrong with them, and words of the refusal."""
