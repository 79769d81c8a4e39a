"""`sojourn compare` and what it is made of: variants, columns, marks."""

import csv
import io
import json
from pathlib import Path

import pytest

import sojourn
from conftest import Command
from sojourn.cli import render
from sojourn.comparison import BEST, BEYOND_CHANCE, columns, variants
from sojourn.report import Grid

SHORT = ("--set", "duration=20 s", "--runs", 3)


def test_one_row_for_each_queue_with_columns_of_what_is_there(command: Command) -> None:
    outcome = command("compare", "voip-under-load", "--queue", "droptail,fq_codel", *SHORT, "--format", "markdown")
    assert outcome.code == 0
    header, _, *rows = [line.split("|")[1:-1] for line in outcome.out.splitlines() if line.startswith("|")]
    names = [cell.strip() for cell in header]
    assert [row[0].strip() for row in rows] == ["droptail", "fq_codel"]
    assert "page [ms]" not in " ".join(names)
    mos = names.index("speaks: MOS")
    assert BEST in rows[1][mos]
    assert BEST not in rows[0][mos]
    # The reference differs from itself by nothing; of three runs that are alike each difference is beyond chance.
    assert BEYOND_CHANCE not in "".join(rows[0])
    assert BEYOND_CHANCE in rows[1][mos]


def test_numbers_are_those_of_single_runs(command: Command) -> None:
    words = ("compare", "voip-under-load", "--queue", "droptail,codel", *SHORT)
    rows = json.loads(command(*words, "--format", "json").out)
    alone = sojourn.Scenario.load("voip-under-load", {"duration": "20 s", "bottleneck.queue": {"kind": "codel"}})
    (mos,) = [row["mean"] for row in rows if (row["variant"], row["metric"]) == ("codel", "voip_mos.speaks")]
    assert mos == alone.run(runs=3, series=False).summary["voip_mos.speaks"]["mean"]
    listed = list(csv.DictReader(io.StringIO(command(*words, "--format", "csv").out)))
    assert [row["metric"] for row in listed] == [row["metric"] for row in rows]


def test_the_kind_that_is_there_keeps_its_parameters() -> None:
    base = sojourn.Scenario.load("voip-under-load")
    made = variants(base, queues=["droptail", "codel"], controls=["cubic", "ledbat"])
    assert list(made) == ["droptail, cubic", "droptail, ledbat", "codel, cubic", "codel, ledbat"]
    assert made["droptail, cubic"] == base
    assert made["codel, ledbat"].to_dict().group[0].control.kind == "ledbat"


def test_columns_follow_the_traffic() -> None:
    tables = sojourn.Scenario.load("cake-lower-effort").to_dict()
    names = [column.shown.metric for column in columns(tables)]
    assert names[:2] == ["share.tcp", "goodput_mbps.tcp"]
    assert not any("voip" in name for name in names)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--queue", "droptail"], "at least two scenarios"),
        (["--queue", "droptail,codle"], "codel"),
        (["--queue", "codel,codel"], "two variants are called 'codel'"),
        (["--variant", "nothing"], "NAME:KEY=VALUE"),
    ],
)
def test_wrong_input_is_refused(command: Command, words: list[str], says: str) -> None:
    outcome = command("compare", "voip-under-load", *words)
    assert outcome.code == 2
    assert says in outcome.err


def test_control_needs_one_group_that_has_one(command: Command) -> None:
    outcome = command("compare", "cake-lower-effort", "--control", "cubic,ledbat")
    assert outcome.code == 2
    assert "tcp, background" in outcome.err


def test_a_narrow_terminal_stacks_and_a_pipe_keeps_every_number(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = Grid(["variant", "a long heading of a column", "another heading"], [["one", "1234.5 ± 67.8", "9.99 *≠"]])
    render.print_grid(grid)
    assert "1234.5 ± 67.8" in capsys.readouterr().out.splitlines()[-1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "45")
    render.print_grid(grid)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["another", "heading", "9.99", "*≠"] in lines
    assert "one" in lines[0][0]


def test_the_table_of_the_readme_is_what_its_command_prints(command: Command) -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    (line,) = [line for line in readme.splitlines() if line.startswith("sojourn compare") and "markdown" in line]
    assert command(*line.split()[1:]).out in readme
