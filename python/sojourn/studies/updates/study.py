"""What tables will not do of the study of updates: runs of a kernel and of the simulation as one set of numbers."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sojourn.study import Number, changes, measure
from sojourn.study.means import by_run

if TYPE_CHECKING:
    from sojourn.data.dataset import Dataset
    from sojourn.sweeps.plan import Plan

Row = tuple[dict[str, Any], str, str, Number]

# The ticks of user-mode Linux, which its TCP's timers wait for.
_TICK = {"group.tcp.transport.timer_tick": "10 ms"}


@changes("recovery-small", "recovery-large", "recovery-sim")
def all_of_one_kernel(beside: str, sweep: str, made: Mapping[str, Any]) -> dict[str, Any]:
    """Let the other group's TCP, which is the same kernel's, recover as NewReno's does; libutp is no TCP."""
    own = {key: value for key, value in made.items() if key.startswith("group.tcp.transport.")}
    own |= _TICK if sweep == "recovery-sim" else {}
    other = {key.replace("group.tcp.", "group.background."): value for key, value in own.items()}
    return own if beside == "LEDBAT" else own | other


@changes("own-sim")
def ticks() -> dict[str, Any]:
    """Let timers wait as the kernel's do."""
    return _TICK


@measure("recovery", of=("recovery-small", "recovery-large", "recovery-sim"))
def shares(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield TCP's share in both worlds."""
    return _by_world(plan, dataset, "share")


@measure("own-both", of=("own-kernel", "own-sim"))
def round_trips(plan: "Plan", dataset: "Dataset") -> Iterator[Row]:
    """Yield TCP's mean round-trip time in both worlds."""
    return _by_world(plan, dataset, "rtt_ms_mean")


def _by_world(plan: "Plan", dataset: "Dataset", metric: str) -> Iterator[Row]:
    world = "kernel" if plan.world == "linux" else "simulated"
    found: dict[tuple[tuple[str, Any], ...], list[float | None]] = {}
    for at, _, groups in by_run(plan, dataset, (metric,)):
        found.setdefault(tuple(at.items()), []).append(groups["tcp"][metric])
    for place, values in found.items():
        yield dict(place) | {"world": world}, "tcp", metric, Number.of(values)
