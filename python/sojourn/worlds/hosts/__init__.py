"""Two hosts and the path between them: an agent on the one, `sojourn run --world hosts` on the other.

`protocol` is what they say to each other, `admission` what an agent lets a peer ask of it, `agent` and `world` are the
two sides. docs/guide/hosts.md tells it to users.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import _native
from sojourn.data.rows import PACKETS, SERIES
from sojourn.system import need_linux
from sojourn.worlds.options import option
from sojourn.worlds.world import Progress, Wanted, World

if TYPE_CHECKING:
    from sojourn.tables import Run


@dataclass(frozen=True)
class HostsOptions:
    """Where the other host is, and what is done on this one."""

    peer: str | None = option("where `sojourn agent` runs", metavar="ADDRESS[:PORT]")
    secret_file: Path | None = option(
        "the secret shared with the agent; without one SOJOURN_SECRET of the environment", kind=Path, metavar="FILE"
    )
    shape: str | None = option("set the bottleneck on this interface meanwhile (root)", metavar="INTERFACE")


class Hosts(World[HostsOptions]):
    """Two hosts and the path between them."""

    name = "hosts"
    summary = "two hosts and the path between them, with `sojourn agent` on the other one; real time"
    keeps = frozenset({SERIES, PACKETS})
    options = HostsOptions
    parallel = False

    def fit(self, scenario: _native.Scenario, options: HostsOptions) -> list[str]:
        """Return nothing; raises InputError for flows that sockets cannot have."""
        del options
        from sojourn.worlds.linux.plan.check import check_sockets

        check_sockets(json.loads(scenario.to_json()))
        return []

    def estimate_s(self, scenario: _native.Scenario, options: HostsOptions) -> float:
        """Return the time of a run, which passes as it does for everybody."""
        del options
        return scenario.duration_s

    def real_time_s(self, scenario: _native.Scenario, options: HostsOptions) -> float:
        """Return the time of a run."""
        return self.estimate_s(scenario, options)

    def steps(self, scenario: _native.Scenario, options: HostsOptions) -> list[str]:
        """Return what is done to the interface that is shaped, and undone after the run."""
        from sojourn.worlds.hosts import world
        from sojourn.worlds.hosts.shape import for_peer

        given = world.given(options.peer, options.secret_file, options.shape)
        if given.shape is None:
            return []
        return for_peer(given.shape, given.host, json.loads(scenario.to_json())).steps()

    def run(
        self,
        scenario: _native.Scenario,
        seeds: Sequence[int],
        wanted: Wanted,
        options: HostsOptions,
        *,
        jobs: int | None,
        progress: Progress | None,
    ) -> "Sequence[Run]":
        """Run one after the other: there is one path."""
        del jobs
        need_linux("the world 'hosts'")
        from sojourn.worlds.hosts import world

        given = world.given(options.peer, options.secret_file, options.shape)
        return world.run(scenario, seeds, wanted, progress, given)


WORLD = Hosts()
