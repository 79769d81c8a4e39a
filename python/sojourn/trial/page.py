"""The page of a trial."""

from sojourn.data.statistics import statistic
from sojourn.pages import Cell, Fold, Page, Picture, Table, Tile, picture
from sojourn.report import Grid
from sojourn.trial.comparison import BEST_KNOWN, CONTROLS, QUEUES
from sojourn.trial.laws import CONTROL, SEEDS, is_low_priority
from sojourn.trial.report import Report, shown
from sojourn.trial.stack import STACK
from sojourn.trial.window import DURATION_S, JOINING, JOINS_S, OWN
from sojourn.trial.window import windows as windows_of


def page(report: Report, command: str = "") -> Page:
    """Return the page of a trial; `command` makes it again."""
    verdict = report.verdict.rstrip(".:")
    question = "Which cases does it pass?" if report.suite else "Does it keep the laws of its kind?"
    tables = [(question, _laws(report))]
    if report.priorities:
        # What is broken comes first.
        tables.insert(1 if report.broken else 0, ("Does it keep its low priority?", _priorities(report)))
    (heading, first), *others = tables
    folds = [Fold(question, tables=[table]) for question, table in others]
    if report.rows:
        folds.append(Fold(_compared(report), tables=[_comparison(report)]))
    return Page(
        title=f"{report.name}: {verdict.partition('. ')[0]}",
        kicker=f"Trial of the {_NOUNS[report.kind]} {report.name}",
        lead=[verdict.partition(". ")[2] + "."] if ". " in verdict else [],
        tiles=_tiles(report),
        pictures=_pictures(report),
        heading=heading,
        table=first,
        folds=folds,
        command=command,
    )


def _laws(report: Report) -> Table:
    rows = [
        [Cell(law.name), Cell(word, tone=word), Cell(law.found)]
        for law in sorted(report.laws, key=lambda law: law.holds)
        for word in ["yes" if law.holds else "no"]
    ]
    return Table(("case" if report.suite else "law", "holds", "found"), rows, "Laws")


def _priorities(report: Report) -> Table:
    rows = [
        [Cell(one.queue), Cell("kept" if one.kept else "lost", tone="yes" if one.kept else "no"), Cell(one.found)]
        for one in report.priorities
    ]
    return Table(("queue", "low priority", "share of two flows beside two of NewReno"), rows, "Low priority")


_NOUNS = {
    "queue": "queue discipline",
    "control": "congestion control",
    "traffic": "traffic",
    "shaper": "shaper's controller",
    "stack": "stack",
}


def _tiles(report: Report) -> list[Tile]:
    found = [
        Tile(
            f"{len(report.laws) - len(report.broken)} of {len(report.laws)}",
            "cases pass" if report.suite else "laws hold",
        )
    ]
    if report.priorities:
        kept = sum(one.kept for one in report.priorities)
        found.append(Tile(f"{kept} of {len(report.priorities)}", "queues under which low priority is kept"))
    shares = report.shares
    if shares:
        for which, end in (("smallest", min), ("largest", max)):
            beside = end(shares, key=lambda name: shares[name])
            found.append(Tile(f"{100 * shares[beside]:.0f} %", f"{which} share of two flows beside two of {beside}"))
    queues = [row.queue_ms_p99 for row in report.rows if row.subject == report.name and row.queue_ms_p99 is not None]
    if queues and not shares:
        found.append(Tile(f"{max(queues):.0f} ms", "longest 99th percentile of the queueing delay"))
    return found


def _pictures(report: Report) -> list[Picture]:
    if report.kind == STACK:
        return _shares(report)
    if report.window is None:
        return _situations(report)
    from sojourn.figures import windows

    alone, beside = windows_of(report.window, OWN, 2)
    joined = windows_of(report.window, JOINING, 2)[1]
    finding = (
        f"Alone, {report.name} has a window of {alone:.0f} segments in the mean. "
        f"Once a NewReno flow joins at {JOINS_S} s, it has {beside:.0f} and NewReno {joined:.0f}."
    )
    caption = (
        f"The congestion windows are above, the queueing delay is below. One run of {DURATION_S} s under DropTail, "
        "with a buffer of the bandwidth-delay product."
    )
    return [picture(windows(report.window), finding, caption, name=f"window-{report.name}")]


def _situations(report: Report) -> list[Picture]:
    """Return a figure of a discipline's queue and utilization in each situation."""
    own = [row for row in report.rows if row.subject == report.name]
    if not own:
        return []
    from sojourn.figures.variants import Panel, variants

    shown = (("queue [ms]", "queue_ms_mean", 1.0), ("queue p99 [ms]", "queue_ms_p99", 1.0))
    panels = [
        Panel(label, {row.beside: statistic([_times(getattr(row, key), scale)]) for row in own})
        for label, key, scale in (*shown, ("utilization [%]", "utilization", 100.0))
    ]
    longest = max(own, key=lambda row: row.queue_ms_p99 or 0.0)
    finding = f"Packets wait longest in the situation {longest.beside}."
    caption = f"Means of {SEEDS} runs; the numbers are the sections of RFC 7928."
    return [picture(variants([row.beside for row in own], panels), finding, caption, name=f"situations-{report.name}")]


def _shares(report: Report) -> list[Picture]:
    """Return a figure of a stack's share beside each control under each queue."""
    shares = report.shares
    if not shares:
        return []
    from sojourn.figures.variants import Panel, variants

    panels = [
        Panel(
            f"share beside {other} [%]",
            {queue: statistic([_times(shares.get(f"{other}, {queue}"), 100.0)]) for queue in QUEUES},
        )
        for other in CONTROLS
    ]
    most = max(shares, key=lambda beside: shares[beside])
    finding = f"Its share is largest beside {most}: {100 * shares[most]:.0f} % of the goodput."
    caption = f"Two connections beside two flows; equal shares would be 50 %. Means of {SEEDS} runs."
    return [picture(variants(list(QUEUES), panels), finding, caption, name="shares")]


def _times(value: float | None, scale: float) -> float | None:
    return None if value is None else scale * value


def _compared(report: Report) -> str:
    if report.kind == "queue":
        return "Its queue in situations of RFC 7928, beside other disciplines"
    best = BEST_KNOWN[report.kind == CONTROL and is_low_priority(report.name)]
    return f"Its share beside other controls, and that of {best}"


def _comparison(report: Report) -> Table:
    rows = [shown(row) for row in report.rows]
    return Table.of_grid(Grid(list(rows[0]), [list(row.values()) for row in rows]), "Comparison")
