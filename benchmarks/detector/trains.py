"""The first two stages of a probe only, for what trains alone tell: whether flows take turns."""

from typing import Any

from benchmarks.detector.cases import Case
from benchmarks.detector.collect import conditions
from sojourn.detect.answer import fair_queueing
from sojourn.detect.plan import FULL, FULL_BYTES, FULL_COUNT
from sojourn.detect.probe import over, probe
from sojourn.detect.turns import TRAINS


def observe(case: Case, how: dict[str, Any]) -> dict[str, Any]:
    """Return what the trains say, and the bytes of those that were looked at; or why they say nothing."""
    about = conditions(case, how)
    try:
        seen = probe(over(case.path, case.number + 1, **how), decided=lambda _seen: True)
    except Exception as error:  # a failed probe is a result
        return {**about, "error": f"{type(error).__name__}: {error}"}
    find = seen.logs["find"].get(FULL)
    found_bytes = 0 if find is None else int(find.size_bytes.sum())
    return {
        **about,
        "fair_queueing": fair_queueing(seen),
        "train_bytes": found_bytes + TRAINS * FULL_COUNT * FULL_BYTES,
    }
