"""Figures of Gong et al. that tables will not do: in the paper's own form, and of several numbers at once."""

import math
from typing import TYPE_CHECKING

from sojourn.study import Means, figure
from sojourn.study.select import Selection

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_QUEUES = ("DropTail", "RED", "CHOKe", "DRR", "SFQ", "CoDel")
CONTROLS = ("LEDBAT", "NICE", "TCP-LP")


@figure(
    "fig2",
    "fig2",
    "Under DropTail LEDBAT leaves the link to TCP; RED makes both share it. One of 10 runs, 10 Mbit/s, 500 packets",
)
def who_uses_the_link(means: Means) -> "Figure":
    """Draw one run under DropTail and one under RED."""
    from sojourn.figures import utilization

    queues = ("DropTail", "RED")
    shown = [means.scenario("motivating", queue=name, reading="starts within 0.1 s") for name in queues]
    return utilization([one.run(runs=10) for one in shown], list(queues))


# What the paper prints at the bars of Fig. 3: how many times shorter the queue is than DropTail's, and the changes of
# utilization and TCP's share.
_PRINTED = {
    "RED": (77, -1.3, -41),
    "CHOKe": (53, -1.4, -46),
    "DRR": (22, 0, -44),
    "SFQ": (14, 0, -45),
    "CoDel": (40, -0.5, -35),
    "10 packets": (47, -0.4, -52),
}


@figure(
    "fig3",
    "as-fig3",
    "As the paper draws Fig. 3: AQMs cut the queue and TCP's share, and leave utilization; a DropTail buffer of ten "
    "packets does the same. Stars are where the numbers that the paper prints, which are against DropTail with 400 "
    "packets, lead from that bar; bars are 95 % intervals",
)
def absolute(means: Means) -> "Figure":
    """Draw the queue over 400 packets, utilization and TCP's share of every discipline and of the short buffer."""
    from sojourn.figures import legends
    from sojourn.figures.style import INK, drawn, family

    metrics = ("bottleneck_queue_packets_mean", "bottleneck_utilization", "share")
    titles = ("E[Q]/Qmax [%]", "utilization [%]", "TCP's share [%]")
    names = [*(name for name in _QUEUES if name != "DropTail"), "DropTail", "10 packets"]
    with drawn(4.6) as drawing:
        panels = drawing.subplots(3, 1, sharex=True)
        for row, (axes, metric, title) in enumerate(zip(panels, metrics, titles, strict=True)):
            whole = means.number("disciplines", metric, "tcp", queue="DropTail", spread="50 ms").mean
            for position, name in enumerate(names):
                if name in _QUEUES:
                    number = means.number("disciplines", metric, "tcp", queue=name, spread="50 ms")
                else:
                    number = means.number("buffers", metric, "tcp", packets=10)
                scale = 100 / 400 if row == 0 else 1
                axes.bar(position, scale * number.mean, 0.6, yerr=scale * number.half, color=family(row), linewidth=0)
                if name in _PRINTED:
                    printed = _PRINTED[name][row]
                    star = scale * whole / printed if row == 0 else whole + printed
                    axes.plot(position, star, "*", color=INK, markersize=7, label="" if position else "paper")
            axes.set_ylabel(title)
            axes.set_ylim(0, 104)
        axes.set_xticks(range(len(names)), [*names[:-1], "DropTail,\n10 packets"])
        legends.below(drawing, *axes.get_legend_handles_labels())
    return drawing


@figure(
    "fig4",
    "as-fig4",
    "As the paper draws Fig. 4: under AQMs all lose more than under DropTail, and TCP more than LEDBAT. "
    "Packets dropped, in percent; up: all, right: TCP, left: LEDBAT",
)
def kiviat(means: Means) -> "Figure":
    """Draw the drop rates of all packets, of TCP's and of LEDBAT's on three axes."""
    from sojourn.figures import legends
    from sojourn.figures.style import PAGE_WIDTH_IN, drawn, family

    corners = [math.pi / 2, 11 * math.pi / 6, 7 * math.pi / 6]
    kinds = (("bottleneck_drop_rate", None), ("drop_rate", "tcp"), ("drop_rate", "background"))
    with drawn(3.4, PAGE_WIDTH_IN / 2) as drawing:
        axes = drawing.add_subplot(projection="polar")
        for position, queue in enumerate(_QUEUES):
            rates = [means.number("disciplines", *one, queue=queue, spread="50 ms").mean for one in kinds]
            axes.plot([*corners, corners[0]], [*rates, rates[0]], color=family(position), label=queue)
        axes.set_xlim(0, 2 * math.pi)
        axes.set_xticks(corners, ["all", "TCP", "LEDBAT"])
        legends.below(drawing, *axes.get_legend_handles_labels())
    return drawing


@figure(
    "fig6",
    "as-fig6",
    "As the paper draws Fig. 6: capacity changes the queue in packets under CoDel alone, and TCP's share under no AQM. "
    "Means over four buffers, RTT 50 ms; solid: mean queue, dashed: TCP's share; in the legend the largest standard "
    "deviation over buffers of each",
)
def two_axes(means: Means) -> "Figure":
    """Draw queue and share over capacity on two axes."""
    from sojourn.figures import legends
    from sojourn.figures.style import drawn, family

    with drawn(3.2) as drawing:
        left = drawing.subplots()
        right = left.twinx()
        for position, queue in enumerate(("RED", "SFQ", "CoDel")):
            lines = [
                Selection("capacity", metric, "tcp", {"queue": queue, "rtt_ms": 50}, [["mean", "packets"]]).cells(means)
                for metric in ("bottleneck_queue_packets_mean", "share")
            ]
            spreads = [max(cell.number.sd for cell in line) for line in lines]
            for axes, line, style in zip((left, right), lines, ("-", "--"), strict=True):
                places = [cell.at["rate_mbps"] for cell in line]
                label = f"{queue} ({spreads[0]:.1f} packets, {spreads[1]:.1f} %)" if axes is left else None
                axes.plot(places, [cell.number.mean for cell in line], style, color=family(position), label=label)
        left.set_xlabel("capacity [Mbit/s]")
        left.set_ylabel("mean queue [packets]")
        left.set_ylim(bottom=0)
        right.set_ylabel("TCP's share [%]")
        right.set_ylim(0, 102)
        legends.below(drawing, *left.get_legend_handles_labels())
    return drawing


@figure(
    "fig7",
    "fig7",
    "The link fills as flows are on for longer. Grey: the underload regime, where no discipline keeps 95 % of the link "
    "in use. Bars are 95 % intervals",
)
def regimes(means: Means) -> "Figure":
    """Draw utilization over the duty cycle."""
    return _over_duty_cycles(means, "bottleneck_utilization", "utilization [%]")


@figure(
    "fig8",
    "fig8",
    "Under AQMs TCP has about half of the link at every duty cycle, in both regimes. Grey: the underload regime of "
    "Fig. 7. Bars are 95 % intervals",
)
def shares_in_regimes(means: Means) -> "Figure":
    """Draw TCP's share over the duty cycle."""
    return _over_duty_cycles(means, "share", "TCP's share [%]")


_FULL_PERCENT = 95


def _over_duty_cycles(means: Means, metric: str, title: str) -> "Figure":
    from sojourn.figures import legends
    from sojourn.figures.style import CAPACITY, drawn, family

    with drawn(3.0) as drawing:
        for axes, rtt_ms in zip(drawing.subplots(1, 2, sharey=True), (6, 50), strict=True):
            used = means.cells("duty", "bottleneck_utilization", rtt_ms=rtt_ms)
            idle = {cell.at["duty_percent"] for cell in used} - {
                cell.at["duty_percent"] for cell in used if cell.number.mean >= _FULL_PERCENT
            }
            if idle:
                axes.axvspan(0, max(idle), color=CAPACITY, zorder=0)
            for position, queue in enumerate(_QUEUES):
                line = means.cells("duty", metric, "tcp", rtt_ms=rtt_ms, queue=queue)
                axes.errorbar(
                    [cell.at["duty_percent"] for cell in line],
                    [cell.number.mean for cell in line],
                    yerr=[cell.number.half for cell in line],
                    label=queue,
                    color=family(position),
                    marker="soDv^P"[position],
                    markersize=3,
                    elinewidth=0.6,
                )
            axes.set_xlim(0, 105)
            axes.set_ylim(0, 102)
            axes.set_xlabel("part of the time that a flow is on [%]")
            axes.set_title(f"RTT {rtt_ms} ms")
        drawing.axes[0].set_ylabel(title)
        legends.below(drawing, *axes.get_legend_handles_labels())
    return drawing


@figure(
    "fig5",
    "fig5",
    "LEDBAT lies at the priority of best effort (hatched) under every AQM; other controls keep a part of theirs, most "
    "under fair queues, where NICE as its paper has it comes near the ideal (grey). Each line is a low-priority "
    "control under a discipline",
)
def controls_and_disciplines(means: Means) -> "Figure":
    """Draw the queue's part of the buffer and TCP's share, joined, for each control and discipline."""
    from sojourn.figures import legends
    from sojourn.figures.style import CAPACITY, INK, drawn, family

    variants = ["LEDBAT (RFC 6817)", "NICE (Linux)", "TCP-LP (its paper)"]
    titles = ("as in ns-2, or the control's paper", "RFC 6817, NICE of Linux, TCP-LP's paper")
    with drawn(3.2) as drawing:
        for axes, controls, title in zip(drawing.subplots(1, 2), (CONTROLS, variants), titles, strict=True):
            for control, style in zip(controls, ("-", "--", ":"), strict=True):
                for position, name in enumerate(_QUEUES):
                    at = {"control": control, "queue": name}
                    queue = means.number("controls", "bottleneck_queue_packets_mean", **at)
                    share = means.number("controls", "share", "tcp", **at)
                    axes.errorbar(
                        [0, 1],
                        [queue.mean / 400, share.mean / 100],
                        yerr=[queue.half / 400, share.half / 100],
                        linestyle=style,
                        color=family(position),
                        marker="soDv^P"[position],
                        markersize=3.5,
                        elinewidth=0.6,
                    )
            # The paper's ideal: a short queue, and priorities as under DropTail.
            axes.fill_between([0, 1], [0, 0.9], [0.1, 1], color=CAPACITY, zorder=0, label="ideal")
            axes.fill_between(
                [0.9, 1.1], 0.5, 0.6, facecolor="none", edgecolor=INK, hatch="////", linewidth=0.3, zorder=0
            )
            axes.set_xticks([0, 1], ["mean queue / buffer", "TCP's share"])
            axes.set_xlim(-0.2, 1.15)
            axes.set_ylim(0, 1.02)
            axes.set_title(title)
        for control, style in zip(CONTROLS, ("-", "--", ":"), strict=True):
            axes.plot([], [], style, color=INK, label=control)
        for position, name in enumerate(_QUEUES):
            axes.plot([], [], "soDv^P"[position], color=family(position), markersize=3.5, label=name)
        legends.below(drawing, *axes.get_legend_handles_labels())
    return drawing


# When each was published, by the paper's list of references; LEDBAT is BitTorrent's BEP 29 and RFC 6817.
_PUBLISHED = (
    ("queue management", {"SFQ": 1990, "RED": 1993, "DRR": 1996, "CHOKe": 2000, "CoDel": 2012}),
    ("low-priority congestion control", {"NICE": 2002, "TCP-LP": 2003, "BEP 29": 2009, "LEDBAT": 2012}),
)


@figure(
    "fig1",
    "fig1",
    "Most queue disciplines are of the 1990s, low-priority controls of the 2000s: the two were seldom seen together. "
    "Years of publication",
)
def timeline(_means: Means) -> "Figure":
    """Draw when disciplines and controls were published."""
    from sojourn.figures.style import INK, PAGE_WIDTH_IN, drawn, family

    with drawn(1.7, PAGE_WIDTH_IN) as drawing:
        axes = drawing.subplots()
        for row, (_, years) in enumerate(_PUBLISHED):
            axes.plot(list(years.values()), [-row] * len(years), "-o", color=family(row), markersize=4)
            for index, (name, year) in enumerate(years.items()):
                beside = (0, -12 if index % 2 else 6)
                axes.annotate(name, (year, -row), beside, textcoords="offset points", ha="center", color=INK)
        axes.set_yticks([0, -1], [kind.replace(" congestion", "\ncongestion") for kind, _ in _PUBLISHED])
        axes.set_ylim(-1.4, 0.6)
        axes.set_xlim(1988, 2014)
    return drawing
