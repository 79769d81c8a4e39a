"""From a scenario to commands of tc and back: nothing is lost that tc can say, and a kernel shows the same of both."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.uml import in_kernel, on_kernel

import sojourn
from sojourn import InputError
from sojourn.exported.queues import queues
from sojourn.imported import Imported, registry

# DRR of flows is refused, since a router does not know its flows; classes are what only commands have.
KINDS = {
    entry["name"]: entry
    for entry in sojourn.catalogue()["queues"]
    if "forms" in entry["linux"] and entry["holds"] is None and entry["name"] != "drr"
}
RANGE = re.compile(r"from ([0-9.]+) to ([0-9.]+)")
DEVICE = "eth1"
# By the unit in which tc takes a value: the least and the greatest that are tried, and how a scenario says them.
UNITS: dict[str, tuple[int, int, Callable[[int], Any]]] = {
    "us": (1, 10_000_000, "{} us".format),
    "ms": (1, 100_000, "{} ms".format),
    "s": (1, 1000, "{} s".format),
    "rate": (100, 1_000_000, "{} kbit/s".format),
    "packets": (3, 20_000, "{} packets".format),
    "full packets": (3, 20_000, "{} packets".format),
    "bytes": (3000, 50_000_000, "{} B".format),
    "percent": (1, 100, lambda number: number / 100),
    "sixteenths": (1, 100, lambda number: number / 16),
}


def line(queue: Mapping[str, Any], **link: Any) -> sojourn.Scenario:
    group = {"name": "tcp", "control": "newreno", "rtt": "20 ms"}
    return sojourn.scenario(
        {"duration": "1 s", "bottleneck": {"rate": "9.5 Mbit/s", "queue": queue, **link}, "group": [group]}
    )


def imported(lines: Sequence[str]) -> Imported:
    return registry.kinds()["tc"].read(registry.Source("tc.txt", "\n".join(lines).encode()))


def commands(scenario: sojourn.Scenario, device: str = DEVICE) -> list[str]:
    return queues(scenario).tc(device)


def preset(kind: str) -> dict[str, Any]:
    names = [one["name"] for one in KINDS[kind]["presets"]]
    return {"kind": kind, **({"preset": "linux"} if "linux" in names else {})}


def value(setting: Mapping[str, Any], parameter: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Return values of a parameter that tc may be able to say."""
    if "yes" in setting:
        return st.booleans()
    if "words" in setting:
        return st.sampled_from(sorted(setting["words"]))
    ends = RANGE.search(parameter["allowed"])
    low, high = (float(end) for end in ends.groups()) if ends and parameter["kind"] in ("integer", "number") else (1, 1)
    unit = "bytes" if setting["unit"].startswith("bytes") else setting["unit"]
    if unit in UNITS:
        lowest, highest, written = UNITS[unit]
        return st.integers(lowest, highest).map(written)
    if parameter["kind"] == "integer":
        return st.integers(int(low), int(min(high, 100_000)))
    return st.floats(low, min(high, 1000), allow_subnormal=False)


@st.composite
def tables(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    """Draw a discipline with some of its parameters."""
    form = draw(st.sampled_from(KINDS[kind]["linux"]["forms"]))
    parameters = {one["name"]: one for one in KINDS[kind]["parameters"]}
    chosen = draw(st.sets(st.sampled_from(range(len(form["settings"])))))
    said = {form["settings"][place]["parameter"]: form["settings"][place] for place in sorted(chosen)}
    own = {name: draw(value(setting, parameters[name])) for name, setting in said.items()}
    return {**preset(kind), **form["fixed"], **own}


FRAMINGS = st.sampled_from([{}, {"framing": "pppoa-vcmux"}, {"framing": "ethernet"}])


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_what_was_exported_and_imported_is_exported_as_before(kind: str, data: st.DataObject) -> None:
    table, link = data.draw(tables(kind)), data.draw(FRAMINGS)
    try:
        first = commands(line(table, **link))
    except InputError:
        # No such scenario, or none that Linux can have; the defaults below are both.
        return
    again = imported(first)
    assert commands(sojourn.scenario(again.tables())) == first
    assert not any("has no meaning" in remark for remark in again.remarks)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("link", [{}, {"framing": "pppoa-vcmux"}], ids=["ip", "atm"])
def test_the_defaults_of_linux_come_back(kind: str, link: dict[str, Any]) -> None:
    first = commands(line(preset(kind), **link))
    assert commands(sojourn.scenario(imported(first).tables())) == first


def test_both_directions_of_a_home_come_back() -> None:
    line = {"access.line": "cable-100-10-film", "access.gateway": 0.9}
    for changes in ({}, {"bottleneck.queue": "fq_codel", "reverse.queue": "codel"}):
        first = commands(sojourn.Scenario.load("gateway-and-modem", {**line, **changes}))
        assert commands(sojourn.scenario(imported(first).tables())) == first


def test_a_cake_with_a_bandwidth_counts_ip_packets() -> None:
    """Raw would count the 14 bytes of Ethernet's header as well; without a bandwidth nothing is counted."""
    cake = {**preset("cake"), "bandwidth": "9 Mbit/s"}
    (told,) = (one for one in commands(line(cake)) if one.startswith("tc qdisc add"))
    assert told.endswith(" egress overhead 0")
    assert "raw" not in told.split()
    read = imported([told.replace("overhead 0", "raw")]).tables()
    assert read["bottleneck"]["queue"]["overhead"] == 14
    assert any(" raw" in one for one in commands(line(preset("cake"))))


@in_kernel
def test_a_kernels_cake_sends_its_bandwidth_of_ip_packets() -> None:
    """A stream of 12 Mbit/s through 9 Mbit/s leaves 1472 of each 1500 bytes as payload, within 0.3 %."""
    stream = {"name": "udp", "rtt": "20 ms", "traffic": {"kind": "cbr", "rate": "12 Mbit/s"}}
    cake = {**preset("cake"), "bandwidth": "9 Mbit/s"}
    tables = {
        "duration": "12 s",
        "warmup": "2 s",
        "bottleneck": {"rate": "10 Mbit/s", "queue": cake},
        "group": [stream],
    }
    (run,) = sojourn.scenario(tables).run(seed=1, world="linux").runs
    assert run.groups["udp"].goodput_mbps == pytest.approx(9 * 1472 / 1500, rel=0.003)


# By discipline, what is set besides the defaults of Linux.
IN_KERNEL: dict[str, tuple[dict[str, Any], ...]] = {
    "droptail": ({}, {"limit": "30000 B"}, {"drop": "head", "limit": "77 packets"}),
    "red": ({}, {"limit": "100 packets", "min": "20 packets", "max": "60 packets", "ecn": True, "harddrop": True}),
    "ared": ({}, {"limit": "200 packets", "max_p": 0.05}),
    "choke": ({}, {"limit": "200 packets", "min": "20 packets", "max": "60 packets", "ecn": True}),
    "codel": ({}, {"ecn": True, "target": "7500 us", "ce_threshold": "1 ms"}),
    "pie": ({}, {"target": "20 ms", "alpha": 0.25, "ecn": True, "by_size": True, "estimator": "departure-rate"}),
    "sfq": ({}, {"limit": "100 packets", "depth": 50, "drop": "head", "perturb": "10 s", "buckets": 512}),
    "fq_codel": ({}, {"ecn": False, "quantum": 300, "flows": 512, "memory_limit": "4194304 B", "drop_batch": 32}),
    "fq_pie": ({}, {"target": "20 ms", "ecn": True, "flows": 512, "mark_p": 0.05}),
    "cake": (
        {},
        {"bandwidth": "9 Mbit/s"},
        {"bandwidth": "9 Mbit/s", "diffserv": "besteffort", "isolation": "dual-srchost", "wash": True},
        {"bandwidth": "9 Mbit/s", "link_layer": "pppoe-ptm", "ack_filter": "normal", "ingress": True, "rtt": "30 ms"},
        {"bandwidth": "9 Mbit/s", "overhead": 22, "mpu": 64, "cells": "atm", "memlimit": "2097152 B"},
    ),
    "sfb": ({}, {"increment": 0.002, "penalty_rate": 20, "rehash": "300 s"}),
    "hhf": ({}, {"quantum": 3000, "admit_bytes": 65536, "reset_timeout": "80 ms"}),
}


def test_every_discipline_is_tried_in_a_kernel() -> None:
    assert IN_KERNEL.keys() == KINDS.keys()


@in_kernel
def test_a_kernel_shows_the_same_of_what_was_imported_from_what_it_showed(tmp_path: Path) -> None:
    """Commands in a kernel, what it shows as a scenario, the commands of that: a kernel shows the same again."""
    cases = [line({**preset(kind), **own}) for kind, some in IN_KERNEL.items() for own in some]
    cases.append(line(preset("fq_codel"), framing="pppoa-vcmux"))
    cases.append(line(preset("codel"), framing="ethernet"))
    first = shown([commands(one, f"d{place}") for place, one in enumerate(cases)], tmp_path / "first")
    read = [sojourn.scenario(imported(one.splitlines()).tables()) for one in first]
    second = shown([commands(one, f"d{place}") for place, one in enumerate(read)], tmp_path / "second")
    for one, other, case in zip(first, second, cases, strict=True):
        assert other == one, case.to_dict()["bottleneck"]


def shown(cases: Sequence[Sequence[str]], folder: Path) -> list[str]:
    """Return what a kernel shows of the device of each case."""
    lines = []
    for place, case in enumerate(cases):
        device = f"d{place}"
        lines += [f"ip link add {device} type dummy", f"ip link set {device} up", "echo '#'", *case]
        lines += [f"tc -d qdisc show dev {device}", f"tc class show dev {device}"]
    _, *texts = on_kernel(lines, folder, []).split("#\n")
    assert len(texts) == len(cases)
    assert not any("Error" in text for text in texts), texts
    return texts


VOICE = {"name": "voice", "dscp": ["ef", "va"], "queue": {"kind": "fq_codel", "preset": "linux"}}
REST = {"name": "rest", "queue": {"kind": "codel", "preset": "linux"}}
WITH_CLASSES = [
    {"kind": "prio", "preset": "linux"},
    {"kind": "prio", "class": [VOICE, REST]},
    {"kind": "dwrr", "turns": "ahead", "class": [VOICE | {"weight": 3}, REST]},
    {
        "kind": "htb",
        "class": [
            {"name": "house", "rate": "9 Mbit/s"},
            VOICE | {"parent": "house", "rate": "1 Mbit/s", "ceil": "5 Mbit/s", "prio": 1},
            {"name": "old", "parent": "house", "precedence": [1, 2], "rate": "1 Mbit/s", "ceil": "5 Mbit/s"},
            REST | {"rate": "8 Mbit/s", "ceil": "9 Mbit/s"},
        ],
    },
]


@pytest.mark.parametrize("queue", WITH_CLASSES, ids=["prio of Linux", "prio", "drr", "htb"])
@pytest.mark.parametrize("policer", [None, {"rate": "5 Mbit/s", "burst": "20 kB"}], ids=["", "policed"])
def test_classes_and_policers_come_back(queue: dict[str, Any], policer: dict[str, str] | None) -> None:
    told = commands(line(queue, **({} if policer is None else {"policer": policer})))
    found = imported(told)
    assert commands(sojourn.scenario(found.tables())) == told
    assert tomllib.loads(found.toml()) == found.tables()
    assert len(found.remarks) == 1


HTB = [
    "tc qdisc add dev eth1 root handle 1: htb default 20",
    "tc class add dev eth1 parent 1: classid 1:1 htb rate 9mbit",
    "tc class add dev eth1 parent 1:1 classid 1:10 htb rate 1mbit ceil 9mbit prio 0",
    "tc class add dev eth1 parent 1:1 classid 1:20 htb rate 8mbit ceil 9mbit prio 1",
    "tc filter add dev eth1 parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10",
]


def test_commands_that_somebody_wrote_are_classes() -> None:
    """With Linux's defaults: a class without a queue has a FIFO, and one without a ceiling has its rate as one."""
    queue = imported(HTB).tables()["bottleneck"]["queue"]
    voice, rest = queue["class"]
    assert (voice["dscp"], voice["rate"], voice["ceil"], voice["prio"]) == ([46], "1 Mbit/s", "9 Mbit/s", 0)
    assert "dscp" not in rest
    assert rest["rate"] == "8 Mbit/s"
    without = imported([*HTB[:3], HTB[3].replace(" ceil 9mbit", ""), HTB[4]]).tables()["bottleneck"]["queue"]
    assert without["class"][1]["ceil"] == "8 Mbit/s"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            [*HTB[:4], "tc filter add dev eth1 parent 1: u32 match ip dport 53 0xffff flowid 1:10"],
            "class 1:10 was left",
        ),
        ([*HTB, "tc filter add dev eth1 parent 1: u32 match ip dport 53 0xffff flowid 1:10"], "line 6: a filter was"),
        (
            [*HTB, "tc filter add dev eth1 egress u32 match ip dport 53 0xffff action police rate 1mbit burst 9k drop"],
            "A policer was left out",
        ),
    ],
    ids=["port", "port too", "policer of a port"],
)
def test_what_a_scenario_does_not_know_of_classes_is_said(lines: list[str], said: str) -> None:
    assert any(said in one for one in imported(lines).remarks)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([HTB[0], HTB[1], HTB[2].replace("parent 1:1", "parent 1:")], "found 2 classes of htb at its root"),
        ([HTB[0].replace("default 20", "default 30"), *HTB[1:]], "takes what no filter takes"),
        (
            [
                *HTB[:2],
                "tc qdisc add dev eth1 parent 1:1 handle 10: prio bands 2 priomap 0 1 0 1 0 1 0 1 0 1 0 1 0 1 0 1",
            ],
            "a priomap of its own",
        ),
        (
            [
                *HTB[:2],
                "tc qdisc add dev eth1 parent 1:1 handle 10: drr",
                "tc class add dev eth1 parent 10: classid 10:1 drr quantum 1500",
                "tc class add dev eth1 parent 10: classid 10:2 drr quantum 2000",
            ],
            "multiples of the smallest",
        ),
        ([HTB[0].replace("htb", "stab overhead many htb"), *HTB[1:]], "overhead of stab: found 'many'"),
        ([HTB[0].replace("htb", "stab mpu 64b htb"), *HTB[1:]], "mpu of stab: found '64b'"),
    ],
    ids=["two roots", "no rest", "priomap", "quanta", "overhead", "mpu"],
)
def test_classes_that_would_be_another_queue_are_refused(lines: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        imported(lines)
