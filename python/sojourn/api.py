"""Scenarios as Python objects."""

import functools
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sojourn import _native, reading, spelling
from sojourn.progress import shown_progress
from sojourn.record import Record
from sojourn.result import Result
from sojourn.worlds.registry import SIM, choose
from sojourn.worlds.world import Progress, Wanted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULT_BIN_S = 0.1
MAX_SERIES_ROWS = 2e7
MAX_PACKET_ROWS = 5e7
FULL_PACKET_BYTES = 1500
_MAX_BINS = 10_000
_FINEST_BIN_S = 0.001
PROBES_EACH = 4  # about what a discipline or a control shows


class Scenario:
    """A scenario that has been checked, with every default filled in.

    Make one with `Scenario.load` (a file or the name of a ready scenario) or `sojourn.scenario` (a dictionary
    or keywords); both raise `sojourn.InputError`, whose `diagnostics` say what is wrong and where.
    """

    def __init__(self, native: _native.Scenario, source: reading.Source | None = None) -> None:
        given: object = native
        if not isinstance(given, _native.Scenario):
            message = (
                f"a scenario is made by sojourn.Scenario.load(file or name) or sojourn.scenario(tables), "
                f"not by Scenario({reading.shown(given)})"
            )
            raise TypeError(message)
        self._native = given
        self.source: reading.Source = source or reading.Source(given.name, given.to_json(), is_json=True)
        """What it was read from, and what was changed of it."""

    @classmethod
    def load(
        cls,
        source: str | os.PathLike[str],
        overrides: reading.Overrides = (),
        *,
        root: str | os.PathLike[str] | None = None,
    ) -> "Scenario":
        """Read a scenario file, or take a ready scenario by its name.

        Overrides change single keys: a mapping of dotted keys to values, or a list of "dotted.key=value". For a
        scenario that somebody else wrote, `root` is the only folder in which the files that it names are read.

        >>> import sojourn
        >>> scenario = sojourn.Scenario.load("motivating-red", overrides={"duration": "5 s"})
        >>> scenario.duration_s
        5.0
        """
        return cls._of(reading.find(source, root).changed(overrides))

    @classmethod
    def _of(cls, source: reading.Source) -> "Scenario":
        native = source.resolve()
        # Files that the scenario names are found also when the current directory has become another one.
        folder = None if source.folder is None else os.path.abspath(source.folder)  # noqa: PTH100
        return cls(native, replace(source, folder=folder))

    def with_(self, changes: Mapping[str, Any] | None = None, /, **keys: Any) -> "Scenario":
        """Return the scenario with some keys changed; what depends on them is worked out again.

        Changes are dotted keys and their values, as overrides have them. A keyword is a key of the scenario
        (`duration`, `runs`), else one of its bottleneck (`rate`, `queue`), else the name of a group with a table of its
        keys. Raises InputError for any other, and where the scenario is wrong then.

        >>> import sojourn
        >>> small = sojourn.Scenario.load("motivating-red").with_(rate="2 Mbit/s", duration="5 s", tcp={"flows": 2})
        >>> small.to_dict().bottleneck.rate, small.groups["tcp"]
        ('2 Mbit/s', 2)
        """
        given = dict(changes or {})
        for key, value in keys.items():
            given.update(self._dotted(key, value))
        return Scenario._of(self.source.changed(given))

    def _dotted(self, key: str, value: Any) -> dict[str, Any]:
        scenario_keys, link_keys = _keys()
        if key in self.groups and isinstance(value, Mapping):
            return {f"group.{key}.{name}": one for name, one in value.items()}
        if key in scenario_keys:
            return {key: value}
        if key in link_keys:
            return {f"bottleneck.{key}": value}
        raise reading.unknown_name("a scenario has no key", key, [*scenario_keys, *link_keys, *self.groups])

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return self._native.name

    @property
    def seed(self) -> int:
        """Seed of the first run; the next runs take the numbers that follow."""
        return self._native.seed

    @property
    def runs(self) -> int:
        """Number of runs (repetitions)."""
        return self._native.runs

    @property
    def duration_s(self) -> float:
        """Simulated time of a run in seconds, warm-up included."""
        return self._native.duration_s

    @property
    def warmup_s(self) -> float:
        """Time in seconds from which on the run is measured."""
        return self._native.warmup_s

    @property
    def groups(self) -> dict[str, int]:
        """Number of flows of each group."""
        return dict(self._native.groups)

    @property
    def warnings(self) -> list[str]:
        """What is allowed but probably not meant."""
        return self._native.warnings

    def to_toml(self, relative_to: str | os.PathLike[str] | None = None) -> str:
        """Return the scenario file with every default written out and paths relative to `relative_to`."""
        return self._native.to_toml(None if relative_to is None else os.fspath(relative_to))

    def to_dict(self) -> Record:
        """Return the tables of the scenario file with every default written out."""
        return Record.parse(self._native.to_json())

    def run(  # noqa: PLR0913 (one for each option)
        self,
        *,
        runs: int | None = None,
        seed: int | None = None,
        jobs: int | None = None,
        series: bool = True,
        bin_s: float = DEFAULT_BIN_S,
        packets: bool = False,
        probes: bool = False,
        transfers: bool = False,
        delays: bool = False,
        decisions: bool = False,
        world: str = SIM,
        progress: Progress | None = None,
        **options: Any,
    ) -> Result:
        """Run the scenario.

        Parameters
        ----------
        runs, seed
            Number of runs and seed of the first; None takes the scenario's own.
        jobs
            Threads to use; None takes one for each processor this process may use.
        series, bin_s
            Whether to keep time series, and the width of their bins in seconds.
        packets
            Whether to keep rows for each packet: at the bottleneck, and where it is sent and received.
        probes
            Whether to keep, in every bin, what queue disciplines and congestion controls show of themselves.
        transfers
            Whether to keep one row for each transfer, or object of a web page, that ended.
        delays
            Whether records hold the one-way delays, their variation, and the start-up times of every group.
        decisions
            Whether to keep what every sender decides, for `Result.write_qlogs`.
        world
            The world to run in: "sim", the packet-level simulation; "fluid", the fluid model, which has neither packets
            nor randomness; "linux", the real Linux kernel; "hosts", two hosts and the path between them; or the name of
            a world that another package brings. Whatever a world does not have is refused.
        progress
            Told the done fraction, 0 to 1, a few times a second; without it a notebook shows a bar.
        options
            Those of the world, which `sojourn show` lists by its name. "linux" has `kernel` ("auto", "host", "uml" or
            "uml-virtual") and `shaper` ("htb", "tbf", or "device", behind which a packet also takes its time on the
            wire). "hosts" has `peer` (where `sojourn agent` runs, "ADDRESS" or "ADDRESS:PORT"), `secret_file` (with the
            secret shared with it; without one it is taken from SOJOURN_SECRET in the environment) and `shape` (an
            interface of this host that gets the scenario's bottleneck meanwhile, as root).

        Raises
        ------
        InputError
            For what the scenario, the world or its options do not allow.
        worlds.WorldError
            Where the world fails.

        Examples
        --------
        >>> import sojourn
        >>> result = sojourn.Scenario.load("motivating-red", {"duration": "1 s"}).run(runs=2, seed=7)
        >>> [run.seed for run in result.runs]
        [7, 8]
        """
        wanted = Wanted(bin_s if series else None, probes, packets, transfers, delays, decisions)
        # The old name of the option.
        world = options.pop("backend", world)
        chosen = choose(world, options, wanted.keep)
        source = self._source_with(runs=runs, seed=seed)
        resolved = self._native if source is self.source else source.resolve()
        seeds = list(range(resolved.seed, resolved.seed + resolved.runs))
        if probes and wanted.bin_s is None:
            raise ValueError("probes are part of the time series: they need series=True")
        if wanted.bin_s is not None:
            _check_rows(resolved, wanted.bin_s, 1 + PROBES_EACH * probes)
        if packets or decisions:
            _check_packets(resolved)
        with shown_progress(resolved.name, progress) as told:
            return Result(resolved, chosen.run(resolved, seeds, wanted, jobs=jobs, progress=told), wanted, source)

    def as_network(self) -> "Scenario":
        """Return the same links and flows as a network, in which each link says from which node to which it leads.

        Runs of both leave the same records. Raises ValueError where the scenario cannot be written so.

        >>> import sojourn
        >>> network = sojourn.Scenario.load("motivating-red").as_network()
        >>> network.to_dict().bottleneck["from"], network.to_dict().bottleneck.to
        ('n0', 'n1')
        """
        return Scenario(self._native.as_network())

    def draw(self, result: "Result | None" = None) -> "Figure":
        """Draw the nodes and links of the scenario; with a result of it, how far each link was used.

        Raises ValueError where the scenario is no network and cannot be written as one.
        """
        from sojourn.figures.network import network

        native = self._native.as_network()
        return network(native, json.loads(native.to_json()), result)

    def fit(self, world: str) -> list[str]:
        """Return what a world does otherwise than the scenario says; raises InputError for what it cannot have.

        >>> import sojourn
        >>> sojourn.Scenario.load("motivating-red").fit("sim")
        []
        """
        return choose(world).fit(self._native)

    def _source_with(self, **changes: int | None) -> reading.Source:
        given = {key: value for key, value in changes.items() if value is not None}
        return self.source.changed(given) if given else self.source

    def _content(self) -> tuple[str, tuple[float, ...]]:
        """Return what makes a scenario this one: every value written out, and what a recorded bottleneck can carry."""
        text = self._native.to_json()
        scenario = json.loads(text)
        forms = [scenario["bottleneck"], *(one.get("bottleneck", {}) for one in scenario.get("change", []))]
        is_recorded = any("trace" in form for form in forms)
        bin_s = max(self.duration_s / _MAX_BINS, _FINEST_BIN_S)
        return text, tuple(self._native.capacity_mbps(bin_s)) if is_recorded else ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scenario):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def __reduce__(self) -> tuple[Any, ...]:
        """Give what a copy is made of: the text that it was read from, and what it was changed to; see `_again`."""
        return _again, (self.source, self._content()[1])

    def _repr_html_(self) -> str:
        from sojourn.report import scenario_html

        return scenario_html(self.to_dict())

    def __repr__(self) -> str:
        groups = ", ".join(f"{flows} {name}" for name, flows in self.groups.items())
        return f"<sojourn.Scenario {self.name}: {groups}, {self.duration_s:g} s, {self.runs} run(s)>"


def _check_rows(scenario: _native.Scenario, bin_s: float, rows_each: int) -> None:
    """Refuse series that would fill the memory before the first of them is drawn."""
    if not bin_s > 0:
        raise ValueError(f"bin_s is {bin_s}; a bin is longer than 0 s")
    flows = sum(count for _, count in scenario.groups)
    rows = scenario.duration_s / bin_s * (flows + 1) * scenario.runs * rows_each
    if rows > MAX_SERIES_ROWS:
        wider = spelling.spelled("bin", python="bin_s")
        message = f"bins of {bin_s:g} s make {rows:.2g} rows; at most {MAX_SERIES_ROWS:.2g}: take wider bins ({wider})"
        raise reading.input_error(message, key="bin", found=f"{bin_s:g} s")


def _check_packets(scenario: _native.Scenario) -> None:
    """Refuse packet rows that would fill the memory: each full packet that the bottleneck carries makes four."""
    (mbps,) = scenario.capacity_mbps(scenario.duration_s)
    rows = 4 * mbps * 1e6 / 8 / FULL_PACKET_BYTES * scenario.duration_s * scenario.runs
    if rows > MAX_PACKET_ROWS:
        message = (
            f"this run has about {rows:.2g} rows of packets; at most {MAX_PACKET_ROWS:.2g}: take a shorter duration"
        )
        raise reading.input_error(message, key="packets", found=f"{scenario.duration_s:g} s")


def scenario(
    tables: Mapping[str, Any] | None = None,
    /,
    *,
    base_dir: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] | None = None,
    **keys: Any,
) -> Scenario:
    """Make a scenario from the tables of a scenario file: a dictionary, keywords, or both.

    Traces are looked up in `base_dir` (the current directory where it is None), and read only in the folder `root`,
    where one is given.

    >>> import sojourn
    >>> lab = sojourn.scenario(
    ...     duration="1 s",
    ...     bottleneck={"rate": "10 Mbit/s", "queue": {"kind": "droptail", "limit": "100 packets"}},
    ...     group=[{"name": "tcp", "control": "newreno", "flows": 2, "rtt": "20 ms"}],
    ... )
    >>> lab.groups
    {'tcp': 2}
    """
    text = json.dumps(reading.plain({**(tables or {}), **keys}))
    folder = os.fspath(base_dir) if base_dir is not None else ""
    confined = reading.checked_root(root)
    return Scenario._of(reading.Source("scenario", text, folder, is_json=True, root=confined))  # noqa: SLF001


def _again(source: reading.Source, capacity_mbps: tuple[float, ...]) -> Scenario:
    """Make a scenario from its parts; raises InputError where a recording that it names is another one by now."""
    found = Scenario._of(source)  # noqa: SLF001 (what unpickling calls)
    if found._content()[1] != capacity_mbps:  # noqa: SLF001
        raise reading.input_error(f"the recorded link of {found.name!r} has changed since the scenario was copied")
    return found


@functools.cache
def _keys() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the keys of a scenario and of its bottleneck."""
    schema = json.loads(_native.schema())
    link = schema["properties"]["bottleneck"]
    link = schema["$defs"][link["$ref"].rpartition("/")[2]] if "$ref" in link else link
    return tuple(schema["properties"]), tuple(link["properties"])
