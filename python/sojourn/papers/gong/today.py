"""The same question with today's defaults: SACK, ten segments to start, CUBIC beside NewReno, today's disciplines."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes

from sojourn.figures.style import family
from sojourn.papers.gong.drawing import half, panels
from sojourn.papers.gong.world import PACKETS, base, group, rate
from sojourn.papers.measures import QUEUE_MS, SEEDS, SHARE, UTILIZATION, Key, Number, check, measure, shown, span
from sojourn.study.lab import Lab
from sojourn.study.model import Findings, Item, Table

_TAIL = "DropTail"
_LIMIT = {"limit": f"{PACKETS} packets"}
DISCIPLINES: dict[str, dict[str, Any]] = {
    _TAIL: {"kind": "droptail", "preset": "linux", **_LIMIT},
    "RED": {"kind": "red", "preset": "linux"},
    "SFQ": {"kind": "sfq", "preset": "linux"},
    "CoDel": {"kind": "codel", "preset": "linux"},
    "PIE": {"kind": "pie", "preset": "linux"},
    "FQ-CoDel": {"kind": "fq_codel", "preset": "linux"},
    "CAKE": {"kind": "cake", "preset": "linux"},
}
# The paper's advice: flows that say themselves that they want less. CAKE has a tin for the code point LE (RFC 8622);
# it needs to know the rate, and its default of three tins has one for such traffic.
_TOLD = "CAKE, told"
BEST_EFFORT = ("newreno", "cubic")
LOW: dict[str, Any] = {
    "LEDBAT": {"kind": "ledbat", "preset": "linux"},
    "libutp": "libutp",
    "LEDBAT++": "ledbatpp",
    "TCP-LP": {"kind": "tcp_lp", "preset": "linux"},
}
RATES_MBPS = (4.0, 20.0)
_HIGH, _RESET = 0.8, 0.65
MODULE = "Linux's TCP-LP takes about half under DropTail; so it did in the paper's testbed (Table 3: TCP 50.8 %)."


def today(lab: Lab) -> Findings:
    """TCP's share of today's controls under today's disciplines."""
    cases: dict[Key, Mapping[str, Any]] = {}
    for mbps in RATES_MBPS:
        told = {"kind": "cake", "preset": "linux", "bandwidth": rate(0.95 * mbps)}
        for best in BEST_EFFORT:
            for low, control in LOW.items():
                common = {
                    "bottleneck.rate": rate(mbps),
                    "group.tcp.control": {"kind": best, "preset": "linux"},
                    "group.background.control": control,
                }
                for name, kind in DISCIPLINES.items():
                    cases[mbps, best, low, name] = common | {"bottleneck.queue": kind}
                cases[mbps, best, low, _TOLD] = common | {"bottleneck.queue": told, "group.background.dscp": "le"}
    groups = [group(name, control, transport="linux") for name, control in (("tcp", "cubic"), ("background", "ledbat"))]
    results = measure(lab, "today", base(group=groups), cases)
    metrics = (SHARE, QUEUE_MS, UTILIZATION)
    measured = {key: results.numbers(key, metrics) for key in cases}
    found = Findings()
    columns = (
        *("mbps", "best_effort", "low_priority", "discipline", "tcp_share", "sd_share"),
        *("queue_ms", "sd_ms", "utilization", "sd_utilization"),
    )
    rows = tuple((*key, *(part for n in numbers for part in (n.mean, n.sd))) for key, numbers in measured.items())
    found.tables.append(Table("today", "Today's controls under today's disciplines", columns, rows))
    names = (*DISCIPLINES, _TOLD)
    for mbps in RATES_MBPS:

        def draw(index: int, axes: Axes, mbps: float = mbps) -> None:
            for position, low in enumerate(LOW):
                places = [at + 0.2 * (position - 1.5) for at in range(len(names))]
                numbers = [measured[mbps, BEST_EFFORT[index], low, name][0] for name in names]
                heights, deviations = (
                    [100 * part for part in parts] for parts in zip(*((n.mean, n.sd) for n in numbers), strict=True)
                )
                axes.bar(
                    places,
                    heights,
                    0.19,
                    yerr=deviations,
                    color=family(position),
                    label=low,
                    error_kw={"elinewidth": 0.6},
                )
            half(axes)
            axes.set_xticks(range(len(names)), names, rotation=35)
            axes.set_ylabel("share of the best-effort flows [%]")
            axes.set_ylim(0, 102)

        titles = (f"NewReno, {mbps:g} Mbit/s", f"CUBIC, {mbps:g} Mbit/s")
        found.show(f"today-{mbps:g}", panels(titles, draw, height_in=3.0), f"Today's defaults at {mbps:g} Mbit/s")
    found.checks = _checks(*({key: numbers[place] for key, numbers in measured.items()} for place in (0, 1)))
    aqms = [name for name in DISCIPLINES if name != _TAIL]
    ledbat = [
        measured[mbps, best, "LEDBAT", name][0].mean for mbps in RATES_MBPS for best in BEST_EFFORT for name in aqms[1:]
    ]
    marked = [measured[key][0].mean for key in cases if key[3] == _TOLD]
    libutp = [
        measured[mbps, best, "libutp", name][0].mean for mbps in RATES_MBPS for best in BEST_EFFORT for name in aqms[1:]
    ]
    tail = [
        measured[mbps, best, low, _TAIL][0].mean
        for mbps in RATES_MBPS
        for best in BEST_EFFORT
        for low in ("LEDBAT", "libutp")
    ]
    found.verdict = (
        f"With today's defaults best-effort TCP has {span(tail, 0, 100)} % beside LEDBAT and libutp under DropTail; "
        f"under AQMs but RED {span(ledbat, 0, 100)} % beside LEDBAT and {span(libutp, 0, 100)} % beside "
        "libutp, which BitTorrent uses. Where low-priority flows say what they are (code point LE) and CAKE knows the "
        f"rate, it has {span(marked, 0, 100)} %: the paper's advice works."
    )
    return found


def _checks(shares: Mapping[Key, Number], delays: Mapping[Key, Number]) -> list[Any]:
    checks = []
    for mbps in RATES_MBPS:
        for best in BEST_EFFORT:
            where = f"{best} at {mbps:g} Mbit/s"
            now = {(low, name): shares[mbps, best, low, name] for low in LOW for name in (*DISCIPLINES, _TOLD)}
            aqms = [name for name in DISCIPLINES if name != _TAIL]
            low_tail = [f"{low} ({now[low, _TAIL].text(0, 100)} %)" for low in LOW if now[low, _TAIL].mean < _HIGH]
            kept = [
                f"{low} under {name} ({now[low, name].text(0, 100)} %)"
                for low in LOW
                for name in aqms
                if now[low, name].mean > _RESET
            ]
            more = [f"{low} under {name}" for low in LOW for name in aqms if not now[low, _TAIL].above(now[low, name])]
            checks += [
                check(
                    f"{where}: under DropTail the low-priority flows leave most of the link",
                    "most",
                    ", ".join(f"{low} {now[low, _TAIL].text(0, 100)}" for low in LOW) + " %",
                    agrees=not low_tail,
                    why=f"Not {', '.join(low_tail)}. {MODULE}",
                ),
                check(
                    f"{where}: every AQM resets the priority",
                    "at most 65 %",
                    f"{span([now[low, name].mean for low in LOW for name in aqms], 0, 100)} %",
                    agrees=not kept,
                    why=f"Some priority is left: {', '.join(kept)}. Mean queueing delay under RED with tc's "
                    f"thresholds: {delays[mbps, best, 'LEDBAT', 'RED'].mean:.0f} ms; LEDBAT aims at 100. "
                    "As the paper's RED*, a queue that low-priority flows can see leaves them their priority.",
                ),
                check(
                    f"{where}: TCP has less under every AQM than under DropTail",
                    "less",
                    f"{len(LOW) * len(aqms) - len(more)} of {len(LOW) * len(aqms)} pairs",
                    agrees=not more,
                    why=f"Not beyond chance: {', '.join(more)}. {MODULE}",
                ),
                shown(
                    f"{where}: low-priority flows that say so (LE), CAKE told the rate",
                    "the paper's advice",
                    ", ".join(f"{low} {now[low, _TOLD].text(0, 100)}" for low in LOW) + " %",
                ),
            ]
    return checks


ITEMS = (
    Item(
        "today",
        "Today: does the finding still hold?",
        f"5 NewReno or CUBIC and 5 low-priority flows, 4 and 20 Mbit/s, 50 ms, 60 s, {SEEDS} runs; presets linux for "
        f"controls, transport (SACK, ten segments to start) and disciplines; DropTail with {PACKETS} packets",
        today,
    ),
)
