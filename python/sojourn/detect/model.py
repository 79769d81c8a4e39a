"""The classifier as plain arrays: a forest of decision trees, calibration, prediction sets and a measure of novelty.

It is trained by scikit-learn (`sojourn.detect.training`) and needs nothing but numpy to be used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.detect.causes import CAUSES
from sojourn.detect.causes import NAMES as SIGNS
from sojourn.detect.download import NAMES as DOWNLOAD_NAMES
from sojourn.detect.draw import FAMILIES
from sojourn.detect.features import NAMES

MISSING = -1000.0
"""What stands for a feature that was not seen: below every value."""
STAGES = ("load", "full")
"""A model for probes that ended after the load, and one for whole ones."""
DOWNLOAD = "download"
"""The forest for what nothing was sent for."""
NEIGHBOURS = 5
READ, CAUSE = "read", "cause"
"""What the places of forests that read a parameter, and that tell a cause, begin with."""
_FARTHEST = 3.0

Array = NDArray[Any]


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
    return f"{READ}:{stage}:{name}:{parameter}"


def cause_at(stage: str, cause: str) -> str:
    """Return the key of the forest that tells after a stage whether a path has one of `CAUSES`."""
    return f"{CAUSE}:{stage}:{cause}"


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

    def causes(self, features: Mapping[str, float], signs: Mapping[str, float], *, whole: bool) -> dict[str, float]:
        """Return the probability that the path has each of `CAUSES`."""
        row = np.array([[*(features[name] for name in NAMES), *(signs[name] for name in SIGNS)]])
        forests = {cause: self.forests[cause_at(stage_of(whole=whole), cause)] for cause in CAUSES}
        return {cause: float(of.probabilities(row)[0, 1]) for cause, of in forests.items()}

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
