"""Table 3 with the disciplines and controls of today's kernel, and with the mark that low-priority flows may set."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.figures.style import FAMILIES, family
from sojourn.papers.measures import Key, check, shown, span
from sojourn.papers.testbed.world import CONTROLS, FIFO, KERNEL, LEDBAT, QUEUES, RUNS, Cell, both, case
from sojourn.study.lab import Lab
from sojourn.study.model import Findings, Item, Table
from sojourn.study.panels import half, panels

FLOWS = 5
MARKED = "CAKE, marked"
DISCIPLINES: dict[str, dict[str, Any]] = {
    FIFO: QUEUES[FIFO],
    "CoDel": {"kind": "codel", "preset": "linux"},
    "FQ-CoDel": {"kind": "fq_codel", "preset": "linux"},
    "PIE": {"kind": "pie", "preset": "linux"},
    "CAKE": {"kind": "cake", "preset": "linux"},
    # tc's thresholds are parts of the limit, which has no default: these are 5 and 15 packets.
    "CHOKe": {"kind": "choke", "preset": "linux", "limit": "60 packets"},
    # Turns of one packet; a buffer as SFQ's.
    "DRR": {"kind": "drr", "preset": "per-flow", "limit": "127 packets"},
}
# DCTCP is for queues that mark: some of them have to be asked to.
DCTCP = "DCTCP"
_MARKING: dict[str, dict[str, Any]] = {
    "CoDel": {"ecn": True},
    "FQ-CoDel": {},
    "PIE": {"ecn": True},
    "CAKE": {},
    "CHOKe": {"ecn": True},
}
_MARKED_TRANSPORT = {"preset": "linux", "ecn": True, "ecn_feedback": "accurate"}
NAMES = (*DISCIPLINES, MARKED)
# CAKE has to know the rate for its tins to have a meaning.
_MARKED_QUEUE = {"kind": "cake", "preset": "diffserv4", "bandwidth": "475 kbit/s"}
_RFC = "LEDBAT, RFC 6817"
LOW: dict[str, Any] = {
    **CONTROLS,
    _RFC: "ledbat",
    **{
        name: {"kind": kind, "preset": "linux"}
        for name, kind in (
            ("Vegas", "vegas"),
            ("Westwood", "westwood"),
            ("CDG", "cdg"),
            ("Veno", "veno"),
            ("Illinois", "illinois"),
            ("CUBIC", "cubic"),
            ("BBR", "bbr"),
            (DCTCP, "dctcp"),
        )
    },
}
# What a control that yields leaves, and what counts as a priority that is reset.
_HIGH, _RESET = 0.8, 0.65


def cases() -> dict[Key, dict[str, Any]]:
    """Return the changes of each cell, by background and discipline."""
    found: dict[Key, dict[str, Any]] = {
        (low, name): case(queue, control, FLOWS)
        for low, control in LOW.items()
        for name, queue in DISCIPLINES.items()
        if low != DCTCP
    }
    for name, asked in _MARKING.items():
        found[DCTCP, name] = _ecn(case(DISCIPLINES[name] | asked, LOW[DCTCP], FLOWS))
    for low, control in LOW.items():
        marked = case(_MARKED_QUEUE, control, FLOWS) | {"group.background.dscp": "le"}
        found[low, MARKED] = _ecn(marked) if low == DCTCP else marked
    return found


def _ecn(changes: Mapping[str, Any]) -> dict[str, Any]:
    return {**changes, "group.background.transport": _MARKED_TRANSPORT}


def cells(lab: Lab) -> dict[str, dict[Key, Cell]]:
    """Return what was found in each world, by background and discipline."""
    return both(lab, "today", cases())


def today(lab: Lab) -> Findings:
    """Return TCP's share of today's controls under today's disciplines, on the kernel."""
    real = cells(lab)[KERNEL]
    found = Findings()
    found.show("today", _figure(real), "TCP's share and the mean delay of pings on the kernel")
    columns = ("low_priority", "discipline", "share", "exact_ms", "ping_ms", "utilization")
    rows = tuple(
        (*key, 100 * one.share.mean, one.exact_ms.mean, one.ping_ms.mean, one.utilization.mean)
        for key, one in real.items()
    )
    found.tables.append(Table("today", "Shares in percent, mean delays in ms", columns, rows))
    aqms = [name for name in DISCIPLINES if name != FIFO]
    for low in LOW:
        shares = {name: real[low, name].share.mean for name in NAMES if (low, name) in real}
        kept = [f"{name} {100 * shares[name]:.0f} %" for name in aqms if name in shares and shares[name] > _RESET]
        text = ", ".join(f"{name} {100 * share:.0f}" for name, share in shares.items())
        if low in (LEDBAT, _RFC):
            found.checks.append(
                check(
                    f"{low}: yields under FIFO, and every AQM resets that",
                    "at least 80 %; at most 65 %",
                    f"{text} %",
                    agrees=shares[FIFO] >= _HIGH and not kept,
                    why=f"Some priority is left: {', '.join(kept) or 'none under an AQM'}.",
                )
            )
        else:
            found.checks.append(shown(f"{low}: TCP's share", "-", f"{text} %"))
    marked = {low: real[low, MARKED].share.mean for low in LOW}
    little = [f"{low} {100 * share:.0f} %" for low, share in marked.items() if share < _HIGH]
    found.checks.append(
        check(
            "CAKE with four tins gives TCP most of the link beside any control whose packets are marked Lower Effort",
            "the paper's advice",
            f"{span(list(marked.values()), 1, 100)} %",
            agrees=not little,
            why=f"Not {', '.join(little)}.",
        )
    )
    ledbat = [real[LEDBAT, name].share.mean for name in aqms]
    found.verdict = (
        f"Beside libutp TCP has {100 * real[LEDBAT, FIFO].share.mean:.0f} % under FIFO and {span(ledbat, 0, 100)} % "
        f"under today's disciplines. Where the background says what it is (Lower Effort, RFC 8622) CAKE leaves TCP "
        f"{span(list(marked.values()), 1, 100)} %, whatever the control, at "
        f"{span([real[low, MARKED].ping_ms.mean for low in LOW])} ms of delay for pings."
    )
    return found


def _figure(real: Mapping[Key, Cell]) -> Figure:
    def draw(index: int, axes: Axes) -> None:
        for position, low in enumerate(LOW):
            own = [(at, real[low, name]) for at, name in enumerate(NAMES) if (low, name) in real]
            places = [at + 0.08 * (position - (len(LOW) - 1) / 2) for at, _ in own]
            cells_ = [one for _, one in own]
            values = [100 * one.share.mean for one in cells_] if index == 0 else [one.ping_ms.mean for one in cells_]
            colour = family(position % len(FAMILIES))
            fill = colour if position < len(FAMILIES) else "none"
            axes.plot(
                places, values, "o", markersize=4, color=colour, markerfacecolor=fill, linestyle="none", label=low
            )
        axes.set_xticks(range(len(NAMES)), NAMES, rotation=35)
        if index == 0:
            half(axes)
            axes.set_ylim(-2, 102)
            axes.set_ylabel("TCP's share [%]")
        else:
            axes.set_yscale("log")
            axes.set_ylabel("mean delay of pings [ms]")

    return panels(["share", "delay"], draw, height_in=3.4)


ITEMS = (
    Item(
        "today",
        "Table 3 of today: the kernel's own disciplines and controls",
        f"5 NewReno flows and 5 of another control, 500 kbit/s behind HTB, 30 ms, 60 s, on the kernel, {RUNS} runs "
        "each; presets linux; CHOKe with 60 packets and so thresholds of 5 and 15, DRR with 127 for each flow; DCTCP "
        "with ECN, where a queue marks; last, CAKE with diffserv4 at 475 kbit/s and the background marked Lower Effort "
        "(RFC 8622)",
        today,
    ),
)
