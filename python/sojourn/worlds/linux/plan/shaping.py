"""The commands that make the links slow, long and lossy: lines for `tc -batch`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sojourn.worlds.linux.plan import classes
from sojourn.worlds.linux.plan.express import Expressed, LinkFacts
from sojourn.worlds.linux.plan.flows import Flow, Path, seconds

Shaper = Literal["htb", "tbf", "device"]
SHAPERS: tuple[Shaper, ...] = ("htb", "tbf", "device")
QUEUE_HANDLE = "10:"
MAX_DELAYS = 16
"""Bands that prio can have."""

# Rates and limits count packets as IP sees them, as they do in a simulation.
_AS_IP_BYTES = -14
_AS_IP = f"stab overhead {_AS_IP_BYTES}"
# What a late timer may make up for, as part of a full packet. In virtual time no timer is late. Where time is real one
# may be, by milliseconds: a link that lost them would be too slow, worse than two packets at once after a pause.
_EXACT_PART, _LATE_PART = 0.1, 1.0
_NO_LIMIT = 1_000_000
_NETEM = f"netem limit {_NO_LIMIT}"
# In netem a rate keeps packets in order; this one takes no time.
_IN_ORDER = "rate 1000gbit"


@dataclass(frozen=True)
class How:
    """What makes a link slow, and how well it can."""

    shaper: Shaper = "htb"
    exact_timers: bool = True
    """Whether timers are never late, as in virtual time."""


def shapes_itself(queue: Expressed) -> bool:
    """Tell whether a queue needs no shaper around it."""
    return queue.name == "cake" and "bandwidth" in queue.words


def bottleneck(
    device: str,
    how: How,
    queue: Expressed,
    link: LinkFacts,
    crossing: Sequence[tuple[Flow, bool]],
    *,
    root: str | None = None,
    stab: str = _AS_IP,
) -> list[str]:
    """Return the lines that give a device the link's rate and queue.

    `crossing` are the flows whose packets cross it, and whether they go to the far addresses there; `root` is the
    handle of what comes first there, where that matters; `stab` says what the shaper counts of a packet.
    """
    inner = " ".join([queue.name, *queue.words])
    if shapes_itself(queue):
        return [f"qdisc add dev {device} root handle {root or QUEUE_HANDLE} {inner}"]
    if queue.name == "htb":
        # One htb is the shaper and the discipline, whatever the shaper of others is.
        top, link_class = root or QUEUE_HANDLE, _class(device, root or QUEUE_HANDLE, how, link)
        made = [f"qdisc add dev {device} root handle {top} {stab} htb default {classes.rest_of(queue)}"]
        return [*made, f"class add {link_class}", *classes.shaped(device, top, f"{top}1", queue)]
    top = root or "1:"
    outer = f"qdisc add dev {device} root handle {top} {stab}"
    if how.shaper == "tbf":
        made = [f"{outer} {_bucket(link)}"]
    else:
        made = [f"{outer} htb default 1", f"class add {_class(device, top, how, link)}"]
    if queue.classes:
        return [*made, *classes.lines(device, f"{top}1", QUEUE_HANDLE, queue)]
    place = f"qdisc add dev {device} parent {top}1 handle {QUEUE_HANDLE}"
    if queue.name == "drr":
        return [*made, f"{place} drr", *_turns(device, queue, crossing)]
    return [*made, f"{place} {inner}"]


def counting(overhead_bytes: int, least_bytes: int, cells: str) -> str | None:
    """Return what tells a shaper of a link's framing (tc-stab(8)), which it counts to 4 bytes; None where it cannot.

    `cells` is "none", "atm" or "ptm".
    """
    if cells == "ptm":
        return None
    words = f"stab overhead {_AS_IP_BYTES + overhead_bytes}"
    if cells == "atm":
        words += " linklayer atm"
    elif least_bytes:
        words += " linklayer ethernet"
    return f"{words} mpu {least_bytes}" if least_bytes else words


def _bucket(link: LinkFacts) -> str:
    # A full bucket lets one packet pass; the limit is the queue's own.
    return f"tbf rate {round(link.rate_bps)}bit burst {link.packet_bytes} limit {_NO_LIMIT}"


def _class(device: str, top: str, how: How, link: LinkFacts) -> str:
    return share(f"dev {device} parent {top} classid {top}1", how, link)


def root(device: str) -> str:
    """Return the line that gives a device HTB; what belongs to no class of it leaves at once."""
    return f"qdisc add dev {device} root handle 1: {_AS_IP} htb"


def share(place: str, how: How, link: LinkFacts) -> str:
    """Return the words for a class of HTB at a place, with a rate of its own."""
    rate, full = f"{round(link.rate_bps)}bit", link.packet_bytes
    burst = round((_EXACT_PART if how.exact_timers else _LATE_PART) * full)
    return f"{place} htb rate {rate} burst {burst} cburst {burst} quantum {full}"


def another_rate(device: str, how: How, link: LinkFacts) -> str:
    """Return the line that gives the shaper of a device another rate; what waits stays."""
    if how.shaper == "tbf":
        return f"qdisc change dev {device} root handle 1: {_AS_IP} {_bucket(link)}"
    return f"class change {_class(device, '1:', how, link)}"


def _turns(device: str, queue: Expressed, crossing: Sequence[tuple[Flow, bool]]) -> list[str]:
    """Return the lines that give each flow a class of drr, and one to all else, which drr would drop."""
    said = dict(zip(queue.words[::2], queue.words[1::2], strict=True))
    lines = []
    for number in range(1, len(crossing) + 2):
        place = f"{QUEUE_HANDLE}{number:x}"
        lines += [
            f"class add dev {device} parent {QUEUE_HANDLE} classid {place} drr quantum {said['quantum']}",
            f"qdisc add dev {device} parent {place} pfifo limit {said['limit']}",
        ]
    match = f"filter add dev {device} parent {QUEUE_HANDLE} protocol ip prio"
    for number, (flow, far) in enumerate(crossing, start=1):
        source, sink = (flow.near, flow.far) if far else (flow.far, flow.near)
        end = "dport" if flow.forward == far else "sport"
        lines.append(
            f"{match} 1 u32 match ip src {source}/32 match ip dst {sink}/32 match ip {end} {flow.port} 0xffff "
            f"flowid {QUEUE_HANDLE}{number:x}"
        )
    return [*lines, f"{match} 2 matchall flowid {QUEUE_HANDLE}{len(crossing) + 1:x}"]


def delays(
    device: str, link: Mapping[str, Any], paths: Sequence[Path], wire_bps: float | None, *, far: bool
) -> list[str]:
    """Return the lines that give a device half of each path's round-trip time, and the link's delay, jitter and loss.

    Without paths it is a link that has no part in their round-trip times. `wire_bps` adds the time that a packet takes
    at this rate, for a link that hands packets over when they have been sent rather than when their sending begins.
    `far` tells whether the device leads to the far addresses.
    """
    extra = seconds(link["delay"]) if link else 0.0
    by_delay: dict[float, list[Path]] = {} if paths else {extra: []}
    for path in paths:
        by_delay.setdefault(path.rtt_s / 2 + extra, []).append(path)
    words = {delay: _netem(delay, link, wire_bps) for delay in by_delay}
    if not any(words.values()):
        return []
    if len(words) == 1:
        (only,) = words.values()
        return [f"qdisc add dev {device} root handle 1: {_NETEM} {only}"]
    lines = [f"qdisc add dev {device} root handle 1: prio bands {max(2, len(words))} priomap {' '.join(['0'] * 16)}"]
    for band, (delay, members) in enumerate(by_delay.items(), start=1):
        lines.append(f"qdisc add dev {device} parent 1:{band:x} handle {band + 16:x}: {_NETEM} {words[delay]}".rstrip())
        lines += [
            f"filter add dev {device} parent 1: protocol ip prio 1 u32 "
            f"match ip dst {path.far if far else path.near} flowid 1:{band:x}"
            for path in members
        ]
    return lines


def other_delays(
    device: str, link: Mapping[str, Any], paths: Sequence[Path], wire_bps: float | None, *, far: bool
) -> list[str]:
    """Return the lines that change what `delays` made; packets that are on their way stay."""
    made = delays(device, link, paths, wire_bps, far=far)
    if not made:
        # Nothing of it is left to do.
        return [f"qdisc replace dev {device} root handle 1: {_NETEM}"]
    return [line.replace("qdisc add", "qdisc replace") for line in made if f" {_NETEM}" in line]


def _netem(delay_s: float, link: Mapping[str, Any], wire_bps: float | None) -> str:
    words, in_order = "", False
    jitter = link.get("jitter") if link else None
    if jitter is None and delay_s:
        words += f" delay {_micros(delay_s)}"
    elif jitter is not None and jitter["kind"] == "uniform":
        half = seconds(jitter["max"]) / 2
        words += f" delay {_micros(delay_s + half)} {_micros(half)}"
    elif jitter is not None:
        mean, sd = seconds(jitter["mean"]), seconds(jitter["sd"])
        words += f" delay {_micros(delay_s + mean)} {_micros(sd)} distribution normal"
    in_order = jitter is not None and not jitter["reorder"]
    if link and link["loss"]:
        words += f" loss random {link['loss'] * 100:.9g}%"
    if wire_bps is not None:
        words += f" rate {round(wire_bps)}bit {_AS_IP_BYTES}"
    elif in_order:
        words += f" {_IN_ORDER}"
    return words.strip()


def _micros(span_s: float) -> str:
    return f"{round(span_s * 1e9) / 1e3:g}us"
