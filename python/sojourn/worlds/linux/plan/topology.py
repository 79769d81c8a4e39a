"""Namespaces, links and addresses, and the commands that make them.

::

    snd  snd0 ──── rtr0     rtr     rtr1 ──── fwd0     fwd     fwd1 ──── rcv0  rcv
         senders   delay of the     queue of  queue of the     delay of        receivers
                   return link     the link   return link      the link

Near is the side of `snd`, far that of `rcv`. A packet comes to a link's queue and then, in the next namespace, to its
delay, jitter and loss, in both directions: what delays must not come first, since with `--shaper device` it has the
link's rate, and all would wait there. Each further link has two namespaces of its own, for its queue and for what is
behind it, on the side of the others on which packets cross it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sojourn.worlds.linux.plan.flows import Path

MOST_HOPS = 8
NEAR, FAR = "10.0.0.0/9", "10.128.0.0/9"
_PROBING = "192.168.1.0/30"


@dataclass(frozen=True)
class Place:
    """Where a link of the scenario is."""

    far: bool
    """Whether it leads to the far addresses."""
    router: str
    """The namespace of its queue."""
    wire: str
    """The namespace of its delay, jitter and loss."""
    captures: tuple[str, str]
    """What the captures before and behind its queue are called."""

    @property
    def device(self) -> str:
        """Where its queue is."""
        return f"{self.router}{int(self.far)}"

    @property
    def entrance(self) -> str:
        """Where packets come to the namespace of its queue."""
        return f"{self.router}{int(not self.far)}"

    @property
    def behind(self) -> str:
        """Where it delays and loses packets."""
        return f"{self.wire}{int(self.far)}"

    @property
    def toward(self) -> str:
        """The network that it leads to."""
        return FAR if self.far else NEAR


def places(scenario: Mapping[str, Any]) -> dict[str, Place]:
    """Return where each link of a resolved scenario is, by its name."""
    main = {
        "bottleneck": Place(True, "rtr", "fwd", ("before", "after")),
        "reverse": Place(False, "fwd", "rtr", ("reverse_before", "reverse_after")),
    }
    found = {name: place for name, place in main.items() if name in scenario}
    for letter, hop in zip("abcdefgh", scenario.get("hop", []), strict=False):
        name = hop["name"]
        captures = (f"hop_{letter}_before", f"hop_{letter}_after")
        found[name] = Place(hop["direction"] == "forward", f"hop{letter}", f"wire{letter}", captures)
    return found


def namespaces(scenario: Mapping[str, Any]) -> list[str]:
    """Return the namespaces from the senders to the receivers."""
    known, hops = places(scenario), scenario.get("hop", [])

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


def devices(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the devices of each of a row of namespaces."""
    between = {name: [f"{name}0", f"{name}1"] for name in names[1:-1]}
    return {names[0]: [f"{names[0]}0"], **between, names[-1]: [f"{names[-1]}0"]}


def _wires(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the near and the far end of each link across the namespaces."""
    return [(f"{near}{0 if near == names[0] else 1}", f"{far}0") for near, far in pairwise(names)]


# No packet but the experiment's: no router solicitations, no neighbour discovery.
_QUIET = {"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"}
_FORWARD = {"net.ipv4.ip_forward": "1"}
# Bufferbloat of seconds must not be bounded by a socket's buffer; a receiver's window begins small and grows by itself.
# Nothing is learnt for the next connection of the same run.
_BUFFER_BYTES = 64 << 20
# A sender's kernel tells each connection's packets by a hash of its own, which it draws anew after each timeout so that
# the connection may take another path. Between hosts nobody sees it. Here sender and router are one kernel: fq_codel,
# fq_pie and cake would believe that hash, and give the connection another queue after each timeout.
_HOST = {
    "net.core.txrehash": "0",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.tcp_ecn": "2",
    "net.ipv4.tcp_wmem": f"4096 65536 {_BUFFER_BYTES}",
    "net.ipv4.tcp_rmem": f"4096 1048576 {_BUFFER_BYTES}",
}


def links(names: Sequence[str]) -> list[str]:
    """Return the lines for `ip -batch` that make the links across a row of namespaces."""
    macs = _macs(names)
    return [
        f"link add {near} netns {_home(near)} address {macs[near]} type veth "
        f"peer name {far} netns {_home(far)} address {macs[far]}"
        for near, far in _wires(names)
    ]


def settings(names: Sequence[str], hosts: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the kernel settings of each namespace; `hosts` are those that a scenario asks of senders and receivers."""
    of_hosts = {**_HOST, **hosts}
    return {name: {**_QUIET, **(of_hosts if name in {"snd", "rcv"} else _FORWARD)} for name in names}


def addresses(names: Sequence[str], paths: Sequence[Path]) -> dict[str, list[str]]:
    """Return for each namespace the lines for `ip -batch`.

    Neighbours are entered by hand: an ARP request would wait in the queue under test, and be given up for lost there.
    """
    known, macs = devices(names), _macs(names)
    lines = {name: ["link set lo up", *(f"link set {device} up" for device in known[name])] for name in names}
    for number, (near, far) in enumerate(_wires(names), start=1):
        for device, host, other in ((near, 1, far), (far, 2, near)):
            lines[_home(device)] += [
                f"addr add 192.168.{number}.{host}/30 dev {device}",
                f"neigh add 192.168.{number}.{3 - host} lladdr {macs[other]} dev {device} nud permanent",
            ]
    last = len(names) - 1
    lines["snd"].append(f"route add local {NEAR} dev lo")
    lines["rcv"] += [f"route add local {FAR} dev lo", f"route add {_PROBING} via 192.168.{last}.1"]
    for number, name in enumerate(names[1:-1], start=1):
        back = (NEAR,) if number == 1 else (NEAR, _PROBING)
        lines[name] += [f"route add {net} via 192.168.{number}.1" for net in back]
        lines[name].append(f"route add {FAR} via 192.168.{number + 1}.2")
    for path in paths:
        # A socket cannot ask for ECN; a route can.
        feature = " features ecn" if path.ecn else ""
        lines["snd"].append(f"route add {path.far} via 192.168.1.2{feature}")
        lines["rcv"].append(f"route add {path.near} via 192.168.{last}.1{feature}")
    return lines


def _home(device: str) -> str:
    return device.rstrip("0123456789")


def _macs(names: Sequence[str]) -> dict[str, str]:
    order = [device for wire in _wires(names) for device in wire]
    return {device: f"02:00:00:00:00:{number:02x}" for number, device in enumerate(order, start=1)}
