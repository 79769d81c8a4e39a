"""`python -m benchmarks.detector.choose [MODEL ...]`: what the method and the model are chosen by, in simulation only.

Probes over paths drawn as those of the training, which took part in none, of the disciplines that a model knows and of
six others that are in no test. No probe of a kernel or of ns-3 is looked at.
"""

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.detector.tables import calibration_error, share, table
from sojourn.detect.answer import cannot_say, twin_of
from sojourn.detect.draw import FAMILIES, Drawn, draw
from sojourn.detect.model import Judgement, stage_of
from sojourn.detect.probe import Probed, disturbed, over, probe
from sojourn.detect.stored import load_model
from sojourn.detect.twin import Twin

_STREAM = 3
UNKNOWN: dict[str, dict[str, Any]] = {
    "ared": {"kind": "ared"},
    "sqf": {"kind": "sqf"},
    "sfb": {"kind": "sfb"},
    "blue": {"kind": "blue"},
    "pi2": {"kind": "pi2"},
    "cobalt": {"kind": "cobalt"},
}
"""Disciplines that are in no training and in no test."""


@dataclass(frozen=True)
class Chosen:
    """A probe of the choice, and what a model says of it."""

    name: str
    judged: Judgement
    nearest: Twin | None

    @property
    def is_known(self) -> bool:
        """Whether the discipline was in training."""
        return self.name in FAMILIES


def _apart(one: Chosen) -> float:
    return one.nearest.distance / one.nearest.limit if one.nearest is not None else one.judged.novelty


def _both(one: Chosen) -> tuple[float, float]:
    if one.nearest is None:
        return one.judged.novelty, one.judged.novelty
    return one.nearest.distance / one.nearest.scale.limits[0], one.judged.novelty / one.nearest.scale.limits[1]


RULES: dict[str, Callable[[Chosen], float]] = {
    "doubt of the forest": lambda one: 1 - one.judged.names[one.judged.best],
    "distance from the training": lambda one: one.judged.novelty,
    "distance of the twin": _apart,
    "the larger of both": lambda one: max(_both(one)),
    "the smaller of both": lambda one: min(_both(one)),
    "the product of both": lambda one: float(np.prod(_both(one))),
    "the sum of both": lambda one: sum(_both(one)),
    "the sum and each, as it is": lambda one: (
        one.judged.novelty
        if one.nearest is None
        else one.nearest.scale.strangeness(one.nearest.distance, one.judged.novelty)
    ),
}
"""How unlike all known queues a probe is, by the rules that were tried."""


def drawn_case(place: int, known: int, seed: int) -> tuple[Probed, str]:
    """Return the probe with a number, of a known discipline up to `known` and of others beyond, and its name."""
    random = np.random.default_rng([seed, _STREAM, place])
    names = list(FAMILIES) if place < known else list(UNKNOWN)
    name = names[place % len(names)]
    # The others cross paths that are drawn as those of DropTail are.
    drawn: Drawn = draw(name if name in FAMILIES else "droptail", random)
    if name in UNKNOWN:
        drawn.path.links["bottleneck"]["queue"] = UNKNOWN[name]
    send = disturbed(over(drawn.path, int(random.integers(1 << 31))), drawn.skew_ppm, drawn.noise_s, random)
    return probe(send, rtt_ms=lambda: drawn.path.rtt_ms), name


def judged(place: int, known: int, seed: int, models: Sequence[Path | None]) -> list[Chosen]:
    """Return what each model says of the probe with a number; nothing where nothing can be said."""
    seen, name = drawn_case(place, known, seed)
    if cannot_say(seen) is not None:
        return []
    found = []
    for file in models:
        model = load_model(file)
        said = model.judge(seen.features, whole=seen.whole)
        found.append(Chosen(name, said, twin_of(seen, said, model)))
        assert stage_of(whole=seen.whole) in model.twins  # noqa: S101
    return found


def report(seen: Sequence[Chosen]) -> str:
    """Return what is chosen by, as tables."""
    known, new = [one for one in seen if one.is_known], [one for one in seen if not one.is_known]
    said = [one.judged.names[one.judged.best] for one in known]
    right = [one.judged.best == one.name for one in known]
    truth = [max(one.judged.names[one.name], 1e-6) for one in known]
    facts = [
        ("name right", share(right)),
        ("family right", share([one.judged.family == FAMILIES[one.name] for one in known])),
        ("mean logarithm of the true name's probability", f"{np.mean(np.log(truth)):.3f}"),
        ("expected calibration error", f"{calibration_error(said, right):.1%}"),
    ]
    rows = []
    for name, of in RULES.items():
        values, others = np.array([of(one) for one in known]), np.array([of(one) for one in new])
        area = np.mean((others[:, None] > values) + 0.5 * (others[:, None] == values))
        kept = np.quantile(values, 0.95)
        rows.append((name, f"{area:.3f}", f"{np.mean(others > kept):.0%}"))
    heads = ("rule", f"AUROC, {len(known)} known and {len(new)} others", "others refused where 5 % of the known are")
    return f"{table(('What', 'Value'), facts)}\n\n{table(heads, rows)}"


def main() -> None:
    """Print the tables of each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="files of models; without any, Sojourn's own")
    parser.add_argument("--known", type=int, default=220, metavar="N", help="probes of known disciplines")
    parser.add_argument("--others", type=int, default=120, metavar="N", help="probes of the others")
    parser.add_argument("--seed", type=int, default=20261123, metavar="N", help="of all that is drawn")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the tables of the last model go, for the page")
    given = parser.parse_args()
    models: list[Path | None] = [Path(name) for name in given.models] or [None]
    of = partial(judged, known=given.known, seed=given.seed, models=models)
    with ProcessPoolExecutor(given.jobs) as pool:
        found = [one for one in pool.map(of, range(given.known + given.others), chunksize=4) if one]
    for number, name in enumerate(given.models or ["Sojourn's own"]):
        text = report([one[number] for one in found])
        print(f"{name}\n\n{text}\n")
    if given.out is not None:
        given.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
