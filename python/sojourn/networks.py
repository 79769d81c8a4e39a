"""Scenarios as networks: who crosses which link, and how links are drawn."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sojourn import _native
from sojourn.faults import input_error

SHOWN_APART = 6
"""Links and nodes with numbered names of which there are more than so many are drawn and tabulated as one."""
_NUMBERED = re.compile(r"^(.*)-\d+$")


class Route(NamedTuple):
    """The links that a flow's packets cross, by the names that metrics have for them."""

    there: tuple[str, ...]
    """Those of its data."""
    back: tuple[str, ...]
    """Those of its acknowledgements; none where they return without a limit."""
    main: str | None = None
    """The one at which its queueing delay is told."""
    station: str | None = None
    """The station that it goes to or comes from."""


def routes(scenario: _native.Scenario) -> dict[str, list[Route]]:
    """Return the routes of each group: one for all flows, or one for each, dealt out in turn."""
    links = scenario.links

    def named(places: Sequence[int]) -> tuple[str, ...]:
        return tuple(links[place] for place in places)

    return {
        group: [
            Route(named(there), named(back), None if main is None else links[main], station)
            for there, back, main, station in own
        ]
        for (group, _), own in zip(scenario.groups, scenario.routes(), strict=True)
    }


def ways(scenario: _native.Scenario) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the group of every flow of a scenario, and the links that its data crosses, as metrics call them."""
    known = routes(scenario)
    for group, flows in scenario.groups:
        for index in range(flows):
            yield group, known[group][index % len(known[group])].there


def is_network(tables: Mapping[str, Any]) -> bool:
    """Tell whether the links of a resolved scenario say between which nodes they lie.

    >>> is_network({"bottleneck": {"rate": "1 Mbit/s"}}), is_network({"bottleneck": {"from": "a", "to": "b"}})
    (False, True)
    """
    return "from" in tables["bottleneck"]


def crossing(scenario: _native.Scenario) -> list[str]:
    """Return the groups of which a flow's data crosses the bottleneck, in the order of the scenario."""
    return [group for group, own in routes(scenario).items() if any("bottleneck" in route.there for route in own)]


def check_chain(tables: Mapping[str, Any], who: str) -> None:
    """Raise InputError where the links of a resolved scenario form a network, which `who` cannot have."""
    if is_network(tables):
        found = "links that form a network"
        raise input_error(
            f"bottleneck.from: {who} cannot have {found}; allowed: a chain of links (without from and to)",
            key="bottleneck.from",
            found=found,
        )


def gathered(names: Sequence[str]) -> dict[str, str]:
    """Return, for each name, what it is shown as: many whose names differ only in the number at the end are one.

    >>> gathered(["a", "b-0", "b-1"])["b-1"], gathered([f"home-{i}" for i in range(9)])["home-3"]
    ('b-1', 'home-*')
    """
    counts: dict[str, int] = defaultdict(int)
    for name in names:
        if found := _NUMBERED.match(name):
            counts[found[1]] += 1
    return {
        name: f"{found[1]}-*" if (found := _NUMBERED.match(name)) and counts[found[1]] > SHOWN_APART else name
        for name in names
    }


@dataclass
class Drawn:
    """A link, or many alike, as they are drawn."""

    name: str
    start: str
    end: str
    count: int = 0
    rates_mbps: list[float] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    """What metrics call them."""
    stations: list[str | None] = field(default_factory=list)
    """For each the station at the other end of a medium that stations share."""


def drawn(scenario: _native.Scenario, tables: Mapping[str, Any]) -> list[Drawn]:
    """Return the links of a network, those with numbered names as one."""
    rates = dict(zip(scenario.links, scenario.mean_rates_mbps(), strict=True))
    hops = [(f"hops_{hop['name']}", hop["name"], hop) for hop in tables.get("hop", [])]
    mains = [(key, key, tables[key]) for key in ("bottleneck", "reverse") if "to" in tables.get(key, {})]
    links: list[tuple[str, str, str, str, str | None]] = [
        (key, name, table["from"], table["to"], None) for key, name, table in [*mains, *hops]
    ]
    hub, prefix = tables["bottleneck"]["from"], "stations_"
    for station in (key.removeprefix(prefix) for key in scenario.links if key.startswith(prefix)):
        # The medium leads to each of them.
        links += [
            ("bottleneck", "bottleneck", hub, station, station),
            (f"{prefix}{station}", station, station, hub, station),
        ]
    shown = gathered([name for _, name, *_ in links])
    nodes = gathered(sorted({end for _, _, start, to, _ in links for end in (start, to)}))
    found: dict[tuple[str, str, str], Drawn] = {}
    for key, name, start, to, of_station in links:
        place = (shown[name], nodes[start], nodes[to])
        one = found.setdefault(place, Drawn(*place))
        one.count += 1
        one.rates_mbps.append(rates[key if of_station is None else f"{prefix}{of_station}"])
        one.keys.append(key)
        one.stations.append(of_station)
    return list(found.values())
