"""From a resolved scenario to a job for a kernel: pure, so that it can be read and tested without one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn import networks
from sojourn.worlds.linux.plan import access, changes, row, shaping, topology
from sojourn.worlds.linux.plan.check import Fit, fit, links
from sojourn.worlds.linux.plan.flows import Flow, Path, distinct, flows, paths, probe, routes_of, seconds
from sojourn.worlds.linux.plan.graph import graph
from sojourn.worlds.linux.plan.shaping import How
from sojourn.worlds.linux.plan.topology import Layout

PROBE = "probe"
PROBE_INTERVAL_S = 0.2
# The paper's base is the least round-trip time; here it is taken while nothing else is on the path.
BASE_S = 2.0
REAL_TIME = (
    "time was the machine's own, so what else the machine did is in the numbers. A kernel with virtual time is exact: "
    "sojourn testbed build-kernel"
)
"""What a record says of a run in real time."""


@dataclass(frozen=True)
class Job:
    """What a kernel is to do, and what is needed to read its report."""

    plan: dict[str, Any]
    """The content of plan.json."""
    flows: list[Flow]
    fit: Fit | None = None
    """How the links are said to Linux; None where they are not."""
    remarks: Sequence[str] = ()
    """What is otherwise than the scenario says."""
    unseen: Sequence[str] = ()
    """Links at whose queues nobody stands."""
    places: Mapping[str, topology.Place] = field(default_factory=dict)
    """Where the others are, by their names."""


def job(
    scenario: Mapping[str, Any],
    seed: int,
    how: How,
    *,
    bin_s: float = 0.1,
    ends: bool = False,
) -> Job:
    """Plan one run of a resolved scenario, with captures at both ends of the path where `ends` asks for them.

    Raises InputError where Linux cannot have it.
    """
    routes, said = routes_of(scenario), fit(scenario)
    all_flows, all_paths = flows(scenario, seed, said.how, routes), distinct(paths(scenario, routes))
    tables = {name: table for name, (_, table) in links(scenario).items()}
    layout = graph(tables, all_paths) if networks.is_network(scenario) else row.row(scenario)
    plan = {
        "namespaces": layout.namespaces,
        "links": topology.links(layout),
        "sysctl": topology.settings(layout, said.sysctl),
        "devices": layout.devices,
        "ip": topology.addresses(layout, all_paths),
        "tc": _tc(layout, said, how, all_flows, all_paths),
        "endpoints": _endpoints(layout, scenario, seed, all_flows, all_paths, bin_s, ends=ends),
        "watched": _watched(layout),
        **({"changes": _changes(layout, said, how, all_paths)} if said.steps else {}),
        "modules": sorted({*said.modules, "sch_netem", "sch_tbf" if how.shaper == "tbf" else "sch_htb"}),
        "duration_s": seconds(scenario["duration"]),
        "warmup_s": seconds(scenario["warmup"]),
        "lead_s": BASE_S,
        "bin_s": bin_s,
    }
    remarks = [*said.remarks, *([] if how.exact_timers else [REAL_TIME])]
    return Job(plan, all_flows, said, remarks, places=layout.places)


def _tc(
    layout: Layout, said: Fit, how: How, all_flows: Sequence[Flow], all_paths: Sequence[Path]
) -> dict[str, list[str]]:
    full = said.links["bottleneck"].facts.packet_bytes
    ends = {
        "snd": access.lines("snd0", how, all_flows, full, far=False),
        "rcv": access.lines("rcv0", how, all_flows, full, far=True),
    }
    lines = {name: made for name, made in ends.items() if made}
    for link, place in layout.places.items():
        state = said.links[link]
        # A flow's data and its acknowledgements may cross the same link.
        ways = [(flow, far) for flow in all_flows for far in (True, False)]
        crossing = [(flow, far) for flow, far in ways if link in (flow.path.to_far if far else flow.path.to_near)]
        made = shaping.bottleneck(place.device, how, state.queue, state.facts, crossing)
        lines.setdefault(place.router, []).extend(made)
    for link, place in {**layout.places, **layout.pauses}.items():
        table, behind = changes.behind(place, said.links.get(link), how, all_paths)
        lines.setdefault(place.wire, []).extend(shaping.delays(place.behind, table, *behind, far=place.far))
    return lines


def _changes(layout: Layout, said: Fit, how: How, all_paths: Sequence[Path]) -> list[dict[str, Any]]:
    return [
        {
            "at_s": one.at_s,
            "link": one.link,
            "tc": changes.lines(one, layout.places[one.link], how, all_paths),
            **({} if one.keeps_packets else {"handle": one.after.handle}),
        }
        for one in said.steps
    ]


SENT, RECEIVED = ("snd0", "out", "sent"), ("rcv0", "in", "received")
"""The captures at both ends: device, direction and name."""


def _endpoints(
    layout: Layout,
    scenario: Mapping[str, Any],
    seed: int,
    all_flows: Sequence[Flow],
    all_paths: Sequence[Path],
    bin_s: float,
    *,
    ends: bool,
) -> dict[str, Any]:
    run = {"duration_s": seconds(scenario["duration"]), "bin_s": bin_s}
    of_flows = [flow.ends(seed) for flow in all_flows]
    peer = probe(all_paths[0], scenario)
    ping = {"id": PROBE, "peer": peer, "interval_s": PROBE_INTERVAL_S, "start_s": -BASE_S}
    captures: dict[str, list[dict[str, str]]] = {}
    for place in layout.places.values():
        before, behind = place.captures
        both = _captures((place.entrance, "in", before), (place.device, "out", behind))
        captures.setdefault(place.router, []).extend(both)
    return {
        "snd": {
            **run,
            "flows": [one for one, _ in of_flows],
            "pings": [ping],
            **({"captures": _captures(SENT)} if ends else {}),
        },
        **{router: {**run, "captures": own} for router, own in captures.items()},
        "rcv": {
            **run,
            "flows": [other for _, other in of_flows],
            **({"captures": _captures(RECEIVED)} if ends else {}),
        },
    }


def _captures(*captures: tuple[str, str, str]) -> list[dict[str, str]]:
    return [
        {"interface": device, "direction": direction, "file": f"{name}.pkts"} for device, direction, name in captures
    ]


def _watched(layout: Layout) -> dict[str, dict[str, str]]:
    """Return where the counters of each link's queue, and of the losses behind it, are."""
    return {
        link: {
            "namespace": place.router,
            "device": place.device,
            "handle": shaping.QUEUE_HANDLE,
            "behind": place.wire,
            "lossy": place.behind,
        }
        for link, place in layout.places.items()
    }
