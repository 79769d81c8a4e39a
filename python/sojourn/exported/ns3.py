"""A scenario as a program for ns-3.37: its links with queue discs, delays and losses, and its groups of flows.

Attributes are those of ns-3.37's classes (src/traffic-control/model, src/internet/model). What a discipline or a
control has besides is as ns-3 has it, which the preset `ns3` says of each; a value that the file itself sets otherwise
is refused by its key. docs/validation/peers.md has how near both simulators come.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn import networks
from sojourn.api import Scenario
from sojourn.api import scenario as read
from sojourn.faults import input_error
from sojourn.registry import catalogue
from sojourn.resolved import amount
from sojourn.worlds.linux.plan.express import shown
from sojourn.worlds.linux.plan.flows import routes_of, seconds

PROGRAM = Path(__file__).with_name("ns3.cc")
PRESET = "ns3"
TRANSPORT: Mapping[str, str] = {
    "preset": "rfc",
    "reduction": "proportional",
    "disorder": "conservation",
    "ack_delay": "200 ms",
}
"""ns-3's sender with its own settings. While duplicate acknowledgements only suggest a loss, it takes what SACK reports
out of what is in flight, and sends as much (`TcpSocketBase::AvailableWindow`)."""

_HEADERS, _TIMESTAMP = 40, 12
_DATAGRAM = 28
_LEAST_BUFFER, _BUFFERS = 262_144, 4
_LINK_KEYS = ("rate", "delay", "loss", "queue", "name", "at", "direction")
_GROUP_KEYS = (
    *("name", "title", "flows", "rtt", "control", "transport", "traffic", "start", "stop", "direction"),
    *("dscp", "clock_offset", "clock_skew_ppm", "hosts", "receiver_hosts", "access_rate"),
)
_TOP_KEYS = ("name", "duration", "warmup", "runs", "seed", "bottleneck", "reverse", "hop", "group", "unknown")

Attributes = list[tuple[str, str]]
Writer = Callable[[Any, "_At"], str | None]


@dataclass(frozen=True)
class _At:
    """Where a value stands, on which automatic ones depend."""

    table: Mapping[str, Any]
    rate_bps: float


@dataclass(frozen=True)
class Program:
    """A program for ns-3."""

    text: str
    remarks: tuple[str, ...]
    """What is otherwise than the scenario says."""


def _size(value: str, at: _At) -> str:
    number, unit = value.split()
    if unit.startswith("packet"):
        return f"{int(float(number))}p"
    in_bytes = (
        amount(value, "B") if unit in ("B", "kB", "MB", "GB", "KiB", "MiB", "GiB") else seconds(value) * at.rate_bps / 8
    )
    return f"{round(in_bytes)}B"


def _time(value: str, _: _At) -> str | None:
    return None if value == "auto" else f"{round(seconds(value) * 1e9)}ns"


def _plain(value: Any, _: _At) -> str | None:
    return None if value == "auto" else f"{value:.12g}"


def _truth(value: bool, _: _At) -> str:
    return "true" if value else "false"


def _threshold(value: str, at: _At) -> str:
    """Write a threshold of RED in the unit of its limit; 0 lets ns-3 choose both."""
    if value == "auto":
        return "0"
    mean = at.table["mean_packet"]
    packet = 1500 if mean == "auto" else mean
    size = _size(value, at)
    in_packets = float(value.split(maxsplit=1)[0]) if size.endswith("p") else float(size[:-1]) / packet
    return f"{in_packets if _size(at.table['limit'], at).endswith('p') else in_packets * packet:.12g}"


def _weight(value: Any, at: _At) -> str:
    # ns-3 takes 0 for a time constant of a second, and -1 for one of ten round trips.
    return {"second": "0", "rtt": "-1"}.get(at.table["auto_weight"], "0") if value == "auto" else f"{value:.12g}"


_LIMIT = {"limit": ("MaxSize", _size)}
_CODEL: Mapping[str, tuple[str, Writer]] = {
    **_LIMIT,
    "target": ("Target", _time),
    "interval": ("Interval", _time),
    "ecn": ("UseEcn", _truth),
}
_PIE: Mapping[str, tuple[str, Writer]] = {
    **_LIMIT,
    "target": ("QueueDelayReference", _time),
    "update": ("Tupdate", _time),
    "alpha": ("A", _plain),
    "beta": ("B", _plain),
    "burst": ("MaxBurstAllowance", _time),
    "ecn": ("UseEcn", _truth),
    "mark_p": ("MarkEcnThreshold", _plain),
    "derandomize": ("UseDerandomization", _truth),
    "cap": ("UseCapDropAdjustment", _truth),
    "estimator": ("UseDequeueRateEstimator", lambda value, _: _truth(value == "departure-rate", _)),
}
_RED: Mapping[str, tuple[str, Writer]] = {
    **_LIMIT,
    "min": ("MinTh", _threshold),
    "max": ("MaxTh", _threshold),
    "max_p": ("LInterm", lambda value, _: f"{1 / value:.12g}"),
    "weight": ("QW", _weight),
    "mean_packet": ("MeanPktSize", _plain),
    "gentle": ("Gentle", _truth),
    "ecn": ("UseEcn", _truth),
    "harddrop": ("UseHardDrop", _truth),
    "bandwidth": ("LinkBandwidth", lambda value, at: _bits(at.rate_bps if value == "auto" else amount(value, "bit/s"))),
}
_FLOWS: Mapping[str, tuple[str, Writer]] = {"flows": ("Flows", _plain), "drop_batch": ("DropBatchSize", _plain)}
QUEUES: Mapping[str, tuple[str, Attributes, Mapping[str, tuple[str, Writer]]]] = {
    "droptail": ("FifoQueueDisc", [], _LIMIT),
    "codel": ("CoDelQueueDisc", [], {**_CODEL, "ce_threshold": ("CeThreshold", _time)}),
    "fq_codel": ("FqCoDelQueueDisc", [], {**_CODEL, **_FLOWS, "ce_threshold": ("CeThreshold", _time)}),
    "pie": ("PieQueueDisc", [], {**_PIE, "mean_packet": ("MeanPktSize", _plain)}),
    "fq_pie": ("FqPieQueueDisc", [], {**_PIE, **_FLOWS, "mean_packet": ("MeanPktSize", _plain)}),
    "cobalt": (
        "CobaltQueueDisc",
        [],
        {
            **_CODEL,
            "increment": ("Increment", _plain),
            "decrement": ("Decrement", _plain),
            "blue_above": ("BlueThreshold", _time),
        },
    ),
    "red": ("RedQueueDisc", [], _RED),
    "ared": ("RedQueueDisc", [("ARED", "true")], _RED),
}
"""By Sojourn's name: ns-3's class, what makes it this discipline, and the attributes of its parameters."""
CONTROLS: Mapping[str, tuple[str, Attributes, Mapping[str, tuple[str, Writer]]]] = {
    "newreno": ("TcpNewReno", [], {}),
    "cubic": ("TcpCubic", [], {"beta": ("Beta", _plain), "scale": ("C", _plain)}),
    "vegas": ("TcpVegas", [], {}),
    "westwood": ("TcpWestwood", [("ProtocolType", "WestwoodPlus")], {}),
    "veno": ("TcpVeno", [], {}),
    "illinois": ("TcpIllinois", [], {}),
    "dctcp": ("TcpDctcp", [], {"gain": ("DctcpShiftG", _plain), "initial_alpha": ("DctcpAlphaOnInit", _plain)}),
    "bbr": ("TcpBbr", [], {}),
    "ledbat": ("TcpLedbat", [], {"target": ("TargetDelay", _time), "gain": ("Gain", _plain)}),
    "tcp_lp": ("TcpLp", [], {}),
}
_TIMED = ("ledbat", "tcp_lp")
_SOCKETS: Mapping[str, tuple[str, Writer]] = {
    "payload": ("TcpSocket::SegmentSize", lambda value, _: f"{round(amount(value, 'B'))}"),
    "initial_window": ("TcpSocket::InitialCwnd", _plain),
    "ack_every": ("TcpSocket::DelAckCount", _plain),
    "ack_delay": ("TcpSocket::DelAckTimeout", _time),
    "min_rto": ("TcpSocketBase::MinRto", _time),
    "sack": ("TcpSocketBase::Sack", _truth),
    "timestamps": ("TcpSocketBase::Timestamp", _truth),
    "disorder": ("TcpSocketBase::LimitedTransmit", lambda value, _: _truth(value != "none", _)),
    "ecn": ("TcpSocketBase::UseEcn", lambda value, _: "On" if value else "Off"),
}
"""Parameters of a transport, which all flows share."""
_RECOVERY = {"proportional": "ns3::TcpPrrRecovery", "at-once": "ns3::TcpClassicRecovery"}


def program(scenario: Scenario) -> Program:
    """Return a scenario as a program; raises InputError for what ns-3 cannot have."""
    tables = scenario.to_dict()
    networks.check_chain(tables, "ns-3")
    _known(tables, "", _TOP_KEYS)
    links = _links(tables)
    senders = [group for group in tables["group"] if "control" in group]
    remarks = [one for key, table in links for one in _as_there(scenario, f"{key}.queue", table["queue"], QUEUES)]
    for group in senders:
        key = f"group.{group['name']}"
        _alike(group["transport"], f"{key}.transport", senders[0])
        remarks += _as_there(scenario, f"{key}.control", group["control"], CONTROLS)
        remarks += _transport(f"{key}.transport", group["transport"], group["control"]["kind"])
    remarks.append("group.rtt: less a packet's time at the link that its data crosses, since ns-3's device holds one")
    full = max(map(_full, tables["group"]))
    words = {
        "TITLE": f"The scenario {scenario.name} for ns-3.37, written by `sojourn export --as ns3`.",
        "DURATION": f"{seconds(tables['duration']):.9g}",
        "WARMUP": f"{seconds(tables['warmup']):.9g}",
        "FULL": str(full),
        "LINKS": _rows(_link(key, table) for key, table in links),
        "GROUPS": _rows(_group(one, tables, full) for one in tables["group"]),
        "DEFAULTS": _rows(_pair(name, value) for name, value in _defaults(senders, links, seconds(tables["duration"]))),
    }
    text = PROGRAM.read_text(encoding="utf-8")
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return Program(text, tuple(dict.fromkeys(remarks)))


def _known(table: Mapping[str, Any], key: str, allowed: Sequence[str]) -> None:
    for name in table:
        if name not in allowed and table[name]:
            raise _refused(f"{key}{name}", "it", "a link or a group without")


def _refused(key: str, found: str, allowed: str) -> Exception:
    return input_error(f"{key}: ns-3 cannot have {found}; allowed: {allowed}", key=key, found=found, allowed=allowed)


def _links(tables: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the links from left to right, each with its key: those of the way there, then those of the way back."""
    by_name = {name: (name, tables[name]) for name in ("bottleneck", "reverse") if name in tables}
    by_name |= {one["name"]: (f"hop.{one['name']}", one) for one in tables.get("hop", [])}
    found: dict[str, tuple[str, ...]] = {}
    for name, routes in routes_of(tables).items():
        way = next(one["direction"] for one in tables["group"] if one["name"] == name)
        for route in routes:
            there, back = (route.there, route.back) if way == "forward" else (route.back, route.there)
            if found.setdefault("there", there) != there or found.setdefault("back", back) != back:
                raise _refused(f"group.{name}.enters", "another way", "all links, as the first group")
    links = [by_name[name] for name in (*found["there"], *reversed(found["back"]))]
    for key, table in links:
        _known(table, f"{key}.", _LINK_KEYS)
        if "rate" not in table:
            raise _refused(f"{key}.trace", str(table.get("trace", "no rate")), "a constant rate")
    return links


def _as_there(scenario: Scenario, key: str, table: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[str]:
    """Yield what ns-3 has otherwise of a discipline or a control; raises InputError where the file itself says it."""
    kind = table["kind"]
    if kind not in known:
        raise _refused(f"{key}.kind", kind, ", ".join(known))
    family = "controls" if known is CONTROLS else "queues"
    known_entries: Mapping[str, Any] = catalogue()
    entry = next(one for one in known_entries[family] if one["name"] == kind)
    preset = {"preset": PRESET} if any(one["name"] == PRESET for one in entry["presets"]) else {}
    theirs = _alone({"kind": kind, **preset}, family)
    still = _found(scenario.with_({f"{key}.{name}": value for name, value in preset.items()}).to_dict(), key)
    others = {name: value for name, value in theirs.items() if name not in known[kind][2] and table.get(name) != value}
    for name, value in others.items():
        if still.get(name) != value:
            raise _refused(f"{key}.{name}", shown(table[name]), shown(value))
    yield from _told(key, others)


def _told(key: str, others: Mapping[str, Any]) -> Iterator[str]:
    if others:
        yield f"{key}: as ns-3 has it, {', '.join(f'{name} {shown(value)}' for name, value in others.items())}"


def _alone(table: Mapping[str, Any], family: str) -> Mapping[str, Any]:
    """Return a table of an algorithm as a scenario has it that says nothing more of it."""
    own = {} if family == "queues" else {family.removesuffix("s"): table}
    # DCTCP goes by marks.
    marks = {"ecn": "accurate"}
    group = {"name": "one", "rtt": "100 ms", "control": "newreno", "transport": marks, **own}
    link = {"rate": "10 Mbit/s", "queue": table if family == "queues" else {"kind": "codel", "ecn": True}}
    tables = read({"duration": "1 s", "bottleneck": link, "group": [group]}).to_dict()
    found: Mapping[str, Any] = tables["group"][0][family.removesuffix("s")] if own else tables["bottleneck"]["queue"]
    return found


def _found(tables: Any, key: str) -> Mapping[str, Any]:
    found = tables
    for word in key.split("."):
        found = next(one for one in found if one["name"] == word) if isinstance(found, list) else found[word]
    made: Mapping[str, Any] = found
    return made


def _alike(table: Mapping[str, Any], key: str, other: Mapping[str, Any]) -> None:
    """Raise InputError where a transport has another value than the first group's of what all sockets share."""
    written, others = _written(table), _written(other["transport"])
    for name in _SOCKETS:
        if written[name] != others[name]:
            allowed = f"{shown(other['transport'][name])}, as group {other['name']} has it"
            raise _refused(f"{key}.{name}", shown(table[name]), allowed)


def _written(table: Mapping[str, Any]) -> dict[str, str | None]:
    """Return what sockets are told of a transport, by its keys."""
    return {key: write(table[key], _At(table, 0.0)) for key, (_, write) in _SOCKETS.items()}


def _transport(key: str, table: Mapping[str, Any], control: str) -> Iterator[str]:
    """Yield where ns-3's sender differs."""
    # Its DCTCP echoes each mark, as accurate feedback does.
    flags = {"sack": bool(table["sack"]), "ecn": bool(table["ecn"]) and ("accurate" if control == "dctcp" else True)}
    theirs = {**_alone(TRANSPORT, "transports"), **flags}
    own = [*(_SOCKETS.keys() - {"disorder", *flags}), "header"]
    own += ["reduction"] if table["reduction"] in _RECOVERY else []
    own += ["disorder"] if table["disorder"] == "none" else []
    yield from _told(key, {name: value for name, value in theirs.items() if name not in own and table[name] != value})


def _full(group: Mapping[str, Any]) -> int:
    """Return the bytes of a group's largest packets."""
    if "control" not in group:
        return round(amount(group["traffic"].get("packet", "1500 B"), "B"))
    transport = group["transport"]
    return round(amount(transport["payload"], "B")) + _HEADERS + (_TIMESTAMP if transport["timestamps"] else 0)


def _defaults(
    senders: Sequence[Mapping[str, Any]], links: Sequence[tuple[str, Mapping[str, Any]]], duration_s: float
) -> Attributes:
    """Return what ns-3 is told of all sockets, and of each control."""
    if not senders:
        return []
    transport = senders[0]["transport"]
    found = {_SOCKETS[key][0]: value for key, value in _written(transport).items()}
    for group in senders:
        table, key = group["control"], f"group.{group['name']}.control"
        kind, always, named = CONTROLS[table["kind"]]
        if table["kind"] in _TIMED and not transport["timestamps"]:
            raise _refused(
                f"group.{group['name']}.transport.timestamps", "false", f"true, by which {kind} reads delays"
            )
        own = [*always, *((name, written(table[own], _At(table, 0.0))) for own, (name, written) in named.items())]
        for name, value in own:
            if found.setdefault(f"{kind}::{name}", value) != value:
                raise _refused(key, f"{name} {value}", f"{found[f'{kind}::{name}']}, as another group has it")
    # Never the limit: a multiple of what path and queues can hold.
    longest = max(seconds(rtt) for group in senders for rtt in _each(group["rtt"]))
    most = sum(_limit_bytes(table) + amount(table["rate"], "bit/s") * longest / 8 for _, table in links)
    # A sender's own line has an endless buffer, which a window that nothing is lost of fills.
    most += sum(amount(group["access_rate"], "bit/s") * duration_s / 8 for group in senders if group.get("access_rate"))
    buffer = str(max(_LEAST_BUFFER, round(_BUFFERS * most)))
    found |= {"TcpSocket::SndBufSize": buffer, "TcpSocket::RcvBufSize": buffer}
    return [(name, value) for name, value in found.items() if value is not None]


def _limit_bytes(link: Mapping[str, Any]) -> float:
    size = _size(link["queue"]["limit"], _At(link["queue"], amount(link["rate"], "bit/s")))
    return float(size[:-1]) * (1500 if size.endswith("p") else 1)


def _each(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]


def _rows(rows: Iterable[str]) -> str:
    return "\n".join(f"    {row}," for row in rows)


def _pair(name: str, value: str) -> str:
    return f"{{{_text(name)}, {_text(value)}}}"


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _bits(rate_bps: float) -> str:
    return f"{round(rate_bps)}bps"


def _link(key: str, table: Mapping[str, Any]) -> str:
    rate, queue = amount(table["rate"], "bit/s"), table["queue"]
    kind, always, named = QUEUES[queue["kind"]]
    at = _At(queue, rate)
    said = [*always, *((name, written(queue[own], at)) for own, (name, written) in named.items())]
    attributes = ", ".join(_pair(name, value) for name, value in said if value is not None)
    forward = _truth(_is_forward(key, table), at)
    numbers = f"{rate:.12g}, {seconds(table['delay']):.9g}, {table['loss']:.9g}"
    return f"{{{_text(key.removeprefix('hop.'))}, {forward}, {numbers}, {_text(kind)}, {{{attributes}}}}}"


def _is_forward(key: str, table: Mapping[str, Any]) -> bool:
    return key != "reverse" and table.get("direction", "forward") == "forward"


def _group(group: Mapping[str, Any], tables: Mapping[str, Any], full: int) -> str:
    key, traffic = f"group.{group['name']}", group["traffic"]
    _known(group, f"{key}.", _GROUP_KEYS)
    if traffic["kind"] not in ("bulk", "cbr"):
        # Its on-off application fills the socket's buffer, which sends on in off times.
        raise _refused(f"{key}.traffic.kind", traffic["kind"], "bulk or cbr")
    is_forward = group["direction"] == "forward"
    main = tables.get("bottleneck" if is_forward else "reverse")
    held_s = full * 8 / amount(main["rate"], "bit/s") if main else 0.0
    tcp = "control" in group
    control = f"ns3::{CONTROLS[group['control']['kind']][0]}" if tcp else ""
    recovery = _RECOVERY.get(group["transport"]["reduction"], _RECOVERY["proportional"]) if tcp else ""
    rate, packet = (0.0, 0) if tcp else (amount(traffic["rate"], "bit/s"), round(amount(traffic["packet"], "B")))
    if not tcp and packet <= _DATAGRAM:
        raise _refused(f"{key}.traffic.packet", traffic["packet"], f"more than the {_DATAGRAM} B of its headers")
    count = int(group["flows"])
    rtts = [seconds(one) for one in _each(group["rtt"])]
    starts = _moments(group["start"], count)
    stops = _moments(group.get("stop", tables["duration"]), count)
    flows = ", ".join(
        f"{{{max(rtts[place % len(rtts)] - held_s, 0.0):.9g}, {starts[place]}, {stops[place]}}}"
        for place in range(count)
    )
    head = f"{_text(group['name'])}, {_truth(is_forward, _At({}, 0.0))}, {_text(control)}, {_text(recovery)}"
    access = amount(group["access_rate"], "bit/s") if group.get("access_rate") else 0.0
    return f"{{{head}, {rate:.12g}, {packet}, {access:.12g}, {{{flows}}}}}"


def _moments(value: Any, count: int) -> list[str]:
    """Return between which times each of so many flows draws one."""
    if isinstance(value, Mapping):
        low, high = (seconds(one) for one in value["uniform"])
        return [f"{{{low:.9g}, {high:.9g}}}"] * count
    times = [seconds(one) for one in _each(value)]
    return [f"{{{times[place % len(times)]:.9g}, {times[place % len(times)]:.9g}}}" for place in range(count)]
