"""The packet-level simulation: the engine itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from sojourn import _native
from sojourn.data.rows import DECISIONS, KEPT
from sojourn.processors import usable_processors
from sojourn.reading import input_error
from sojourn.tables import Run
from sojourn.worlds.world import Progress, Wanted, World

# What a packet and its acknowledgement cost, for estimates: the mean over what people run, docs/performance.md.
_PACKET_S = 300e-9
_PACKET_BYTES = 1500


@dataclass(frozen=True)
class SimOptions:
    """The simulation has no options: the scenario says everything."""


class Sim(World[SimOptions]):
    """The packet-level simulation."""

    name = "sim"
    summary = "the packet-level simulation; the same seed always gives the same bytes"
    keeps = frozenset({*KEPT, DECISIONS})
    options = SimOptions
    parallel = True

    def fit(self, scenario: _native.Scenario, options: SimOptions) -> list[str]:
        """Return nothing; raises InputError for packets of programs, which only real time has."""
        del options
        for group in scenario.programs:
            key = f"group.{group}.traffic"
            raise input_error(f"{key}: the simulation runs no programs; `sojourn shell` does", key=key, found="program")
        return []

    def estimate_s(self, scenario: _native.Scenario, options: SimOptions) -> float:
        """Return the time for the packets that the bottleneck and the link back can carry."""
        del options
        return packets(scenario) * _PACKET_S

    def run(
        self,
        scenario: _native.Scenario,
        seeds: Sequence[int],
        wanted: Wanted,
        options: SimOptions,
        *,
        jobs: int | None,
        progress: Progress | None,
    ) -> Sequence[Run]:
        """Simulate once for each seed, on a thread for each processor."""
        self.fit(scenario, options)
        if scenario.stack is not None:
            from sojourn.worlds import stacks

            return stacks.run(scenario, seeds, wanted, jobs=jobs, progress=progress)
        return scenario.run(list(seeds), jobs or usable_processors(), wanted.native, progress)


def packets(scenario: _native.Scenario) -> float:
    """Return how many full packets the bottleneck and the link back can carry in a run."""
    return scenario.capacity_bytes() / _PACKET_BYTES


WORLD = Sim()
