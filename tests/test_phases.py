"""Results of phases, as the Python side sees them."""

from pathlib import Path

import pytest

import sojourn
from conftest import SMALL, Command
from sojourn.data import metrics
from sojourn.report import phase_grid
from sojourn.sweeps import Dataset, Plan
from sojourn.sweeps.local import run_local

PHASES = """
[[change]]
at = "1 s"
bottleneck.rate = "5 Mbit/s"

[[phase]]
name = "whole-rate"
from = "0 s"
to = "1 s"

[[phase]]
name = "half_rate"
from = "1 s"
to = "2 s"
"""


@pytest.fixture
def phased(tmp_path: Path) -> Path:
    """Return a scenario whose rate is halved after half of its time, with a phase for each half."""
    path = tmp_path / "phased.toml"
    path.write_text(SMALL + PHASES, encoding="utf-8")
    return path


def test_every_number_of_a_phase_is_a_metric_of_the_summary(phased: Path) -> None:
    result = sojourn.Scenario.load(phased).run(runs=1)
    of_phases = [name for name in result.summary if name.startswith("phases_")]
    assert all(metrics.find(name) for name in of_phases)
    assert result.summary["phases_half_rate_bottleneck_queue_ms_p95"]["mean"] > 0
    halves = [result.summary[f"phases_{phase}_goodput_mbps.tcp"]["mean"] for phase in ("whole-rate", "half_rate")]
    whole = result.summary["goodput_mbps.tcp"]["mean"]
    assert halves[0] is not None
    assert halves[1] is not None
    assert sum(halves) / 2 == pytest.approx(whole)
    assert metrics.title("phases_half_rate_bottleneck_queue_ms_p95").endswith("[ms]")


def test_a_sweep_keeps_phases_in_tables_of_their_own(phased: Path, tmp_path: Path) -> None:
    axes = {"bottleneck.queue.kind": ["droptail", "codel"]}
    plan = Plan.of({"base": phased.name, "seeds": 2, "axes": axes}, folder=str(tmp_path))
    dataset = Dataset.create(tmp_path / "out", plan, 1)
    run_local(plan, dataset, 1, lambda status: None)
    assert {"phase_links", "phase_groups"} <= set(dataset.tables)
    links, groups = (dataset.table(name).to_pylist() for name in ("phase_links", "phase_groups"))
    assert len(links) == 2 * 2 * 2
    assert {(row["phase"], row["link"]) for row in links} == {
        ("whole-rate", "bottleneck"),
        ("half_rate", "bottleneck"),
    }
    assert len(groups) == 2 * 2 * 2 * 2
    (row,) = (row for row in links if (row["point"], row["seed"], row["phase"]) == (1, 1, "half_rate"))
    assert row["bottleneck.queue.kind"] == "codel"
    (record,) = sojourn.Scenario.load(phased, {"bottleneck.queue.kind": "codel"}).run(runs=1).runs
    assert row["queue_ms_p99"] == record.phases.half_rate.bottleneck.queue_ms.p99


def test_people_get_a_table_with_a_row_for_each_phase(phased: Path, command: Command) -> None:
    grid = phase_grid(sojourn.Scenario.load(phased).run(runs=1))
    assert grid is not None
    assert [row[0] for row in grid.rows] == ["half_rate", "whole-rate"]
    printed = command("run", phased, "--runs", 1).out
    assert "half_rate" in printed
    page = phased.with_name("page.html")
    command("run", phased, "--runs", 1, "--page", page)
    assert "The phases" in page.read_text(encoding="utf-8")


def test_without_phases_nothing_is_there(small_file: Path, tmp_path: Path, command: Command) -> None:
    result = sojourn.Scenario.load(small_file).run(runs=1)
    assert "phases" not in result.runs[0]
    assert phase_grid(result) is None
    assert result.table("phase_links").num_rows == 0
    command("run", small_file, "--runs", 1, "--page", tmp_path / "page.html")
    assert "The phases" not in (tmp_path / "page.html").read_text(encoding="utf-8")
