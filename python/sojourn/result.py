"""The results of a scenario's runs as people handle them: shown, drawn, saved, loaded, as data frames."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sojourn import _native
from sojourn.grade import pings
from sojourn.measured import Measured
from sojourn.tables import KeptRun
from sojourn.worlds.world import Wanted

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.figure import Figure

    from sojourn.pages.model import Page
    from sojourn.tables import MeasuredName, TableName


class Result(Measured):
    """The records, statistics and tables of a scenario's runs.

    Shows a table of its statistics in a notebook; `plot()` draws it, `save` and `Result.load` keep it.
    """

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> "Result":
        """Read what `save` or `sojourn run --out` wrote; raises InputError where the folder does not hold it."""
        from sojourn.store import load

        scenario, version, records, tables = load(directory)
        return cls._restored(scenario, version, records, tables, wanted_of(tables, scenario.duration_s))

    @classmethod
    def _restored(
        cls,
        scenario: _native.Scenario,
        version: str,
        records: Sequence[tuple[int, str]],
        tables: "Mapping[TableName, pa.Table]",
        wanted: Wanted,
    ) -> "Result":
        found = cls(scenario, [KeptRun(seed, text) for seed, text in records], wanted)
        found._version = version
        found._tables.update(tables)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Give what a copy is made of: the scenario as TOML, records as JSON, and all tables."""
        records = [(run.seed, run.record()) for run in self._native_runs]
        return _restored, (
            self.to_toml(),
            self.version,
            records,
            {name: self.table(name) for name in self.kept},
            self._wanted,
        )

    def to_pandas(self, name: "TableName | MeasuredName | None" = None) -> "pd.DataFrame":
        """Return a table, or without a name the summary, as a pandas data frame; pandas must be installed."""
        frame: pd.DataFrame = self._arrow(name).to_pandas()
        return frame

    def to_polars(self, name: "TableName | MeasuredName | None" = None) -> "pl.DataFrame":
        """Return a table, or without a name the summary, as a Polars data frame; Polars must be installed."""
        import polars as pl

        frame: pl.DataFrame = pl.from_arrow(self._arrow(name))
        return frame

    def _arrow(self, name: "TableName | MeasuredName | None") -> "pa.Table":
        from sojourn.tables import summary_table

        return summary_table(self.summary) if name is None else self.table(name)

    def plot(self, run: int = 0) -> "Figure":
        """Draw one run over time: queue delay and throughput; where there are pings, both directions and the pings."""
        from sojourn.figures import timeline, under_load

        return (under_load if pings(self.scenario) else timeline)(self, run=run)

    def plot_controller(self, run: int = 0) -> "Figure":
        """Draw queue delay and the probes of the bottleneck's discipline over time; needs `run(probes=True)`."""
        from sojourn.figures import controller

        return controller(self, run=run)

    def write_qlogs(self, directory: str | os.PathLike[str]) -> int:
        """Write what each sender decided as qlog, one file for each connection and seed, and return how many there are.

        Needs `run(decisions=True)`. The folder must be new or empty. The files are JSON text sequences, which qvis and
        `sojourn compare-log` read.
        """
        if not self._wanted.decisions:
            raise ValueError("these runs kept no decisions: see `decisions` of `Scenario.run`")
        from sojourn.store import check_directory, whole_directory

        with whole_directory(check_directory(directory, force=False, marks=())) as place:
            return sum(run.write_qlogs(str(place)) for run in self._native_runs)  # type: ignore[attr-defined]

    def save(self, directory: str | os.PathLike[str], *, force: bool = False, pcap: bool = False) -> "Path":
        """Write record, resolved scenario and tables into a new directory, all or nothing.

        An existing result is replaced only with `force`. `pcap` adds what crossed the bottleneck as pcapng.
        """
        from sojourn.store import save

        return save(self, directory, force=force, pcap=pcap)

    def page(self, command: str = "") -> "Page":
        """Return the page of the runs, which `sojourn.pages.write` writes; `command` is what makes it again."""
        from sojourn.pages.of_run import page

        return page(self, command)

    def __repr__(self) -> str:
        kept = f", kept: {', '.join(self.kept)}" if self.kept else ""
        return f"<sojourn.Result {self.name}: {len(self._native_runs)} run(s){kept}>"

    def _repr_html_(self) -> str:
        from sojourn.report import html

        return html(self)


def wanted_of(tables: "Mapping[TableName, pa.Table]", duration_s: float) -> Wanted:
    """Return what was kept, by the tables that there are; bins begin at 0 s, so that the second tells their width."""
    bin_s = None
    if "queue" in tables:
        import pyarrow.compute as pc

        times = pc.unique(tables["queue"]["time_s"]).sort()
        bin_s = float(times[1].as_py()) if len(times) > 1 else duration_s
    return Wanted(bin_s, "queue_probes" in tables, "packets" in tables, "transfers" in tables)


def _restored(toml: str, *parts: Any) -> Result:
    return Result._restored(_native.load(toml), *parts)  # noqa: SLF001 (what unpickling calls)
