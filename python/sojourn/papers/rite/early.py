"""Section 4.2.1 and Table 4.1: early marking for senders that ask for it, beside those that do not."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.figures.style import PAGE_WIDTH_IN, Drawing, family, styled
from sojourn.papers.measures import SHARE, UTILIZATION, Key, Results, check, measure, shown
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table
from sojourn.study.numbers import Number
from sojourn.study.panels import half, panels

RUNS = 8
RATE_MBPS, RTT_MS = 10, 40
THRESHOLD_MS = 2.0
# What a mark leaves of the new sender's window in the table: the factor that RFC 8511 recommends for NewReno.
NEW_FACTOR = 0.8
NONE, OLD, NEW = "no ECN", "ECT(0)", "ECT(1)"
_RENO = {"kind": "newreno", "preset": "linux"}
SENDERS: dict[str, dict[str, Any]] = {
    NONE: {"control": _RENO, "transport": "linux"},
    OLD: {"control": _RENO, "transport": {"preset": "linux", "ecn": True}},
    NEW: {
        "control": {**_RENO, "abe": NEW_FACTOR},
        "transport": {"preset": "linux", "ecn": True, "ect": "ect1"},
    },
}
PAIRS = tuple(itertools.combinations_with_replacement(SENDERS, 2))
_CODEL = {"kind": "codel", "preset": "linux", "ecn": True}
_NO_AQM, _STANDARD, _EARLY, _DUAL = "no AQM", "standard ECN", "early marking", "DualPI2"


def _early(threshold_ms: float) -> dict[str, Any]:
    return {"kind": "early", "threshold": f"{threshold_ms:g} ms", "child": _CODEL}


ROUTERS: dict[str, dict[str, Any]] = {
    _NO_AQM: {"kind": "droptail", "limit": "200 ms"},
    _STANDARD: _CODEL,
    _EARLY: _early(THRESHOLD_MS),
    _DUAL: {"kind": "dualpi2", "preset": "linux"},
}
FACTORS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99)
# Thresholds at one round-trip time, and round-trip times at one threshold.
SETTINGS = ((1.0, 40), (2.0, 40), (5.0, 40), (2.0, 20), (2.0, 80))
FIRST, SECOND = "first", "second"
# Two new senders under early marking, whose packets leave one by one instead of in bursts.
_PACED: Key = (NEW, NEW, "early marking, paced")
# Criteria, from before the first run: half is within five points, a sender keeps its share from 45 % on.
_HALF = 0.5
_POINTS = 0.05


def base() -> dict[str, Any]:
    """Return the scenario that the cases change: two flows on one queue."""
    return {
        "name": "rite-early",
        "duration": "120 s",
        "warmup": "20 s",
        "bottleneck": {"rate": f"{RATE_MBPS} Mbit/s", "queue": "droptail"},
        "group": [_group(FIRST, NONE), _group(SECOND, NONE)],
    }


def _group(name: str, sender: str) -> dict[str, Any]:
    return {"name": name, "rtt": f"{RTT_MS} ms", "start": {"uniform": ["0 s", "1 s"]}, **SENDERS[sender]}


def sender(group: str, name: str) -> dict[str, Any]:
    """Return the changes that make a group a sender."""
    return {f"group.{group}.{key}": value for key, value in SENDERS[name].items()}


def table(lab: Lab) -> Findings:
    """Table 4.1: what each pair of senders gets from each router."""
    cases: dict[Key, Mapping[str, Any]] = {
        (*pair, router): {"bottleneck.queue": queue, **sender(FIRST, pair[0]), **sender(SECOND, pair[1])}
        for pair in PAIRS
        for router, queue in ROUTERS.items()
    }
    both_new = {**sender(FIRST, NEW), **sender(SECOND, NEW), "bottleneck.queue": ROUTERS[_EARLY]}
    paced = {f"group.{group}.transport": {**SENDERS[NEW]["transport"], "pacing": 1.0} for group in (FIRST, SECOND)}
    results = measure(lab, "early", base(), {**cases, _PACED: both_new | paced}, seeds=RUNS)
    found = Findings()
    filled = tuple((" + ".join(pair), *(_cell(results, (*pair, router)) for router in ROUTERS)) for pair in PAIRS)
    found.tables = [
        Table("table4.1", "Table 4.1, filled: shares; mean delays; marks; drops", ("senders", *ROUTERS), filled),
        _data(results, list(cases)),
    ]
    found.show("table4.1", _drawn(results), "Table 4.1, filled: what each of two flows gets from each router")
    found.checks = [
        *_without_aqm(results),
        *_saved(results),
        *_pushed(results),
        *_marked_early(results),
        *_isolated(results),
    ]
    found.verdict = _verdict(results)
    found.text = (
        "Two flows of NewReno with SACK. No ECN, ECT(0) and ECT(1) are what their packets say; the ECT(1) sender keeps "
        f"{NEW_FACTOR:g} of its window for a mark, the others half. Early marking is a mark for each ECT(1) "
        f"packet that has waited for more than {THRESHOLD_MS:g} ms, beside CoDel with ECN for all. DualPI2 puts ECT(1) "
        "packets into a queue of their own and marks them as DCTCP or Prague expect it, which this sender is not."
    )
    return found


_MEASURED = (SHARE, "goodput_mbps", "queue_ms_mean", "queue_ms_p90", "mark_rate", "drop_rate")


def _cell(results: Results, key: Key) -> str:
    share, _, wait, _, marks, drops = (
        [results.number(key, metric, group).mean for group in (FIRST, SECOND)] for metric in _MEASURED
    )
    return (
        f"{100 * share[0]:.0f} : {100 * share[1]:.0f} %\n{wait[0]:.1f}, {wait[1]:.1f} ms\n"
        f"marks {100 * marks[0]:.2f}, {100 * marks[1]:.2f} %\ndrops {100 * drops[0]:.2f}, {100 * drops[1]:.2f} %\n"
        f"used {100 * results.number(key, UTILIZATION, FIRST).mean:.0f} %"
    )


def _data(results: Results, keys: Sequence[Key]) -> Table:
    columns = (
        *("first", "second", "router", "utilization", "half_utilization"),
        *(
            f"{group}_{metric}{part}"
            for group in (FIRST, SECOND)
            for metric in _MEASURED
            for part in ("", "_half_ci95")
        ),
    )
    rows = []
    for key in keys:
        numbers = [results.number(key, UTILIZATION, FIRST)]
        numbers += [results.number(key, metric, group) for group in (FIRST, SECOND) for metric in _MEASURED]
        rows.append((*key, *(part for one in numbers for part in (one.mean, one.half))))
    return Table("cells", "All numbers of the 24 cells, with half of their 95 % intervals", columns, tuple(rows))


def _drawn(results: Results) -> Figure:
    import numpy as np

    shares = np.array([[results.number((*pair, router), SHARE, SECOND).mean for router in ROUTERS] for pair in PAIRS])
    with styled():
        figure = Drawing(figsize=(PAGE_WIDTH_IN, 5.2), layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(100 * shares, cmap="PuOr", vmin=0, vmax=100, aspect="auto", alpha=0.6)
        for row, pair in enumerate(PAIRS):
            for column, router in enumerate(ROUTERS):
                text = _cell(results, (*pair, router))
                axes.text(column, row, text, ha="center", va="center", fontsize=6.5, linespacing=1.15)
        axes.set_xticks(range(len(ROUTERS)), list(ROUTERS))
        axes.set_yticks(range(len(PAIRS)), [" +\n".join(pair) for pair in PAIRS])
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        figure.colorbar(image, ax=axes, label="share of the second flow [%]", aspect=40)
    return figure


def _share(results: Results, key: Key) -> Number:
    return results.number(key, SHARE, SECOND)


def _is_half(share: Number) -> bool:
    return abs(share.mean - _HALF) <= max(_POINTS, share.half)


def _shares_alike(results: Results, sender_name: str, router: str, paper: str) -> Check:
    """Test that two flows of one sender have half each."""
    share = _share(results, (sender_name, sender_name, router))
    return check(
        f"{router}: two {sender_name} flows share alike", paper, f"{share.text(0, 100)} %", agrees=_is_half(share)
    )


def _without_aqm(results: Results) -> list[Check]:
    shares = {pair: _share(results, (*pair, _NO_AQM)) for pair in PAIRS}
    return [
        check(
            "no AQM: default behaviour, whoever the senders are: half each",
            "all six pairs",
            ", ".join(f"{' + '.join(pair)} {share.text(0, 100)}" for pair, share in shares.items()) + " %",
            agrees=all(map(_is_half, shares.values())),
        )
    ]


def _saved(results: Results) -> list[Check]:
    """Test that an ECN sender loses less than one without beside it."""
    checks = []
    for router in (_STANDARD, _EARLY):
        for ecn in (OLD, NEW):
            plain, marked = (results.number((NONE, ecn, router), "drop_rate", group) for group in (FIRST, SECOND))
            checks.append(
                check(
                    f"{router}: saves packets of the {ecn} flow beside one without ECN",
                    "saves some packets",
                    f"drops {marked.text(3, 100)} % against {plain.text(3, 100)} %",
                    agrees=plain.surely_above(marked),
                )
            )
    return checks


def _pushed(results: Results) -> list[Check]:
    """Test that under standard ECN the new sender pushes others aside."""
    checks = []
    for other in (NONE, OLD):
        share = _share(results, (other, NEW, _STANDARD))
        checks.append(
            check(
                f"standard ECN: the ECT(1) flow is more aggressive than {other} beside it",
                "more than half",
                f"{share.text(0, 100)} %",
                agrees=share.mean - share.half > _HALF,
            )
        )
    return [*checks, _shares_alike(results, NEW, _STANDARD, "half")]


def _marked_early(results: Results) -> list[Check]:
    """Test what early marking does: to shares beside old senders, and to delay where both are new."""
    checks = []
    for other in (NONE, OLD):
        share = _share(results, (other, NEW, _EARLY))
        checks.append(
            check(
                f"early marking: the ECT(1) flow, with {NEW_FACTOR:g}, keeps its share beside {other}",
                "may need to be more aggressive",
                f"{share.text(0, 100)} %",
                agrees=share.mean >= _HALF - _POINTS,
                why="Marked in nearly every round trip, it would have to reduce much less; the next item says how "
                "much.",
            )
        )
    early, late = (results.number((NEW, NEW, router), "queue_ms_mean", SECOND) for router in (_EARLY, _STANDARD))
    used, usual, paced = (
        results.number(key, UTILIZATION, FIRST) for key in ((NEW, NEW, _EARLY), (NEW, NEW, _STANDARD), _PACED)
    )
    return [
        *checks,
        check(
            "early marking: two ECT(1) flows wait less than under standard ECN",
            "reduces the queueing delay",
            f"{early.text()} ms against {late.text()} ms",
            agrees=late.surely_above(early),
        ),
        check(
            "early marking: two ECT(1) flows use as much of the link as under standard ECN",
            "never degrades the performance",
            f"{used.text(0, 100)} % against {usual.text(0, 100)} %",
            agrees=used.mean >= usual.mean - _POINTS,
            why=f"The threshold is less than the time of two packets, so that bursts are marked where no queue stands: "
            f"delayed acknowledgements alone send two or three packets at once. With paced packets the same two use "
            f"{paced.text(0, 100)} %.",
        ),
        _shares_alike(results, OLD, _EARLY, "supposedly almost equally"),
    ]


def _isolated(results: Results) -> list[Check]:
    """Show what DualPI2 makes of the same pairs."""
    return [
        shown(
            f"DualPI2: ECT(1) beside {other}: its share and both delays",
            "-",
            f"{_share(results, (other, NEW, _DUAL)).text(0, 100)} %; "
            + " and ".join(
                results.number((other, NEW, _DUAL), "queue_ms_mean", group).text() for group in (SECOND, FIRST)
            )
            + " ms",
        )
        for other in (NONE, OLD)
    ]


def _verdict(results: Results) -> str:
    shares = {
        router: [100 * _share(results, (other, NEW, router)).mean for other in (NONE, OLD)]
        for router in (_STANDARD, _EARLY, _DUAL)
    }
    parts = [f"{low:.0f} and {high:.0f} % under {router}" for router, (low, high) in shares.items()]
    return f"Beside an old sender without and with ECN, the ECT(1) sender gets {', '.join(parts)}."


def aggressive(lab: Lab) -> Findings:
    """Vary what a mark leaves of the new sender's window."""
    cases: dict[Key, Mapping[str, Any]] = {
        (other, threshold, rtt, factor): {
            "bottleneck.queue": _early(threshold),
            **sender(FIRST, other),
            **sender(SECOND, NEW),
            "group.second.control": {**_RENO, "abe": factor},
            "group.first.rtt": f"{rtt} ms",
            "group.second.rtt": f"{rtt} ms",
        }
        for other in (NONE, OLD)
        for threshold, rtt in SETTINGS
        for factor in FACTORS
    }
    results = measure(lab, "early-factors", base(), cases, seeds=RUNS)
    found = Findings()

    def draw(index: int, axes: Axes) -> None:
        for position, (threshold, rtt) in enumerate(SETTINGS):
            shares = [_share(results, ((NONE, OLD)[index], threshold, rtt, factor)) for factor in FACTORS]
            axes.errorbar(
                FACTORS,
                [100 * share.mean for share in shares],
                yerr=[100 * share.half for share in shares],
                color=family(position),
                marker="osDv^"[position],
                markersize=3.5,
                elinewidth=0.6,
                label=f"{threshold:g} ms, {rtt} ms",
            )
        half(axes)
        axes.set_ylim(0, 100)
        axes.set_xlabel("part of the window that a mark leaves")
        axes.set_ylabel("share of the ECT(1) flow [%]")

    titles = [f"beside {other}" for other in (NONE, OLD)]
    found.show(
        "aggressive",
        panels(titles, draw),
        "Share of an early-marked flow by how little it gives way, for thresholds and base RTTs (legend)",
    )
    columns = ("beside", "threshold_ms", "rtt_ms", "factor", "share", "half_ci95")
    rows = [(*key, one.mean, one.half) for key in cases for one in [_share(results, key)]]
    found.tables.append(Table("aggressive", "Share of the early-marked flow", columns, tuple(rows)))
    needed = {
        (other, *setting): _needed([_share(results, (other, *setting, factor)).mean for factor in FACTORS])
        for other in (NONE, OLD)
        for setting in SETTINGS
    }
    found.checks = [
        shown(
            f"what a mark must leave for half of the link, beside {other}",
            "an open question",
            "; ".join(
                f"{threshold:g} ms, RTT {rtt} ms: {_factor(needed[other, threshold, rtt])}"
                for threshold, rtt in SETTINGS
            ),
        )
        for other in (NONE, OLD)
    ]
    usual = [needed[other, THRESHOLD_MS, RTT_MS] for other in (NONE, OLD)]
    found.verdict = (
        f"At {THRESHOLD_MS:g} ms and {RTT_MS} ms of round-trip time an early-marked NewReno has half of the link if a "
        f"mark leaves it {_factor(usual[0])} beside no ECN and {_factor(usual[1])} beside ECT(0). No constant serves "
        f"all: over the thresholds and round-trip times here it is {_range(list(needed.values()))}, and a little less "
        "leaves hardly anything."
    )
    return found


def _needed(shares: Sequence[float]) -> float | None:
    """Return the factor, between those simulated, at which the share first reaches half; None where it does not.

    >>> round(_needed([0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]), 3)
    0.85
    >>> _needed([0.1] * 8) is None
    True
    """
    points = list(zip(FACTORS, shares, strict=True))
    if shares[0] >= _HALF:
        return FACTORS[0]
    for (low, below), (high, above) in itertools.pairwise(points):
        if above >= _HALF:
            return low + (high - low) * (_HALF - below) / (above - below)
    return None


def _range(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    least = _factor(min(known)) if known else _factor(None)
    return least if len(set(values)) == 1 else f"{least} to {_factor(None if None in values else max(known))}"


def _factor(value: float | None) -> str:
    return "more than 0.99" if value is None else f"{value:.2f}"


_SETTING = f"two flows, {RATE_MBPS} Mbit/s, base RTT {RTT_MS} ms, 120 s of which 100 are measured, {RUNS} runs"
ITEMS = (
    Item("table4.1", "Table 4.1: early marking beside old senders", _SETTING, table),
    Item("aggressive", "Section 4.2.1: how aggressive must an early-marked sender be?", _SETTING, aggressive),
)
