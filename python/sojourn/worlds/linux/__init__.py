"""The Linux world: kernels to run jobs in, and what it takes to have one.

A *job folder* holds `plan.json`. A kernel executes `python -m sojourn.worlds.linux.inside FOLDER` as root of its own
network, and the folder then holds `report.json`. Nothing else is left behind, also when interrupted or killed.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn import _native
from sojourn.data.rows import PACKETS, SERIES
from sojourn.system import need_linux
from sojourn.worlds import sim
from sojourn.worlds.options import option
from sojourn.worlds.world import Progress, Wanted, World

if TYPE_CHECKING:
    from sojourn.tables import Run
    from sojourn.worlds.linux.plan.shaping import Shaper

KERNELS = ("auto", "host", "uml", "uml-virtual")
SHAPERS = ("htb", "tbf", "device")
# What a packet takes on a user-mode kernel in virtual time, and what each run takes besides.
_PACKET_S = 1.5e-3
_RUN_S = 3.0


@dataclass(frozen=True)
class LinuxOptions:
    """On what, and behind which shaper, a scenario is run."""

    kernel: str = option("which kernel, or the best that is there", "auto", choices=KERNELS)
    shaper: "Shaper" = option("what slows the link", "htb", choices=SHAPERS)


class Linux(World[LinuxOptions]):
    """A real Linux kernel."""

    name = "linux"
    summary = "a real Linux kernel: its TCP and its queue disciplines, in namespaces or user-mode Linux"
    keeps = frozenset({SERIES, PACKETS})
    options = LinuxOptions
    parallel = True

    def fit(self, scenario: _native.Scenario, options: LinuxOptions) -> list[str]:
        """Return what Linux does otherwise; raises InputError for what it does not have."""
        del options
        from sojourn.worlds.linux.plan.check import fit

        return list(fit(json.loads(scenario.to_json())).remarks)

    def estimate_s(self, scenario: _native.Scenario, options: LinuxOptions) -> float:
        """Return the time for the start of a kernel, and for its packets."""
        del options
        return _RUN_S + sim.packets(scenario) * _PACKET_S

    def real_time_s(self, scenario: _native.Scenario, options: LinuxOptions) -> float:
        """Return how long the scenario lasts, unless the kernel has virtual time or is not there."""
        from sojourn.worlds.linux.errors import NotInstalledError
        from sojourn.worlds.linux.kernels import choose

        try:
            return 0.0 if choose(options.kernel).virtual_time else _RUN_S + scenario.duration_s
        except NotInstalledError:
            return 0.0

    def run(
        self,
        scenario: _native.Scenario,
        seeds: Sequence[int],
        wanted: Wanted,
        options: LinuxOptions,
        *,
        jobs: int | None,
        progress: Progress | None,
    ) -> "Sequence[Run]":
        """Run a kernel for each seed, as many side by side as there are processors and memory for."""
        need_linux("the world 'linux'")
        from sojourn.worlds.linux import world

        how = world.How(options.kernel, options.shaper)
        return world.run(scenario, seeds, wanted.bin_s, progress, how, jobs=jobs, packets=wanted.packets)


WORLD = Linux()
