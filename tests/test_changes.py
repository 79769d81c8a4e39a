"""Links that change during a run, as the Python side sees them."""

import json
from pathlib import Path

import pytest

import sojourn
from conftest import SMALL, Command
from sojourn.sweeps import Dataset, Plan
from sojourn.sweeps.local import run_local

HALVED = '\n[[change]]\nname = "halved"\nat = "1 s"\nbottleneck.rate = "5 Mbit/s"\n'


@pytest.fixture
def changing(tmp_path: Path) -> Path:
    """Return a scenario whose rate is halved after half of its time."""
    path = tmp_path / "changing.toml"
    path.write_text(SMALL + HALVED, encoding="utf-8")
    return path


def test_a_run_follows_its_changes_and_its_text_is_the_same_run(changing: Path) -> None:
    scenario = sojourn.Scenario.load(changing)
    (record,) = scenario.run(runs=1).runs
    goodput = sum(group.goodput_mbps for group in record.groups.values())
    assert 6 < goodput < 7.6
    assert 0.9 < record.bottleneck.utilization <= 1
    (again,) = sojourn.Scenario.load(changing, {"change.halved.at": "1500 ms"}).run(runs=1).runs
    assert sum(group.goodput_mbps for group in again.groups.values()) > goodput + 0.5
    written = changing.with_name("written.toml")
    written.write_text(scenario.to_toml(), encoding="utf-8")
    assert sojourn.Scenario.load(written) == scenario
    (repeated,) = sojourn.Scenario.load(written).run(runs=1).runs
    assert repeated.groups == record.groups


def test_a_sweep_may_vary_a_change(changing: Path, tmp_path: Path) -> None:
    rates = ["2 Mbit/s", "8 Mbit/s"]
    axes = {"change.halved.bottleneck.rate": rates, "change.0.at": ["500 ms", "1 s"]}
    plan = Plan.of({"base": changing.name, "seeds": 1, "axes": axes}, folder=str(changing.parent))
    dataset = Dataset.create(tmp_path / "out", plan, 1)
    run_local(plan, dataset, 1, lambda status: None)
    rows = dataset.table("groups").to_pylist()
    goodputs = [sum(row["goodput_mbps"] for row in rows if row["point"] == point) for point in range(4)]
    assert goodputs[0] < goodputs[1] < goodputs[3]
    assert goodputs[0] < goodputs[2] < goodputs[3]


def test_a_change_to_another_trace_is_another_scenario(changing: Path) -> None:
    trace = changing.with_name("link.trace")
    text = changing.read_text(encoding="utf-8").replace('rate = "5 Mbit/s"', 'trace = "link.trace"')
    changing.write_text(text, encoding="utf-8")
    found = []
    for step in (2, 4):
        trace.write_text("".join(f"{at}\n" for at in range(1, 1001, step)), encoding="utf-8")
        found.append(sojourn.Scenario.load(changing))
    assert found[0] != found[1]
    moved = json.loads(found[0]._native.to_json())["change"][0]["bottleneck"]["trace"]
    assert moved == str(trace)


def test_equations_have_no_changes(changing: Path, command: Command) -> None:
    done = command("check", str(changing), "--world", "fluid")
    assert done.code == 2, done
    assert "change" in done.err


CALMER = '\n[[change]]\nname = "calmer"\nat = "1 s"\ngroup = [{ name = "background", control.target = "5 ms" }]\n'


def test_a_sweep_may_vary_what_a_running_control_gets(tmp_path: Path) -> None:
    base = tmp_path / "calmer.toml"
    base.write_text(SMALL + CALMER, encoding="utf-8")
    axes = {"change.calmer.group.background.control.target": ["5 ms", "90 ms"]}
    plan = Plan.of({"base": base.name, "seeds": 1, "axes": axes}, folder=str(tmp_path))
    dataset = Dataset.create(tmp_path / "out", plan, 1)
    run_local(plan, dataset, 1, lambda status: None)
    rows = [row for row in dataset.table("groups").to_pylist() if row["group"] == "background"]
    low, high = (row["goodput_mbps"] for row in sorted(rows, key=lambda row: int(row["point"])))
    assert low < high
    scenario = sojourn.Scenario.load(base)
    assert sojourn.scenario(scenario.to_dict()) == scenario


def test_the_ready_scenario_shows_what_a_change_does() -> None:
    droptail, managed = (
        sojourn.Scenario.load("sudden-changes", {"bottleneck.queue": queue}).run(runs=1).runs[0]
        for queue in ("droptail", "fq_codel")
    )
    assert droptail.bottleneck.queue_ms.p99 > 3 * managed.bottleneck.queue_ms.p99
