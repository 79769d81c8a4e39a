"""Datasets whose tables do not belong together are refused in one sentence, by every command that reads them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.conftest import SMALL, Command

from sojourn import InputError
from sojourn.sweeps import Dataset, Plan
from sojourn.sweeps.local import run_local

FLOWS, KIND = "group.tcp.flows", "bottleneck.queue.kind"
Change = Callable[[pa.Table], pa.Table]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "base.toml").write_text(SMALL)
    axes = {FLOWS: [1, 2], KIND: ["droptail", "codel"]}
    plan = Plan.of({"base": "base.toml", "seeds": 3, "axes": axes}, folder=str(folder))
    dataset = Dataset.create(folder / "good", plan, 4)
    run_local(plan, dataset, 1, lambda status: None)
    return folder / "good"


def given(column: str, *values: object) -> Change:
    """Give a column the same values in turn."""

    def change(table: pa.Table) -> pa.Table:
        array = pa.array([values[row % len(values)] for row in range(len(table))])
        return table.set_column(table.column_names.index(column), column, array)

    return change


def twice(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table])


def half(table: pa.Table) -> pa.Table:
    return table.slice(0, len(table) // 2)


def empty(table: pa.Table) -> pa.Table:
    return table.slice(0, 0)


WHOLE = "; allowed: a whole number in each row"
CHANGES = [
    pytest.param("runs", given("point", "x"), f": point: found values of type string{WHOLE}", id="text"),
    pytest.param("runs", given("point", 0.5), f": point: found values of type double{WHOLE}", id="part"),
    pytest.param("runs", given("seed", None, 1), f": seed: found nothing{WHOLE}", id="nothing"),
    pytest.param("runs", given("point", 99), ": point: found 99; allowed: a point from 0 to 3", id="beyond"),
    pytest.param("runs", given("point", -1), ": point: found -1; allowed: a point from 0 to 3", id="negative"),
    pytest.param(
        "runs", given("seed", 1), ": seed: found seed 1 of point 0 twice; allowed: a row for each run", id="seed"
    ),
    pytest.param("runs", given("error", 1), ": error: found values of type int64; allowed: texts", id="error"),
    pytest.param("runs", twice, "/part-000000.parquet: found 24 rows; allowed: at most 12", id="rows"),
    pytest.param(
        "runs", lambda table: table.drop_columns([FLOWS]), f"/part-000000.parquet: has no column '{FLOWS}'", id="axis"
    ),
    pytest.param(
        "groups", given("point", 9), ": seed: found seed 1 of point 9; allowed: a run that the table runs has", id="run"
    ),
    pytest.param(
        "groups", given("group", None, "tcp"), ": group: found nothing; allowed: a name in each row", id="name"
    ),
    pytest.param(
        "groups", given("group", 1), ": group: found values of type int64; allowed: a name in each row", id="number"
    ),
    pytest.param(
        "groups", twice, ": group: found background twice in a run; allowed: a row for each group of a run", id="again"
    ),
    pytest.param("groups", half, ": seed: found no row for seed 1 of point 2; allowed: one at least", id="half"),
    pytest.param("groups", empty, ": seed: found no row for seed 1 of point 0; allowed: one at least", id="empty"),
    pytest.param("groups", given(FLOWS, 7), f": {FLOWS}: found values that are not those of its runs", id="differs"),
    pytest.param(
        "groups", given(KIND, None, "codel"), f": {KIND}: found values that are not those of its runs", id="null"
    ),
]


@pytest.mark.parametrize(("table", "change", "said"), CHANGES)
def test_tables_that_do_not_belong_together_are_refused(
    good: Path, tmp_path: Path, table: str, change: Change, said: str
) -> None:
    folder = tmp_path / "theirs"
    shutil.copytree(good, folder)
    part = folder / table / "part-000000.parquet"
    pq.write_table(change(pq.read_table(part)), part)
    dataset = Dataset.open(folder)
    for read in (dataset.stats, dataset.joined, lambda: dataset.table("groups")):
        with pytest.raises(InputError) as refused:
            read()
        assert str(refused.value).startswith(f"{folder / table}{said}")


@pytest.mark.parametrize("words", [("stats",), ("open", "--no-browser"), ("stats", "--against", f"{KIND}=droptail")])
def test_commands_say_so(command: Command, good: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    folder = tmp_path / "theirs"
    shutil.copytree(good, folder)
    part = folder / "links" / "part-000000.parquet"
    for name in ("links", "groups"):
        part = folder / name / "part-000000.parquet"
        pq.write_table(given("seed", 99)(pq.read_table(part)), part)
    found = command(words[0], folder, *words[1:])
    said = f"error: {folder / 'groups'}: seed: found seed 99 of point 0; allowed: a run that the table runs has\n"
    assert (found.code, found.err) == (2, said)


def test_rows_are_counted_before_they_are_read(good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "theirs"
    shutil.copytree(good, folder)
    part = folder / "runs" / "part-000000.parquet"
    rows = pq.read_table(part).slice(0, 1).take(pa.array([0] * 1_000_000))
    pq.write_table(rows, part)
    monkeypatch.setattr(pq, "read_table", None)
    with pytest.raises(InputError, match=r"found 1,000,000 rows; allowed: at most 12$"):
        Dataset.open(folder).failures()


def test_what_belongs_together_is_read(good: Path) -> None:
    dataset = Dataset.open(good)
    assert [len(dataset.table(name)) for name in dataset.tables] == [12, 24, 12]
    assert dataset.stats()
