"""What a scenario's runs measured."""

import functools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

from sojourn import _native
from sojourn.data.statistics import Statistic, summarize
from sojourn.faults import meant, nearest_names
from sojourn.reading import Source
from sojourn.record import Record
from sojourn.resolved import resolved_presets, titles

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from sojourn.tables import MeasuredName, Run, TableName
    from sojourn.worlds.world import Wanted


class Summary(dict[str, Statistic]):
    """The statistics of all metrics by name; a name that is not there is answered with the nearest one."""

    def __missing__(self, metric: str) -> Statistic:
        """Raise KeyError with the name that was meant."""
        hint = meant(nearest_names(metric, list(self))) or "`sojourn list metrics` has all"
        raise KeyError(f"no metric of these runs is called {metric!r}; {hint}")


class Measured:
    """The records, statistics and tables of a scenario's runs, without pictures and files."""

    def __init__(
        self,
        scenario: _native.Scenario,
        runs: Sequence["Run"],
        wanted: "Wanted",
        source: Source | None = None,
    ) -> None:
        self._scenario = scenario
        self._native_runs = tuple(runs)
        self._wanted = wanted
        self._tables: dict[TableName, pa.Table] = {}
        self._version = _native.__version__
        self.source: Source = source or Source(scenario.name, scenario.to_toml())
        """The scenario as it was written, where these are not kept runs: these have every default written out."""

    @property
    def bin_s(self) -> float | None:
        """Width of a bin of the time series in seconds; None where none were kept."""
        return self._wanted.bin_s

    @property
    def has_packets(self) -> bool:
        """Whether one row was kept for each packet at the bottleneck."""
        return self._wanted.packets

    @property
    def has_probes(self) -> bool:
        """Whether the time series hold what disciplines and controls show of themselves."""
        return self._wanted.probes

    @property
    def native(self) -> _native.Scenario:
        """The scenario as the engine has it."""
        return self._scenario

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return self._scenario.name

    @property
    def kept(self) -> "tuple[TableName, ...]":
        """Names of the tables that the runs kept."""
        return self._wanted.tables

    @functools.cached_property
    def scenario(self) -> Record:
        """The scenario as it was run, every default written out."""
        return Record.parse(self._scenario.to_json())

    @property
    def flow_counts(self) -> dict[str, int]:
        """Number of flows of each group, in the order of the scenario file."""
        return dict(self._scenario.groups)

    @property
    def groups(self) -> list[str]:
        """Names of the groups, in the order of the scenario file."""
        return list(self.flow_counts)

    @functools.cached_property
    def titles(self) -> dict[str, str]:
        """What tables and figures call each group, by its name: the scenario's `title`, else the name."""
        return titles(self.scenario)

    @property
    def version(self) -> str:
        """Version of the engine that ran it."""
        return self._version

    @functools.cached_property
    def runs(self) -> tuple[Record, ...]:
        """One record for each run, in the order of their seeds."""
        return tuple(Record.parse(run.record()) for run in self._native_runs)

    @functools.cached_property
    def summary(self) -> Summary:
        """Mean, standard deviation, 95 % confidence interval and count of every metric over the runs."""
        return Summary(summarize(self.runs))

    @functools.cached_property
    def alike(self) -> bool:
        """Whether all of several runs measured exactly the same, so that one would have done."""
        measured = [{**run, "seed": None, "wall_s": None} for run in self.runs]
        return len(measured) > 1 and all(run == measured[0] for run in measured)

    @functools.cached_property
    def presets(self) -> dict[str, str]:
        """The presets whose values controls, transports and queues have, also where the scenario names none."""
        return resolved_presets(self.scenario)

    def document(self) -> dict[str, Any]:
        """Return what `sojourn run --json` prints."""
        return {
            "scenario": self.scenario,
            "presets": self.presets,
            "version": self.version,
            "runs": list(self.runs),
            "summary": self.summary,
        }

    @property
    def queue(self) -> "pa.Table":
        """One row for each seed, link and bin: the queue in packets, bytes and ms, and counts of packets."""
        return self.table("queue")

    @property
    def flows(self) -> "pa.Table":
        """One row for each seed, bin and flow: delivered bytes, window in packets, RTT and delay in ms."""
        return self.table("flows")

    @property
    def queue_probes(self) -> "pa.Table":
        """One row for each seed, link, bin and probe of the queue discipline; needs `run(probes=True)`."""
        return self.table("queue_probes")

    @property
    def flow_probes(self) -> "pa.Table":
        """One row for each seed, flow, bin and probe of the congestion control; needs `run(probes=True)`."""
        return self.table("flow_probes")

    @property
    def packets(self) -> "pa.Table":
        """One row for each packet event at the bottleneck and at both ends of a flow; needs `run(packets=True)`."""
        return self.table("packets")

    @property
    def transfers(self) -> "pa.Table":
        """One row for each transfer that ended: its size and times; needs `run(transfers=True)`."""
        return self.table("transfers")

    def table(self, name: "TableName | MeasuredName") -> "pa.Table":
        """Return a table by its name as an Arrow table.

        `runs`, `groups` and `links` (and `classes`, `sizes`, `phase_groups`, `phase_links`) have one row for each run
        and one for each group and link of it, with the columns of a dataset; the others are those in `kept`.
        """
        from sojourn.data.schema import of_records
        from sojourn.tables import MeasuredName, arrow_table

        if name in get_args(MeasuredName):
            return of_records(name, self.runs)
        if name not in self.kept:
            raise ValueError(
                f"no table {name!r} was kept: see `series`, `probes`, `packets` and `transfers` of `Scenario.run`; "
                f"every result has {', '.join(get_args(MeasuredName))}"
            )
        if name not in self._tables:
            self._tables[name] = arrow_table(self._native_runs, name)
        return self._tables[name]

    def capacity_mbps(self, bin_s: float) -> list[float]:
        """Return what the bottleneck can carry, in Mbit/s, in each bin of `bin_s` seconds of a run."""
        return self._scenario.capacity_mbps(bin_s)

    def to_toml(self, relative_to: str | os.PathLike[str] | None = None) -> str:
        """Return the scenario file of these runs, as `Scenario.to_toml` does."""
        return self._scenario.to_toml(None if relative_to is None else os.fspath(relative_to))

    def write_pcaps(self, directory: "Path") -> None:
        """Write one pcapng file for each run into a directory; needs `run(packets=True)`."""
        if not self.has_packets:
            raise ValueError("these runs kept no packets: see `packets` of `Scenario.run`")
        for run in self._native_runs:
            write = getattr(run, "write_pcap", None)
            if write is None:
                raise ValueError("only runs of the simulation that were made in this process can be written as pcapng")
            which = "" if len(self._native_runs) == 1 else f"-seed-{run.seed}"
            write(str(directory / f"bottleneck{which}.pcapng"))
