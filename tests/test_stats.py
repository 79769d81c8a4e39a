"""Statistics of datasets: worked numbers, groups, formats, and what is refused."""

import csv
import io
import json
import math
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import SMALL, Command

from sojourn.sweep.stats import line, statistics

ROWS = pa.table(
    {
        "rate": ["1", "1", "1", "4", "4", "4"],
        "group": ["tcp"] * 6,
        "error": [None, None, None, None, None, "broken"],
        "share": [0.5, 0.7, 0.9, 0.2, None, None],
    }
)


def test_worked_numbers() -> None:
    first, second = statistics(ROWS, ["rate"], ["share"])
    assert first["rate"] == "1"
    assert first["n"] == 3
    assert math.isclose(first["mean"], 0.7)
    assert math.isclose(first["sd"], 0.2)
    # Student's t with 2 degrees of freedom at 97.5 %: 4.302653
    assert math.isclose(first["ci95_high"] - first["mean"], 4.302653 * 0.2 / math.sqrt(3), rel_tol=1e-6)
    assert math.isclose(first["cov"], 0.2 / 0.7)
    assert math.isclose(first["jain"], 2.1**2 / (3 * (0.25 + 0.49 + 0.81)))
    assert (first["p10"], first["p50"]) == pytest.approx((0.54, 0.7))
    # A run without the value and one that failed are not counted, and one value has no spread.
    assert (second["n"], second["mean"]) == (1, 0.2)
    assert "sd" not in second


def test_nothing_known_is_no_number() -> None:
    assert line("share", [None, None]) == {"metric": "share", "n": 0}


@given(st.lists(st.just(0.0) | st.floats(1e-6, 1e6), min_size=2, max_size=30))
def test_laws(values: list[float]) -> None:
    found = line("x", values)
    assert found["ci95_low"] <= found["mean"] <= found["ci95_high"]
    assert found["p10"] <= found["p50"] <= found["p90"]
    assert found["jain"] is None or 1 / len(values) <= found["jain"] * (1 + 1e-9) <= 1 + 1e-6


def test_the_bootstrap_repeats_and_holds_the_mean() -> None:
    values = [0.1, 0.4, 0.35, 0.8, 0.15, 0.6]
    found = line("x", values, resamples=500)
    assert found == line("x", values, resamples=500)
    assert found["bootstrap_low"] < found["mean"] < found["bootstrap_high"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from sojourn.sweep import Dataset, Plan
    from sojourn.sweep.local import run_local

    folder = tmp_path_factory.mktemp("sweep")
    (folder / "base.toml").write_text(SMALL, encoding="utf-8")
    axes = {"bottleneck.rate": ["1 Mbit/s", "4 Mbit/s"]}
    plan = Plan.of({"base": "base.toml", "seeds": 3, "axes": axes}, folder=str(folder))
    run_local(plan, Dataset.create(folder / "out", plan, 1), 1, lambda status: None)
    return folder / "out"


def test_a_line_for_each_point_and_group(finished: Path, command: Command) -> None:
    printed = command("stats", str(finished), "--metric", "share", "--format", "json")
    lines = json.loads(printed.out)
    assert [(one["bottleneck.rate"], one["group"], one["n"]) for one in lines] == [
        ("1 Mbit/s", "background", 3),
        ("1 Mbit/s", "tcp", 3),
        ("4 Mbit/s", "background", 3),
        ("4 Mbit/s", "tcp", 3),
    ]
    assert math.isclose(lines[0]["mean"] + lines[1]["mean"], 1)


def test_formats_hold_the_same(finished: Path, command: Command) -> None:
    words = ("stats", str(finished), "--by", "group", "--metric", "share", "--format")
    (one, two) = csv.DictReader(io.StringIO(command(*words, "csv").out))
    assert (one["group"], two["group"]) == ("background", "tcp")
    assert f"{float(one['mean']):.5g}" in command(*words, "markdown").out
    assert r"\toprule" in command(*words, "latex").out


def test_sql(finished: Path, command: Command) -> None:
    query = 'select "group", count(*) as rows from runs group by 1 order by 1'
    assert json.loads(command("stats", str(finished), "--sql", query, "--format", "json").out) == [
        {"group": "background", "rows": 6},
        {"group": "tcp", "rows": 6},
    ]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--metric", "shares"], "no column 'shares'; did you mean 'share'"),
        (["--metric", "group"], "holds no numbers"),
        (["--by", "rate"], "no column 'rate'"),
        (["--sql", "select from"], "DuckDB: Parser Error"),
    ],
)
def test_what_is_refused(finished: Path, command: Command, words: list[str], complaint: str) -> None:
    refused = command("stats", str(finished), *words)
    assert (refused.code, refused.out) == (2, "")
    assert complaint in refused.err


def test_a_folder_without_a_sweep(tmp_path: Path, command: Command) -> None:
    refused = command("stats", str(tmp_path))
    assert refused.code == 2
    assert "holds no sweep" in refused.err


def test_an_unfinished_sweep_says_so(finished: Path, command: Command) -> None:
    part = finished / "runs/part-000001.parquet"
    kept = part.read_bytes()
    part.unlink()
    try:
        assert "not finished: 1 of 2 batches lack" in command("stats", str(finished)).err
    finally:
        part.write_bytes(kept)
