"""Figures 3 and 4: what each discipline does to queue, utilization, share and loss."""

from typing import Any

from matplotlib.figure import Figure

from sojourn.figures.style import PAGE_WIDTH_IN, Drawing, family, styled
from sojourn.papers.gong.measures import BACKGROUND, DROP_RATE, QUEUE_MS, QUEUE_PACKETS, SHARE, TCP, UTILIZATION, Rows
from sojourn.papers.gong.world import AQMS, PACKETS, QUEUES, SEEDS, base, queue
from sojourn.papers.lab import Lab
from sojourn.papers.study import Check, Findings, Item, Table

SHORT_BUFFERS = (200, 100, 50, 20, 10)
# Workshop version, Fig. 3: how many times shorter the queue, and what the share and the utilization change by, in %.
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
_MOST_AQM_MS = 85


def _rows(lab: Lab) -> Rows:
    cases: dict[str, Any] = {name: {"bottleneck.queue": queue(name)} for name in QUEUES}
    cases |= {f"DropTail {packets}": {"bottleneck.queue": queue("DropTail", packets)} for packets in SHORT_BUFFERS}
    return Rows(lab.sweep("disciplines", {"base": base(), "seeds": SEEDS, "cases": cases}).table())


def fig3(lab: Lab) -> Findings:
    """Queue, share and utilization relative to DropTail with 400 packets."""
    rows = _rows(lab).where(group=TCP)
    whole = rows.where(case="DropTail").numbers((QUEUE_PACKETS, SHARE, UTILIZATION))
    found = Findings()
    table = []
    measured = {}
    for case in rows.values("case"):
        now = rows.where(case=case).numbers((QUEUE_PACKETS, SHARE, UTILIZATION))
        delay = rows.where(case=case).number(QUEUE_MS)
        shorter = whole[0].mean / now[0].mean
        share, used = (100 * (one.mean / then.mean - 1) for one, then in zip(now[1:], whole[1:], strict=True))
        measured[case] = (shorter, share, used, delay.mean)
        table.append(
            (case, now[0].mean, now[0].sd, delay.mean, 100 * now[1].mean, 100 * now[1].sd, shorter, share, used)
        )
        if case not in PAPER_FIG3:
            continue
        then = PAPER_FIG3[case]
        found.checks += [
            Check(
                f"{case}: queue so many times shorter than DropTail's",
                f"{then[0]}",
                f"{shorter:.1f}",
                1 / _QUEUE_FACTOR <= shorter / then[0] <= _QUEUE_FACTOR,
            ),
            Check(
                f"{case}: change of TCP's share",
                f"{then[1]} %",
                f"{share:.1f} % (share {now[1].text(1, 100)} %)",
                abs(share - then[1]) <= _SHARE_POINTS,
            ),
            Check(
                f"{case}: change of utilization",
                f"{then[2]} %",
                f"{used:.1f} %",
                abs(used - then[2]) <= _UTILIZATION_POINTS,
            ),
        ]
    most = max(measured[name][3] for name in AQMS)
    found.checks.append(
        Check("queueing delay under every AQM is at most 85 ms", "≤ 85 ms", f"{most:.0f} ms", most <= _MOST_AQM_MS)
    )
    columns = (
        "case",
        "queue_packets",
        "sd",
        "queue_ms",
        "tcp_share_percent",
        "sd_share",
        "times_shorter",
        "share_change_percent",
        "utilization_change_percent",
    )
    found.tables.append(Table("disciplines", "All disciplines and buffers", columns, tuple(table)))
    found.show("fig3", _bars(measured), "Queue, TCP's share and utilization against DropTail with 400 packets")
    return found


def _bars(measured: dict[str, tuple[float, float, float, float]]) -> Figure:
    names = [name for name in measured if name != "DropTail"]
    with styled():
        figure = Drawing(figsize=(PAGE_WIDTH_IN, 2.6), layout="constrained")
        panels = figure.subplots(1, 3, sharey=True)
        titles = ("times shorter queue", "change of TCP's share [%]", "change of utilization [%]")
        for index, (axes, title) in enumerate(zip(panels, titles, strict=True)):
            ours = [measured[name][index] for name in names]
            axes.barh(names, ours, color=family(0), height=0.6, label="measured")
            paper = [(PAPER_FIG3[name][index], name) for name in names if name in PAPER_FIG3]
            axes.plot(*zip(*paper, strict=True), "D", color=family(1), markersize=4, label="paper")
            axes.set_title(title)
        panels[0].invert_yaxis()
        panels[0].set_xscale("log")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def fig4(lab: Lab) -> Findings:
    """Drop rates of both classes under each discipline."""
    rows = _rows(lab)
    rates = {
        name: [rows.where(case=name, group=group).number(DROP_RATE) for group in (TCP, BACKGROUND)] for name in QUEUES
    }
    found = Findings()
    table = tuple(
        (name, 100 * tcp.mean, 100 * tcp.sd, 100 * low.mean, 100 * low.sd) for name, (tcp, low) in rates.items()
    )
    columns = ("discipline", "tcp_drop_percent", "sd_tcp", "background_drop_percent", "sd_background")
    found.tables.append(Table("drops", "Drop rates", columns, table))
    found.show("fig4", _diagonal(table), "Drop rate of TCP against that of the low-priority flows, mean of 10 runs")
    tcp, low = rates["DropTail"]
    found.checks = [
        Check(
            "DropTail drops both classes at the same rate",
            "equal",
            f"{tcp.text(2, 100)} % and {low.text(2, 100)} %",
            abs(tcp.mean - low.mean) <= 2 * max(tcp.sd, low.sd),
        ),
        Check(
            "every AQM drops more than DropTail",
            "all",
            ", ".join(f"{name} {rates[name][0].text(1, 100)} %" for name in AQMS),
            all(rates[name][0].mean > tcp.mean for name in AQMS),
        ),
        Check(
            "every AQM drops more of TCP than of the low-priority flows",
            "all",
            ", ".join(f"{name} {rates[name][0].mean / rates[name][1].mean:.2f}" for name in AQMS) + " (ratio)",
            all(rates[name][0].mean > rates[name][1].mean for name in AQMS),
        ),
        _extreme("TCP's drop rate is worst under CHOKe", "CHOKe", {name: rates[name][0].mean for name in AQMS}, max),
        _extreme(
            "the low-priority flows lose least under SFQ", "SFQ", {name: rates[name][1].mean for name in AQMS}, min
        ),
    ]
    return found


def _extreme(claim: str, paper: str, values: dict[str, float], of: Any) -> Check:
    best = of(values, key=values.__getitem__)
    return Check(
        claim, paper, f"{best} ({100 * values[best]:.1f} %; {paper} {100 * values[paper]:.1f} %)", best == paper
    )


def _diagonal(table: tuple[tuple[Any, ...], ...]) -> Figure:
    with styled():
        figure = Drawing(figsize=(PAGE_WIDTH_IN / 2, 3.0), layout="constrained")
        axes = figure.subplots()
        most = 1.1 * max(max(row[1], row[3]) for row in table)
        axes.plot([0, most], [0, most], color="#999999", linewidth=0.6)
        for position, (name, tcp, sd, low, sd_low) in enumerate(table):
            axes.errorbar(tcp, low, xerr=sd, yerr=sd_low, fmt="o", color=family(position), label=name, markersize=4)
        axes.set_xlabel("TCP packets dropped [%]")
        axes.set_ylabel("low-priority packets dropped [%]")
        axes.legend()
    return figure


_SETTING = f"5 NewReno and 5 LEDBAT flows, 4 Mbit/s, {PACKETS} packets, 50 ms, 60 s, {SEEDS} runs; presets ns2"
ITEMS = (
    Item("fig3", "Fig. 3: what each discipline does to queue and priority", _SETTING, fig3),
    Item("fig4", "Fig. 4: who pays with losses", _SETTING, fig4),
)
