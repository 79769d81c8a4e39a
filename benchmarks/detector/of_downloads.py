"""What the page says of downloads: how often the passive mode is right, and what it cannot say."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.detector.cases import NEW
from benchmarks.detector.tables import calibration_error, share, table
from sojourn.detect.answer import SURE
from sojourn.detect.download import NAMES
from sojourn.detect.draw import FAMILIES
from sojourn.detect.model import Judgement, Model

_FAIR = {"sfq", "drr", "fq_codel", "cake", "fq_pie"}
_AQM = {"codel", "pie", "red", "fq_codel", "cake", "choke", "fq_pie"}
_REASONS = {
    "no queue was seen": "no queue was seen",
    "while none waited": "losses without a queue",
    "are needed": "too few packets",
    "rate of the path changed": "the rate seemed to change",
    "missed": "the capture missed packets",
    "UDP": "the largest stream was UDP",
    "timestamps": "no timestamps that follow a clock",
}


@dataclass(frozen=True)
class _Seen:
    about: dict[str, Any]
    judged: Judgement

    @property
    def aqm(self) -> float:
        return sum(part for name, part in self.judged.families.items() if "AQM" in name)

    @property
    def is_new(self) -> bool:
        return self.about["name"] in NEW


def section(file: Path, model: Model) -> list[str]:
    """Return the parts of the page about the downloads of a file."""
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    whole = [row for row in rows if "features" in row]
    if not whole:
        return []
    said = [_Seen(row, _judged(row, model)) for row in whole if "queue" not in row["cannot"]]
    known = [one for one in said if not one.is_new]
    sure = [one for one in said if max(one.aqm, 1 - one.aqm) >= SURE]
    told = [row for row in whole if row["said_isolated"] is not None]
    second = [row for row in whole if row["has_second"]]
    lines = [
        ("a queue is named, or its family", share([row in [one.about for one in said] for row in whole])),
        ('"with AQM" or "without" is said with 80 % or more', share([one in sure for one in said])),
        ("this is right", share([(one.aqm >= SURE) == (one.about["name"] in _AQM) for one in sure])),
        ("the name is right, of queues in training", share([one.judged.best == one.about["name"] for one in known])),
        *(
            (
                f"the set of {words} holds the name, of queues in training",
                share([one.about["name"] in one.judged.sets[words] for one in known]),
            )
            for words in ("95 %", "99 %")
        ),
        ("names in the set of 95 %, mean", f"{np.mean([len(one.judged.sets['95 %']) for one in known]):.1f}"),
        (
            "expected calibration error of the name",
            f"{calibration_error([one.judged.names[one.judged.best] for one in known], _right(known)):.1%}",
        ),
        (
            "with a second stream, isolation of flows is told",
            share([row["said_isolated"] is not None for row in second]),
        ),
        ("this is right", share([row["said_isolated"] == (row["name"] in _FAIR) for row in told])),
    ]
    return [
        "## What does a capture of a download tell?",
        (
            f"{len(whole)} downloads of 12 s were simulated over the paths of the test, written as pcapng behind the "
            "queue and read by `sojourn detect`. A third of them had no second stream. The model was trained on other "
            "simulated downloads; no capture of a kernel is among these."
        ),
        table(("What", "Share"), lines),
        "Nothing is said of the queue for these reasons:",
        table(("reason", "downloads"), _reasons(whole)),
        "Names of queues that were in training, as the columns say them:",
        _confusion(known),
    ]


def _judged(row: dict[str, Any], model: Model) -> Judgement:
    values = {name: float("nan") if row["features"][name] is None else row["features"][name] for name in NAMES}
    return model.judge_download(values)


def _right(seen: Sequence[_Seen]) -> list[bool]:
    return [one.judged.best == one.about["name"] for one in seen]


def _reasons(rows: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    found = [row["cannot"]["queue"] for row in rows if "queue" in row["cannot"]]
    words = [next((short for part, short in _REASONS.items() if part in text), "other") for text in found]
    return [(word, str(count)) for word, count in Counter(words).most_common()] or [("none", "0")]


def _confusion(seen: Sequence[_Seen]) -> str:
    said = [name for name in FAMILIES if any(one.judged.best == name for one in seen)]
    rows = []
    for name in dict.fromkeys(one.about["name"] for one in seen):
        counts = Counter(one.judged.best for one in seen if one.about["name"] == name)
        rows.append((name, *(str(counts[other] or "") for other in said)))
    return table(("queue", *(f"said {name}" for name in said)), rows)
