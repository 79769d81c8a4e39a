"""A scenario on a real kernel, end to end; each is skipped with its reason where there is no such kernel."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sojourn
from conftest import Command
from sojourn import _native
from sojourn.worlds.linux import plan, utp, world
from sojourn.worlds.linux.errors import JobError, MissingInsideError, NotInstalledError
from sojourn.worlds.linux.idle import REMEDY
from sojourn.worlds.linux.inside.job import explained
from sojourn.worlds.linux.kernels import kernels
from sojourn.worlds.linux.plan.flows import Flow

pytestmark = pytest.mark.real_time

TCP = {"name": "tcp", "control": "newreno", "rtt": "20 ms", "transport": "linux"}


def scenario(**keys: Any) -> sojourn.Scenario:
    link = {"rate": "2 Mbit/s", "queue": {"kind": "droptail", "preset": "linux", "limit": "20 packets"}}
    return sojourn.scenario({"name": "short", "duration": "4 s", "group": [TCP], "bottleneck": link, **keys})


def link(kind: str, **keys: Any) -> dict[str, Any]:
    return {"rate": "2 Mbit/s", "queue": {"kind": kind, "preset": "linux", **keys}}


@pytest.fixture(params=["host", "uml", "uml-virtual"])
def kernel(request: pytest.FixtureRequest) -> str:
    return available(request.param)


@pytest.fixture
def virtual() -> str:
    return available("uml-virtual")


def available(name: str) -> str:
    lacks = kernels()[name].missing()
    if lacks:
        pytest.skip(str(NotInstalledError(name, lacks)))
    return name


def is_too_slow(refused: JobError, kernel: str) -> bool:
    return kernel != "uml-virtual" and REMEDY in str(refused)


@pytest.mark.testbed
def test_one_flow_fills_the_link_and_its_buffer(kernel: str) -> None:
    try:
        result = scenario().run(world="linux", kernel=kernel)
    except MissingInsideError as lacks:
        pytest.skip(str(lacks))
    except JobError as refused:
        if is_too_slow(refused, kernel):
            return
        raise
    record = result.runs[0]
    assert record.kernel.name == kernel
    # Where time is real, what else the machine does delays timers.
    late = 0.02 if kernel == "uml-virtual" else 0.4
    assert 1 - late < record.bottleneck.utilization < 1.02
    assert record.bottleneck.drops > 0
    # 20 packets of 1500 bytes at 2 Mbit/s are 120 ms.
    assert 100 < record.bottleneck.queue_ms.max <= 121 / (1 - late)
    assert record.groups.tcp.share == 1
    # 1448 of 1500 bytes are payload; what waits when the run ends has not been delivered.
    assert 2 * 1448 / 1500 * (0.96 - late) < record.groups.tcp.goodput_mbps < 2 * 1448 / 1500
    assert 20 <= record.bottleneck.ping_ms.base < 21 + 50 * late
    assert set(result.queue.column_names) >= {"queue_ms", "drops"}
    assert sum(result.flows["delivered_bytes"].to_pylist()) == record.flows[0].delivered_bytes


@pytest.mark.testbed
@pytest.mark.parametrize("kernel", ["uml", "uml-virtual"])
def test_a_full_queue_keeps_its_link_busy_or_the_run_is_refused(kernel: str) -> None:
    """A rate at which a busy machine's timers are late: the record had a utilization of 0.71 beside a full queue."""
    groups = [{**TCP, "name": control, "control": control, "rtt": "40 ms"} for control in ("cubic", "bbr")]
    fast = {"rate": "20 Mbit/s", "queue": {"kind": "droptail", "preset": "linux", "limit": "100 packets"}}
    given = scenario(group=groups, bottleneck=fast, reverse={**fast, "rate": "1 Mbit/s"}, duration="10 s")
    try:
        link = given.run(world="linux", kernel=available(kernel), series=False).runs[0].bottleneck
    except JobError as refused:
        if not is_too_slow(refused, kernel):
            raise
    else:
        assert link.utilization > 0.95


@pytest.mark.testbed
def test_in_virtual_time_it_is_what_is_simulated(virtual: str) -> None:
    given = scenario()
    real, simulated = (given.run(**how).runs[0] for how in ({"world": "linux", "kernel": virtual}, {}))
    assert real.bottleneck.ping_ms.base == pytest.approx(20, abs=0.01)
    assert real.bottleneck.queue_ms.mean == pytest.approx(simulated.bottleneck.queue_ms.mean, rel=0.25)
    assert real.groups.tcp.goodput_mbps == pytest.approx(simulated.groups.tcp.goodput_mbps, rel=0.03)


@pytest.mark.testbed
@pytest.mark.parametrize("segments", [9, 10, 11])
def test_a_transfer_takes_the_round_trips_of_its_segments(virtual: str, segments: int) -> None:
    """Ten segments fit the initial window; what a connection says of itself must not be an eleventh."""
    traffic = {"kind": "bulk", "size": f"{segments * 1448} B"}
    own = {**TCP, "control": "cubic", "rtt": "400 ms", "traffic": traffic}
    given = scenario(group=[own], bottleneck={**link("droptail", limit="100 packets"), "rate": "10 Mbit/s"})
    real, simulated = (given.run(**how).runs[0] for how in ({"world": "linux", "kernel": virtual}, {}))
    assert real.flows[0].delivered_bytes == simulated.flows[0].delivered_bytes == segments * 1448
    # The shaper hands a packet over when its transmission begins, 1.2 ms before a wire does, in each round trip.
    assert real.groups.tcp.fct_ms.mean == pytest.approx(simulated.groups.tcp.fct_ms.mean, abs=4)


@pytest.mark.testbed
@pytest.mark.parametrize(("cubic_rtt", "bbr_rtt"), [("20 ms", "80 ms"), ("80 ms", "20 ms")])
def test_flows_of_unequal_paths_share_as_is_simulated(virtual: str, cubic_rtt: str, bbr_rtt: str) -> None:
    """CUBIC has 60 % beside BBR with the longer path, and less than half with the shorter one."""
    paths = {"cubic": cubic_rtt, "bbr": bbr_rtt}
    groups = [{**TCP, "name": name, "control": name, "rtt": rtt} for name, rtt in paths.items()]
    deep = {**link("droptail", limit="100 packets"), "rate": "4 Mbit/s"}
    given = scenario(group=groups, bottleneck=deep, duration="60 s", warmup="10 s")
    shares = [
        np.mean([run.groups.cubic.share for run in given.run(series=False, runs=runs, **how).runs])
        for how, runs in (({"world": "linux", "kernel": virtual}, 5), ({}, 10))
    ]
    # Of eight runs of the kernel the shares deviate by 0.035; the two assignments are 0.12 apart.
    assert shares[0] == pytest.approx(shares[1], abs=0.06)
    assert (shares[0] > 0.53) == (cubic_rtt == "80 ms")


@pytest.mark.testbed
@pytest.mark.parametrize(
    ("flows", "rate", "queue", "rtt"), [(19, "10 Mbit/s", "pie", "100 ms"), (10, "4 Mbit/s", "codel", "50 ms")]
)
def test_many_flows_with_few_segments_use_the_link_as_is_simulated(
    virtual: str, flows: int, rate: str, queue: str, rtt: str
) -> None:
    """Where windows have few segments, acknowledgements that wait idle the link: with a fault in them it was 97 %."""
    own = {**TCP, "flows": flows, "rtt": rtt, "start": {"uniform": ["0 s", "1 s"]}}
    given = scenario(group=[own], bottleneck={**link(queue), "rate": rate}, duration="40 s", warmup="10 s")
    real = given.run(world="linux", kernel=virtual, shaper="device").runs[0].bottleneck
    simulated = [run.bottleneck for run in given.run(runs=3).runs]
    assert real.utilization == pytest.approx(np.mean([one.utilization for one in simulated]), abs=0.015)
    assert real.drop_rate == pytest.approx(np.mean([one.drop_rate for one in simulated]), rel=0.15)
    assert real.queue_ms.mean == pytest.approx(np.mean([one.queue_ms.mean for one in simulated]), rel=0.1)


@pytest.mark.testbed
@pytest.mark.parametrize("shaper", ["htb", "device"])
def test_a_download_beside_an_upload_over_a_slow_return_is_what_is_simulated(virtual: str, shaper: str) -> None:
    """The return link's queue stands before its wire: with the wire first all waited there, without end."""
    own = {**TCP, "rtt": "60 ms"}
    given = scenario(
        group=[{**own, "name": "down"}, {**own, "name": "up", "direction": "reverse"}],
        bottleneck={**link("fq_codel"), "rate": "10 Mbit/s"},
        reverse={**link("fq_codel"), "rate": "500 kbit/s"},
        duration="40 s",
        warmup="10 s",
    )
    real = given.run(world="linux", kernel=virtual, shaper=shaper).runs[0]
    simulated = given.run(runs=3).runs
    for name in ("down", "up"):
        goodput = np.mean([run.groups[name].goodput_mbps for run in simulated])
        # The download has 9 % less in the kernel with `device`: open, perhaps since no segment here has PSH.
        assert real.groups[name].goodput_mbps == pytest.approx(goodput, rel=0.15), name
    queue_ms = np.mean([run.reverse.queue_ms.mean for run in simulated])
    assert real.reverse.queue_ms.mean == pytest.approx(queue_ms, rel=0.15)


@pytest.mark.testbed
@pytest.mark.parametrize("qdisc", ["none", "pfifo_fast"])
def test_small_queues_keep_a_window_out_of_its_own_host(virtual: str, qdisc: str) -> None:
    host = {"kind": "linux", "qdisc": qdisc, **({} if qdisc == "none" else {"ring": 1, "byte_limits": False})}
    own = {**TCP, "access_rate": "2 Mbit/s", "host": host}
    given = scenario(group=[own], bottleneck={**link("droptail", limit="1000 packets"), "rate": "100 Mbit/s"})
    real = given.run(world="linux", kernel=virtual).runs[0].groups.tcp
    simulated = given.run().runs[0].groups.tcp
    assert real.rtt_ms.mean == pytest.approx(simulated.rtt_ms.mean, rel=0.1)
    assert real.goodput_mbps == pytest.approx(simulated.goodput_mbps, rel=0.03)
    assert real.retransmissions == simulated.retransmissions == 0
    # The same queue behind the host fills.
    behind = scenario(bottleneck=link("droptail", limit="1000 packets")).run(world="linux", kernel=virtual).runs[0]
    assert behind.groups.tcp.rtt_ms.mean > 3 * real.rtt_ms.mean


@pytest.mark.testbed
def test_without_probes_lost_tails_wait_for_the_timer(virtual: str) -> None:
    """Ten packets come at once to a queue with room for seven beside the one on the wire: the last two are lost.

    Compared is when a flow first sends one of them again. What a kernel does after a probe varies with microseconds: in
    some flows the other packet follows at once, in some it waits for the timer.
    """

    def resent_ms(detection: str, **how: str) -> list[float]:
        tcp = {
            **TCP,
            "transport": {"preset": "linux", "loss_detection": detection},
            "traffic": {"kind": "bulk", "size": "14480 B"},
            "flows": 10,
            "start": [f"{number} s" for number in range(10)],
        }
        given = scenario(duration="10 s", group=[tcp], bottleneck=link("droptail", limit="7 packets"))
        times: dict[int, list[float]] = {}
        for row in given.run(packets=True, **how).packets.to_pylist():
            if row["event"] == "send" and row["size_bytes"] > 1000:
                times.setdefault(row["index"], []).append(row["time_ns"] / 1e6)
        return [sent[10] - sent[0] for sent in times.values()]

    real = {one: resent_ms(one, world="linux", kernel=virtual) for one in ("rack-tlp", "rack")}
    assert max(real["rack-tlp"]) < 0.7 * min(real["rack"])
    for detection, times in real.items():
        # The kernel's timers wait for its next tick, of 10 ms.
        assert times == pytest.approx(resent_ms(detection), abs=10)


@pytest.mark.testbed
def test_both_ends_see_what_is_simulated(virtual: str) -> None:
    """Three trains through a queue with room for ten packets beside the one on the wire: of 15, the last 4 are lost."""
    train = {"kind": "train", "count": 15, "every": "1 s", "repeat": 3}
    limit = link("droptail", limit="10 packets")
    given = scenario(bottleneck=limit, group=[{"name": "train", "rtt": "20 ms", "traffic": train}])
    seen = []
    for how in ({"world": "linux", "kernel": virtual}, {}):
        rows = given.run(packets=True, series=False, **how).packets.to_pylist()
        sent, received = ([row for row in rows if row["event"] == event] for event in ("send", "receive"))
        assert [round(row["time_ns"] / 1e9, 3) for row in sent] == [0] * 15 + [1] * 15 + [2] * 15
        seen.append(([row["seq"] for row in received], [row["time_ns"] for row in received]))
    (real, at), (simulated, when) = seen
    assert real == simulated == [*range(11), *range(15, 26), *range(30, 41)]
    # HTB hands a packet over when its transmission begins, 6 ms before a wire does.
    assert np.subtract(when, at) == pytest.approx(6e6, abs=1e6)


@pytest.mark.testbed
def test_changes_do_to_packets_what_is_simulated(virtual: str) -> None:
    """Trains meet another rate, a lower limit, which a FIFO does not apply to what waits, and other queues."""
    train = {"kind": "train", "count": 60, "every": "1 s", "repeat": 4}
    changes = [
        {"at": "104 ms", "bottleneck": {"rate": "1 Mbit/s"}},
        {"at": "1105 ms", "bottleneck": {"queue": {"limit": "5 packets"}}},
        {"at": "2050 ms", "bottleneck": {"queue": {"kind": "codel", "preset": "linux"}}},
        {"at": "3105 ms", "bottleneck": {"rate": "2 Mbit/s", "queue": {"kind": "red", "preset": "linux"}}},
    ]
    group = {"name": "train", "rtt": "20 ms", "traffic": train}
    limit = link("droptail", limit="100 packets")
    given = scenario(bottleneck=limit, duration="5 s", group=[group], change=changes)
    seen, purged = [], []
    for how in ({"world": "linux", "kernel": virtual}, {}):
        result = given.run(packets=True, **how)
        rows = [row for row in result.packets.to_pylist() if row["event"] == "receive"]
        seen.append(([row["seq"] for row in rows], [row["time_ns"] for row in rows]))
        drops = {round(row["time_s"], 1): row["drops"] for row in result.queue.to_pylist()}
        purged.append([drops[2.0], drops[3.1]])
        # 104 ms of 2 Mbit/s, 3001 ms of 1 Mbit/s, 1895 ms of 2 Mbit/s carry 134 packets, and the kernel some pings.
        assert 0.229 < result.runs[0].bottleneck.utilization < 0.233
    (real, at), (simulated, when) = seen
    assert real == simulated == [*range(120), *range(120, 125), *range(180, 189)]
    # HTB hands a packet over when its transmission begins, one transmission before a wire does.
    between_ms = np.subtract(when, at) / 1e6
    assert 5 < between_ms.min() < between_ms.max() < 14
    # What waited was dropped: of 60 packets those that had not left. In the kernel a ping is sent at the instant of
    # each train: the full queue drops one packet more, and the ping waits and is dropped if it came after its train.
    assert purged[1] == [55, 51]
    assert np.subtract(purged[0], purged[1]).tolist() in ([1, 0], [1, 1])


@pytest.mark.testbed
def test_a_shorter_way_is_overtaken_on_as_in_the_simulation(virtual: str) -> None:
    """A train meets a link that becomes 50 ms shorter, and one that becomes as long again: a change of routes."""
    train = {"kind": "train", "count": 15, "every": "1 s", "repeat": 2}
    group = {"name": "train", "rtt": "20 ms", "traffic": train}
    given = {"bottleneck": {**link("droptail", limit="100 packets"), "delay": "50 ms"}, "duration": "3 s"}

    def arrivals(late_ms: int, **how: Any) -> tuple[list[int], list[int]]:
        changes = [(45, "0 s"), (1045, "50 ms")]
        changed = [{"at": f"{at + late_ms} ms", "bottleneck": {"delay": delay}} for at, delay in changes]
        rows = scenario(**given, group=[group], change=changed).run(packets=True, series=False, **how).packets
        found = [row for row in rows.to_pylist() if row["event"] == "receive"]
        return [row["seq"] for row in found], [row["time_ns"] for row in found]

    # HTB hands a packet over when its transmission begins, 6 ms before a wire does.
    (real, at), (simulated, when) = arrivals(0, world="linux", kernel=virtual), arrivals(6)
    assert real == simulated
    assert simulated == [8, 0, 9, 1, 10, 2, 11, 3, 12, 4, 13, 5, 14, 6, 7, *range(15, 30)]
    assert np.subtract(when, at) == pytest.approx(6e6, abs=1e6)


def further(name: str, rate: str, limit: int, **keys: Any) -> dict[str, Any]:
    return {"name": name, **link("droptail", limit=f"{limit} packets"), "rate": rate, **keys}


@pytest.mark.testbed
def test_further_links_do_to_packets_what_is_simulated(virtual: str) -> None:
    """Trains of 30 packets each way cross three links with other rates and room for other numbers of packets."""
    train = {"kind": "train", "count": 30, "every": "1 s", "repeat": 2}
    groups = [{"name": way, "rtt": "20 ms", "traffic": train, "direction": way} for way in ("forward", "reverse")]
    hops = [
        further("gateway", "4 Mbit/s", 10, at="before"),
        further("far", "1 Mbit/s", 9, at="after", delay="7 ms"),
        further("uplink", "4 Mbit/s", 12, at="before", direction="reverse"),
        further("near", "1500 kbit/s", 6, at="after", direction="reverse"),
    ]
    mains = {"bottleneck": link("droptail", limit="5 packets"), "reverse": link("droptail", limit="8 packets")}
    given = scenario(**mains, hop=hops, duration="3 s", group=groups)
    seen: list[dict[str, Any]] = []
    for how in ({"world": "linux", "kernel": virtual}, {}):
        result = given.run(packets=True, **how)
        rows = [row for row in result.packets.to_pylist() if row["event"] == "receive" and row["group"] == "forward"]
        record = result.runs[0]
        passed = {name: record.hops[name].departures for name in ("uplink", "near")}
        delivered = {name: round(group.goodput_mbps, 9) for name, group in record.groups.items()}
        drops = {name: record.hops[name].drops for name in ("gateway", "far", "uplink", "near")}
        seen.append({"packets": [row["seq"] for row in rows], "passed": passed, "delivered": delivered, "drops": drops})
    assert seen[0] == seen[1]
    assert seen[1]["packets"] == [*range(11), *range(30, 41)]
    assert seen[1]["drops"] == {"gateway": 38, "far": 0, "uplink": 34, "near": 0}


@pytest.mark.testbed
def test_a_shaped_gateway_before_a_modem_is_what_is_simulated(virtual: str) -> None:
    """The queue is where the path is narrow: in the gateway, and after a change in the modem behind it."""
    gateway = {"name": "gateway", "at": "before", **link("codel"), "rate": "3 Mbit/s"}
    modem = {**link("droptail", limit="60 packets"), "rate": "4 Mbit/s"}
    slower = {"at": "20 s", "bottleneck": {"rate": "2 Mbit/s"}}
    faster = {"at": "40 s", "bottleneck": {"rate": "4 Mbit/s"}, "hop": [{"name": "gateway", "rate": "1500 kbit/s"}]}
    given = scenario(duration="60 s", bottleneck=modem, hop=[gateway], group=[TCP], change=[slower, faster])
    means_ms: list[list[float]] = []
    mbps = []
    # A link that hands packets over when their transmission begins would make the path of both shorter.
    for how in ({"world": "linux", "kernel": virtual, "shaper": "device"}, {}):
        result = given.run(**how)
        mbps.append(result.runs[0].groups.tcp.goodput_mbps)
        rows = [row for row in result.queue.to_pylist() if row["departures"]]
        parts = [(name, start) for name in ("gateway", "bottleneck") for start in (0, 20, 40)]
        of_parts = [
            [row["queue_ms"] for row in rows if row["link"] == name and start + 5 <= row["time_s"] < start + 20]
            for name, start in parts
        ]
        means_ms.append([float(np.mean(of_part)) for of_part in of_parts])
    assert mbps[0] == pytest.approx(mbps[1], rel=0.03)
    assert means_ms[0] == pytest.approx(means_ms[1], rel=0.15, abs=4)
    gateway_ms, modem_ms = means_ms[1][:3], means_ms[1][3:]
    assert gateway_ms[0] > modem_ms[0]
    assert gateway_ms[1] < modem_ms[1] / 10
    assert gateway_ms[2] > modem_ms[2]


BIG, SMALL_BYTES = "57920 B", "1448 B"


@pytest.mark.testbed
@pytest.mark.parametrize(
    ("rtt", "size", "losses"),
    [
        pytest.param("200 ms", BIG, [(0, 300, "bottleneck")], id="syn"),
        pytest.param("200 ms", BIG, [(0, 2000, "bottleneck")], id="syn-twice"),
        pytest.param("200 ms", BIG, [(50, 250, "reverse")], id="syn-ack"),
        pytest.param("200 ms", BIG, [(50, 1300, "reverse")], id="syn-ack-twice"),
        pytest.param("400 ms", SMALL_BYTES, [(350, 600, "bottleneck")], id="data"),
        pytest.param("400 ms", SMALL_BYTES, [(350, 1500, "bottleneck")], id="data-twice"),
        pytest.param("400 ms", SMALL_BYTES, [(0, 500, "bottleneck"), (1350, 1600, "bottleneck")], id="syn-and-data"),
        pytest.param("200 ms", SMALL_BYTES, [(50, 250, "reverse"), (1150, 1300, "bottleneck")], id="syn-ack-and-data"),
    ],
)
def test_what_is_lost_at_the_start_costs_what_it_costs_in_linux(
    virtual: str, rtt: str, size: str, losses: list[tuple[int, int, str]]
) -> None:
    # The loss of SYNs and of the first data, as Linux repairs it: docs/guide/testbed.md has the numbers.
    queue = {"kind": "droptail", "preset": "linux", "limit": "100 packets"}
    links = {name: {"rate": "10 Mbit/s", "queue": queue} for name in ("bottleneck", "reverse")}
    changes = []
    for begin_ms, end_ms, where in losses:
        if begin_ms:
            changes.append({"at": f"{begin_ms} ms", where: {"loss": 1}})
        else:
            links[where]["loss"] = 1
        changes.append({"at": f"{end_ms} ms", where: {"loss": 0}})

    def fct_ms(transport: Any, **how: Any) -> float:
        group = {"name": "tcp", "control": "cubic", "rtt": rtt, "transport": transport}
        group["traffic"] = {"kind": "bulk", "size": size}
        given = scenario(**links, duration="12 s", group=[group], change=changes)
        return given.run(**how).runs[0].groups["tcp"].fct_ms.mean

    # Its timers wait for the end of a tick or of a bucket of the wheel, by chance sooner or later within one.
    soonest, latest = fct_ms("linux"), fct_ms({"preset": "linux", "timer_tick": "10 ms"})
    assert soonest - 1 < fct_ms("linux", world="linux", kernel=virtual) < latest + 1


@pytest.mark.testbed
@pytest.mark.parametrize("kind", ["cake", "fq_codel"])
def test_a_connection_keeps_its_queue_over_timeouts(virtual: str, kind: str) -> None:
    # Sender and router are one kernel: a router of its own never sees the hash that a sender draws anew at timeouts.
    slow = {**link(kind), "rate": "500 kbit/s"}
    table = {"name": "slow", "duration": "10 s", "group": [{**TCP, "flows": 10}], "bottleneck": slow}
    (run,) = world.run(_native.load_json(json.dumps(table)), [1], None, None, world.How(virtual))
    assert json.loads(run.record())["groups"]["tcp"]["timeouts"] > 0
    at = run.seen.crossings["bottleneck"]
    for flow in run.seen.job.flows:
        left_s = at.left_s[run.seen.of(flow)]
        assert (np.diff(left_s[~np.isnan(left_s)]) > 0).all(), f"packets of flow {flow.index} overtook each other"


@pytest.mark.testbed
def test_groups_of_every_kind_share_a_link_of_two_ways(virtual: str) -> None:
    groups = [
        {**TCP, "flows": 2, "rtt": ["20 ms", "60 ms"]},
        {**TCP, "name": "back", "direction": "reverse", "transport": {"preset": "linux", "ecn": True}},
        {"name": "background", "control": "ledbat", "rtt": "30 ms", "start": {"uniform": ["0.2 s", "0.4 s"]}},
        {"name": "call", "traffic": {"kind": "cbr", "rate": "100 kbit/s", "packet": "200 B"}, "rtt": "20 ms"},
    ]
    given = scenario(group=groups, bottleneck=link("fq_codel"), reverse=link("codel", ecn=True))
    record = given.run(world="linux", kernel=virtual, runs=2, series=False).runs[0]
    assert record.groups.tcp.share + record.groups.background.share + record.groups.call.share == pytest.approx(1)
    assert record.groups.back.share == 1
    assert record.groups.back.mark_rate > 0
    assert record.groups.tcp.mark_rate == 0
    assert record.groups.background.goodput_mbps > 0
    assert record.groups.call.goodput_mbps == pytest.approx(0.1 * 172 / 200, rel=0.15)
    assert record.reverse.utilization > 0.5


@pytest.mark.testbed
@pytest.mark.parametrize("bursts", [{}, {"burst": 50, "every": "1 s"}], ids=["continuous", "bursts"])
def test_padding_is_as_many_packets_as_are_simulated(virtual: str, bursts: dict[str, Any]) -> None:
    traffic = {"kind": "padding", "rate": "250 packets/s", **bursts}
    given = scenario(group=[{"name": "padding", "rtt": "20 ms", "traffic": traffic}], duration="3 s")
    real, simulated = (given.run(**how).runs[0] for how in ({"world": "linux", "kernel": virtual}, {}))
    assert simulated.bottleneck.departures == (150 if bursts else 750)
    # On the kernel the probe's pings of 84 bytes, five a second, go the same way.
    pings = 15
    assert real.bottleneck.departures == pytest.approx(simulated.bottleneck.departures + pings, abs=2)
    # Packets of 29 bytes, of which one is payload: nothing is added to them.
    sent_bytes = real.bottleneck.utilization * 2e6 * 3 / 8
    assert sent_bytes == pytest.approx(29 * simulated.bottleneck.departures + 84 * pings, rel=0.02)
    assert real.groups.padding.goodput_mbps == pytest.approx(simulated.groups.padding.goodput_mbps, rel=0.02)


@pytest.mark.testbed
@pytest.mark.parametrize(
    "queue",
    [
        link("red", limit="60 packets"),
        link("ared", limit="60 packets"),
        link("choke", limit="60 packets"),
        link("pie"),
        link("fq_pie"),
        link("sfq", perturb="2 s"),
        link("sfb"),
        link("hhf"),
        {"rate": "2 Mbit/s", "queue": {"kind": "drr", "perfect": True}},
        link("cake"),
        link("cake", bandwidth="2 Mbit/s", diffserv="diffserv4"),
        link("cake", bandwidth="2 Mbit/s", link_layer="pppoe-ptm", ack_filter="normal", wash=True),
    ],
    ids=lambda given: "-".join(str(value) for value in list(given["queue"].values())[:3]),
)
def test_the_kernel_takes_what_the_plan_says(virtual: str, queue: dict[str, Any]) -> None:
    record = scenario(bottleneck=queue, duration="2 s").run(world="linux", kernel=virtual, series=False).runs[0]
    assert record.bottleneck.utilization > 0.5
    assert record.bottleneck.departures > 100


@pytest.mark.testbed
@pytest.mark.parametrize(
    "kind",
    [
        "prio",
        pytest.param(
            "dwrr",
            marks=pytest.mark.xfail(strict=True, reason="open: 0.934 in the kernel, 0.902 in the simulation"),
        ),
    ],
)
def test_a_class_of_the_kernel_has_what_the_simulation_gives_it(virtual: str, kind: str) -> None:
    weight = {} if kind == "prio" else {"weight": 16}
    own = {"kind": "fq_codel", "preset": "linux"}
    low = {"name": "low", "dscp": ["le"], "queue": own}
    queue = {"kind": kind, "preset": "linux", "class": [{"name": "usual", "queue": own, **weight}, low]}
    # All at once: with starts of their own four seeds have 0.923 to 0.934 in the kernel, and 0.902 to 0.914 simulated.
    usual = {**TCP, "flows": 2, "start": "0 s"}
    groups = [usual, {**usual, "name": "marked", "dscp": "le"}]
    both = scenario(group=groups, bottleneck={"rate": "4 Mbit/s", "queue": queue}, duration="12 s", warmup="4 s")
    real = both.run(world="linux", kernel=virtual, series=False).runs[0]
    simulated = both.run(series=False).runs[0]
    assert real.groups.tcp.share > 0.9
    assert real.groups.tcp.share == pytest.approx(simulated.groups.tcp.share, abs=0.03)
    assert real.bottleneck.utilization > 0.95


@pytest.mark.testbed
def test_a_port_in_use_is_told(virtual: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = Flow.ends

    def same_port(flow: Flow, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
        near, far = ends(flow, seed)
        return near, {**far, "port": 5000, "local": "10.128.0.1"}

    monkeypatch.setattr(Flow, "ends", same_port)
    group = {**TCP, "flows": 2}
    with pytest.raises(sojourn.InputError, match="another flow receives at port 5000"):
        scenario(group=[group], duration="1 s").run(world="linux", kernel=virtual)


def test_without_its_kernel_the_command_says_what_to_do(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = tmp_path / "short.toml"
    file.write_text(scenario().to_toml(), encoding="utf-8")
    refused = command("run", file, "--world", "linux", "--kernel", "uml-virtual", "--json")
    assert refused.code == 1
    assert "sojourn testbed build-kernel" in refused.err
    assert refused.out == ""


def test_without_libutp_nothing_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert utp.missing()
    given = scenario(group=[{"name": "background", "control": "libutp", "rtt": "30 ms"}])
    with pytest.raises(NotInstalledError, match="sojourn testbed build-libutp"):
        given.run(world="linux")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--kernel", "uml"], "--kernel needs --world linux"),
        (["--shaper", "tbf"], "--shaper needs --world linux"),
        (
            ["--world", "linux", "--out", "DIR", "--transfers"],
            "the world 'linux' keeps no transfers; it keeps: packets,",
        ),
        (["--world", "linux", "--out", "DIR", "--pcap"], "--pcap writes runs of the world sim; found linux"),
        (
            ["--world", "linux", "--out", "DIR", "--probes"],
            "the world 'linux' keeps no probes; it keeps: packets, series",
        ),
        (["--world", "linux"], "--set group.tcp.transport.preset=linux"),
    ],
)
def test_options_that_do_not_go_together(
    command: Command, small_file: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    words = [str(tmp_path / "out") if word == "DIR" else word for word in options]
    refused = command("run", small_file, *words)
    assert refused.code == 2
    assert message in refused.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("complaint", "kind", "message"),
    [
        ("ip: no such command", "missing", "sudo apt-get install iproute2"),
        ("tc: qdisc add dev rtr1 cake: Error: Specified qdisc kind is unknown.", "missing", "sch_cake"),
        ("tc: qdisc add dev rtr1 red: RTNETLINK answers: Invalid argument", "failed", "Invalid argument"),
    ],
)
def test_what_iproute2_says_is_told_apart(complaint: str, kind: str, message: str) -> None:
    told = explained(complaint, ["sch_cake"])
    assert told.kind == kind
    assert message in str(told)


def test_every_job_names_the_modules_that_it_needs() -> None:
    given = scenario(bottleneck=link("cake")).to_dict()
    found = plan.job(given, 1, plan.shaping.How("tbf")).plan["modules"]
    assert found == ["sch_cake", "sch_netem", "sch_tbf"]
