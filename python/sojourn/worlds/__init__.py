"""Worlds: where a scenario can run. Everything that runs one asks the registry.

`world` says what a world is, `options` how it states its options, `registry` which ones there are. The packet-level
simulation, the fluid model, the Linux kernel and two hosts come with Sojourn. A package adds its own with an entry
point `sojourn.worlds` that names an instance of `World`.
"""

from sojourn.data.rows import PACKETS, PROBES, SERIES, TRANSFERS
from sojourn.worlds.options import Option, option, stated
from sojourn.worlds.registry import OWN, Chosen, choose, find, names
from sojourn.worlds.world import AnyWorld, Wanted, World, WorldError

__all__ = [
    "OWN",
    "PACKETS",
    "PROBES",
    "SERIES",
    "TRANSFERS",
    "AnyWorld",
    "Chosen",
    "Option",
    "Wanted",
    "World",
    "WorldError",
    "choose",
    "find",
    "names",
    "option",
    "stated",
]
