"""The numbers of a result as small tables for people: of links, of groups, and of phases where there are any."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn import fairness, networks
from sojourn.chance import one_situation
from sojourn.data import metrics
from sojourn.data.statistics import Statistic, states
from sojourn.resolved import resolved_presets, sentences, titles

if TYPE_CHECKING:
    from sojourn.measured import Measured

NO_VALUE = "–"  # noqa: RUF001 (an en dash, as printed tables have it)


@dataclass(frozen=True)
class Grid:
    """A table of text: the first column names the rows."""

    headers: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Shown:
    """How a metric of the summary is shown."""

    label: str
    metric: str
    scale: float = 1.0
    decimals: int | None = None

    def cell(self, statistic: Statistic | None) -> str:
        """Write the mean, and half of its confidence interval where there is one."""
        if statistic is None or statistic["mean"] is None:
            return NO_VALUE
        text = self.number(statistic["mean"])
        if statistic["ci95"] is None:
            return text
        low, high = statistic["ci95"]
        return f"{text} ± {(high - low) / 2 * self.scale:.{self._decimals(statistic['mean'])}f}"

    def number(self, value: float) -> str:
        """Write a value of the metric with as many digits as are worth reading."""
        return f"{value * self.scale:.{self._decimals(value)}f}"

    def _decimals(self, value: float) -> int:
        return digits_worth_reading(value * self.scale) if self.decimals is None else self.decimals


LINK_ROWS = (
    Shown("utilization [%]", "utilization", 100, 1),
    Shown("queue [packets]", "queue_packets_mean"),
    Shown("queue [ms]", "queue_ms_mean"),
    Shown("queue, 99th percentile [ms]", "queue_ms_p99"),
    Shown("drop rate [%]", "drop_rate", 100, 2),
    Shown("drops", "drops", decimals=0),
    Shown("marks", "marks", decimals=0),
)

PHASE_COLUMNS = (
    Shown("utilization [%]", "utilization", 100, 1),
    Shown("queue [ms]", "queue_ms_mean"),
    Shown("queue, 95th percentile [ms]", "queue_ms_p95"),
    Shown("queue, 99th percentile [ms]", "queue_ms_p99"),
    Shown("drops", "drops", decimals=0),
    Shown("marks", "marks", decimals=0),
)

GROUP_COLUMNS = (
    Shown("share [%]", "share", 100, 1),
    Shown("goodput [Mbit/s]", "goodput_mbps"),
    Shown("drop rate [%]", "drop_rate", 100, 2),
    Shown("RTT [ms]", "rtt_ms_mean"),
    Shown("RTT p99 [ms]", "rtt_ms_p99"),
    Shown("Jain", "jain", decimals=3),
    Shown("completion [ms]", "fct_ms_mean"),
    Shown("page [ms]", "page_ms_mean"),
    Shown("call delay p99 [ms]", "voip_delay_ms_p99"),
    Shown("MOS", "voip_mos"),
    Shown("video [Mbit/s]", "video_rate_mbps"),
    Shown("stalls [s]", "video_stall_s", decimals=1),
)


def title(result: "Measured") -> str:
    """Say in one line what was run."""
    seeds = [run["seed"] for run in result.runs]
    runs = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}"
    first = result.runs[0]
    measured = f"{first['duration_s']:g} s"
    if first["measured_from_s"]:
        measured += f" measured from {first['measured_from_s']:g} s"
    return f"{result.name}: {measured}, {runs}"


def link_grid(result: "Measured") -> Grid:
    """Tabulate the links: the bottleneck, and the return link, further hops and stations where there are any."""
    links = [link for link, _ in metrics.links(result.runs[0])]
    shown = networks.gathered(
        [link.removeprefix(f"{metrics.HOPS}_").removeprefix(f"{metrics.STATIONS}_") for link in links]
    )
    columns: dict[str, list[str]] = {}
    for link, name in zip(links, shown.values(), strict=True):
        columns.setdefault(name, []).append(link)
    rows = [[row.label, *(_cell_of_links(result, row, own) for own in columns.values())] for row in LINK_ROWS]
    heads = [name if len(own) == 1 else f"{name} (mean of {len(own)})" for name, own in columns.items()]
    return Grid(["link", *heads], rows)


def _cell_of_links(result: "Measured", row: Shown, links: Sequence[str]) -> str:
    """Return the cell of a link, or of many that are shown as one: the mean of theirs, without an interval."""
    found = [result.summary.get(f"{link}_{row.metric}") for link in links]
    if len(found) == 1:
        return row.cell(found[0])
    means = [one["mean"] for one in found if one is not None and one["mean"] is not None]
    return row.number(sum(means) / len(means)) if means else NO_VALUE


def division_grid(result: "Measured") -> Grid | None:
    """Tabulate what groups got of their max-min shares, mean over runs; None where the scenario is no network."""
    if not networks.is_network(result.scenario):
        return None
    runs = [fairness.divisions(result, run) for run in range(len(result.runs))]
    if not any(runs):
        return None
    rows = []
    for own in zip(*runs, strict=True):
        fair, goodput = sum(one.fair_mbps for one in own) / len(own), sum(one.goodput_mbps for one in own) / len(own)
        least, most = min(one.least for one in own), max(one.most for one in own)
        rows.append(
            [result.titles[own[0].group], f"{fair:.4g}", f"{goodput:.4g}", f"{100 * least:.0f} to {100 * most:.0f}"]
        )
    return Grid(["group", "max-min share of a flow [Mbit/s]", "what it got [Mbit/s]", "flows' parts [%]"], rows)


def group_grid(result: "Measured") -> Grid:
    """Tabulate the groups of flows; a column without any value is left out."""
    groups = result.groups
    columns = [
        column
        for column in GROUP_COLUMNS
        if any(_known(result.summary.get(f"{column.metric}.{group}")) for group in groups)
    ]
    rows = [
        [result.titles[group], *(column.cell(result.summary.get(f"{column.metric}.{group}")) for column in columns)]
        for group in groups
    ]
    return Grid(["group", *(column.label for column in columns)], rows)


def phase_grid(result: "Measured") -> Grid | None:
    """Tabulate the phases: the bottleneck, and each group's goodput; None where there are none."""
    phases = list(result.runs[0].get(metrics.PHASES) or {})
    if not phases:
        return None
    columns = [(column.label, f"{metrics.BOTTLENECK}_{column.metric}", column) for column in PHASE_COLUMNS]
    goodput = Shown("goodput", "goodput_mbps")
    columns += [
        (f"goodput, {result.titles[group]} [Mbit/s]", f"{goodput.metric}.{group}", goodput) for group in result.groups
    ]
    rows = [
        [phase, *(shown.cell(result.summary.get(f"{metrics.PHASES}_{phase}_{metric}")) for _, metric, shown in columns)]
        for phase in phases
    ]
    return Grid(["phase", *(label for label, _, _ in columns)], rows)


def html(result: "Measured") -> str:
    """Return all tables as HTML for a notebook."""
    grids = (link_grid(result), group_grid(result), phase_grid(result))
    body = "".join(_html_table(grid) for grid in grids if grid is not None)
    note = "".join(map(_html_note, (seeds_note(result), presets_note(result))))
    return f"<div><p>{_escaped(title(result))}{_interval_note(result)}</p>{body}{note}</div>"


def scenario_html(scenario: Mapping[str, Any]) -> str:
    """Return what a scenario says, every default written out, as HTML for a notebook."""
    link = scenario["bottleneck"]
    what = link.get("rate") or (f"recorded: {link['trace']}" if "trace" in link else link["medium"]["kind"])
    heading = f"{scenario['name']}: {what}, {link['queue']['kind']}, {scenario['duration']}, {scenario['runs']} run(s)"
    presets, shown = resolved_presets(scenario), titles(scenario)
    rows = [
        [
            shown[group["name"]],
            str(group["flows"]),
            str(group.get("rtt", NO_VALUE)),
            group.get("control", {}).get("kind", NO_VALUE),
            presets.get(f"group.{group['name']}.control", NO_VALUE),
            group["traffic"]["kind"],
        ]
        for group in scenario["group"]
    ]
    grid = Grid(["group", "flows", "base RTT", "control", "values of preset", "traffic"], rows)
    return f"<div><p>{_escaped(heading)}</p>{_html_table(grid)}</div>"


def grid_html(grid: Grid) -> str:
    """Return a table as HTML."""
    return _html_table(grid)


def presets_note(result: "Measured") -> str:
    """Say which controls have the values of a preset, also where the transport chose it."""
    return "; ".join(sentences(result.presets, result.scenario))


def interval_note(result: "Measured") -> str:
    """Explain the ± of the tables, where there are any, or why there is no spread."""
    if result.alike:
        return f"{alike_text(len(result.runs))}: their spread is zero, and one run would do"
    return "± is half of the 95 % confidence interval of the mean" if len(result.runs) > 1 else ""


def alike_text(runs: int) -> str:
    """Say that runs do not differ, and why."""
    return f"all {runs} runs are alike, since nothing here is random"


def seeds_note(result: "Measured") -> str:
    """Say where seeds change nothing that matters, or where the runs lie in two places; empty where neither is so."""
    notes = []
    if _seeds_are_one_situation(result):
        notes.append(
            "start times, traffic, path and queues are the same in all runs: their spread says nothing of other starts "
            '(start = { uniform = ["0 s", "1 s"] } draws them)'
        )
    measured = [metrics.values(run) for run in result.runs]
    notes += [
        f"{name}: {apart.low} runs near {shown.number(apart.low_mean)}, {apart.high} near "
        f"{shown.number(apart.high_mean)}, and none between: the mean describes neither"
        for name, shown, metric in _shown_metrics(result)
        if (apart := states([value for run in measured if (value := run.get(metric)) is not None]))
    ]
    return "; ".join(notes)


def _seeds_are_one_situation(result: "Measured") -> bool:
    simulated = all("kernel" not in run for run in result.runs)
    flows = sum(result.flow_counts.values())
    return len(result.runs) > 1 and simulated and flows > 1 and not result.alike and one_situation(result.scenario)


def _shown_metrics(result: "Measured") -> "Iterator[tuple[str, Shown, str]]":
    """Return what two states are looked for in, with its name for people: queues and goodputs."""
    queue = Shown("queue [ms]", "queue_ms_mean")
    for link, _ in metrics.links(result.runs[0]):
        yield f"{link}, {queue.label}", queue, f"{link}_{queue.metric}"
    goodput = Shown("goodput [Mbit/s]", "goodput_mbps")
    for group in result.groups:
        yield f"{result.titles[group]}, {goodput.label}", goodput, f"{goodput.metric}.{group}"


def digits_worth_reading(value: float) -> int:
    """Return how many decimals to write.

    >>> [f"{value:.{digits_worth_reading(value)}f}" for value in (379.4321, 3.7412)]
    ['379.4', '3.74']
    """
    return 1 if abs(value) >= 100 else 2  # noqa: PLR2004


def _interval_note(result: "Measured") -> str:
    note = interval_note(result)
    return f" ({note})" if note else ""


def _escaped(text: str) -> str:
    from html import escape

    return escape(text)


def _html_note(note: str) -> str:
    return f"<p>{_escaped(note)}</p>" if note else ""


def _known(statistic: Statistic | None) -> bool:
    return statistic is not None and statistic["mean"] is not None


def _html_table(grid: Grid) -> str:
    def row(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{_escaped(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + row(grid.headers, "th") + "".join(row(cells, "td") for cells in grid.rows) + "</table>"
