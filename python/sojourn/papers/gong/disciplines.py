"""Figures 3 and 4: what each discipline does to queue, utilization, share and loss; and how CHOKe may be set."""

import itertools
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sojourn.figures.style import family
from sojourn.papers.gong.drawing import panels, scatter
from sojourn.papers.gong.world import AQMS, PACKETS, QUEUES, base, both, queue
from sojourn.papers.measures import (
    BACKGROUND,
    DROP_RATE,
    LINK_DROP_RATE,
    QUEUE_MS,
    QUEUE_PACKETS,
    SEEDS,
    SHARE,
    TCP,
    UTILIZATION,
    Key,
    Number,
    Results,
    check,
    measure,
    shown,
    span,
)
from sojourn.study.lab import Lab
from sojourn.study.model import Check, Findings, Item, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

SHORT_BUFFERS = (200, 100, 50, 20, 10)
# TMA 2013, Fig. 3: how many times shorter the queue, and what the share and the utilization change by, in %.
PAPER_FIG3 = {
    "RED": (77, -41, -1.3),
    "CHOKe": (53, -46, -1.4),
    "CoDel": (40, -35, -0.5),
    "DRR": (22, -44, 0.0),
    "SFQ": (14, -45, 0.0),
    "DropTail 10": (47, -52, -0.4),
}
# A bar read from a figure, and a world rebuilt from defaults: half or twice is the same story, a tenth of a share is.
_QUEUE_FACTOR = 2.0
_SHARE_POINTS = 10
_UTILIZATION_POINTS = 1.5
MOST_AQM_MS = 85
_ALMOST_NONE = 0.01
_SPREAD = tuple(f"{rtt} ms" for rtt in (40, 45, 50, 55, 60))
_CHOKE_OPEN = (
    "Open. The paper's CHOKe was a patch of ns-2 that is lost; here it has RED's thresholds, and drops two packets for "
    "each match. The item on CHOKe varies what is not known."
)
_TINY = "DropTail 10"
_TINY_WHY = "It depends on what the paper does not say of its senders and receivers: see the last line."
# What the paper does not say of its senders and receivers, one thing at a time.
TINY_READINGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "all start at 0 s": both("start", "0 s"),
    "round-trip times of 40 to 60 ms": both("rtt", list(_SPREAD)),
    "SACK": both("transport", {"preset": "ns2", "sack": True}),
    "delayed acknowledgements": both("transport", {"preset": "ns2", "ack_every": 2}),
    "SACK and delayed acknowledgements": both("transport", {"preset": "ns2", "sack": True, "ack_every": 2}),
}


def _results(lab: Lab) -> Results:
    cases: dict[Key, Mapping[str, Any]] = {(name,): {"bottleneck.queue": queue(name)} for name in QUEUES}
    cases |= {(_short(packets),): {"bottleneck.queue": queue("DropTail", packets)} for packets in SHORT_BUFFERS}
    cases |= {
        (name, "spread"): {"bottleneck.queue": queue(name), **both("rtt", list(_SPREAD))}
        for name in ("DropTail", *AQMS)
    }
    return measure(lab, "disciplines", base(), cases)


def _short(packets: int) -> str:
    return f"DropTail {packets}"


def fig3(lab: Lab) -> Findings:
    """Queue, share and utilization relative to DropTail with 400 packets."""
    results = _results(lab)
    metrics = (QUEUE_PACKETS, SHARE, UTILIZATION)
    whole = results.numbers(("DropTail",), metrics)
    found = Findings()
    rows = []
    measured: dict[str, tuple[float, float, float]] = {}
    for case in (*QUEUES, *map(_short, SHORT_BUFFERS)):
        packets, share, used = results.numbers((case,), metrics)
        delay = results.number((case,), QUEUE_MS)
        changes = [100 * (now.mean / then.mean - 1) for now, then in zip((share, used), whole[1:], strict=True)]
        measured[case] = (whole[0].mean / packets.mean, changes[0], changes[1])
        rows.append((case, *_two(packets), *_two(delay), *_two(share, 100), *_two(used, 100), *measured[case]))
        if case in PAPER_FIG3:
            found.checks += _fig3_checks(case, measured[case], (packets, share, used))
    delays = {name: results.number((name,), QUEUE_MS) for name in AQMS}
    worst = max(delays, key=lambda name: delays[name].mean)
    found.checks += [
        check(
            "queueing delay is at most 85 ms under every AQM",
            "at most 85 ms",
            f"at most {delays[worst].text()} ms, {worst}",
            agrees=delays[worst].mean <= MOST_AQM_MS,
        ),
        check(
            "SFQ has the longest delay of all AQMs",
            "SFQ",
            f"{worst}; SFQ {delays['SFQ'].text()}, CHOKe {delays['CHOKe'].text()} ms",
            agrees=worst == "SFQ",
        ),
        _shorter_buffers(results),
        _tiny(lab),
    ]
    columns = (
        "case",
        *("queue_packets", "sd_packets", "queue_ms", "sd_ms", "tcp_share_percent", "sd_share"),
        *("utilization_percent", "sd_utilization"),
        *("times_shorter", "share_change_percent", "utilization_change_percent"),
    )
    found.tables.append(Table("disciplines", "All disciplines and buffers", columns, tuple(rows)))
    found.show("fig3", _bars(measured), "Queue, TCP's share and utilization against DropTail with 400 packets")
    shares = [results.number((name,), SHARE).mean for name in AQMS]
    found.verdict = (
        f"Every AQM shortens the queue ({span([measured[name][0] for name in AQMS])} times) and leaves TCP "
        f"{span(shares, 0, 100)} % of the link instead of {100 * whole[1].mean:.0f} %."
    )
    return found


def _tiny(lab: Lab) -> Check:
    """Show what the smallest buffer changes under every reading of what the paper does not say."""
    sizes = (PACKETS, min(SHORT_BUFFERS))
    cases: dict[Key, Mapping[str, Any]] = {
        (words, packets): {"bottleneck.queue": queue("DropTail", packets)} | changes
        for words, changes in TINY_READINGS.items()
        for packets in sizes
    }
    results = measure(lab, "tiny", base(), cases)
    changed = {}
    for words in TINY_READINGS:
        whole, tiny = (results.number((words, packets), SHARE).mean for packets in sizes)
        changed[words] = 100 * (tiny / whole - 1)
    paper = PAPER_FIG3[_TINY][1]
    fitting = [words for words, change in changed.items() if abs(change - paper) <= _SHARE_POINTS]
    return shown(
        f"{_TINY}: change of TCP's share, by what the paper does not say",
        f"{paper} %",
        "; ".join(f"{words} {change:.0f} %" for words, change in changed.items()),
        f"Within {_SHARE_POINTS} points with: {', '.join(fitting) or 'none'}.",
    )


def _two(number: Number, scale: float = 1.0) -> tuple[float, float]:
    return scale * number.mean, scale * number.sd


def _fig3_checks(case: str, now: tuple[float, float, float], numbers: tuple[Number, Number, Number]) -> list[Check]:
    paper = PAPER_FIG3[case]
    why = {"CHOKe": _CHOKE_OPEN, _TINY: _TINY_WHY}.get(case, "")
    packets, share, used = numbers
    return [
        check(
            f"{case}: queue so many times shorter than DropTail's",
            f"{paper[0]}",
            f"{now[0]:.1f} ({packets.text()} packets)",
            agrees=1 / _QUEUE_FACTOR <= now[0] / paper[0] <= _QUEUE_FACTOR,
            why=why,
        ),
        check(
            f"{case}: change of TCP's share",
            f"{paper[1]} %",
            f"{now[1]:.1f} % (share {share.text(1, 100)} %)",
            agrees=abs(now[1] - paper[1]) <= _SHARE_POINTS,
            why=why,
        ),
        check(
            f"{case}: change of utilization",
            f"{paper[2]} %",
            f"{now[2]:.1f} % (utilization {used.text(1, 100)} %)",
            agrees=abs(now[2] - paper[2]) <= _UTILIZATION_POINTS,
            why=why,
        ),
    ]


def _shorter_buffers(results: Results) -> Check:
    shares = [results.number((case,), SHARE) for case in ("DropTail", *map(_short, SHORT_BUFFERS))]
    return check(
        "the shorter DropTail's buffer, the less priority is left",
        "from 400 to 10 packets",
        ", ".join(f"{100 * share.mean:.0f}" for share in shares) + " %",
        agrees=all(longer.above(shorter) for longer, shorter in itertools.pairwise(shares)),
    )


def _bars(measured: dict[str, tuple[float, float, float]]) -> Figure:
    names = [name for name in measured if name != "DropTail"]
    titles = ("times shorter queue", "change of TCP's share [%]", "change of utilization [%]")

    def draw(index: int, axes: Axes) -> None:
        axes.barh(names, [measured[name][index] for name in names], color=family(0), height=0.6, label="measured")
        paper = [(PAPER_FIG3[name][index], name) for name in names if name in PAPER_FIG3]
        axes.plot(*zip(*paper, strict=True), "D", color=family(1), markersize=4, label="paper", clip_on=False)
        axes.invert_yaxis()
        if index == 0:
            axes.set_xscale("log")
        else:
            axes.set_yticklabels([])

    return panels(titles, draw, height_in=2.9)


def fig4(lab: Lab) -> Findings:
    """Drop rates of both classes under each discipline."""
    results = _results(lab)
    rates = {name: _rates(results, (name,)) for name in QUEUES}
    spread = {name: _rates(results, (name, "spread")) for name in QUEUES}
    found = Findings()
    rows = []
    for rtts, cases in (("50 ms", rates), ("40 to 60 ms", spread)):
        rows += [
            (name, rtts, *_two(tcp, 100), *_two(low, 100), *_two(link, 100)) for name, (tcp, low, link) in cases.items()
        ]
    columns = ("discipline", "rtt", "tcp_drop_percent", "sd_tcp", "background_drop_percent", "sd_background")
    found.tables.append(Table("drops", "Drop rates", (*columns, "all_percent", "sd_all"), tuple(rows)))

    def draw(index: int, axes: Axes) -> None:
        scatter(axes, {name: [case[:2]] for name, case in (rates, spread)[index].items()})

    figure = panels(("all RTTs 50 ms", "RTTs of 40, 45, 50, 55, 60 ms"), draw, height_in=3.2)
    found.show("fig4", figure, "Drop rate of TCP against that of the low-priority flows, mean of 10 runs")
    found.checks = _fig4_checks(rates, spread)
    found.text = (
        "A drop rate is packets dropped over packets sent, class by class. The paper's Kiviat chart has no scale, so "
        "that only orderings can be compared."
    )
    harder = [name for name in AQMS if rates[name][0].above(rates[name][1])]
    found.verdict = (
        f"TCP loses more than the low-priority flows under {', '.join(harder)}. DropTail drops "
        f"{rates['DropTail'][0].text(1, 100)} % of TCP and {rates['DropTail'][1].text(1, 100)} % of the others; "
        f"{spread['DropTail'][0].text(1, 100)} and {spread['DropTail'][1].text(1, 100)} % if round-trip times differ."
    )
    return found


def _rates(results: Results, key: Key) -> tuple[Number, Number, Number]:
    tcp, low = (results.number(key, DROP_RATE, group) for group in (TCP, BACKGROUND))
    return tcp, low, results.number(key, LINK_DROP_RATE)


def _fig4_checks(rates: dict[str, Any], spread: dict[str, Any]) -> list[Check]:
    tail, late = rates["DropTail"], spread["DropTail"]
    harder = [name for name in AQMS if rates[name][0].above(rates[name][1])]
    return [
        check(
            "DropTail drops both classes at the same rate",
            "equal",
            f"TCP {tail[0].text(2, 100)} %, low priority {tail[1].text(2, 100)} %",
            agrees=abs(tail[0].mean - tail[1].mean) <= 2 * tail[0].error(tail[1]),
            why="A phase effect: with equal round-trip times every arrival follows a departure, and only the extra "
            "packet of a growing window finds the buffer full. That is TCP's. With unequal ones (next line) the "
            "low-priority flows lose, too.",
        ),
        check(
            "the same with round-trip times of 40 to 60 ms",
            "equal",
            f"TCP {late[0].text(2, 100)} %, low priority {late[1].text(2, 100)} %",
            agrees=abs(late[0].mean - late[1].mean) <= 2 * max(late[0].sd, late[1].sd),
        ),
        check(
            "every AQM drops more than DropTail",
            "all",
            ", ".join(f"{name} {rates[name][2].text(1, 100)} %" for name in QUEUES),
            agrees=all(rates[name][2].above(tail[2]) for name in AQMS),
        ),
        check(
            "every AQM drops more of TCP than of the low-priority flows",
            "generally",
            ", ".join(f"{name} {rates[name][0].mean / rates[name][1].mean:.2f}" for name in AQMS) + " (ratio)",
            agrees=set(harder) == set(AQMS),
            why=f"Beyond chance it does under {', '.join(harder)}. In the others both classes lose alike, as flows "
            "with the same throughput and the same round-trip time do.",
        ),
        _extreme("TCP's drop rate is worst under CHOKe", "CHOKe", {name: rates[name][0].mean for name in AQMS}, max),
        _extreme("low-priority flows lose least under SFQ", "SFQ", {name: rates[name][1].mean for name in AQMS}, min),
        check(
            "under SFQ low-priority flows see almost no loss",
            "almost none",
            f"{rates['SFQ'][1].text(1, 100)} %",
            agrees=rates["SFQ"][1].mean < _ALMOST_NONE,
            why="They fill their share of the buffer as TCP does: LEDBAT's target of 100 ms is above SFQ's delay.",
        ),
    ]


def _extreme(claim: str, paper: str, values: dict[str, float], of: Any) -> Check:
    best = of(values, key=values.__getitem__)
    ranked = sorted(values, key=values.__getitem__, reverse=best == max(values, key=values.__getitem__))
    measured = ", ".join(f"{name} {100 * values[name]:.1f}" for name in ranked) + " %"
    return check(claim, paper, measured, agrees=best == paper)


# What is not known of the paper's CHOKe, one thing at a time.
CHOKES: dict[str, dict[str, Any]] = {
    "RED's thresholds in ns-2": {},
    "no gentle mode": {"gentle": False},
    "max_p 0.3, as RED's byte mode has for full packets": {"max_p": 0.3},
    "weight 0.002": {"weight": 0.002},
    "thresholds 5 and 15 packets": {"min": "5 packets", "max": "15 packets"},
    "thresholds 10 and 30 packets": {"min": "10 packets", "max": "30 packets"},
    "thresholds 100 and 200 packets (Pan et al.)": {"min": "100 packets", "max": "200 packets"},
    "Linux": {"preset": "linux"},
}


def choke(lab: Lab) -> Findings:
    """Vary CHOKe's parameters."""
    cases: dict[Key, Mapping[str, Any]] = {}
    for name, changes in CHOKES.items():
        kind = (
            queue("CHOKe") | changes
            if "preset" not in changes
            else {"kind": "choke", "limit": f"{PACKETS} packets"} | changes
        )
        cases[(name,)] = {"bottleneck.queue": kind}
    results = measure(lab, "choke", base(), cases)
    whole = _results(lab).numbers(("DropTail",), (QUEUE_PACKETS, SHARE, UTILIZATION))
    found = Findings()
    rows = []
    measured: dict[str, tuple[float, float, float]] = {}
    for name in CHOKES:
        packets, share, used = results.numbers((name,), (QUEUE_PACKETS, SHARE, UTILIZATION))
        delay, lost = (results.number((name,), metric) for metric in (QUEUE_MS, DROP_RATE))
        shorter = whole[0].mean / packets.mean
        less = [100 * (now.mean / then.mean - 1) for now, then in zip((share, used), whole[1:], strict=True)]
        measured[name] = (shorter, less[0], less[1])
        rows.append(
            (name, *_two(packets), *_two(delay), *_two(share, 100), *_two(used, 100), *_two(lost, 100), *measured[name])
        )
    columns = (
        *("setting", "queue_packets", "sd_packets", "queue_ms", "sd_ms", "tcp_share_percent", "sd_share"),
        *("utilization_percent", "sd_utilization", "tcp_drop_percent", "sd_drop"),
        *("times_shorter", "share_change_percent", "utilization_change_percent"),
    )
    found.tables.append(Table("choke", "Settings of CHOKe", columns, tuple(rows)))

    def draw(index: int, axes: Axes) -> None:
        axes.barh(
            list(measured), [measured[name][index] for name in measured], color=family(0), height=0.6, label="measured"
        )
        axes.axvline(PAPER_FIG3["CHOKe"][index], color=family(1), label="paper")
        axes.invert_yaxis()
        if index:
            axes.set_yticklabels([])

    titles = ("times\nshorter queue", "change of\nTCP's share [%]", "change of\nutilization [%]")
    found.show("choke", panels(titles, draw), "CHOKe's unknown parameters against what the paper reports")
    paper = PAPER_FIG3["CHOKe"]
    kept = [name for name in CHOKES if abs(measured[name][1] - paper[1]) > _SHARE_POINTS]
    alike = [
        name
        for name in CHOKES
        if name not in kept
        and 1 / _QUEUE_FACTOR <= measured[name][0] / paper[0] <= _QUEUE_FACTOR
        and abs(measured[name][2] - paper[2]) <= _UTILIZATION_POINTS
    ]
    found.verdict = (
        f"{len(CHOKES) - len(kept)} of {len(CHOKES)} settings lower TCP's share as the paper has it, all but: "
        f"{'; '.join(kept) or 'none'}. All three of the paper's numbers come out with: {'; '.join(alike) or 'none'}."
    )
    found.text = (
        "Queue and utilization depend on settings that the paper does not print; the loss of priority depends on them "
        "only where the queue is let grow towards LEDBAT's target of 100 ms."
    )
    return found


_SETTING = f"5 NewReno and 5 LEDBAT flows, 4 Mbit/s, {PACKETS} packets, 50 ms, 60 s, {SEEDS} runs; presets ns2"
ITEMS = (
    Item("fig3", "Fig. 3: what each discipline does to queue and priority", _SETTING, fig3),
    Item("fig4", "Fig. 4: who pays with losses", _SETTING, fig4),
    Item("choke", "CHOKe: what the paper does not say", _SETTING, choke),
)
