"""The probes of the test, and what the shipped model says of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.detector import linux_queues, ns3
from benchmarks.detector.collect import said_of
from benchmarks.detector.kept import Kept
from sojourn.detect.answer import DECIDED
from sojourn.detect.draw import FAMILIES
from sojourn.detect.features import NAMES
from sojourn.detect.model import Judgement, Model, Reading, TwinScale, stage_of
from sojourn.detect.probe import Probed


@dataclass(frozen=True)
class Seen:
    """A probe of the test and what the model says of it."""

    about: dict[str, Any]
    judged: Judgement
    loaded: Judgement
    """What it says of the same probe after the load, before the overload."""
    read: Mapping[str, Reading]
    """The parameters, read as those of the true name."""

    @property
    def name(self) -> str:
        """What the queue is."""
        return str(self.about["name"])

    @property
    def is_new(self) -> bool:
        """Whether no queue of its kind was in training."""
        return self.name not in FAMILIES

    @property
    def ends_early(self) -> bool:
        """Whether `sojourn detect` would have ended after the load."""
        return self.loaded.names[self.loaded.best] >= DECIDED and not self.loaded.is_new

    @property
    def right(self) -> bool:
        """Whether the name is right."""
        return self.judged.best == self.name

    @property
    def right_family(self) -> bool:
        """Whether the family is right."""
        return self.judged.family == _FAMILY[self.name]


_FAMILY: dict[str, str] = {
    **{one.name: one.family for one in linux_queues.QUEUES},
    **{one.name: one.family for one in ns3.QUEUES},
    **FAMILIES,
}


def judge(file: Path, model: Model, kept: Kept | None = None) -> tuple[list[Seen], list[dict[str, Any]]]:
    """Return the probes of a file with what the model says, and those that failed.

    Features and twins are those of the logs where they were `kept`; else they are those of the file.
    """
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    failed = [row for row in rows if "features" not in row]
    whole = [row for row in rows if "features" in row]
    seen = []
    for row in whole:
        read = None if kept is None else kept.read(row)
        values = _features(row, read)
        sent_overload = row["features"]["over_rate"] is not None
        loaded = {name: float("nan") if name.startswith("over_") else value for name, value in values.items()}
        judged = model.judge(values, whole=sent_overload)
        about = row if read is None else {**row, **said_of(read), **_sent(read)}
        seen.append(
            Seen(
                {**about, **_limited(about["twin"], judged, model.twins[stage_of(whole=sent_overload)])},
                judged,
                model.judge(loaded, whole=False),
                model.read(row["name"], values, whole=sent_overload),
            )
        )
    return seen, failed


def _sent(read: Probed) -> dict[str, float]:
    return {"sent_bytes": read.sent_bytes, "active_s": read.active_s}


def _features(row: Mapping[str, Any], read: Probed | None) -> dict[str, float]:
    if read is not None:
        return read.features
    return {name: float("nan") if row["features"][name] is None else row["features"][name] for name in NAMES}


def _limited(twin: dict[str, Any] | None, judged: Judgement, scale: TwinScale) -> dict[str, Any]:
    """Return whether a twin fits that is as far as it is, and whether the queue is unknown, under a model's limits."""
    strange = judged.novelty if twin is None else scale.strangeness(twin["distance"], judged.novelty)
    fitting = None if twin is None else {**twin, "limit": scale.limit, "fits": twin["distance"] <= scale.limit}
    return {"strange": strange, "is_new": strange > 1, "twin": fitting}


def split(seen: Sequence[Seen]) -> tuple[list[Seen], list[Seen]]:
    """Return those whose discipline was in training, and the others."""
    return [one for one in seen if not one.is_new], [one for one in seen if one.is_new]
