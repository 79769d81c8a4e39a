"""Sojourn's senders beside what a real kernel's TCP did, from the stored recordings."""

import dataclasses
import json

import numpy as np
import pytest
from benchmarks.common import DOCS, load
from benchmarks.senders import compare, lots, packets, pages, recording, trace
from benchmarks.senders.__main__ import RESULTS, main
from benchmarks.senders.cases import SENDERS, WORKLOADS, Sender
from benchmarks.senders.path import Path, Receiver
from benchmarks.senders.reasons import REASONS, reason

from sojourn import _native

TOLERANCE = 1e-3
"""The engine may come out a little lower elsewhere in the tree until the page is written again."""


@pytest.mark.long
@pytest.mark.parametrize("name", SENDERS)
def test_no_share_is_lower_than_the_page_says(name: str) -> None:
    _, connections = recording.load(name)
    saved = load(RESULTS)["senders"][name]
    assert set(connections) == set(WORKLOADS) == set(saved)
    for workload, connection in connections.items():
        result = compare.compare(SENDERS[name], workload, connection)
        for share in pages.SHARES:
            assert result[share] >= saved[workload][share] - TOLERANCE, (workload, share)


def test_the_comparison_sees_another_sender() -> None:
    connection = recording.load("reno")[1]["bulk-losses"]
    right = compare.compare(SENDERS["reno"], "bulk-losses", connection)
    wrong = Sender("reno", {"kind": "vegas", "preset": "linux"})
    assert compare.compare(wrong, "bulk-losses", connection)["same_moments"] < right["same_moments"] - 0.1


def test_a_sender_agrees_with_itself() -> None:
    connection = recording.load("reno")[1]["bulk-bursts"]
    ours = compare.replay(SENDERS["reno"], "bulk-bursts", connection)
    looks, acks = connection.looks, connection.acks
    own = dataclasses.replace(
        connection,
        sent_ns=ours.sent_ns,
        number=ours.number,
        nth=ours.nth,
        states={
            "cwnd": np.floor(ours.cwnd[looks]).astype(np.int64),
            "ssthresh": np.where(np.isinf(ours.ssthresh), recording.INFINITE, ours.ssthresh)[looks].astype(np.int64),
            "rto_us": np.round(ours.rto_s[looks] * 1e6).astype(np.int64),
            "ca_state": connection.states["ca_state"],
        },
    )
    result = compare.compare(SENDERS["reno"], "bulk-bursts", own)
    assert [result[share] for share in pages.SHARES] == [1.0] * len(pages.SHARES)
    assert result["first_segment"] is None
    assert result["first_window"] is None
    later = dataclasses.replace(own, sent_ns=own.sent_ns + 2 * compare.TICK_NS)
    assert compare.compare(SENDERS["reno"], "bulk-bursts", later)["same_segments"] == 0
    assert len(acks) == len(looks)


def test_recordings_are_small_and_of_these_workloads() -> None:
    files = list(recording.RECORDINGS.iterdir())
    assert {file.stem for file in files} == set(SENDERS)
    assert sum(file.stat().st_size for file in files) < 1_000_000
    for name, sender in SENDERS.items():
        about, _ = recording.load(name)
        plans = {plan["name"]: plan for plan in about["plan"]}
        for workload, load_ in WORKLOADS.items():
            expected = json.loads(json.dumps(load_.plan(workload, ecn=sender.ecn)))
            assert plans[workload] == expected, "the workload changed: record it again"


def test_recorded_acknowledgements_are_possible() -> None:
    for name in SENDERS:
        for workload, connection in recording.load(name)[1].items():
            assert np.all(np.diff(connection.time_ns) >= 0), (name, workload)
            assert np.array_equal(connection.nth, compare.repeats(connection.number)), (name, workload)
            sent_before = np.searchsorted(connection.sent_ns, connection.time_ns[connection.acks], side="right")
            highest = np.maximum.accumulate(connection.number)[sent_before - 1]
            assert np.all(connection.value[connection.acks] <= highest + 1), (name, workload)


def test_a_recording_is_read_as_it_was_written(tmp_path, monkeypatch) -> None:
    about, connections = recording.load("reno")
    monkeypatch.setattr(recording, "RECORDINGS", tmp_path)
    del about["lengths"]
    path = recording.save("copy", about, connections)
    first = path.read_bytes()
    recording.save("copy", about, recording.load("copy")[1])
    assert path.read_bytes() == first


def test_lots_are_drawn_as_the_kernel_did() -> None:
    connection = recording.load("cdg")[1]["bulk"]
    drawn = lots.of_backoffs(connection)
    answers = [lot.place for lot in drawn if lot.value == 0]
    state = dict(zip(np.flatnonzero(connection.looks).tolist(), connection.states["ca_state"].tolist(), strict=True))
    assert answers
    assert {state[place] for place in answers} == {compare.CA_STATES.index("CWR")}
    assert {state[place - 1] for place in answers} == {compare.CA_STATES.index("Open")}
    assert {lot.value for lot in drawn} == {0, lots.LOTS - 1}
    marked = recording.load("cdg")[1]["bulk-marks"]
    echoes = np.flatnonzero(marked.acks)[marked.marked == 1]
    assert not {lot.place for lot in lots.of_backoffs(marked) if lot.value == 0} & set(echoes.tolist())


def test_a_replay_without_the_kernels_lots_differs() -> None:
    for name in ("cdg", "bbr"):
        connection = recording.load(name)[1]["bulk"]
        right = compare.replay(SENDERS[name], "bulk", connection)
        wrong = compare.replay(dataclasses.replace(SENDERS[name], name="other"), "bulk", connection)
        assert not np.array_equal(right.cwnd, wrong.cwnd), name


def test_bbr_takes_the_phase_with_which_most_agrees() -> None:
    connection = recording.load("bbr")[1]["bulk"]
    asked = []

    def replay(drawn):
        asked.append(drawn)
        return drawn

    best = lots.of_cycles(connection, replay, lambda drawn: drawn[-1].value == 642857)
    assert [lot.value for lot in best] == [642857]
    assert len(asked) == 1 + 7
    assert best[0].place == 0


def test_the_timer_wheel_stands_where_the_kernels_did() -> None:
    connection = recording.load("cubic")[1]["bulk-silent"]
    turned = dataclasses.replace(connection, start_tick=connection.start_tick + 4)
    results = [compare.compare(SENDERS["cubic"], "bulk-silent", found) for found in (connection, turned)]
    assert results[0]["same_segments"] == 1 > results[1]["same_segments"]


def test_every_reason_explains_something() -> None:
    saved = load(RESULTS)["senders"]
    found = {reason(control, workload, saved[control][workload]) for control in SENDERS for workload in WORKLOADS}
    assert {known.name for known in REASONS} <= found
    for known in REASONS:
        assert set(known.controls) <= set(SENDERS)
        assert set(known.workloads) <= set(WORKLOADS)
        assert set(known.states) <= set(compare.CA_STATES)


def test_lower_shares_are_named() -> None:
    document = load(RESULTS)
    better = json.loads(json.dumps(document))
    better["senders"]["reno"]["short"]["same_windows"] += 0.01
    assert pages.lower(document, document) == []
    assert len(pages.lower(better, document)) == 1
    assert "reno, short: same_windows" in pages.lower(better, document)[0]


def test_a_trace_shows_both_senders() -> None:
    connection = recording.load("reno")[1]["short"]
    text = "\n".join(trace.lines(SENDERS["reno"], "short", connection, 0.0, 0.2))
    assert "ms accepted 0 | kernel: cwnd 10" in text
    assert "  kernel sends 39" in text
    assert "  Sojourn sends 39" in text


def test_an_unknown_recording_is_named(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["senders", "--trace", "renno", "short", "0", "1"])
    assert main() == 2
    assert "found the control 'renno'; allowed: reno, cubic" in capsys.readouterr().err


def _path(**changes) -> Path:
    return Path(**{"rate_bit_per_s": 12_000_000, "rtt_us": 40_000, "buffer_packets": 2, **changes})


def test_a_path_serves_one_packet_after_the_other_and_drops_the_rest() -> None:
    path = _path()
    found = [path.cross(0, number, 0, 1448, capable=False) for number in range(4)]
    assert found == [(21_000, False), (22_000, False), (23_000, False), None]
    assert path.cross(1000, 4, 0, 1448, capable=False) == (24_000, False)


def test_a_path_loses_holds_and_marks_what_it_is_told() -> None:
    path = _path(lose=[[1, 0]], hold=[[2, 0, 500]], mark_at=1, steps=[[5000, 10_000]], silent=[[7000, 8000]])
    assert path.cross(0, 0, 0, 1448, capable=True) == (21_000, False)
    assert path.cross(0, 1, 0, 1448, capable=True) is None
    assert path.cross(0, 1, 1, 1448, capable=True) == (22_000, True)
    assert path.cross(4000, 2, 0, 1448, capable=True) == (30_500, False), "sent when the longer way began"
    assert path.cross(7000, 3, 0, 1448, capable=True) is None


def _answers(receiver: Receiver, numbers: list[int]) -> list[tuple[int, list[tuple[int, int]]]]:
    answers = []
    for at, number in enumerate(numbers):
        answers += receiver.on_data(number, at, at, marked=False, cwr=False)
    return [(answer.number, answer.blocks) for answer in answers]


def test_a_receiver_answers_every_second_segment_and_holes_at_once() -> None:
    receiver = Receiver(40_000, accurate=False)
    assert _answers(receiver, [0, 1, 3, 5, 3, 2, 4]) == [
        (2, []),
        (2, [(3, 4)]),
        (2, [(5, 6), (3, 4)]),
        (2, [(3, 4), (5, 6), (3, 4)]),
        (4, [(5, 6)]),
        (6, []),
    ]
    assert _answers(receiver, [6]) == []
    assert receiver.due_us == 40_000
    assert (receiver.on_due().number, receiver.due_us) == (7, None)


def test_a_receiver_echoes_marks_until_it_hears_of_the_answer_or_one_by_one() -> None:
    classic = Receiver(40_000, accurate=False)
    given = [(0, True, False), (1, False, False), (2, False, True), (3, False, False)]
    assert [
        answer.marked
        for number, marked, cwr in given
        for answer in classic.on_data(number, 0, 0, marked=marked, cwr=cwr)
    ] == [True, False]
    accurate = Receiver(40_000, accurate=True)
    assert [
        (answer.number, answer.marked)
        for number, marked, cwr in given
        for answer in accurate.on_data(number, 0, 0, marked=marked, cwr=cwr)
    ] == [(1, True), (2, False), (4, False)]


def test_an_acknowledgement_is_read_as_it_was_written() -> None:
    ack = packets.Acknowledgement(1000, 77, [(2000, 3000)], marked=True)
    data = packets.acknowledge(4321, ack, 99)
    assert sum(int.from_bytes(data[at : at + 2]) for at in range(0, 20, 2)) % 0xFFFF == 0
    segment = packets.parse(data)
    assert segment is not None
    assert (segment.port, segment.stamp, segment.payload_bytes) == (packets.PORT, 99, 0)
    assert segment.flags == packets.ACK | packets.ECE
    assert packets.parse(b"\x60" + data[1:]) is None


def _scenario() -> _native.Scenario:
    return _native.load_json(json.dumps(SENDERS["reno"].scenario(WORKLOADS["short"])))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (([0], ["look", "look"], [0], []), "equally many"),
        (([1, 0], ["look", "look"], [0, 0], []), "times must not go back"),
        (([0], ["ack"], [0], []), "needs a row of acknowledgements"),
        (([0], ["jump"], [0], []), 'found the event "jump"; allowed: supply, accepted, ack, look'),
        (([0], ["ack"], [0], [(0, 0, False, [(1, 2)] * 4)]), "4 SACK blocks; at most 3"),
        (([0], ["ack"], [1 << 32], [(0, 0, False, [])]), "below 2"),
    ],
)
def test_wrong_inputs_are_named(inputs, message) -> None:
    with pytest.raises(ValueError, match=message):
        _native.replay_sender(_scenario(), inputs, 1)


def test_a_group_without_a_control_has_no_sender() -> None:
    scenario = SENDERS["reno"].scenario(WORKLOADS["short"])
    scenario["group"][0] = {
        "name": "calls",
        "traffic": {"kind": "cbr", "rate": "1 Mbit/s", "packet": "200 B"},
        "rtt": "10 ms",
    }
    with pytest.raises(ValueError, match="group calls: its traffic does not respond to congestion"):
        _native.replay_sender(_native.load_json(json.dumps(scenario)), ([], [], [], []), 1)


def test_the_page_is_that_of_the_saved_numbers() -> None:
    text = "\n\n".join(pages.render(load(RESULTS))).rstrip() + "\n"
    assert (DOCS / "validation" / "sender-conformance.md").read_text(encoding="utf-8") == text
