"""Which worlds there are. This is the only place that lists them."""

import functools
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sojourn.reading import input_error, shown, unknown_name
from sojourn.spelling import spelled
from sojourn.worlds.options import Option, made, stated
from sojourn.worlds.world import AnyWorld, Progress, Wanted, World

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from sojourn import _native
    from sojourn.tables import Run

GROUP = "sojourn.worlds"
SIM = "sim"
_OWN = {
    SIM: "sojourn.worlds.sim:WORLD",
    "fluid": "sojourn.worlds.fluid:WORLD",
    "linux": "sojourn.worlds.linux:WORLD",
    "hosts": "sojourn.worlds.hosts:WORLD",
    "shell": "sojourn.worlds.shell:WORLD",
}
OWN = tuple(_OWN)
"""Names of the worlds that come with Sojourn."""


@dataclass(frozen=True)
class Chosen:
    """A world, with its options for some runs."""

    world: AnyWorld
    options: Any

    def fit(self, scenario: "_native.Scenario") -> list[str]:
        """See World.fit."""
        self._check_stack(scenario)
        return self.world.fit(scenario, self.options)

    def estimate_s(self, scenario: "_native.Scenario") -> float:
        """See World.estimate_s."""
        return self.world.estimate_s(scenario, self.options)

    def real_time_s(self, scenario: "_native.Scenario") -> float:
        """See World.real_time_s."""
        return self.world.real_time_s(scenario, self.options)

    def steps(self, scenario: "_native.Scenario") -> list[str]:
        """See World.steps."""
        return self.world.steps(scenario, self.options)

    def run(
        self,
        scenario: "_native.Scenario",
        seeds: Sequence[int],
        wanted: Wanted,
        *,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> "Sequence[Run]":
        """See World.run; raises InputError for what the world does not keep."""
        check_kept(self.world, wanted.keep)
        self._check_stack(scenario)
        return self.world.run(scenario, seeds, wanted, self.options, jobs=jobs, progress=progress)

    def _check_stack(self, scenario: "_native.Scenario") -> None:
        """Raise InputError for flows of a stack, which only the simulation runs."""
        if scenario.stack is not None and self.world.name != SIM:
            group, name = scenario.stack
            key, allowed = f"group.{group}.stack", spelled("world", SIM)
            message = f"{key}: the world {self.world.name!r} runs no stacks; allowed: {allowed}"
            raise input_error(message, key=key, found=name, allowed=allowed)


def names() -> list[str]:
    """Return the names of all worlds, those of other packages last."""
    return [*_OWN, *_others()]


def find(name: object) -> AnyWorld:
    """Return a world by its name; raises InputError where there is none, or where its package is at fault."""
    if isinstance(name, str) and name in _OWN:
        return _load_own(name)
    known = names()
    if not isinstance(name, str):
        message = f"{spelled('world')}: {shown(name)} is no name of a world; there is: {', '.join(known)}"
        raise input_error(message, key="world", found=shown(name), allowed=", ".join(known))
    if name not in known:
        raise unknown_name("no world is called", name, known)
    return _load(_others()[name])


def choose(name: object, options: Mapping[str, Any] | None = None, keep: Sequence[str] = ()) -> Chosen:
    """Return a world with its options; raises InputError for a name, an option or a table that there is not."""
    world = find(name)
    given = dict(options or {})
    known = {one.name for one in stated(world.options)}
    for key in [key for key, value in given.items() if key not in known]:
        if given[key] is None:
            # Whoever leaves it to the world says nothing of it.
            del given[key]
        else:
            _refuse_option(world, key, given[key])
    check_kept(world, keep)
    return Chosen(world, made(world.options, given, f"the world {world.name!r}"))


def options_of(name: str) -> list[Option]:
    """Return the options of a world."""
    return stated(find(name).options)


def check_kept(world: AnyWorld, keep: Sequence[str]) -> None:
    """Raise InputError where the world does not keep what is wanted."""
    for one in keep:
        if one not in world.keeps:
            kept = ", ".join(sorted(world.keeps)) or "nothing but records"
            message = f"the world {world.name!r} keeps no {one}; it keeps: {kept}"
            raise input_error(message, key=one, found=one, allowed=kept)


def _refuse_option(world: AnyWorld, key: str, value: Any) -> None:
    """Say whose option this is, where another world that comes with Sojourn has it."""
    others = [name for name in _OWN if name != world.name and key in {one.name for one in options_of(name)}]
    if others:
        needed = " or ".join(spelled("world", name) for name in others)
        message = f"{spelled(key)} needs {needed}; the world here is {world.name!r}"
        raise input_error(message, key=key, found=shown(value), allowed=needed)


@functools.cache
def _load_own(name: str) -> AnyWorld:
    module, _, attribute = _OWN[name].partition(":")
    world: AnyWorld = getattr(importlib.import_module(module), attribute)
    return world


@functools.cache
def _others() -> "dict[str, EntryPoint]":
    # Looking through all installed packages takes longer than all else at start-up.
    from importlib.metadata import entry_points

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        if entry.name in _OWN or entry.name in found:
            raise input_error(f"the package {_package(entry)} names a world {entry.name!r}, which there is already")
        found[entry.name] = entry
    return found


def _load(entry: "EntryPoint") -> AnyWorld:
    try:
        world = entry.load()
    except Exception as error:
        raise input_error(
            f"the world {entry.name!r} of the package {_package(entry)} cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error
    if isinstance(world, type) or not isinstance(world, World):
        message = f"the world {entry.name!r} of the package {_package(entry)} is no instance of sojourn.worlds.World"
        raise input_error(message)
    return world


def _package(entry: "EntryPoint") -> str:
    return "of unknown name" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
