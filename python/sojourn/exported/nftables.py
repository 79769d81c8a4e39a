"""What of a scenario nftables can do on a router: code points of groups, classes, policers, and rewritten headers.

A scenario knows groups, and a router packets: each group is a set of ports, which its owner fills. Queues are tc's.
nftables sees what comes in only after the queues that `sojourn export --as tc` puts before it, so all is done to what
leaves. Its rules are those of nft(8); how large a bucket is, is in Linux's net/netfilter/nft_limit.c.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sojourn import InputError
from sojourn.api import Scenario
from sojourn.exported.queues import LINKS, Policer, policer, queues, way_up
from sojourn.faults import input_error
from sojourn.worlds.linux.plan.express import Class
from sojourn.worlds.linux.plan.flows import code_point

TABLE = "inet sojourn"
_DEFAULT = 0
_ECN = {"bleached": ("not-ect", None), "ect0": ("ect0", "ect1"), "unmarked": ("ect0", "ce")}
"""What a link writes into the ECN field, and into which packets; into all where None."""
_POINT_SHIFT, _POINT_BITS = 2, 0x3F
_DATAGRAMS = "meta l4proto { tcp, udp } th dport"


@dataclass(frozen=True)
class Rules:
    """A file for `nft -f`."""

    lines: list[str]
    remarks: tuple[str, ...]
    """What is otherwise than the scenario says, or another's part."""


def rules(scenario: Scenario, device: str) -> Rules:
    """Return the rules for what leaves by a device; raises InputError where there is nothing to do."""
    tables = scenario.to_dict()
    own = way_up(tables)
    ways = LINKS if own == "forward" else LINKS[::-1]
    up, down = (tables.get(name, {}) for name in ways)
    classes, refused = _classes(scenario, ways[0]) if "class" in up.get("queue", {}) else ([], [])
    marked = [one for one in tables["group"] if _is_marked(one) and (one["direction"] == own or "control" in one)]
    left_out = (*refused, *_left_out(tables, own, dict(zip(ways, (up, down), strict=True))))
    done = [
        *(line for group in marked for line in _marks(group)),
        *_rewritten(up.get("remark", {})),
        # Of two classes that want a packet the first has it, and here the last rule.
        *(line for name, one in reversed(classes) for line in _class(name, one)),
        *_policed(policer(up)),
    ]
    if not done:
        allowed = "a group with dscp, or a link with classes, remark or a policer"
        message = "\n".join((f"nftables has nothing to do for what leaves; allowed: {allowed}", *left_out))
        raise input_error(message, allowed=allowed)
    named = dict.fromkeys([*(one["name"] for one in marked), *(name for _, one in classes for name in one.groups)])
    lines = [
        f"# What leaves by {device}, as in {scenario.name}. Queues are tc's: sojourn export --as tc.",
        f"table {TABLE}",
        f"delete table {TABLE}",
        f"table {TABLE} {{",
        *(line for name in named for line in _set(name)),
        "    chain leaves {",
        "        type filter hook postrouting priority mangle; policy accept;",
        f'        oifname != "{device}" accept',
        *(f"        {line}" for line in done),
        "    }",
        "}",
    ]
    unknown = tuple(f"group.{name}: what goes to the ports in set {_port_set(name)}, which is empty" for name in named)
    return Rules(lines, (*unknown, *left_out))


def _is_marked(group: Mapping[str, Any]) -> bool:
    return code_point(group["dscp"]) != _DEFAULT


def _port_set(group: str) -> str:
    return "ports-" + re.sub(r"[^A-Za-z0-9_.-]", "-", group)


def _set(group: str) -> Iterator[str]:
    yield f"    # nft add element {TABLE} {_port_set(group)} '{{ 5060 }}'"
    yield f"    set {_port_set(group)} {{ type inet_service; flags interval; }}"


def _marks(group: Mapping[str, Any]) -> Iterator[str]:
    point = f"dscp set {code_point(group['dscp']):#04x}"
    yield from (f"{_DATAGRAMS} @{_port_set(group['name'])} {ip} {point}" for ip in ("ip", "ip6"))


def _rewritten(remark: Mapping[str, Any]) -> Iterator[str]:
    if "dscp" in remark:
        yield from (f"{ip} dscp set {code_point(remark['dscp']):#04x}" for ip in ("ip", "ip6"))
    if "ecn" in remark:
        value, of = _ECN[remark["ecn"]]
        yield from (f"{f'{ip} ecn {of} ' if of else ''}{ip} ecn set {value}" for ip in ("ip", "ip6"))


def _class(name: str, one: Class) -> Iterator[str]:
    """Yield what gives packets the class of tc whose name is their priority (tc-prio(8), tc-htb(8), tc-drr(8))."""
    verdict = f"meta priority set {name}"
    for value, bits in one.matches:
        point, mask = value >> _POINT_SHIFT, bits >> _POINT_SHIFT
        which = f"dscp {point:#04x}" if mask == _POINT_BITS else f"dscp & {mask:#04x} == {point:#04x}"
        yield from (f"{ip} {which} {verdict}" for ip in ("ip", "ip6"))
    yield from (f"{_DATAGRAMS} @{_port_set(group)} {verdict}" for group in one.groups)


def _policed(bucket: Policer | None) -> Iterator[str]:
    """Yield the limit of a policer whose bucket nftables can have: what its rate sends in a second, and `burst`."""
    rate = round(bucket.rate_bps / 8) if bucket is not None else 0
    if bucket is not None and bucket.burst_bytes >= rate:
        yield f"limit rate over {rate} bytes/second burst {bucket.burst_bytes - rate} bytes drop"


def _classes(scenario: Scenario, link: str) -> tuple[list[tuple[str, Class]], list[str]]:
    """Return the classes of a link's queue with their names in the kernel, or why that has none such."""
    try:
        way = queues(scenario, [link])
    except InputError as refused:
        return [], str(refused).splitlines()
    shaped = way.up or way.down
    return (shaped.classes if shaped is not None else []), []


def _left_out(tables: Mapping[str, Any], own: str, links: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield what nftables does not do, each with its key and whose part it is; of the links the first leads out."""
    for group in tables["group"]:
        if group["direction"] != own and _is_marked(group):
            yield f"group.{group['name']}.dscp: whoever sends marks its data, which queues here before nftables sees it"
    (up, out), (down, into) = links.items()
    if "policer" in out and not list(_policed(policer(out))):
        yield f"{up}.policer: tc's (--as tc); nftables' bucket holds what its rate sends in a second, at least"
    told = {"queue.class": "class" in into.get("queue", {}), "policer": "policer" in into}
    yield from (f"{down}.{key}: tc's (--as tc), before nftables sees a packet" for key, is_so in told.items() if is_so)
    if "remark" in into:
        yield f"{down}.remark: only nftables could, which sees what comes in behind its queue"
