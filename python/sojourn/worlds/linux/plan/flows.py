"""Which flow runs between which addresses, when, and with what."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn import _native, networks
from sojourn.networks import Route
from sojourn.registry import origins
from sojourn.resolved import amount

FIRST_PORT = 5000
_HOSTS_PER_BYTE = 256
RECEIVERS = 128
"""What the second byte of an address is higher by at the far end."""


@dataclass(frozen=True)
class Path:
    """What the flows of one group with one round-trip time have in common: a block of addresses at each end."""

    index: int
    rtt_s: float
    ecn: bool
    to_far: tuple[str, ...]
    """The links from near to far."""
    to_near: tuple[str, ...]
    """Those from far to near."""

    @property
    def near(self) -> str:
        """Addresses on the near side of the bottleneck."""
        return f"10.{self.index}.0.0/16"

    @property
    def far(self) -> str:
        """Addresses on the far side."""
        return f"10.{RECEIVERS + self.index}.0.0/16"

    def address(self, host: int, *, far: bool) -> str:
        """Return the address of a host, counted from 1."""
        return f"10.{self.index + RECEIVERS * far}.{host // _HOSTS_PER_BYTE}.{host % _HOSTS_PER_BYTE}"


@dataclass(frozen=True)
class Flow:
    """One flow."""

    id: int
    group: str
    index: int
    path: Path
    near: str
    far: str
    port: int
    forward: bool
    kind: str
    control: Any
    start_s: float
    stop_s: float | None
    table: Mapping[str, Any]
    route: Route

    @property
    def plugins(self) -> list[str]:
        """The files or modules of its control and its traffic, where these are plug-ins; its sender loads them."""
        if self.kind != "udp":
            return []
        known = origins()
        named = (self.control["kind"], self.table["traffic"]["kind"])
        return sorted({known[name]["from"] for name in named if name in known})

    @property
    def ecn(self) -> bool:
        """Whether its packets say that they can be marked."""
        return bool(self.table["transport"]["ecn"])

    @property
    def source(self) -> str:
        """Address of the sender."""
        return self.near if self.forward else self.far

    @property
    def sink(self) -> str:
        """Address of the receiver."""
        return self.far if self.forward else self.near

    def ends(self, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the plans of the near and the far endpoint."""
        both = {
            "id": self.id,
            "kind": self.kind,
            "port": self.port,
            "transport": self.table["transport"] if self.kind == "udp" else None,
            "traffic": self.table["traffic"],
            "start_s": self.start_s,
            "stop_s": self.stop_s,
            "dscp": code_point(self.table["dscp"]),
            # The kernel's TCP is asked by the route to the peer: a socket cannot.
            "ecn": self.ecn and self.kind != "tcp",
            "seed": random.Random(f"{seed}.{self.id}").getrandbits(63),  # noqa: S311 (no secret)
        }
        near = self._end(both, self.near, self.far, sends=self.forward)
        far = self._end(both, self.far, self.near, sends=not self.forward)
        return near, far

    def _end(self, both: dict[str, Any], local: str, peer: str, *, sends: bool) -> dict[str, Any]:
        end = {**both, "role": "send" if sends else "receive", "local": local, "peer": peer}
        if sends and self.plugins:
            end["plugins"] = self.plugins
        if not sends and self.table["traffic"]["kind"] in origins():
            # A receiver acts the same whatever is sent, and need not know the sender's code.
            end["traffic"] = {"kind": "bulk"}
        # The kernel asks its TCP for the control at both ends. Over UDP only the sender has one: the other host need
        # not know it.
        end["control"] = self.control if sends or self.kind != "udp" else None
        return end


def code_point(name: str | int) -> int:
    """Return the number of a differentiated services code point as a resolved scenario has it."""
    if isinstance(name, int):
        return name
    found = _native.code_point(name)
    if found is None:
        raise TypeError(f"a resolved scenario holds {name!r} where a code point belongs")
    return found


def seconds(text: str) -> float:
    """Return a resolved scenario's length of time in seconds."""
    return amount(text, "s")


Routes = Mapping[str, Sequence[Route]]
"""The routes of each group, dealt out to its flows."""


def routes_of(scenario: Mapping[str, Any]) -> Routes:
    """Return the routes of the groups of a resolved scenario, over links as the file calls them."""

    def named(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(name.removeprefix("hops_") for name in names)

    found = networks.routes(_native.load_json(json.dumps(scenario)))
    return {
        group: [Route(named(there), named(back), *named([main] if main else [])) for there, back, main, _ in own]
        for group, own in found.items()
    }


def paths(scenario: Mapping[str, Any], routes: Routes) -> dict[str, list[Path]]:
    """Return for each group the paths of its flows."""
    known: dict[tuple[str, float, Route], Path] = {}
    found: dict[str, list[Path]] = {}
    for group in scenario["group"]:
        name, ecn, forward = group["name"], bool(group["transport"]["ecn"]), group["direction"] == "forward"
        found[name] = []
        for index, rtt_s in enumerate(_per_flow(group["rtt"], group["flows"])):
            route = _route(group, routes, index)
            ways = (route.there, route.back) if forward else (route.back, route.there)
            path = known.setdefault((name, rtt_s, route), Path(len(known), rtt_s, ecn, *ways))
            found[name].append(path)
    return found


def distinct(paths: Mapping[str, Sequence[Path]]) -> list[Path]:
    """Return each path once: first the one that the probe takes, which crosses the bottleneck if any does."""
    once = dict.fromkeys(path for own in paths.values() for path in own)
    return sorted(once, key=lambda path: "bottleneck" not in (*path.to_far, *path.to_near))


def _route(group: Mapping[str, Any], routes: Routes, index: int) -> Route:
    own = routes[group["name"]]
    return own[index % len(own)]


def flows(scenario: Mapping[str, Any], seed: int, how: Mapping[str, tuple[str, Any]], routes: Routes) -> list[Flow]:
    """Return all flows; `how` says for each group the kind of endpoint and what it is told of the control."""
    known = paths(scenario, routes)
    found: list[Flow] = []
    for group in scenario["group"]:
        count = group["flows"]
        starts, stops = moments(group, "start", seed), moments(group, "stop", seed)
        for index, path in enumerate(known[group["name"]]):
            forward = group["direction"] == "forward"
            sender, receiver = (1 + index % group.get(key, count) for key in ("hosts", "receiver_hosts"))
            near, far = (sender, receiver) if forward else (receiver, sender)
            kind, control = how[group["name"]]
            flow = Flow(
                len(found),
                group["name"],
                index,
                path,
                path.address(near, far=False),
                path.address(far, far=True),
                FIRST_PORT + index,
                forward,
                kind,
                control,
                starts[index] or 0.0,
                stops[index],
                group,
                _route(group, routes, index),
            )
            found.append(flow)
    return found


def probe(path: Path, scenario: Mapping[str, Any]) -> str:
    """Return the address that answers the probe: a host of its own at the far end of the path."""
    return path.address(1 + max(group["flows"] for group in scenario["group"]), far=True)


def _per_flow(value: str | list[str], count: int) -> list[float]:
    texts = value if isinstance(value, list) else [value] * count
    return [seconds(text) for text in texts]


def moments(group: Mapping[str, Any], key: str, seed: int) -> list[float | None]:
    """Return when each flow of a group starts or stops; random times have a stream of their own for each flow."""
    value, count = group.get(key), group["flows"]
    if value is None:
        return [None] * count
    if not isinstance(value, Mapping):
        return list(_per_flow(value, count))
    low, high = map(seconds, value["uniform"])
    name = group["name"]
    return [random.Random(f"{seed}.{name}.{index}.{key}").uniform(low, high) for index in range(count)]  # noqa: S311
