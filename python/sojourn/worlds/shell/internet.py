"""The way to the Internet: answers at the far end of the path for every address, and passes on what it is sent.

It runs in the others' network. A connection of the program ends here, at a socket of this machine's kernel, so the
TCP that meets the path has the kernel's congestion control; what the program says goes on over a second connection,
from the network outside. Sockets of that network come through the door, a socket to whoever made the namespaces.

The kernel hands over connections and datagrams to any address by TPROXY (Documentation/networking/tproxy.rst).
"""

import asyncio
import errno
import fcntl
import ipaddress
import itertools
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine

# include/uapi/linux/in.h, include/uapi/linux/in6.h
_IP_TRANSPARENT, _IP_ORIGINAL = 19, 20
_IPV6_TRANSPARENT, _IPV6_ORIGINAL = 75, 74
_OPTIONS = {
    socket.AF_INET: (socket.SOL_IP, _IP_TRANSPARENT, _IP_ORIGINAL),
    socket.AF_INET6: (socket.IPPROTO_IPV6, _IPV6_TRANSPARENT, _IPV6_ORIGINAL),
}
_MARKS = {
    socket.AF_INET: (socket.IPPROTO_IP, socket.IP_RECVTOS, socket.IP_TOS),
    socket.AF_INET6: (socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, socket.IPV6_TCLASS),
}
"""How a socket is asked to say the ECN field and the code point of a datagram, and how it says and takes them."""
_SAID = {(level, kind) for level, _, kind in _MARKS.values()}
_KINDS = {socket.SOCK_STREAM: "tcp", socket.SOCK_DGRAM: "udp"}
_TABLE, _ASIDE = 77, 78
"""Routing tables: in one every address is this network's own, in the other all goes to the waiting room."""
_WAITING = "sojourn2"
"""The device of the waiting room."""
_ASIDE_MARK, _HERE_MARK = _ASIDE, _TABLE
"""What nft writes on packets that go to the waiting room, and on those that are for this network."""
# include/uapi/linux/if_tun.h
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_TCP, _TCP_BYTES, _SYN, _RST, _ACK = 6, 20, 2, 4, 16
_TTL = 64
_DNS_PORT = 53
# RFC 3849: of no host, so that asking for a way there asks for any.
_NO_HOST = ("2001:db8::1", _DNS_PORT)
_CHUNK_BYTES = 1 << 16
_MOST_BYTES = 65_535
_CONTROL_BYTES = 256
_TURN = 64
"""Datagrams of a flow before others have their turn."""
_IDLE_S = 120.0
"""After so long without a datagram a flow is forgotten (RFC 4787, REQ-5: at least two minutes)."""
_SWEEP_S = 10.0
_CROWDED_S = 0.1
_TAKEN_S = 10.0
"""After so long a connection outside is closed that the program did not complete its own for."""

Address = tuple[str, int]


@dataclass(frozen=True)
class Place:
    """Where packets come from, which addresses are not the Internet's, and who knows names."""

    device: str
    own: tuple[str, str]
    """The IPv4 and IPv6 address of this end: only questions for names are passed on from there."""
    resolver: str

    def beyond(self, to: Address) -> Address:
        """Return where something goes on to; raises PermissionError for this machine's loopback and for no host."""
        if to[0] in self.own:
            return self.resolver, to[1]
        address = ipaddress.ip_address(to[0].partition("%")[0])
        address = getattr(address, "ipv4_mapped", None) or address
        if address.is_loopback or address.is_unspecified or address.is_multicast:
            raise PermissionError(f"{address} is not passed on")
        return to


@dataclass(frozen=True)
class Door:
    """Where sockets of the network outside are had."""

    asked: socket.socket

    def socket(self, to: Address, kind: socket.SocketKind) -> socket.socket:
        """Return a socket of the network outside that can reach an address; raises OSError."""
        family = socket.AF_INET6 if ":" in to[0] else socket.AF_INET
        self.asked.sendall(struct.pack("ii", family, kind))
        said, files, _, _ = socket.recv_fds(self.asked, _CONTROL_BYTES, 1)
        if not files:
            raise OSError(said.decode(errors="replace") or "nobody is outside")
        found = socket.socket(fileno=files[0])
        found.setblocking(False)
        return found


def main() -> None:
    """Serve until killed: the numbers of the door and of where to say that it serves, and a `Place` as JSON."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    door = Door(socket.socket(fileno=int(sys.argv[1])))
    asker = int(sys.argv[2])
    device, own, resolver = json.loads(sys.argv[3])
    listeners: list[socket.socket] = []
    room = -1
    said: dict[str, bool | str] = {}
    try:
        room = _waiting_room(device)
        listeners, said = _listeners(device, own), {"ipv6": _leads_to(door, _NO_HOST)}
    except subprocess.CalledProcessError as error:
        said["error"] = f"{error.cmd[0]}: {_first_line(error.stderr)}"
    except OSError as error:
        said["error"] = str(error)
    os.write(asker, json.dumps(said).encode())
    os.close(asker)
    if listeners:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        place = Place(device, tuple(own), resolver)
        asyncio.run(_serve(listeners, Datagrams(door, place), Connections(door, place, room)))


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or ["it says no more"])[0]


def _leads_to(door: Door, to: Address) -> bool:
    """Whether the network outside has a route; no packet is sent."""
    try:
        with door.socket(to, socket.SOCK_DGRAM) as probe:
            probe.connect(to)
    except OSError:
        return False
    return True


def rules(device: str, own: tuple[str, str], ports: dict[tuple[str, str], int]) -> str:
    """Return what nft is to do: hand over what comes over the path, but what is for a server at this end.

    What asks for a connection goes to the waiting room first. `ports` are those of the listeners, by "ip" or "ip6" and
    "tcp" or "udp".
    """
    ours = [f"{ip} daddr {address} {l4} dport != {_DNS_PORT} accept" for ip, address, l4 in _each(own)]
    aside = [
        f'iifname "{device}" tcp flags & (syn | ack) == syn meta mark set {_ASIDE_MARK} accept',
        f'iifname "{_WAITING}" tcp flags & (syn | ack) != syn accept',
    ]
    handed = [
        f"meta l4proto {l4} tproxy {ip} to :{port} meta mark set {_HERE_MARK} accept"
        for (ip, l4), port in ports.items()
    ]
    lines = "\n".join([f'iifname != {{ "{device}", "{_WAITING}" }} accept', *ours, *aside, *handed])
    return (
        "table inet sojourn {\nchain arriving {\ntype filter hook prerouting priority mangle; policy accept;\n"
        f"{lines}\n}}\n}}\n"
    )


def _each(own: tuple[str, str]) -> list[tuple[str, str, str]]:
    return [(ip, address, l4) for ip, address in zip(("ip", "ip6"), own, strict=True) for l4 in _KINDS.values()]


def _listeners(device: str, own: tuple[str, str]) -> list[socket.socket]:
    """Have the kernel hand over what arrives, and return the sockets that it is handed to."""
    made, ports = [], {}
    for family, ip in ((socket.AF_INET, "ip"), (socket.AF_INET6, "ip6")):
        version = "-6" if family == socket.AF_INET6 else "-4"
        for kind, l4 in _KINDS.items():
            one = _transparent(family, kind)
            one.bind(("", 0))
            ports[ip, l4] = one.getsockname()[1]
            if kind == socket.SOCK_STREAM:
                one.listen(socket.SOMAXCONN)
            made.append(one)
        # What else there is, such as a ping, finds nobody but this end.
        _run("ip", version, "route", "add", "local", "default", "dev", "lo", "table", str(_TABLE))
        for mark, table in ((_ASIDE_MARK, _ASIDE), (_HERE_MARK, _TABLE)):
            _run("ip", version, "rule", "add", "fwmark", str(mark), "lookup", str(table))
        _run("ip", version, "route", "add", "default", "dev", _WAITING, "table", str(_ASIDE))
    _run("nft", "-f", "-", said=rules(device, own, ports))
    return made


def _waiting_room(device: str) -> int:
    """Make a device that what asks for a connection is read from, and written to again; its file."""
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    fcntl.ioctl(file, _TUNSETIFF, struct.pack("16sH22x", _WAITING.encode(), _IFF_TUN | _IFF_NO_PI))
    _run("ip", "link", "set", _WAITING, "up")
    # What is written there has any source, and goes on to the program.
    off = [f"ipv4/conf/{name}/rp_filter" for name in ("all", device, _WAITING)]
    for switch in (*off, "ipv4/ip_forward", "ipv6/conf/all/forwarding"):
        Path("/proc/sys/net", switch).write_text("0" if switch in off else "1", encoding="ascii")
    return file


def _run(*words: str, said: str | None = None) -> None:
    subprocess.run(words, input=said, check=True, capture_output=True, text=True)


def _transparent(family: socket.AddressFamily, kind: socket.SocketKind) -> socket.socket:
    """Return a socket that may have any address."""
    level, transparent, original = _OPTIONS[family]
    one = socket.socket(family, kind)
    if family == socket.AF_INET6:
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.setsockopt(level, transparent, 1)
    if kind == socket.SOCK_DGRAM:
        one.setsockopt(level, original, 1)
        _have_marks(one)
    one.setblocking(False)
    return one


def _have_marks(one: socket.socket) -> None:
    level, asks, _ = _MARKS[one.family]
    one.setsockopt(level, asks, 1)


def _send(one: socket.socket, data: bytes, said: list[tuple[int, int, bytes]]) -> None:
    """Send a datagram with the ECN field and the code point that it came with; raises OSError."""
    marks = (data[0] for level, kind, data in said if (level, kind) in _SAID)
    level, _, takes = _MARKS[one.family]
    one.sendmsg([data], [(level, takes, struct.pack("i", next(marks, 0)))])


async def _serve(listeners: list[socket.socket], datagrams: "Datagrams", connections: "Connections") -> None:
    loop = asyncio.get_running_loop()
    for one in listeners:
        if one.type == socket.SOCK_DGRAM:
            loop.add_reader(one, datagrams.begin, one)
    loop.add_reader(connections.room, connections.ask)
    streams = [one for one in listeners if one.type == socket.SOCK_STREAM]
    await asyncio.gather(datagrams.sweep(), *(connections.accept(one) for one in streams))


@dataclass(frozen=True)
class Syn:
    """A packet that asks for a connection (RFC 9293 section 3.5)."""

    packet: bytes
    source: Address
    to: Address
    sequence: int

    @classmethod
    def read(cls, packet: bytes) -> "Syn | None":
        """Return what a packet of IP asks for; None where it does not."""
        six = packet[:1] >= b"\x60"
        at = 40 if six else 4 * (packet[0] & 15) if packet else 0
        if len(packet) < at + _TCP_BYTES or packet[6 if six else 9] != _TCP or not packet[at + 13] & _SYN:
            return None
        family, places = (socket.AF_INET6, (8, 24, 40)) if six else (socket.AF_INET, (12, 16, 20))
        source, to = (socket.inet_ntop(family, packet[a:b]) for a, b in itertools.pairwise(places))
        ports = struct.unpack_from("!HHI", packet, at)
        return cls(packet, (source, ports[0]), (to, ports[1]), ports[2])

    def refusal(self) -> bytes:
        """Return the packet that refuses it: RST, with the acknowledgement of the SYN (RFC 9293 section 3.10.7.1)."""
        six = ":" in self.to[0]
        family = socket.AF_INET6 if six else socket.AF_INET
        ends = b"".join(socket.inet_pton(family, one) for one in (self.to[0], self.source[0]))
        said = (self.to[1], self.source[1], 0, (self.sequence + 1) % 2**32, _TCP_BYTES // 4 << 4, _RST | _ACK, 0)

        def segment(checksum: int) -> bytes:
            return struct.pack("!HHIIBBHHH", *said, checksum, 0)

        tcp = segment(_checksum(ends + struct.pack("!HH", _TCP, _TCP_BYTES) + segment(0)))
        if six:
            return struct.pack("!IHBB", 6 << 28, _TCP_BYTES, _TCP, _TTL) + ends + tcp
        words = (0x45, 0, 20 + _TCP_BYTES, 0, 0, _TTL, _TCP)
        head = struct.pack("!BBHHHBBH", *words, _checksum(struct.pack("!BBHHHBBH", *words, 0) + ends))
        return head + ends + tcp


def _checksum(data: bytes) -> int:
    """Return the checksum of the Internet (RFC 1071)."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@dataclass
class Connections:
    """All connections: each is made outside before the program's own one is taken, and refused where that is."""

    door: Door
    place: Place
    room: int
    """The waiting room."""
    far: dict[tuple[Address, Address], socket.socket | None] = field(default_factory=dict)
    """Sockets outside by where the program asks from and for whom; None until the other side has said something."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def ask(self) -> None:
        """Take what asks for a connection."""
        with suppress(OSError):
            while packet := os.read(self.room, _MOST_BYTES):
                if (syn := Syn.read(packet)) and (syn.source, syn.to) not in self.far:
                    self.far[syn.source, syn.to] = None
                    self._begin(self._connect(syn))

    def _begin(self, what: "Coroutine[Any, Any, None]") -> None:
        task = asyncio.get_running_loop().create_task(what)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _connect(self, syn: Syn) -> None:
        """Connect outside, and let the program's packet go on; where that fails answer as the other side did."""
        loop, key = asyncio.get_running_loop(), (syn.source, syn.to)
        try:
            to = self.place.beyond(syn.to)
            far = self.door.socket(to, socket.SOCK_STREAM)
            try:
                await loop.sock_connect(far, to)
            except OSError:
                far.close()
                raise
        except OSError as error:
            del self.far[key]
            # Where nobody answers there, nobody answers here.
            if error.errno != errno.ETIMEDOUT:
                self._write(syn.refusal())
            return
        self.far[key] = far
        self._write(syn.packet)
        await asyncio.sleep(_TAKEN_S)
        if self.far.get(key) is far:
            del self.far[key]
            far.close()

    def _write(self, packet: bytes) -> None:
        with suppress(OSError):
            os.write(self.room, packet)

    async def accept(self, listener: socket.socket) -> None:
        """Take the program's connections, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                near, source = await loop.sock_accept(listener)
            except OSError:
                # No file is free: it waits in the kernel.
                await asyncio.sleep(_CROWDED_S)
                continue
            if far := self.far.pop((source[:2], near.getsockname()[:2]), None):
                self._begin(_carry(near, far))
            else:
                _break(near)
                near.close()


async def _carry(near: socket.socket, far: socket.socket) -> None:
    """Carry a connection both ways until both have ended; where one breaks, so does the other."""
    with near, far:
        for one in (near, far):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ways = {asyncio.ensure_future(_copy(near, far)), asyncio.ensure_future(_copy(far, near))}
        try:
            ended, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_EXCEPTION)
            for way in ended:
                way.result()
        except OSError:
            _break(near)
            _break(far)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)


async def _copy(source: socket.socket, to: socket.socket) -> None:
    loop, room = asyncio.get_running_loop(), memoryview(bytearray(_CHUNK_BYTES))
    while count := await loop.sock_recv_into(source, room):
        await loop.sock_sendall(to, room[:count])
    to.shutdown(socket.SHUT_WR)


def _break(one: socket.socket) -> None:
    """Have a connection end with a reset when it is closed, since its other half did not end well."""
    with suppress(OSError):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@dataclass
class Flow:
    """Datagrams between the program and an address outside."""

    near: socket.socket
    far: socket.socket
    last_s: float


@dataclass
class Datagrams:
    """All flows of datagrams: each has a socket with the address that the program sent to, and one outside."""

    door: Door
    place: Place
    flows: dict[tuple[Address, Address], Flow] = field(default_factory=dict)
    """By where the program sent from, and where to."""

    def begin(self, listener: socket.socket) -> None:
        """Take datagrams of flows that have no socket of their own yet; the kernel gives later ones to that."""
        for _ in range(_TURN):
            try:
                data, said, _, source = listener.recvmsg(_MOST_BYTES, _CONTROL_BYTES)
            except OSError:
                return
            with suppress(OSError):
                _send(self._flow(listener.family, source, _original(said)).far, data, said)

    def _flow(self, family: socket.AddressFamily, source: Address, to: Address) -> Flow:
        # Some datagrams came before the flow had its socket.
        if flow := self.flows.get((source, to)):
            return flow
        beyond = self.place.beyond(to)
        far = self.door.socket(beyond, socket.SOCK_DGRAM)
        near = _transparent(family, socket.SOCK_DGRAM)
        try:
            _have_marks(far)
            far.connect(beyond)
            near.bind(to)
            near.connect(source)
        except OSError:
            near.close()
            far.close()
            raise
        loop = asyncio.get_running_loop()
        flow = self.flows[source, to] = Flow(near, far, loop.time())
        loop.add_reader(near, _pass_on, flow, near, far)
        loop.add_reader(far, _pass_on, flow, far, near)
        return flow

    async def sweep(self) -> None:
        """Forget flows that have ended, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_SWEEP_S)
            ended = [key for key, flow in self.flows.items() if loop.time() - flow.last_s > _IDLE_S]
            for flow in map(self.flows.pop, ended):
                for one in (flow.near, flow.far):
                    loop.remove_reader(one)
                    one.close()


def _pass_on(flow: Flow, source: socket.socket, to: socket.socket) -> None:
    flow.last_s = asyncio.get_running_loop().time()
    for _ in range(_TURN):
        try:
            data, said, _, _ = source.recvmsg(_MOST_BYTES, _CONTROL_BYTES)
        except OSError:
            # Nothing is there, or a datagram before was refused.
            return
        # As a router does where there is no room or no way.
        with suppress(OSError):
            _send(to, data, said)


def _original(said: list[tuple[int, int, bytes]]) -> Address:
    """Return where a datagram was sent to; raises OSError where the kernel does not say."""
    for level, kind, data in said:
        if (level, kind) == (socket.SOL_IP, _IP_ORIGINAL):
            return socket.inet_ntop(socket.AF_INET, data[4:8]), int.from_bytes(data[2:4], "big")
        if (level, kind) == (socket.IPPROTO_IPV6, _IPV6_ORIGINAL):
            return socket.inet_ntop(socket.AF_INET6, data[8:24]), int.from_bytes(data[2:4], "big")
    raise OSError("a datagram without its address")


if __name__ == "__main__":
    main()
