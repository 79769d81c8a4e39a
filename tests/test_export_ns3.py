"""What `sojourn export --as ns3` prints: a program with this path, these queues and these flows."""

import json
import math
import re
import shutil
import statistics
import subprocess
from pathlib import Path
from typing import Any

import pytest
from benchmarks.peers.builds import NS3_MODULES, build_ns3
from benchmarks.peers.packages import package_version
from benchmarks.peers.points import SLOW, Point
from benchmarks.peers.saved import load_reference
from tests.conftest import Command

import sojourn
from sojourn import InputError
from sojourn.exported.ns3 import CONTROLS, QUEUES, TRANSPORT, Program, program

LINK = {"rate": "10 Mbit/s", "delay": "5 ms", "queue": {"kind": "droptail", "limit": "100 packets"}}
TCP = {"name": "tcp", "control": {"kind": "newreno", "preset": "ns3"}, "transport": dict(TRANSPORT), "rtt": "40 ms"}
HAS_NS3 = package_version("libns3-dev") is not None and shutil.which("g++") is not None
in_ns3 = pytest.mark.skipif(not HAS_NS3, reason="no ns-3 (Debian packages libns3-dev and g++)")


def of(changes: dict[str, Any] | None = None, **tables: Any) -> Program:
    base = {"name": "here", "duration": "20 s", "warmup": "5 s", "bottleneck": LINK, "group": [TCP], **tables}
    return program(sojourn.scenario(base).with_(changes or {}))


def rows(text: str, what: str) -> list[str]:
    """Return the rows of a table of the program."""
    found = re.search(rf"> {what} = {{\n(.*?)\n}};", text, re.DOTALL) or re.search(
        rf"Attributes {what} = {{\n(.*?)\n}};", text, re.DOTALL
    )
    assert found is not None
    return [row.strip().removesuffix(",") for row in found[1].splitlines()]


def test_a_link_has_its_rate_delay_loss_and_queue() -> None:
    queue = {"kind": "codel", "preset": "ns3", "limit": "50 packets", "target": "7 ms", "ecn": True}
    (row,) = rows(of(bottleneck={**LINK, "loss": 0.01, "queue": queue}).text, "kLinks")
    attributes = [("MaxSize", "50p"), ("Target", "7000000ns"), ("Interval", "100000000ns"), ("UseEcn", "true")]
    said = ", ".join(f'{{"{name}", "{value}"}}' for name, value in attributes)
    assert row == f'{{"bottleneck", true, 10000000, 0.005, 0.01, "CoDelQueueDisc", {{{said}}}}}'


def test_flows_have_their_round_trips_less_the_packet_in_the_device() -> None:
    flows = {**TCP, "flows": 2, "rtt": ["20 ms", "80 ms"], "start": {"uniform": ["0 s", "1 s"]}, "stop": "9 s"}
    (row,) = rows(of(group=[flows]).text, "kGroups")
    # A packet of 1500 bytes takes 1.2 ms at 10 Mbit/s.
    assert "{{0.0188, {0, 1}, {9, 9}}, {0.0788, {0, 1}, {9, 9}}}" in row
    assert row.startswith('{"tcp", true, "ns3::TcpNewReno", "ns3::TcpPrrRecovery", 0, 0, ')


def test_hops_and_the_way_back_are_in_the_order_of_the_packets() -> None:
    hops = [{"name": "before", "at": "before", **LINK}, {"name": "after", "at": "after", **LINK}]
    back = {"name": "home", "direction": "reverse", "at": "after", **LINK}
    names = [row.split('"')[1] for row in rows(of(hop=[*hops, back], reverse=LINK).text, "kLinks")]
    # Data enters on the left; what travels back meets the last one first.
    assert names == ["before", "bottleneck", "after", "home", "reverse"]


def test_a_constant_rate_is_a_stream_of_datagrams() -> None:
    cbr = {"name": "call", "rtt": "40 ms", "direction": "reverse", "traffic": {"kind": "cbr", "rate": "80 kbit/s"}}
    _, row = rows(of(group=[TCP, {**cbr, "start": "2 s"}], reverse=LINK).text, "kGroups")
    assert row == '{"call", false, "", "", 80000, 1500, 0, {{0.0388, {2, 2}, {20, 20}}}}'


def test_all_sockets_share_what_a_transport_says() -> None:
    defaults = dict(re.findall(r'{"(\S+)", "(\S+)"}', "\n".join(rows(of().text, "kDefaults"))))
    assert defaults["TcpSocket::SegmentSize"] == "1448"
    assert defaults["TcpSocket::DelAckTimeout"] == "200000000ns"
    assert (defaults["TcpSocketBase::Sack"], defaults["TcpSocketBase::UseEcn"]) == ("true", "Off")
    other = {**TCP, "name": "other", "transport": {**TRANSPORT, "initial_window": 2}}
    with pytest.raises(InputError, match=r"group.other.transport.initial_window: .* 2; allowed: 10, as group tcp has"):
        of(group=[TCP, other])


def test_what_only_a_preset_says_is_as_ns3_has_it_and_what_the_file_says_is_refused() -> None:
    made = of({"group.tcp.control": "newreno", "bottleneck.queue": "codel"})
    assert "group.tcp.control: as ns-3 has it, count acks, halve pipe" in made.remarks
    (said,) = (remark for remark in made.remarks if remark.startswith("bottleneck.queue: as ns-3 has it, "))
    assert "min_bytes 1499" in said
    with pytest.raises(InputError, match=r"group\.tcp\.control\.halve: ns-3 cannot have window; allowed: pipe"):
        of({"group.tcp.control": "{ kind = 'newreno', halve = 'window' }"})


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"bottleneck.queue": "cake"}, r"bottleneck\.queue\.kind: ns-3 cannot have cake; allowed: droptail, codel"),
        ({"group.tcp.control": "nice"}, r"group\.tcp\.control\.kind: ns-3 cannot have nice; allowed: newreno"),
        ({"bottleneck.jitter": "3 ms"}, r"bottleneck\.jitter: "),
        ({"bottleneck.policer": "{ rate = '5 Mbit/s', burst = '50 kB' }"}, r"bottleneck\.policer: "),
        (
            {"group.tcp.traffic": "{ kind = 'on-off' }"},
            r"group\.tcp\.traffic\.kind: .* bulk or",
        ),
        ({"group.tcp.access_rate": "50 Mbit/s", "group.tcp.host": "linux"}, r"group\.tcp\.host: "),
        ({"group.tcp.control": "ledbat", "group.tcp.transport": "ns2"}, r"group\.tcp\.transport\.timestamps: "),
        ({"change": "[{ at = '6 s', bottleneck = { rate = '5 Mbit/s' } }]"}, r"change: "),
    ],
)
def test_what_ns3_has_not_is_refused_by_its_key(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        of(changes)


@pytest.mark.parametrize("scenario", [one["name"] for one in sojourn.catalogue()["scenarios"]])
def test_every_ready_scenario_is_a_program_or_refused(scenario: str) -> None:
    try:
        text = program(sojourn.Scenario.load(scenario)).text
    except InputError as refused:
        text = f"@{'' if 'ns-3' in str(refused) else str(refused)}"
    assert text == "@" or re.search("@[A-Z]+@", text) is None


def test_its_first_lines_name_the_libraries_that_it_needs() -> None:
    needed = [module for module in NS3_MODULES if module != "nix-vector-routing"]
    assert re.findall(r"-lns3-(\S+)", of().text) == needed


def test_the_command_prints_the_program(command: Command) -> None:
    done = command("export", "first", "--as", "ns3")
    assert done.code == 0
    assert done.out == program(sojourn.Scenario.load("first")).text
    assert "note: group.rtt: less a packet's time" in done.err


def ran(made: Program, folder: Path, seeds: range) -> list[dict[str, Any]]:
    source = folder / "scenario.cc"
    source.write_text(made.text)
    built = build_ns3(folder, source)
    return [
        json.loads(subprocess.run([built, f"--seed={seed}"], check=True, capture_output=True, text=True).stdout)
        for seed in seeds
    ]


@pytest.mark.long
@in_ns3
def test_a_line_of_its_own_holds_each_flow_back(tmp_path: Path) -> None:
    """Two flows behind 2 Mbit/s each, before 10 Mbit/s: 1448 of 1500 bytes of each are goodput, here as there."""
    made = of(group=[{**TCP, "flows": 2, "access_rate": "2 Mbit/s"}])
    (found,) = ran(made, tmp_path, range(1, 2))
    assert found["goodput_mbps"]["tcp"] == pytest.approx(4 * 1448 / 1500, rel=0.01)


@pytest.mark.long
@in_ns3
@pytest.mark.parametrize("queue", ["droptail", "codel"])
def test_the_program_measures_what_the_peer_does(tmp_path: Path, queue: str) -> None:
    """A point of the validation grid, at 1 Mbit/s: means of 3 runs and of the peer's 10, within three standard errors.

    Four standard deviations were allowed when this was first run.
    """
    point = SLOW.point(queue, 200.0)  # type: ignore[arg-type]
    alike = {"preset": "ns2", "sack": True, "timers": "rfc", "initial_rto": "1 s", "reduction": "proportional"}
    # In the peer the discipline has a packet less than the limit, and the device's packet is beside the round trip.
    rtt = f"{(point.rtt_s + 1500 * 8 / point.rate_bps) * 1e3} ms"
    group = {**TCP, "flows": point.flows_1, "rtt": rtt, "transport": alike, "start": {"uniform": ["0 s", "0.1 s"]}}
    disc = {
        "kind": queue,
        "limit": f"{point.limit_packets - 1} packets",
        **({"preset": "ns3"} if queue == "codel" else {}),
    }
    made = of(
        duration="200 s",
        warmup="10 s",
        bottleneck={"rate": "1 Mbit/s", "queue": disc},
        group=[{**group, "name": "one"}, {**group, "name": "two"}],
    )
    found = ran(made, tmp_path, range(1, 4))
    peer = reference(point)
    for metric, values in (
        ("queue_packets_mean", [run["queues"]["bottleneck"]["packets_mean"] for run in found]),
        ("drops", [run["queues"]["bottleneck"]["drops"] for run in found]),
        ("goodput_1_bps", [1e6 * run["goodput_mbps"]["one"] for run in found]),
        ("goodput_2_bps", [1e6 * run["goodput_mbps"]["two"] for run in found]),
    ):
        error = peer[metric]["sd"] * math.sqrt(1 / len(values) + 1 / len(peer[metric]["values"]))
        assert abs(statistics.mean(values) - peer[metric]["mean"]) < 3 * error, (metric, values)


def reference(point: Point) -> Any:
    points = load_reference("ns3")["points"]
    return next(one["metrics"] for one in points if Point(**one["point"]) == point)


@pytest.mark.long
@in_ns3
def test_every_discipline_and_control_runs(tmp_path: Path) -> None:
    """ns-3 stops where a class or an attribute is not there: all controls over links with all disciplines in a row."""
    first, *others = QUEUES
    hops = [{"name": one.replace("_", "-"), "at": "after", **LINK, "queue": one} for one in others]
    transport = {**TRANSPORT, "ecn": True}
    accurate = {"dctcp": {"ecn": "accurate"}}
    groups = [
        {**TCP, "name": one.replace("_", "-"), "control": one, "transport": transport | accurate.get(one, {})}
        for one in CONTROLS
    ]
    (run,) = ran(of(bottleneck={**LINK, "queue": first}, hop=hops, group=groups), tmp_path, range(1, 2))
    goodputs = run["goodput_mbps"]
    assert len(goodputs) == len(CONTROLS)
    assert len(run["queues"]) == len(QUEUES)
    assert min(goodputs.values()) > 0
    # What is delivered in order may have come before the warm-up ended, but not before the run began.
    assert sum(goodputs.values()) * 15 < 10 * 1448 / 1500 * 20
    used = [queue["utilization"] for queue in run["queues"].values()]
    assert max(used) == pytest.approx(1.0, abs=0.05)
    assert max(used) <= 1 + 1500 * 8 / (10e6 * 15)
