"""Training the classifier: probes over paths drawn at random, in the simulation only, and a forest of scikit-learn.

scikit-learn is needed here and nowhere else: it is the extra `detect`.
"""

import hashlib
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sojourn import _native, children
from sojourn.detect import causes, download
from sojourn.detect.causes import CAUSES
from sojourn.detect.draw import LEFT_OUT, RATES_MBPS, RTTS_MS, Drawn, draw, name_of, truths
from sojourn.detect.features import NAMES
from sojourn.detect.model import (
    DOWNLOAD,
    MISSING,
    NEIGHBOURS,
    STAGES,
    Array,
    Forest,
    Model,
    calibrated,
    cause_at,
    oddness,
    place_of,
    scaled,
)
from sojourn.detect.probe import Probed, disturbed, over, probe
from sojourn.detect.twin import ANY_TWIN
from sojourn.detect.watched import draw_download, watch

TREES = 120
READERS = 60
# Of a forest that says no or yes.
_CAUSE_TREES, _CAUSE_LEAF, _CAUSE_FEATURES = 80, 3, 0.3
# A parameter is read, and a name has a limit of its own, where there are so many probes.
_FEW = 20
# Points of a curve of quantiles.
_CURVE = 101
_ALL = (*NAMES, *causes.NAMES)
_OVERLOAD = [name.startswith("over_") for name in _ALL]
Progress = Callable[[float], None]
Observed = tuple[Array, str, dict[str, float], tuple[str, ...]]
"""Features and the signs of causes, name, parameters, and what else than the queue the probe suffered from."""
Observe = Callable[[int, int], Observed]


def probed(key: Sequence[int], name: str) -> tuple[Probed, Drawn]:
    """Return a probe of a queue with this name, over a path that is drawn from a key."""
    random = np.random.default_rng(key)
    drawn = draw(name, random)
    send = disturbed(over(drawn.path, int(random.integers(1 << 31))), drawn.skew_ppm, drawn.noise_s, random)
    return probe(send, rtt_ms=lambda: drawn.path.rtt_ms), drawn


def observe(place: int, seed: int) -> Observed:
    """Return what there is to learn from the training probe with a number."""
    seen, drawn = probed([seed, place], name_of(place))
    table = drawn.path.links["bottleneck"]["queue"]
    values = {**seen.features, **seen.signs}
    return np.array([values[name] for name in _ALL]), drawn.name, truths(drawn.name, table), drawn.causes


def observe_download(place: int, seed: int) -> Observed:
    """Return features and name of the training download with a number; nothing else is read of one."""
    random = np.random.default_rng([seed, 1, place])
    drawn = draw_download(name_of(place), random)
    return download.vector(watch(drawn, random)), drawn.drawn.name, {}, ()


@dataclass(frozen=True)
class Examples:
    """What was seen of paths whose queues are known."""

    rows: Array
    """Features, a row for each; of probes the signs of causes behind them."""
    names: Array
    known: Sequence[Mapping[str, float]]
    """Parameters that were drawn."""
    causes: Sequence[tuple[str, ...]]
    """Which of `CAUSES` the path had."""

    @property
    def usable(self) -> "Examples":
        """Those of which anything was seen."""
        own: Array = np.asarray(~np.isnan(self.rows).all(axis=1))
        of = [place for place, is_own in enumerate(own) if is_own]
        known, causes = [self.known[place] for place in of], [self.causes[place] for place in of]
        return Examples(self.rows[own], self.names[own], known, causes)

    @property
    def digest(self) -> str:
        """SHA-256 of features and names."""
        values = np.nan_to_num(self.rows, nan=MISSING).tobytes() + json.dumps(self.names.tolist()).encode()
        return hashlib.sha256(values).hexdigest()


def collect(size: int, seed: int, jobs: int, progress: Progress | None = None) -> Examples:
    """Simulate `size` training probes; they are the same whatever `jobs` is."""
    return _collected(observe, size, seed, jobs, progress)


def collect_downloads(size: int, seed: int, jobs: int, progress: Progress | None = None) -> Examples:
    """Simulate `size` training downloads; they are the same whatever `jobs` is."""
    return _collected(observe_download, size, seed, jobs, progress)


def _collected(of: Observe, size: int, seed: int, jobs: int, progress: Progress | None) -> Examples:
    seen: list[Observed] = []
    with children.pool(jobs) as pool:
        for one in pool.map(of, range(size), itertools.repeat(seed, size), chunksize=4):
            seen.append(one)
            if progress is not None:
                progress(len(seen) / size)
    rows, names, known, causes = zip(*seen, strict=True)
    return Examples(np.array(rows), np.array(names), known, causes)


def train(probes: Examples, downloads: Examples, seed: int) -> dict[str, Forest]:
    """Return the forests for probes that ended after the load, for whole ones, for downloads, parameters and causes."""
    probes, downloads = probes.usable, downloads.usable
    forests: dict[str, Forest] = {}
    for stage in STAGES:
        seen = probes.rows.copy()
        if stage == "load":
            seen[:, _OVERLOAD] = np.nan
        of_queue = seen[:, : len(NAMES)]
        forests |= {stage: _forest(of_queue, probes.names, seed), **_readers(stage, of_queue, probes, seed)}
        forests |= {cause_at(stage, cause): _cause(seen, probes, cause, seed) for cause in CAUSES}
    return {**forests, DOWNLOAD: _forest(downloads.rows, downloads.names, seed)}


def _forest(rows: Array, names: Array, seed: int) -> Forest:
    chosen, deciding = _deciding(rows, names, seed)
    labels, votes = np.searchsorted(deciding.classes, names), chosen.oob_decision_function_
    calibration = deciding.arrays["calibration"]
    shares = calibrated(votes, calibration)
    scores = 1 - shares[np.arange(len(labels)), labels]
    scale = _scale(rows, chosen.feature_importances_)
    reference = scaled(rows, scale).astype(np.float16)
    usual, quantiles, oddest = _novelty(reference, labels, votes)
    arrays = {
        **deciding.arrays,
        "scale": scale,
        "reference": reference,
        "labels": labels.astype(np.uint8),
        "usual": usual,
        "quantiles": quantiles,
        "usual_oddness": oddest,
        "limits": np.array([conformal(scores, level) for level in (0.95, 0.99)]),
    }
    return Forest(deciding.classes, arrays)


def _cause(rows: Array, probes: Examples, cause: str, seed: int) -> Forest:
    """Return the forest that tells whether a path has something else than the queue that a probe suffers from."""
    answers = np.array(["yes" if cause in of else "no" for of in probes.causes])
    return _deciding(rows, answers, seed, _CAUSE_TREES, _CAUSE_LEAF, _CAUSE_FEATURES)[1]


def _deciding(
    rows: Array, names: Array, seed: int, trees: int = TREES, leaf: int = 2, most: str | float = "sqrt"
) -> tuple[Any, Forest]:
    """Return a forest as scikit-learn has it, and as arrays with what makes probabilities of its votes."""
    from sklearn.ensemble import RandomForestClassifier

    how: dict[str, Any] = {"min_samples_leaf": leaf, "max_features": most, "oob_score": True}
    chosen = RandomForestClassifier(trees, random_state=seed, **how)
    chosen.fit(np.where(np.isnan(rows), MISSING, rows).astype(np.float32), names)
    classes = [str(name) for name in chosen.classes_]
    calibration = _calibration(chosen.oob_decision_function_, np.searchsorted(classes, names))
    flat, counts = _flat(chosen)
    shares = np.round(counts / counts.sum(axis=1, keepdims=True) * 255).astype(np.uint8)
    return chosen, Forest(classes, {**flat, "shares": shares, "calibration": calibration})


def _readers(stage: str, rows: Array, probes: Examples, seed: int) -> dict[str, Forest]:
    """Return the forests that read parameters after a stage, each trained on the probes of one name."""
    from sklearn.ensemble import RandomForestRegressor

    names, known = probes.names, probes.known
    forests = {}
    for name, parameter in sorted({(str(name), key) for name, of in zip(names, known, strict=True) for key in of}):
        own = np.array([label == name and parameter in of for label, of in zip(names, known, strict=True)])
        if own.sum() < _FEW:
            continue
        logs = np.log([of[parameter] for of, is_own in zip(known, own, strict=True) if is_own])
        chosen = RandomForestRegressor(READERS, min_samples_leaf=3, max_features=0.4, oob_score=True, random_state=seed)
        chosen.fit(np.where(np.isnan(rows[own]), MISSING, rows[own]).astype(np.float32), logs)
        trees, means = _flat(chosen)
        residuals = np.quantile(logs - chosen.oob_prediction_, (0.1, 0.9))
        arrays = {**trees, "values": means[:, 0].astype(np.float32), "residuals": residuals}
        forests[place_of(stage, name, parameter)] = Forest((), arrays)
    return forests


def _flat(chosen: Any) -> tuple[dict[str, Array], Array]:
    """Lay all trees behind each other, and what their leaves hold; the `left` of a leaf is its number."""
    feature, threshold, left, right, shares, roots = [], [], [], [], [], []
    nodes = leaves = 0
    for estimator in chosen.estimators_:
        tree = estimator.tree_
        is_leaf = tree.children_left < 0
        roots.append(nodes)
        feature.append(np.where(is_leaf, -1, tree.feature))
        threshold.append(np.where(is_leaf, 0.0, tree.threshold))
        numbers = leaves + np.cumsum(is_leaf) - 1
        left.append(np.where(is_leaf, numbers, tree.children_left + nodes))
        right.append(np.where(is_leaf, 0, tree.children_right + nodes))
        shares.append(tree.value[is_leaf, 0])
        nodes += tree.node_count
        leaves += int(is_leaf.sum())
    arrays: dict[str, Array] = {
        "roots": np.array(roots, dtype=np.int32),
        "feature": np.concatenate(feature).astype(np.int16),
        "threshold": np.concatenate(threshold),
        "left": np.concatenate(left).astype(np.int32),
        "right": np.concatenate(right).astype(np.int32),
    }
    return arrays, np.concatenate(shares)


def _calibration(votes: Array, labels: Array) -> Array:
    """Return the exponent and the addend under which the truth is most likely; the trees had not seen the probes.

    Of two numbers there is less to learn by heart than of a curve for each class (isotonic regression).
    """
    best, least = np.array([1.0, 1e-3]), np.inf
    for exponent, added in itertools.product(np.linspace(1, 4, 31), np.logspace(-4, -1.5, 11)):
        shares = calibrated(votes, np.array([exponent, added]))
        loss = -float(np.log(shares[np.arange(len(labels)), labels]).mean())
        if loss < least:
            best, least = np.array([exponent, added]), loss
    return best


def conformal(scores: Array | Sequence[float], level: float) -> float:
    """Return the score that a share `level` of new probes does not exceed (split conformal prediction)."""
    rank = min(len(scores) - 1, int(np.ceil((len(scores) + 1) * level)) - 1)
    return float(np.sort(scores)[rank])


def _scale(rows: Array, importance: Array) -> Array:
    """Return the median, the spread and the weight of each feature: what the forest finds important counts more."""
    seen = np.where(np.isnan(rows).all(axis=0), 0.0, rows)
    middle = np.nanmedian(seen, axis=0)
    spread = (np.nanpercentile(seen, 84, axis=0) - np.nanpercentile(seen, 16, axis=0)) / 2
    return np.stack([middle, np.where(spread > 0, spread, 1.0), np.sqrt(importance)])


def _novelty(reference: Array, labels: Array, votes: Array) -> tuple[Array, Array, Array]:
    """Return the usual distances in each class, quantiles of doubt and distance, and from where on each name is new.

    Some names are said with more doubt than others, so each has a limit of its own.
    """
    distances = np.empty(len(labels))
    usual = np.empty(votes.shape[1])
    for label in range(votes.shape[1]):
        own = labels == label
        places = reference[own].astype(np.float64)
        squares = (places**2).sum(axis=1)
        apart = np.sqrt(np.maximum(squares[:, None] + squares[None] - 2 * places @ places.T, 0))
        # The nearest is the probe itself.
        near = np.sort(apart, axis=1)[:, 1 : NEIGHBOURS + 1].mean(axis=1)
        usual[label] = np.median(near)
        distances[own] = near / usual[label]
    at = np.linspace(0, 1, _CURVE)
    largest = votes.max(axis=1)
    quantiles = np.stack([np.quantile(1 - largest, at), np.quantile(distances, at)])
    odd, named = oddness(largest, distances, quantiles), votes.argmax(axis=1)
    everywhere = np.quantile(odd, 0.95)
    limits = [
        np.quantile(odd[own], 0.95) if (own := named == label).sum() >= _FEW else everywhere
        for label in range(votes.shape[1])
    ]
    return usual, quantiles, np.array(limits)


def fit(probes: Examples, downloads: Examples, seed: int) -> Model:
    """Return a model whose twins all fit, with its provenance."""
    import sklearn

    provenance = {
        "sojourn": _native.__version__,
        "scikit_learn": sklearn.__version__,
        "probes": len(probes.rows),
        "downloads": len(downloads.rows),
        "seed": seed,
        "rates_mbps": RATES_MBPS,
        "rtts_ms": RTTS_MS,
        "left_out": LEFT_OUT,
        "world": "sim",
        "data_sha256": probes.digest,
        "downloads_sha256": downloads.digest,
    }
    return Model(train(probes, downloads, seed), dict.fromkeys(STAGES, ANY_TWIN), provenance)
