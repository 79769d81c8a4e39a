"""What the kernel would do with a packet to an address, by its own look-up in the routing table.

Whether an address can be bound to says nothing: with net.ipv4.ip_nonlocal_bind every one can.
"""

import socket
import struct
from typing import Literal

Way = Literal["own", "one host", "many hosts", "nowhere"]

# linux/netlink.h and linux/rtnetlink.h.
_NETLINK_ROUTE = 0
_GET_ROUTE, _NEW_ROUTE = 26, 24
_REQUEST = 1
_DESTINATION = 1
_UNICAST, _LOCAL, _BROADCAST, _ANYCAST, _MULTICAST = range(1, 6)
_HEADER = struct.Struct("=IHHII")
_ROUTE = struct.Struct("=BBBBBBBBI")
_ATTRIBUTE = struct.Struct("=HH4s")
_TYPE_AT = 7
_MAX_ANSWER_BYTES = 65536
_WAYS: dict[int, Way] = {_UNICAST: "one host", _LOCAL: "own", _BROADCAST: "many hosts", _ANYCAST: "many hosts",
                         _MULTICAST: "many hosts"}  # fmt: skip


def way_to(address: str) -> Way:
    """Return where packets to an IPv4 address go: this machine, one host, several at once, or nowhere."""
    attribute = _ATTRIBUTE.pack(_ATTRIBUTE.size, _DESTINATION, socket.inet_aton(address))
    route = _ROUTE.pack(socket.AF_INET, 32, 0, 0, 0, 0, 0, 0, 0)
    size = _HEADER.size + len(route) + len(attribute)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_ROUTE) as kernel:
        kernel.send(_HEADER.pack(size, _GET_ROUTE, _REQUEST, 1, 0) + route + attribute)
        answer = kernel.recv(_MAX_ANSWER_BYTES)
    if _HEADER.unpack_from(answer)[1] != _NEW_ROUTE:
        return "nowhere"
    return _WAYS.get(_ROUTE.unpack_from(answer, _HEADER.size)[_TYPE_AT], "nowhere")
