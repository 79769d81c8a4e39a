"""From where on a twin does not fit: simulated probes whose queue is known, and the twins of their right names.

None of these probes took part in the training of the forests.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sojourn import children
from sojourn.detect.answer import cannot_say, twin_of
from sojourn.detect.draw import FAMILIES
from sojourn.detect.model import STAGES, Array, Model, TwinScale, stage_of
from sojourn.detect.table import NO_QUEUE
from sojourn.detect.training import conformal, probed
from sojourn.detect.twin import ANY_TWIN, LEAST_APART

USUAL, LIMITS = 180, 450
"""Probes whose twins tell what is usual, and probes whose twins tell from where on one does not fit."""
_USUAL_SHARE, _FITTING_SHARE = 0.9, 0.95
_NAMES = tuple(name for name in FAMILIES if name not in NO_QUEUE)
_STREAM = 2


@dataclass(frozen=True)
class Near:
    """A probe of a queue that was named right, and its twin."""

    name: str
    raw: Array
    """How far each component is."""
    distance: float
    novelty: float


Found = Mapping[str, Sequence[Near]]
"""By the last stage of the probe."""
Progress = Callable[[float], None]


def with_scales(
    model: Model, seed: int, jobs: int, counts: tuple[int, int] = (USUAL, LIMITS), progress: Progress = lambda _: None
) -> Model:
    """Return the model with scales of twins that are its own; they are the same whatever `jobs` is."""
    usual, limits = counts
    total = usual + limits
    first = _collect(range(usual), model, seed, jobs, lambda done: progress(done / total))
    weights = {stage: _usual(twins) for stage, twins in first.items()}
    weighing = {stage: replace(ANY_TWIN, usual=weight) for stage, weight in weights.items()}
    places = range(usual, total)
    second = _collect(places, replace(model, twins=weighing), seed, jobs, lambda done: progress((usual + done) / total))
    return replace(model, twins={stage: _scale(weights[stage], twins) for stage, twins in second.items()})


def _usual(twins: Sequence[Near]) -> Array:
    """Return what nine of ten twins do not exceed in each component, or the least where none could be compared."""
    raw = np.array([one.raw for one in twins])
    weights = LEAST_APART.copy()
    compared = ~np.isnan(raw).all(axis=0)
    weights[compared] = np.maximum(np.nanquantile(raw[:, compared], _USUAL_SHARE, axis=0), weights[compared])
    return weights


def _scale(usual: Array, twins: Sequence[Near]) -> TwinScale:
    """Return limits of the distance, of the novelty and of both, so wide that all of them hold together."""
    of_each = np.array([(one.distance, one.novelty) for one in twins])
    limits = np.array([conformal(each, _FITTING_SHARE) for each in of_each.T])
    both = conformal((of_each / limits).sum(axis=1), _FITTING_SHARE)
    tight = TwinScale(usual, np.array([*limits, both]))
    wider = conformal([tight.strangeness(*each) for each in of_each], _FITTING_SHARE)
    # Over wider limits the sum is smaller, so that its own limit stays.
    return TwinScale(usual, np.array([*limits * wider, both]))


def _collect(places: range, model: Model, seed: int, jobs: int, progress: Progress) -> Found:
    found: dict[str, list[Near]] = {stage: [] for stage in STAGES}
    with children.pool(jobs) as pool:
        of = pool.map(partial(_twins, seed=seed, model=model), places, chunksize=8)
        for number, one in enumerate(of, 1):
            for stage, near in one.items():
                found[stage].append(near)
            progress(number)
    return found


def _twins(place: int, seed: int, model: Model) -> dict[str, Near]:
    """Return the twins of a probe after each stage at which its name is right."""
    name = _NAMES[place % len(_NAMES)]
    seen, drawn = probed([seed, _STREAM, place], name)
    # A twin has neither random loss nor others' greedy flows, and need not fit where they are.
    if drawn.causes or cannot_say(seen) is not None:
        return {}
    found = {}
    for part in (seen.without("overload"), seen):
        judged = model.judge(part.features, whole=part.whole)
        nearest = twin_of(part, judged, model) if judged.best == name else None
        if nearest is not None:
            found[stage_of(whole=part.whole)] = Near(name, nearest.raw, nearest.distance, judged.novelty)
    return found
