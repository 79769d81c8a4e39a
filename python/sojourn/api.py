"""Scenarios as Python objects."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from sojourn import _native, reading
from sojourn.record import Record

if TYPE_CHECKING:
    from sojourn.result import Result, Run
    from sojourn.testbed.plan.shaping import Shaper

DEFAULT_BIN_S = 0.1
MAX_SERIES_ROWS = 2e7
MAX_PACKET_ROWS = 5e7
FULL_PACKET_BYTES = 1500
PROBES_EACH = 4  # about what a discipline or a control shows

# What a world other than the simulation does not keep.
_UNKEPT = {
    "fluid": {
        "packets": "the fluid model has no packets",
        "probes": "the fluid model has no probes",
        "transfers": "the fluid model has no transfers",
    },
    "linux": {
        "packets": "the kernel keeps no rows of packets (--backend sim does)",
        "probes": "the kernel shows no probes (--backend sim does)",
    },
    "hosts": {
        "packets": "two hosts keep no rows of packets (--backend sim does)",
        "probes": "two hosts show no probes (--backend sim does)",
        "transfers": "two hosts keep no rows of transfers (--backend sim does)",
    },
}

Progress = Callable[[float], None]
Backend = Literal["sim", "fluid", "linux", "hosts"]


class Scenario:
    """A scenario that has been checked, with every default filled in.

    Make one with `Scenario.load` (a file or the name of a ready scenario) or `sojourn.scenario` (a dictionary
    or keywords); both raise `sojourn.InputError`, whose `diagnostics` say what is wrong and where.
    """

    def __init__(self, native: _native.Scenario) -> None:
        self._native = native

    @classmethod
    def load(cls, source: str | os.PathLike[str], overrides: reading.Overrides = ()) -> "Scenario":
        """Read a scenario file, or take a ready scenario by its name.

        Overrides change single keys: a mapping of dotted keys to values, or a list of "dotted.key=value".

        >>> import sojourn
        >>> scenario = sojourn.Scenario.load("motivating-red", overrides={"duration": "5 s"})
        >>> scenario.duration_s
        5.0
        """
        return cls(reading.read(source, overrides))

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
        backend: Backend = "sim",
        kernel: str = "auto",
        shaper: "Shaper" = "htb",
        peer: str | None = None,
        secret_file: str | os.PathLike[str] | None = None,
        shape: str | None = None,
        progress: Progress | None = None,
    ) -> "Result":
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
            Whether to keep one row for each packet at the bottleneck.
        probes
            Whether to keep, in every bin, what queue disciplines and congestion controls show of themselves.
        transfers
            Whether to keep one row for each transfer, or object of a web page, that ended.
        backend
            The world to run in: the packet-level simulation; the fluid model, which has neither packets nor
            randomness; the real Linux kernel; or two hosts and the path between them. The latter three refuse what
            they do not have.
        kernel
            Of backend "linux": "host", "uml", "uml-virtual", or "auto" for the best that is there.
        shaper
            Of backend "linux": what makes the bottleneck slow, "htb", "tbf", or "device", behind which a packet also
            takes its time on the wire.
        peer, secret_file
            Of backend "hosts": where `sojourn agent` runs, "ADDRESS" or "ADDRESS:PORT", and the file with the secret
            shared with it; without one it is taken from SOJOURN_SECRET in the environment.
        shape
            Of backend "hosts": an interface of this host that gets the scenario's bottleneck meanwhile (root); without
            one nothing is shaped.
        progress
            Told the done fraction, 0 to 1, a few times a second.

        >>> import sojourn
        >>> result = sojourn.Scenario.load("motivating-red", {"duration": "1 s"}).run(runs=2, seed=7)
        >>> [run.seed for run in result.runs]
        [7, 8]
        """
        from sojourn.result import Result

        resolved = self._resolved_with(runs=runs, seed=seed)
        seeds = list(range(resolved.seed, resolved.seed + resolved.runs))
        kept_bin_s = bin_s if series else None
        if probes and kept_bin_s is None:
            raise ValueError("probes are part of the time series: they need series=True")
        if kept_bin_s is not None:
            _check_rows(resolved, kept_bin_s, 1 + PROBES_EACH * probes)
        if packets:
            _check_packets(resolved)
        done: Sequence[Run]
        _refuse_unkept(backend, {"packets": packets, "probes": probes, "transfers": transfers})
        if backend == "fluid":
            from sojourn.fluid import world

            done = world.run(resolved, seeds, kept_bin_s, progress)
        elif backend == "linux":
            from sojourn.testbed import world as linux

            done = linux.run(resolved, seeds, kept_bin_s, progress, linux.How(kernel, shaper), jobs)
        elif backend == "hosts":
            from sojourn.testbed.hosts import world as hosts

            done = hosts.run(resolved, seeds, kept_bin_s, progress, hosts.given(peer, secret_file, shape))
        else:
            done = resolved.run(seeds, jobs or usable_processors(), (kept_bin_s, packets, probes, transfers), progress)
        return Result(resolved, done, bin_s=kept_bin_s, packets=packets, probes=probes, transfers=transfers)

    def _resolved_with(self, **changes: int | None) -> _native.Scenario:
        given = {key: value for key, value in changes.items() if value is not None}
        if not given:
            return self._native
        return _native.load_json(self._native.to_json(), overrides=reading.override_list(given))

    def __repr__(self) -> str:
        groups = ", ".join(f"{flows} {name}" for name, flows in self.groups.items())
        return f"<sojourn.Scenario {self.name}: {groups}, {self.duration_s:g} s, {self.runs} run(s)>"


def _refuse_unkept(backend: Backend, wanted: Mapping[str, bool]) -> None:
    """Refuse what the world does not keep."""
    for name, message in _UNKEPT.get(backend, {}).items():
        if wanted[name]:
            raise reading.input_error(message, key=name)


def _check_rows(scenario: _native.Scenario, bin_s: float, rows_each: int) -> None:
    """Refuse series that would fill the memory before the first of them is drawn."""
    if not bin_s > 0:
        raise ValueError(f"bin_s is {bin_s}; a bin is longer than 0 s")
    flows = sum(count for _, count in scenario.groups)
    rows = scenario.duration_s / bin_s * (flows + 1) * scenario.runs * rows_each
    if rows > MAX_SERIES_ROWS:
        message = f"bins of {bin_s:g} s make {rows:.2g} rows; at most {MAX_SERIES_ROWS:.2g}: take wider bins (--bin)"
        raise reading.input_error(message, key="bin", found=f"{bin_s:g} s")


def _check_packets(scenario: _native.Scenario) -> None:
    """Refuse packet rows that would fill the memory: each full packet that the bottleneck carries makes two."""
    (mbps,) = scenario.capacity_mbps(scenario.duration_s)
    rows = 2 * mbps * 1e6 / 8 / FULL_PACKET_BYTES * scenario.duration_s * scenario.runs
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
    **keys: Any,
) -> Scenario:
    """Make a scenario from the tables of a scenario file: a dictionary, keywords, or both.

    Traces are looked up in `base_dir` (the current directory where it is None).

    >>> import sojourn
    >>> lab = sojourn.scenario(
    ...     duration="1 s",
    ...     bottleneck={"rate": "10 Mbit/s", "queue": {"kind": "droptail", "limit": "100 packets"}},
    ...     group=[{"name": "tcp", "control": "newreno", "flows": 2, "rtt": "20 ms"}],
    ... )
    >>> lab.groups
    {'tcp': 2}
    """
    text = json.dumps({**(tables or {}), **keys})
    return Scenario(_native.load_json(text, base_dir=None if base_dir is None else os.fspath(base_dir)))


def usable_processors() -> int:
    """Return the number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
