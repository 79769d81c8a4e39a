"""Queues with classes and without: what a probe says that asks for them, and what the page says of that."""

import json
from pathlib import Path
from typing import Any

from benchmarks.detector import linux_queues
from benchmarks.detector.cases import CLASSED, Case
from benchmarks.detector.collect import conditions, sender
from benchmarks.detector.tables import share, table
from sojourn.detect.answer import answer
from sojourn.detect.plan import CLASSES, QUESTIONS
from sojourn.detect.probe import probe
from sojourn.detect.stored import load_model

_NEAR = 0.02


def observe(case: Case, how: dict[str, Any]) -> dict[str, Any]:
    """Return what is said of classes, and the truth; or why nothing is said."""
    about = conditions(case, how)
    kept, l4s = _truth(case, how["world"])
    asks = QUESTIONS if how["world"] == "sim" else (CLASSES,)
    try:
        # Classes are asked for after the load, and the overload tells nothing of them.
        seen = probe(sender(case, how), asks=asks, decided=lambda _: True)
    except Exception as error:  # a failed probe is a result
        return {**about, "error": f"{type(error).__name__}: {error}"}
    found = answer(seen, load_model())
    said = {"said_classes": found.classes, "said_share": found.low_share, "said_l4s": found.l4s}
    return {**about, "share": kept, "l4s": l4s, **said}


def _truth(case: Case, world: str) -> tuple[float | None, bool | None]:
    """Return what of the rate LE keeps, and whether ECT(1) has a queue of its own."""
    if world == "tc":
        return linux_queues.CLASSED[case.number % len(linux_queues.CLASSED)].low_share, None
    _, _, kept, l4s = CLASSED[world][case.number % len(CLASSED[world])]
    return kept, l4s


def section(files: dict[str, Path]) -> list[str]:
    """Return the part of the page on classes, of files by the world that they are of."""
    rows = []
    for world, file in files.items():
        lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        seen = [line for line in lines if "error" not in line]
        for name in dict.fromkeys(_title(line) for line in seen):
            own = [line for line in seen if _title(line) == name]
            rows.append((world, name, str(len(own)), *_said(own)))
    heads = ("world", "queue", "probes", "code point: right", "share that LE keeps: right", "ECT(1): right")
    return [
        "## Are classes told?",
        (
            "With `--classes` two flows ask whether the code point LE counts. Then one of them takes all there is, "
            "which tells what LE keeps: nothing under strict priority. Two greedy flows ask whether ECT(1) has a queue "
            f"of its own (L4S). A share is right within {_NEAR:.0%} of the rate; more than LE sends, 12 %, cannot be "
            "seen. Where flows do not fill the path the question stays open, and counts as neither right nor wrong. "
            "The last rows are queues of Linux in the words of `tc`, with a filter that gives LE a class of its own. "
            "The rules were mended after a look at the simulated rows; the last rows came later."
        ),
        table(heads, rows),
    ]


def _title(line: dict[str, Any]) -> str:
    extra = line["queue"].get("diffserv")
    weights = "".join(f", weight {one['weight']} to 1" for one in line["queue"].get("class", ()) if "weight" in one)
    preset = ", linux" if line["name"] == "dualpi2" and "preset" in line["queue"] else ""
    return f"{line['name']}{f', {extra}' if extra else ''}{weights}{preset}"


def _said(own: list[dict[str, Any]]) -> tuple[str, str, str]:
    kept = [line for line in own if line["share"] is not None]
    asked = [line for line in own if line["l4s"] is not None]
    return (
        _right([_same(line["said_classes"], line["share"] is not None) for line in own]),
        _right([_near(line["said_share"], line["share"]) for line in kept]),
        _right([_same(line["said_l4s"], line["l4s"]) for line in asked]),
    )


def _same(said: bool | None, truth: bool) -> bool | None:
    return None if said is None else said == truth


def _near(said: float | None, truth: float) -> bool | None:
    return None if said is None else abs(said - truth) <= _NEAR


def _right(answers: list[bool | None]) -> str:
    """Return how many of those that were answered are right, and how many were not answered."""
    told = [one for one in answers if one is not None]
    left = len(answers) - len(told)
    return "" if not answers else f"{share(told)}{f', {left} open' if left else ''}"
