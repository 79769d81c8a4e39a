"""scout and its second implementation in Python, packet by packet; and what it is for, in short runs."""

import dataclasses
import json
from collections.abc import Iterator

import pytest

import sojourn
from sojourn import plugins
from sojourn.data import strip
from sojourn.study.find import find_folder

PLUGIN = find_folder("answer").folder / "scout.py"
COMMON = {"transport": "linux", "rtt": "50 ms", "start": {"uniform": ["0 s", "0.1 s"]}}
SPARSE = {"name": "sparse", "rtt": "50 ms", "traffic": {"kind": "cbr", "rate": "16 kbit/s", "packet": "100 B"}}
QUEUES = {
    "CoDel": {"kind": "codel", "preset": "linux"},
    "FQ-CoDel": {"kind": "fq_codel", "preset": "linux"},
    "short DropTail": {"kind": "droptail", "limit": "8 packets"},
}


def scenario(
    queue: dict[str, object], control: str, *which: str, transport: object = "linux", **link: object
) -> sojourn.Scenario:
    groups = {
        "tcp": {"name": "tcp", "control": {"kind": "cubic", "preset": "linux"}, "flows": 2, **COMMON},
        "background": {"name": "background", "control": control, "flows": 3, **COMMON, "transport": transport},
        "sparse": SPARSE,
    }
    bottleneck = {"rate": "10 Mbit/s", "queue": queue, **link}
    chosen = [groups[name] for name in which]
    return sojourn.scenario(duration="12 s", warmup="4 s", bottleneck=bottleneck, group=chosen)


@pytest.fixture(scope="module", autouse=True)
def second() -> Iterator[None]:
    plugins.load(PLUGIN)
    yield
    plugins.unload()


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("link", [{}, {"loss": 0.01}, {"jitter": "2 ms"}], ids=["quiet", "loss", "jitter"])
def test_both_implementations_send_the_same_packets(queue: str, link: dict[str, object]) -> None:
    runs = [
        scenario(QUEUES[queue], control, "tcp", "background", "sparse", **link).run(packets=True, seed=5)
        for control in ("scout", "py-scout")
    ]
    first, second = (run.table("packets") for run in runs)
    assert first.num_rows > 1000
    assert first.equals(second)
    records = [json.dumps(run.runs[0].groups) for run in runs]
    assert records[0] == records[1]


@pytest.mark.parametrize("acks", [(8, "10 ms"), (32, "20 ms")], ids=str)
@pytest.mark.parametrize("queue", ["CoDel", "FQ-CoDel"])
def test_both_implementations_send_the_same_packets_where_acknowledgements_are_rare(
    queue: str, acks: tuple[int, str]
) -> None:
    transport = {"preset": "linux", "ack_policy": "count", "ack_every": acks[0], "ack_delay": acks[1]}
    runs = [
        scenario(QUEUES[queue], control, "tcp", "background", transport=transport).run(packets=True, seed=5)
        for control in ("scout", "py-scout")
    ]
    first, second = (run.table("packets") for run in runs)
    assert first.num_rows > 1000
    assert first.equals(second)


@pytest.mark.parametrize("header", ["66 B", "72 B", "120 B"])
def test_both_implementations_rest_where_a_receiver_begins_to_wait_within_a_train(header: str) -> None:
    """Linux acknowledges each of the first 16 segments, and these headers let a small train end with one that waits."""
    transport = {"preset": "linux", "header": header}
    runs = [
        scenario(QUEUES["CoDel"], control, "tcp", "background", transport=transport).run(packets=True, seed=5)
        for control in ("scout", "py-scout")
    ]
    first, second = (run.table("packets") for run in runs)
    assert first.equals(second)
    assert runs[0].runs[0].groups.background.share < 0.01


@pytest.mark.parametrize("queue", ["CoDel", "FQ-CoDel"])
def test_it_is_in_the_strip(queue: str) -> None:
    both, best_effort, low_priority = (
        scenario(QUEUES[queue], "scout", *which).run(series=False).runs[0]
        for which in (("tcp", "background", "sparse"), ("tcp", "sparse"), ("background", "sparse"))
    )
    found = strip.place(both, best_effort, low_priority)
    assert strip.judge([found]).inside, dataclasses.asdict(found)


def test_a_receiver_with_room_for_one_packet_is_served() -> None:
    """One packet per window: no train is ever back to back, and still no rest lasts."""
    narrow = {"preset": "linux", "receive_window": "1 packets"}
    group = {**COMMON, "name": "background", "control": "scout", "transport": narrow}
    link = {"rate": "10 Mbit/s", "queue": QUEUES["CoDel"]}
    run = sojourn.scenario(duration="30 s", warmup="10 s", bottleneck=link, group=[group]).run(series=False).runs[0]
    # One packet of 1448 B in a round trip and the receiver's timer at most.
    assert run.groups.background.goodput_mbps > 0.02


def test_a_path_without_answer_sends_little() -> None:
    link = {"rate": "10 Mbit/s", "queue": QUEUES["CoDel"], "loss": 1.0}
    group = {**COMMON, "name": "background", "control": "scout"}
    run = sojourn.scenario(duration="60 s", bottleneck=link, group=[group]).run(series=False).runs[0]
    assert run.bottleneck.arrivals < 40


@pytest.mark.parametrize("policy", ["count", "linux"])
def test_small_segments_work(policy: str) -> None:
    small = {"preset": "linux", "payload": "200 B", "ack_policy": policy}
    group = {**COMMON, "name": "background", "control": "scout", "transport": small}
    link = {"rate": "10 Mbit/s", "queue": QUEUES["FQ-CoDel"]}
    run = sojourn.scenario(duration="20 s", warmup="5 s", bottleneck=link, group=[group]).run(series=False).runs[0]
    assert run.bottleneck.utilization > 0.9
