"""From a resolved scenario to a run between two hosts: what each side is told. Pure."""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sojourn.reading import input_error
from sojourn.worlds.hosts.admission import MAX_LOGGED, Ends, Limits, bound
from sojourn.worlds.hosts.protocol import Message
from sojourn.worlds.linux.plan import BASE_S, PROBE, PROBE_INTERVAL_S, Job
from sojourn.worlds.linux.plan.check import TCP, UDP, UTP, carried, check_sockets, endpoint_kind
from sojourn.worlds.linux.plan.flows import Flow, flows, routes_of, seconds

REMARK = (
    "the path between the hosts took the place of what the scenario says of links, queues and round-trip times; "
    "no packet was captured"
)
LOGGED_REMARK = (
    "Sojourn's own sender carried all controls over UDP, since both ends logged each packet and a socket does not see "
    "those of the kernel's TCP"
)
# Such a control has to be chosen at both ends; of any other the receiver's kernel need not know.
_BOTH_ENDS = "dctcp"
_TOKEN_BITS = 63
_ASKED = (
    "kind",
    "control",
    "transport",
    "traffic",
    "start_s",
    "stop_s",
    "dscp",
    "ecn",
    "seed",
    "token",
    "logged_packets",
)


def job(
    scenario: Mapping[str, Any], seed: int, ends: Ends, bin_s: float, remark: str = REMARK, *, packets: bool = False
) -> Job:
    """Say what flows run between the addresses; raises InputError where sockets cannot have it.

    `remark` says what took the place of the scenario's links. With `packets` no flow is the kernel's TCP.
    """
    check_sockets(scenario)
    how = {group["name"]: _logged(group) if packets else carried(group) for group in scenario["group"]}
    placed = [
        replace(flow, near=ends.local, far=ends.peer, port=ends.first_port + flow.id)
        for flow in flows(scenario, seed, how, routes_of(scenario))
    ]
    times = {"duration_s": seconds(scenario["duration"]), "warmup_s": seconds(scenario["warmup"]), "bin_s": bin_s}
    unseen = [link for link in ("bottleneck", "reverse") if link in scenario]
    return Job(times, placed, remarks=[remark, *([LOGGED_REMARK] if packets else [])], unseen=unseen)


def _logged(group: Mapping[str, Any]) -> tuple[str, Any]:
    """Return what carries a group's flows where each packet is logged; raises InputError."""
    kind = endpoint_kind(group)
    if kind == UTP:
        control = group["control"]["kind"]
        text = f"{control} is a program of its own, whose packets no end logs; allowed with packets: any other control"
        raise input_error(text, key=f"group.{group['name']}.control", found=control)
    return (UDP if kind == TCP else kind), group.get("control")


def halves(job: Job, seed: int, ends: Ends, limits: Limits, *, packets: bool = False) -> tuple[dict[str, Any], Message]:
    """Return the plan of this side without its start, and the request for the other side's, likewise.

    This side, too, keeps within the agent's rate where it can; raises RefusedError. With `packets` both ends log
    theirs.
    """
    run = {key: job.plan[key] for key in ("duration_s", "bin_s")}
    room = MAX_LOGGED // len(job.flows) if packets else 0
    tokens = [secrets.randbits(_TOKEN_BITS) for _ in job.flows]
    pairs = [_ends(flow, seed, token, room) for flow, token in zip(job.flows, tokens, strict=True)]
    near = [one for one, _ in pairs]
    bound(near, limits)
    asked = [
        {"direction": "forward" if flow.forward else "reverse", **{key: far[key] for key in _ASKED}}
        for flow, (_, far) in zip(job.flows, pairs, strict=True)
    ]
    ping = {"id": PROBE, "peer": ends.peer, "interval_s": PROBE_INTERVAL_S, "start_s": -BASE_S}
    return {**run, "common_clock": False, "flows": near, "pings": [ping]}, {**run, "flows": asked}


def _ends(flow: Flow, seed: int, token: int, room: int) -> tuple[dict[str, Any], dict[str, Any]]:
    def told(end: dict[str, Any]) -> dict[str, Any]:
        is_idle = flow.kind == TCP and end["role"] == "receive" and end["control"] != _BOTH_ENDS
        # Nobody sets up routes here: that the host's own setting fits is checked on the socket.
        control = None if is_idle else end["control"]
        return {**end, "ecn": flow.ecn, "token": token, "control": control, "logged_packets": room}

    near, far = flow.ends(seed)
    return told(near), told(far)
