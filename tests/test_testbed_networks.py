"""Networks in namespaces: where packets of each path go, read from the plan; and, on a kernel, what becomes of them."""

import ipaddress
import itertools
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sojourn
from sojourn.worlds.linux import plan
from sojourn.worlds.linux.errors import NotInstalledError
from sojourn.worlds.linux.kernels import kernels
from sojourn.worlds.linux.plan import shaping

SNAPSHOTS = Path(__file__).parent / "snapshots" / "testbed"
PFIFO = {"kind": "droptail", "preset": "linux", "limit": "50 packets"}
TCP = {"control": {"kind": "newreno", "preset": "linux"}, "transport": "linux", "rtt": "20 ms"}
LINK = {"rate": "4 Mbit/s", "delay": "5 ms", "queue": PFIFO}


def network(**tables: Any) -> sojourn.Scenario:
    return sojourn.scenario({"duration": "4 s", **tables})


def planned(scenario: sojourn.Scenario, shaper: shaping.Shaper = "htb") -> plan.Job:
    return plan.job(scenario.to_dict(), 1, shaping.How(shaper))


ONE_WAY = network(
    bottleneck={**LINK, "from": "a", "to": "b", "queue": {"kind": "drr", "perfect": True}},
    hop=[{**LINK, "name": "second", "from": "b", "to": "c"}],
    group=[
        {**TCP, "name": "both", "from": "a", "to": "c", "transport": {"preset": "linux", "ecn": True}},
        {**TCP, "name": "one", "from": "a", "to": "b", "rtt": "50 ms"},
        {**TCP, "name": "back", "from": "b", "to": "c", "direction": "reverse"},
    ],
)


@pytest.mark.parametrize(("name", "scenario"), {"one-way": ONE_WAY, "ready": None}.items())
def test_a_network_becomes_these_commands(name: str, scenario: sojourn.Scenario | None) -> None:
    found = planned(scenario or sojourn.Scenario.load("home-network")).plan
    text = json.dumps({key: found[key] for key in ("ip", "tc", "endpoints", "watched")}, indent=1) + "\n"
    path = SNAPSHOTS / f"network-{name}.json"
    if os.environ.get("SOJOURN_RECORD"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"SOJOURN_RECORD=1 renews {path.name}"


class Routers:
    """What the namespaces of a plan do with a packet, as their routes and addresses say."""

    def __init__(self, made: Mapping[str, Any]) -> None:
        self.peers: dict[str, str] = {}
        self.homes: dict[str, str] = {}
        self.addresses: dict[str, str] = {}
        self.routes: dict[str, list[tuple[ipaddress.IPv4Network, str]]] = {}
        self.local: dict[str, list[ipaddress.IPv4Network]] = {}
        for line in made["links"]:
            words = line.split()
            near, home, far, other = words[2], words[4], words[11], words[13]
            self.peers |= {near: far, far: near}
            self.homes |= {near: home, far: other}
        for name, lines in made["ip"].items():
            self.routes[name], self.local[name] = [], []
            for line in lines:
                self._read(name, line.split())

    def _read(self, name: str, words: list[str]) -> None:
        if words[:2] == ["addr", "add"]:
            self.addresses[words[2].split("/")[0]] = words[4]
            self.local[name].append(ipaddress.IPv4Network(words[2].split("/")[0]))
        elif words[:3] == ["route", "add", "local"]:
            self.local[name].append(ipaddress.IPv4Network(words[3]))
        elif words[:2] == ["route", "add"]:
            to = "0.0.0.0/0" if words[2] == "default" else words[2]
            assert words[3] == "via"
            self.routes[name].append((ipaddress.IPv4Network(to), words[4]))

    def way(self, name: str, address: str) -> Iterator[str]:
        """Yield the devices by which a packet for an address leaves, from a namespace on."""
        to = ipaddress.IPv4Address(address)
        while not any(to in own for own in self.local[name]):
            fitting = [(net.prefixlen, via) for net, via in self.routes[name] if to in net]
            # A network at one's own door needs no route.
            doors = [via for via in self.addresses if to in ipaddress.IPv4Network(f"{via}/30", strict=False)]
            direct = [via for via in doors if self.homes[self.peers[self.addresses[via]]] == name]
            via = address if address in direct else max(fitting)[1]
            device = self.peers[self.addresses[via]]
            assert self.homes[device] == name
            yield device
            name = self.homes[self.addresses[via]]


def check_ways(job: plan.Job) -> None:
    routers = Routers(job.plan)
    places = {place.device: link for link, place in job.places.items()}
    for path in {flow.path for flow in job.flows}:
        for start, end, address, links in (
            ("snd", "rcv", path.address(1, far=True), path.to_far),
            ("rcv", "snd", path.address(1, far=False), path.to_near),
        ):
            devices = list(itertools.islice(routers.way(start, address), 200))
            assert routers.homes[routers.peers[devices[-1]]] == end
            assert [places[device] for device in devices if device in places] == list(links)
            # Once it waits for half of its flow's round-trip time, at last.
            assert devices[-1] == ("far1" if end == "rcv" else "near0")
    (ping,) = job.plan["endpoints"]["snd"]["pings"]
    assert routers.homes[routers.peers[list(routers.way("snd", ping["peer"]))[-1]]] == "rcv"
    assert routers.homes[routers.peers[list(routers.way("rcv", "192.168.1.1"))[-1]]] == "snd"


@pytest.mark.parametrize("name", ["parking-lot", "home-network"])
def test_packets_of_ready_networks_cross_the_links_of_their_routes(name: str) -> None:
    check_ways(planned(sojourn.Scenario.load(name)))


@st.composite
def random_networks(draw: st.DrawFn) -> sojourn.Scenario:
    """Up to eight links between up to five nodes, all in a ring so that there is a way, and flows between them."""
    count = draw(st.integers(2, 5))
    nodes = [f"n{index}" for index in range(count)]
    ring = [(nodes[place], nodes[(place + 1) % count]) for place in range(count)]
    pairs = st.sampled_from([(one, other) for one in nodes for other in nodes if one != other])
    ends = [*ring, *draw(st.lists(pairs, max_size=3))]
    between = draw(st.lists(pairs, min_size=1, max_size=4))
    directions = [draw(st.sampled_from(["forward", "reverse"])) for _ in between]
    tables = [{**LINK, "from": start, "to": end} for start, end in ends]
    hops = [{"name": f"link-{place}", **table} for place, table in enumerate(tables[1:])]
    groups = [
        {**TCP, "name": f"group-{place}", "from": start, "to": end, "direction": direction}
        for place, ((start, end), direction) in enumerate(zip(between, directions, strict=True))
    ]
    return network(bottleneck=tables[0], hop=hops, group=groups)


@settings(max_examples=60, deadline=None)
@given(random_networks())
def test_packets_of_any_network_cross_the_links_of_their_routes(scenario: sojourn.Scenario) -> None:
    check_ways(planned(scenario))


def test_flows_of_one_group_take_their_own_ways() -> None:
    homes = network(
        bottleneck={**LINK, "from": "a", "to": "b"},
        hop=[{**LINK, "name": "down", "count": 3, "from": "b", "to": "home-*"}],
        group=[{**TCP, "name": "downloads", "flows": 6, "from": "a", "to": "home-*"}],
    )
    job = planned(homes)
    check_ways(job)
    assert [flow.path.to_far[1] for flow in job.flows] == ["down-0", "down-1", "down-2"] * 2
    assert [flow.route.main for flow in job.flows] == ["bottleneck"] * 6
    assert len({flow.path for flow in job.flows}) == 3


def test_a_network_that_is_too_large_says_how_large_it_may_be() -> None:
    with pytest.raises(sojourn.InputError) as raised:
        sojourn.Scenario.load("access-concentrator").fit("linux")
    first, *others = str(raised.value).splitlines()
    assert first == "hop: the testbed cannot have 80 further links; allowed: 30 at most (world='sim' can)"
    assert len(others) == 1


def test_a_change_of_a_route_is_the_simulators() -> None:
    changed = network(
        bottleneck={**LINK, "from": "a", "to": "b"},
        hop=[{**LINK, "name": "longer", "from": "a", "to": "b"}],
        group=[{**TCP, "name": "tcp", "from": "a", "to": "b"}],
        change=[{"at": "1 s", "group": [{"name": "tcp", "path": "longer"}]}],
    )
    with pytest.raises(sojourn.InputError, match=r"change\.0\.group"):
        changed.fit("linux")


@pytest.fixture
def virtual() -> str:
    lacks = kernels()["uml-virtual"].missing()
    if lacks:
        pytest.skip(str(NotInstalledError("uml-virtual", lacks)))
    return "uml-virtual"


@pytest.mark.testbed
def test_trains_over_two_ways_do_what_is_simulated(virtual: str) -> None:
    """Trains cross other links there and back, one of which both ways share; every packet's fate is compared."""
    train = {"kind": "train", "count": 30, "every": "1 s", "repeat": 2}
    links = {
        "bottleneck": ("a", "b", "4 Mbit/s", 11),
        "narrow": ("b", "c", "1300 kbit/s", 5),
        "around": ("c", "a", "2100 kbit/s", 7),
        "other": ("a", "c", "3700 kbit/s", 5),
    }
    tables = {
        name: {"from": start, "to": end, "rate": rate, "delay": "3 ms", "queue": {**PFIFO, "limit": f"{limit} packets"}}
        for name, (start, end, rate, limit) in links.items()
    }
    scenario = network(
        duration="3 s",
        bottleneck=tables.pop("bottleneck"),
        hop=[{"name": name, **table} for name, table in tables.items()],
        group=[
            {"name": "long", "path": ["bottleneck", "narrow"], "rtt": "20 ms", "traffic": train},
            {"name": "short", "path": "other", "rtt": "30 ms", "traffic": train, "direction": "reverse"},
            {"name": "round", "path": ["around", "bottleneck"], "rtt": "80 ms", "traffic": train, "start": "400 ms"},
        ],
    )
    seen = []
    for how in ({"world": "linux", "kernel": virtual}, {}):
        result = scenario.run(packets=True, **how)
        rows = [row for row in result.packets.to_pylist() if row["event"] == "receive" and row["group"] == "long"]
        record = result.runs[0]
        drops = {name: record.hops[name].drops for name in ("narrow", "around", "other")}
        delivered = {name: round(group.goodput_mbps, 9) for name, group in record.groups.items()}
        rates = {name: record.groups[name].drop_rate for name in ("long", "short", "round")}
        seen.append((([row["seq"] for row in rows], record.bottleneck.drops, drops, delivered), rates))
    (real, its_rates), (simulated, rates) = seen
    assert real == simulated
    assert all(drops > 0 for drops in simulated[2].values())
    # Drops count wherever they were on the way. What is missing of a last train may still wait, for all that is seen.
    assert all(0.49 * rate < its_rates[name] <= rate for name, rate in rates.items())


@pytest.mark.testbed
def test_a_parking_lot_shares_as_it_is_simulated(virtual: str) -> None:
    """Under FQ-CoDel, where tail drop's phases do not decide: within 10 %, as beside ns-3."""
    links = ("bottleneck", "hop.second", "hop.third", "hop.fourth")
    changed = {f"{link}.queue": {"kind": "fq_codel", "preset": "linux"} for link in links}
    lot = sojourn.Scenario.load("parking-lot", {**changed, "duration": "30 s"})
    real, simulated = (lot.run(**how).runs[0] for how in ({"world": "linux", "kernel": virtual, "series": False}, {}))
    for name, group in simulated.groups.items():
        assert real.groups[name].goodput_mbps == pytest.approx(group.goodput_mbps, rel=0.1), name
    assert real.bottleneck.utilization > 0.95
