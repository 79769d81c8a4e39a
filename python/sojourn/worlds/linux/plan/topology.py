"""Namespaces, links and addresses, and the commands that make them.

::

    snd  snd0 ──── rtr0  rtr  rtr1 ──── delay0  delay  delay1 ──── rcv0  rcv
         senders         the return     the bottleneck   delay, jitter     receivers
                         link's queue   and its queue    and loss

Near is the side of `snd`, far that of `rcv`. Nothing delays packets in the namespace of the queues, nothing queues
them in that of the delays, so that neither disturbs the other.
"""

from collections.abc import Mapping, Sequence

from sojourn.worlds.linux.plan.flows import Path

NAMESPACES = ("snd", "rtr", "delay", "rcv")
_LINKS = (("snd0", "rtr0"), ("rtr1", "delay0"), ("delay1", "rcv0"))
_NEAR, _FAR = "10.0.0.0/9", "10.128.0.0/9"
_PROBING = "192.168.1.0/30"
DEVICES = {"snd": ("snd0",), "rtr": ("rtr0", "rtr1"), "delay": ("delay0", "delay1"), "rcv": ("rcv0",)}

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


def links() -> list[str]:
    """Return the lines for `ip -batch` that make the links across the namespaces."""
    return [
        f"link add {near} netns {_home(near)} address {_mac(near)} type veth "
        f"peer name {far} netns {_home(far)} address {_mac(far)}"
        for near, far in _LINKS
    ]


def settings(hosts: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the kernel settings of each namespace; `hosts` are those that a scenario asks of senders and receivers."""
    of_hosts = {**_HOST, **hosts}
    return {name: {**_QUIET, **(of_hosts if name in {"snd", "rcv"} else _FORWARD)} for name in NAMESPACES}


def addresses(paths: Sequence[Path]) -> dict[str, list[str]]:
    """Return for each namespace the lines for `ip -batch`.

    Neighbours are entered by hand: an ARP request would wait in the queue under test, and be given up for lost there.
    """
    lines = {name: ["link set lo up", *(f"link set {device} up" for device in DEVICES[name])] for name in NAMESPACES}
    for number, (near, far) in enumerate(_LINKS, start=1):
        for device, host, other in ((near, 1, far), (far, 2, near)):
            lines[_home(device)] += [
                f"addr add 192.168.{number}.{host}/30 dev {device}",
                f"neigh add 192.168.{number}.{3 - host} lladdr {_mac(other)} dev {device} nud permanent",
            ]
    lines["snd"].append(f"route add local {_NEAR} dev lo")
    lines["rcv"] += [f"route add local {_FAR} dev lo", f"route add {_PROBING} via 192.168.3.1"]
    lines["rtr"] += [f"route add {_NEAR} via 192.168.1.1", f"route add {_FAR} via 192.168.2.2"]
    lines["delay"] += [f"route add {net} via 192.168.2.1" for net in (_NEAR, _PROBING)]
    lines["delay"] += [f"route add {_FAR} via 192.168.3.2"]
    for path in paths:
        # A socket cannot ask for ECN; a route can.
        feature = " features ecn" if path.ecn else ""
        lines["snd"].append(f"route add {path.far} via 192.168.1.2{feature}")
        lines["rcv"].append(f"route add {path.near} via 192.168.3.1{feature}")
    return lines


def _home(device: str) -> str:
    return device.rstrip("0123456789")


def _mac(device: str) -> str:
    order = [name for pair in _LINKS for name in pair]
    return f"02:00:00:00:00:{order.index(device) + 1:02x}"
