"""Links that form a network as a graph of namespaces.

::

    snd ──── near ──── nodeaa ──── linkaa ──── wireaa ──── nodeab ── ... ──── far ──── rcv
    senders  where       node       queue      delay         node             where    receivers
             senders are            of the link                               receivers are

Each node of the scenario is a namespace, each link two. `near` and `far` are at all nodes at which flows begin or end,
and delay what they hand over for its flow's round-trip time. Each path has addresses of its own at both ends, so that
routes by destination suffice. Where acknowledgements return without a limit, they go from one hub to the other.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from string import ascii_lowercase
from typing import Any

from sojourn.worlds.linux.plan.flows import Path
from sojourn.worlds.linux.plan.topology import ANY, FAR, NEAR, PROBING, Layout, Place

MOST_LINKS = 32


def graph(links: Mapping[str, Mapping[str, Any]], paths: Sequence[Path]) -> Layout:
    """Lay a network out: `links` are the tables of its links by their names; the probe takes the first path."""
    made = _Made(links)
    for path in paths:
        made.way("near", path.to_far, "far", [path.far])
        made.way("far", path.to_near, "near", [path.near, *([PROBING] if path is paths[0] else [])])
    made.leave("far", (FAR,), "far1")
    made.wires.append(("far1", "rcv0"))
    pauses = {hub: Place(hub == "far", "", hub, ("", ""), ANY, has_rtts=True) for hub in ("near", "far")}
    places = {
        name: Place(True, router, wire, (f"{router}_before", f"{router}_after"), ANY)
        for name, (router, wire) in made.pairs.items()
    }
    routes = {name: list(dict.fromkeys(own)) for name, own in made.routes.items()}
    return Layout(["snd", *routes, "rcv"], made.wires, routes, places, pauses, has_one_ways=True)


class _Made:
    """What has been laid out so far."""

    def __init__(self, links: Mapping[str, Mapping[str, Any]]) -> None:
        letters = (one + other for one in ascii_lowercase for other in ascii_lowercase)
        nodes = list(dict.fromkeys(link[end] for link in links.values() for end in ("from", "to")))
        self.links = links
        self.nodes = {node: f"node{letter}" for node, letter in zip(nodes, letters, strict=False)}
        self.pairs = {name: (f"link{letter}", f"wire{letter}") for name, letter in zip(links, letters, strict=False)}
        self.wires: list[tuple[str, str]] = [("snd0", "near0")]
        self.routes: dict[str, list[tuple[str, str]]] = {"near": [(NEAR, "near0")]}
        self.routes |= {node: [] for node in self.nodes.values()}
        self._next: dict[str, Iterator[int]] = defaultdict(count)
        # These are the devices of the hosts' wires.
        self._next |= {"near": count(1), "far": count(2)}
        self._ends: dict[tuple[str, str], str] = {}
        for name, (router, wire) in self.pairs.items():
            start, end = (self.nodes[links[name][side]] for side in ("from", "to"))
            self._ends[start, router] = self._wire(start, f"{router}0")
            self.wires.append((f"{router}1", f"{wire}0"))
            self.wires.append((f"{wire}1", f"{end}{next(self._next[end])}"))
            self.routes |= {one: [("default", f"{one}1")] for one in (router, wire)}

    def way(self, hub: str, names: Sequence[str], other: str, networks: Sequence[str]) -> None:
        """Add the routes to networks over some links, from a hub to the other one."""
        at = hub
        for name in names:
            start = self.nodes[self.links[name]["from"]]
            if at != start:
                self.leave(at, networks, self._toward(at, start))
            self.leave(start, networks, self._ends[start, self.pairs[name][0]])
            at = self.nodes[self.links[name]["to"]]
        self.leave(at, networks, self._toward(at, other))

    def leave(self, name: str, networks: Sequence[str], device: str) -> None:
        """Let packets for networks leave a namespace by a device."""
        self.routes.setdefault(name, []).extend((network, device) for network in networks)

    def _toward(self, name: str, other: str) -> str:
        """Return a namespace's device of the wire between it and another one, which is made where there is none."""
        if (name, other) not in self._ends:
            end = f"{other}{next(self._next[other])}"
            self._ends[name, other], self._ends[other, name] = self._wire(name, end), end
        return self._ends[name, other]

    def _wire(self, name: str, end: str) -> str:
        device = f"{name}{next(self._next[name])}"
        self.wires.append((device, end))
        return device
