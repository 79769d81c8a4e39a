"""Variants of a scenario side by side, on the same seeds, so that their difference has an interval of its own."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn.api import Scenario
from sojourn.data import metrics
from sojourn.data.statistics import Statistic, paired
from sojourn.reading import input_error, unknown_name
from sojourn.report import Grid, Shown, grid_html
from sojourn.result import Result

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

BEST, BEYOND_CHANCE = "*", "≠"
LEGEND = (
    f"{BEST} best value of its column; {BEYOND_CHANCE} differs from the first row beyond chance "
    "(95 % interval of the difference, seed by seed, excludes 0)"
)


@dataclass(frozen=True)
class Column:
    """A metric that a comparison shows, and which of its values is best."""

    shown: Shown
    best: Callable[[Iterable[float]], float] | None = None
    """`min` or `max`; None where neither end is better."""


_LINK_COLUMNS = (
    Column(Shown("queue [ms]", "bottleneck_queue_ms_mean"), min),
    Column(Shown("queue p99 [ms]", "bottleneck_queue_ms_p99"), min),
    Column(Shown("utilization [%]", "bottleneck_utilization", 100, 1), max),
)
_BULK = (Column(Shown("share [%]", "share", 100, 1)), Column(Shown("goodput [Mbit/s]", "goodput_mbps")))
_OF_TRAFFIC = {
    "voip": (Column(Shown("MOS", "voip_mos"), max), Column(Shown("one-way delay p99 [ms]", "voip_delay_ms_p99"), min)),
    "web": (Column(Shown("page [ms]", "page_ms_mean"), min),),
    "transfers": (Column(Shown("completion [ms]", "fct_ms_mean"), min),),
    "video": (
        Column(Shown("video [Mbit/s]", "video_rate_mbps"), max),
        Column(Shown("stalls [s]", "video_stall_s"), min),
    ),
    "bulk": _BULK,
}


def columns(scenario: Mapping[str, Any]) -> list[Column]:
    """Return what is worth comparing of a scenario: metrics of what its groups send, then of the bottleneck."""
    of_groups = [
        Column(
            Shown(f"{group['name']}: {one.shown.label}", f"{one.shown.metric}.{group['name']}", *_looks(one)), one.best
        )
        for group in sorted(scenario["group"], key=lambda group: group["traffic"]["kind"] == "bulk")
        for one in _OF_TRAFFIC.get(group["traffic"]["kind"], ())
    ]
    return [*of_groups, *_LINK_COLUMNS]


def _looks(column: Column) -> tuple[float, int | None]:
    return column.shown.scale, column.shown.decimals


@dataclass(frozen=True)
class Comparison:
    """What several variants measured with the same seeds."""

    results: Mapping[str, Result]
    """The result of each variant, the reference first."""

    @property
    def reference(self) -> str:
        """Name of the variant that the others are compared with."""
        return next(iter(self.results))

    def difference(self, variant: str, metric: str) -> Statistic:
        """Return a variant's metric less the reference's, seed by seed: mean, deviation and 95 % interval.

        Where a run of either has no value, the mean is None.
        """
        own, other = (
            {record["seed"]: _value(record, metric) for record in self.results[name].runs}
            for name in (variant, self.reference)
        )
        return paired(own, other)

    def rows(self, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return one row for each variant and metric: its mean, and its difference from the reference."""
        rows: list[dict[str, Any]] = []
        for variant, result in self.results.items():
            for metric in result.summary if names is None else names:
                difference = self.difference(variant, metric)
                low, high = difference["ci95"] or (None, None)
                mean = result.summary[metric]["mean"] if metric in result.summary else None
                row = {"variant": variant, "metric": metric, "mean": mean, "difference": difference["mean"]}
                rows.append({**row, "ci95_low": low, "ci95_high": high, "n": difference["n"]})
        return rows

    def table(self, names: Sequence[str] | None = None) -> "pa.Table":
        """Return `rows` as an Arrow table."""
        import pyarrow as pa

        numbers = [(name, pa.float64()) for name in ("mean", "difference", "ci95_low", "ci95_high")]
        texts = [("variant", pa.string()), ("metric", pa.string())]
        return pa.Table.from_pylist(self.rows(names), pa.schema([*texts, *numbers, ("n", pa.int64())]))

    def to_pandas(self, names: Sequence[str] | None = None) -> "pd.DataFrame":
        """Return `table` as a pandas data frame; pandas must be installed."""
        frame: pd.DataFrame = self.table(names).to_pandas()
        return frame

    @property
    def columns(self) -> list[Column]:
        """What is worth comparing, by what the first variant contains."""
        return columns(self.results[self.reference].scenario)

    def grid(self) -> Grid:
        """Tabulate one row for each variant; `LEGEND` explains the marks."""
        best = {column.shown.metric: self._best(column) for column in self.columns}
        rows = [
            [variant, *(self._cell(variant, column, best[column.shown.metric]) for column in self.columns)]
            for variant in self.results
        ]
        return Grid(["variant", *(column.shown.label for column in self.columns)], rows)

    def _mean(self, variant: str, metric: str) -> float | None:
        found = self.results[variant].summary.get(metric)
        return None if found is None else found["mean"]

    def _best(self, column: Column) -> float | None:
        """Return the best mean of a column; None where no end is better or all variants are alike."""
        means = {self._mean(variant, column.shown.metric) for variant in self.results} - {None}
        known = [mean for mean in means if mean is not None]
        return None if column.best is None or len(known) < 2 else column.best(known)  # noqa: PLR2004

    def _cell(self, variant: str, column: Column, best: float | None) -> str:
        metric = column.shown.metric
        text = column.shown.cell(self.results[variant].summary.get(metric))
        marks = BEST if best is not None and self._mean(variant, metric) == best else ""
        if variant != self.reference and self._is_beyond_chance(variant, metric):
            marks += BEYOND_CHANCE
        return f"{text} {marks}".rstrip()

    def _is_beyond_chance(self, variant: str, metric: str) -> bool:
        if any(metric not in self.results[name].summary for name in (variant, self.reference)):
            return False
        interval = self.difference(variant, metric)["ci95"]
        return interval is not None and not interval[0] <= 0 <= interval[1]

    def __repr__(self) -> str:
        others = ", ".join(name for name in self.results if name != self.reference)
        return (
            f"<sojourn.Comparison of {self.reference} with {others}: {len(self.results[self.reference].runs)} run(s)>"
        )

    def _repr_html_(self) -> str:
        return grid_html(self.grid())


def compare(variants: Mapping[str, Scenario], *, runs: int = 10, **options: Any) -> Comparison:
    """Run variants with the same seeds; the first one is the reference.

    `runs` is the number of runs of each; `options` are those of `Scenario.run`. Raises InputError where there are fewer
    than two variants.

    >>> import sojourn
    >>> base = sojourn.Scenario.load("motivating-droptail", {"duration": "2 s"})
    >>> found = sojourn.compare({"droptail": base, "codel": base.with_(queue="codel")}, runs=2)
    >>> found.difference("codel", "bottleneck_queue_ms_mean")["mean"] < 0
    True
    """
    if len(variants) < 2:  # noqa: PLR2004 (one has nothing to differ from)
        raise input_error(f"found {len(variants)} variant(s); allowed: at least two scenarios by name")
    seed = next(iter(variants.values())).seed
    options = {"series": False, "seed": seed, **options}
    return Comparison({name: variant.run(runs=runs, **options) for name, variant in variants.items()})


def variants(
    scenario: Scenario,
    *,
    queues: Sequence[str] = (),
    controls: Sequence[str] = (),
    own: Sequence[str] = (),
) -> dict[str, Scenario]:
    """Return variants of a scenario by name: each queue with each control, then those of one's own.

    `queues` replace the bottleneck's discipline, with the defaults of the new kind; the scenario's own kind keeps its
    parameters. `controls` do the same for the one group that has a control. A variant of one's own is a text
    "NAME:KEY=VALUE,KEY=VALUE". Raises InputError for a name that occurs twice, and what the scenario does not allow.
    """
    tables = scenario.to_dict()
    queue_changes = [_replaced("bottleneck.queue", kind, tables["bottleneck"]["queue"]["kind"]) for kind in queues]
    named = list(zip(queues, queue_changes, strict=True)) or [("", {})]
    if controls:
        group, present = _controlled(tables)
        changes = [(kind, _replaced(f"group.{group}.control", kind, present)) for kind in controls]
        named = [(", ".join(filter(None, (a, b))), {**one, **two}) for a, one in named for b, two in changes]
    made = [(name, scenario.with_(change)) for name, change in named if name]
    made += [(name, scenario.with_(dict(_pair(change) for change in changes))) for name, changes in map(_parsed, own)]
    names = [name for name, _ in made]
    for name in names:
        if names.count(name) > 1:
            raise input_error(f"two variants are called {name!r}", found=name, allowed="a name for each variant")
    return dict(made)


def _replaced(key: str, kind: str, present: str) -> dict[str, Any]:
    return {} if kind == present else {key: {"kind": kind}}


def _controlled(tables: Mapping[str, Any]) -> tuple[str, str]:
    """Return the one group that has a control, and the name of the control."""
    found = [(group["name"], group["control"]["kind"]) for group in tables["group"] if "control" in group]
    if len(found) != 1:
        names = ", ".join(name for name, _ in found) or "none"
        message = (
            f"--control: groups with a control: {names}; allowed: exactly one; "
            "for others use --variant NAME:group.GROUP.control=KIND"
        )
        raise input_error(message, key="--control", found=names)
    return found[0]


def _pair(change: str) -> tuple[str, str]:
    key, equals, value = change.partition("=")
    if not equals:
        raise input_error(f"--variant: found {change!r}; allowed: KEY=VALUE", key="--variant", found=change)
    return key, value


def _parsed(text: str) -> tuple[str, list[str]]:
    """Split "NAME:KEY=VALUE,KEY=VALUE" at the commas that are in no bracket.

    >>> _parsed('le:group.low.dscp=le,bottleneck.queue={kind="cake",ecn=true}')
    ('le', ['group.low.dscp=le', 'bottleneck.queue={kind="cake",ecn=true}'])
    """
    name, colon, rest = text.partition(":")
    if not (name and colon):
        raise input_error(f"--variant {text}: allowed: NAME:KEY=VALUE,KEY=VALUE", key="--variant", found=text)
    parts, depth = [""], 0
    for letter in rest:
        depth += (letter in "{[") - (letter in "}]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return name, [part.strip() for part in parts if part.strip()]


def _value(record: Mapping[str, Any], metric: str) -> float | None:
    found = metrics.values(record)
    if metric not in found:
        raise unknown_name("no metric of these runs is called", metric, list(found))
    return found[metric]
