"""From a resolved scenario to a job for a kernel: pure, so that it can be read and tested without one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.worlds.linux.plan import access, changes, shaping, topology
from sojourn.worlds.linux.plan.check import Fit, fit
from sojourn.worlds.linux.plan.flows import Flow, flows, paths, probe, seconds
from sojourn.worlds.linux.plan.shaping import How

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


def job(scenario: Mapping[str, Any], seed: int, how: How, *, bin_s: float = 0.1, ends: bool = False) -> Job:
    """Plan one run of a resolved scenario, with captures at both ends of the path where `ends` asks for them.

    Raises InputError where Linux cannot have it.
    """
    said = fit(scenario)
    all_flows = flows(scenario, seed, said.how)
    names = topology.namespaces(scenario)
    plan = {
        "namespaces": names,
        "links": topology.links(names),
        "sysctl": topology.settings(names, said.sysctl),
        "devices": topology.devices(names),
        "ip": topology.addresses(names, list(paths(scenario).values())),
        "tc": _tc(scenario, said, how, all_flows),
        "endpoints": _endpoints(scenario, seed, all_flows, bin_s, ends=ends),
        "watched": _watched(scenario),
        **({"changes": _changes(scenario, said, how)} if said.steps else {}),
        "modules": sorted({*said.modules, "sch_netem", "sch_tbf" if how.shaper == "tbf" else "sch_htb"}),
        "duration_s": seconds(scenario["duration"]),
        "warmup_s": seconds(scenario["warmup"]),
        "lead_s": BASE_S,
        "bin_s": bin_s,
    }
    remarks = [*said.remarks, *([] if how.exact_timers else [REAL_TIME])]
    return Job(plan, all_flows, said, remarks, places=topology.places(scenario))


def _tc(scenario: Mapping[str, Any], said: Fit, how: How, all_flows: list[Flow]) -> dict[str, list[str]]:
    full = said.links["bottleneck"].facts.packet_bytes
    ends = {
        "snd": access.lines("snd0", how, all_flows, full, far=False),
        "rcv": access.lines("rcv0", how, all_flows, full, far=True),
    }
    lines = {name: made for name, made in ends.items() if made}
    places = topology.places(scenario)
    for link, place in places.items():
        state = said.links[link]
        made = shaping.bottleneck(place.device, how, state.queue, state.facts, all_flows, far=place.far)
        lines.setdefault(place.router, []).extend(made)
    # Without a return link packets still take half of their round-trip time for the way back.
    back = {} if "reverse" in places else {"reverse": topology.Place(False, "fwd", "rtr", ("", ""))}
    for link, place in {**places, **back}.items():
        table, behind = changes.behind(link, said.links.get(link), how, list(paths(scenario).values()))
        lines.setdefault(place.wire, []).extend(shaping.delays(place.behind, table, *behind, far=place.far))
    return lines


def _changes(scenario: Mapping[str, Any], said: Fit, how: How) -> list[dict[str, Any]]:
    all_paths, places = list(paths(scenario).values()), topology.places(scenario)
    return [
        {
            "at_s": one.at_s,
            "link": one.link,
            "tc": changes.lines(one, places[one.link], how, all_paths),
            **({} if one.keeps_packets else {"handle": one.after.handle}),
        }
        for one in said.steps
    ]


SENT, RECEIVED = ("snd0", "out", "sent"), ("rcv0", "in", "received")
"""The captures at both ends: device, direction and name."""


def _endpoints(
    scenario: Mapping[str, Any], seed: int, all_flows: list[Flow], bin_s: float, *, ends: bool
) -> dict[str, Any]:
    run = {"duration_s": seconds(scenario["duration"]), "bin_s": bin_s}
    of_flows = [flow.ends(seed) for flow in all_flows]
    peer = probe(next(iter(paths(scenario).values())), scenario)
    ping = {"id": PROBE, "peer": peer, "interval_s": PROBE_INTERVAL_S, "start_s": -BASE_S}
    captures: dict[str, list[dict[str, str]]] = {}
    for place in topology.places(scenario).values():
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


def _watched(scenario: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return where the counters of each link's queue, and of the losses behind it, are."""
    return {
        link: {
            "namespace": place.router,
            "device": place.device,
            "handle": shaping.QUEUE_HANDLE,
            "behind": place.wire,
            "lossy": place.behind,
        }
        for link, place in topology.places(scenario).items()
    }
