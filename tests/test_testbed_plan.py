"""From a scenario to a job for a kernel: no kernel is needed here."""

import ast
import json
import os
from pathlib import Path
from typing import Any

import pytest

import sojourn
from sojourn.registry import catalogue
from sojourn.worlds.linux import plan
from sojourn.worlds.linux.plan import express, shaping
from sojourn.worlds.linux.plan.check import check_sockets
from sojourn.worlds.linux.plan.express import CannotSayError, Expressed, LinkFacts

SNAPSHOTS = Path(__file__).parent / "snapshots" / "testbed"
LINK = LinkFacts(4e6, 1500)
HOW = shaping.How()

TCP = {"name": "tcp", "control": {"kind": "newreno", "preset": "linux"}, "rtt": "30 ms", "transport": "linux"}
OTHER = {**TCP, "name": "other", "control": {"kind": "cubic", "preset": "linux"}}


def padding(**traffic: Any) -> dict[str, Any]:
    """A group of padding, with some keys of its traffic changed or, where None, taken away."""
    given = {"kind": "padding", "rate": "250 packets/s", **traffic}
    kept = {key: value for key, value in given.items() if value is not None}
    return {"name": "padding", "rtt": "30 ms", "traffic": kept}


PFIFO = {"kind": "droptail", "preset": "linux", "limit": "100 packets"}


def scenario(**keys: Any) -> dict[str, Any]:
    """A scenario that Linux can have, with some keys changed."""
    link = {"rate": "4 Mbit/s", "queue": PFIFO, **keys.pop("bottleneck", {})}
    tables: dict[str, Any] = {"duration": "10 s", "group": [TCP], **keys, "bottleneck": link}
    return sojourn.scenario(tables).to_dict()


def queue(kind: str, **keys: Any) -> dict[str, Any]:
    return {"bottleneck": {"queue": {"kind": kind, "preset": "linux", **keys}}}


def classes(kind: str, low: dict[str, Any], inside: str = "codel", **keys: Any) -> dict[str, Any]:
    """A queue with two classes: low priority, and the rest with sixteen times its weight where there are weights."""
    weight = {} if kind == "prio" else {"weight": 16}
    own = {"kind": inside, "preset": "linux"}
    return queue(
        kind, **{"class": [{"name": "usual", "queue": own, **weight}, {"name": "low", "queue": own, **low}], **keys}
    )


def rates(inside: str) -> dict[str, Any]:
    """An htb with two classes: low priority with all values given, and the rest with automatic ones."""
    own = {"kind": inside, "preset": "linux"}
    values = {"rate": "1 Mbit/s", "ceil": "8 Mbit/s", "prio": 7, "burst": 3000, "cburst": 1500, "quantum": 300}
    low = {"name": "low", "dscp": ["le"], "queue": own, **values}
    return queue("htb", **{"class": [low, {"name": "usual", "queue": own}]})


EXAMPLES: dict[str, tuple[dict[str, Any], shaping.Shaper]] = {
    "pfifo": ({}, "htb"),
    "bfifo-tbf": (queue("droptail", limit="50 ms"), "tbf"),
    "head-drop-device": (queue("droptail", drop="head"), "device"),
    "red": (queue("red", limit="200 packets", min="1500 B", max="3 packets", burst=3, ecn=True), "htb"),
    "ared": (queue("ared"), "htb"),
    "choke": (queue("choke", min="5 packets", max="15 packets"), "htb"),
    "codel": (queue("codel", target="10 ms", ce_threshold="2 ms"), "htb"),
    "fq-codel": (queue("fq_codel", flows=64), "htb"),
    "pie": (queue("pie", estimator="departure-rate"), "htb"),
    "fq-pie": (queue("fq_pie", mark_p=0.2), "htb"),
    "sfq": (queue("sfq", perturb="10 s", drop="head", limit="100 ms"), "htb"),
    "sfb": (queue("sfb"), "htb"),
    "hhf": (queue("hhf"), "htb"),
    "drr": ({"bottleneck": {"queue": {"kind": "drr", "perfect": True}}, "group": [TCP, OTHER]}, "htb"),
    "prio": (classes("prio", {"dscp": ["le", "cs1"]}, "fq_codel"), "htb"),
    "prio-three-bands": (queue("prio"), "htb"),
    "htb": (rates("fq_codel"), "tbf"),
    "dwrr": (classes("dwrr", {"precedence": [1]}), "tbf"),
    "cake-under-htb": (queue("cake"), "htb"),
    "cake-shapes": (queue("cake", bandwidth="3 Mbit/s", diffserv="diffserv4"), "htb"),
    "cake-pppoe": (queue("cake", bandwidth="3 Mbit/s", link_layer="pppoe-ptm", wash=True), "htb"),
    "htb-in-classes": (
        queue(
            "htb",
            **{
                "class": [
                    {"name": "house", "rate": "3 Mbit/s", "ceil": "3500 kbit/s"},
                    {"name": "calls", "parent": "house", "dscp": ["ef"]},
                    {"name": "usual", "parent": "house"},
                    {"name": "low", "dscp": ["le"], "rate": "100 kbit/s"},
                ]
            },
        ),
        "htb",
    ),
    "two-ways": (
        {
            "reverse": {"rate": "1 Mbit/s", "delay": "3 ms", "queue": PFIFO},
            "group": [TCP, {**OTHER, "direction": "reverse", "rtt": ["30 ms", "70 ms"], "flows": 2}],
        },
        "device",
    ),
    "further-links": (
        {
            "reverse": {"rate": "3 Mbit/s", "queue": PFIFO},
            "hop": [
                {"name": "gateway", "at": "before", "rate": "3 Mbit/s", "queue": {"kind": "codel", "preset": "linux"}},
                {
                    "name": "up",
                    "at": "after",
                    "direction": "reverse",
                    "rate": "1 Mbit/s",
                    "delay": "2 ms",
                    "queue": PFIFO,
                },
            ],
            "change": [{"at": "2 s", "hop": [{"name": "gateway", "rate": "2 Mbit/s", "loss": 0.1}]}],
        },
        "htb",
    ),
    "padding": ({"group": [TCP, padding(burst=100, every="1 s")]}, "htb"),
    "rough": (
        {"bottleneck": {"delay": "5 ms", "loss": 0.01, "jitter": {"kind": "uniform", "max": "4 ms"}, "queue": PFIFO}},
        "htb",
    ),
    "ecn-and-marking": (
        {"group": [{**TCP, "transport": {"preset": "linux", "ecn": True}}, {**OTHER, "dscp": "le", "hosts": 1}]},
        "htb",
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_scenario_becomes_these_commands(name: str) -> None:
    keys, shaper = EXAMPLES[name]
    found = plan.job(scenario(**keys), 1, shaping.How(shaper)).plan
    text = json.dumps({key: found[key] for key in ("ip", "tc", "endpoints", "watched")}, indent=1) + "\n"
    path = SNAPSHOTS / f"{name}.json"
    if os.environ.get("SOJOURN_RECORD"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"SOJOURN_RECORD=1 renews {path.name}"


def test_a_plan_depends_on_the_seed_where_the_scenario_is_random_and_nowhere_else() -> None:
    random = scenario(group=[{**TCP, "flows": 3, "start": {"uniform": ["1 s", "2 s"]}}])
    starts = [[flow.start_s for flow in plan.job(random, seed, HOW).flows] for seed in (1, 1, 2)]
    assert starts[0] == starts[1] != starts[2]
    assert all(1 <= start <= 2 for start in starts[0])
    assert len(set(starts[0])) == len(starts[0])


REFUSED = {
    "bottleneck.queue.kind": queue("dualpi2"),
    "bottleneck.queue.root": {"bottleneck": {"queue": {"kind": "codel"}}},
    "bottleneck.queue.limit": queue("codel", limit="20000 B"),
    "bottleneck.queue.target": queue("codel", target="1500 ns"),
    "bottleneck.queue.memory_limit": queue("fq_codel", memory_limit="auto"),
    "bottleneck.queue.alpha": queue("pie", alpha=0.1),
    "bottleneck.queue.le_factor": queue("pie", le_factor=9.0),
    "bottleneck.queue.mark_p": queue("fq_pie", mark_p=0.125),
    "bottleneck.queue.bandwidth": queue("cake", bandwidth="5 Mbit/s"),
    "bottleneck.queue.link_layer": queue("cake", link_layer="docsis"),
    "bottleneck.queue.perfect": queue("fq_codel", perfect=True),
    "bottleneck.queue.bands": {"bottleneck": {"queue": {"kind": "prio"}}},
    "bottleneck.queue.turns": {
        "bottleneck": {"queue": {**classes("dwrr", {"dscp": ["le"]})["bottleneck"]["queue"], "turns": "afterwards"}}
    },
    "bottleneck.queue.class.low.groups": classes("prio", {"groups": ["tcp"]}),
    "bottleneck.queue.class.low.queue.root": classes("prio", {"dscp": ["le"], "queue": "codel"}),
    "bottleneck.queue.class.low.queue.kind": classes(
        "prio", {"dscp": ["le"], "queue": {"kind": "drr", "perfect": True}}
    ),
    "bottleneck.queue.class.low.queue.link_layer": classes(
        "prio", {"dscp": ["le"], "queue": {"kind": "cake", "preset": "linux", "link_layer": "docsis"}}
    ),
    "bottleneck.medium": {"bottleneck": {"medium": "docsis", "queue": PFIFO}},
    "bottleneck.trace": {"bottleneck": {"rate": None, "trace": "ready:synthetic-lte", "queue": PFIFO}},
    "bottleneck.framing": {"bottleneck": {"framing": "ethernet", "queue": PFIFO}},
    "hop": {"hop": [{"name": f"h{number}", "rate": "9 Mbit/s", "at": "before", "queue": PFIFO} for number in range(9)]},
    "hop.gateway.shaper": {
        "hop": [
            {
                "name": "gateway",
                "rate": "9 Mbit/s",
                "at": "before",
                "queue": PFIFO,
                "shaper": {"rate": "8 Mbit/s", "burst": "3 kB"},
            }
        ]
    },
    "phase": {"phase": [{"name": "early", "from": "1 s", "to": "2 s"}]},
    "group.tcp.control.halve": {"group": [{**TCP, "control": {"kind": "newreno", "preset": "rfc"}}]},
    "group.tcp.transport.min_rto": {"group": [{**TCP, "transport": "rfc"}]},
    "group.tcp.transport.ecn": {"group": [{**TCP, "transport": {"preset": "linux", "ecn": "accurate"}}]},
    "group.tcp.host": {"group": [{**TCP, "access_rate": "1 Mbit/s"}]},
    "group.tcp.host.ring": {"group": [{**TCP, "access_rate": "1 Mbit/s", "host": {"kind": "linux", "qdisc": "codel"}}]},
    "group.tcp.host.small_queue": {
        "group": [{**TCP, "access_rate": "1 Mbit/s", "host": {"kind": "linux", "small_queue": "1 s"}}]
    },
    "group.tcp.clock_skew_ppm": {"group": [{**TCP, "clock_skew_ppm": 10.0}]},
    "group.tcp.traffic.kind": {"group": [{**TCP, "traffic": "video"}]},
    "group.game.traffic.kind": {
        "group": [{**TCP, "name": "game", "traffic": {"kind": "messages", "size": "100 B", "every": "50 ms"}}]
    },
    "group.padding.traffic.reach": {"group": [TCP, padding(reach="bottleneck")]},
    "group.padding.traffic.kind": {"group": [TCP, padding(kind="adaptive-padding", rate=None)]},
    "group.rtt": {"group": [{**TCP, "flows": 17, "rtt": [f"{number} ms" for number in range(1, 18)]}]},
}


def changed(*parts: dict[str, Any], shaper: shaping.Shaper = "htb", **keys: Any) -> list[dict[str, Any]]:
    """What the plan says of changes of the bottleneck, one each second."""
    changes = [{"at": f"{number} s", "bottleneck": part} for number, part in enumerate(parts, start=1)]
    found: list[dict[str, Any]] = plan.job(scenario(change=changes, **keys), 1, shaping.How(shaper)).plan["changes"]
    assert [one["at_s"] for one in found] == [float(number) for number in range(1, len(parts) + 1)]
    return found


def test_changes_become_these_commands() -> None:
    codel = {"kind": "codel", "preset": "linux"}
    rate, limit, other, back, loss, delay, jitter = changed(
        {"rate": "1 Mbit/s"},
        {"queue": {"limit": "7 packets"}},
        {"queue": codel},
        {"queue": {"target": "9 ms"}, "rate": "2 Mbit/s"},
        {"loss": 0.25},
        {"delay": "5 ms", "loss": 0},
        {"jitter": "2 ms"},
    )
    assert rate["tc"] == {
        "rtr": [
            "class change dev rtr1 parent 1: classid 1:1 htb rate 1000000bit burst 150 cburst 150 quantum 1500",
        ],
        "fwd": [],
    }
    assert limit["tc"]["rtr"] == ["qdisc change dev rtr1 parent 1:1 handle 10: pfifo limit 7"]
    assert other["handle"] == "102:"
    assert other["tc"]["rtr"][0].startswith(
        "qdisc replace dev rtr1 parent 1:1 handle 102: codel limit 1000 target 5000us "
    )
    assert back["tc"]["rtr"][1].startswith(
        "qdisc change dev rtr1 parent 1:1 handle 102: codel limit 1000 target 9000us "
    )
    assert loss["tc"]["fwd"] == [
        "qdisc replace dev fwd1 root handle 1: netem limit 1000000 delay 15000us loss random 25%"
    ]
    netem = "qdisc replace dev fwd1 root handle 1: netem limit 1000000 delay "
    assert delay["tc"] == {"rtr": [], "fwd": [f"{netem}20000us"]}
    assert jitter["tc"] == {"rtr": [], "fwd": [f"{netem}21000us 1000us rate 1000gbit"]}
    assert [one.get("handle") for one in (rate, limit, back, loss, delay, jitter)] == [None] * 6


def test_other_shapers_change_as_they_were_made() -> None:
    (tbf,) = changed({"rate": "1 Mbit/s"}, shaper="tbf")
    assert tbf["tc"]["rtr"] == [
        "qdisc change dev rtr1 root handle 1: stab overhead -14 tbf rate 1000000bit burst 1500 limit 1000000",
        "qdisc change dev rtr1 parent 1:1 handle 10: pfifo limit 100",
    ]
    (device,) = changed({"rate": "1 Mbit/s"}, shaper="device")
    assert device["tc"]["fwd"] == [
        "qdisc replace dev fwd1 root handle 1: netem limit 1000000 delay 15000us rate 1000000bit -14"
    ]


@pytest.mark.parametrize(
    ("before", "after", "in_place"),
    [
        (queue("droptail"), {"limit": "20000 B"}, False),
        (queue("droptail"), {"drop": "head"}, False),
        (queue("red"), {"max_p": 0.25}, False),
        (queue("fq_codel"), {"flows": 64}, False),
        (queue("fq_codel"), {"quantum": 300}, True),
        (queue("cake"), {"diffserv": "diffserv4"}, False),
        (queue("pie"), {"target": "30 ms"}, True),
    ],
)
def test_the_simulator_and_linux_change_the_same_queues_in_place(
    before: dict[str, Any], after: dict[str, Any], in_place: bool
) -> None:
    (found,) = changed({"queue": after}, **before)
    assert ("handle" not in found) is in_place
    # The simulator drops what waits in a queue that it replaces.
    overload = {"name": "cbr", "rtt": "30 ms", "traffic": {"kind": "cbr", "rate": "20 Mbit/s"}}
    given = scenario(**before, group=[overload], change=[{"at": "5 s", "bottleneck": {"queue": after}}])
    rows = sojourn.scenario(given).run(runs=1, bin_s=0.01).queue.to_pylist()
    waiting = {round(row["time_s"], 2): row["queue_packets"] for row in rows}
    assert waiting[4.99] > 10
    assert (waiting[5.0] > 0.5 * waiting[4.99]) is in_place


@pytest.mark.parametrize(
    ("part", "key"),
    [
        ({"bottleneck": {"trace": "ready:synthetic-lte"}}, "change.0.bottleneck.trace"),
        ({"bottleneck": {"policer": {"rate": "1 Mbit/s", "burst": "5 kB"}}}, "change.0.bottleneck.policer"),
        ({"bottleneck": {"queue": {"kind": "dualpi2"}}}, "change.0.bottleneck.queue.kind"),
        ({"bottleneck": {"queue": {"kind": "drr", "perfect": True}}}, "change.0.bottleneck.queue.kind"),
        (classes("prio", {"dscp": ["le"]}), "change.0.bottleneck.queue.kind"),
        (rates("codel"), "change.0.bottleneck"),
        ({"group": [{"name": "tcp", "control": {"abe": 0.8}}]}, "change.0.group"),
        ({"group": [{"name": "tcp", "rtt": "50 ms"}]}, "change.0.group"),
    ],
)
def test_changes_that_linux_cannot_make_are_refused(part: dict[str, Any], key: str) -> None:
    with pytest.raises(sojourn.InputError) as refused:
        plan.job(scenario(change=[{"at": "1 s", **part}]), 1, HOW)
    assert key in {item["key"] for item in refused.value.diagnostics}


@pytest.mark.parametrize("key", REFUSED)
def test_what_linux_cannot_have_is_refused_with_what_it_can(key: str) -> None:
    keys = REFUSED[key]
    link = keys.get("bottleneck", {})
    if link.get("rate", "") is None:
        del link["rate"]
        tables = {"duration": "10 s", "group": [TCP], "bottleneck": link}
        given = sojourn.scenario(tables).to_dict()
    else:
        given = scenario(**keys)
    with pytest.raises(sojourn.InputError) as refused:
        plan.job(given, 1, HOW)
    assert key in {item["key"] for item in refused.value.diagnostics}
    message = str(refused.value)
    assert f"{key}: " in message
    assert "world='sim' can" in message
    assert "allowed: " in message


def hinted(message: str) -> dict[str, str]:
    """Return the overrides at the end of a message, which can be given as they are."""
    overrides: dict[str, str] = ast.literal_eval(message.rpartition("overrides=")[2])
    return overrides


def test_all_that_does_not_fit_is_said_at_once_with_the_overrides_that_help() -> None:
    given = sojourn.Scenario.load("motivating-red")
    with pytest.raises(sojourn.InputError) as refused:
        plan.job(given.to_dict(), 1, HOW)
    message = str(refused.value)
    hints = hinted(message)
    assert hints == {
        "group.tcp.control.preset": "linux",
        "group.tcp.transport.preset": "linux",
        "bottleneck.queue.preset": "linux",
    }
    assert len(refused.value.diagnostics) > len(hints)


def test_the_overrides_that_a_refusal_names_do_help() -> None:
    path = "motivating-droptail"
    with pytest.raises(sojourn.InputError) as refused:
        plan.job(sojourn.Scenario.load(path).to_dict(), 1, HOW)
    helped = sojourn.Scenario.load(path, hinted(str(refused.value)))
    try:
        plan.job(helped.to_dict(), 1, HOW)
    except sojourn.InputError as still:
        # What the file itself sets stays as it is; nothing that the preset decides may be left.
        keys = {item["key"] for item in still.diagnostics}
        assert not any(key.endswith(("halve", "min_rto", "slow_start_limit")) for key in keys)


def test_every_preset_linux_of_a_queue_that_linux_has_can_be_said() -> None:
    for entry in catalogue()["queues"]:
        has = any(preset["name"] == "linux" for preset in entry["presets"])
        if has and "absent" not in entry["linux"]:
            given = classes(entry["name"], {"dscp": ["le"]}) if entry["name"] == "dwrr" else queue(entry["name"])
            given = rates("codel") if entry["name"] == "htb" else given
            resolved = scenario(**given)["bottleneck"]["queue"]
            assert isinstance(express.queue(resolved, "q", LINK), Expressed), entry["name"]


def test_every_preset_linux_of_a_control_that_linux_has_can_be_said() -> None:
    for entry in catalogue()["controls"]:
        has = any(preset["name"] == "linux" for preset in entry["presets"])
        if has and "absent" not in entry["linux"]:
            marks = {"preset": "linux", "ecn": "accurate"}
            transport = marks if entry["name"] == "dctcp" else "linux"
            control = {"kind": entry["name"], "preset": "linux"}
            group = {**TCP, "control": control, "transport": transport}
            given = scenario(group=[group], **queue("codel", ecn=True))
            found = express.control(given["group"][0]["control"], "c")
            assert isinstance(found, Expressed), (entry["name"], found)


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [
        ("5 ms", "us", "5000us"),
        ("600 s", "ms", "600000"),
        ("10 s", "s", "10"),
        ("100 packets", "packets", "100"),
        ("200 packets", "bytes of full packets", "300000"),
        ("2.5 packets", "bytes of mean packets", "2500"),
        ("50 ms", "bytes", "25000"),
        ("60 ms", "full packets", "20"),
        ("1500 B", "bytes of mean packets", "1500"),
        (0.125, "sixteenths", "2"),
        (0.1, "percent", "10"),
        (0.02, "number", "0.02"),
        ("3 Mbit/s", "rate", "3000000bit"),
    ],
)
def test_values_are_written_in_the_unit_that_tc_reads(value: Any, unit: str, written: str) -> None:
    assert express.written(value, unit, {"mean_packet": 1000}, LINK) == written


@pytest.mark.parametrize(
    ("value", "unit", "allowed"),
    [
        ("1500 ns", "us", "whole microseconds"),
        ("1500 ms", "s", "whole seconds"),
        ("20000 B", "packets", "packets"),
        ("10 packets", "bytes", "bytes"),
        (0.1, "sixteenths", "whole sixteenths"),
        (0.125, "percent", "whole hundredths"),
    ],
)
def test_what_a_unit_cannot_hold_is_told(value: Any, unit: str, allowed: str) -> None:
    with pytest.raises(CannotSayError, match=allowed):
        express.written(value, unit, {}, LINK)


def test_a_shaper_makes_up_for_late_timers_only_where_there_are_any() -> None:
    bursts = []
    for exact in (True, False):
        how = shaping.How("htb", exact)
        lines = shaping.bottleneck("d", how, Expressed("pfifo", (), "", ()), LINK, [])
        bursts.append(int(lines[1].split(" burst ")[1].split()[0]))
    exact_bytes, late_bytes = bursts
    assert 0 < exact_bytes < 1500
    # HTB goes into debt for a packet: with one packet's worth it sends two at once after a pause, never three.
    assert late_bytes == 1500


def test_the_half_round_trips_of_both_directions_make_the_whole() -> None:
    reverse = {"rate": "1 Mbit/s", "delay": "3 ms", "queue": PFIFO}
    tc = plan.job(scenario(reverse=reverse), 1, HOW).plan["tc"]
    delays = (line.split(" delay ")[1] for name in ("fwd", "rtr") for line in tc[name] if "netem" in line)
    forward, back = (float(delay.removesuffix("us")) for delay in delays)
    assert forward == 15_000
    assert back == 18_000


# Loss detection as before RACK, TLP and F-RTO, and nothing told of what came twice.
EARLIER = {"preset": "linux", "loss_detection": "count", "undo": "timestamps", "sack": True}


def test_the_hosts_kernels_are_switched_as_the_transport_says() -> None:
    def switched(transport: Any) -> list[dict[str, str]]:
        found = plan.job(scenario(group=[{**TCP, "transport": transport}]), 1, HOW).plan["sysctl"]
        assert not any("tcp_recovery" in key for name in ("rtr", "fwd") for key in found[name])
        return [found["snd"], found["rcv"]]

    names = ("recovery", "early_retrans", "frto", "dsack", "slow_start_after_idle")
    for transport, values in (
        ("linux", "1 3 2 1 1"),
        (EARLIER, "0 0 0 0 1"),
        ({"preset": "linux", "after_idle": "keep"}, "1 3 2 1 0"),
    ):
        for one in switched(transport):
            assert " ".join(one[f"net.ipv4.tcp_{name}"] for name in names) == values


def test_all_connections_share_one_kernel() -> None:
    with pytest.raises(sojourn.InputError) as refused:
        plan.job(scenario(group=[TCP, {**OTHER, "transport": EARLIER}]), 1, HOW)
    found = {item["key"]: item for item in refused.value.diagnostics}
    assert set(found) == {f"group.other.transport.{key}" for key in ("loss_detection", "undo", "sack")}
    assert found["group.other.transport.undo"]["allowed"] == "the value of group tcp"
    both = scenario(group=[{**TCP, "transport": EARLIER}, {**OTHER, "transport": EARLIER}])
    assert plan.job(both, 1, HOW).plan["sysctl"]["snd"]["net.ipv4.tcp_recovery"] == "0"


def test_nobody_switches_the_kernel_of_a_host() -> None:
    check_sockets(scenario())
    with pytest.raises(sojourn.InputError) as refused:
        check_sockets(scenario(group=[{**TCP, "transport": EARLIER}]))
    assert {item["found"] for item in refused.value.diagnostics} == {"count", "true", "timestamps"}


HOST = {"kind": "linux", "qdisc": "fq_codel", "ring": 1, "byte_limits": False}


def test_each_host_has_its_own_link_and_qdisc() -> None:
    fast = {**TCP, "flows": 2, "hosts": 1, "access_rate": "5 Mbit/s", "host": HOST}
    back = {**OTHER, "flows": 2, "access_rate": "1 Mbit/s", "host": "linux", "direction": "reverse"}
    both = {"reverse": {"rate": "9 Mbit/s", "queue": PFIFO}}
    found = plan.job(scenario(group=[fast, back, {**TCP, "name": "plain"}], **both), 1, HOW).plan
    assert len(found["tc"]["snd"]) == len(found["tc"]["rcv"]) == 1 + 3 * 2
    filtered = "filter add dev snd0 parent 1: protocol ip prio 1 u32"
    assert found["tc"]["snd"][:4] == [
        "qdisc add dev snd0 root handle 1: stab overhead -14 htb",
        "class add dev snd0 parent 1: classid 1:1 htb rate 5000000bit burst 150 cburst 150 quantum 1500",
        "qdisc add dev snd0 parent 1:1 fq_codel",
        f"{filtered} match ip src 10.0.0.1/32 match ip dst 10.128.0.1/32 match ip dport 5000 0xffff flowid 1:1",
    ]
    assert "qdisc add dev rcv0 parent 1:2 pfifo limit 1000000" in found["tc"]["rcv"]
    assert "sch_fq_codel" in found["modules"]


def test_the_hosts_of_others_keep_their_links() -> None:
    with pytest.raises(sojourn.InputError) as refused:
        check_sockets(scenario(group=[{**TCP, "access_rate": "5 Mbit/s", "host": HOST}]))
    assert {item["key"] for item in refused.value.diagnostics} == {"group.tcp.access_rate", "group.tcp.host"}
