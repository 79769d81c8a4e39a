"""A chain of links as a row of namespaces.

::

    snd  snd0 ──── rtr0     rtr     rtr1 ──── fwd0     fwd     fwd1 ──── rcv0  rcv
         senders   delay of the     queue of  queue of the     delay of        receivers
                   return link     the link   return link      the link

Each further link has two namespaces of its own, for its queue and for what is behind it, on the side of the others on
which packets cross it.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from sojourn.worlds.linux.plan.topology import FAR, NEAR, PROBING, Layout, Place

MOST_HOPS = 8


def row(scenario: Mapping[str, Any]) -> Layout:
    """Lay a resolved scenario's chain of links out."""
    places = _places(scenario)
    names = _namespaces(scenario, places)
    wires = [(f"{near}{0 if near == names[0] else 1}", f"{far}0") for near, far in pairwise(names)]
    routes = {}
    for number, name in enumerate(names[1:-1]):
        back = (NEAR,) if number == 0 else (NEAR, PROBING)
        routes[name] = [*((network, f"{name}0") for network in back), (FAR, f"{name}1")]
    # Without a return link packets still take half of their round-trip time for the way back.
    back_only = Place(False, "fwd", "rtr", ("", ""), NEAR, has_rtts=True)
    pauses = {} if "reverse" in places else {"reverse": back_only}
    return Layout(names, wires, routes, places, pauses, has_one_ways=False)


def _places(scenario: Mapping[str, Any]) -> dict[str, Place]:
    main = {
        "bottleneck": Place(True, "rtr", "fwd", ("before", "after"), FAR, has_rtts=True),
        "reverse": Place(False, "fwd", "rtr", ("reverse_before", "reverse_after"), NEAR, has_rtts=True),
    }
    found = {name: place for name, place in main.items() if name in scenario}
    for letter, hop in zip("abcdefgh", scenario.get("hop", []), strict=False):
        captures = (f"hop_{letter}_before", f"hop_{letter}_after")
        far = hop["direction"] == "forward"
        found[hop["name"]] = Place(far, f"hop{letter}", f"wire{letter}", captures, FAR if far else NEAR)
    return found


def _namespaces(scenario: Mapping[str, Any], known: Mapping[str, Place]) -> list[str]:
    """Return the namespaces from the senders to the receivers."""
    hops = scenario.get("hop", [])

    def side(direction: str, at: str) -> list[tuple[str, str]]:
        mine = [known[hop["name"]] for hop in hops if (hop["direction"], hop["at"]) == (direction, at)]
        # What comes from the far side crosses the farthest one first.
        return [(one.router, one.wire) for one in (mine if direction == "forward" else reversed(mine))]

    sections = [
        *(*side("reverse", "after"), *side("forward", "before")),
        ("rtr", "fwd"),
        *(*side("forward", "after"), *side("reverse", "before")),
    ]
    return ["snd", *(name for section in sections for name in section), "rcv"]
