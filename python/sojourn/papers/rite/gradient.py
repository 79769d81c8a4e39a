"""Section 3.3.2: CDG, which backs off where delay rises: its probability, its neighbours, random loss, and marks."""

import math
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes

from sojourn.papers.lab import Lab
from sojourn.papers.measures import (
    BACKGROUND,
    LINK_DROP_RATE,
    QUEUE_MS,
    SHARE,
    TCP,
    UTILIZATION,
    Key,
    Number,
    Results,
    check,
    measure,
    shown,
)
from sojourn.papers.rite.drawing import panels, points
from sojourn.papers.study import Check, Findings, Item, Table

SEEDS = 5
RATE_MBPS = 10.0
RTT_MS = 50.0
# 10 Mbit/s for 50 ms in packets of 1500 B.
BDP_PACKETS = 42
GOODPUT = "goodput_mbps"
SCALE_MS = 3.0

# Said before any run. Back-offs at round-trip times that differ by a factor of 20 lie within a quarter of their mean;
# a neighbour "coexists" with at least half of its fair share.
ALIKE = 0.25
COEXISTS = 0.25

RISE_RTTS_MS = (10, 20, 50, 100, 200)
RISE_S = 20
RISE_SEEDS = 10
RISE_FLOWS = 4
RIVALS = ("newreno", "cubic")
BUFFERS = (0.5, 1.0, 2.0, 4.0)
LOSSES = (0.0, 0.0003, 0.001, 0.003, 0.01, 0.03)
MUCH_LOSS = 0.01
PAPER, LINUX = "CDG", "CDG, Linux"
NO_TOLERANCE = "CDG without tolerance"
VARIANTS: dict[str, dict[str, Any]] = {
    PAPER: {"kind": "cdg", "preset": "paper"},
    "CDG, FreeBSD": {"kind": "cdg", "preset": "freebsd"},
    LINUX: {"kind": "cdg", "preset": "linux"},
    "CDG without shadow": {"kind": "cdg", "preset": "paper", "shadow": "off"},
    "CDG that never ignores": {"kind": "cdg", "preset": "paper", "ineffective": "auto", "hold": "auto"},
    "CDG, scavenger": {"kind": "cdg", "preset": "scavenger"},
}
UNDER_LOSS: dict[str, dict[str, Any]] = {
    PAPER: VARIANTS[PAPER],
    NO_TOLERANCE: VARIANTS[PAPER] | {"tolerance": False},
    LINUX: VARIANTS[LINUX],
    "NewReno": {"kind": "newreno"},
    "CUBIC": {"kind": "cubic"},
    "Westwood+": {"kind": "westwood"},
}
AQMS = {"CoDel": "codel", "PIE": "pie"}


def _base(groups: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    tables: dict[str, Any] = {
        "name": "rite-cdg",
        "duration": "60 s",
        "warmup": "10 s",
        "bottleneck": {"rate": f"{RATE_MBPS:g} Mbit/s", "queue": _droptail(1.0)},
        "group": groups,
    }
    return tables | changes


def _group(name: str, flows: int, control: str | Mapping[str, Any] = "cdg", **changes: Any) -> dict[str, Any]:
    start = {"uniform": ["0 s", "1 s"]}
    return {"name": name, "control": control, "flows": flows, "rtt": f"{RTT_MS:g} ms", "start": start} | changes


def _droptail(buffer: float) -> dict[str, Any]:
    return {"kind": "droptail", "limit": f"{math.ceil(buffer * BDP_PACKETS)} packets"}


# How often it backs off.


def _rise_name(rtt_ms: int) -> str:
    return f"rtt{rtt_ms}"


def backoffs(lab: Lab) -> Findings:
    """Return how often CDG backs off while delay rises, by round-trip time."""
    transport = {"payload": "100 B", "receive_window": "2 packets", "ack_every": 1}
    control = VARIANTS["CDG that never ignores"]
    groups = [
        _group(
            _rise_name(rtt),
            RISE_FLOWS,
            control,
            transport=transport,
            rtt=f"{rtt} ms",
            start={"uniform": ["0 s", "0.2 s"]},
        )
        for rtt in RISE_RTTS_MS
    ]
    # Fills the link, so that the queue grows by all that the flows send.
    filler = {"name": "filler", "rtt": "10 ms", "traffic": {"kind": "cbr", "rate": "1 Gbit/s", "packet": "3000 B"}}
    tables = _base(
        [*groups, filler],
        duration=f"{RISE_S} s",
        warmup="0 s",
        bottleneck={"rate": "1 Gbit/s", "queue": {"kind": "droptail", "limit": "1 s"}},
    )
    kept = {"keep": ["series", "probes"], "bin": f"{RISE_S} s"}
    results = measure(lab, "cdg-rise", tables, {("rise",): {}}, seeds=RISE_SEEDS, **kept)
    rise_ms = results.number(("rise",), "bottleneck_queue_ms_max", _rise_name(RISE_RTTS_MS[0]))
    counts: dict[int, Number] = {}
    rounds: dict[int, float] = {}
    for rtt in RISE_RTTS_MS:
        traces = results.traces("flow_probes", "value", name="backoffs", group=_rise_name(rtt))
        counts[rtt] = Number.of([sum(values) / len(values) for _, values in traces.values()])
        mean_rtt_ms = results.number(("rise",), "rtt_ms_mean", _rise_name(rtt)).mean
        rounds[rtt] = RISE_S * 1e3 / mean_rtt_ms
    law = rise_ms.mean / SCALE_MS
    found = Findings()

    def draw(index: int, axes: Axes) -> None:
        whole = index == 0
        values = [counts[rtt] for rtt in RISE_RTTS_MS]
        scale = [1 / RISE_S if whole else 1 / rounds[rtt] for rtt in RISE_RTTS_MS]
        axes.errorbar(
            RISE_RTTS_MS,
            [number.mean * part for number, part in zip(values, scale, strict=True)],
            yerr=[number.sd * part for number, part in zip(values, scale, strict=True)],
            label="measured",
            **points(0),
        )
        expected = [law * part for part in scale]
        axes.plot(RISE_RTTS_MS, expected, color="#999999", label="rise over G")
        axes.set_xlabel("base round-trip time [ms]")
        axes.set_ylabel(f"back-offs per {'second' if whole else 'round trip'}")
        axes.set_ylim(bottom=0)

    figure = panels(["over time", "over round trips"], draw)
    found.show("backoffs", figure, "Back-offs of CDG while the queueing delay rises, by round-trip time")
    rows = tuple((rtt, counts[rtt].mean, counts[rtt].sd, rounds[rtt], law) for rtt in RISE_RTTS_MS)
    columns = ("base_rtt_ms", "backoffs", "sd_backoffs", "round_trips", "rise_over_scale")
    found.tables.append(Table("backoffs", f"Back-offs of a flow in {RISE_S} s", columns, rows))
    mean = sum(number.mean for number in counts.values()) / len(counts)
    away = {rtt: number.mean / mean - 1 for rtt, number in counts.items()}
    text = ", ".join(f"{counts[rtt].text(1)} at {rtt} ms" for rtt in RISE_RTTS_MS)
    found.checks += [
        check(
            f"over the same rise of delay all flows back off as often, within {100 * ALIKE:.0f} %",
            "average back-off probability independent of the round-trip time",
            text,
            agrees=max(map(abs, away.values())) <= ALIKE,
            why="A back-off leaves a round out of the gradients, and the average of eight rounds lags: both cost long "
            "round-trip times a part of the rise.",
        ),
        check(
            "that number is the rise over G",
            f"{law:.1f} for {rise_ms.mean:.1f} ms",
            text,
            agrees=abs(mean / law - 1) <= ALIKE,
        ),
        shown(
            "per round trip",
            "-",
            ", ".join(f"{counts[rtt].mean / rounds[rtt]:.3f} at {rtt} ms" for rtt in RISE_RTTS_MS),
            "In proportion to the round-trip time: a longer round sees more of the rise.",
        ),
    ]
    agrees = found.checks[0].agrees
    found.verdict = (
        f"While the delay rises by {rise_ms.mean:.0f} ms, flows with round-trip times of {RISE_RTTS_MS[0]} to "
        f"{RISE_RTTS_MS[-1]} ms back off {min(n.mean for n in counts.values()):.1f} to "
        f"{max(n.mean for n in counts.values()):.1f} times each: {'about the same' if agrees else 'not the same'}."
    )
    found.text = (
        "Independent of the round-trip time is the probability over a rise of the delay, not that of a round trip. It "
        "follows from the exponential: 1 - P is exp(-g/G), gradients of successive rounds add up in the exponent, and "
        "what counts is their sum. For the code itself this is an exact law, and one of its tests, "
        "as are the four equations of the report."
    )
    return found


# Beside flows that answer to losses only.


def neighbours(lab: Lab) -> Findings:
    """Return what CDG gets beside loss-based flows."""
    cases: dict[Key, Mapping[str, Any]] = {
        (name, rival, buffer): {
            f"group.{BACKGROUND}.control": control,
            f"group.{TCP}.control": rival,
            "bottleneck.queue": _droptail(buffer),
        }
        for name, control in VARIANTS.items()
        for rival in RIVALS
        for buffer in BUFFERS
    }
    alone: dict[Key, Mapping[str, Any]] = {
        (kind, buffer): {f"group.{BACKGROUND}.control": control, "bottleneck.queue": _droptail(buffer)}
        for kind, control in {PAPER: VARIANTS[PAPER], "NewReno": {"kind": "newreno"}}.items()
        for buffer in BUFFERS
    }
    results = measure(lab, "cdg-share", _base([_group(TCP, 2), _group(BACKGROUND, 2)]), cases, seeds=SEEDS)
    single = measure(lab, "cdg-alone", _base([_group(BACKGROUND, 4)]), alone, seeds=SEEDS)
    found = Findings()

    def draw(index: int, axes: Axes) -> None:
        for position, name in enumerate(VARIANTS):
            numbers = [results.number((name, RIVALS[index], buffer), SHARE, BACKGROUND) for buffer in BUFFERS]
            axes.errorbar(
                BUFFERS,
                [100 * number.mean for number in numbers],
                yerr=[100 * number.sd for number in numbers],
                label=name,
                **points(position),
            )
        axes.axhline(50, color="#999999", linewidth=0.6)
        axes.set_xscale("log", base=2)
        axes.set_xticks(BUFFERS, [f"{buffer:g}" for buffer in BUFFERS])
        axes.set_xlabel("buffer [bandwidth-delay products]")
        axes.set_ylabel("share of CDG [%]")
        axes.set_ylim(0, 60)

    found.show(
        "neighbours",
        panels(["beside NewReno", "beside CUBIC"], draw, height_in=3.5),
        "What two CDG flows get beside two loss-based ones",
    )
    rows = tuple(
        (*key, *(100 * part for n in (results.number(key, SHARE, BACKGROUND),) for part in (n.mean, n.sd)))
        for key in cases
    )
    found.tables.append(
        Table("neighbours", "CDG's share", ("cdg", "beside", "buffer_bdp", "share_percent", "sd"), rows)
    )
    rows = tuple(
        (*key, *(part for m in (QUEUE_MS, UTILIZATION) for part in (single.number(key, m, BACKGROUND).mean,)))
        for key in alone
    )
    found.tables.append(Table("alone", "Four flows alone", ("control", "buffer_bdp", "queue_ms", "utilization"), rows))
    found.checks += _share_checks(results, single)
    shares = [results.number((PAPER, rival, buffer), SHARE, BACKGROUND).mean for rival in RIVALS for buffer in BUFFERS]
    found.verdict = (
        f"Beside as many loss-based flows CDG keeps {100 * min(shares):.0f} to {100 * max(shares):.0f} % of the link."
    )
    return found


def _share_checks(results: Results, single: Results) -> list[Check]:
    def share(name: str, rival: str, buffer: float) -> Number:
        return results.number((name, rival, buffer), SHARE, BACKGROUND)

    places = [(rival, buffer) for rival in RIVALS for buffer in BUFFERS]
    low = [place for place in places if share(PAPER, *place).interval()[0] <= COEXISTS]
    checks = [
        check(
            f"CDG keeps at least {100 * COEXISTS:.0f} % beside as many loss-based flows, half of a fair share",
            "strives for coexisting well",
            "; ".join(
                f"{rival} {buffer:g} BDP: {share(PAPER, rival, buffer).text(0, 100)} %" for rival, buffer in places
            ),
            agrees=not low,
            why=f"Not beyond chance: {', '.join(f'{rival} at {buffer:g} BDP' for rival, buffer in low)}. The report "
            "says what CDG aims at, not how far it gets.",
        )
    ]
    for name in ("CDG without shadow", "CDG that never ignores", "CDG, scavenger"):
        below = [place for place in places if share(PAPER, *place).surely_above(share(name, *place))]
        checks.append(
            shown(
                f"{name}: with less than CDG as its authors have it, beyond chance",
                "-",
                f"at {len(below)} of {len(places)} places",
            )
        )
    queues = {
        buffer: tuple(single.number((kind, buffer), QUEUE_MS, BACKGROUND) for kind in (PAPER, "NewReno"))
        for buffer in BUFFERS
    }
    checks.append(
        check(
            "alone, CDG keeps a shorter queue than NewReno",
            "low delay",
            "; ".join(
                f"{buffer:g} BDP: {own.text(1)}, NewReno {other.text(1)} ms" for buffer, (own, other) in queues.items()
            ),
            agrees=all(other.surely_above(own) for own, other in queues.values()),
            why="CDG's queue hardly depends on the buffer; in the smallest one NewReno's cannot be longer.",
        )
    )
    return checks


# Losses that are not congestion.


def losses(lab: Lab) -> Findings:
    """Return how CDG stands losses by chance."""
    cases: dict[Key, Mapping[str, Any]] = {
        (name, loss): {f"group.{BACKGROUND}.control": control, "bottleneck.loss": loss}
        for name, control in UNDER_LOSS.items()
        for loss in LOSSES
    }
    results = measure(lab, "cdg-loss", _base([_group(BACKGROUND, 1)]), cases, seeds=SEEDS)

    def goodput(name: str, loss: float) -> Number:
        return results.number((name, loss), GOODPUT, BACKGROUND)

    found = Findings()

    def draw(_index: int, axes: Axes) -> None:
        for position, name in enumerate(UNDER_LOSS):
            numbers = [goodput(name, loss) for loss in LOSSES[1:]]
            axes.errorbar(
                [100 * loss for loss in LOSSES[1:]],
                [number.mean for number in numbers],
                yerr=[number.sd for number in numbers],
                label=name,
                **points(position),
            )
        axes.set_xscale("log")
        axes.set_xticks([100 * loss for loss in LOSSES[1:]], [f"{100 * loss:g}" for loss in LOSSES[1:]])
        axes.minorticks_off()
        axes.set_xlabel("packets lost by chance [%]")
        axes.set_ylabel("goodput [Mbit/s]")
        axes.set_ylim(0, RATE_MBPS)

    found.show(
        "losses", panels(["one flow"], draw, height_in=3.3), "Goodput of one flow where packets are lost by chance"
    )
    rows = tuple((*key, goodput(*key).mean, goodput(*key).sd) for key in ((n, p) for n in UNDER_LOSS for p in LOSSES))
    found.tables.append(Table("losses", "Goodput", ("control", "loss", "goodput_mbps", "sd"), rows))
    own = goodput(PAPER, MUCH_LOSS)
    for name in (NO_TOLERANCE, "NewReno"):
        other = goodput(name, MUCH_LOSS)
        found.checks.append(
            check(
                f"at {100 * MUCH_LOSS:g} % of loss CDG gets more than {name}",
                "tolerates losses that are not congestion",
                f"{own.text(2)} to {other.text(2)} Mbit/s",
                agrees=own.surely_above(other),
            )
        )
    found.verdict = (
        f"At {100 * MUCH_LOSS:g} % of loss by chance a CDG flow gets {own.text(1)} Mbit/s of {RATE_MBPS:g}, NewReno "
        f"{goodput('NewReno', MUCH_LOSS).text(1)}."
    )
    return found


# Marks instead of drops.


def marks(lab: Lab) -> Findings:
    """Return what marks change for CDG under AQMs."""
    names = (PAPER, NO_TOLERANCE, "NewReno")
    cases: dict[Key, Mapping[str, Any]] = {
        (name, aqm, ecn): {
            f"group.{BACKGROUND}.control": UNDER_LOSS[name],
            f"group.{BACKGROUND}.transport": {"ecn": ecn},
            "bottleneck.queue": {"kind": AQMS[aqm], "ecn": ecn},
        }
        for name in names
        for aqm in AQMS
        for ecn in (False, True)
    }
    mixed: dict[Key, Mapping[str, Any]] = {
        (aqm, ecn): {
            f"group.{BACKGROUND}.control": UNDER_LOSS[PAPER],
            f"group.{BACKGROUND}.transport": {"ecn": ecn},
            f"group.{TCP}.transport": {"ecn": ecn},
            "bottleneck.queue": {"kind": AQMS[aqm], "ecn": ecn},
        }
        for aqm in AQMS
        for ecn in (False, True)
    }
    alone = measure(lab, "cdg-marks", _base([_group(BACKGROUND, 4)]), cases, seeds=SEEDS)
    shared = measure(
        lab, "cdg-marks-share", _base([_group(TCP, 2, "newreno"), _group(BACKGROUND, 2)]), mixed, seeds=SEEDS
    )
    found = Findings()
    rows = []
    for key in cases:
        numbers = [alone.number(key, metric, BACKGROUND) for metric in (QUEUE_MS, UTILIZATION, LINK_DROP_RATE)]
        rows.append((*key, *(part for number in numbers for part in (number.mean, number.sd))))
    columns = ("control", "aqm", "ecn", "queue_ms", "sd_queue", "utilization", "sd_utilization", "drop_rate", "sd_drop")
    found.tables.append(Table("marks", "Four flows alone under an AQM", columns, tuple(rows)))

    def draw(index: int, axes: Axes) -> None:
        metric = (QUEUE_MS, LINK_DROP_RATE)[index]
        places = [(aqm, ecn) for aqm in AQMS for ecn in (False, True)]
        for position, name in enumerate(names):
            numbers = [alone.number((name, *place), metric, BACKGROUND) for place in places]
            scale = (1, 100)[index]
            axes.errorbar(
                [place + 0.15 * (position - 1) for place in range(len(places))],
                [scale * number.mean for number in numbers],
                yerr=[scale * number.sd for number in numbers],
                label=name,
                **(points(position) | {"linestyle": "none"}),
            )
        axes.set_xticks(range(len(places)), [f"{aqm}\n{'marks' if ecn else 'drops'}" for aqm, ecn in places])
        axes.set_ylabel(("mean queueing delay [ms]", "packets dropped [%]")[index])
        axes.set_ylim(bottom=0)

    found.show("marks", panels(["delay", "drops"], draw), "Four flows alone under AQMs that drop or mark")
    found.checks += _mark_checks(alone, shared)
    drop, mark = (alone.number((PAPER, "CoDel", ecn), LINK_DROP_RATE, BACKGROUND) for ecn in (False, True))
    found.verdict = (
        f"CoDel drops {drop.text(2, 100)} % of CDG's packets, and {mark.text(2, 100)} % where it may mark them instead."
    )
    found.text = (
        "CDG's tolerance cannot tell the drop of an AQM from one by chance: both come at a queue that is not full. "
        "Marks are congestion for certain, and are always answered."
    )
    return found


def _mark_checks(alone: Results, shared: Results) -> list[Check]:
    checks = []
    for aqm in AQMS:
        drops = {
            name: alone.number((name, aqm, False), LINK_DROP_RATE, BACKGROUND)
            for name in (PAPER, NO_TOLERANCE, "NewReno")
        }
        marked = {name: alone.number((name, aqm, True), QUEUE_MS, BACKGROUND) for name in (PAPER, "NewReno")}
        unmarked = alone.number((PAPER, aqm, False), QUEUE_MS, BACKGROUND)
        shares = [shared.number((aqm, ecn), SHARE, BACKGROUND) for ecn in (False, True)]
        checks += [
            shown(
                f"{aqm}, drops: CDG's part of packets dropped, without tolerance, and NewReno's",
                "-",
                ", ".join(number.text(2, 100) for number in drops.values()) + " %",
            ),
            shown(
                f"{aqm}: CDG's queue with drops and with marks",
                "how to use ECN is left to later work",
                f"{unmarked.text(1)} and {marked[PAPER].text(1)} ms; NewReno with marks {marked['NewReno'].text(1)} ms",
            ),
            shown(
                f"{aqm}: share of two CDG flows beside two NewReno flows, drops and marks",
                "-",
                f"{shares[0].text(0, 100)} and {shares[1].text(0, 100)} %",
            ),
        ]
    return checks


_WORDS = (
    f"{RATE_MBPS:g} Mbit/s, base RTT {RTT_MS:g} ms, buffer of one bandwidth-delay product, 60 s of which 50 are "
    f"measured, {SEEDS} runs"
)
ITEMS = (
    Item(
        "cdg-backoff",
        "CDG: back-offs and the round-trip time",
        f"flows of CDG with a window of two small packets, {RISE_FLOWS} for each round-trip time, on a link of 1 "
        f"Gbit/s that packets at a constant rate fill, so that the queue grows by what the flows send; {RISE_S} s, "
        f"{RISE_SEEDS} runs; back-offs are never ignored",
        backoffs,
    ),
    Item(
        "cdg-share",
        "CDG beside loss-based flows",
        f"2 and 2 flows, {_WORDS}; other buffers where it is said",
        neighbours,
    ),
    Item("cdg-loss", "CDG and losses by chance", f"one flow, {_WORDS}", losses),
    Item("cdg-ecn", "CDG and marks", f"4 flows, or 2 beside 2 of NewReno, {_WORDS}, under CoDel and PIE", marks),
)
