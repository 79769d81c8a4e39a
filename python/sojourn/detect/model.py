"""The classifier as plain arrays: a forest of decision trees, calibration, prediction sets and a measure of novelty.

It is trained by scikit-learn (`sojourn.detect.training`) and needs nothing but numpy to be used.
"""

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.detect.download import NAMES as DOWNLOAD_NAMES
from sojourn.detect.draw import FAMILIES
from sojourn.detect.features import NAMES

MISSING = -1000.0
"""What stands for a feature that was not seen: below every value."""
STAGES = ("load", "full")
"""A model for probes that ended after the load, and one for whole ones."""
DOWNLOAD = "download"
"""The forest for what nothing was sent for."""
FORMAT = 3
NEIGHBOURS = 5
_READ, _TWIN = "read", "twin"
_FARTHEST = 3.0
_FEATURES = {"probe": list(NAMES), DOWNLOAD: list(DOWNLOAD_NAMES)}

Array = NDArray[Any]


class ModelError(ValueError):
    """A file is no model that this version can use."""


@dataclass(frozen=True)
class Judgement:
    """What the classifier says of a probe."""

    names: Mapping[str, float]
    """Probability of each name."""
    families: Mapping[str, float]
    """Probability of each family."""
    sets: Mapping[str, tuple[str, ...]]
    """Names that hold the true one with a probability of 95 % and of 99 %, by these words."""
    novelty: float
    """How unlike the training probes of the same name it is: 1 is what 95 % of those do not exceed."""

    @property
    def best(self) -> str:
        """The most probable name."""
        return max(self.names, key=lambda name: self.names[name])

    @property
    def family(self) -> str:
        """The most probable family."""
        return max(self.families, key=lambda name: self.families[name])

    @property
    def is_new(self) -> bool:
        """Whether it is like no queue of the training."""
        return self.novelty > 1


@dataclass(frozen=True)
class Reading:
    """A parameter as it was read from a probe."""

    value: float
    low: float
    high: float
    """Bounds that hold four true values of five."""


@dataclass(frozen=True)
class Forest:
    """Trees, and what makes probabilities of their votes."""

    classes: Sequence[str]
    arrays: Mapping[str, Array]

    def votes(self, rows: Array) -> Array:
        """Return the mean shares of the classes in the leaves that each row of features ends in."""
        of = self.arrays
        values = np.where(np.isnan(rows), MISSING, rows).astype(np.float32)
        total = np.zeros((len(values), len(self.classes)))
        for place, row in enumerate(values):
            shares = of["shares"][self._leaves(row)].astype(np.float64)
            total[place] = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
        return total

    def reading(self, row: Array) -> "Reading":
        """Return the number that a row of features stands for, where the trees hold logarithms and not shares."""
        value = np.where(np.isnan(row), MISSING, row).astype(np.float32)
        middle = float(self.arrays["values"][self._leaves(value)].mean())
        low, high = self.arrays["residuals"]
        return Reading(float(np.exp(middle)), float(np.exp(middle + low)), float(np.exp(middle + high)))

    def _leaves(self, row: Array) -> Array:
        """Return the number of the leaf of each tree in which a row ends."""
        of = self.arrays
        nodes = of["roots"].astype(np.int64)
        while True:
            feature = of["feature"][nodes]
            inner = feature >= 0
            if not inner.any():
                leaves: Array = of["left"][nodes]
                return leaves
            goes_left = row[feature] <= of["threshold"][nodes]
            nodes = np.where(inner, np.where(goes_left, of["left"][nodes], of["right"][nodes]), nodes)

    def probabilities(self, rows: Array) -> Array:
        """Return calibrated probabilities of the classes."""
        return calibrated(self.votes(rows), self.arrays["calibration"])

    def novelty(self, row: Array) -> float:
        """Return how unlike all training probes a row of features is; above 1 it is like none."""
        of = self.arrays
        (votes,) = self.votes(row[None])
        named = int(votes.argmax())
        own = of["reference"][of["labels"] == named].astype(np.float64)
        distances = np.sqrt(((own - scaled(row[None], of["scale"])) ** 2).sum(axis=1))
        distance = np.sort(distances)[:NEIGHBOURS].mean() / of["usual"][named]
        return float(oddness(votes.max(), distance, of["quantiles"]) / of["usual_oddness"][named])


@dataclass(frozen=True)
class TwinScale:
    """How far simulated probes of a known queue are from their twins (`sojourn.detect.twin`)."""

    usual: Array
    """What nine of ten twins of the right name do not exceed, for each component."""
    limits: Array
    """Of the distance of a twin, of the novelty, and of the sum of both over their limits.

    Of the simulated probes of known queues 95 % keep all three."""

    @property
    def limit(self) -> float:
        """From which distance on a twin does not fit."""
        return float(self.limits[0])

    def strangeness(self, distance: float, novelty: float) -> float:
        """Return how unlike all known queues a probe is: above 1 it is of none."""
        both = distance / self.limits[0], novelty / self.limits[1]
        return float(max(*both, sum(both) / self.limits[2]))

    def weighed(self, apart: Array) -> Array:
        """Return distances over what is usual, bounded so that none rules alone."""
        result: Array = np.minimum(apart / self.usual, _FARTHEST)
        return result


def place_of(stage: str, name: str, parameter: str) -> str:
    """Return the key of the forest that reads a parameter after a stage."""
    return f"{_READ}:{stage}:{name}:{parameter}"


def oddness(largest: Array, distance: Array, quantiles: Array) -> Array:
    """Return the sum of two ranks among the training probes: of doubt, and of the distance to those of the same name.

    Parameters
    ----------
    largest
        The largest share of the votes.
    distance
        The mean distance to the nearest training probes of that name, over what is usual among them.
    quantiles
        Equidistant quantiles of 1 - `largest` and of `distance` over the training probes.
    """
    ranks = np.linspace(0, 1, quantiles.shape[1])
    doubt, far = (np.interp(value, of, ranks) for value, of in zip((1 - largest, distance), quantiles, strict=True))
    # Beyond all training probes a distance goes on counting.
    beyond = np.maximum(0, distance / quantiles[1, -1] - 1)
    result: Array = doubt + far + beyond
    return result


def scaled(rows: Array, scale: Array) -> Array:
    """Return features moved and stretched by `scale` (median, spread, weight), bounded so that none rules alone."""
    middle, spread, weight = scale
    known = np.where(np.isnan(rows), middle - 3 * spread, rows)
    result: Array = np.clip((known - middle) / spread, -4, 4) * weight
    return result


def calibrated(votes: Array, calibration: Array) -> Array:
    """Return probabilities from votes: a power of them, for trees that differ make a forest less sure than it may be.

    `calibration` holds the exponent, and what is added to each vote, so that nothing is impossible.
    """
    exponent, added = calibration
    raw = (votes + added) ** exponent
    result: Array = raw / raw.sum(axis=1, keepdims=True)
    return result


def stage_of(*, whole: bool) -> str:
    """Return after which of `STAGES` a probe ended."""
    return STAGES[int(whole)]


@dataclass(frozen=True)
class Model:
    """The forests of a file and where they come from."""

    forests: Mapping[str, Forest]
    twins: Mapping[str, TwinScale]
    """By the last stage of a probe."""
    provenance: Mapping[str, Any]

    def read(self, name: str, features: Mapping[str, float], *, whole: bool) -> dict[str, Reading]:
        """Return the parameters of a queue with this name, from the features of a probe."""
        row = np.array([features[one] for one in NAMES])
        prefix = place_of(stage_of(whole=whole), name, "")
        return {
            key.removeprefix(prefix): forest.reading(row)
            for key, forest in self.forests.items()
            if key.startswith(prefix)
        }

    def judge(self, features: Mapping[str, float], *, whole: bool) -> Judgement:
        """Return what the features of a probe, whole or ended after the load, say."""
        return self._judge(stage_of(whole=whole), np.array([features[name] for name in NAMES]))

    def judge_download(self, features: Mapping[str, float]) -> Judgement:
        """Return what the features of a download say."""
        return self._judge(DOWNLOAD, np.array([features[name] for name in DOWNLOAD_NAMES]))

    def _judge(self, stage: str, row: Array) -> Judgement:
        forest = self.forests[stage]
        (shares,) = forest.probabilities(row[None])
        names = {name: float(share) for name, share in zip(forest.classes, shares, strict=True)}
        families: dict[str, float] = {}
        for name, share in names.items():
            families[FAMILIES[name]] = families.get(FAMILIES[name], 0.0) + share
        limits = forest.arrays["limits"]
        best = max(names, key=lambda name: names[name])
        sets = {
            words: tuple(name for name, share in names.items() if 1 - share <= limit or name == best)
            for words, limit in zip(("95 %", "99 %"), limits, strict=True)
        }
        return Judgement(names, families, sets, forest.novelty(row))


def save(path: Path, model: Model) -> None:
    """Write a model file: the same model always gives the same bytes."""
    forests = model.forests
    arrays = {f"{stage}.{name}": array for stage, forest in forests.items() for name, array in forest.arrays.items()}
    scales = {f"{_TWIN}:{stage}.{name}": array for stage, of in model.twins.items() for name, array in vars(of).items()}
    classes = {stage: list(forest.classes) for stage, forest in forests.items()}
    about = {"format": FORMAT, "classes": classes, "features": _FEATURES, **model.provenance}
    text = np.frombuffer(json.dumps(about, sort_keys=True).encode(), dtype=np.uint8)
    content: dict[str, Any] = {"about": text, **arrays, **scales}
    np.savez_compressed(path, **content)


def _content(file: Any) -> dict[str, Array]:
    """Return the arrays of an open file by name; none where it is no such file."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except (ValueError, EOFError, AttributeError, zipfile.BadZipFile):
        return {}


def load_model(path: Path | None = None) -> Model:
    """Read a model file, or the one that comes with the package.

    Raises
    ------
    ModelError
        The file is none, or of another version of the features.
    OSError
        It cannot be read.
    """
    place = resources.files("sojourn.detect") / "model.npz" if path is None else path
    with place.open("rb") as file:
        content = _content(file)
        if "about" not in content:
            raise ModelError(f"{place}: found no model of a detector; `sojourn detect train` makes one")
        about = json.loads(content["about"].tobytes().decode())
        if about.get("format") != FORMAT or about.get("features") != _FEATURES:
            raise ModelError(
                f"{place}: found other features than this version has; `sojourn detect train` makes it anew"
            )
    forests = {stage: Forest(classes, _arrays(content, stage)) for stage, classes in about["classes"].items()}
    scales = {stage: TwinScale(**_arrays(content, f"{_TWIN}:{stage}")) for stage in STAGES}
    return Model(forests, scales, about)


def _arrays(content: Mapping[str, Array], place: str) -> dict[str, Array]:
    prefix = f"{place}."
    return {name.removeprefix(prefix): array for name, array in content.items() if name.startswith(prefix)}
