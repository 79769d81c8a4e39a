"""What the paper leaves open: FQ-CoDel, and different targets inside the low-priority class."""

from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes

from sojourn.figures.style import family
from sojourn.papers.gong.disciplines import MOST_AQM_MS
from sojourn.papers.gong.drawing import panels
from sojourn.papers.gong.scavengers import CONTROLS
from sojourn.papers.gong.world import PACKETS, QUEUES, base, group, queue
from sojourn.papers.measures import QUEUE_MS, SEEDS, SHARE, UTILIZATION, Key, check, measure, span
from sojourn.study.lab import Lab
from sojourn.study.model import Findings, Item, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

FAIR_QUEUES: dict[str, dict[str, Any]] = {
    "FQ-CoDel": {"kind": "fq_codel", "preset": "rfc", "limit": f"{PACKETS} packets"},
    "FQ-CoDel, no collisions": {"kind": "fq_codel", "preset": "rfc", "limit": f"{PACKETS} packets", "perfect": True},
}
_FAIR = (0.45, 0.6)
# The queueing delays that two groups of LEDBAT flows aim at, in ms.
_TARGETS = ((25, 100), (50, 100), (100, 100))
_STARVED = 0.1
_SMALL_TARGET = "background"
_LARGE_TARGET = "larger"
_DISCIPLINES = {name: queue(name) for name in QUEUES} | {"FQ-CoDel": FAIR_QUEUES["FQ-CoDel"]}


def fq_codel(lab: Lab) -> Findings:
    """Share, delay and utilization under FQ-CoDel with every low-priority control."""
    kinds = {"DropTail": queue("DropTail"), "CoDel": queue("CoDel")} | FAIR_QUEUES
    cases: dict[Key, Mapping[str, Any]] = {
        (control, name): {"bottleneck.queue": kind, "group.background.control": wanted}
        for control, wanted in CONTROLS.items()
        for name, kind in kinds.items()
    }
    results = measure(lab, "fq-codel", base(), cases)
    found = Findings()
    rows = []
    for key in cases:
        numbers = [results.number(key, metric) for metric in (SHARE, QUEUE_MS, UTILIZATION)]
        rows.append((*key, *(part for number in numbers for part in (number.mean, number.sd))))
    columns = ("control", "discipline", "tcp_share", "sd_share", "queue_ms", "sd_ms", "utilization", "sd_utilization")
    found.tables.append(Table("fq-codel", "FQ-CoDel with every low-priority control", columns, tuple(rows)))

    def draw(index: int, axes: Axes) -> None:
        metric, scale = ((SHARE, 100), (QUEUE_MS, 1))[index]
        for position, control in enumerate(CONTROLS):
            places = [at + 0.27 * (position - 1) for at in range(len(kinds))]
            numbers = [results.number((control, name), metric) for name in kinds]
            axes.bar(
                places,
                [scale * number.mean for number in numbers],
                0.25,
                yerr=[scale * number.sd for number in numbers],
                color=family(position),
                label=control,
            )
        axes.set_xticks(range(len(kinds)), [name.replace(", ", ",\n") for name in kinds])
        if index:
            axes.set_yscale("log")

    found.show(
        "fq-codel", panels(("TCP's share [%]", "mean queueing delay [ms]"), draw), "FQ-CoDel beside DropTail and CoDel"
    )
    names = list(FAIR_QUEUES)
    shares = {(c, n): results.number((c, n), SHARE) for c in CONTROLS for n in names}
    found.checks = [
        check(
            "the priority is lost under FQ-CoDel, too, with every low-priority control",
            "expected",
            ", ".join(f"{control} {shares[control, names[0]].text(0, 100)} %" for control in CONTROLS),
            agrees=all(_FAIR[0] <= shares[control, names[0]].mean <= _FAIR[1] for control in CONTROLS),
            why="Each flow has a queue of its own, and a control that yields to the delay of its own queue gives up "
            "part of its turn to all: more than half is left to TCP where the control yields below CoDel's target.",
        ),
        check(
            "the queue is as short as under CoDel",
            "short",
            f"{span([results.number((c, names[0]), QUEUE_MS).mean for c in CONTROLS])} ms",
            agrees=all(results.number((c, names[0]), QUEUE_MS).mean <= MOST_AQM_MS for c in CONTROLS),
        ),
    ]
    found.verdict = (
        f"Under FQ-CoDel TCP is left {span([number.mean for number in shares.values()], 0, 100)} % of the link."
    )
    return found


def targets(lab: Lab) -> Findings:
    """Share of the group with the smaller target among two groups of LEDBAT flows, with and without TCP."""
    cases: dict[Key, Mapping[str, Any]] = {}
    for small, large in _TARGETS:
        for name, kind in _DISCIPLINES.items():
            cases[small, large, name] = {
                "bottleneck.queue": kind,
                "group.background.control": _ledbat(small),
                "group.larger.control": _ledbat(large),
            }
    groups = [group(_SMALL_TARGET, "ledbat"), group(_LARGE_TARGET, "ledbat")]
    alone = measure(lab, "targets", base(group=groups), cases)
    beside = measure(lab, "targets-tcp", base(group=[group("tcp", "newreno"), *groups]), cases)
    found = Findings()
    rows = []
    for key in cases:
        less, more = (beside.number(key, SHARE, one) for one in (_SMALL_TARGET, _LARGE_TARGET))
        share, delay = alone.number(key, SHARE, _SMALL_TARGET), alone.number(key, QUEUE_MS, _SMALL_TARGET)
        rows.append((*key, share.mean, share.sd, delay.mean, less.mean, less.sd, more.mean, more.sd))
    columns = (
        *("small_target_ms", "large_target_ms", "discipline", "small_share_alone", "sd_alone", "queue_ms_alone"),
        *("small_share_with_tcp", "sd_small", "large_share_with_tcp", "sd_large"),
    )
    found.tables.append(Table("targets", "Two targets inside the low-priority class", columns, tuple(rows)))

    def draw(index: int, axes: Axes) -> None:
        for position, (small, large) in enumerate(_TARGETS):
            places = [at + 0.27 * (position - 1) for at in range(len(_DISCIPLINES))]
            parts = [_part(index, (small, large, name)) for name in _DISCIPLINES]
            axes.bar(places, parts, 0.25, color=family(position), label=f"targets {small} and {large} ms")
        axes.axhline(50, color="#999999", linewidth=0.6)
        axes.set_xticks(range(len(_DISCIPLINES)), list(_DISCIPLINES), rotation=30)
        axes.set_ylabel("smaller target's part of the class [%]")

    def _part(index: int, key: Key) -> float:
        results = (alone, beside)[index]
        small, large = (results.number(key, SHARE, one).mean for one in (_SMALL_TARGET, _LARGE_TARGET))
        return 100 * small / max(small + large, 1e-9)

    titles = ("5 + 5 LEDBAT flows alone", "beside 5 NewReno flows")
    found.show("targets", panels(titles, draw), "What LEDBAT flows with the smaller target get")
    first = _TARGETS[0]
    starved = alone.number((*first, "DropTail"), SHARE, _SMALL_TARGET)
    under = {name: alone.number((*first, name), SHARE, _SMALL_TARGET) for name in _DISCIPLINES if name != "DropTail"}
    unlike = [name for name, number in under.items() if abs(number.mean - 0.5) > max(2 * number.sd, 0.02)]
    found.checks = [
        check(
            "under DropTail LEDBAT with a smaller target starves (known before the paper)",
            "starves",
            f"{starved.text(1, 100)} % with 25 against 100 ms",
            agrees=starved.mean <= _STARVED,
        ),
        check(
            "under AQMs different targets make no difference",
            "open question",
            ", ".join(f"{name} {number.text(0, 100)} %" for name, number in under.items()),
            agrees=not unlike,
            why=f"A small one under {', '.join(unlike)}, whose queue of "
            + ", ".join(f"{alone.number((*first, name), QUEUE_MS, _SMALL_TARGET).mean:.0f} ms" for name in unlike)
            + " at times exceeds the smaller target.",
        ),
    ]
    found.verdict = (
        f"LEDBAT at 25 ms gets {starved.text(1, 100)} % beside LEDBAT at 100 ms under DropTail, and "
        f"{span([number.mean for number in under.values()], 0, 100)} % under AQMs: they level priorities inside the "
        "low-priority class as well."
    )
    return found


def _ledbat(target_ms: int) -> dict[str, Any]:
    return {"kind": "ledbat", "preset": "ns2", "target": f"{target_ms} ms"}


_SETTING = f"4 Mbit/s, {PACKETS} packets, 50 ms, 60 s, {SEEDS} runs; presets ns2"
ITEMS = (
    Item(
        "fq_codel", "Left for later by the paper: FQ-CoDel", f"5 NewReno and 5 low-priority flows, {_SETTING}", fq_codel
    ),
    Item(
        "targets",
        "Left open by the paper: targets inside the low-priority class",
        f"5 and 5 LEDBAT flows, {_SETTING}",
        targets,
    ),
)
