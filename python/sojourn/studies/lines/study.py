"""What tables will not do of the study of lines: on which part of them something holds."""

from collections.abc import Iterator, Mapping
from statistics import median
from typing import TYPE_CHECKING, Any

from sojourn.purposes import PURPOSES
from sojourn.registry import catalogue
from sojourn.study import Means, Number, Outcome, claim, measure
from sojourn.study.means import by_run

if TYPE_CHECKING:
    from sojourn.data.dataset import Dataset
    from sojourn.sweeps.plan import Plan

Row = tuple[dict[str, Any], str, str, Number]

_CALLS, _BACKUPS = ("call", "call-down"), "backups"
_METRICS = ("voip_mos", "voip_delay_ms_p99", "share", "bottleneck_utilization")
_ALL = "all"
_WORST = 10
_KINDS = {"fibre": "fibre", "cable": "cable", "vdsl": "DSL", "adsl": "DSL"}


@measure("homes", of="lines")
def homes(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield the part of the lines on which calls are good and backups yield, of all lines and of each technology."""
    kinds = {line["name"]: _KINDS.get(line["technology"], "other") for line in catalogue()["lines"]}
    parts = _parts(plan)
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for at, _, groups in by_run(plan, dataset, _METRICS):
        on_line = _judged(groups, parts[at["remedy"]])
        for of in (_ALL, kinds[at["line"]]):
            found.setdefault((at["remedy"], of), []).append(on_line)
    for (remedy, of), lines in found.items():
        at = {"remedy": remedy, "of": of}
        for metric in ("good", "yield", "used"):
            yield at, "", metric, Number.of([one[metric] for one in lines])
        yield at, "", "wait", Number.of([median([one["wait"] for one in lines])])


@measure("worst", of="lines")
def worst(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield for each remedy the lines with the worst calls, and those on which backups take most; the worst first."""
    found: dict[str, dict[str, list[tuple[float, str]]]] = {}
    for at, _, groups in by_run(plan, dataset, _METRICS):
        of = found.setdefault(at["remedy"], {"mos": [], "taken": []})
        of["mos"].append((min(groups[call]["voip_mos"] or 1.0 for call in _CALLS), at["line"]))
        of["taken"].append((-(groups[_BACKUPS]["share"] or 0.0), at["line"]))
    for remedy, by in found.items():
        for metric, lines in by.items():
            for value, line in sorted(lines)[:_WORST]:
                yield {"remedy": remedy, "line": line}, "", metric, Number(abs(value), 0.0, 1)


@claim("worst", "{remedy}: the lines with the worst calls (MOS)", name="worst, {remedy}")
def worst_calls(means: Means) -> Iterator[Outcome]:
    """Name them."""
    yield from _named(means, "mos")


@claim("worst", "{remedy}: the lines on which backups take most of what both upload (%)")
def worst_backups(means: Means) -> Iterator[Outcome]:
    """Name them."""
    yield from _named(means, "taken")


def _named(means: Means, metric: str) -> Iterator[Outcome]:
    unit = means.unit(metric)
    found: dict[str, list[str]] = {}
    for cell in means.cells("worst", metric):
        found.setdefault(cell.at["remedy"], []).append(f"{cell.at['line']} {cell.number.mean:.{unit.digits}f}")
    for remedy, lines in found.items():
        yield Outcome(None, ", ".join(lines), at={"remedy": remedy})


def _judged(groups: Mapping[str, Mapping[str, Any]], part: float) -> dict[str, float]:
    """Return what holds on one line; where a call or the backups measured nothing, it does not."""
    calls, backups = (PURPOSES[name].bound or 0.0 for name in ("calls", "background"))
    share = groups[_BACKUPS]["share"]
    return {
        "good": float(all((groups[call]["voip_mos"] or 0.0) >= calls for call in _CALLS)),
        "yield": float(share is not None and share <= backups),
        "used": groups[_BACKUPS]["bottleneck_utilization"] * part,
        "wait": groups[_CALLS[0]]["voip_delay_ms_p99"],
    }


def _parts(plan: "Plan") -> dict[str, float]:
    """Return for each remedy the rate of the bottleneck over that of the line: of the gateway, where there is one."""
    points = map(plan.point, range(plan.points))
    return {point.coordinates["remedy"]: float(point.changes["access.gateway"]) or 1.0 for point in points}
