"""The page of a scenario's runs."""

import tomllib
from typing import TYPE_CHECKING

from sojourn import fairness, networks, report
from sojourn.data import metrics
from sojourn.grade import pings, sentence
from sojourn.pages.laboratory import link
from sojourn.pages.model import Cell, File, Fold, Page, Picture, Table, Tile
from sojourn.pages.pictures import picture
from sojourn.registry import plug_ins_in, sentence_of

if TYPE_CHECKING:
    from sojourn.measured import Measured

_TILES = (
    report.Shown("utilization of the bottleneck", "bottleneck_utilization", 100, 1),
    report.Shown("mean queueing delay", "bottleneck_queue_ms_mean"),
    report.Shown("99th percentile of the queueing delay", "bottleneck_queue_ms_p99"),
    report.Shown("packets dropped", "bottleneck_drop_rate", 100, 2),
)


def page(result: "Measured", command: str = "") -> Page:
    """Return the page of a result; `command` makes it again. A figure needs the time series."""
    return Page(
        title=_finding(result),
        kicker=report.title(result),
        lead=_lead(result),
        tiles=[_tile(result, one) for one in _TILES],
        pictures=_pictures(result),
        heading="What did each group of flows get?",
        table=Table.of_grid(report.group_grid(result), "Groups of flows"),
        notes=[
            note
            for note in (
                report.interval_note(result),
                report.seeds_note(result),
                report.presets_note(result),
                _plug_ins(result),
            )
            if note
        ],
        folds=[
            Fold("The links", tables=[Table.of_grid(report.link_grid(result), "Links")]),
            *_phases(result),
            *_network(result),
            _everything(result),
        ],
        command=command,
        files=[File("Scenario, every default written out", result.to_toml())],
    )


def _phases(result: "Measured") -> list[Fold]:
    grid = report.phase_grid(result)
    return [] if grid is None else [Fold("The phases", tables=[Table.of_grid(grid, "Phases")])]


def _network(result: "Measured") -> list[Fold]:
    """Return the network that the links form, who waited where, and what would have been fair; nothing for a chain."""
    if not networks.is_network(result.scenario):
        return []
    from sojourn.figures.network import network

    grids = [(report.division_grid(result), "Max-min shares"), (_waits(result), "Where data waited longest")]
    busiest = max(metrics.links(result.runs[0]), key=lambda link: link[1]["utilization"] or 0.0)
    name, percent = busiest[0].removeprefix(f"{metrics.HOPS}_"), 100 * (busiest[1]["utilization"] or 0.0)
    said = "A share is max-min fair where no flow can have more without one that has no more having less."
    if "station" in result.scenario:
        said = "No max-min shares: what a medium that stations share can carry depends on who sends."
    finding, caption = f"The busiest link is {name}, used to {percent:.1f} %.", "The mean over runs is drawn."
    return [
        Fold(
            "The network, and what would be fair",
            [said],
            tables=[Table.of_grid(grid, title) for grid, title in grids if grid is not None],
            pictures=[picture(network(result.native, result.scenario, result), finding, caption, name="network")],
        )
    ]


def _waits(result: "Measured") -> report.Grid | None:
    if result.bin_s is None:
        return None
    found = fairness.waits(result)
    links = list(dict.fromkeys(link for own in found.values() for link in own))
    rows = [
        [result.titles[group], *(f"{100 * own.get(link, 0.0):.0f}" for link in links)] for group, own in found.items()
    ]
    return report.Grid(["group", *(f"{link} [% of the bins]" for link in links)], rows) if rows else None


def _plug_ins(result: "Measured") -> str:
    return sentence_of(plug_ins_in(tomllib.loads(result.to_toml())))


def _finding(result: "Measured") -> str:
    queue = result.summary["bottleneck_queue_ms_mean"]["mean"]
    if queue is None:
        return f"No packet waited at the bottleneck of {result.name}"
    used = result.summary["bottleneck_utilization"]["mean"] or 0.0
    shown = f"{queue:.{report.digits_worth_reading(queue)}f}"
    return f"Packets wait {shown} ms in the mean, and the link is used to {100 * used:.1f} %"


def _lead(result: "Measured") -> list[str]:
    """Return one sentence for each thing that a user notices: calls, pages, shares."""
    sentences = [said] if (said := sentence(result)) else []
    calls = _of_groups(result, "voip_mos", "{:.2f}")
    if calls:
        sentences.append(f"Calls have a mean opinion score of {calls}; 4.4 is the best possible.")
    loads = _of_groups(result, "page_ms_mean", "{:.0f} ms")
    if loads:
        sentences.append(f"A page takes {loads}.")
    sentences += [
        f"Of what the {words} delivers, {result.titles[most]} has {100 * shares[most]:.1f} %."
        for words, shares in _shares(result).items()
        if len(shares) > 1
        for most in [max(shares, key=lambda name: shares[name])]
    ]
    return [" ".join(sentences)] if sentences else []


def _of_groups(result: "Measured", metric: str, form: str) -> str:
    """Return the values of a metric with the groups that have one; without the group where it is the only one."""
    found = {
        group: form.format(mean) for group in result.groups if (mean := _mean(result, f"{metric}.{group}")) is not None
    }
    if len(found) == 1:
        return next(iter(found.values()))
    return ", ".join(f"{value} ({result.titles[group]})" for group, value in found.items())


def _shares(result: "Measured") -> "dict[str, dict[str, float]]":
    """Return the shares of the groups of each direction of a chain."""
    if networks.is_network(result.scenario):
        return {}
    words = {"forward": "bottleneck", "reverse": "return link"}
    found: dict[str, dict[str, float]] = {}
    for group in result.scenario.group:
        share = _mean(result, f"share.{group.name}")
        if share is not None:
            found.setdefault(words[group.direction], {})[group.name] = share
    return found


def _mean(result: "Measured", metric: str) -> float | None:
    found = result.summary.get(metric)
    return None if found is None else found["mean"]


def _tile(result: "Measured", shown: report.Shown) -> Tile:
    unit = "%" if shown.scale != 1.0 else "ms"
    mean = _mean(result, shown.metric)
    return Tile(report.NO_VALUE if mean is None else f"{shown.number(mean)} {unit}", shown.label)


def _pictures(result: "Measured") -> list[Picture]:
    if result.bin_s is None:
        return []
    from sojourn.figures import timeline, under_load

    of_run = f"{result.name}, seed {result.runs[0].seed}."
    if pings(result.scenario):
        figure, caption = under_load(result), f"Throughput of each group, and round-trip times of pings: {of_run}"
    else:
        words = f"Queueing delay of the bottleneck above, throughput of each group below: {of_run}"
        figure, caption = timeline(result), f"{words} Grey is what the link could carry."
    links = link("change the scenario, and see what becomes of it", result.source)
    return [picture(figure, _seen(result), caption, name=result.name, laboratory=links)]


def _seen(result: "Measured") -> str:
    """Return what the reader should see in the figure: the queue, and who has the link."""
    queue = result.runs[0].bottleneck.queue_ms
    rates = {name: group.goodput_mbps for name, group in result.runs[0].groups.items() if group.goodput_mbps}
    carried = ", ".join(f"{result.titles[name]} {rate:.3g} Mbit/s" for name, rate in rates.items())
    delay = "No packet waits" if queue.mean is None else f"Half of the packets wait more than {queue.p50:.3g} ms"
    return f"{delay}. Goodput: {carried}." if carried else f"{delay}."


def _everything(result: "Measured") -> Fold:
    rows = [
        [
            Cell(metrics.label(name)),
            Cell.of(one["mean"]),
            Cell.of(one["sd"]),
            *(Cell.of(end) for end in one["ci95"] or (None, None)),
            Cell.of(one["n"]),
        ]
        for name, one in result.summary.items()
        if one["mean"] is not None
    ]
    columns = ["metric", "mean", "standard deviation", "95 % from", "to", "runs"]
    words = "Shares and rates are fractions here, from 0 to 1, as in the record."
    return Fold(f"All {len(rows)} numbers", [words], tables=[Table(columns, rows, "All metrics")])
