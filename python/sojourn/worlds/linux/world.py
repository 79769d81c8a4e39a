"""From a scenario to jobs for a kernel, and from their reports to runs as every world gives them."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sojourn import _native
from sojourn.record import Record
from sojourn.tables import Column
from sojourn.worlds.linux import plan, record, series, utp
from sojourn.worlds.linux.errors import NotInstalledError
from sojourn.worlds.linux.kernels import AUTO, Kernel, choose
from sojourn.worlds.linux.kernels.job import PLAN
from sojourn.worlds.linux.observed import Observed
from sojourn.worlds.linux.packets import packet_rows
from sojourn.worlds.linux.places import work_folder
from sojourn.worlds.linux.plan.check import UTP, Fit, fit
from sojourn.worlds.linux.plan.shaping import Shaper
from sojourn.worlds.linux.pool import run_all

DEFAULT_BIN_S = 0.1
# What a run takes beyond its own time in real time; in virtual time a busy run may be slower than real time.
_BOOT_S = 60.0
_SLOWEST = 30.0


@dataclass(frozen=True)
class How:
    """On what, and behind which shaper, a scenario is run."""

    kernel: str = AUTO
    shaper: Shaper = "htb"


@dataclass(frozen=True)
class LinuxRun:
    """What a kernel gives in the place of a simulated run: record and time series, with the same names."""

    seed: int
    seen: Observed
    kernel: str
    wall_s: float

    def record(self) -> str:
        """Return the run record as JSON; what the kernel does not tell is null."""
        return self._record

    def table(self, name: str) -> list[Column]:
        """Return the columns of table "queue", "flows" or "packets", as a simulated run does."""
        tables: dict[str, Callable[[Observed], list[Column]]] = {
            "queue": series.queue,
            "flows": series.flows,
            "packets": packet_rows,
        }
        if name not in tables:
            raise ValueError(f"no table is called {name!r}")
        return tables[name](self.seen)

    @cached_property
    def _record(self) -> str:
        return record.record(self.seen, self.seed, self.kernel, self.wall_s)


class _Timed:
    """A kernel that remembers how long each job took."""

    def __init__(self, kernel: Kernel) -> None:
        self.name, self.summary, self.virtual_time = kernel.name, kernel.summary, kernel.virtual_time
        self.missing, self.version = kernel.missing, kernel.version
        self.wall_s: dict[Path, float] = {}
        self._kernel = kernel

    def run(self, folder: Path, **options: Any) -> None:
        """Run a job; see Kernel."""
        began = time.monotonic()
        self._kernel.run(folder, **options)
        self.wall_s[folder] = time.monotonic() - began


def run(
    scenario: _native.Scenario,
    seeds: Sequence[int],
    bin_s: float | None,
    progress: Callable[[float], None] | None,
    how: How,
    jobs: int | None = None,
    *,
    packets: bool = False,
) -> list[LinuxRun]:
    """Run a scenario on a Linux kernel, once for each seed; `packets` keeps those that both ends saw.

    Raises InputError where the scenario holds something that Linux does not have, TestbedError where the kernel or
    the machine fails.
    """
    resolved: dict[str, Any] = Record.parse(scenario.to_json())
    # What is wrong with the scenario comes before what is missing on the machine.
    _check_programs(fit(resolved))
    kernel = _Timed(choose(how.kernel))
    shaping = plan.shaping.How(how.shaper, kernel.virtual_time)
    planned = [plan.job(resolved, seed, shaping, bin_s=bin_s or DEFAULT_BIN_S, ends=packets) for seed in seeds]
    with work_folder() as place:
        folders = {place / f"seed-{seed}": one for seed, one in zip(seeds, planned, strict=True)}
        for folder, one in folders.items():
            folder.mkdir()
            (folder / PLAN).write_text(json.dumps(one.plan), encoding="utf-8")
        runs: dict[Path, LinuxRun] = {}

        def done(folder: Path) -> None:
            seed = seeds[list(folders).index(folder)]
            runs[folder] = LinuxRun(seed, Observed.read(folder, folders[folder]), kernel.name, kernel.wall_s[folder])

        timeout_s = _BOOT_S + _SLOWEST * scenario.duration_s
        run_all(kernel, list(folders), timeout_s=timeout_s, jobs=jobs, progress=progress, done=done)
        return [runs[folder] for folder in folders]


def _check_programs(said: Fit) -> None:
    """Refuse a job whose programs are not there, before a kernel is started."""
    lacks = utp.missing() if any(kind == UTP for kind, _ in said.how.values()) else []
    if lacks:
        raise NotInstalledError("linux, for control libutp,", lacks)
