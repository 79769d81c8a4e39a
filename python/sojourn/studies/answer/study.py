"""Places in the strip from three kinds of runs, changes over time, and the figure of the map."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sojourn.data import strip
from sojourn.data.dataset import Dataset
from sojourn.data.rows import GROUPS, RUNS, SEED
from sojourn.study import Means, Number, changes, figure, measure
from sojourn.sweeps.plan import Plan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TOLD_PART = 0.95
_HARD_MBPS = 20
_SHOWN: dict[str, Any] = {"rate_mbps": 20, "rtt_ms": 50}
_ARRIVES_S, _LEAVES_S, _FIRST_S, _AFTER_S = 20.0, 40.0, 2.0, 5.0
_PAYLOAD_PART = 1448 / 1500
_BEST_EFFORT, _LOW_PRIORITY, _BOTH = "best effort alone", "low priority alone", "both"
_FIRST: dict[str, dict[str, Any]] = {
    _BEST_EFFORT: {
        "control": "LEDBAT",
        "low": "LEDBAT",
        "fate": "kept",
        "acks": "of each segment",
        "part": "nothing",
        "scavenger": "LEDBAT",
        "tuned": "LEDBAT",
    },
    _LOW_PRIORITY: {"rival": "NewReno", "best": "CUBIC"},
}
"""The values at which a class alone runs, of axes that are about the other class."""

Place = tuple[tuple[str, Any], ...]
Row = tuple[dict[str, Any], str, str, Number]


@changes("map", "marked", "helping", "helping-held-out")
def settings(control: str, rate_mbps: float, who: str, reader: str = "", helps: str = "") -> dict[str, Any] | None:
    """Tell CAKE the rate that its tins have parts of; a class alone runs once, whatever the other is."""
    if not _is_run(who, control=control):
        return None
    return told(rate_mbps) if reader == "CAKE, told" or helps == "LE, CAKE" else {}


@changes("jitter", "acks", "air", "ablations", "tournament", "tuned", "tuned-elsewhere")
def alone_once(
    who: str, control: str = "", acks: str = "", part: str = "", scavenger: str = "", best: str = "", tuned: str = ""
) -> dict[str, Any] | None:
    """Run a class alone once, whatever the other is."""
    at = {"control": control, "acks": acks, "part": part, "scavenger": scavenger, "best": best, "tuned": tuned}
    return {} if _is_run(who, **at) else None


@changes("marks", "beside", "hard", "people")
def with_readers(
    meets: str = "",
    meets_all: str = "",
    rate_mbps: float = _HARD_MBPS,
    who: str = "",
    control: str = "",
    low: str = "",
    fate: str = "",
    rival: str = "",
) -> dict[str, Any] | None:
    """Tell CAKE the rate, and run a class alone once, whatever the other is."""
    # Prague is for queues that mark.
    if not _is_run(who, control=control, low=low, fate=fate, rival=rival) or (rival, meets_all) == ("Prague", "CoDel"):
        return None
    return told(rate_mbps) if "CAKE" in meets + meets_all else {}


def _is_run(who: str, **at: str) -> bool:
    """Tell whether a point is one that runs: for a class alone, the first value of what only the other class has."""
    first = _FIRST.get(who, {})
    return all(value in {"", first.get(axis, value)} for axis, value in at.items())


@changes("kernel-marked", "simulated-marked")
def told(rate_mbps: float) -> dict[str, Any]:
    """Tell CAKE the rate that its tins have parts of."""
    return {"bottleneck.queue.bandwidth": f"{_TOLD_PART * rate_mbps:g} Mbit/s"}


@measure("places", of="map")
@measure("scout-places", of="scout")
@measure("held-out-places", of="held-out")
@measure("helping-places", of="helping")
@measure("helping-held-out-places", of="helping-held-out")
@measure("marked-places", of="marked")
@measure("fast-places", of="fast")
@measure("edges-places", of="edges")
@measure("marks-places", of="marks")
@measure("beside-places", of="beside")
@measure("hard-places", of="hard")
@measure("ablations-places", of="ablations")
@measure("jitter-places", of="jitter")
@measure("acks-places", of="acks")
@measure("air-places", of="air")
@measure("tournament-places", of="tournament")
@measure("tuned-places", of="tuned")
@measure("tuned-elsewhere-places", of="tuned-elsewhere")
@measure("receiver-places", of="receiver")
@measure("nimbus-places", of="nimbus")
def places(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield where each remedy stands."""
    runs = _records(plan, dataset)
    for at, both in ((at, both) for (at, who), both in runs.items() if who == _BOTH):
        coordinates = dict(at)
        best_effort, low_priority = (runs[_alone(coordinates, who), who] for who in (_BEST_EFFORT, _LOW_PRIORITY))
        stands = [strip.place(both[seed], best_effort[seed], low_priority[seed]) for seed in sorted(both)]
        possible = [float(_delay(record) < strip.BOUNDS.delay_ms) for record in best_effort.values()]
        kept = [strip.part(_goodput(both[seed]), _goodput(best_effort[seed])) for seed in sorted(both)]
        for name, values in {**_columns(stands), "possible": possible, "kept": kept}.items():
            yield coordinates, "", name, Number.by_run(values)


def _alone(at: Mapping[str, Any], who: str) -> Place:
    """Return where a class ran alone: what only the other class has does not matter to it, and ran once."""
    return tuple((axis, _FIRST[who].get(axis, value)) for axis, value in at.items())


def _goodput(record: Mapping[str, Any]) -> float | None:
    found: float | None = record["groups"]["tcp"]["goodput_mbps"]
    return found


def _columns(stands: list[strip.Place]) -> dict[str, Sequence[float | None]]:
    """Return the numbers of places by the names that the study gives them."""
    names = {"share": "best_effort"}
    found: dict[str, Sequence[float | None]] = {
        names.get(field.name, field.name): [getattr(one, field.name) for one in stands]
        for field in dataclasses.fields(strip.Place)
    }
    verdict = strip.judge(stands)
    return {**found, "inside": [float(verdict.inside)], "starved": [float(verdict.failed == [strip.ALONE])]}


def _delay(record: Mapping[str, Any]) -> float:
    found: float = record["groups"]["sparse"]["queue_ms"]["mean"]
    return found


def _records(plan: Plan, dataset: Dataset) -> dict[tuple[Place, str], dict[int, Any]]:
    """Return what the strip asks of each run, by the point without `who`, by `who` and by seed."""
    found: dict[tuple[Place, str], dict[int, Any]] = {}
    utilization = {(row["point"], row[SEED]): row["bottleneck_utilization"] for row in dataset.table(RUNS).to_pylist()}
    for row in dataset.table(GROUPS).to_pylist():
        at = dict(plan.point(row["point"]).coordinates)
        who = at.pop("who")
        record = found.setdefault((tuple(at.items()), who), {}).setdefault(
            row[SEED], {"bottleneck": {"utilization": utilization[row["point"], row[SEED]]}, "groups": {}}
        )
        record["groups"][row["group"]] = {
            "goodput_mbps": row["goodput_mbps"],
            "queue_ms": {"mean": row["queue_ms_mean"], "p99": row["queue_ms_p99"]},
        }
    return found


@measure("changes", of="dynamics")
def changed(plan: Plan, dataset: Dataset) -> Iterator[Row]:
    """Yield what a newcomer has at first and later, and when low priority is back."""
    got: dict[tuple[int, int], dict[str, dict[float, float]]] = {}
    for row in dataset.table("flows").select(["point", SEED, "group", "time_s", "delivered_bytes"]).to_pylist():
        bins = got.setdefault((row["point"], row[SEED]), {}).setdefault(row["group"], {})
        bins[row["time_s"]] = bins.get(row["time_s"], 0.0) + row["delivered_bytes"]
    for point in range(plan.points):
        at = plan.point(point).coordinates
        runs = [groups for (found, _), groups in sorted(got.items()) if found == point]
        series = [
            [
                strip.Delivered(plan.bin_s, [bins[time] for time in sorted(bins)])
                for bins in (run["tcp"], run["background"])
            ]
            for run in runs
        ]
        first_end = _ARRIVES_S + _FIRST_S
        newcomer = [strip.newcomer_share(tcp, low, _ARRIVES_S, _FIRST_S) for tcp, low in series]
        later = [strip.newcomer_share(tcp, low, first_end, _LEAVES_S - first_end) for tcp, low in series]
        whole = at["rate_mbps"] * 1e6 / 8 * _AFTER_S * _PAYLOAD_PART
        back = [low.between(_LEAVES_S, _LEAVES_S + _AFTER_S) / whole for _, low in series]
        for name, values in (("newcomer", newcomer), ("later", later), ("back", back)):
            yield at, "", name, Number.of(values)


@figure(
    "map",
    "map",
    "The ideal (grey) holds every remedy with marks; without marks only scout (black) reaches it under fair queueing. "
    "Mean delay of a sparse flow against best effort's share at 20 Mbit/s and 50 ms. Colours are controls, shapes are "
    "queues. Filled: low priority alone uses more than 90 % of the link",
)
def the_map(means: Means) -> "Figure":
    """Draw every remedy as a point, whose name the page shows under the pointer."""
    from sojourn.figures import legends
    from sojourn.figures.style import CAPACITY, drawn, tip
    from sojourn.study.panels import GREY

    sweeps = {"places": "queue", "marked-places": "reader", "scout-places": "queue"}
    controls = [
        *dict.fromkeys(
            cell.at["control"] for name in ("places", "marked-places") for cell in means.cells(name, "delay_ms")
        ),
        "scout",
    ]
    with drawn(4.4) as drawing:
        axes = drawing.subplots()
        axes.fill_between([0.05, strip.BOUNDS.delay_ms], 100 * strip.BOUNDS.share, 100, color=CAPACITY, zorder=0)
        for name, axis in sweeps.items():
            for delay in means.cells(name, "delay_ms", **_SHOWN):
                at = delay.at
                share, alone = (means.number(name, metric, **at) for metric in ("best_effort", "alone"))
                control = at.get("control", "scout")
                axes.plot(
                    delay.number.mean,
                    share.mean,
                    marker=_shape(at[axis]),
                    color=_colour(controls, control),
                    fillstyle="full" if alone.mean > 100 * strip.BOUNDS.alone else "none",
                    markersize=5,
                    linestyle="",
                    gid=tip(f"{control}, {at[axis]}: {delay.number.mean:.3g} ms, {share.mean:.0f} %"),
                )
        for control in controls:
            axes.plot([], [], "s", label=control, color=_colour(controls, control))
        legends.below(drawing, *axes.get_legend_handles_labels())
        shapes = [axes.plot([], [], shape, label=kind, color=GREY)[0] for kind, (shape, _) in _SHAPES.items()]
        axes.legend(handles=shapes, loc="lower left", bbox_to_anchor=(0.02, 0.35))
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel("mean queueing delay of a sparse flow [ms]")
        axes.set_ylabel("best effort's share of the goodput [%]")
    return drawing


_SHAPES = {
    "DropTail": ("o", {"DropTail"}),
    "one managed queue": ("s", {"RED", "RED of tc", "CoDel", "PIE", "DualPI2"}),
    "fair queueing": ("^", {"SFQ", "DRR", "FQ-CoDel", "CAKE"}),
    "reads the mark": ("D", {"CAKE, told", "prio", "DWRR 16:1"}),
}
"""The kinds of queues, the marker of each, and who belongs to it."""


def _shape(queue: str) -> str:
    return next(shape for shape, queues in _SHAPES.values() if queue in queues)


def _colour(controls: Sequence[str], control: str) -> str:
    """Return the colour of a control; scout, the last one, is black."""
    from sojourn.figures.style import INK, family

    return INK if control == controls[-1] else family(controls.index(control))
