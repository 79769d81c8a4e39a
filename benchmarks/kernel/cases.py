"""What is compared: a qdisc as tc sets it up, and the same as a queue of a scenario."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.kernel.inside import FIRST_PORT, LARGEST_FRAME
from benchmarks.kernel.workloads import WORKLOADS, Workload

RATE_BIT_PER_S = 4_000_000
"""Of the link behind the qdisc."""


_LETTERS = "abcde"


def _inner(number: int) -> str:
    return f"inner{number}"


def _parent(number: int) -> dict[str, str]:
    return {"parent": _inner(number)} if number else {}


@dataclass(frozen=True)
class Classes:
    """Classes of a qdisc: in tc numbered from 1, in a scenario by their flows."""

    of_flow: Sequence[int]
    """The number of each flow's class."""
    leaf: str
    """The qdisc of each class, as tc is told."""
    queue: Mapping[str, Any] | None = None
    """The same as a scenario says it; None where the scenario's discipline tells flows apart by itself."""
    tc: Sequence[str] = ()
    """What tc is told of each class, where it has to be made."""
    weights: Sequence[int] = ()
    """In a scenario, where they have any."""
    strict: int = 0
    """How many come before all others, which share below them as in sch_ets: in a scenario, in a dwrr of their own."""
    above: str = ""
    """What tc is told of a class above all others, where there is one."""
    settings: Sequence[Mapping[str, Any]] = ()
    """What a scenario says of each class besides, where there is anything."""
    inner: Sequence[tuple[int, str, Mapping[str, Any]]] = ()
    """Classes in which others lie, in tc numbered from a: in which of them each lies, what tc and a scenario say."""
    within: Sequence[int] = ()
    """In which of them each class lies; 0 for none."""

    def numbers(self) -> range:
        """Return the numbers of all classes."""
        return range(1, max(self.of_flow) + 1)

    def calls(self) -> list[str]:
        """Return the calls of tc that make them."""
        top = [f"class add DEV parent 10: classid 10:f {self.above}"] if self.above else []
        places = ["10:f" if self.above else "10:", *(f"10:{_LETTERS[place]}" for place in range(len(self.inner)))]
        inner = [
            f"class add DEV parent {places[within]} classid {places[number]} {text}"
            for number, (within, text, _) in enumerate(self.inner, 1)
        ]
        parents = [places[within] for within in self.within or [0] * len(self.tc)]
        made = [
            f"class add DEV parent {parent} classid 10:{number} {text}"
            for number, (parent, text) in enumerate(zip(parents, self.tc, strict=True), 1)
        ]
        return [*top, *inner, *made, *(f"qdisc add DEV parent 10:{number} {self.leaf}" for number in self.numbers())]

    def tables(self) -> list[dict[str, Any]]:
        """Return the scenario's tables; the last class has what no other takes, as one must."""
        tables: list[dict[str, Any]] = []
        if self.queue is None:
            return tables
        for number in self.numbers():
            flows = [_group(flow) for flow, where in enumerate(self.of_flow) if where == number]
            members: dict[str, Any] = {"groups": flows} if number < max(self.of_flow) else {}
            weight = {"weight": self.weights[number - 1]} if number > self.strict and self.weights else {}
            settings: dict[str, Any] = {**_parent(self.within[number - 1] if self.within else 0)}
            settings |= self.settings[number - 1] if self.settings else {}
            tables.append({"name": f"class{number}", "queue": dict(self.queue), **members, **weight, **settings})
        for number, (within, _, own) in enumerate(self.inner, 1):
            tables.append({"name": _inner(number), **_parent(within), **own})
        if self.strict:
            shared = {**_TURNS, "class": tables[self.strict :]}
            return [*tables[: self.strict], {"name": "shared", "queue": shared}]
        return tables


@dataclass(frozen=True)
class Case:
    """One qdisc under one workload."""

    name: str
    qdisc: str
    """As tc is told."""
    queue: Mapping[str, Any]
    """As a scenario says it."""
    workload: str
    filters: bool = False
    """Whether tc is told which packet belongs to which flow, in place of the kernel's random hash."""
    classes: Classes | None = None
    further: Sequence[str] = ()
    """Further calls of tc."""
    shapes: bool = False
    """Whether the qdisc keeps the link's rate by itself, with no HTB above it."""
    random: bool = False
    """Whether chance decides, so that only distributions can agree."""
    averages: bool = False
    """Whether it goes by an average queue as RED's."""
    link: Literal["shaper", "device"] = "shaper"
    """Where chance decides, who asks for packets: HTB only where there are any, a device also where there are none."""
    recording: str = ""
    """The case whose recording is looked at again; its own where this is empty."""
    note: str = ""
    """Why it does not agree, or what a reader has to know."""

    @property
    def load(self) -> Workload:
        """The workload itself."""
        return WORKLOADS[self.workload]

    @property
    def recorded_as(self) -> str:
        """The name of its recording."""
        return self.recording or self.name

    def tc(self) -> list[str]:
        """Return the arguments of each call of tc; DEV stands for the device."""
        place = "qdisc replace DEV root" if self.shapes else "qdisc add DEV parent 1:1"
        calls = [f"{place} handle 10: {self.qdisc}", *(self.classes.calls() if self.classes else []), *self.further]
        flows = range(len(self.load.flows))
        of_flow = self.classes.of_flow if self.classes else [flow + 1 for flow in flows]
        if self.filters or self.classes:
            calls += [
                f"filter add DEV parent 10: protocol ip prio 1 u32 match ip dport {FIRST_PORT + flow} 0xffff "
                f"flowid 10:{of_flow[flow]}"
                for flow in flows
            ]
        return calls

    def scenario(self) -> dict[str, Any]:
        """Return a scenario whose bottleneck has the queue; each flow is a group, which says how large a packet is."""
        traffic = {"kind": "cbr", "rate": "1 Mbit/s", "packet": f"{LARGEST_FRAME} B"}
        groups = [{"name": _group(flow), "traffic": traffic, "rtt": "10 ms"} for flow, _ in enumerate(self.load.flows)]
        classes = self.classes.tables() if self.classes else []
        queue = {**self.queue, **({"class": classes} if classes else {})}
        bottleneck = {"rate": f"{RATE_BIT_PER_S} bit/s", "queue": queue}
        return {"name": self.name, "duration": "1 s", "bottleneck": bottleneck, "group": groups}


def _group(flow: int) -> str:
    return f"flow{flow}"


def _linux(kind: str, **values: Any) -> dict[str, Any]:
    return {"kind": kind, "preset": "linux", **values}


_RED = "limit 150000 min 15000 max 45000 avpkt 1000 burst 25 probability 0.2 bandwidth 4mbit"
_RED_QUEUE = _linux("red", limit="150000 B", min="15000 B", max="45000 B", burst=25, max_p=0.2, bandwidth="4 Mbit/s")
_CHOKE = "choke limit 200 min 20 max 60 burst 25 probability 0.1 bandwidth 4mbit"
_CHOKE_QUEUE = _linux("choke", limit="200 packets", min="20 packets", max="60 packets", burst=25, max_p=0.1)
_CHOKE_SHORT = "choke limit 100 min 4 max 12 burst 6 probability 0.2 bandwidth 4mbit"
_CHOKE_SHORT_QUEUE = _linux("choke", limit="100 packets", min="4 packets", max="12 packets", burst=6, max_p=0.2)
_PIE = {"limit": "1000 packets", "update": "30 ms"}
_TURNS = _linux("dwrr", quantum=1514)
_SHORT = {"kind": "droptail", "limit": "20 packets"}
_LONG = {"kind": "droptail", "limit": "1000 packets"}

_HHF = "hhf limit 200 admit_bytes 5000"
_HHF_QUEUE = _linux("hhf", limit="200 packets", admit_bytes=5000, tick="10 ms", perfect=True)
_GRED = "gred setup DPs 4 default 1 grio"
_GRED_PRECEDENCES = [
    *(
        f"qdisc change DEV parent 1:1 handle 10: gred limit 60KB min 15KB max 45KB burst 20 avpkt 1000 "
        f"bandwidth 10mbit DP {number} probability {probability} prio {number + 1}"
        for number, probability in ((1, 0.02), (2, 0.04), (3, 0.06))
    ),
    # gred reads a packet's precedence from its tc_index, which an ingress qdisc sets to a filter's class.
    "qdisc add dev in ingress",
    *(
        f"filter add dev in parent ffff: protocol ip prio 1 u32 match ip dport {FIRST_PORT + flow} 0xffff "
        f"flowid ffff:{flow + 1}"
        for flow in range(3)
    ),
]

EXACT: list[Case] = [
    Case("pfifo", "pfifo limit 50", _linux("droptail", limit="50 packets"), "mixed"),
    Case("bfifo", "bfifo limit 30000", _linux("droptail", limit="30000 B"), "mixed"),
    Case("pfifo_head_drop", "pfifo_head_drop limit 50", _linux("droptail", limit="50 packets", drop="head"), "mixed"),
    Case("codel", "codel", _linux("codel"), "mixed"),
    Case("codel overloaded", "codel", _linux("codel"), "overload"),
    Case("codel ecn", "codel ecn", _linux("codel", ecn=True), "mixed"),
    Case("codel limit", "codel limit 40 ecn", _linux("codel", limit="40 packets", ecn=True), "overload"),
    Case("fq_codel", "fq_codel", _linux("fq_codel", perfect=True), "mixed", filters=True),
    Case("fq_codel overloaded", "fq_codel", _linux("fq_codel", perfect=True), "overload", filters=True),
    Case(
        "fq_codel limit",
        "fq_codel limit 100 quantum 300 noecn",
        _linux("fq_codel", perfect=True, limit="100 packets", quantum=300, ecn=False),
        "overload",
        filters=True,
    ),
    Case("sfq", "sfq", _linux("sfq", perfect=True), "overload", filters=True),
    Case(
        "sfq depth headdrop",
        "sfq limit 100 depth 30 headdrop quantum 500",
        _linux("sfq", perfect=True, limit="100 packets", depth=30, drop="head", quantum=500),
        "mixed",
        filters=True,
    ),
    Case(
        "drr",
        "drr",
        {"kind": "drr", "perfect": True, "limit": "4000 packets"},
        "mixed",
        classes=Classes([1, 2, 3, 4, 5, 6], "pfifo limit 1000", tc=["drr quantum 1514"] * 6),
        note="sch_drr's classes have limits of their own, Sojourn's drr one for all: only the order is compared",
    ),
    Case(
        "drr as dwrr",
        "drr",
        _TURNS,
        "mixed",
        classes=Classes([1, 2, 3, 4, 5, 6], "pfifo limit 1000", _LONG, tc=["drr quantum 1514"] * 6),
        recording="drr",
        note="in the second comparison Sojourn's queue is a `dwrr`, whose classes are those of sch_drr",
    ),
    Case(
        "drr codel",
        "drr",
        _linux("dwrr", quantum=500),
        "overload",
        classes=Classes(
            [1, 2, 3, 1],
            "codel",
            _linux("codel"),
            tc=[f"drr quantum {500 * weight}" for weight in (1, 2, 3)],
            weights=(1, 2, 3),
        ),
    ),
    Case(
        "ets",
        "ets bands 4 strict 1 quanta 1514 3028 4542",
        {"kind": "prio"},
        "mixed",
        classes=Classes(
            [2, 3, 4, 1, 3, 4],
            "pfifo limit 60",
            {"kind": "droptail", "limit": "60 packets"},
            weights=(0, 1, 2, 3),
            strict=1,
        ),
    ),
    Case(
        "htb",
        "htb",
        _linux("htb"),
        "mixed",
        classes=Classes(
            [1, 2, 3, 3, 2, 1],
            "pfifo limit 60",
            {"kind": "droptail", "limit": "60 packets"},
            tc=[
                "htb rate 1500kbit ceil 4mbit prio 0 burst 1600 cburst 1600 quantum 1514",
                "htb rate 1mbit ceil 3mbit prio 1 burst 1600 cburst 1600 quantum 3028",
                "htb rate 500kbit ceil 2mbit prio 1 burst 1600 cburst 1600 quantum 1514",
            ],
            above="htb rate 4mbit burst 1600 cburst 1600",
            settings=[
                {"rate": "1500 kbit/s", "ceil": "4 Mbit/s", "prio": 0, "quantum": 1514},
                {"rate": "1 Mbit/s", "ceil": "3 Mbit/s", "prio": 1, "quantum": 3028},
                {"rate": "500 kbit/s", "ceil": "2 Mbit/s", "prio": 1, "quantum": 1514},
            ],
        ),
        shapes=True,
    ),
    Case(
        "htb in classes",
        "htb",
        _linux("htb"),
        "mixed",
        classes=Classes(
            [1, 2, 3, 4, 2, 1],
            "pfifo limit 60",
            {"kind": "droptail", "limit": "60 packets"},
            tc=[
                "htb rate 300kbit ceil 4mbit prio 0 burst 1600 cburst 1600 quantum 1514",
                "htb rate 500kbit ceil 4mbit prio 1 burst 1600 cburst 1600 quantum 3028",
                "htb rate 200kbit ceil 2mbit prio 1 burst 1600 cburst 1600 quantum 1514",
                "htb rate 700kbit ceil 4mbit prio 1 burst 1600 cburst 1600 quantum 1514",
            ],
            above="htb rate 4mbit burst 1600 cburst 1600",
            settings=[
                {"rate": "300 kbit/s", "ceil": "4 Mbit/s", "prio": 0, "quantum": 1514},
                {"rate": "500 kbit/s", "ceil": "4 Mbit/s", "prio": 1, "quantum": 3028},
                {"rate": "200 kbit/s", "ceil": "2 Mbit/s", "prio": 1, "quantum": 1514},
                {"rate": "700 kbit/s", "ceil": "4 Mbit/s", "prio": 1, "quantum": 1514},
            ],
            inner=[
                (
                    0,
                    "htb rate 1500kbit ceil 2500kbit burst 1600 cburst 1600",
                    {"rate": "1500 kbit/s", "ceil": "2500 kbit/s"},
                ),
                (
                    1,
                    "htb rate 900kbit ceil 2mbit burst 1600 cburst 1600",
                    {"rate": "900 kbit/s", "ceil": "2 Mbit/s"},
                ),
            ],
            within=[1, 2, 2, 0],
        ),
        shapes=True,
        note="in the second comparison classes lie in others, three deep below that of the link",
    ),
    Case(
        "htb ceilings",
        "htb",
        _linux("htb"),
        "greedy",
        classes=Classes(
            [1, 2],
            "pfifo limit 60",
            {"kind": "droptail", "limit": "60 packets"},
            tc=[
                "htb rate 400kbit ceil 1mbit burst 1600 cburst 1600 quantum 1514",
                "htb rate 1mbit ceil 4mbit burst 1600 cburst 1600 quantum 12500",
            ],
            above="htb rate 4mbit burst 1600 cburst 1600",
            settings=[
                {"rate": "400 kbit/s", "ceil": "1 Mbit/s", "quantum": 1514},
                {"rate": "1 Mbit/s", "ceil": "4 Mbit/s", "quantum": 12500},
            ],
        ),
        shapes=True,
    ),
    Case("hhf", _HHF, _HHF_QUEUE, "overload"),
    Case("hhf mixed", _HHF, _HHF_QUEUE, "mixed"),
    Case("prio", "prio", _linux("prio"), "mixed"),
    Case(
        "prio limit",
        "prio",
        {"kind": "prio"},
        "overload",
        classes=Classes([3, 1, 2, 3], "pfifo limit 20", _SHORT),
    ),
    Case(
        "cake flowblind",
        "cake unlimited besteffort flowblind",
        {"kind": "cake", "preset": "besteffort", "isolation": "flowblind"},
        "mixed",
    ),
    Case(
        "cake flows",
        "cake unlimited besteffort flows",
        {"kind": "cake", "preset": "besteffort", "isolation": "flows"},
        "mixed",
        note="the kernel draws a flow's quantum at random, 1513 instead of 1514 B in one turn of 43, as its table of "
        "reciprocals holds 65535 where 65536 is meant; Sojourn's is 1514 B always. A recording anew would be another",
    ),
    Case(
        "cake shaped",
        "cake bandwidth 4mbit besteffort flowblind",
        {"kind": "cake", "preset": "besteffort", "isolation": "flowblind", "bandwidth": "4 Mbit/s"},
        "mixed",
        shapes=True,
    ),
    Case(
        "cake shaped diffserv",
        "cake bandwidth 4mbit diffserv4 flowblind",
        {"kind": "cake", "preset": "diffserv4", "isolation": "flowblind", "bandwidth": "4 Mbit/s"},
        "mixed",
        shapes=True,
    ),
]

RANDOM: list[Case] = [
    Case("red", f"red {_RED}", _RED_QUEUE, "steady", random=True, averages=True),
    Case("red ecn", f"red {_RED} ecn", {**_RED_QUEUE, "ecn": True}, "steady-ecn", random=True, averages=True),
    Case("red idle", f"red {_RED}", _RED_QUEUE, "pausing", random=True, averages=True),
    Case(
        "choke",
        _CHOKE,
        _CHOKE_QUEUE,
        "steady",
        random=True,
        averages=True,
    ),
    Case("choke short", _CHOKE_SHORT, _CHOKE_SHORT_QUEUE, "steady", random=True, averages=True),
    Case("pie", "pie limit 1000 tupdate 20ms", _linux("pie", **_PIE), "steady", random=True),
    Case("pie ecn", "pie limit 1000 tupdate 20ms ecn", _linux("pie", ecn=True, **_PIE), "steady-ecn", random=True),
    Case(
        "fq_pie",
        "fq_pie limit 1000 tupdate 20ms",
        _linux("fq_pie", perfect=True, **_PIE),
        "steady",
        random=True,
    ),
    Case("gred", _GRED, _linux("wred"), "precedences", further=_GRED_PRECEDENCES, random=True),
    Case("sfb", "sfb limit 1000", {"kind": "sfb", "preset": "tc"}, "steady-ecn", random=True),
]

CASES: list[Case] = [*EXACT, *RANDOM]

CONTROLS: list[Case] = [
    Case(
        "codel by the nanosecond",
        "codel",
        _linux("codel", clock="nanoseconds"),
        "overload",
        recording="codel overloaded",
        note="CoDel as RFC 8289 has it, with time to the nanosecond: the kernel rounds to 1024 ns, which adds up "
        "over a dropping state until other packets are hit, though equally many",
    ),
    Case(
        "fq_codel by the nanosecond",
        "fq_codel",
        _linux("fq_codel", perfect=True, clock="nanoseconds"),
        "overload",
        filters=True,
        recording="fq_codel overloaded",
        note="the same; a packet dropped elsewhere also changes whose turn it is",
    ),
    Case(
        "hhf by the nanosecond",
        _HHF,
        {**_HHF_QUEUE, "tick": "1 ns"},
        "mixed",
        recording="hhf mixed",
        note="the kernel counts the timeouts of hhf in ticks of its timer, 10 ms here",
    ),
    Case(
        "drr by classes",
        "drr",
        {"kind": "dwrr"},
        "mixed",
        classes=Classes([1, 2, 3, 4, 5, 6], "pfifo limit 1000", _LONG),
        recording="drr",
        note="without its preset `linux`, Sojourn's dwrr pays for a packet after it was sent, since a queue within may "
        "drop the packet that it would have shown, and takes classes in the order of the file: shares agree, turns do "
        "not",
    ),
    Case(
        "choke in real numbers",
        _CHOKE,
        {**_CHOKE_SHORT_QUEUE, "arithmetic": "real"},
        "steady",
        random=True,
        averages=True,
        recording="choke short",
        note="the kernel's average is in whole eighths of a packet, of which whole packets are forgotten: it comes out "
        "up to a packet high, and drops come earlier",
    ),
    Case(
        "pie every 20 ms",
        "pie limit 1000 tupdate 20ms",
        _linux("pie", limit="1000 packets", update="20 ms"),
        "steady",
        random=True,
        recording="pie",
        note="tc was told 20 ms, which is 2 ticks of this kernel's timer (100 Hz); the kernel's timers wait one "
        "tick more so as never to be early, so the probability moves every 30 ms",
    ),
    Case(
        "red on a device",
        f"red {_RED}",
        _RED_QUEUE,
        "pausing",
        random=True,
        averages=True,
        link="device",
        recording="red idle",
        note="RED notices idle time when it is asked for a packet and has none. HTB asks only classes that hold "
        "packets, so below HTB the average never ages; below a device it does",
    ),
]
"""Known not to agree: what the differences do, and that the comparison sees them."""

RECORDED: list[Case] = [case for case in CASES if not case.recording]
"""Those with a recording of their own."""
