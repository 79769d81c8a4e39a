"""The page of a scenario's runs."""

from typing import TYPE_CHECKING

from sojourn import report
from sojourn.data import metrics
from sojourn.pages.model import Cell, File, Fold, Page, Picture, Table, Tile
from sojourn.pages.pictures import picture

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
        notes=[note for note in (report.interval_note(result), report.presets_note(result)) if note],
        folds=[
            Fold("The links", tables=[Table.of_grid(report.link_grid(result), "Links")]),
            _everything(result),
        ],
        command=command,
        files=[File("Scenario, every default written out", result.to_toml())],
    )


def _finding(result: "Measured") -> str:
    queue = result.summary["bottleneck_queue_ms_mean"]["mean"]
    if queue is None:
        return f"No packet waited at the bottleneck of {result.name}"
    used = result.summary["bottleneck_utilization"]["mean"] or 0.0
    shown = f"{queue:.{report.digits_worth_reading(queue)}f}"
    return f"Packets wait {shown} ms in the mean, and the link is used to {100 * used:.1f} %"


def _lead(result: "Measured") -> list[str]:
    """Return one sentence for each thing that a user notices: calls, pages, shares."""
    sentences = []
    for group in result.groups:
        for metric, words in (
            ("voip_mos", "Calls of the group {group} have a mean opinion score of {value:.2f} (4.4 is the best)."),
            ("page_ms_mean", "A page of the group {group} takes {value:.0f} ms."),
        ):
            mean = _mean(result, f"{metric}.{group}")
            if mean is not None:
                sentences.append(words.format(group=result.titles[group], value=mean))
    shares = [(group, share) for group in result.groups if (share := _mean(result, f"share.{group}")) is not None]
    if len(shares) > 1:
        most, share = max(shares, key=lambda one: one[1])
        name = result.titles[most]
        sentences.append(f"The group {name} has the largest share of what its direction delivers: {100 * share:.1f} %.")
    return [" ".join(sentences)] if sentences else []


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
    from sojourn.figures import timeline

    caption = f"{result.name}, seed {result.runs[0].seed}. Grey is what the link could carry."
    words = "Queueing delay of the bottleneck above, throughput of each group below, over time."
    return [picture(timeline(result), words, caption, name=result.name)]


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
