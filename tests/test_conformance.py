"""Sojourn's queues beside what a real kernel's qdiscs did, from the stored recordings."""

import json
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.common import DOCS, load
from benchmarks.conformance import RESULTS
from benchmarks.kernel import compare, distributions, pages, recording
from benchmarks.kernel.cases import CASES, CONTROLS, EXACT, RATE_BIT_PER_S, Case
from benchmarks.kernel.inside import SCHEDULED, frame
from benchmarks.kernel.recording import Recording
from benchmarks.kernel.workloads import WORKLOADS, Flow

from sojourn import _native


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_every_packet_has_the_fate_and_the_order_that_the_kernel_gave_it(case: Case) -> None:
    result = compare.exact(case, recording.load(case.recorded_as))
    if case.name == "cake flows":
        # Quanta that the kernel draws at random: the page says so.
        assert pages.agrees(case, result)
    else:
        assert (result["same_fate"], result["same_order"], result["first_difference"]) == (1.0, 1.0, None)


@pytest.mark.parametrize("case", [case for case in CONTROLS if not case.random], ids=lambda case: case.name)
def test_the_comparison_sees_what_is_left_out(case: Case) -> None:
    result = compare.exact(case, recording.load(case.recorded_as))
    assert not pages.agrees(case, result)


def test_ranks_tell_an_update_of_20_ms_from_one_of_30() -> None:
    wrong = next(case for case in CONTROLS if case.name == "pie every 20 ms")
    right = next(case for case in CASES if case.name == "pie")
    what = recording.load("pie")
    delay = {
        case.name: {row["name"]: row["p"] for row in distributions.compare(case, what, 19)["statistics"]}["mean delay"]
        for case in (wrong, right)
    }
    assert delay["pie every 20 ms"] == 1 / 20
    assert delay["pie"] > 1 / 20


def test_recordings_are_small_and_of_this_kernel_and_link() -> None:
    files = list(recording.RECORDINGS.iterdir())
    assert {file.stem for file in files} == {case.recorded_as.replace(" ", "-") for case in CASES}
    assert sum(file.stat().st_size for file in files) < 2_000_000
    for case in CASES:
        about = recording.load(case.recorded_as).about
        assert about["tc"] == case.tc(), "the case changed: record it again"
        assert about["rate_bit_per_s"] == RATE_BIT_PER_S


def test_the_kernels_own_counters_agree_with_what_was_seen() -> None:
    for name in ("codel ecn", "fq_codel limit", "red", "choke"):
        what = recording.load(name)
        qdisc = next(qdisc for qdisc in what.about["qdiscs"] if qdisc["handle"] == "10:")
        assert qdisc["drops"] == np.count_nonzero(what.place() < 0), name
        assert qdisc.get("ecn_mark", 0) == np.count_nonzero(what.marked()), name


def test_a_recording_is_read_as_it_was_written(tmp_path, monkeypatch) -> None:
    what = recording.load("codel ecn")
    monkeypatch.setattr(recording, "RECORDINGS", tmp_path / "recordings")
    path = recording.save("copy", what)
    first = path.read_bytes()
    recording.save("copy", recording.load("copy"))
    assert path.read_bytes() == first


def test_times_of_another_clock_are_refused(tmp_path, monkeypatch) -> None:
    what = recording.load("codel ecn")
    monkeypatch.setattr(recording, "RECORDINGS", tmp_path / "recordings")
    with pytest.raises(ValueError, match="arrived_ns would not be read as it was recorded"):
        recording.save("copy", replace(what, arrived_ns=what.arrived_ns + 1))


def _tiny(**changes: list[int]) -> Recording:
    values = {
        "arrived_ns": [0, 256, 512],
        "flow": [0, 0, 1],
        "bytes": [1000, 1000, 1000],
        "tos": [2, 2, 0],
        "left_ns": [0, 2_000_128],
        "left": [0, 2],
        "left_tos": [3, 0],
        "before": [1, 3],
    } | changes
    return Recording(about={}, **{name: np.array(column) for name, column in values.items()})


def test_fates_of_a_recording() -> None:
    fates = compare.recorded(_tiny())
    assert fates.left.tolist() == [True, False, True]
    assert fates.place.tolist() == [0, -1, 1]
    assert fates.left_ns.tolist() == [0, -1, 2_000_128]
    assert fates.marked.tolist() == [True, False, False]


def test_the_order_agrees_as_far_as_packets_need_not_be_moved() -> None:
    case = next(case for case in EXACT if case.name == "pfifo")
    swapped = _tiny(left_ns=[512, 2_000_128, 4_000_256], left=[1, 0, 2], left_tos=[2, 2, 0], before=[3, 3, 3])
    result = compare.exact(case, swapped)
    assert result["same_order"] == 2 / 3
    assert result["same_fate"] == 1.0


def test_a_schedule_is_in_order_and_the_same_for_the_same_seed() -> None:
    load_ = WORKLOADS["mixed"]
    rows = list(SCHEDULED.iter_unpack(load_.schedule(1)))
    assert load_.schedule(1) == load_.schedule(1) != load_.schedule(2)
    assert rows == sorted(rows)
    assert all(64 <= size <= 1514 for _, _, size, _ in rows)


@pytest.mark.long
def test_a_flow_sends_at_its_rate() -> None:
    random = np.random.default_rng(1)
    for flow in (Flow(2.0), Flow(2.0, (64, 1514), "exponential"), Flow(2.0, (500, 500), burst=10)):
        bits = sum(size * 8 for _, size in flow.packets(100.0, random))
        assert bits / 100e6 == pytest.approx(2.0, rel=0.05)
    pausing = Flow(2.0, on_s=1.0, off_s=3.0)
    assert sum(size * 8 for _, size in pausing.packets(1000.0, random)) / 1000e6 == pytest.approx(0.5, rel=0.2)


def test_a_frame_has_its_length_and_a_valid_checksum() -> None:
    data = frame(bytes(6), 7, 3, 600, 0x12)
    assert len(data) == 600
    assert sum(int.from_bytes(data[at : at + 2]) for at in range(14, 34, 2)) % 0xFFFF == 0
    assert int.from_bytes(data[36:38]) == 5003


def _scenario() -> _native.Scenario:
    case = next(case for case in EXACT if case.name == "pfifo")
    return _native.load_json(json.dumps(case.scenario()))


@pytest.mark.parametrize(
    ("packets", "service", "message"),
    [
        (([0], [0, 1], [100], [0]), "shaper", "equally many"),
        (([1, 0], [0, 0], [100, 100], [0, 0]), "shaper", "packets: times must not go back"),
        (([0], [0], [100], [0]), ([0], []), "times and counts"),
        (([0], [0], [100], [0]), ([1, 0], [1, 1]), "opportunities: times must not go back"),
        (([0], [0], [100], [0]), ([0], [2]), "counts must not fall, nor exceed"),
        (([0], [0], [100], [0]), "modem", 'found "modem"; allowed: device, shaper'),
    ],
)
def test_wrong_recordings_are_named(packets, service, message) -> None:
    with pytest.raises(ValueError, match=message):
        _native.replay(_scenario(), packets, service, 1)


def test_the_page_is_that_of_the_saved_numbers() -> None:
    text = "\n\n".join(pages.render(load(RESULTS))).rstrip() + "\n"
    assert (DOCS / "validation" / "kernel-conformance.md").read_text(encoding="utf-8") == text
