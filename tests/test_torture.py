"""What the torture takes for the same result: of what is measured in real time the form, of all else the bytes."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scripts.torture.killing import content, differences, form

RECORD = {
    "kernel": {"name": "host", "remarks": []},
    "flows": [{"goodput_mbps": 1.5, "rtt_ms_mean": None}],
    "bottleneck": {"ping_ms": {"mean": 5.0}},
}


def result(folder: Path, record: object, **columns: list[object]) -> Path:
    folder.mkdir()
    (folder / "scenario.toml").write_text("name = 'one'\n", encoding="utf-8")
    (folder / "record.json").write_text(json.dumps(record), encoding="utf-8")
    pq.write_table(pa.table(columns or {"queue_ms": [1.0]}), folder / "queue.parquet")
    return folder


@pytest.mark.parametrize(
    "other",
    [
        {**RECORD, "flows": [{"goodput_mbps": None, "rtt_ms_mean": 7}]},
        # A flow that skipped a datagram on a busy machine has a remark, which another run has not.
        {**RECORD, "kernel": {"name": "host", "remarks": ["flow 0 of group call skipped 3 datagrams"]}},
    ],
)
def test_two_measurements_of_the_same_have_one_form(tmp_path: Path, other: object) -> None:
    one, two = result(tmp_path / "one", RECORD), result(tmp_path / "two", other, queue_ms=[2.0, 3.0])
    assert differences(form(one), form(two)) == []
    assert differences(content(one), content(two)) != []


@pytest.mark.parametrize(
    "other",
    [
        {**RECORD, "flows": []},
        {**RECORD, "flows": [{"goodput_mbps": 1.5}]},
        {**RECORD, "bottleneck": {"ping_ms": None}},
        {**RECORD, "kernel": {"name": 5, "remarks": []}},
    ],
)
def test_what_lacks_something_has_another_form(tmp_path: Path, other: object) -> None:
    one, two = result(tmp_path / "one", RECORD), result(tmp_path / "two", other)
    [told] = differences(form(one), form(two))
    assert told.startswith("record.json: differs in line ")


def test_other_columns_and_missing_files_are_told(tmp_path: Path) -> None:
    one, two = result(tmp_path / "one", RECORD), result(tmp_path / "two", RECORD, other=[1])
    (two / "scenario.toml").unlink()
    columns, missing = differences(form(one), form(two))
    assert columns.startswith("queue.parquet: differs")
    assert missing == "scenario.toml: is missing"
