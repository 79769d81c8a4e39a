"""The queues of a scenario for a router: commands of `tc`, or a section of OpenWrt's SQM.

Both say what the engine's catalogue says of each discipline to the kernel of the world linux, so that a router does
what was simulated. What neither can say is refused by its key.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn import InputError
from sojourn.api import Scenario
from sojourn.faults import input_error, shown
from sojourn.registry import catalogue
from sojourn.resolved import amount
from sojourn.worlds.linux.plan import express, shaping
from sojourn.worlds.linux.plan.classes import places
from sojourn.worlds.linux.plan.express import Class, Expressed, LinkFacts, Refusal

_FULL_BYTES = 1500
_KBIT = 1000
MODEM = "modem"
"""The link of the way up behind a gateway that shapes."""
ISP = "isp"
"""The link of the way down before it."""
LINKS = ("bottleneck", "reverse")
# The kernel takes 15; that for what comes in has four more.
_DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,10}")


@dataclass(frozen=True)
class Shaped:
    """A direction of a home's line: how fast, and with which queue."""

    link: str
    """Where it stands in the scenario."""
    facts: LinkFacts
    queue: Expressed
    counting: str
    """What tells a shaper of the link's framing."""
    policer: "Policer | None" = None

    @property
    def classes(self) -> list[tuple[str, Class]]:
        """The classes of its queue, each with its name in the kernel."""
        return places(shaping.QUEUE_HANDLE, self.queue)


@dataclass(frozen=True)
class Policer:
    """A token bucket before the queue, which drops what has no tokens."""

    rate_bps: float
    burst_bytes: int

    @property
    def action(self) -> str:
        """What a filter of `tc` does with a packet."""
        return f"action police rate {round(self.rate_bps)}bit burst {self.burst_bytes} conform-exceed drop/pipe"


@dataclass(frozen=True)
class Queues:
    """What a router is to do."""

    up: Shaped | None
    """What leaves the home; None where the scenario has no such link."""
    down: Shaped | None
    """What comes into it; likewise."""
    remarks: tuple[str, ...]
    """What is otherwise than the scenario says."""

    def tc(self, device: str) -> list[str]:
        """Return commands for the shell of a router whose device leads to the line.

        What comes in is led through a device of its own, since Linux shapes what it sends.
        """
        inside = f"ifb4{device}"
        lines = []
        if self.up is not None:
            clear = f"tc qdisc del dev {device} root 2>/dev/null"
            lines = [f"# Up: {_said(self.up)}", clear, *_commands(device, self.up)]
        policed = self.up.policer if self.up is not None else None
        if policed is None and self.down is None:
            return lines
        # One place has the filters for what comes in and for what leaves.
        lines += [f"tc qdisc del dev {device} parent ffff:fff1 2>/dev/null", f"tc qdisc add dev {device} clsact"]
        if policed is not None:
            lines.append(f"tc filter add dev {device} egress protocol all matchall {policed.action}")
        if self.down is None:
            return lines
        actions = [self.down.policer.action] if self.down.policer is not None else []
        actions.append(f"action mirred egress redirect dev {inside}")
        return [
            *lines,
            f"# Down: {_said(self.down)}",
            f"ip link add name {inside} type ifb 2>/dev/null",
            f"ip link set dev {inside} up",
            f"tc filter add dev {device} ingress protocol all matchall {' '.join(actions)}",
            f"tc qdisc del dev {inside} root 2>/dev/null",
            *_commands(inside, self.down),
        ]

    def sqm(self, device: str) -> list[str]:
        """Return a section for /etc/config/sqm. Its script appends the words to CAKE's, of which the last ones count.

        Raises InputError where a queue is not CAKE with a bandwidth.
        """
        ways = {name: way for name, way in (("upload", self.up), ("download", self.down)) if way is not None}
        for way in ways.values():
            if not shaping.shapes_itself(way.queue):
                raise _refused(
                    [Refusal(f"{way.link}.queue", way.queue.name, "cake with a bandwidth; tc can", who="SQM")]
                )
        options = {
            "interface": device,
            "enabled": "1",
            **{name: str(round(_bandwidth_bps(way) / _KBIT)) for name, way in ways.items()},
            **{name: "0" for name in ("upload", "download") if name not in ways},
            "qdisc": "cake",
            "script": "piece_of_cake.qos",
            "linklayer": "none",
            "qdisc_advanced": "1",
            "qdisc_really_really_advanced": "1",
            **({"eqdisc_opts": _words(self.up)} if self.up else {}),
            **({"iqdisc_opts": _words(self.down)} if self.down else {}),
        }
        return [f"config queue '{device}'", *(f"\toption {name} '{value}'" for name, value in options.items())]


def queues(scenario: Scenario, among: Collection[str] = LINKS) -> Queues:
    """Return the queues of a scenario's links, of those that are `among` them, as Linux has them.

    A discipline that differs from the kernel's in what a preset `linux` says is taken as the kernel has it, with a
    remark. Raises InputError for what the kernel cannot have.
    """
    remarks = []
    for _ in range(2):
        tables = scenario.to_dict()
        links = [link for link in LINKS if link in among and "queue" in tables.get(link, {})]
        said = {link: _shaped(tables[link], link) for link in links}
        refusals = [one for found in said.values() if isinstance(found, list) for one in found]
        hints = sorted({one.hint for one in refusals if one.hint})
        if not hints:
            break
        scenario = scenario.with_(dict(hint.split("=", 1) for hint in hints))
        remarks += [f"{hint}: as the kernel has it" for hint in hints]
    if refusals:
        raise _refused(refusals)
    found = [one for one in said.values() if isinstance(one, Shaped)]
    by_link = {one.link: one for one in found}
    up, down = LINKS if way_up(tables) == "forward" else reversed(LINKS)
    remarks += [f"{one.link}.queue: {remark}" for one in found for remark in one.queue.remarks]
    remarks += [remark for one in found for remark in (*_other_framing(tables[one.link], one.link), *_beside(one))]
    if "shaper" in tables:
        remarks.append(
            "shaper: these are the base rates; the router needs a program that sets them, such as cake-autorate"
        )
    return Queues(by_link.get(up), by_link.get(down), tuple(dict.fromkeys(remarks)))


def way_up(tables: Mapping[str, Any]) -> str:
    """Return the direction that leads out of a resolved scenario's home: its modem's, not its ISP's, else "forward"."""
    at = {hop["name"]: str(hop["direction"]) for hop in tables.get("hop", [])}
    into = at.get(ISP, "reverse")
    return at.get(MODEM, "forward" if into == "reverse" else "reverse")


def device_name(text: str) -> str:
    """Return the name of a device; it becomes part of commands. Raises InputError where Linux has no such name."""
    if not _DEVICE.fullmatch(text):
        allowed = "letters, digits, '.', '_' and '-', at most 11 of them, such as eth1"
        raise input_error(
            f"--device: found {shown(text)}; allowed: {allowed}", key="device", found=text, allowed=allowed
        )
    return text


def _shaped(link: Mapping[str, Any], key: str) -> Shaped | list[Refusal]:
    if "rate" not in link:
        return [Refusal(f"{key}.trace", str(link.get("trace", "no rate")), "a constant rate")]
    facts = LinkFacts(express.rate_bps(link["rate"]), _FULL_BYTES)
    said = express.queue(link["queue"], f"{key}.queue", facts)
    if isinstance(said, list):
        return said
    if said.name == "drr" and not said.classes:
        allowed = "what needs no class for each flow, which only a run knows, such as sfq or fq_codel"
        return [Refusal(f"{key}.queue.kind", "drr", allowed, who="a router")]
    framing = link.get("framing", {"overhead": 0, "mpu": 0, "cells": "none"})
    counting = shaping.counting(framing["overhead"], framing["mpu"], framing["cells"])
    if counting is None and not shaping.shapes_itself(said):
        return [Refusal(f"{key}.framing", "PTM", "Ethernet's or ATM's, or the queue cake", who="a shaper of Linux")]
    return Shaped(key, facts, said, counting or "", policer(link))


def policer(link: Mapping[str, Any]) -> Policer | None:
    """Return the policer of a resolved link; None where it has none."""
    told = link.get("policer")
    return Policer(express.rate_bps(told["rate"]), round(amount(told["burst"], "B"))) if told else None


def _other_framing(link: Mapping[str, Any], key: str) -> list[str]:
    """Return what to say where CAKE reckons with another framing than the link has."""
    told = link["queue"].get("link_layer")
    (framing,) = catalogue()["framings"]
    known = {one["name"]: one["values"] for one in framing["presets"]}
    if told is None or "framing" not in link or told not in known:
        return []
    own = {"overhead": 0, "mpu": 0, "cells": "none"} | known[told]
    if all(str(own[part]) == str(link["framing"][part]) for part in own):
        return []
    return [f"{key}.queue.link_layer: CAKE reckons with {told}, which is not what {key}.framing says"]


def _beside(way: Shaped) -> list[str]:
    """Return what tc does otherwise, or needs another for."""
    told = [
        f"{way.link}.queue.class.{one.name}.groups: nftables says who belongs to it"
        for _, one in way.classes
        if one.groups
    ]
    if way.policer is not None:
        told.append(f"{way.link}.policer: tc counts the 14 bytes of Ethernet's header of what leaves")
    return told


def _commands(device: str, way: Shaped) -> list[str]:
    how = shaping.How(exact_timers=False)
    lines = shaping.bottleneck(device, how, way.queue, way.facts, [], stab=way.counting)
    return [f"tc {line}" for line in lines]


def _words(way: Shaped) -> str:
    """Return what CAKE is told besides its bandwidth."""
    words = list(way.queue.words)
    at = words.index("bandwidth")
    return " ".join(words[:at] + words[at + 2 :])


def _bandwidth_bps(way: Shaped) -> float:
    if shaping.shapes_itself(way.queue):
        return float(way.queue.words[way.queue.words.index("bandwidth") + 1].removesuffix("bit"))
    return way.facts.rate_bps


def _said(way: Shaped) -> str:
    return f"{way.queue.name} at {_bandwidth_bps(way) / 1e6:g} Mbit/s"


def _refused(refusals: list[Refusal]) -> InputError:
    first = refusals[0]
    message = "\n".join(f"{one.key}: {one.who} cannot have {one.found}; allowed: {one.allowed}" for one in refusals)
    return input_error(message, key=first.key, found=first.found, allowed=first.allowed)
