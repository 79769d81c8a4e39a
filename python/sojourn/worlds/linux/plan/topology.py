"""Namespaces, links and addresses, and the commands that make them.

Senders and receivers are in `snd` and `rcv`; near is the side of `snd`, far that of `rcv`. Between them is a row of
namespaces for a chain of links (`row`), a graph for links that form a network (`graph`). A packet comes to a link's
queue and then, in the next namespace, to its delay, jitter and loss: what delays must not come first, since with
`--shaper device` it has the link's rate, and all would wait there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sojourn.worlds.linux.plan.flows import Path

NEAR, FAR, ANY = "10.0.0.0/9", "10.128.0.0/9", "0.0.0.0/0"
PROBING = "192.168.1.0/30"
"""Of the first wire, whose near end the probe is sent from."""


@dataclass(frozen=True)
class Place:
    """Where a link of the scenario is."""

    far: bool
    """Whether its packets leave its namespaces by their second devices; in a row, those lead to the far addresses."""
    router: str
    """The namespace of its queue."""
    wire: str
    """The namespace of its delay, jitter and loss."""
    captures: tuple[str, str]
    """What the captures before and behind its queue are called."""
    toward: str
    """The network that it leads to."""
    has_rtts: bool = False
    """Whether packets are delayed behind it for their flows' round-trip times, too."""

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


@dataclass(frozen=True)
class Layout:
    """The namespaces of a scenario, and what connects them."""

    namespaces: Sequence[str]
    """The first has the senders, the last the receivers."""
    wires: Sequence[tuple[str, str]]
    """The devices at both ends; the first wire is that of the senders, the last that of the receivers."""
    routes: Mapping[str, Sequence[tuple[str, str]]]
    """For each namespace between the first and the last: networks, and the device by which packets leave for them."""
    places: Mapping[str, Place]
    """Where each link is, by its name."""
    pauses: Mapping[str, Place]
    """Where packets are delayed for their flows' round-trip times beside the links."""
    has_one_ways: bool
    """Whether packets of a path may return another way than they came."""

    @property
    def devices(self) -> dict[str, list[str]]:
        """The devices of each namespace."""
        found: dict[str, list[str]] = {name: [] for name in self.namespaces}
        for wire in self.wires:
            for device in wire:
                found[home(device)].append(device)
        return found


# No packet but the experiment's: no router solicitations, no neighbour discovery.
_QUIET = {"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"}
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


def links(layout: Layout) -> list[str]:
    """Return the lines for `ip -batch` that make the wires between the namespaces."""
    macs = _macs(layout)
    return [
        f"link add {near} netns {home(near)} address {macs[near]} type veth "
        f"peer name {far} netns {home(far)} address {macs[far]}"
        for near, far in layout.wires
    ]


def settings(layout: Layout, hosts: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the kernel settings of each namespace; `hosts` are those that a scenario asks of senders and receivers."""
    first, last = layout.namespaces[0], layout.namespaces[-1]
    made = {}
    for name, devices in layout.devices.items():
        between = {"net.ipv4.ip_forward": "1"}
        if layout.has_one_ways:
            # The kernel would take the larger of the two.
            between |= {f"net.ipv4.conf.{device}.rp_filter": "0" for device in ("all", *devices)}
        made[name] = {**_QUIET, **({**_HOST, **hosts} if name in {first, last} else between)}
    return made


def addresses(layout: Layout, paths: Sequence[Path]) -> dict[str, list[str]]:
    """Return for each namespace the lines for `ip -batch`.

    Neighbours are entered by hand: an ARP request would wait in the queue under test, and be given up for lost there.
    """
    macs = _macs(layout)
    lines = {
        name: ["link set lo up", *(f"link set {device} up" for device in known)]
        for name, known in layout.devices.items()
    }
    others: dict[str, str] = {}
    for number, (near, far) in enumerate(layout.wires, start=1):
        for device, host, other in ((near, 1, far), (far, 2, near)):
            others[device] = f"192.168.{number}.{3 - host}"
            lines[home(device)] += [
                f"addr add 192.168.{number}.{host}/30 dev {device}",
                f"neigh add {others[device]} lladdr {macs[other]} dev {device} nud permanent",
            ]
    senders, receivers = layout.wires[0][0], layout.wires[-1][1]
    lines["snd"].append(f"route add local {NEAR} dev lo")
    lines["rcv"] += [f"route add local {FAR} dev lo", f"route add {PROBING} via {others[receivers]}"]
    for name, routes in layout.routes.items():
        lines[name] += [f"route add {network} via {others[device]}" for network, device in routes]
    for path in paths:
        # A socket cannot ask for ECN; a route can.
        feature = " features ecn" if path.ecn else ""
        lines["snd"].append(f"route add {path.far} via {others[senders]}{feature}")
        lines["rcv"].append(f"route add {path.near} via {others[receivers]}{feature}")
    return lines


def home(device: str) -> str:
    """Return the namespace of a device: the names of namespaces do not end in a digit.

    >>> home("wire12")
    'wire'
    """
    return device.rstrip("0123456789")


def _macs(layout: Layout) -> dict[str, str]:
    order = [device for wire in layout.wires for device in wire]
    return {
        device: f"02:00:00:00:{number >> 8:02x}:{number & 0xFF:02x}" for number, device in enumerate(order, start=1)
    }
