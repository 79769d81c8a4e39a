"""A comparison in words and as a table: the finding, one row for each variant, what is best, what is beyond chance."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn import purposes
from sojourn.data import metrics
from sojourn.differences import Differences
from sojourn.purposes import Column, Purpose
from sojourn.reading import unknown_name
from sojourn.report import NO_VALUE, Grid, Shown, alike_text
from sojourn.worlds.shell.ends import carried

BEST, BEYOND_CHANCE = "*", "≠"
QUEUE = "bottleneck_queue_ms_mean"
# Utilizations of a link that cannot, and of one that can be where packets wait.
_IDLE, _FULL = 0.5, 0.8
_HOP = "hops_"
_REPEATED = (
    "A seed governs what is random on the path and in simulated flows, and nothing in a program, so runs with one seed "
    "are repetitions. The variants ran one after the other: what changed on this machine meanwhile is a part of their "
    "difference."
)


@dataclass(frozen=True)
class Table:
    """What is shown of a comparison: its table, and what the table leaves out because it is alike everywhere."""

    grid: Grid
    columns: list[Column]
    """Those of the table, after the column of names."""
    alike: list[str]
    """Columns in which no variant differs from the reference beyond chance, with the reference's value."""

    def notes(self, comparison: Differences) -> list[str]:
        """Return what a reader must know: runs, seeds, marks, what is left out."""
        first = comparison.results[comparison.reference]
        runs = len(first.runs)
        counted = f"{runs} run{'s' if runs > 1 else ''} each, seeds from {first.runs[0].seed}."
        found = [f"{counted} {BEST} is the best value of a column."]
        if runs > 1:
            found.append(
                f"± is half of a 95 % interval. {BEYOND_CHANCE} differs from {comparison.reference} beyond chance: "
                f"the 95 % interval of the difference, {_pairs(first.scenario)}, excludes 0."
            )
            found += [_REPEATED] if carried(first.scenario["group"]) else []
        alike = [name for name in comparison.order if comparison.results[name].alike]
        if alike:
            found.append(f"{', '.join(alike)}: {alike_text(runs)}.")
        if comparison.beside:
            found.append(
                f"Rows with (linux) ran on a real Linux kernel, and are compared with "
                f"{comparison.reference_of(next(iter(comparison.beside)))}."
            )
            unknown = [column.shown.label for column in self.columns if not _is_known(comparison, column)]
            if unknown:
                found.append(f"A kernel does not measure {', '.join(unknown)}.")
        found += _of_another_link(comparison)
        if self.alike:
            found.append(f"No variant differs in {'; '.join(self.alike)}.")
        return found


def _pairs(scenario: Mapping[str, Any]) -> str:
    """Say which runs are subtracted from each other; those of programs share their seed, but not what is sent."""
    return "repetition by repetition" if carried(scenario["group"]) else "seed by seed"


def _of_another_link(comparison: Differences) -> Iterator[str]:
    """Say where the bottleneck's queue can hardly matter, because another link is the full one."""
    of, main = "_utilization", "bottleneck_utilization"
    used = {
        name: comparison.mean(comparison.reference, name) or 0.0
        for name in comparison.results[comparison.reference].summary
        if name.endswith(of)
    }
    fullest = max(used, key=lambda name: used[name], default=main)
    most = max(comparison.mean(name, main) or 0.0 for name in comparison.order)
    if most < _IDLE and used.get(fullest, 0.0) > _FULL:
        link = fullest.removesuffix(of).removeprefix(_HOP)
        hint = f" (such as {link}.queue=fq_codel)" if link == "reverse" else ""
        yield (
            f"The bottleneck's link is used to {100 * most:.1f} % at most, {link} to {100 * used[fullest]:.1f} %: "
            f"the queue that decides is there{hint}."
        )


def tabulated(comparison: Differences, names: Sequence[str] | None = None) -> Table:
    """Tabulate the metrics that are named, or what is worth comparing; a column in which nothing differs is left out.

    A name without a group stands for that metric of every group. Raises InputError for a name that there is not.
    """
    columns = comparison.columns if names is None else [one for name in names for one in _named(comparison, name)]
    shown = [column for column in columns if names is not None or _differs(comparison, column)] or columns
    best = {column.shown.metric: best_of(comparison, column) for column in shown}
    rows = [
        [variant, *(_cell(comparison, variant, column, best[column.shown.metric]) for column in shown)]
        for variant in comparison.order
    ]
    alike = [
        f"{column.shown.label} ({column.shown.cell(comparison.results[comparison.reference].summary.get(metric))})"
        for column in columns
        if column not in shown
        for metric in [column.shown.metric]
    ]
    return Table(Grid(["variant", *(column.shown.label for column in shown)], rows), shown, alike)


def answer(comparison: Differences) -> str:
    """Return the finding in one or two sentences: what is best for the purpose, or for what the scenario has."""
    purpose = comparison.purpose or purposes.usual(comparison.scenarios)
    return _shortest_queue(comparison) if purpose is None else _best_for(comparison, purpose)


def headline(comparison: Differences) -> str:
    """Return the finding as a title."""
    purpose = comparison.purpose or purposes.usual(comparison.scenarios)
    if purpose is None:
        return _shortest_queue(comparison).partition(":")[0]
    reached = _reached(comparison, purpose)
    if len(set(reached.values())) < 2:  # noqa: PLR2004 (one value is no difference)
        return f"The variants are equally good for {purpose.name}"
    winners = _winners(purpose, reached)
    return f"{_listed(winners)} {'is' if len(winners) == 1 else 'are'} best for {purpose.name}"


def best(comparison: Differences) -> str:
    """Return the variant that is best for the purpose, or for what the scenario has; else the shortest queue."""
    purpose = comparison.purpose or purposes.usual(comparison.scenarios)
    own = [name for name in comparison.order if name not in comparison.beside]
    if purpose is None:
        delays = _queues(comparison)
        return min(delays, key=lambda name: delays[name], default=own[0])
    reached = _reached(comparison, purpose)
    winners = set(_winners(purpose, reached)) if reached else set()
    return next((name for name in own if name in winners), own[0])


def criterion(comparison: Differences) -> str:
    """Return by what the variants are judged, as the end of a sentence about the best."""
    purpose = comparison.purpose or purposes.usual(comparison.scenarios)
    return "has the shortest queue" if purpose is None else purpose.best_of_all


def _reached(comparison: Differences, purpose: Purpose) -> dict[str, float]:
    """Return what each variant reaches, without those that have no value."""
    groups = purpose.groups(comparison.scenarios)
    own = [name for name in comparison.results if name not in comparison.beside]
    return {name: value for name in own if (value := purpose.value(comparison.results[name], groups)) is not None}


def _winners(purpose: Purpose, reached: dict[str, float]) -> list[str]:
    best = (purpose.column.best or min)(reached.values())
    return [name for name, value in reached.items() if value == best]


def _best_for(comparison: Differences, purpose: Purpose) -> str:
    reached = _reached(comparison, purpose)
    if not reached:
        return f"No variant has a value for {purpose.name}."
    winners = _winners(purpose, reached)
    best = reached[winners[0]]
    if len(winners) == len(reached):
        return f"The variants are equally good for {purpose.name}: {_said(purpose, best)} in each."
    others = [
        f"{name} {_number(purpose, value)}"
        for name, value in sorted(reached.items(), key=lambda one: abs(one[1] - best))
        if name not in winners
    ]
    verb = "is" if len(winners) == 1 else "are"
    return f"Best for {purpose.name} {verb} {_listed(winners)}: {_said(purpose, best)}. Others: {'; '.join(others)}."


def _shortest_queue(comparison: Differences) -> str:
    shown, means = Shown("", QUEUE), _queues(comparison)
    if not means:
        return "No variant has a queue."
    best = min(means, key=lambda name: means[name])
    what = "queue" if len(purposes.queues_of_path(comparison.scenarios[0])) == 1 else "sum of all queues on the path"
    text = f"The shortest {what} is that of {best}: {shown.number(means[best])} ms in the mean"
    if best == comparison.reference or comparison.reference not in means:
        return f"{text}."
    return f"{text}; {comparison.reference} has {shown.number(means[comparison.reference])} ms."


def _queues(comparison: Differences) -> dict[str, float]:
    """Return the mean queueing delay of each variant in ms: the sum over all queues on the forward path."""
    metrics = purposes.queues_of_path(comparison.scenarios[0])
    own = [name for name in comparison.results if name not in comparison.beside]
    found = {name: [comparison.mean(name, metric) for metric in metrics] for name in own}
    return {name: sum(filter(None, means)) for name, means in found.items() if None not in means}


def _said(purpose: Purpose, value: float) -> str:
    words = {
        "calls": "a mean opinion score (MOS) of {}",
        "pages": "{} ms for a page",
        "background": "it takes {} of what is delivered",
    }
    return words[purpose.name].format(_number(purpose, value))


def _number(purpose: Purpose, value: float) -> str:
    unit = " %" if purpose.column.shown.label.endswith("[%]") else ""
    return f"{value:.{purpose.column.shown.decimals if unit else 2}f}{unit}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _is_known(comparison: Differences, column: Column) -> bool:
    """Return whether any run on the kernel has a value of a column."""
    return any(comparison.mean(name, column.shown.metric) is not None for name in comparison.beside)


def _named(comparison: Differences, name: str) -> list[Column]:
    """Return the columns that a name stands for: as they are usually shown, or as their unit says."""
    known = comparison.results[comparison.reference].summary
    found = [metric for metric in known if metric == name or metric.partition(".")[0] == name]
    if not found:
        raise unknown_name("no metric of these runs is called", name, list(dict.fromkeys(_short(known))))
    usual = {column.shown.metric: column for column in comparison.columns}
    shown = comparison.results[comparison.reference].titles
    return [usual.get(metric) or plain(metric, shown) for metric in found]


def _short(known: Iterable[str]) -> list[str]:
    return [metric.partition(".")[0] for metric in known]


def plain(metric: str, titles: Mapping[str, str]) -> Column:
    """Return the column of a metric as its unit says; `titles` has what each group is called."""
    name, _, group = metric.partition(".")
    found = metrics.find(metric)
    label = metrics.label(name if group == "" or found is None else found.name)
    if found is not None and group:
        label = f"{titles[group]}: {found.name} [{'%' if found.percent else found.unit}]" if found.unit else label
    return Column(Shown(label, metric, 100.0 if found is not None and found.percent else 1.0), None, group)


def _differs(comparison: Differences, column: Column) -> bool:
    """Return whether any variant differs in a column: beyond chance, or in what is shown where there is no interval."""
    metric = column.shown.metric
    if all(len(result.runs) > 1 for result in comparison.results.values()):
        return any(comparison.is_beyond_chance(name, metric) for name in comparison.results)
    return len({column.shown.cell(result.summary.get(metric)) for result in comparison.results.values()}) > 1


def best_of(comparison: Differences, column: Column) -> str | None:
    """Return the best mean of a column as it is shown; None where no end is better or all variants are alike."""
    means = {
        name: mean for name in comparison.results if (mean := comparison.mean(name, column.shown.metric)) is not None
    }
    shown = {column.shown.number(mean) for mean in means.values()}
    return None if column.best is None or len(shown) < 2 else column.shown.number(column.best(means.values()))  # noqa: PLR2004


def _cell(comparison: Differences, variant: str, column: Column, best: str | None) -> str:
    metric = column.shown.metric
    text = column.shown.cell(comparison.results[variant].summary.get(metric))
    if text == NO_VALUE:
        return text
    mean = comparison.mean(variant, metric)
    marks = BEST if mean is not None and column.shown.number(mean) == best else ""
    if variant != comparison.reference_of(variant) and comparison.is_beyond_chance(variant, metric):
        marks += BEYOND_CHANCE
    return f"{text} {marks}".rstrip()
