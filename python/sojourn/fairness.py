"""What a fair division of a network's links would be, what flows got of it, and where their data waited.

The fair division is max-min: no flow can have more without one that has no more having less. It is found by progressive
filling (Bertsekas and Gallager, Data Networks, 2nd edition, section 6.5.2). Flows that want all they can get are judged
by it; of the others it is taken that they want what they got.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

from sojourn import networks

if TYPE_CHECKING:
    from sojourn.measured import Measured


def max_min(
    capacities: Mapping[str, float],
    flows: Sequence[tuple[tuple[str, ...], float]],
    costs: Sequence[Mapping[str, float]] = (),
) -> list[float]:
    """Divide links among flows, each of which crosses some of them and wants at most so much; in the same unit.

    Each unit of a flow takes one of a link's, or what `costs` says for this flow and link: framing takes more.

    Two links in a row, one flow over both and one over each (a parking lot), and a flow that wants little:

    >>> max_min({"a": 10.0, "b": 4.0}, [(("a", "b"), 99.0), (("a",), 99.0), (("b",), 99.0)])
    [2.0, 8.0, 2.0]
    >>> max_min({"a": 10.0}, [(("a",), 99.0), (("a",), 1.0)])
    [9.0, 1.0]
    >>> max_min({"a": 10.0}, [(("a",), 99.0), (("a",), 99.0)], [{"a": 1.5}, {}])
    [4.0, 4.0]
    """
    given = [0.0] * len(flows)
    links = _Links(capacities, flows, costs)
    rising = set(range(len(flows)))
    # All flows rise together; the next one to end has enough, or crosses the link that is full next.
    for flow in sorted(rising, key=lambda flow: flows[flow][1]):
        wanted = flows[flow][1]
        while (full := links.next_full(wanted)) is not None:
            level, ending = full
            for one in ending:
                given[one] = level
                links.leave(one, level)
            rising.difference_update(ending)
        if flow in rising:
            given[flow] = wanted
            links.leave(flow, wanted)
            rising.discard(flow)
    return given


class _Links:
    """The links that flows still rise on, by the level at which each will be full."""

    def __init__(
        self,
        capacities: Mapping[str, float],
        flows: Sequence[tuple[tuple[str, ...], float]],
        costs: Sequence[Mapping[str, float]],
    ) -> None:
        self.ways = [links for links, _ in flows]
        self.costs = costs or [{}] * len(flows)
        self.crossing: dict[str, set[int]] = defaultdict(set)
        self.weight: dict[str, float] = defaultdict(float)
        for flow, links in enumerate(self.ways):
            for link in links:
                self.crossing[link].add(flow)
                self.weight[link] += self.costs[flow].get(link, 1.0)
        self.left = {link: capacities[link] for link in self.crossing}
        self.filling = [(self._full_at(link), link) for link in self.crossing]
        heapify(self.filling)

    def _full_at(self, link: str) -> float:
        """Return the level at which a link is full; it only grows, since flows leave below it."""
        return max(self.left[link], 0.0) / self.weight[link]

    def next_full(self, below: float) -> tuple[float, list[int]] | None:
        """Return the level of the link that is full next, where that is below one, and the flows that it ends."""
        while self.filling and self.filling[0][0] < below:
            level, link = heappop(self.filling)
            if not self.crossing[link]:
                continue
            if self._full_at(link) <= level:
                return level, list(self.crossing[link])
            heappush(self.filling, (self._full_at(link), link))
        return None

    def leave(self, flow: int, level: float) -> None:
        """End a flow at a level."""
        for link in self.ways[flow]:
            cost = self.costs[flow].get(link, 1.0)
            self.crossing[link].discard(flow)
            self.left[link] -= level * cost
            self.weight[link] -= cost


@dataclass
class Division:
    """What the flows of a group got of their fair shares."""

    group: str
    fair_mbps: float
    """The mean of the fair shares of its flows, as goodput."""
    goodput_mbps: float
    """The mean of what they got."""
    least: float
    """The least of what a flow got over its fair share."""
    most: float


def divisions(result: "Measured", run: int = 0) -> list[Division]:
    """Return, for each group whose flows want all they can get, what they got of their max-min shares.

    Shares are of packets' bytes, of which a link's `framing` makes more. None where stations share a medium: what that
    can carry depends on who sends.
    """
    native = result.native
    if "station" in result.scenario:
        return []
    capacities = dict(zip(native.links, native.mean_rates_mbps(), strict=True))
    # The connections of a stack compete as others do. They have no row: what their packets carry is the stack's own.
    wanting = {group.name: "stack" in group for group in result.scenario.group if _wants_all(group)}
    packets = {name: packet for (name, _), packet in zip(native.groups, native.packets(), strict=True)}
    payloads = {name: 1.0 - header / packet for name, (packet, header, _) in packets.items()}
    framings = {
        name: {link: wire / packet for link, wire in zip(native.links, wires, strict=True)}
        for name, (packet, _, wires) in packets.items()
    }
    ways = list(networks.ways(native))
    goodputs = [flow.goodput_mbps for flow in result.runs[run].flows]
    wanted = [
        (links, max(capacities.values(), default=0.0) if group in wanting else goodput / (payloads[group] or 1.0))
        for (group, links), goodput in zip(ways, goodputs, strict=True)
    ]
    fair = max_min(capacities, wanted, [framings[group] for group, _ in ways])
    found = []
    for name in (name for name, is_stack in wanting.items() if not is_stack):
        places = [place for place, (group, _) in enumerate(ways) if group == name]
        own = [(fair[place] * payloads[name], goodputs[place]) for place in places]
        parts = [goodput / share for share, goodput in own if share > 0.0]
        if parts:
            means = [sum(values) / len(own) for values in zip(*own, strict=True)]
            found.append(Division(name, means[0], means[1], min(parts), max(parts)))
    return found


def _wants_all(group: Mapping[str, Any]) -> bool:
    return group["traffic"]["kind"] == "bulk" and "size" not in group["traffic"]


def waits(result: "Measured", run: int = 0) -> dict[str, dict[str, float]]:
    """Return, for each group, in which share of the run's bins the data of its flows waited longest at which link.

    Bins in which it waited nowhere do not count; a group whose data never waited has none. Links with numbered names
    count as one where there are many. Needs the time series.
    """
    import numpy as np

    queue = result.queue.filter(_of_seed(result, run))
    links = queue["link"].combine_chunks()
    names, codes = links.dictionary.to_pylist(), links.indices.to_numpy()
    delays = {name: np.nan_to_num(queue["queue_ms"].to_numpy()[codes == code]) for code, name in enumerate(names)}
    shown = networks.gathered(names)
    bins: dict[str, Counter[str]] = {}
    for (group, crossed), flows in Counter(networks.ways(result.native)).items():
        own = [name for link in crossed if (name := link.removeprefix("hops_")) in delays]
        table = np.vstack([delays[name] for name in own]) if own else np.zeros((1, 0))
        where = table.argmax(axis=0)[table.max(axis=0) > 0.0]
        counted = bins.setdefault(group, Counter())
        for place, name in enumerate(own):
            counted[shown[name]] += flows * int((where == place).sum())
    return {
        group: {name: count / counted.total() for name, count in counted.items() if count}
        for group, counted in bins.items()
        if counted.total()
    }


def _of_seed(result: "Measured", run: int) -> Any:
    import pyarrow.compute as pc

    return pc.equal(pc.field("seed"), result.runs[run].seed)
