"""Braud et al.: flows and lines of its sweeps, response times by size, and that it goes on without a kernel."""

import dataclasses
import functools
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Command, points_of

from sojourn.study.find import find_folder
from sojourn.study.lab import Lab
from sojourn.study.model import Findings, Item
from sojourn.study.numbers import Number

STUDY = find_folder("braud")
CODE: Any = STUDY.module


points = functools.partial(points_of, STUDY)


def test_one_host_alone_may_delay_its_acknowledgements() -> None:
    told = {}
    for one in points("table3-runs"):
        groups = {group["name"]: group for group in one.changes["group"]}
        told[one.coordinates["acks"]] = [groups[name]["transport"].get("ack_every") for name in ("upload", "download")]
    assert told == {
        "delayed": [None, None],
        "every segment": [1, 1],
        "the upload's alone delayed": [None, 1],
        "the download's alone delayed": [1, None],
    }


def test_a_way_has_its_buffer_and_its_padding() -> None:
    at = {tuple(one.coordinates.values())[:2]: one.changes for one in points("table3-sim")}
    assert at["400 kbit/s", "right-sized buffer"]["bottleneck.queue.limit"] == "10 packets"
    assert at["800 kbit/s", "with UDP bursts"]["bottleneck.queue.limit"] == "120 packets"
    padding = at["800 kbit/s", "with UDP bursts"]["group"][2]["traffic"]
    assert padding == {"kind": "padding", "rate": "250 packets/s", "burst": 100, "every": "1 s"}
    assert len(at["800 kbit/s", "large buffer"]["group"]) == 2


def test_both_worlds_run_the_same_cases() -> None:
    for table in ("table2", "table3"):
        kernel, simulated = (
            [(one.coordinates, one.changes) for one in points(f"{table}-{w}")] for w in ("kernel", "sim")
        )
        assert [at for at, _ in kernel] == [at for at, _ in simulated]
        assert [changes["group"] for _, changes in kernel] == [changes["group"] for _, changes in simulated]


def test_the_largest_transfer_makes_the_load() -> None:
    # One a second of half of what 2.4 Mbit/s carry.
    most = CODE.flows.largest(2.4 * 1448 / 1500 * 0.34)
    numbers = range(1, most + 1)
    mean = sum(k**-0.7 for k in numbers) / sum(k**-1.7 for k in numbers)
    assert mean * 1500 * 8 == pytest.approx(0.17 * 2.4e6, rel=1e-4)


def test_response_times_are_those_of_their_case_and_size() -> None:
    import pyarrow as pa

    plan = dataclasses.replace(STUDY.checked("adsl-1-sooner"), listed=(1, 2))
    place = next(
        index
        for index in range(plan.points)
        if plan.point(index).coordinates == {"padding": "no UDP", "up": "Vegas", "down": "NewReno"}
    )

    class Kept:
        def table(self, name: str = "runs") -> object:
            if name == "runs":
                return pa.table({"point": [place, place], "error": [None, None]})
            sizes = [1448, 5 * 1448, 50 * 1448, 1448] + [1448, 50 * 1448] * 2 * plan.points
            times = [100.0, 200.0, 4000.0, 3200.0] + [1.0] * 4 * plan.points
            seeds = [1, 1, 1, 2] + [1, 1, 2, 2] * plan.points
            others = [other if other != place else -1 for other in range(plan.points) for _ in range(4)]
            return pa.table({"point": [place] * 4 + others, "seed": seeds, "size_bytes": sizes, "completion_ms": times})

    found = {
        (at["size"], metric): number
        for at, _, metric, number in CODE.measured.responses(plan, Kept())
        if (at["padding"], at["up"]) == ("no UDP", "Vegas")
    }
    assert found["1 to 9 packets", "response_ms"].mean == (150.0 + 3200.0) / 2
    assert found["10 to 99 packets", "response_ms"] == Number.of([4000.0])
    assert found["1 to 9 packets", "median_ms"].mean == 200.0
    assert found["1 to 9 packets", "slow"].mean == pytest.approx(100 / 3)


def test_table_2_is_tried_as_printed_and_as_it_may_have_been(tmp_path: Path) -> None:
    lab = Lab(tmp_path, 1, overrides={"seeds": 2, "set": {"duration": "100 s"}})
    means = STUDY.measured(lab, ["table2"])
    delays = {tuple(cell.at.values()): cell.number.mean for cell in means.cells("table2", "rtt_ms_mean", "upload")}
    assert len(delays) == 16
    # The least that a full buffer of 120 packets leaves is half of it, 0.9 s: the printed 280 ms cannot be.
    assert delays[120, 94, "delayed", "no UDP"] > 900
    assert all(delays[*at[:3], "250 packets/s"] < delays[at] / 1.8 for at in delays if at[3] == "no UDP")


@pytest.mark.usefixtures("kernelless")
def test_without_a_kernel_all_other_items_are_done(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = STUDY.study()
    one = Item("one", "One", "none", lambda _lab: Findings(verdict="Found."))
    items = [*(item for item in whole.items if item.needs_kernel), one]
    monkeypatch.setattr("sojourn.study.find.find", lambda _name: dataclasses.replace(whole, items=items))
    done = command("paper", "braud", "--out", tmp_path / "out")
    assert done.code == 0
    assert "braud table2-linux: skipped: the kernel uml needs linux.uml (user-mode Linux)" in done.err
    assert "braud table3-linux: skipped: " in done.err
    assert "Found." in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("kernelless")
def test_asked_for_alone_an_item_that_needs_a_kernel_says_so(command: Command, tmp_path: Path) -> None:
    done = command("paper", "braud", "table2-linux", "--out", tmp_path / "out")
    assert done.code == 1
    assert "the kernel uml needs linux.uml" in done.err
