"""What a world is: the protocol that the packet-level simulation and every other world follow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from sojourn.data.rows import DECISIONS, DELAYS, KEPT, PACKETS, PROBES, SERIES, TRANSFERS

if TYPE_CHECKING:
    from sojourn import _native
    from sojourn.tables import Run, TableName


Progress = Callable[[float], None]
"""Takes the done fraction, 0 to 1."""


def part_of(progress: Progress | None, place: int, parts: int) -> Progress | None:
    """Return what one of several parts tells its done fraction to."""
    return None if progress is None else lambda done: progress((place + done) / parts)


class WorldError(RuntimeError):
    """A world failed, not the scenario: the same run may succeed another time."""


@dataclass(frozen=True)
class Wanted:
    """What runs keep besides their records."""

    bin_s: float | None = None
    """Width in seconds of a bin of the time series; None keeps none."""
    probes: bool = False
    """Whether the series hold what disciplines and controls show of themselves."""
    packets: bool = False
    """Whether there is a row for each packet at the bottleneck."""
    transfers: bool = False
    """Whether there is a row for each transfer that ended."""
    delays: bool = False
    """Whether records hold the one-way delays and start-up times of every group."""
    decisions: bool = False
    """Whether runs hold what every sender decides, to be written as qlog."""

    @classmethod
    def of(cls, keep: Sequence[str], bin_s: float) -> "Wanted":
        """Make one of the names of what is kept; `bin_s` counts where series are."""
        words = (PROBES, PACKETS, TRANSFERS, DELAYS)
        return cls(bin_s if SERIES in keep else None, *(word in keep for word in words))

    @property
    def keep(self) -> tuple[str, ...]:
        """Names of what is kept."""
        kept = (self.bin_s is not None, self.probes, self.packets, self.transfers, self.delays, self.decisions)
        return tuple(name for name, is_kept in zip((*KEPT, DECISIONS), kept, strict=True) if is_kept)

    @property
    def native(self) -> tuple[float | None, bool, bool, bool, bool, bool]:
        """What the engine is asked to keep."""
        return (self.bin_s, self.packets, self.probes, self.transfers, self.delays, self.decisions)

    @property
    def tables(self) -> "tuple[TableName, ...]":
        """Names of the tables that these runs have."""
        return tuple(table for name in self.keep for table in KEPT.get(name, ()))


O_contra = TypeVar("O_contra", contravariant=True)


@runtime_checkable
class World(Protocol[O_contra]):
    """Something that runs scenarios. It is made once, holds nothing, and is cheap to import.

    A class that follows it states its options as a frozen dataclass whose fields are made by `option`.
    """

    name: str
    """What users call it."""
    summary: str
    """What it is, in half a sentence."""
    keeps: frozenset[str]
    """What its runs can keep besides their records: some of KEPT, and decisions."""
    options: type
    """The dataclass of its options."""
    parallel: bool
    """Whether several runs may be under way at once, in this process and in others."""

    def fit(self, scenario: "_native.Scenario", options: O_contra) -> list[str]:
        """Return what this world does otherwise than the scenario says; raises InputError for what it cannot have.

        It starts nothing, and looks at the scenario alone, not at what this machine lacks.
        """
        ...

    def estimate_s(self, scenario: "_native.Scenario", options: O_contra) -> float:
        """Return about how many seconds of a processor one run takes."""
        ...

    def real_time_s(self, scenario: "_native.Scenario", options: O_contra) -> float:
        """Return how long one run takes by the clock, whatever the machine; 0 where it only takes what it computes."""
        del scenario, options
        return 0.0

    def steps(self, scenario: "_native.Scenario", options: O_contra) -> list[str]:
        """Return the commands by which a run changes this machine meanwhile; most worlds change nothing."""
        del scenario, options
        return []

    def run(
        self,
        scenario: "_native.Scenario",
        seeds: Sequence[int],
        wanted: Wanted,
        options: O_contra,
        *,
        jobs: int | None,
        progress: Progress | None,
    ) -> "Sequence[Run]":
        """Run the scenario once for each seed, and return the runs in that order.

        `jobs` is how many may be under way at once, None for what the machine allows. Raises InputError where the
        scenario does not fit, WorldError where the world fails, RuntimeError where a run breaks down.
        """
        ...


AnyWorld = World[Any]
