"""What a point of the peers is in Sojourn: the settings that come nearest to what the peer does."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.common import SCENARIO
from benchmarks.peers.points import BUCKETS, MARKED_ABOVE, PeerName, Point, Senders
from sojourn.exported.ns3 import TRANSPORT

PACKET_BYTES = 1500
STREAMS = SCENARIO.with_name("streams.toml")
# A flow's part of the load that its group offers is UDP in the peers, `cbr` here.
PART_1 = 0.25

# ns-3's queues count packets; the device behind them has one of `limit`.
NS3_LIMIT = "limit = '{disc} packets'"
# {limit}: packets; {disc}: packets without the device's; {bytes}: of full-size packets; {own}: empty, or a limit.
QUEUES: Mapping[tuple[PeerName, str], str] = {
    ("ns2", "droptail"): "kind = 'droptail', preset = 'ns2', limit = '{limit} packets'",
    ("ns2", "red"): "kind = 'red', preset = 'ns2', limit = '{limit} packets'",
    ("ns2", "sfq"): f"kind = 'sfq', preset = 'ns2', buckets = {BUCKETS}, perfect = true{{own_packets}}",
    ("ns2", "drr"): f"kind = 'drr', preset = 'ns2', buckets = {BUCKETS}, perfect = true{{own_bytes}}",
    ("ns3", "droptail"): f"kind = 'droptail', {NS3_LIMIT}",
    # ns-3's RED with ns-2's values: forced drops above twice max, and a full queue leaves the count alone.
    ("ns3", "red"): (
        "kind = 'red', preset = 'ns2', limit = '{limit} packets', limit_restarts_count = false, forced = true, "
        "mark_p = 'auto', ecn = {ecn}, harddrop = true"
    ),
    ("ns3", "step"): (
        f"kind = 'red', {NS3_LIMIT}, min = '{MARKED_ABOVE - 1} packets', max = '{MARKED_ABOVE} packets', weight = 1, "
        "gentle = false, ecn = {ecn}"
    ),
    ("ns3", "ared"): f"kind = 'ared', preset = 'ns3', {NS3_LIMIT}",
    ("ns3", "codel"): f"kind = 'codel', preset = 'ns3', {NS3_LIMIT}, ecn = {{ecn}}",
    ("ns3", "fq_codel"): f"kind = 'fq_codel', preset = 'ns3', {NS3_LIMIT}, perfect = true, ecn = {{ecn}}",
    ("ns3", "pie"): f"kind = 'pie', preset = 'ns3', {NS3_LIMIT}, ecn = {{ecn}}",
    ("ns3", "fq_pie"): f"kind = 'fq_pie', preset = 'ns3', {NS3_LIMIT}, perfect = true",
    ("ns3", "cobalt"): f"kind = 'cobalt', preset = 'ns3', {NS3_LIMIT}",
}

# ns-3's sender: SACK, a round-trip sample from every acknowledgement, a clock of 1 ms, 1 s before the first sample.
# With its own settings it is what `sojourn export --as ns3` says.
TRANSPORTS: Mapping[tuple[PeerName, Senders], str] = {
    ("ns2", "alike"): "preset = 'ns2'",
    ("ns3", "alike"): "preset = 'ns2', sack = true, timestamps = true, timers = 'rfc', initial_rto = '1 s'",
    ("ns3", "defaults"): ", ".join(f"{key} = '{value}'" for key, value in TRANSPORT.items()),
}
NEWRENO: Mapping[PeerName, str] = {
    "ns2": "kind = 'newreno', preset = 'ns2'",
    "ns3": "kind = 'newreno', preset = 'ns3'",
}
# The controls of group 2, in the peer's name. Agent/TCP/Linux has SACK and a sample from every acknowledgement. Its
# modules are those of Linux 2.6.22: CUBIC leaves 819/1024 of the window and has no HyStart.
LINUX_AGENT = "preset = 'ns2', sack = true, timestamps = true"
CONTROLS: Mapping[str, str] = {
    "linux:cubic": "kind = 'cubic', preset = 'linux', hystart = 'off', beta = 0.7998046875",
    "linux:vegas": "kind = 'vegas', preset = 'linux-2.6.22'",
    "linux:westwood": "kind = 'westwood', preset = 'linux'",
    "linux:compound": "kind = 'compound', preset = 'ns2'",
    "linux:lp": "kind = 'tcp_lp', preset = 'ns2'",
    "cubic": "kind = 'cubic', preset = 'ns3'",
    "vegas": "kind = 'vegas', preset = 'ns3'",
    "westwood": "kind = 'westwood', preset = 'ns3'",
    "dctcp": "kind = 'dctcp', preset = 'ns3'",
    "ledbat": "kind = 'ledbat', preset = 'ns3'",
    "lp": "kind = 'tcp_lp', preset = 'ns3'",
    "bbr": "kind = 'bbr', preset = 'ns3'",
}


def scenario(point: Point) -> Path:
    """Return the file that a point is a variation of."""
    return STREAMS if point.load > 0 else SCENARIO


def settings(peer: PeerName, point: Point) -> list[str]:
    """Return the overrides of the scenario that make it this point of this peer."""
    return [
        f"duration={point.duration_s} s",
        f"warmup={point.warmup_s} s",
        f"bottleneck.rate={point.rate_bps / 1e3:g} kbit/s",
        f"bottleneck.queue={{ {_queue(peer, point)} }}",
        *(
            f"group.{group}.{setting}"
            for group, flows in (("one", point.flows_1), ("two", point.flows_2))
            for setting in (f"flows={flows}", f"rtt={_rtt_s(peer, point) * 1e3:g} ms", *_sender(peer, point, group))
        ),
    ]


def _queue(peer: PeerName, point: Point) -> str:
    limit = point.limit_packets
    return QUEUES[peer, point.queue].format(
        limit=limit,
        disc=limit - 1,
        ecn=str(point.ecn).lower(),
        own_packets=f", limit = '{limit} packets'" if limit else "",
        own_bytes=f", limit = '{limit * PACKET_BYTES} B'" if limit else "",
    )


def _rtt_s(peer: PeerName, point: Point) -> float:
    """Return the base RTT: the packet that ns-3's device holds behind the discipline is a part of the path here."""
    return point.rtt_s + (PACKET_BYTES * 8 / point.rate_bps if peer == "ns3" else 0.0)


def _sender(peer: PeerName, point: Point, group: str) -> Iterator[str]:
    if point.load > 0:
        part, flows = (PART_1, point.flows_1) if group == "one" else (1.0 - PART_1, point.flows_2)
        rate = part * point.load * point.rate_bps / flows
        yield f"traffic={{ kind = 'cbr', rate = '{rate / 1e3:.6f} kbit/s' }}"
        return
    newreno = group == "one" or point.other == "newreno"
    control = NEWRENO[peer] if newreno else CONTROLS[point.other]
    transport = LINUX_AGENT if not newreno and point.other.startswith("linux:") else TRANSPORTS[peer, point.senders]
    if point.ecn:
        transport += ", ecn = 'accurate'" if control.startswith("kind = 'dctcp'") else ", ecn = true"
    yield f"control={{ {control} }}"
    yield f"transport={{ {transport} }}"
