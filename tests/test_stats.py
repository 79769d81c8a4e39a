"""Statistics of datasets: worked numbers, groups, formats, and what is refused."""

import csv
import io
import json
import math
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from tests.conftest import SMALL, Command

import sojourn
from sojourn.data.describe import Tables, describe, replicates
from sojourn.sweeps import Dataset, Plan
from sojourn.sweeps.local import run_local

# Two points, three seeds, two groups; the last run failed.
RUNS = pa.table(
    {
        "point": [0, 0, 0, 1, 1, 1],
        "seed": [1, 2, 3, 1, 2, 3],
        "rate": ["1", "1", "1", "4", "4", "4"],
        "error": [None, None, None, None, None, "broken"],
        "bottleneck_utilization": [0.5, 0.7, 0.9, 0.2, 0.4, None],
    }
)
GROUPS = pa.table(
    {
        "point": [0] * 6 + [1] * 4,
        "seed": [1, 1, 2, 2, 3, 3, 1, 1, 2, 2],
        "rate": ["1"] * 6 + ["4"] * 4,
        "group": ["tcp", "udp"] * 5,
        "share": [0.5, 0.5, 0.7, 0.3, 0.9, 0.1, 0.2, 0.8, 0.4, 0.6],
        "fct_ms_mean": [7.0, None, 8.0, None, None, None, 9.0, None, 9.0, None],
    }
)
TABLES = Tables(RUNS, GROUPS, ["rate"])


def test_worked_numbers() -> None:
    first, second = describe(TABLES, ["rate"], ["bottleneck_utilization"]).lines
    assert (first["rate"], first["n"], first["unit"]) == ("1", 3, "0 to 1")
    assert math.isclose(first["mean"], 0.7)
    assert math.isclose(first["sd"], 0.2)
    # Student's t with 2 degrees of freedom at 97.5 %: 4.302653
    assert math.isclose(first["ci95_high"] - first["mean"], 4.302653 * 0.2 / math.sqrt(3), rel_tol=1e-6)
    assert math.isclose(first["cov"], 0.2 / 0.7)
    assert math.isclose(first["jain"], 2.1**2 / (3 * (0.25 + 0.49 + 0.81)))
    # A run that failed is not counted.
    assert (second["n"], second["mean"]) == (2, pytest.approx(0.3))


def test_a_metric_of_the_run_counts_each_run_once() -> None:
    for by in (["rate"], None):
        lines = describe(TABLES, by, ["bottleneck_utilization"]).lines
        assert [(one["rate"], one["n"]) for one in lines] == [("1", 3), ("4", 2)]
    with pytest.raises(sojourn.InputError, match="one number for each run, not for each group: leave group out"):
        describe(TABLES, ["rate", "group"], ["bottleneck_utilization"])


def test_groups_are_not_mixed() -> None:
    with pytest.raises(sojourn.InputError, match=r"share differs.*add group to by=.*where=\{'group': 'tcp'\}"):
        describe(TABLES, ["rate"], ["share"])
    lines = describe(TABLES, ["rate"], ["share"], where={"group": "tcp"}).lines
    assert [(one["n"], one["mean"]) for one in lines] == [(3, pytest.approx(0.7)), (2, pytest.approx(0.3))]
    assert lines == [
        {key: value for key, value in one.items() if key != "group"}
        for one in describe(TABLES, ["rate", "group"], ["share"]).lines
        if one["group"] == "tcp"
    ]


def test_axes_that_are_left_out_are_averaged_within_each_seed() -> None:
    found = describe(TABLES, [], ["share"], where={"group": "tcp"})
    # Seeds 1 and 2 have a value at both points: (0.5 + 0.2) / 2 and (0.7 + 0.4) / 2. Seed 3 failed at one of them.
    assert found.notes == ["averaged over rate within each seed first; n counts seeds"]
    assert [(one["n"], one["missing"]) for one in found.lines] == [(2, 1)]
    sound = Tables(RUNS.filter(pa.array([seed < 3 for seed in RUNS["seed"].to_pylist()])), TABLES.groups, TABLES.axes)
    (line,) = describe(sound, [], ["bottleneck_utilization"]).lines
    assert (line["n"], line["mean"]) == (2, pytest.approx((0.35 + 0.55) / 2))
    assert line["sd"] == pytest.approx(math.sqrt(0.02))


def test_differences_are_of_runs_with_the_same_seed() -> None:
    (line,) = describe(TABLES, ["rate"], ["bottleneck_utilization"], against={"rate": "1"}).lines
    # 0.2 - 0.5 and 0.4 - 0.7; the third run has no partner, since it failed.
    assert (line["rate"], line["n"]) == ("4", 2)
    assert line["mean"] == pytest.approx(-0.3)
    assert line["ci95_high"] == pytest.approx(-0.3)
    assert "cov" not in line
    shares = describe(TABLES, None, ["share"], where={"group": "tcp"}, against={"rate": "4"})
    assert [(one["rate"], one["group"], one["n"], one["mean"]) for one in shares.lines] == [
        ("1", "tcp", 2, pytest.approx(0.3))
    ]
    assert shares.notes == ["differences from rate = 4, of runs with the same seed; n counts seeds"]
    groups = describe(TABLES, None, ["share"], where={"rate": "1"}, against={"group": "udp"}).lines
    assert [(one["group"], one["n"], one["mean"]) for one in groups] == [("tcp", 3, pytest.approx(0.4))]


@pytest.mark.parametrize(
    ("by", "against", "said"),
    [
        (None, {"rate": "2"}, "no row has rate = 2; there is: 1, 4"),
        (["group"], {"rate": "1"}, "not told apart by it; add it to by="),
        (None, {"rat": "1"}, "not told apart by it"),
    ],
)
def test_what_cannot_be_compared(by: list[str] | None, against: dict[str, str], said: str) -> None:
    with pytest.raises(sojourn.InputError, match=said):
        describe(TABLES, by, ["share"], against=against)


def test_the_command_compares_seed_by_seed(finished: Path, command: Command) -> None:
    words = ("--metric", "share", "--where", "group=tcp", "--against", "bottleneck.rate=1 Mbit/s", "--format", "json")
    printed = command("stats", finished, *words)
    (line,) = json.loads(printed.out)
    assert (line["bottleneck.rate"], line["n"]) == ("4 Mbit/s", 3)
    assert "of runs with the same seed" in printed.err
    shares = {
        (row["bottleneck.rate"], row["seed"]): row["share"]
        for row in Dataset.open(finished).table("groups").to_pylist()
        if row["group"] == "tcp"
    }
    gaps = [shares["4 Mbit/s", seed] - shares["1 Mbit/s", seed] for seed in (1, 2, 3)]
    assert math.isclose(line["mean"], sum(gaps) / 3)
    assert "--against share: COLUMN=VALUE" in command("stats", finished, "--against", "share").err


def test_a_result_has_the_tables_of_a_dataset(finished: Path) -> None:
    dataset = Dataset.open(finished)
    result = sojourn.Scenario.load(finished / "base.toml", {"bottleneck.rate": "1 Mbit/s"}).run(runs=3)
    for name in ("runs", "groups", "links"):
        here, there = result.table(name), dataset.table(name)
        own = [column for column in there.column_names if not column.startswith("bottleneck.rate")]
        assert here.column_names == own
        assert here.to_pylist() == there.select(own).to_pylist()[: len(here)]
        assert here.schema.field(own[-1]).metadata == there.schema.field(own[-1]).metadata
    with pytest.raises(ValueError, match="every result has runs, groups, links"):
        result.table("packets")


def test_a_run_without_a_value_leaves_no_mean() -> None:
    lines = describe(TABLES, ["rate"], ["fct_ms_mean"], where={"group": "tcp"}).lines
    assert lines[0] == {"rate": "1", "metric": "fct_ms_mean", "unit": "ms", "n": 2, "missing": 1}
    assert (lines[1]["n"], lines[1]["mean"]) == (2, 9.0)


def test_a_column_named_twice_is_described_once() -> None:
    assert len(describe(TABLES, ["rate", "rate", "group"], ["share", "share"]).lines) == 4
    assert list(replicates(RUNS, [], "bottleneck_utilization")) == [()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


def test_as_many_values_as_runs(finished: Path, command: Command) -> None:
    words = ("stats", str(finished), "--metric", "bottleneck_utilization", "--by", "bottleneck.rate_mbps")
    assert [one["n"] for one in json.loads(command(*words, "--format", "json").out)] == [3, 3]
    twice = command(*words, "--metric", "share,share", "--by", "group")
    assert (twice.code, "averaged over bottleneck.rate" in twice.err) == (0, True)


def test_formats_hold_the_same(finished: Path, command: Command) -> None:
    words = ("stats", str(finished), "--by", "group", "--metric", "share", "--format")
    (one, two) = csv.DictReader(io.StringIO(command(*words, "csv").out))
    assert (one["group"], two["group"]) == ("background", "tcp")
    assert f"{float(one['mean']):.5g}" in command(*words, "markdown").out
    assert r"\toprule" in command(*words, "latex").out


def test_sql(finished: Path, command: Command) -> None:
    query = 'select "group", count(*) as rows from groups group by 1 order by 1'
    assert json.loads(command("stats", str(finished), "--sql", query, "--format", "json").out) == [
        {"group": "background", "rows": 6},
        {"group": "tcp", "rows": 6},
    ]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--metric", "shares"], "no column 'shares'; did you mean 'share'"),
        (["--metric", "group"], "holds no numbers"),
        (["--metric", "share", "--by", "bottleneck.rate"], "share differs from group to group"),
        (["--where", "group=udp"], "no row has group = udp; there is: background, tcp"),
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


def test_other_folders_and_files_are_left_alone(finished: Path, command: Command) -> None:
    for folder in (finished / ".ipynb_checkpoints", finished / "runs/.ipynb_checkpoints"):
        folder.mkdir()
        (folder / "notes-checkpoint.parquet").write_text("not Parquet", encoding="utf-8")
    try:
        assert Dataset.open(finished).tables == ["runs", "groups", "links"]
        counted = command("stats", str(finished), "--sql", "select count(*) as n from runs", "--format", "json")
        assert json.loads(counted.out) == [{"n": 6}]
    finally:
        shutil.rmtree(finished / ".ipynb_checkpoints")
        shutil.rmtree(finished / "runs/.ipynb_checkpoints")


def test_runs_that_are_all_alike_are_said_to_be(tmp_path: Path, command: Command) -> None:
    (tmp_path / "base.toml").write_text(SMALL, encoding="utf-8")
    # Where both start at fixed times nothing is random; the jitter of the second point is.
    plan = Plan.of(
        {
            "base": "base.toml",
            "seeds": 3,
            "set": {"group.tcp.start": "0 s", "group.background.start": "0 s"},
            "axes": {"bottleneck.loss": [0, 0.01]},
        },
        folder=str(tmp_path),
    )
    dataset = Dataset.create(tmp_path / "out", plan, 1)
    run_local(plan, dataset, 1, lambda status: None)
    assert dataset.alike() == 1
    said = command("stats", str(tmp_path / "out")).err
    assert "warning: at 1 of 2 points all runs are alike" in said
