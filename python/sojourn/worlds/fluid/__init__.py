"""The fluid world: TCP and LEDBAT under RED as delay-differential equations.

`model` has the equations, `dde` and `trajectory` integrate them, `equilibrium` and `stability` study them, and `world`
makes a model of a scenario and a run of a trajectory. Gong, Rossi, Leonardi, "Modeling the interdependency of
low-priority congestion control and active queue management", ITC 2013 (arXiv 1303.6817).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sojourn import _native
from sojourn.data.rows import SERIES
from sojourn.worlds.world import Progress, Wanted, World

if TYPE_CHECKING:
    from sojourn.tables import Run

# About what the integrator takes for a second of the model, whatever the link's rate.
_SECOND_S = 0.02


@dataclass(frozen=True)
class FluidOptions:
    """The fluid model has no options: the scenario says everything."""


class Fluid(World[FluidOptions]):
    """TCP and LEDBAT under RED as delay-differential equations."""

    name = "fluid"
    summary = "TCP and LEDBAT under RED as delay-differential equations; no packets, no randomness"
    keeps = frozenset({SERIES})
    options = FluidOptions
    parallel = True

    def fit(self, scenario: _native.Scenario, options: FluidOptions) -> list[str]:
        """Return nothing; raises InputError for what the model does not have."""
        del options
        from sojourn.record import Record
        from sojourn.worlds.fluid.world import model

        model(Record.parse(scenario.to_json()))
        return []

    def estimate_s(self, scenario: _native.Scenario, options: FluidOptions) -> float:
        """Return the time for the steps of the integrator."""
        del options
        return scenario.duration_s * _SECOND_S

    def run(
        self,
        scenario: _native.Scenario,
        seeds: Sequence[int],
        wanted: Wanted,
        options: FluidOptions,
        *,
        jobs: int | None,
        progress: Progress | None,
    ) -> "Sequence[Run]":
        """Integrate once: every seed has the same trajectory."""
        del options, jobs
        from sojourn.worlds.fluid import world

        return world.run(scenario, seeds, wanted.bin_s, progress)


WORLD = Fluid()
